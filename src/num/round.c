/* SPDX-License-Identifier: Apache-2.0 */
/* From numbers to bits: the only place that rounds. */
#include "num/number.h"

int tly_num_rounds_up(uint8_t rounding, int negative, int odd, int rest) {
    if (rest == 0) {
        return 0;
    }
    switch (rounding) {
    case TLY_ROUND_TO_ZERO:
        return 0;
    case TLY_ROUND_DOWN:
        return negative;
    case TLY_ROUND_UP:
        return !negative;
    case TLY_ROUND_NEAREST_AWAY:
        return rest >= 2;
    case TLY_ROUND_TO_ODD:
        return !odd;
    case TLY_ROUND_NEAREST_UP:
        return rest + !negative > 2;
    default:
        return rest + odd > 2;
    }
}

/* The magnitude cut to its `keep` upper bits (none or fewer: everything is cut off), rounded, plus
 * `base`: it is the sum whose last bit is odd or even. */
static tly_num_bits cut(const tly_number *n, int32_t keep, tly_num_bits base, uint8_t rounding,
                        int *out_rest) {
    tly_num_bits kept = 0, half = (tly_num_bits)1 << 127, cut_off = n->fraction;
    if (keep >= 128) {
        *out_rest = 0;
        return n->fraction + base;
    }
    if (keep > 0) {
        kept = n->fraction >> (128 - keep);
        cut_off = n->fraction << keep;
    }
    if (keep < 0 || cut_off < half) { /* below zero bits even the leading one is less than half */
        *out_rest = cut_off != 0;
    } else {
        *out_rest = cut_off == half ? 2 : 3;
    }
    kept += base;
    return kept +
           (tly_num_bits)tly_num_rounds_up(rounding, n->negative, (int)(kept & 1), *out_rest);
}

/* Does a result beyond the largest number stay at the largest number? */
static int stays_finite(tly_num_control control, int negative) {
    switch (control.rounding) {
    case TLY_ROUND_TO_ZERO:
    case TLY_ROUND_TO_ODD:
        return 1;
    case TLY_ROUND_DOWN:
        return !negative;
    case TLY_ROUND_UP:
        return negative;
    default:
        return control.saturate;
    }
}

/* ---- floats with fixed fields -----------------------------------------------------------------
 */

static tly_num_bits infinity_bits(const tly_format *f) {
    return tly_num_mask(f->exponent_bits) << f->mantissa_bits;
}

tly_num_bits tly_num_largest(const tly_format *f) {
    tly_num_bits all = tly_num_mask((uint32_t)f->exponent_bits + f->mantissa_bits);
    switch (f->klass) {
    case TLY_CLASS_FLOAT:
        if (f->inf_rule == TLY_SPECIAL_IEEE || f->nan_rule == TLY_SPECIAL_IEEE) {
            return (infinity_bits(f) - 1) << f->low_zeros;
        }
        return (all - (f->nan_rule == TLY_SPECIAL_MAX)) << f->low_zeros;
    case TLY_CLASS_TAPERED:
        return 0x6E;
    default:
        return tly_num_mask(f->bits - (f->klass == TLY_CLASS_INT));
    }
}

static tly_num_bits signed_bits(const tly_format *f, tly_num_bits bits, int negative) {
    return bits | (negative && f->sign_bits != 0 ? (tly_num_bits)1 << (f->bits - 1) : 0);
}

static tly_num_bits nan_bits(const tly_format *f, const tly_number *n, int canonical,
                             uint32_t *flags) {
    tly_num_bits exponent = infinity_bits(f), payload = 0;
    if (n->klass == TLY_NUMBER_SIGNALING_NAN || n->klass == TLY_NUMBER_INVALID) {
        *flags |= TLY_FLAG_INVALID;
    }
    if (f->nan_rule == TLY_SPECIAL_NONE) {
        *flags |= TLY_FLAG_INVALID;
        return tly_num_largest(f);
    }
    if (f->nan_rule == TLY_SPECIAL_MAX) {
        exponent = tly_num_mask((uint32_t)f->exponent_bits + f->mantissa_bits);
    } else {
        payload = canonical ? 0 : n->fraction >> (128 - f->mantissa_bits);
        payload |= (tly_num_bits)1 << (f->mantissa_bits - 1);
    }
    return signed_bits(f, (exponent | payload) << f->low_zeros, n->negative && !canonical);
}

/* Too large for the format, or infinite. */
static tly_num_bits beyond(const tly_format *f, int negative, int finite) {
    tly_num_bits bits = tly_num_largest(f);
    if (!finite && f->inf_rule == TLY_SPECIAL_IEEE) {
        bits = infinity_bits(f) << f->low_zeros;
    } else if (!finite && f->nan_rule == TLY_SPECIAL_MAX) {
        bits = tly_num_mask((uint32_t)f->exponent_bits + f->mantissa_bits) << f->low_zeros;
    }
    return signed_bits(f, bits, negative);
}

/* Is the magnitude below the smallest normal number even after rounding with all its bits? */
static int is_tiny(const tly_format *f, const tly_number *n, int32_t biased, uint8_t rounding) {
    int rest;
    if (biased != 0) {
        return biased < 0;
    }
    return cut(n, (int32_t)f->mantissa_bits + 1, 0, rounding, &rest) >> (f->mantissa_bits + 1) == 0;
}

static tly_num_bits round_float(const tly_format *f, const tly_number *n, tly_num_control control,
                                uint32_t *flags) {
    int32_t m = f->mantissa_bits, biased, lowest = f->no_zero ? 0 : 1, rest;
    tly_num_bits bits, largest = tly_num_largest(f) >> f->low_zeros;
    if (n->klass == TLY_NUMBER_INFINITE && !(n->negative && f->sign_bits == 0)) {
        if (f->inf_rule != TLY_SPECIAL_IEEE || control.saturate) {
            *flags |= TLY_FLAG_OVERFLOW | TLY_FLAG_INEXACT;
        }
        return beyond(f, n->negative, control.saturate);
    }
    if (n->negative && f->sign_bits == 0 && n->klass != TLY_NUMBER_ZERO) {
        tly_number none = {0, 0, TLY_NUMBER_INVALID, 0}; /* no negative numbers here */
        return f->nan_rule != TLY_SPECIAL_NONE ? nan_bits(f, &none, control.canonical_nan, flags)
                                               : (*flags |= TLY_FLAG_INVALID, (tly_num_bits)0);
    }
    if (n->klass == TLY_NUMBER_ZERO) {
        if (f->no_zero) {
            *flags |= TLY_FLAG_UNDERFLOW | TLY_FLAG_INEXACT;
        }
        return signed_bits(f, 0, n->negative);
    }
    biased = n->exponent + f->bias;
    if (biased >= 1 << f->exponent_bits) {
        bits = largest + 1;
        rest = 1;
    } else if (biased >= lowest) {
        /* The implied bit adds one to the exponent, which is there already if 0 is no zero. */
        tly_num_bits base = (tly_num_bits)(biased - lowest) << m;
        base -= f->no_zero ? (tly_num_bits)1 << m : 0;
        bits = cut(n, m + 1, base, control.rounding, &rest);
    } else if (f->no_zero) { /* the lowest number is the nearest */
        *flags |= TLY_FLAG_UNDERFLOW | TLY_FLAG_INEXACT;
        return 0;
    } else {
        bits = cut(n, m + biased, 0, control.rounding, &rest);
        if (rest != 0 && is_tiny(f, n, biased, control.rounding)) {
            *flags |= TLY_FLAG_UNDERFLOW;
        }
    }
    if (bits > largest) {
        *flags |= TLY_FLAG_OVERFLOW | TLY_FLAG_INEXACT;
        return beyond(f, n->negative, stays_finite(control, n->negative) || control.saturate);
    }
    *flags |= rest != 0 ? TLY_FLAG_INEXACT : 0;
    return signed_bits(f, bits << f->low_zeros, n->negative);
}

/* ---- HiF8 -------------------------------------------------------------------------------------
 */

/* The field of the exponent e of a normal number, and how many bits it leaves for the mantissa. */
static uint32_t tapered_fields(int32_t e, uint32_t *out_mantissa_bits) {
    uint32_t size = (uint32_t)(e < 0 ? -e : e), sign = e < 0;
    if (size == 0) {
        *out_mantissa_bits = 3;
        return 0x08;
    }
    if (size == 1) {
        *out_mantissa_bits = 3;
        return 0x10 | sign << 3;
    }
    if (size < 4) {
        *out_mantissa_bits = 3;
        return 0x20 | sign << 4 | (size & 1) << 3;
    }
    if (size < 8) {
        *out_mantissa_bits = 2;
        return 0x40 | sign << 4 | (size & 3) << 2;
    }
    *out_mantissa_bits = 1;
    return 0x60 | sign << 4 | (size & 7) << 1;
}

static tly_num_bits round_tapered(const tly_number *n, tly_num_control control, uint32_t *flags) {
    uint32_t sign = n->negative ? 0x80 : 0, mantissa_bits = 0, field;
    tly_num_bits kept = 0;
    int32_t e = n->exponent;
    int rest = 0;
    if (n->klass == TLY_NUMBER_INFINITE) {
        *flags |= control.saturate ? TLY_FLAG_OVERFLOW | TLY_FLAG_INEXACT : 0;
        return sign | (control.saturate ? 0x6E : 0x6F);
    }
    if (n->klass == TLY_NUMBER_ZERO) {
        return 0;
    }
    if (e >= -15 && e <= 15) {
        (void)tapered_fields(e, &mantissa_bits);
        kept = cut(n, (int32_t)mantissa_bits + 1, 0, control.rounding, &rest);
    } else if (e < -15 && e >= -22) { /* powers of two, of which one in two has an odd code */
        kept = cut(n, 1, (tly_num_bits)(e + 22), control.rounding, &rest) - (tly_num_bits)(e + 22);
    } else if (e < -22) { /* zero or 2^-22 */
        kept = cut(n, e + 23, 0, control.rounding, &rest);
        *flags |= TLY_FLAG_UNDERFLOW | TLY_FLAG_INEXACT;
        return kept != 0 ? sign | 1 : 0;
    }
    if (kept >> (mantissa_bits + 1) != 0) { /* carried into the next power of two */
        e++;
        kept = 0;
    }
    *flags |= rest != 0 ? TLY_FLAG_INEXACT : 0;
    if (e < -15) {
        *flags |= rest != 0 ? TLY_FLAG_UNDERFLOW : 0;
        return sign | (uint32_t)(e + 23);
    }
    if (e <= 15) {
        field = tapered_fields(e, &mantissa_bits);
        field |= (uint32_t)kept & ((1u << mantissa_bits) - 1);
        if (field != 0x6F) {
            return sign | field;
        }
    }
    *flags |= TLY_FLAG_OVERFLOW | TLY_FLAG_INEXACT;
    return sign | (stays_finite(control, n->negative) || control.saturate ? 0x6E : 0x6F);
}

/* ---- integers ---------------------------------------------------------------------------------
 */

static tly_num_bits round_integer(const tly_format *f, const tly_number *n, tly_num_control control,
                                  uint32_t *flags) {
    int is_signed = f->klass == TLY_CLASS_INT, rest = 0, fits;
    tly_num_bits magnitude = 0, most = tly_num_mask(f->bits - (uint32_t)is_signed);
    tly_num_bits most_negative = is_signed ? most + 1 : 0;
    if (n->klass == TLY_NUMBER_ZERO) {
        return 0;
    }
    fits = n->klass != TLY_NUMBER_INFINITE && n->exponent < 127;
    if (fits) {
        magnitude = cut(n, n->exponent + 1, 0, control.rounding, &rest);
        fits = magnitude <= (n->negative ? most_negative : most);
    } else if (n->klass != TLY_NUMBER_INFINITE && n->exponent < 255) {
        magnitude = n->fraction << (n->exponent - 127);
    }
    if (!fits) {
        *flags |= TLY_FLAG_INVALID;
        if (control.saturate || n->klass == TLY_NUMBER_INFINITE) {
            magnitude = n->negative ? most_negative : most;
        }
    } else if (rest != 0) {
        *flags |= TLY_FLAG_INEXACT;
    }
    return (n->negative ? (tly_num_bits)0 - magnitude : magnitude) & tly_num_mask(f->bits);
}

tly_num_bits tly_num_round(const tly_format *format, tly_number number, tly_num_control control,
                           uint32_t *flags) {
    int is_nan = number.klass == TLY_NUMBER_QUIET_NAN || number.klass == TLY_NUMBER_SIGNALING_NAN ||
                 number.klass == TLY_NUMBER_INVALID;
    switch (format->klass) {
    case TLY_CLASS_FLOAT:
        return is_nan ? nan_bits(format, &number, control.canonical_nan, flags)
                      : round_float(format, &number, control, flags);
    case TLY_CLASS_TAPERED:
        if (is_nan) {
            *flags |= number.klass != TLY_NUMBER_QUIET_NAN ? TLY_FLAG_INVALID : 0;
            return 0x80;
        }
        return round_tapered(&number, control, flags);
    case TLY_CLASS_BOOL:
        return number.klass != TLY_NUMBER_ZERO;
    default:
        if (is_nan) {
            *flags |= TLY_FLAG_INVALID;
            return 0;
        }
        return round_integer(format, &number, control, flags);
    }
}
