/* SPDX-License-Identifier: Apache-2.0 */
/* Well-known panels, one row for each name and element width (docs/spec/panel-profile.md,
 * "Well-known panels"). Rows of one name stand together. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "panel/template.h"

#define MAX_BUILTIN_LOOPS 4

struct builtin {
    const char *name;
    const char *summary;
    uint8_t role; /* tly_panel_role */
    uint8_t bits; /* element width, 0: any */
    uint8_t num_loops;
    tly_panel_loop loops[MAX_BUILTIN_LOOPS];
};

/* Loops over K or N/M: up(extent, round) / step turns, and `count` turns. */
#define K_UP(round, step)                                                                          \
    { TLY_PANEL_K, 1, 0, step, 0, round, step }
#define MN_UP(round, step)                                                                         \
    { TLY_PANEL_MN, 1, 0, step, 0, round, step }
#define K_IN(count, step)                                                                          \
    { TLY_PANEL_K, 0, 0, step, count, 0, 0 }
#define MN_IN(count, step)                                                                         \
    { TLY_PANEL_MN, 0, 0, step, count, 0, 0 }

/* oneDNN's matmul weights: K in blocks of 16, N in panels of n; narrower elements in groups of 4
 * bytes along K. */
#define ONEDNN(n)                                                                                  \
    {"ba16a" #n "b",                                                                               \
     "oneDNN weights, panels of " #n,                                                              \
     TLY_PANEL_B,                                                                                  \
     32,                                                                                           \
     3,                                                                                            \
     {MN_UP(n, n), K_UP(16, 1), MN_IN(n, 1)}},                                                     \
        {"ba16a" #n "b2a",                                                                         \
         "oneDNN weights, panels of " #n ", pairs along K",                                        \
         TLY_PANEL_B,                                                                              \
         16,                                                                                       \
         4,                                                                                        \
         {MN_UP(n, n), K_UP(32, 2), MN_IN(n, 1), K_IN(2, 1)}},                                     \
    {                                                                                              \
        "ba16a" #n "b4a", "oneDNN weights, panels of " #n ", fours along K", TLY_PANEL_B, 8, 4, {  \
            MN_UP(n, n), K_UP(64, 4), MN_IN(n, 1), K_IN(4, 1)                                      \
        }                                                                                          \
    }

/* Panels of a BLIS-like micro-kernel: K is not padded. */
#define NR(n)                                                                                      \
    {                                                                                              \
        "nr" #n, "B panels of " #n, TLY_PANEL_B, 0, 3, {                                           \
            MN_UP(n, n), K_UP(1, 1), MN_IN(n, 1)                                                   \
        }                                                                                          \
    }
#define MR(n)                                                                                      \
    {                                                                                              \
        "mr" #n, "A panels of " #n, TLY_PANEL_A, 0, 3, {                                           \
            MN_UP(n, n), K_UP(1, 1), MN_IN(n, 1)                                                   \
        }                                                                                          \
    }

/* CUBE cells of PTO: groups of c elements along K. */
#define CUBE_N8(bits, c)                                                                           \
    {                                                                                              \
        "cube_n8", "PTO CUBE_N8 cells of B", TLY_PANEL_B, bits, 4, {                               \
            MN_UP(8, 8), K_UP(c, c), MN_IN(8, 1), K_IN(c, 1)                                       \
        }                                                                                          \
    }
#define CUBE_M(rows, bits, c)                                                                      \
    {                                                                                              \
        "cube_m" #rows, "PTO CUBE_M" #rows " cells of A, at most " #rows " rows", TLY_PANEL_A,     \
            bits, 3, {                                                                             \
            K_UP(c, c), MN_IN(rows, 1), K_IN(c, 1)                                                 \
        }                                                                                          \
    }

/* clang-format off */
static const struct builtin rows[] = {
    ONEDNN(16),
    ONEDNN(32),
    ONEDNN(48),
    ONEDNN(64),
    {"oi8i8o", "oneDNN weights in blocks of 8 x 8", TLY_PANEL_B, 32, 3,
     {MN_UP(8, 8), K_UP(8, 1), MN_IN(8, 1)}},
    {"vnni2", "rows of B, pairs along K", TLY_PANEL_B, 16, 3,
     {K_UP(2, 2), MN_UP(1, 1), K_IN(2, 1)}},
    {"vnni4", "rows of B, fours along K", TLY_PANEL_B, 8, 3,
     {K_UP(4, 4), MN_UP(1, 1), K_IN(4, 1)}},
    NR(4), NR(6), NR(8), NR(12), NR(14), NR(16), NR(24), NR(32), NR(48), NR(64),
    MR(4), MR(6), MR(8), MR(12), MR(14), MR(16), MR(24), MR(32),
    CUBE_N8(8, 16), CUBE_N8(16, 8), CUBE_N8(32, 4),
    CUBE_M(16, 8, 8), CUBE_M(16, 16, 4), CUBE_M(16, 32, 2),
    CUBE_M(32, 8, 4), CUBE_M(32, 16, 2),
    {"cube_m32", "PTO CUBE_M32 cells of A, at most 32 rows", TLY_PANEL_A, 32, 2,
     {K_UP(1, 1), MN_IN(32, 1)}},
};
/* clang-format on */

#define NUM_ROWS (sizeof rows / sizeof rows[0])

static const struct builtin *row_by_number(uint32_t index) {
    uint32_t number = 0;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (i != 0 && strcmp(rows[i].name, rows[i - 1].name) == 0) {
            continue;
        }
        if (number++ == index) {
            return &rows[i];
        }
    }
    return NULL;
}

const char *tly_panel_name(uint32_t index) {
    const struct builtin *row = row_by_number(index);
    return row != NULL ? row->name : NULL;
}

const char *tly_panel_summary(uint32_t index) {
    const struct builtin *row = row_by_number(index);
    return row != NULL ? row->summary : NULL;
}

tly_status tly_panel_by_name(const char *name, tly_dtype dtype, int transposed,
                             tly_panel_profile *out_profile, tly_error *error) {
    uint32_t bits = tly_panel_element_len(dtype) * 8;
    const struct builtin *found = NULL;
    const tly_dtype_info *info = tly_dtype_find(dtype);
    tly_panel_profile p = {.size = sizeof p};
    char shown[64];

    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            found = &rows[i];
            if (bits != 0 && (found->bits == 0 || found->bits == bits)) {
                break;
            }
        }
    }
    if (found == NULL) {
        return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "panel-name",
                             "there is no built-in panel \"%s\"",
                             tly_base_printable(shown, sizeof shown, name, strlen(name)));
    }
    if (bits == 0 || (found->bits != 0 && found->bits != bits)) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "panel-dtype",
                             "panel \"%s\" has no form for elements of type %s", found->name,
                             info != NULL ? info->name : "unknown");
    }
    p.role = found->role;
    p.dtype = dtype;
    p.rank = 2;
    /* K is axis 0 of K x N and of K x M, axis 1 of N x K and of M x K. */
    p.k_axis = (found->role == TLY_PANEL_B) == (transposed == 0) ? 0 : 1;
    p.mn_axis = (uint8_t)(1 - p.k_axis);
    p.num_loops = found->num_loops;
    p.alignment = 64;
    memcpy(p.loops, found->loops, sizeof found->loops);
    *out_profile = p;
    return TLY_OK;
}
