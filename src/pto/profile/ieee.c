/* SPDX-License-Identifier: Apache-2.0 */
/* Real arithmetic: every result is the exact one, rounded once (docs/spec/ieee-profile.md). */
#include "pto/profile/ieee.h"

#include "pto/profile/element.h"
#include "pto/profile/ieee_cells.h"
#include "pto/profile/ieee_rows.h"
#include "pto/profile/scalar.h"
#include "pto/profile/v0.h"

uint8_t tly_pto_ieee_direction(uint32_t rounding) {
    static const uint8_t directions[] = {[TLY_PTO_ROUND_NEAREST_EVEN] = TLY_ROUND_NEAREST_EVEN,
                                         [TLY_PTO_ROUND_DOWN] = TLY_ROUND_DOWN,
                                         [TLY_PTO_ROUND_UP] = TLY_ROUND_UP,
                                         [TLY_PTO_ROUND_ZERO] = TLY_ROUND_TO_ZERO,
                                         [TLY_PTO_ROUND_NEAREST_AWAY] = TLY_ROUND_NEAREST_AWAY,
                                         [TLY_PTO_ROUND_ODD] = TLY_ROUND_TO_ODD,
                                         [TLY_PTO_ROUND_HALF_UP] = TLY_ROUND_NEAREST_UP};
    return directions[rounding];
}

static uint8_t flags_of(uint32_t raised) {
    return (uint8_t)(((raised & TLY_FLAG_INVALID) != 0 ? TLY_PTO_FLAG_INVALID : 0) |
                     ((raised & TLY_FLAG_OVERFLOW) != 0 ? TLY_PTO_FLAG_OVERFLOW : 0) |
                     ((raised & TLY_FLAG_UNDERFLOW) != 0 ? TLY_PTO_FLAG_UNDERFLOW : 0) |
                     ((raised & TLY_FLAG_INEXACT) != 0 ? TLY_PTO_FLAG_INEXACT : 0));
}

static bool is_nan(const tly_number *n) {
    return n->klass == TLY_NUMBER_QUIET_NAN || n->klass == TLY_NUMBER_SIGNALING_NAN ||
           n->klass == TLY_NUMBER_INVALID;
}

static bool is_finite(const tly_number *n) {
    return n->klass == TLY_NUMBER_NORMAL || n->klass == TLY_NUMBER_SUBNORMAL;
}

tly_number tly_pto_ieee_number(uint32_t dtype, uint64_t value) {
    return tly_num_unpack(tly_format_of_tile(dtype), tly_pto_raw(value, dtype));
}

uint64_t tly_pto_ieee_encode(uint32_t dtype, tly_number number,
                             const tly_pto_numeric_control *control, uint8_t *flags) {
    const tly_num_control how = {.rounding = tly_pto_ieee_direction(control->rounding),
                                 .saturate = control->saturating,
                                 .canonical_nan = 1};
    uint32_t raised = 0;
    bool integer = tly_pto_dtype_is_integer(dtype);
    if (is_nan(&number) && !integer) {
        *flags |= number.klass != TLY_NUMBER_QUIET_NAN ? TLY_PTO_FLAG_INVALID : 0;
        return tly_pto_formats[dtype].canonical_nan;
    }
    uint64_t bits = (uint64_t)tly_num_round(tly_format_of_tile(dtype), number, how, &raised);
    *flags |= flags_of(raised);
    bool beyond = !integer && (raised & TLY_FLAG_OVERFLOW) != 0 &&
                  tly_pto_class_is_nan(tly_pto_classify(dtype, bits));
    return beyond ? tly_pto_formats[dtype].canonical_nan : tly_pto_canonical(bits, dtype);
}

/* A NaN among the operands decides: the result is a quiet NaN, INVALID if one of them signals. */
static tly_number quiet(const tly_number *operands, uint32_t count) {
    bool signals = false;
    for (uint32_t i = 0; i < count; i++) {
        signals |= is_nan(&operands[i]) && operands[i].klass != TLY_NUMBER_QUIET_NAN;
    }
    return (tly_number){(tly_num_bits)1 << 127, 0,
                        signals ? TLY_NUMBER_SIGNALING_NAN : TLY_NUMBER_QUIET_NAN, 0};
}

static bool any_nan(const tly_number *operands, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (is_nan(&operands[i])) {
            return true;
        }
    }
    return false;
}

/* A sum of two numbers that are not zero and cancel is -0 when rounding down. */
static tly_number signed_zero(tly_number sum, tly_pto_rounding rounding, bool cancelled) {
    if (sum.klass == TLY_NUMBER_ZERO && cancelled) {
        sum.negative = rounding == TLY_PTO_ROUND_DOWN;
    }
    return sum;
}

static tly_number add(tly_number a, tly_number b, tly_pto_rounding rounding) {
    bool cancels = a.negative != b.negative;
    return signed_zero(tly_num_add(a, b), rounding, cancels);
}

uint64_t tly_pto_ieee_binary(tly_pto_float_binary op, tly_pto_rounding rounding, uint32_t dtype,
                             uint64_t left, uint64_t right, uint8_t *flags) {
    const tly_pto_numeric_control control = {(uint8_t)rounding, false};
    tly_number x[2] = {tly_pto_ieee_number(dtype, left), tly_pto_ieee_number(dtype, right)};
    tly_number result;
    if (any_nan(x, 2)) {
        return tly_pto_ieee_encode(dtype, quiet(x, 2), &control, flags);
    }
    switch (op) {
    case TLY_PTO_FLOAT_SUB:
        x[1].negative = !x[1].negative;
        result = add(x[0], x[1], rounding);
        break;
    case TLY_PTO_FLOAT_MUL:
        result = tly_num_multiply(x[0], x[1]);
        break;
    case TLY_PTO_FLOAT_DIV:
        if (x[1].klass == TLY_NUMBER_ZERO && is_finite(&x[0])) {
            *flags |= TLY_PTO_FLAG_DIVIDE_BY_ZERO;
        }
        result = tly_num_divide(x[0], x[1]);
        break;
    case TLY_PTO_FLOAT_MIN:
    case TLY_PTO_FLOAT_MAX: {
        bool invalid = false;
        uint64_t value =
            tly_pto_floating_min_max(op == TLY_PTO_FLOAT_MAX, dtype, left, right, &invalid);
        *flags |= invalid ? TLY_PTO_FLAG_INVALID : 0;
        return value;
    }
    default:
        result = add(x[0], x[1], rounding);
        break;
    }
    return tly_pto_ieee_encode(dtype, result, &control, flags);
}

uint64_t tly_pto_ieee_fused(tly_pto_float_fused op, tly_pto_rounding rounding, uint32_t dtype,
                            uint64_t addend, uint64_t left, uint64_t right, uint8_t *flags) {
    const tly_pto_numeric_control control = {(uint8_t)rounding, false};
    tly_number x[3] = {tly_pto_ieee_number(dtype, left), tly_pto_ieee_number(dtype, right),
                       tly_pto_ieee_number(dtype, addend)};
    if (any_nan(x, 3)) {
        return tly_pto_ieee_encode(dtype, quiet(x, 3), &control, flags);
    }
    /* the signs go to the operands: the exact value is rounded in its own direction */
    bool negate = op == TLY_PTO_FLOAT_NMADD || op == TLY_PTO_FLOAT_NMSUB;
    bool subtract = op == TLY_PTO_FLOAT_MSUB || op == TLY_PTO_FLOAT_NMSUB;
    x[0].negative ^= negate;
    x[2].negative ^= negate != subtract;
    tly_number product = tly_num_multiply(x[0], x[1]);
    return tly_pto_ieee_encode(dtype, add(product, x[2], rounding), &control, flags);
}

/* |a| - |b| * 2^shift while it is not negative, for falling shifts: what is left of |a|. */
static tly_number remainder_of(tly_number a, tly_number b) {
    a.negative = 0;
    b.negative = 0;
    while (is_finite(&a) &&
           (a.exponent > b.exponent || (a.exponent == b.exponent && a.fraction >= b.fraction))) {
        tly_number step = b;
        step.exponent = a.fraction >= b.fraction ? a.exponent : a.exponent - 1;
        step.negative = 1;
        a = tly_num_add(a, step);
    }
    return a;
}

uint64_t tly_pto_ieee_modulo(uint32_t dtype, uint64_t left, uint64_t right, uint8_t *flags) {
    const tly_pto_numeric_control control = {TLY_PTO_ROUND_NEAREST_EVEN, false};
    tly_number x[2] = {tly_pto_ieee_number(dtype, left), tly_pto_ieee_number(dtype, right)};
    if (any_nan(x, 2)) {
        return tly_pto_ieee_encode(dtype, quiet(x, 2), &control, flags);
    }
    if (x[0].klass == TLY_NUMBER_INFINITE || x[1].klass == TLY_NUMBER_ZERO) {
        tly_number none = {(tly_num_bits)1 << 127, 0, TLY_NUMBER_SIGNALING_NAN, 0};
        return tly_pto_ieee_encode(dtype, none, &control, flags);
    }
    tly_number rest = x[0];
    if (x[1].klass != TLY_NUMBER_INFINITE) {
        rest = remainder_of(x[0], x[1]);
        rest.negative = x[0].negative;
    }
    if (rest.klass == TLY_NUMBER_ZERO) {
        rest.negative = x[1].negative;
    } else if (rest.negative != x[1].negative) {
        rest = tly_num_add(rest, x[1]);
    }
    return tly_pto_ieee_encode(dtype, rest, &control, flags);
}

static tly_number reciprocal(tly_number x) {
    return tly_num_divide((tly_number){(tly_num_bits)1 << 127, 0, TLY_NUMBER_NORMAL, 0}, x);
}

static uint64_t function(tly_number (*of)(tly_number), tly_pto_rounding rounding, uint32_t dtype,
                         uint64_t value, uint8_t *flags) {
    const tly_pto_numeric_control control = {(uint8_t)rounding, false};
    tly_number x = tly_pto_ieee_number(dtype, value);
    return tly_pto_ieee_encode(dtype, is_nan(&x) ? quiet(&x, 1) : of(x), &control, flags);
}

uint64_t tly_pto_ieee_scalar_unary(tly_pto_float_unary op, tly_pto_rounding rounding,
                                   uint32_t dtype, uint64_t value, uint8_t *flags) {
    if (op == TLY_PTO_FLOAT_ABS) {
        return value & ~tly_pto_sign_mask(dtype);
    }
    if (op == TLY_PTO_FLOAT_RECIP && tly_pto_ieee_number(dtype, value).klass == TLY_NUMBER_ZERO) {
        *flags |= TLY_PTO_FLAG_DIVIDE_BY_ZERO;
    }
    return function(op == TLY_PTO_FLOAT_SQRT  ? tly_num_square_root
                    : op == TLY_PTO_FLOAT_EXP ? tly_num_exp
                                              : reciprocal,
                    rounding, dtype, value, flags);
}

static tly_number reciprocal_root(tly_number x) {
    return reciprocal(tly_num_square_root(x));
}

/* Special values were taken care of (tly_pto_element_unary). */
uint64_t tly_pto_ieee_unary(tly_pto_tile_unary op, uint32_t dtype, uint64_t value, uint8_t *flags) {
    static tly_number (*const of[])(tly_number) = {[TLY_PTO_TILE_SQRT] = tly_num_square_root,
                                                   [TLY_PTO_TILE_LOG] = tly_num_log,
                                                   [TLY_PTO_TILE_RECIP] = reciprocal,
                                                   [TLY_PTO_TILE_EXP] = tly_num_exp,
                                                   [TLY_PTO_TILE_RSQRT] = reciprocal_root};
    if (op < TLY_PTO_TILE_SQRT) {
        return tly_pto_element_fixed_unary(op, dtype, value, flags);
    }
    return function(of[op], TLY_PTO_ROUND_NEAREST_EVEN, dtype, value, flags);
}

uint64_t tly_pto_ieee_mixed_expdif(uint32_t source, uint64_t left, uint64_t broadcast,
                                   uint8_t *flags) {
    (void)source;
    uint64_t difference = tly_pto_ieee_binary(TLY_PTO_FLOAT_SUB, TLY_PTO_ROUND_NEAREST_EVEN,
                                              TLY_PTO_FP32, left, broadcast, flags);
    return tly_pto_element_unary(&tly_pto_profile_ieee, TLY_PTO_TILE_EXP, TLY_PTO_FP32, difference,
                                 flags);
}

/* --- reductions and order ------------------------------------------------------------------- */

static uint64_t reduce_step(tly_pto_reduction op, uint32_t dtype, uint64_t accumulator,
                            uint64_t value, bool *out_selected, uint8_t *flags) {
    return tly_pto_element_reduce(&tly_pto_profile_ieee, op, dtype, accumulator, value,
                                  out_selected, flags);
}

/* NaN stands behind every number in either order; -0 before +0. */
static bool order_left(uint32_t dtype, bool descending, uint64_t left, uint64_t right) {
    if (!tly_pto_dtype_is_floating(dtype)) {
        uint64_t l = tly_pto_canonical(left, dtype), r = tly_pto_canonical(right, dtype);
        bool less = tly_pto_dtype_is_signed(dtype) ? (int64_t)l < (int64_t)r : l < r;
        return l == r || less != descending;
    }
    bool left_nan = tly_pto_class_is_nan(tly_pto_classify(dtype, left));
    bool right_nan = tly_pto_class_is_nan(tly_pto_classify(dtype, right));
    if (left_nan || right_nan) {
        return right_nan;
    }
    uint64_t l = tly_pto_order_key(dtype, left), r = tly_pto_order_key(dtype, right);
    return l == r || (l < r) != descending;
}

static bool element_is_nan(uint32_t dtype, uint64_t value) {
    return tly_pto_class_is_nan(tly_pto_classify(dtype, value));
}

static uint64_t fused(uint32_t dtype, uint64_t addend, uint64_t left, uint64_t right,
                      uint8_t *flags) {
    return tly_pto_ieee_fused(TLY_PTO_FLOAT_MADD, TLY_PTO_ROUND_NEAREST_EVEN, dtype, addend, left,
                              right, flags);
}

static uint64_t fused_invalid(uint32_t dtype, uint64_t left, uint64_t right, uint64_t addend,
                              uint8_t *flags) {
    (void)left;
    (void)right;
    (void)addend;
    *flags |= TLY_PTO_FLAG_INVALID;
    return tly_pto_formats[dtype].canonical_nan;
}

const tly_pto_profile tly_pto_profile_ieee = {
    .name = "ieee",
    .identity = "tilery-ieee-1",
    .keeps_carriers = false,
    .reduce_lanes = 16,
    .scalar_binary = tly_pto_ieee_binary,
    .scalar_unary = tly_pto_ieee_scalar_unary,
    .scalar_fused = tly_pto_ieee_fused,
    .scalar_to_integer = tly_pto_ieee_scalar_to_integer,
    .scalar_convert = tly_pto_ieee_scalar_convert,
    .scalar_from_integer = tly_pto_ieee_scalar_from_integer,
    .unary = tly_pto_ieee_unary,
    .compare = tly_pto_floating_compare,
    .modulo = tly_pto_ieee_modulo,
    .reduce_initial = tly_pto_reduce_initial,
    .reduce_step = reduce_step,
    .mixed_expdif = tly_pto_ieee_mixed_expdif,
    .order_left = order_left,
    .is_nan = element_is_nan,
    .convert = tly_pto_ieee_convert,
    .quantize = tly_pto_v0_quantize,
    .quantize_row = tly_pto_v0_quantize_row,
    .dequantize = tly_pto_v0_dequantize,
    .fused = fused,
    .fused_invalid = fused_invalid,
    .matrix_step = tly_pto_ieee_matrix_step,
    .matrix_cells = tly_pto_ieee_cells,
    .exact_f32 = tly_pto_ieee_exact_f32,
    .binary_rows = tly_pto_ieee_binary_rows,
    .fused_row = tly_pto_ieee_fused_row,
    .unary_row = tly_pto_ieee_unary_row,
    .convert_row = tly_pto_ieee_convert_row,
    .reduce_rows = tly_pto_ieee_reduce_rows,
    .matrix_bias = tly_pto_ieee_matrix_bias,
    .post_process = tly_pto_v0_post_process,
    .matrix_max = tly_pto_v0_matrix_max,
};
