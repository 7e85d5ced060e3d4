/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody else's program, which knows only what is installed: packs a 20 x 70 matrix into oneDNN's
 * panels and looks at every element. Its argument is the version that pkg-config reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/tilery.h>

enum { K = 20, N = 70, K_UP = 32, N_UP = 128 };

static int complain(const char *what, const tly_error *error) {
    fprintf(stderr, "%s: %s\n", what, error->message);
    return 1;
}

int main(int argc, char **argv) {
    const uint64_t shape[2] = {K, N};
    tly_context *context = NULL;
    tly_pack_plan *plan = NULL;
    tly_panel_profile profile;
    tly_nest source, panel;
    tly_error error;
    uint64_t len = 0;
    float *stored, *packed;
    int wrong = 0;

    if (argc != 2 || strcmp(argv[1], tly_version()) != 0) {
        fprintf(stderr, "the library says %s, pkg-config %s\n", tly_version(), argv[argc - 1]);
        return 1;
    }
    if (tly_context_new(NULL, &context, &error) != TLY_OK) {
        return complain("context", &error);
    }
    if (tly_panel_by_name("ba16a64b", TLY_F32, 0, &profile, &error) != TLY_OK ||
        tly_panel_bind(&profile, 2, shape, &panel, &len, &error) != TLY_OK) {
        return complain("panel", &error);
    }
    if (len != sizeof(float) * K_UP * N_UP) {
        fprintf(stderr, "the panel has %llu bytes\n", (unsigned long long)len);
        return 1;
    }
    if (tly_nest_row_major(&source, 2, shape) != TLY_OK ||
        tly_pack_plan_new(context, &panel, &source, 32, NULL, &plan, &error) != TLY_OK) {
        return complain("plan", &error);
    }
    stored = malloc(sizeof(float) * K * N);
    packed = malloc((size_t)len);
    if (stored == NULL || packed == NULL) {
        return 1;
    }
    for (int i = 0; i < K * N; i++) {
        stored[i] = (float)(i + 1);
    }
    tly_pack_run(plan, packed, stored);
    for (int n = 0; n < N_UP; n++) {
        for (int k = 0; k < K_UP; k++) {
            float want = k < K && n < N ? stored[k * N + n] : 0;
            wrong += packed[(n / 64) * (K_UP * 64) + k * 64 + n % 64] != want;
        }
    }
    printf("tilery %s, %s: %d elements wrong\n", tly_version(),
           tly_simd_name(tly_context_simd(context)), wrong);
    free(stored);
    free(packed);
    tly_pack_plan_free(plan);
    tly_context_free(context);
    return wrong != 0;
}
