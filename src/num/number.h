/* SPDX-License-Identifier: Apache-2.0 */
/* The one way between formats: unpack the bits of any format to a number, round the number into any
 * other. Everything that converts, compares or prints goes through here, or agrees with it. */
#ifndef TLY_NUM_NUMBER_H
#define TLY_NUM_NUMBER_H

#include <tilery/convert.h>

__extension__ typedef unsigned __int128 tly_num_bits;

/* The value of a finite number is fraction / 2^127 * 2^exponent, with bit 127 of the fraction set.
 * In a NaN the fraction is the payload from bit 127 downwards, the quiet bit first. */
typedef struct tly_number {
    tly_num_bits fraction;
    int32_t exponent;
    uint8_t klass; /* tly_number_class; SUBNORMAL only as an answer of tly_num_unpack */
    uint8_t negative;
} tly_number;

/* How to round; the fields are those of tly_convert_options. */
typedef struct tly_num_control {
    uint8_t rounding;
    uint8_t saturate;
    uint8_t canonical_nan;
} tly_num_control;

static inline tly_num_bits tly_num_bits_of(tly_code code) {
    return (tly_num_bits)code.high << 64 | code.low;
}

static inline tly_code tly_num_code_of(tly_num_bits bits) {
    return (tly_code){(uint64_t)bits, (uint64_t)(bits >> 64)};
}

/* The lowest `count` bits, 0 .. 128. */
static inline tly_num_bits tly_num_mask(uint32_t count) {
    return count >= 128 ? ~(tly_num_bits)0 : ((tly_num_bits)1 << count) - 1;
}

/* Do the fields of a format make one? */
int tly_num_format_ok(const tly_format *format);

/* The number that `bits` are in a format other than a complex one. Cannot fail. */
tly_number tly_num_unpack(const tly_format *format, tly_num_bits bits);

/* The bits of the nearest number as `control` wants it; adds to `flags`. The fraction of a finite
 * number may have its lowest bit set to say that more was cut off. Cannot fail. */
tly_num_bits tly_num_round(const tly_format *format, tly_number number, tly_num_control control,
                           uint32_t *flags);

/* The sum of two numbers, exact but for bits that no format has room for: what is cut off is noted
 * in the lowest bit of the fraction, so that tly_num_round gives what one rounding of the exact sum
 * gives. Infinities of both signs, and signalling NaN, give NaN. Cannot fail. */
tly_number tly_num_add(tly_number a, tly_number b);

/* Product, quotient, square root and a * b + addend. The first and the last of operands of at most
 * 64 significant bits are exact before they are cut off at 128; the quotient and the
 * root have 128 bits, with what is cut off noted in the lowest one: enough to be rounded once to
 * any format of up to 120 bits of fraction. What has no value (0 * inf, 0 / 0, inf / inf, the root
 * of a negative number) gives a signalling NaN; x / 0 gives an infinity. Cannot fail. */
tly_number tly_num_multiply(tly_number a, tly_number b);
tly_number tly_num_fused(tly_number a, tly_number b, tly_number addend);
tly_number tly_num_divide(tly_number a, tly_number b);
tly_number tly_num_square_root(tly_number n);

/* e to the power x, and the natural logarithm, within 2^-110 of their value, with the lowest bit
 * set where it is not exact: rounded once they are correct in every format of up to 24 bits of
 * fraction (tests/num/test_functions.c says how that is known), and within 0.501 units in the last
 * place in FP64. Results beyond the range of FP64 have an exponent that every format refuses.
 * Cannot fail. */
tly_number tly_num_exp(tly_number x);
tly_number tly_num_log(tly_number x);

/* The bits of the largest finite number, without its sign. */
tly_num_bits tly_num_largest(const tly_format *format);

/* Rounding decisions, for whoever rounds elsewhere: is the magnitude to be made larger by one?
 * `odd` is its last bit; `rest` compares what is cut off with one half: 0 nothing, 1 less, 2 equal,
 * 3 more. */
int tly_num_rounds_up(uint8_t rounding, int negative, int odd, int rest);

#endif
