/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes at all, as a profile: the library and the second reader accept the same ones, and where
 * they do, the library encodes them to the same bytes again and packs what the loops say. Used by
 * the mutation test and by the fuzz target; needs no test framework. */
#ifndef TLY_TESTS_PANEL_AGREE_H
#define TLY_TESTS_PANEL_AGREE_H

#include <stdlib.h>
#include <string.h>

#include <tilery/pack.h>
#include <tilery/panel.h>

#include "panel/reference.h"

#define AGREE_MAX_PANEL (UINT64_C(1) << 19) /* bytes that are really packed */

typedef struct agree_result {
    int accepted;
    int packed;          /* shapes whose panel was compared byte by byte */
    const char *problem; /* NULL: all is well */
} agree_result;

static inline uint64_t agree_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Mostly small, often at the edge of a granule, sometimes huge. */
static inline uint64_t agree_extent(uint64_t *state, uint64_t granule) {
    switch (agree_random(state) % 8) {
    case 0:
        return granule;
    case 1:
        return granule + 1;
    case 2:
        return 2 * granule + 1;
    case 3:
        return agree_random(state) % 64 == 0 ? agree_random(state) << (agree_random(state) % 34)
                                             : agree_random(state) % 3;
    default:
        return 1 + agree_random(state) % (granule < 50 ? 3 * granule : 150);
    }
}

/* Bytes of the panel of the whole tensor by the specification, or -1 if it does not fit. */
static inline __int128 agree_len(const reference_profile *p, const uint64_t *shape) {
    __int128 len = p->element_len;
    int empty = 0;
    for (unsigned axis = 0; axis < p->rank; axis++) {
        __int128 extent = shape[axis];
        int bounded = 0;
        empty |= extent == 0;
        if (axis == p->k_axis || axis == p->mn_axis) {
            __int128 g = reference_granule(p, axis == p->mn_axis, &bounded);
            if (bounded && extent > g) {
                return -1;
            }
            extent = extent == 0 ? 1 : (extent + g - 1) / g * g;
        }
        len *= extent == 0 ? 1 : extent;
        if (extent > UINT64_MAX || len > INT64_MAX) {
            return -1;
        }
    }
    return empty ? 0 : len;
}

/* The engine's panel of a stored tensor against that of the second packer. */
static inline const char *agree_pack(const tly_context *context, const reference_profile *p,
                                     const tly_nest *nest, const uint64_t *shape, uint64_t len,
                                     uint64_t *state) {
    uint64_t elements = 1, matrices = 1, stride = p->element_len, strides[8];
    uint64_t panel = reference_places(p, shape[p->k_axis], shape[p->mn_axis]) * p->element_len;
    const char *problem = NULL;
    uint8_t *stored, *want, *got;
    tly_pack_plan *plan = NULL;
    tly_nest source;
    tly_error error;

    for (unsigned axis = p->rank; axis-- > 0;) {
        strides[axis] = stride;
        stride *= shape[axis];
        elements *= shape[axis];
        matrices *= axis == p->k_axis || axis == p->mn_axis ? 1 : shape[axis];
    }
    stored = malloc(elements * p->element_len + 1);
    want = malloc(len + 1);
    got = malloc(len + 1);
    for (uint64_t i = 0; i < elements * p->element_len; i++) {
        stored[i] = (uint8_t)(1 + agree_random(state) % 255);
    }
    memset(got, 0xEE, len + 1);
    for (uint64_t matrix = 0; matrix < matrices; matrix++) {
        uint64_t rest = matrix, offset = 0;
        for (unsigned axis = p->rank; axis-- > 0;) {
            if (axis != p->k_axis && axis != p->mn_axis) {
                offset += rest % shape[axis] * strides[axis];
                rest /= shape[axis];
            }
        }
        reference_pack(p, shape[p->k_axis], shape[p->mn_axis], stored + offset, strides[p->k_axis],
                       strides[p->mn_axis], want + matrix * panel);
    }
    if (tly_nest_row_major(&source, p->rank, shape) != TLY_OK ||
        tly_pack_plan_new(context, nest, &source, p->element_len * 8, NULL, &plan, &error) !=
            TLY_OK) {
        problem = "the engine refuses a bound panel";
    } else {
        tly_pack_run(plan, got, stored);
        if (tly_pack_dst_len(plan) != len) {
            problem = "the engine's panel has another length";
        } else if (memcmp(got, want, len) != 0) {
            problem = "the panels differ";
        } else if (got[len] != 0xEE) {
            problem = "a byte after the panel was written";
        }
        tly_pack_plan_free(plan);
    }
    free(got);
    free(want);
    free(stored);
    return problem;
}

static inline agree_result agree(const tly_context *context, const uint8_t *bytes, size_t len,
                                 uint64_t seed, unsigned num_shapes) {
    agree_result result = {0, 0, NULL};
    uint8_t again[TLY_PANEL_MAX_LEN];
    size_t again_len;
    reference_profile reference;
    tly_panel_profile profile;
    tly_error error;
    tly_status status = tly_panel_decode(bytes, len, &profile, &error);

    result.accepted = status == TLY_OK;
    if (result.accepted != reference_decode(bytes, len, &reference)) {
        result.problem = result.accepted ? "only the library accepts" : "only the library refuses";
        return result;
    }
    if (!result.accepted) {
        if (error.status != status || error.rule[0] == '\0' || error.offset > len) {
            result.problem = "a refusal without rule or place";
        }
        return result;
    }
    if (tly_panel_encode(&profile, again, sizeof again, &again_len, &error) != TLY_OK ||
        again_len != len || memcmp(again, bytes, len) != 0) {
        result.problem = "encodes to other bytes";
        return result;
    }
    for (unsigned i = 0; i < num_shapes && result.problem == NULL; i++) {
        uint64_t shape[8], out_len = 0, elements = 1;
        int bounded;
        tly_nest nest;
        __int128 want;
        for (unsigned axis = 0; axis < reference.rank; axis++) {
            shape[axis] = 1 + agree_random(&seed) % 2;
        }
        shape[reference.k_axis] = agree_extent(&seed, reference_granule(&reference, 0, &bounded));
        shape[reference.mn_axis] = agree_extent(&seed, reference_granule(&reference, 1, &bounded));
        want = agree_len(&reference, shape);
        status = tly_panel_bind(&profile, reference.rank, shape, &nest, &out_len, &error);
        if ((status == TLY_OK) != (want >= 0) || (status == TLY_OK && out_len != (uint64_t)want)) {
            result.problem = "binds to another length";
            break;
        }
        for (unsigned axis = 0; axis < reference.rank; axis++) {
            elements = elements < AGREE_MAX_PANEL && shape[axis] < AGREE_MAX_PANEL
                           ? elements * shape[axis]
                           : AGREE_MAX_PANEL;
        }
        if (status == TLY_OK && out_len <= AGREE_MAX_PANEL && elements < AGREE_MAX_PANEL) {
            result.problem = agree_pack(context, &reference, &nest, shape, out_len, &seed);
            result.packed++;
        }
    }
    return result;
}

#endif
