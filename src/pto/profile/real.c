/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/real.h"

#include <math.h>

double tly_pto_real_of(uint32_t dtype, uint64_t value) {
    bool negative = false;
    uint64_t significand = 0;
    int32_t exponent = 0;
    tly_pto_decompose(dtype, value, &negative, &significand, &exponent);
    double magnitude = ldexp((double)significand, exponent);
    return negative ? -magnitude : magnitude;
}

double tly_pto_real_of_fp19(uint32_t value) {
    return tly_pto_real_of(TLY_PTO_TF32, (uint64_t)(value & 0x7ffff) << 13);
}

/* Whether a magnitude between two neighbours goes to the larger one. `above_half` is -1, 0 or 1;
 * the magnitude is not the lower neighbour itself. */
static bool goes_up(tly_pto_rounding rounding, bool negative, int above_half, bool lower_odd) {
    switch (rounding) {
    case TLY_PTO_ROUND_NEAREST_EVEN:
        return above_half > 0 || (above_half == 0 && lower_odd);
    case TLY_PTO_ROUND_NEAREST_AWAY:
        return above_half >= 0;
    case TLY_PTO_ROUND_HALF_UP:
        return above_half > 0 || (above_half == 0 && !negative);
    case TLY_PTO_ROUND_DOWN:
        return negative;
    case TLY_PTO_ROUND_UP:
        return !negative;
    case TLY_PTO_ROUND_ODD:
        return !lower_odd;
    case TLY_PTO_ROUND_ZERO:
        return false;
    }
    return false;
}

static int compare(double left, double right) {
    return (left > right) - (left < right);
}

/* The rounded magnitude of a number whose magnitude is below 2^53. */
static uint64_t round_magnitude(double magnitude, bool negative, tly_pto_rounding rounding,
                                bool *out_exact) {
    double whole = floor(magnitude);
    double fraction = magnitude - whole;
    uint64_t lower = (uint64_t)whole;
    *out_exact = fraction == 0;
    return fraction != 0 && goes_up(rounding, negative, compare(fraction, 0.5), (lower & 1) != 0)
               ? lower + 1
               : lower;
}

/* A double that is an integer of 2^53 or more, modulo 2^64. */
static uint64_t low_word(double magnitude) {
    int exponent;
    uint64_t significand = (uint64_t)ldexp(frexp(magnitude, &exponent), 53);
    return exponent - 53 < 64 ? significand << (exponent - 53) : 0;
}

tly_pto_integer tly_pto_round_real(double value, int64_t offset, tly_pto_rounding rounding) {
    bool negative = value < 0;
    double magnitude = fabs(value);
    tly_pto_integer out = {0, 0, true};
    if (magnitude >= 0x1p53) {
        uint64_t low = low_word(magnitude);
        out.low = (negative ? 0 - low : low) + (uint64_t)offset;
        out.beyond = magnitude >= 0x1p62 ? (negative ? -1 : 1) : 0;
        return out;
    }
    /* the sum has the fraction of the value, but its own sign and its own parity */
    double whole = floor(value);
    int64_t lower = (int64_t)whole + offset;
    bool exact = magnitude == floor(magnitude);
    if (exact) {
        out.low = (uint64_t)lower;
        return out;
    }
    double fraction = magnitude - floor(magnitude);
    int above_half = negative ? compare(0.5, fraction) : compare(fraction, 0.5);
    /* of a negative sum `lower` is the larger magnitude */
    bool up = lower < 0 ? !goes_up(rounding, true, -above_half, ((lower + 1) & 1) != 0)
                        : goes_up(rounding, false, above_half, (lower & 1) != 0);
    out.low = (uint64_t)(lower + (up ? 1 : 0));
    out.exact = false;
    return out;
}

uint64_t tly_pto_encode_integer(const tly_pto_integer *value, uint32_t dtype, bool saturating,
                                uint8_t *flags) {
    bool is_signed = tly_pto_dtype_is_signed(dtype);
    int64_t minimum = (int64_t)tly_pto_integer_minimum(dtype);
    uint64_t maximum = tly_pto_integer_maximum(dtype);
    bool negative = value->beyond < 0 || (value->beyond == 0 && (int64_t)value->low < 0);
    bool below = negative && (value->beyond < 0 || !is_signed || (int64_t)value->low < minimum);
    bool above = !negative && (value->beyond > 0 || value->low > maximum);
    if (below || above) {
        *flags |= TLY_PTO_FLAG_OVERFLOW | TLY_PTO_FLAG_INEXACT;
        if (saturating) {
            return below ? (uint64_t)minimum : maximum;
        }
    } else if (!value->exact) {
        *flags |= TLY_PTO_FLAG_INEXACT;
    }
    return tly_pto_canonical(value->low, dtype);
}

static uint64_t encode_binary(double value, uint32_t dtype, const tly_pto_numeric_control *control,
                              uint8_t *flags) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    bool negative = value < 0;
    uint64_t sign = negative ? tly_pto_sign_mask(dtype) : 0;
    uint64_t infinity = tly_pto_infinity(dtype);
    int exponent;
    frexp(value, &exponent); /* 0.5 <= |fraction| < 1 */
    int minimum = 1 - f->bias;
    bool tiny = exponent - 1 < minimum;
    int unit = (tiny ? minimum : exponent - 1) - f->fraction_bits;
    uint64_t encoded = infinity;
    if (exponent - 1 <= f->bias) {
        bool exact;
        uint64_t magnitude = round_magnitude(ldexp(fabs(value), -unit), negative,
                                             (tly_pto_rounding)control->rounding, &exact);
        /* the leading one of a normal number adds one to the exponent below it */
        encoded =
            magnitude + (tiny ? 0 : (uint64_t)(exponent - 1 + f->bias - 1) << f->fraction_bits);
        if (!exact && encoded < infinity) {
            *flags |= TLY_PTO_FLAG_INEXACT | (tiny ? TLY_PTO_FLAG_UNDERFLOW : 0);
        }
    }
    if (encoded >= infinity) {
        *flags |= TLY_PTO_FLAG_OVERFLOW | TLY_PTO_FLAG_INEXACT;
        encoded = control->saturating ? infinity - 1 : infinity;
    }
    return sign | encoded;
}

/* Finite magnitudes of HiF8 in ascending order. */
static const uint8_t hif8_codes[127] = {
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x7e, 0x7f, 0x7c, 0x7d, 0x7a, 0x7b, 0x78, 0x79,
    0x76, 0x77, 0x74, 0x75, 0x72, 0x73, 0x70, 0x71, 0x5c, 0x5d, 0x5e, 0x5f, 0x58, 0x59, 0x5a, 0x5b,
    0x54, 0x55, 0x56, 0x57, 0x50, 0x51, 0x52, 0x53, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f,
    0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
    0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
    0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,
    0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f,
    0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e};

static uint32_t code_at(uint32_t dtype, uint32_t rank) {
    return dtype == TLY_PTO_E4M3 ? rank : hif8_codes[rank];
}

static double magnitude_at(uint32_t dtype, uint32_t rank) {
    return tly_pto_real_of(dtype, code_at(dtype, rank));
}

enum { LAST_RANK = 126 };

/* Of two neighbours in the middle of which the number lies, by the order in which the reference
 * tries codes. */
static bool tie_goes_up(tly_pto_rounding rounding, bool negative, uint32_t lower, uint32_t upper) {
    if (rounding != TLY_PTO_ROUND_NEAREST_EVEN) {
        return goes_up(rounding, negative, 0, false);
    }
    return (lower & 1) != (upper & 1) ? (upper & 1) == 0 : upper < lower;
}

static uint64_t encode_byte(double value, uint32_t dtype, const tly_pto_numeric_control *control,
                            uint8_t *flags) {
    bool negative = value < 0;
    double magnitude = fabs(value);
    uint32_t sign = negative ? 0x80 : 0;
    tly_pto_rounding rounding = (tly_pto_rounding)control->rounding;
    if (magnitude > magnitude_at(dtype, LAST_RANK)) {
        *flags |= TLY_PTO_FLAG_OVERFLOW | TLY_PTO_FLAG_INEXACT;
        if (control->saturating) {
            return sign | code_at(dtype, LAST_RANK);
        }
        return dtype == TLY_PTO_E4M3 ? tly_pto_formats[dtype].canonical_nan
                                     : sign | tly_pto_infinity(dtype);
    }
    uint32_t low = 0;
    uint32_t high = LAST_RANK;
    while (low < high) { /* the largest rank whose magnitude does not exceed the number's */
        uint32_t middle = (low + high + 1) / 2;
        if (magnitude_at(dtype, middle) <= magnitude) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    double lower = magnitude_at(dtype, low);
    if (lower != magnitude) {
        double least_normal = dtype == TLY_PTO_E4M3 ? 0x1p-6 : 0x1p-15;
        uint32_t lower_code = code_at(dtype, low);
        uint32_t upper_code = code_at(dtype, low + 1);
        int half = compare(2 * magnitude, lower + magnitude_at(dtype, low + 1));
        *flags |= TLY_PTO_FLAG_INEXACT | (magnitude < least_normal ? TLY_PTO_FLAG_UNDERFLOW : 0);
        if (rounding == TLY_PTO_ROUND_ODD) {
            while ((code_at(dtype, low) & 1) == 0) { /* upwards to the next odd code */
                low++;
            }
        } else if (half == 0 ? tie_goes_up(rounding, negative, lower_code, upper_code)
                             : goes_up(rounding, negative, half, false)) {
            low++;
        }
    }
    uint32_t code = code_at(dtype, low);
    return code == 0 ? 0 : sign | code;
}

uint64_t tly_pto_encode_real(double value, uint32_t dtype, const tly_pto_numeric_control *control,
                             uint8_t *flags) {
    if (value == 0) {
        return 0;
    }
    return dtype == TLY_PTO_E4M3 || dtype == TLY_PTO_HIF8
               ? encode_byte(value, dtype, control, flags)
               : encode_binary(value, dtype, control, flags);
}
