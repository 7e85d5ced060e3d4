/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/order_rows.h"

#include "pto/profile/format.h"

/* Patterns that are no numbers. */
typedef struct special_bits {
    uint64_t largest; /* without its sign, of those that are none */
    uint64_t nan;     /* canonical */
    uint64_t quiet;   /* the bit that signaling NaNs lack */
} special_bits;

#define BITS    uint8_t
#define SIGNED  int8_t
#define WIDTH   8
#define NAME(n) n##_8
#include "pto/profile/order_rows_template.h"
#undef BITS
#undef SIGNED
#undef WIDTH
#undef NAME

#define BITS    uint16_t
#define SIGNED  int16_t
#define WIDTH   16
#define NAME(n) n##_16
#include "pto/profile/order_rows_template.h"
#undef BITS
#undef SIGNED
#undef WIDTH
#undef NAME

#define BITS    uint32_t
#define SIGNED  int32_t
#define WIDTH   32
#define NAME(n) n##_32
#include "pto/profile/order_rows_template.h"
#undef BITS
#undef SIGNED
#undef WIDTH
#undef NAME

#define BITS    uint64_t
#define SIGNED  int64_t
#define WIDTH   64
#define NAME(n) n##_64
#include "pto/profile/order_rows_template.h"

/* Bits as integers of the host need one that stores them as tiles do. */
static bool covers(uint32_t dtype) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && f->kind == TLY_PTO_FORMAT_BINARY &&
           f->has_order;
}

/* Where there is no infinity all ones are NaN, and no NaN signals. */
static special_bits special_of(uint32_t dtype) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    uint64_t quiet = UINT64_C(1) << (f->low_zero_bits + f->fraction_bits - 1);
    return f->has_infinity ? (special_bits){tly_pto_infinity(dtype), f->canonical_nan, quiet}
                           : (special_bits){tly_pto_low_bits(UINT64_MAX, f->bits - 1U) - 1,
                                            f->canonical_nan, 0};
}

bool tly_pto_order_binary_rows(tly_pto_tile_binary op, uint32_t dtype,
                               const tly_pto_binary_rows *rows, uint8_t *flags) {
    bool maximum = op == TLY_PTO_TILE_MAX, raised = false;
    if ((!maximum && op != TLY_PTO_TILE_MIN) || !covers(dtype)) {
        return false;
    }
    if (rows->count == 0) {
        return true;
    }
    const special_bits s = special_of(dtype);
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        raised = binary_8(maximum, &s, rows);
        break;
    case 16:
        raised = binary_16(maximum, &s, rows);
        break;
    case 32:
        raised = binary_32(maximum, &s, rows);
        break;
    default:
        raised = binary_64(maximum, &s, rows);
        break;
    }
    if (raised && flags != NULL) {
        *flags |= TLY_PTO_FLAG_INVALID;
    }
    return true;
}

bool tly_pto_order_unary_row(tly_pto_tile_unary op, uint32_t dtype, const void *value, void *out,
                             size_t count, uint8_t *flags) {
    bool raised = false;
    if ((op != TLY_PTO_TILE_ABS && op != TLY_PTO_TILE_NEG && op != TLY_PTO_TILE_RELU) ||
        !covers(dtype)) {
        return false;
    }
    if (count == 0) {
        return true;
    }
    const special_bits s = special_of(dtype);
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        raised = unary_8(op, &s, value, out, count);
        break;
    case 16:
        raised = unary_16(op, &s, value, out, count);
        break;
    case 32:
        raised = unary_32(op, &s, value, out, count);
        break;
    default:
        raised = unary_64(op, &s, value, out, count);
        break;
    }
    *flags |= raised ? TLY_PTO_FLAG_INVALID : 0;
    return true;
}

bool tly_pto_order_extreme(bool maximum, uint32_t dtype, const void *value, size_t count,
                           uint64_t *out_value) {
    if (!covers(dtype)) {
        return false;
    }
    const special_bits s = special_of(dtype);
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        return extreme_8(maximum, &s, value, count, out_value);
    case 16:
        return extreme_16(maximum, &s, value, count, out_value);
    case 32:
        return extreme_32(maximum, &s, value, count, out_value);
    default:
        return extreme_64(maximum, &s, value, count, out_value);
    }
}

bool tly_pto_order_compare_row(uint32_t dtype, const void *left, const void *right, bool broadcast,
                               uint8_t *out, size_t count, uint8_t *flags) {
    bool raised = false;
    if (!covers(dtype)) {
        return false;
    }
    if (count == 0) {
        return true;
    }
    const special_bits s = special_of(dtype);
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        raised = compare_8(&s, left, right, broadcast, out, count);
        break;
    case 16:
        raised = compare_16(&s, left, right, broadcast, out, count);
        break;
    case 32:
        raised = compare_32(&s, left, right, broadcast, out, count);
        break;
    default:
        raised = compare_64(&s, left, right, broadcast, out, count);
        break;
    }
    *flags |= raised ? TLY_PTO_FLAG_INVALID : 0;
    return true;
}
