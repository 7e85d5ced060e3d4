/* SPDX-License-Identifier: Apache-2.0 */
/* Random profiles that keep all rules. */
#ifndef TLY_TESTS_PANEL_RANDOM_PROFILE_H
#define TLY_TESTS_PANEL_RANDOM_PROFILE_H

#include <string.h>

#include <tilery/panel.h>

#include "check.h"

/* Loops of one axis: digits of a mixed-radix number, the leading one rounded three times in four.
 */
static inline void random_axis(check_rng *rng, tly_panel_profile *p, uint8_t axis) {
    static const uint32_t counts[] = {2, 2, 2, 3, 4, 4, 5, 8, 16};
    uint32_t digits = (uint32_t)check_below(rng, 3);
    uint32_t step = 1;
    int rounded = check_below(rng, 4) != 0;
    if (!rounded && digits == 0) {
        digits = 1;
    }
    for (uint32_t i = 0; i < digits; i++) {
        uint32_t count = counts[check_below(rng, sizeof counts / sizeof counts[0])];
        p->loops[p->num_loops++] = (tly_panel_loop){axis, 0, 0, step, count, 0, 0};
        step *= count;
    }
    if (rounded) {
        uint32_t round = step * (uint32_t)(1 + check_below(rng, 3) * check_below(rng, 2));
        p->loops[p->num_loops++] = (tly_panel_loop){axis, 1, 0, step, 0, round, step};
    }
}

/* Rank 2 unless `max_rank` is greater. */
static inline tly_panel_profile random_profile(check_rng *rng, tly_dtype dtype, uint32_t max_rank) {
    tly_panel_profile p = {.size = sizeof p};
    p.role = (uint8_t)(1 + check_below(rng, 2));
    p.dtype = dtype;
    p.rank = (uint8_t)(2 + check_below(rng, max_rank - 1));
    p.k_axis = (uint8_t)check_below(rng, p.rank);
    do {
        p.mn_axis = (uint8_t)check_below(rng, p.rank);
    } while (p.mn_axis == p.k_axis);
    p.alignment = 64;
    random_axis(rng, &p, TLY_PANEL_K);
    random_axis(rng, &p, TLY_PANEL_MN);
    for (uint32_t i = p.num_loops; i > 1; i--) { /* any order */
        uint32_t j = (uint32_t)check_below(rng, i);
        tly_panel_loop swap = p.loops[i - 1];
        p.loops[i - 1] = p.loops[j];
        p.loops[j] = swap;
    }
    tly_panel_normalize(&p);
    return p;
}

/* Product of the constant counts, or r: what the padded extent is a multiple of. */
static inline uint64_t granule_of(const tly_panel_profile *p, uint8_t axis, int *bounded) {
    uint64_t product = 1;
    *bounded = 1;
    for (uint32_t i = 0; i < p->num_loops; i++) {
        if (p->loops[i].axis == axis) {
            if (p->loops[i].rounded != 0) {
                *bounded = 0;
                return p->loops[i].round;
            }
            product *= p->loops[i].count;
        }
    }
    return product;
}

/* An extent with a tail, with luck; within what the profile reaches. */
static inline uint64_t random_extent(check_rng *rng, const tly_panel_profile *p, uint8_t axis) {
    int bounded;
    uint64_t g = granule_of(p, axis, &bounded);
    uint64_t extent = 1 + check_below(rng, bounded ? g : (g < 40 ? 2 * g + 3 : 80));
    return extent;
}

#endif
