/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles with a few bytes changed are refused, or give exact results: never wrong ones. `make
 * proof` runs 100,000. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "panel/agree.h"
#include "panel/random_profile.h"

static const tly_dtype types[] = {TLY_I8, TLY_U8, TLY_F16, TLY_BF16, TLY_F32, TLY_I32, TLY_F64};

/* A fresh valid profile in bytes. */
static size_t valid_bytes(check_rng *rng, uint8_t *bytes) {
    tly_panel_profile p =
        random_profile(rng, types[check_below(rng, sizeof types / sizeof types[0])],
                       2 + (uint32_t)check_below(rng, 3));
    tly_error err;
    size_t len;
    p.alignment = UINT32_C(1) << check_below(rng, 22);
    p.kernel_version = (uint32_t)check_random(rng);
    memcpy(p.kernel, "blis/haswell", check_below(rng, 13));
    if (check_below(rng, 2) != 0) {
        p.has_probe = 1;
        p.probe_hash = check_random(rng);
    }
    CHECK_OK(tly_panel_encode(&p, bytes, TLY_PANEL_MAX_LEN, &len, &err), &err);
    return len;
}

/* One change, of the kind that comes near to another valid profile. */
static size_t change(check_rng *rng, uint8_t *bytes, size_t len) {
    static const uint32_t numbers[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 48, 64, 65536, UINT32_MAX};
    uint32_t num_loops = len >= 32 ? bytes[10] % 9u : 0;
    uint32_t loop = num_loops != 0 ? (uint32_t)check_below(rng, num_loops) : 0;
    uint32_t other = num_loops != 0 ? (uint32_t)check_below(rng, num_loops) : 0;
    uint8_t *at = bytes + 32 + 16 * loop;
    int has_loops = num_loops != 0 && len >= 32 + 16 * (size_t)num_loops;
    uint32_t kind = (uint32_t)check_below(rng, 8);
    uint32_t number = numbers[check_below(rng, sizeof numbers / sizeof numbers[0])];

    if (has_loops && kind == 0) { /* two loops change places */
        uint8_t swap[16];
        memcpy(swap, at, 16);
        memcpy(at, bytes + 32 + 16 * other, 16);
        memcpy(bytes + 32 + 16 * other, swap, 16);
    } else if (has_loops && kind == 1) { /* a number of a loop, or its axis or kind */
        uint32_t field = (uint32_t)check_below(rng, 4);
        if (field == 0) {
            at[check_below(rng, 2)] ^= 1;
        } else {
            memcpy(at + 4 * field,
                   &(uint8_t[4]){(uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16),
                                 (uint8_t)(number >> 24)},
                   4);
        }
    } else if (has_loops && kind == 2) { /* the same factor in the two numbers of a loop */
        at[4] = (uint8_t)(at[4] << 1);
        at[8] = (uint8_t)(at[8] << 1);
        at[12] = (uint8_t)(at[12] << 1);
    } else if (has_loops && kind == 3) { /* a loop more or less */
        if (check_below(rng, 2) != 0 && num_loops < 8 && len + 16 <= TLY_PANEL_MAX_LEN) {
            memmove(at + 16, at, len - (size_t)(at - bytes));
            bytes[10]++;
            return len + 16;
        }
        memmove(at, at + 16, len - (size_t)(at - bytes) - 16);
        bytes[10]--;
        return len - 16;
    } else if (has_loops && kind == 4) { /* round to a multiple of what it was */
        at[8] = (uint8_t)(at[8] * (1 + check_below(rng, 4)));
    } else if (kind == 5) { /* any head field */
        bytes[check_below(rng, len < 32 ? len : 32)] = (uint8_t)number;
    } else if (kind == 6) { /* any bit */
        bytes[check_below(rng, len)] ^= (uint8_t)(1u << check_below(rng, 8));
    } else { /* shorter or longer */
        if (check_below(rng, 4) != 0) {
            bytes[check_below(rng, len)] = (uint8_t)check_random(rng);
        } else if (check_below(rng, 2) != 0 && len > 1) {
            return len - 1;
        } else if (len < TLY_PANEL_MAX_LEN) {
            bytes[len] = (uint8_t)check_random(rng);
            return len + 1;
        }
    }
    return len;
}

static void show(const uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        print_error("%02X%s", bytes[i], i % 16 == 15 ? "\n" : " ");
    }
    print_error("\n");
}

static void mutated_profiles_are_refused_or_exact(void **state) {
    const uint64_t seed = check_seed(20240612);
    const uint64_t rounds = check_rounds(4000);
    uint64_t accepted = 0, refused = 0, packed = 0;
    check_rng rng = {seed};
    tly_context *context;
    tly_error err;

    CHECK_OK(tly_context_new(NULL, &context, &err), &err);
    for (uint64_t i = 0; i < rounds; i++) {
        uint8_t bytes[TLY_PANEL_MAX_LEN];
        size_t len = valid_bytes(&rng, bytes);
        uint64_t times = 1 + check_below(&rng, 2);
        agree_result result;
        for (uint64_t t = 0; t < times; t++) {
            len = change(&rng, bytes, len);
        }
        result = agree(context, bytes, len, check_random(&rng), 2);
        if (result.problem != NULL) {
            show(bytes, len);
            fail_msg("seed %llu, round %llu: %s", (unsigned long long)seed, (unsigned long long)i,
                     result.problem);
        }
        accepted += result.accepted != 0;
        refused += result.accepted == 0;
        packed += (uint64_t)result.packed;
    }
    print_message("# seed %llu: %llu mutated profiles, %llu refused, %llu accepted, %llu panels "
                  "equal byte by byte\n",
                  (unsigned long long)seed, (unsigned long long)rounds, (unsigned long long)refused,
                  (unsigned long long)accepted, (unsigned long long)packed);
    assert_true(accepted > rounds / 10 && refused > rounds / 3 && packed > accepted);
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutated_profiles_are_refused_or_exact),
    };
    return cmocka_run_group_tests_name("panel/mutations", tests, NULL, NULL);
}
