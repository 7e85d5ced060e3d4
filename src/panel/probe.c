/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices of a probe and the hash over their panels (docs/spec/panel-profile.md, "Probing").
 */
#include <string.h>

#include "base/error.h"
#include "panel/hash.h"
#include "panel/probe.h"
#include "panel/template.h"

enum { NUM_SHAPES = 4, DIGIT_BITS = 6 };

/* Shapes 3 and 4: beyond the cache blocks of known libraries along K, and along N or M. */
static const uint64_t LONG_EXTENT = 1031;
static const uint64_t SHORT_EXTENT = 67;

static uint64_t probe_extent(const tly_panel_profile *profile, tly_panel_axis axis,
                             uint32_t shape) {
    tly_panel_reach reach;
    uint64_t extent = 1;
    tly_panel_axis_reach(profile, axis, &reach);
    if (shape == 1) {
        extent = 2 * (uint64_t)reach.granule + 1;
    } else if (shape >= 2) {
        extent = (shape == 2) == (axis == TLY_PANEL_K) ? LONG_EXTENT : SHORT_EXTENT;
    }
    return reach.bounded && extent > reach.granule ? reach.granule : extent;
}

static uint32_t num_passes(uint64_t num_elements) {
    uint32_t passes = 1;
    while (num_elements > UINT64_C(1) << (DIGIT_BITS * passes)) {
        passes++;
    }
    return passes;
}

/* Finds matrix number `index`; with an index beyond the last, counts them all. A granule is at most
 * 2^16 and a cell at most 2^24 bytes, so that no size here comes near 64 bits. */
static tly_status walk(const tly_panel_profile *profile, uint32_t index, tly_panel_probe *out_probe,
                       uint32_t *out_num, uint64_t *out_work, tly_error *error) {
    uint32_t num = 0;
    uint64_t work = 0;

    for (uint32_t shape = 0; shape < NUM_SHAPES; shape++) {
        tly_panel_probe probe = {0};
        uint32_t passes;
        tly_status status;
        probe.k = probe_extent(profile, TLY_PANEL_K, shape);
        probe.mn = probe_extent(profile, TLY_PANEL_MN, shape);
        for (uint32_t axis = 0; axis < TLY_PANEL_MAX_RANK; axis++) {
            probe.shape[axis] = 1;
        }
        probe.shape[profile->k_axis] = probe.k;
        probe.shape[profile->mn_axis] = probe.mn;
        probe.stored_len = probe.k * probe.mn * tly_panel_element_len(profile->dtype);
        status = tly_panel_bind(profile, profile->rank, probe.shape, NULL, &probe.panel_len, error);
        if (status != TLY_OK) {
            return status;
        }
        passes = num_passes(probe.k * probe.mn);
        if (index >= num && index - num < passes) {
            probe.digit = index - num;
            *out_probe = probe;
        }
        num += passes;
        work += passes * (probe.stored_len + probe.panel_len);
    }
    *out_num = num;
    *out_work = work;
    return TLY_OK;
}

tly_status tly_panel_probe_count(const tly_panel_profile *profile, uint32_t *out_num,
                                 uint64_t *out_work, tly_error *error) {
    uint64_t work;
    tly_status status = tly_panel_check(profile, error);
    if (status == TLY_OK) {
        status = walk(profile, UINT32_MAX, NULL, out_num, &work, error);
    }
    if (status == TLY_OK && out_work != NULL) {
        *out_work = work;
    }
    return status;
}

tly_status tly_panel_probe_get(const tly_panel_profile *profile, uint32_t index,
                               tly_panel_probe *out_probe, tly_error *error) {
    uint32_t num;
    uint64_t work;
    tly_status status = tly_panel_check(profile, error);
    if (status == TLY_OK) {
        status = walk(profile, index, out_probe, &num, &work, error);
    }
    if (status == TLY_OK && index >= num) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "panel-probe-index",
                             "matrix %u of a probe that has %u", index, num);
    }
    return status;
}

/* The codes of the numbers 1 .. 128 in a floating-point format that holds them exactly. */
static uint64_t float_code(const tly_dtype_info *info, uint32_t number) {
    uint32_t exponent = 31 - (uint32_t)__builtin_clz(number);
    uint64_t fraction = number - (UINT64_C(1) << exponent);
    uint64_t biased = exponent + (uint64_t)info->exponent_bias;
    return biased << info->mantissa_bits | fraction << (info->mantissa_bits - exponent);
}

static uint64_t digit_code(const tly_dtype_info *info, uint32_t digit) {
    if (info->klass == TLY_CLASS_COMPLEX) {
        const tly_dtype_info *part = tly_dtype_find(TLY_F32);
        return float_code(part, digit + 1) | float_code(part, digit + 65) << 32;
    }
    if (info->klass != TLY_CLASS_FLOAT) {
        return digit + 1;
    }
    return info->bits == 8 ? 0x10 + digit : float_code(info, digit + 1);
}

/* Element `number` of a block, little-endian or in this machine's order. */
static void store_code(uint8_t *to, uint64_t code, uint32_t len, uint32_t unit) {
    for (uint32_t i = 0; i < len; i++) {
        to[i ^ (unit - 1)] = (uint8_t)(code >> (8 * i));
    }
}

/* Bytes whose order a machine may turn round. */
static uint32_t unit_of(tly_dtype dtype) {
    const tly_dtype_info *info = tly_dtype_find(dtype);
    uint32_t len = info->bits / 8u;
    return info->klass == TLY_CLASS_COMPLEX ? len / 2 : len;
}

/* `unit` as in tly_panel_hash64: 1 gives little-endian elements. */
static void fill(const tly_panel_profile *profile, const tly_panel_probe *probe, uint32_t unit,
                 uint8_t *stored) {
    const tly_dtype_info *info = tly_dtype_find(profile->dtype);
    uint32_t len = info->bits / 8u;
    uint8_t codes[1 << DIGIT_BITS][8];
    uint64_t num = probe->stored_len / len;

    for (uint32_t digit = 0; digit < 1 << DIGIT_BITS; digit++) {
        store_code(codes[digit], digit_code(info, digit), len, unit);
    }
    for (uint64_t e = 0; e < num; e++) {
        memcpy(stored + e * len, codes[e >> (DIGIT_BITS * probe->digit) & ((1 << DIGIT_BITS) - 1)],
               len);
    }
}

void tly_panel_fill_le(const tly_panel_profile *profile, const tly_panel_probe *probe,
                       uint8_t *stored) {
    fill(profile, probe, 1, stored);
}

void tly_panel_probe_fill(const tly_panel_profile *profile, const tly_panel_probe *probe,
                          void *stored) {
    int big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    fill(profile, probe, big ? unit_of(profile->dtype) : 1, stored);
}

uint64_t tly_panel_probe_hash(const tly_panel_profile *profile, uint64_t hash, const void *panel,
                              uint64_t len) {
    return tly_panel_hash64(panel, len, hash, unit_of(profile->dtype));
}
