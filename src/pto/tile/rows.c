/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/rows.h"

#include "base/bytes.h"
#include "pto/profile/format.h"
#include "pto/profile/order_rows.h"

/* Elements of one width; stored little-endian whatever the host is. */
#define LOAD_8(v)  (v)
#define LOAD_16(v) TLY_BASE_LE16(v)
#define LOAD_32(v) TLY_BASE_LE32(v)
#define LOAD_64(v) TLY_BASE_LE64(v)

/* A loop with two sources, and the same with one element as the second. */
#define LOOP(BITS, T, EXPRESSION)                                                                  \
    do {                                                                                           \
        const uint##BITS##_t *restrict a = left, *restrict b = right;                              \
        uint##BITS##_t *restrict c = out;                                                          \
        if (right_step == 0) {                                                                     \
            const T y = (T)LOAD_##BITS(b[0]);                                                      \
            for (size_t i = 0; i < count; i++) {                                                   \
                const T x = (T)LOAD_##BITS(a[i]);                                                  \
                c[i] = LOAD_##BITS((uint##BITS##_t)(EXPRESSION));                                  \
            }                                                                                      \
        } else {                                                                                   \
            for (size_t i = 0; i < count; i++) {                                                   \
                const T x = (T)LOAD_##BITS(a[i]), y = (T)LOAD_##BITS(b[i]);                        \
                c[i] = LOAD_##BITS((uint##BITS##_t)(EXPRESSION));                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* `U` computes without overflow, at least as wide as an int. */
#define BINARY(BITS, U)                                                                            \
    static bool binary_##BITS(tly_pto_tile_binary op, bool is_signed, const void *left,            \
                              const void *right, uint32_t right_step, void *out, size_t count) {   \
        switch (op) {                                                                              \
        case TLY_PTO_TILE_ADD:                                                                     \
            LOOP(BITS, U, x + y);                                                                  \
            return true;                                                                           \
        case TLY_PTO_TILE_SUB:                                                                     \
            LOOP(BITS, U, x - y);                                                                  \
            return true;                                                                           \
        case TLY_PTO_TILE_MUL:                                                                     \
            LOOP(BITS, U, x *y);                                                                   \
            return true;                                                                           \
        case TLY_PTO_TILE_AND:                                                                     \
            LOOP(BITS, U, x &y);                                                                   \
            return true;                                                                           \
        case TLY_PTO_TILE_OR:                                                                      \
            LOOP(BITS, U, x | y);                                                                  \
            return true;                                                                           \
        case TLY_PTO_TILE_XOR:                                                                     \
            LOOP(BITS, U, x ^ y);                                                                  \
            return true;                                                                           \
        case TLY_PTO_TILE_SHL:                                                                     \
            LOOP(BITS, U, x << (y % BITS));                                                        \
            return true;                                                                           \
        case TLY_PTO_TILE_SHR:                                                                     \
            if (is_signed) {                                                                       \
                LOOP(BITS, int##BITS##_t, x >> ((uint##BITS##_t)y % BITS));                        \
            } else {                                                                               \
                LOOP(BITS, uint##BITS##_t, x >> (y % BITS));                                       \
            }                                                                                      \
            return true;                                                                           \
        case TLY_PTO_TILE_MAX:                                                                     \
            if (is_signed) {                                                                       \
                LOOP(BITS, int##BITS##_t, x < y ? y : x);                                          \
            } else {                                                                               \
                LOOP(BITS, uint##BITS##_t, x < y ? y : x);                                         \
            }                                                                                      \
            return true;                                                                           \
        case TLY_PTO_TILE_MIN:                                                                     \
            if (is_signed) {                                                                       \
                LOOP(BITS, int##BITS##_t, y < x ? y : x);                                          \
            } else {                                                                               \
                LOOP(BITS, uint##BITS##_t, y < x ? y : x);                                         \
            }                                                                                      \
            return true;                                                                           \
        default:                                                                                   \
            return false;                                                                          \
        }                                                                                          \
    }
BINARY(8, uint32_t)
BINARY(16, uint32_t)
BINARY(32, uint32_t)
BINARY(64, uint64_t)
#undef BINARY
#undef LOOP

bool tly_pto_integer_row(tly_pto_tile_binary op, uint32_t dtype, const void *left,
                         const void *right, uint32_t right_step, void *out, size_t count) {
    bool is_signed = tly_pto_dtype_is_signed(dtype);
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        return binary_8(op, is_signed, left, right, right_step, out, count);
    case 16:
        return binary_16(op, is_signed, left, right, right_step, out, count);
    case 32:
        return binary_32(op, is_signed, left, right, right_step, out, count);
    case 64:
        return binary_64(op, is_signed, left, right, right_step, out, count);
    default:
        return false;
    }
}

#define LOOP(BITS, EXPRESSION)                                                                     \
    do {                                                                                           \
        const uint##BITS##_t *restrict a = value;                                                  \
        uint##BITS##_t *restrict c = out;                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            const uint##BITS##_t x = LOAD_##BITS(a[i]);                                            \
            const bool negative = is_signed && (x >> (BITS - 1)) != 0;                             \
            (void)negative;                                                                        \
            c[i] = LOAD_##BITS((uint##BITS##_t)(EXPRESSION));                                      \
        }                                                                                          \
    } while (0)

#define UNARY(BITS)                                                                                \
    static bool unary_##BITS(tly_pto_tile_unary op, bool is_signed, const void *value, void *out,  \
                             size_t count) {                                                       \
        switch (op) {                                                                              \
        case TLY_PTO_TILE_ABS:                                                                     \
            LOOP(BITS, negative ? 0 - x : x);                                                      \
            return true;                                                                           \
        case TLY_PTO_TILE_NOT:                                                                     \
            LOOP(BITS, ~x);                                                                        \
            return true;                                                                           \
        case TLY_PTO_TILE_NEG:                                                                     \
            LOOP(BITS, 0 - x);                                                                     \
            return true;                                                                           \
        case TLY_PTO_TILE_RELU:                                                                    \
            LOOP(BITS, negative ? 0 : x);                                                          \
            return true;                                                                           \
        default:                                                                                   \
            return false;                                                                          \
        }                                                                                          \
    }
UNARY(8)
UNARY(16)
UNARY(32)
UNARY(64)
#undef UNARY
#undef LOOP

bool tly_pto_integer_unary_row(tly_pto_tile_unary op, uint32_t dtype, const void *value, void *out,
                               size_t count) {
    bool is_signed = tly_pto_dtype_is_signed(dtype);
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        return unary_8(op, is_signed, value, out, count);
    case 16:
        return unary_16(op, is_signed, value, out, count);
    case 32:
        return unary_32(op, is_signed, value, out, count);
    case 64:
        return unary_64(op, is_signed, value, out, count);
    default:
        return false;
    }
}

/* `T` has the order; integers that are less, or more, have no bit in common with equal ones. */
#define COMPARE(NAME, BITS, T)                                                                     \
    static void NAME(const uint##BITS##_t *left, const uint##BITS##_t *right, uint32_t right_step, \
                     uint8_t *out, size_t count) {                                                 \
        const T one = (T)LOAD_##BITS(right[0]);                                                    \
        for (size_t i = 0; i < count; i++) {                                                       \
            const T x = (T)LOAD_##BITS(left[i]);                                                   \
            const T y = right_step == 0 ? one : (T)LOAD_##BITS(right[i]);                          \
            out[i] = x == y    ? TLY_PTO_ORDER_EQUAL                                               \
                     : (x < y) ? TLY_PTO_ORDER_LESS                                                \
                               : TLY_PTO_ORDER_GREATER;                                            \
        }                                                                                          \
    }
COMPARE(compare_s8, 8, int8_t)
COMPARE(compare_u8, 8, uint8_t)
COMPARE(compare_s16, 16, int16_t)
COMPARE(compare_u16, 16, uint16_t)
COMPARE(compare_s32, 32, int32_t)
COMPARE(compare_u32, 32, uint32_t)
COMPARE(compare_s64, 64, int64_t)
COMPARE(compare_u64, 64, uint64_t)
#undef COMPARE

bool tly_pto_integer_compare_row(uint32_t dtype, const void *left, const void *right,
                                 uint32_t right_step, uint8_t *out, size_t count) {
    bool is_signed = tly_pto_dtype_is_signed(dtype);
    uint32_t bits = tly_pto_dtype_bits(dtype);
    if (bits < 8 || count == 0) {
        return bits >= 8;
    }
    switch (bits) {
    case 8:
        (is_signed ? compare_s8 : compare_u8)(left, right, right_step, out, count);
        return true;
    case 16:
        (is_signed ? compare_s16 : compare_u16)(left, right, right_step, out, count);
        return true;
    case 32:
        (is_signed ? compare_s32 : compare_u32)(left, right, right_step, out, count);
        return true;
    default:
        (is_signed ? compare_s64 : compare_u64)(left, right, right_step, out, count);
        return true;
    }
}

#define FUSED(BITS, U)                                                                             \
    static void fused_##BITS(const uint##BITS##_t *left, const uint##BITS##_t *right,              \
                             const uint##BITS##_t *addend, uint##BITS##_t *restrict out,           \
                             size_t count) {                                                       \
        for (size_t i = 0; i < count; i++) {                                                       \
            const U x = LOAD_##BITS(left[i]), y = LOAD_##BITS(right[i]);                           \
            out[i] = LOAD_##BITS((uint##BITS##_t)(x * y + LOAD_##BITS(addend[i])));                \
        }                                                                                          \
    }
FUSED(8, uint32_t)
FUSED(16, uint32_t)
FUSED(32, uint32_t)
FUSED(64, uint64_t)
#undef FUSED

bool tly_pto_integer_fused_row(uint32_t dtype, const void *left, const void *right,
                               const void *addend, void *out, size_t count) {
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        fused_8(left, right, addend, out, count);
        return true;
    case 16:
        fused_16(left, right, addend, out, count);
        return true;
    case 32:
        fused_32(left, right, addend, out, count);
        return true;
    case 64:
        fused_64(left, right, addend, out, count);
        return true;
    default:
        return false;
    }
}

#define LOOP(T, BITS, EXPRESSION)                                                                  \
    do {                                                                                           \
        T x = (T)LOAD_##BITS(a[0]);                                                                \
        for (size_t i = 1; i < count; i++) {                                                       \
            const T y = (T)LOAD_##BITS(a[i]);                                                      \
            x = (T)(EXPRESSION);                                                                   \
        }                                                                                          \
        return (uint##BITS##_t)x;                                                                  \
    } while (0)

/* `U` computes without overflow, as above. */
#define REDUCE(BITS, U)                                                                            \
    static uint64_t reduce_##BITS(tly_pto_tile_binary op, bool is_signed, const uint##BITS##_t *a, \
                                  size_t count) {                                                  \
        switch (op) {                                                                              \
        case TLY_PTO_TILE_ADD:                                                                     \
            LOOP(U, BITS, x + y);                                                                  \
        case TLY_PTO_TILE_MUL:                                                                     \
            LOOP(U, BITS, x *y);                                                                   \
        case TLY_PTO_TILE_MAX:                                                                     \
            if (is_signed) {                                                                       \
                LOOP(int##BITS##_t, BITS, x < y ? y : x);                                          \
            }                                                                                      \
            LOOP(uint##BITS##_t, BITS, x < y ? y : x);                                             \
        default:                                                                                   \
            if (is_signed) {                                                                       \
                LOOP(int##BITS##_t, BITS, y < x ? y : x);                                          \
            }                                                                                      \
            LOOP(uint##BITS##_t, BITS, y < x ? y : x);                                             \
        }                                                                                          \
    }
REDUCE(8, uint32_t)
REDUCE(16, uint32_t)
REDUCE(32, uint32_t)
REDUCE(64, uint64_t)
#undef REDUCE
#undef LOOP

bool tly_pto_integer_reduce_row(tly_pto_tile_binary op, uint32_t dtype, const void *value,
                                size_t count, uint64_t *out_word) {
    bool is_signed = tly_pto_dtype_is_signed(dtype);
    uint64_t bits;
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        bits = reduce_8(op, is_signed, value, count);
        break;
    case 16:
        bits = reduce_16(op, is_signed, value, count);
        break;
    case 32:
        bits = reduce_32(op, is_signed, value, count);
        break;
    case 64:
        bits = reduce_64(op, is_signed, value, count);
        break;
    default:
        return false;
    }
    *out_word = tly_pto_canonical(bits, dtype);
    return true;
}

enum { CHUNK = 256 };

#define LOAD(BITS, T)                                                                              \
    do {                                                                                           \
        const uint##BITS##_t *in = value;                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            out[i] = (uint64_t)(int64_t)(T)LOAD_##BITS(in[i]);                                     \
        }                                                                                          \
    } while (0)

/* Extended to 64 bits. */
static void load_integers(uint32_t dtype, const void *value, uint64_t *out, size_t count) {
    bool is_signed = tly_pto_dtype_is_signed(dtype);
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        if (is_signed) {
            LOAD(8, int8_t);
        } else {
            LOAD(8, uint8_t);
        }
        break;
    case 16:
        if (is_signed) {
            LOAD(16, int16_t);
        } else {
            LOAD(16, uint16_t);
        }
        break;
    case 32:
        if (is_signed) {
            LOAD(32, int32_t);
        } else {
            LOAD(32, uint32_t);
        }
        break;
    default:
        LOAD(64, uint64_t);
        break;
    }
}
#undef LOAD

#define STORE(BITS)                                                                                \
    do {                                                                                           \
        uint##BITS##_t *to = out;                                                                  \
        for (size_t i = 0; i < count; i++) {                                                       \
            to[i] = LOAD_##BITS((uint##BITS##_t)value[i]);                                         \
        }                                                                                          \
    } while (0)

/* The low bits. */
static void store_integers(uint32_t dtype, const uint64_t *value, void *out, size_t count) {
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        STORE(8);
        break;
    case 16:
        STORE(16);
        break;
    case 32:
        STORE(32);
        break;
    default:
        STORE(64);
        break;
    }
}
#undef STORE

/* Turning the upper bit over gives signed integers the order of unsigned ones. */
static void saturate_integers(uint32_t from, uint32_t to, uint64_t *words, size_t count) {
    const uint64_t turn = tly_pto_dtype_is_signed(from) ? UINT64_C(1) << 63 : 0;
    uint64_t lowest = tly_pto_integer_minimum(to) ^ turn;
    uint64_t highest = tly_pto_integer_maximum(to);
    if (turn == 0) {
        lowest = 0; /* nothing is below it */
    } else {
        highest = highest > INT64_MAX ? UINT64_MAX : highest ^ turn;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t x = words[i] ^ turn;
        x = x < lowest ? lowest : x;
        words[i] = (x > highest ? highest : x) ^ turn;
    }
}

bool tly_pto_integer_convert_row(uint32_t from, uint32_t to, bool saturating, const void *value,
                                 void *out, size_t count) {
    uint64_t words[CHUNK];
    if (tly_pto_dtype_bits(from) < 8 || tly_pto_dtype_bits(to) < 8) {
        return false;
    }
    size_t from_len = tly_pto_dtype_bits(from) / 8, to_len = tly_pto_dtype_bits(to) / 8;
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t part = count - at < CHUNK ? count - at : CHUNK;
        load_integers(from, (const uint8_t *)value + at * from_len, words, part);
        if (saturating) {
            saturate_integers(from, to, words, part);
        }
        store_integers(to, words, (uint8_t *)out + at * to_len, part);
    }
    return true;
}
