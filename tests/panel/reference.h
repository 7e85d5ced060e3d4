/* SPDX-License-Identifier: Apache-2.0 */
/* A second reader and packer of panel profiles, written from docs/spec/panel-profile.md alone and
 * sharing nothing with the library. Where the library reasons about digits, this one runs the loops
 * and looks. Slow. */
#ifndef TLY_TESTS_PANEL_REFERENCE_H
#define TLY_TESTS_PANEL_REFERENCE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct reference_loop {
    uint64_t axis, step, count, r, q; /* count == 0: rounded */
} reference_loop;

typedef struct reference_profile {
    unsigned role, type, rank, k_axis, mn_axis, num_loops, element_len;
    reference_loop loops[8];
} reference_profile;

static inline uint64_t reference_number(const uint8_t *b, size_t at, unsigned len) {
    uint64_t v = 0;
    for (unsigned i = 0; i < len; i++) {
        v |= (uint64_t)b[at + i] << (8 * i);
    }
    return v;
}

/* Bytes of an element by the type tags of the tensor format; 0 for a width that panels do not take.
 */
static inline unsigned reference_element_len(unsigned type) {
    switch (type) {
    case 0x10: /* int8 */
    case 0x11: /* uint8 */
    case 0x40: /* the three floating-point types of 8 bits */
    case 0x41:
    case 0x42:
        return 1;
    case 0x01: /* float16, bfloat16 */
    case 0x02:
    case 0x12: /* int16, uint16 */
    case 0x13:
        return 2;
    case 0x03: /* float32 */
    case 0x14: /* int32, uint32 */
    case 0x15:
        return 4;
    case 0x04: /* float64 */
    case 0x16: /* int64, uint64 */
    case 0x17:
    case 0x50: /* complex64 */
        return 8;
    default:
        return 0;
    }
}

static inline uint64_t reference_up(uint64_t e, uint64_t r) {
    return (e + r - 1) / r * r;
}

static inline uint64_t reference_turns(const reference_loop *loop, uint64_t extent) {
    return loop->count != 0 ? loop->count : reference_up(extent, loop->r) / loop->q;
}

/* Granule of an axis, or 0 if it is beyond 65536 or no loop runs over the axis. */
static inline uint64_t reference_granule(const reference_profile *p, unsigned axis, int *bounded) {
    uint64_t product = 1, r = 0;
    unsigned loops = 0;
    *bounded = 1;
    for (unsigned i = 0; i < p->num_loops; i++) {
        const reference_loop *loop = &p->loops[i];
        if (loop->axis != axis) {
            continue;
        }
        loops++;
        if (loop->count == 0) {
            *bounded = 0;
            r = loop->r;
        } else if (loop->count > 65536 || (product *= loop->count) > 65536) {
            return 0;
        }
    }
    r = *bounded ? product : r;
    return loops != 0 && r <= 65536 ? r : 0;
}

/* Do the sums of the loops of an axis give 0 .. padded-1, each once? */
static inline int reference_visits_once(const reference_profile *p, unsigned axis, uint64_t extent,
                                        uint64_t padded) {
    uint8_t *seen = calloc(1, (size_t)padded + 1);
    uint64_t turn[8] = {0}, places = 0;
    int good = 1;
    for (;;) {
        uint64_t sum = 0;
        unsigned i;
        for (i = 0; i < p->num_loops; i++) {
            sum += p->loops[i].axis == axis ? turn[i] * p->loops[i].step : 0;
        }
        if (sum >= padded || seen[sum]++ != 0) {
            good = 0;
            break;
        }
        places++;
        for (i = 0; i < p->num_loops; i++) {
            if (p->loops[i].axis == axis) {
                if (++turn[i] < reference_turns(&p->loops[i], extent)) {
                    break;
                }
                turn[i] = 0;
            }
        }
        if (i == p->num_loops) {
            break;
        }
    }
    free(seen);
    return good && places == padded;
}

static inline int reference_axis_is_exact(const reference_profile *p, unsigned axis) {
    int bounded;
    uint64_t g = reference_granule(p, axis, &bounded);
    if (g == 0) {
        return 0;
    }
    if (bounded) {
        return reference_visits_once(p, axis, g, g);
    }
    return reference_visits_once(p, axis, 1, g) && reference_visits_once(p, axis, g + 1, 2 * g) &&
           reference_visits_once(p, axis, 3 * g, 3 * g);
}

/* 1 and the profile, or 0 for bytes that must be refused. */
static inline int reference_decode(const uint8_t *b, size_t len, reference_profile *p) {
    uint64_t alignment, kernel_len, k, mn;
    int bounded;
    memset(p, 0, sizeof *p);
    if (len < 32 || len > 256 || memcmp(b, "\x54\x4C\x59\x50\x01", 5) != 0) {
        return 0;
    }
    p->role = b[5];
    p->type = b[6];
    p->rank = b[7];
    p->k_axis = b[8];
    p->mn_axis = b[9];
    p->num_loops = b[10];
    kernel_len = b[11];
    alignment = reference_number(b, 16, 4);
    p->element_len = reference_element_len(p->type);
    if (p->role < 1 || p->role > 2 || p->element_len == 0 || p->rank < 2 || p->rank > 8 ||
        p->k_axis >= p->rank || p->mn_axis >= p->rank || p->k_axis == p->mn_axis ||
        p->num_loops < 2 || p->num_loops > 8 || kernel_len > 47 || b[12] > 1 ||
        reference_number(b, 13, 3) != 0 || alignment == 0 || alignment > 2097152 ||
        (alignment & (alignment - 1)) != 0 || (b[12] == 0 && reference_number(b, 24, 8) != 0) ||
        len != 32 + 16 * (size_t)p->num_loops + kernel_len) {
        return 0;
    }
    for (uint64_t i = 0; i < kernel_len; i++) {
        uint8_t c = b[len - 1 - i];
        if (c < 0x20 || c > 0x7E) {
            return 0;
        }
    }
    for (unsigned i = 0; i < p->num_loops; i++) {
        const uint8_t *at = b + 32 + 16 * i;
        reference_loop *loop = &p->loops[i];
        uint64_t x = reference_number(at, 8, 4), q = reference_number(at, 12, 4);
        loop->axis = at[0];
        loop->step = reference_number(at, 4, 4);
        if (at[0] > 1 || at[1] > 1 || at[2] != 0 || at[3] != 0 || loop->step == 0) {
            return 0;
        }
        if (at[1] == 0) {
            loop->count = x;
            if (x < 2 || q != 0) {
                return 0;
            }
        } else {
            loop->r = x;
            loop->q = q;
            if (q != loop->step || x == 0 || x % q != 0) {
                return 0;
            }
        }
    }
    for (unsigned axis = 0; axis < 2; axis++) { /* rule 3: at most one */
        unsigned rounded = 0;
        for (unsigned i = 0; i < p->num_loops; i++) {
            rounded += p->loops[i].axis == axis && p->loops[i].count == 0;
        }
        if (rounded > 1) {
            return 0;
        }
    }
    if (!reference_axis_is_exact(p, 0) || !reference_axis_is_exact(p, 1)) {
        return 0;
    }
    k = reference_granule(p, 0, &bounded);
    mn = reference_granule(p, 1, &bounded);
    if (k * mn * p->element_len > 16777216) {
        return 0;
    }
    for (unsigned i = 1; i < p->num_loops; i++) { /* rule 6 */
        const reference_loop *outer = &p->loops[i - 1], *inner = &p->loops[i];
        if (outer->axis == inner->axis && inner->count != 0 &&
            outer->step == inner->step * inner->count) {
            return 0;
        }
    }
    return 1;
}

/* Elements of the panel of one matrix, by running all loops; 0 if the profile does not fit. */
static inline uint64_t reference_places(const reference_profile *p, uint64_t k, uint64_t mn) {
    uint64_t extents[2] = {k, mn}, places = 1;
    for (unsigned axis = 0; axis < 2; axis++) {
        int bounded;
        uint64_t g = reference_granule(p, axis, &bounded);
        if (bounded && extents[axis] > g) {
            return 0;
        }
        places *= reference_up(extents[axis], g);
    }
    return places;
}

/* Packs one matrix of K x MN elements, element (k, mn) of which lies at src + k * k_stride + mn *
 * mn_stride (bytes), place by place in the order of memory. `dst` has reference_places elements. */
static inline void reference_pack(const reference_profile *p, uint64_t k, uint64_t mn,
                                  const uint8_t *src, uint64_t k_stride, uint64_t mn_stride,
                                  uint8_t *dst) {
    uint64_t turn[8] = {0}, extents[2] = {k, mn};
    uint64_t places = reference_places(p, k, mn);
    for (uint64_t place = 0; place < places; place++) {
        uint64_t index[2] = {0, 0};
        for (unsigned i = 0; i < p->num_loops; i++) {
            index[p->loops[i].axis] += turn[i] * p->loops[i].step;
        }
        if (index[0] < k && index[1] < mn) {
            memcpy(dst, src + index[0] * k_stride + index[1] * mn_stride, p->element_len);
        } else {
            memset(dst, 0, p->element_len);
        }
        dst += p->element_len;
        for (unsigned i = p->num_loops; i-- > 0;) {
            if (++turn[i] < reference_turns(&p->loops[i], extents[p->loops[i].axis])) {
                break;
            }
            turn[i] = 0;
        }
    }
}

#endif
