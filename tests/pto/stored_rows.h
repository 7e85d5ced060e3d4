/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of rows of stored elements: the levels of vector code, and single elements. */
#ifndef TLY_TESTS_STORED_ROWS_H
#define TLY_TESTS_STORED_ROWS_H

#include <string.h>

#include "check.h"
#include "pto/profile/profile.h"

static tly_simd levels[TLY_SIMD_AVX512_FP16] = {TLY_SIMD_PORTABLE};
static uint32_t num_levels = 1;

/* Those up to the level of a context, which TILERY_SIMD may lower. */
static inline int find_levels(void **state) {
    tly_context *context = NULL;
    tly_error err;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &err), &err);
    for (int32_t simd = TLY_SIMD_AVX2; simd <= (int32_t)tly_context_simd(context); simd++) {
        levels[num_levels++] = (tly_simd)simd;
    }
    tly_context_free(context);
    return 0;
}

/* Elements are stored little-endian; where numbers are not, what reads them as numbers declines. */
static inline void needs_numbers_as_stored(void) {
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
        print_message("SKIP this host computes rows of numbers one by one\n");
        skip();
    }
}

static inline size_t bytes_of(uint32_t dtype) {
    return tly_pto_dtype_bits(dtype) / 8;
}

static inline uint64_t stored(uint32_t dtype, const uint8_t *row, size_t i) {
    uint64_t bits = 0;
    memcpy(&bits, row + i * bytes_of(dtype), bytes_of(dtype));
    return bits;
}

static inline void store(uint32_t dtype, uint8_t *row, size_t i, uint64_t bits) {
    memcpy(row + i * bytes_of(dtype), &bits, bytes_of(dtype));
}

/* `num_rows` rows of `most` elements, of which `count` are meant, in a left operand and a result;
 * of `right_stride` elements in a right one. */
static inline tly_pto_binary_rows stored_rows(uint32_t dtype, const void *left, const void *right,
                                              void *out, size_t most, size_t right_stride,
                                              size_t num_rows, size_t count, bool broadcast) {
    return (tly_pto_binary_rows){.left = left,
                                 .right = right,
                                 .out = out,
                                 .left_stride = most * bytes_of(dtype),
                                 .right_stride = right_stride * bytes_of(dtype),
                                 .out_stride = most * bytes_of(dtype),
                                 .num_rows = num_rows,
                                 .count = count,
                                 .broadcast = broadcast};
}

#endif
