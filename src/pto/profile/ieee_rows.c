/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/ieee_rows.h"

#include <string.h>

#include "pto/profile/element.h"

#define NUMBER   float
#define BITS     uint32_t
#define SIGNED   int32_t
#define NAN_BITS UINT32_C(0x7FC00000)
#define NAME(n)  n##_f32_portable
#include "pto/profile/ieee_rows_template.h"
#undef NUMBER
#undef BITS
#undef SIGNED
#undef NAN_BITS
#undef NAME

#define NUMBER   double
#define BITS     uint64_t
#define SIGNED   int64_t
#define NAN_BITS UINT64_C(0x7FF8000000000000)
#define NAME(n)  n##_f64_portable
#include "pto/profile/ieee_rows_template.h"

#undef NAME
#define NAME(n) n##_portable
#include "pto/profile/ieee_bf16_template.h"

/* Elements are stored little-endian; a loop over numbers needs a host that is. */
static bool host_fits(void) {
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

#if defined(__x86_64__)
/* NULL below AVX2. */
static const tly_pto_ieee_row_kernels *kernels_of(tly_simd simd) {
    return simd >= TLY_SIMD_AVX512 ? &tly_pto_ieee_rows_avx512
           : simd >= TLY_SIMD_AVX2 ? &tly_pto_ieee_rows_avx2
                                   : NULL;
}
#endif

static tly_pto_ieee_binary_loop *binary_loop(tly_simd simd, uint32_t dtype) {
    tly_pto_ieee_binary_loop *of_f32 = tly_pto_ieee_binary_f32_portable;
    tly_pto_ieee_binary_loop *of_f64 = tly_pto_ieee_binary_f64_portable;
    tly_pto_ieee_binary_loop *of_f16 = NULL;
#if defined(__x86_64__)
    const tly_pto_ieee_row_kernels *kernels = kernels_of(simd);
    if (kernels != NULL) {
        of_f32 = kernels->binary_f32;
        of_f64 = kernels->binary_f64;
        of_f16 =
            simd >= TLY_SIMD_AVX512_FP16 ? tly_pto_ieee_binary_f16_avx512fp16 : kernels->binary_f16;
    }
#endif
    (void)simd;
    return dtype == TLY_PTO_FP32   ? of_f32
           : dtype == TLY_PTO_FP64 ? of_f64
           : dtype == TLY_PTO_FP16 ? of_f16
                                   : NULL;
}

bool tly_pto_ieee_binary_rows(tly_simd simd, tly_pto_tile_binary op, uint32_t dtype,
                              const tly_pto_binary_rows *rows, uint8_t *flags) {
    tly_pto_ieee_binary_loop *loop = binary_loop(simd, dtype);
    if (loop == NULL || !host_fits() || (op > TLY_PTO_TILE_MIN && op != TLY_PTO_TILE_DIV) ||
        (dtype == TLY_PTO_FP16 && op > TLY_PTO_TILE_MUL && op != TLY_PTO_TILE_DIV)) {
        return tly_pto_ieee_narrow_binary_rows(simd, op, dtype, rows, flags);
    }
#if defined(__x86_64__)
    if (flags != NULL && simd >= TLY_SIMD_AVX2) {
        if (rows->count > 0) {
            kernels_of(simd)->flagged(loop, op, rows, flags);
        }
        return true;
    }
#endif
    if (flags != NULL) {
        return false;
    }
    if (rows->count > 0) {
        loop(op, rows);
    }
    return true;
}

size_t tly_pto_ieee_reduce_rows(tly_simd simd, tly_pto_reduction op, uint32_t dtype,
                                const void *value, size_t stride, size_t num_rows, size_t count,
                                uint64_t *out_values, uint8_t *flags) {
#if defined(__x86_64__)
    const tly_pto_ieee_row_kernels *kernels = kernels_of(simd);
    if (kernels == NULL || dtype != TLY_PTO_FP32 || count == 0) {
        return 0;
    }
    if (op == TLY_PTO_REDUCE_SUM) {
        kernels->sums(value, stride, num_rows, count, out_values, flags);
        return num_rows;
    }
    return op == TLY_PTO_REDUCE_MIN || op == TLY_PTO_REDUCE_MAX
               ? kernels->extremes(op == TLY_PTO_REDUCE_MAX, value, stride, num_rows, count,
                                   out_values)
               : 0;
#else
    (void)simd;
    (void)op;
    (void)dtype;
    (void)value;
    (void)stride;
    (void)num_rows;
    (void)count;
    (void)out_values;
    (void)flags;
    return 0;
#endif
}

float tly_pto_ieee_unary_f32(tly_pto_tile_unary op, float value, uint8_t *flags) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    bits = (uint32_t)tly_pto_element_unary(&tly_pto_profile_ieee, op, TLY_PTO_FP32, bits, flags);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

#if defined(__x86_64__)
static void vector_row(const tly_pto_ieee_row_kernels *kernels, tly_pto_tile_unary op,
                       const float *value, float *out, size_t count, uint8_t *flags) {
    switch (op) {
    case TLY_PTO_TILE_EXP:
        kernels->exp(value, out, count, flags);
        break;
    case TLY_PTO_TILE_LOG:
        kernels->log(value, out, count, flags);
        break;
    case TLY_PTO_TILE_RSQRT:
        kernels->rsqrt(value, out, count, flags);
        break;
    default:
        kernels->roots(op == TLY_PTO_TILE_RECIP, value, out, count, flags);
        break;
    }
}
#endif

bool tly_pto_ieee_unary_row(tly_simd simd, tly_pto_tile_unary op, uint32_t dtype, const void *value,
                            void *out, size_t count, uint8_t *flags) {
    if (dtype != TLY_PTO_FP32 || op < TLY_PTO_TILE_SQRT || !host_fits()) {
        return tly_pto_ieee_narrow_unary_row(simd, op, dtype, value, out, count, flags);
    }
#if defined(__x86_64__)
    const tly_pto_ieee_row_kernels *kernels = kernels_of(simd);
    if (kernels != NULL && count > 0) {
        vector_row(kernels, op, value, out, count, flags);
        return true;
    }
#endif
    (void)simd;
    if (count > 0) {
        tly_pto_ieee_unary_f32_portable(op, value, out, count, flags);
    }
    return true;
}

#if defined(__x86_64__)
/* Of operations that have no value the processor knows fewer: elements that are NaN raise their
 * flags one by one. */
static void fused_nan(uint32_t dtype, const tly_pto_fused_row *row, uint8_t *flags) {
    size_t width = tly_pto_dtype_bits(dtype) / 8;
    for (size_t i = 0; i < row->count; i++) {
        uint64_t x[4] = {0};
        memcpy(&x[3], (const uint8_t *)row->out + i * width, width);
        if (tly_pto_class_is_nan(tly_pto_classify(dtype, x[3]))) {
            memcpy(&x[0], (const uint8_t *)row->left + i * width, width);
            memcpy(&x[1], (const uint8_t *)row->right + i * width, width);
            memcpy(&x[2], (const uint8_t *)row->addend + i * width, width);
            tly_pto_element_fused(&tly_pto_profile_ieee, dtype, x[0], x[1], x[2], flags);
        }
    }
}

static bool has_nan_f32(const float *value, size_t count) {
    int any = 0;
    for (size_t i = 0; i < count; i++) {
        any |= value[i] != value[i];
    }
    return any;
}

static bool has_nan_f64(const double *value, size_t count) {
    int any = 0;
    for (size_t i = 0; i < count; i++) {
        any |= value[i] != value[i];
    }
    return any;
}
#endif

/* Without vectors a fused operation of the C library is no faster than one of ours. */
bool tly_pto_ieee_fused_row(tly_simd simd, uint32_t dtype, const tly_pto_fused_row *row,
                            uint8_t *flags) {
#if defined(__x86_64__)
    const tly_pto_ieee_row_kernels *kernels = kernels_of(simd);
    if (kernels != NULL && (dtype == TLY_PTO_FP32 || dtype == TLY_PTO_FP64)) {
        if (row->count > 0) {
            (dtype == TLY_PTO_FP32 ? kernels->fused_f32 : kernels->fused_f64)(row, flags);
            if (dtype == TLY_PTO_FP32 ? has_nan_f32(row->out, row->count)
                                      : has_nan_f64(row->out, row->count)) {
                fused_nan(dtype, row, flags);
            }
        }
        return true;
    }
#endif
    return tly_pto_ieee_narrow_fused_row(simd, dtype, row, flags);
}

/* NULL: the loops of num. */
static tly_pto_ieee_conversion *conversion_of(tly_simd simd, uint32_t from, uint32_t to) {
    tly_pto_ieee_conversion *to_bf16 = f32_to_bf16_portable, *of_bf16 = bf16_to_f32_portable;
    tly_pto_ieee_conversion *to_f16 = NULL, *of_f16 = NULL;
#if defined(__x86_64__)
    const tly_pto_ieee_row_kernels *kernels = kernels_of(simd);
    if (kernels != NULL) {
        to_bf16 = kernels->f32_to_bf16;
        of_bf16 = kernels->bf16_to_f32;
        to_f16 = kernels->f32_to_f16;
        of_f16 = kernels->f16_to_f32;
    }
#endif
    (void)simd;
    return from == TLY_PTO_FP32 && to == TLY_PTO_FP16   ? to_f16
           : from == TLY_PTO_FP16 && to == TLY_PTO_FP32 ? of_f16
           : from == TLY_PTO_FP32 && to == TLY_PTO_BF16 ? to_bf16
           : from == TLY_PTO_BF16 && to == TLY_PTO_FP32 ? of_bf16
                                                        : NULL;
}

bool tly_pto_ieee_convert_row(tly_simd simd, uint32_t from, uint32_t to,
                              const tly_pto_numeric_control *control, const void *value, void *out,
                              size_t count, uint8_t *flags) {
    if (!host_fits()) {
        return false;
    }
    tly_pto_ieee_conversion *loop = conversion_of(simd, from, to);
    if (loop != NULL && control->rounding == TLY_PTO_ROUND_NEAREST_EVEN && !control->saturating) {
        if (count > 0) {
            loop(value, out, count, flags);
        }
        return true;
    }
    return tly_pto_ieee_convert_loops(simd, from, to, control, value, out, count, flags) ||
           tly_pto_ieee_integer_row(simd, from, to, control, value, out, count, flags);
}
