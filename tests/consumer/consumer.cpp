/* SPDX-License-Identifier: Apache-2.0 */
/* The same from C++: the library's objects in smart pointers, a profile through its bytes, a
 * transposed source. Its argument is the version that pkg-config reports. */
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tilery/tilery.h>

namespace {

void check(tly_status status, const tly_error &error) {
    if (status != TLY_OK) {
        throw std::runtime_error(std::string(tly_status_name(status)) + ": " + error.message);
    }
}

int run() {
    const uint64_t shape[2] = {9, 5}; // N x K
    tly_error error{};
    tly_context *context = nullptr;
    check(tly_context_new(nullptr, &context, &error), error);
    std::unique_ptr<tly_context, decltype(&tly_context_free)> owner(context, tly_context_free);

    tly_panel_profile asked{}, profile{};
    std::vector<unsigned char> bytes(TLY_PANEL_MAX_LEN);
    size_t len = 0;
    check(tly_panel_by_name("ba16a64b", TLY_F32, 1, &asked, &error), error);
    check(tly_panel_encode(&asked, bytes.data(), bytes.size(), &len, &error), error);
    check(tly_panel_decode(bytes.data(), len, &profile, &error), error);
    if (!tly_panel_same_layout(&asked, &profile)) {
        throw std::runtime_error("the profile changed on its way");
    }

    tly_nest source, panel;
    uint64_t panel_len = 0;
    check(tly_nest_row_major(&source, 2, shape), error);
    check(tly_panel_bind(&profile, 2, shape, &panel, &panel_len, &error), error);
    tly_pack_plan *plan = nullptr;
    check(tly_pack_plan_new(context, &panel, &source, 32, nullptr, &plan, &error), error);
    std::unique_ptr<tly_pack_plan, decltype(&tly_pack_plan_free)> plan_owner(plan,
                                                                             tly_pack_plan_free);
    std::vector<float> stored(9 * 5), packed(panel_len / sizeof(float), -1.0f);
    for (size_t i = 0; i < stored.size(); i++) {
        stored[i] = static_cast<float>(i + 1);
    }
    tly_pack_run(plan, packed.data(), stored.data());
    int wrong = 0;
    for (size_t k = 0; k < 16; k++) {
        for (size_t n = 0; n < 64; n++) {
            float want = k < 5 && n < 9 ? stored[n * 5 + k] : 0.0f;
            wrong += packed[k * 64 + n] != want;
        }
    }

    tly_error refused{};
    if (tly_panel_decode(bytes.data(), len - 1, &profile, &refused) == TLY_OK ||
        std::string(refused.message).empty()) {
        throw std::runtime_error("a profile that was cut short was accepted");
    }
    std::cout << "tilery " << tly_version() << ": " << wrong << " elements wrong\n";
    return wrong != 0;
}

} // namespace

int main(int argc, char **argv) {
    try {
        if (argc != 2 || std::string(argv[1]) != tly_version()) {
            throw std::runtime_error("pkg-config and the library disagree about the version");
        }
        return run();
    } catch (const std::exception &problem) {
        std::cerr << problem.what() << '\n';
        return 1;
    }
}
