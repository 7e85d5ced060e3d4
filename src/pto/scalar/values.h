/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arithmetic of scalar instructions that takes more than an operator
 * (asl/scalar/model/alu/semantics, asl/scalar/model/dispatch/decode). Pure functions; both ways of
 * execution use them. */
#ifndef TLY_PTO_SCALAR_VALUES_H
#define TLY_PTO_SCALAR_VALUES_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t tly_pto_sext8(uint64_t v) {
    return (uint64_t)(int64_t)(int8_t)v;
}
static inline uint64_t tly_pto_sext16(uint64_t v) {
    return (uint64_t)(int64_t)(int16_t)v;
}
static inline uint64_t tly_pto_sext32(uint64_t v) {
    return (uint64_t)(int64_t)(int32_t)v;
}
static inline uint64_t tly_pto_sext20(uint64_t v) {
    return (v ^ 0x80000) - 0x80000;
}

/* The modifier of a right operand is coded differently in each family. */

/* 0 .sw, 1 .uw, 2 negated or inverted, 3 as it is; then shifted. */
static inline uint64_t tly_pto_right_arithmetic(uint64_t v, uint32_t modifier, uint32_t shift) {
    v = modifier == 0 ? tly_pto_sext32(v) : modifier == 1 ? (uint32_t)v : modifier == 2 ? 0 - v : v;
    return v << shift;
}
static inline uint64_t tly_pto_right_logical(uint64_t v, uint32_t modifier, uint32_t shift) {
    return modifier == 2 ? ~v << shift : tly_pto_right_arithmetic(v, modifier, shift);
}

/* 0 as it is, 1 .sw, 2 .uw, 3 as it is in comparisons, inverted in logical ones. */
static inline uint64_t tly_pto_right_compared(uint64_t v, uint32_t modifier) {
    return modifier == 1 ? tly_pto_sext32(v) : modifier == 2 ? (uint32_t)v : v;
}
static inline uint64_t tly_pto_right_tested(uint64_t v, uint32_t modifier) {
    return modifier == 3 ? ~v : tly_pto_right_compared(v, modifier);
}

/* 3 negated, all others as it is. */
static inline uint64_t tly_pto_right_selected(uint64_t v, uint32_t modifier) {
    return modifier == 3 ? 0 - v : v;
}

/* 0 as it is, 1 .sw, 2 .uw, 3 negated; then shifted. */
static inline uint64_t tly_pto_right_indexed(uint64_t v, uint32_t modifier, uint32_t shift) {
    return (modifier == 3 ? 0 - v : tly_pto_right_compared(v, modifier)) << shift;
}

/* Division by zero gives 0, its remainder the dividend; the smallest number by -1 wraps. */
static inline uint64_t tly_pto_divide_unsigned(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : a / b;
}
static inline uint64_t tly_pto_remainder_unsigned(uint64_t a, uint64_t b) {
    return b == 0 ? a : a % b;
}
static inline uint64_t tly_pto_divide_signed(uint64_t a, uint64_t b) {
    return b == 0 ? 0 : b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
}
static inline uint64_t tly_pto_remainder_signed(uint64_t a, uint64_t b) {
    return b == 0 ? a : b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
}

static inline uint64_t tly_pto_multiply_high_unsigned(uint64_t a, uint64_t b) {
    return (uint64_t)((unsigned __int128)a * b >> 64);
}
static inline uint64_t tly_pto_multiply_high_signed(uint64_t a, uint64_t b) {
    return (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64);
}
static inline uint64_t tly_pto_multiply_add_high(uint64_t a, uint64_t b, uint64_t addend) {
    return (uint64_t)(((__int128)(int64_t)a * (int64_t)b + (int64_t)addend) >> 64);
}

/* Bit fields wrap round: `width` bits (1 to 64) from bit `offset` upwards. */
static inline uint64_t tly_pto_rotate_right(uint64_t v, uint32_t amount) {
    return v >> (amount & 63) | v << (-amount & 63);
}
static inline uint64_t tly_pto_field_mask(uint32_t width) {
    return UINT64_MAX >> (64 - width);
}
static inline uint64_t tly_pto_extract_unsigned(uint64_t v, uint32_t width, uint32_t offset) {
    return tly_pto_rotate_right(v, offset) & tly_pto_field_mask(width);
}
static inline uint64_t tly_pto_extract_signed(uint64_t v, uint32_t width, uint32_t offset) {
    return (uint64_t)((int64_t)(tly_pto_rotate_right(v, offset) << (64 - width)) >> (64 - width));
}
static inline uint64_t tly_pto_count_leading(uint64_t v, uint32_t width, uint32_t offset) {
    uint64_t field = tly_pto_extract_unsigned(v, width, offset);
    return field == 0 ? width : (uint64_t)__builtin_clzll(field) - (64 - width);
}
static inline uint64_t tly_pto_count_trailing(uint64_t v, uint32_t width, uint32_t offset) {
    uint64_t field = tly_pto_extract_unsigned(v, width, offset);
    return field == 0 ? width : (uint64_t)__builtin_ctzll(field);
}
static inline uint64_t tly_pto_count_ones(uint64_t v, uint32_t width, uint32_t offset) {
    return (uint64_t)__builtin_popcountll(tly_pto_extract_unsigned(v, width, offset));
}
static inline uint64_t tly_pto_modify_field(uint64_t v, uint32_t width, uint32_t offset, bool set) {
    uint64_t mask = tly_pto_rotate_right(tly_pto_field_mask(width), 64 - offset);
    return set ? v | mask : v & ~mask;
}
/* 0 unless the width is whole bytes. */
static inline uint64_t tly_pto_reverse_bytes(uint64_t v, uint32_t width, uint32_t offset) {
    return width % 8 != 0
               ? 0
               : __builtin_bswap64(tly_pto_extract_unsigned(v, width, offset)) >> (64 - width);
}
/* Bits first .. last of `base`, round the end where last is below first, from `source`. */
static inline uint64_t tly_pto_insert_field(uint64_t base, uint64_t source, uint32_t first,
                                            uint32_t last) {
    uint64_t mask = tly_pto_field_mask((last - first + 64) % 64 + 1);
    uint64_t at = tly_pto_rotate_right(mask, 64 - first);
    return (base & ~at) | tly_pto_rotate_right(source & mask, 64 - first);
}

/* {left, right} shifted right by 0 to 127: its two halves. */
static inline uint64_t tly_pto_concatenate_low(uint64_t left, uint64_t right, uint32_t shift) {
    return (uint64_t)(((unsigned __int128)left << 64 | right) >> shift);
}
static inline uint64_t tly_pto_concatenate_high(uint64_t left, uint32_t shift) {
    return shift < 64 ? left >> shift : 0;
}
/* The same of the low words. */
static inline uint64_t tly_pto_concatenate_word(uint64_t left, uint64_t right, uint32_t shift) {
    return shift < 64 ? (left << 32 | (uint32_t)right) >> shift : 0;
}

#endif
