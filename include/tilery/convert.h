/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_CONVERT_H
#define TILERY_CONVERT_H

#include <stdint.h>

#include <tilery/context.h>
#include <tilery/dtype.h>
#include <tilery/export.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* Number formats, and conversions between them. A format is data: whatever converts reads its row.
 */

/* A format: the tag of an element type, or TLY_FORMAT_* for those that only the tile machine has
 * (tilery/dtype_tags.h). 0 is none. */
typedef uint16_t tly_format_id;

/* One row of the table of formats (tables/dtypes.toml). A program may also fill one for a floating
 * point or integer format of its own: id 0, `bits` 1, 2, 4, 6, 8, 16, 32, 64 or 128. */
typedef struct tly_format {
    tly_format_id id;
    uint8_t klass;         /* tly_dtype_class */
    uint8_t bits;          /* width of one element in storage */
    uint8_t sign_bits;     /* 0 or 1 */
    uint8_t exponent_bits; /* floats only, as are the next five */
    uint8_t mantissa_bits; /* stored bits, without the implied one */
    uint8_t low_zeros;     /* bits below the mantissa, always zero (TF32: 13) */
    uint8_t nan_rule;      /* TLY_SPECIAL_* */
    uint8_t inf_rule;      /* TLY_SPECIAL_NONE or TLY_SPECIAL_IEEE */
    uint8_t no_zero;       /* 1: exponent 0 is like any other: neither zero nor subnormals (E8M0) */
    uint8_t tile_code;     /* code of the tile machine (PTO, DataType); 255: none */
    uint8_t tile_lanes;    /* elements in one carrier there, the first in the low bits */
    uint8_t tile_bits;     /* width of that carrier; what the lanes do not fill is zero */
    uint16_t reserved;     /* 0 */
    int32_t bias;          /* value = 1.mantissa * 2^(exponent - bias) */
    const char *name;      /* short name, "f32" */
} tly_format;

/* Row of a format, or NULL. Static storage. Thread-safe. */
TLY_API const tly_format *tly_format_find(tly_format_id id);

/* Row of a code of the tile machine (PTO 0.58.3, field DataType), or NULL for one that is reserved.
 * Static storage. Thread-safe. */
TLY_API const tly_format *tly_format_of_tile(uint32_t tile_code);

/* Row of a short name ("tf32", "bf16"), or NULL. Static storage. Thread-safe. */
TLY_API const tly_format *tly_format_by_name(const char *name);

typedef enum tly_rounding {
    TLY_ROUND_NEAREST_EVEN = 0,
    TLY_ROUND_TO_ZERO = 1,
    TLY_ROUND_DOWN = 2,         /* towards minus infinity */
    TLY_ROUND_UP = 3,           /* towards plus infinity */
    TLY_ROUND_NEAREST_AWAY = 4, /* ties away from zero */
    TLY_ROUND_TO_ODD = 5,       /* inexact results get an odd last bit */
    TLY_ROUND_NEAREST_UP = 6    /* ties towards plus infinity (PTO: RHB) */
} tly_rounding;

/* What happened in a conversion. */
#define TLY_FLAG_INEXACT   0x01u
#define TLY_FLAG_UNDERFLOW 0x02u /* tiny after rounding, and inexact */
#define TLY_FLAG_OVERFLOW  0x04u
#define TLY_FLAG_INVALID   0x10u /* signalling NaN; NaN or a number that an integer cannot hold */

/* What a conversion makes of a number that the destination does not have:
 *
 *   floats without `saturate`  infinity; NaN where there is no infinity; the largest number where
 *                              there is no NaN either
 *   floats with `saturate`     the largest number, for infinities too
 *   integers                   the nearest integer with `saturate`; the low bits without. An
 *                              infinity always gives the nearest, NaN gives 0
 *   NaN                        keeps its sign and the upper bits of its payload, and becomes quiet;
 *                              the largest positive number where there is no NaN (flag INVALID)
 *   bool                       1 for everything but zero */
typedef struct tly_convert_options {
    size_t size;       /* sizeof(tly_convert_options) */
    uint32_t rounding; /* tly_rounding */
    uint32_t saturate; /* 0 or 1 */
    uint32_t
        canonical_nan; /* 1: every NaN becomes the format's positive quiet one without payload */
    uint32_t reserved; /* 0 */
} tly_convert_options;

/* Converts `count` elements. Both sides are arrays of packed little-endian elements as the tensor
 * format stores them (Hurray 1.0, element-types): elements of fewer than 8 bits from the least
 * significant bit upwards, four 6-bit ones in three bytes. `dst_first` and `src_first` are elements
 * that are skipped at the start, so that a packed array can be entered anywhere. Of bytes that are
 * shared with elements outside the range only the bits of the range change. Any alignment; the
 * arrays do not overlap. Equal formats are copied bit for bit. `options` may be NULL: nearest even,
 * no saturation. `out_flags`, if not NULL, receives TLY_FLAG_* of all elements together. Every
 * vector level gives the same bytes. Errors: INVALID_ARGUMENT (a format whose fields make none,
 * options), UNSUPPORTED (complex to or from anything else), OVERFLOW. Thread-safe. */
TLY_API tly_status tly_convert(const tly_context *context, const tly_format *dst_format, void *dst,
                               uint64_t dst_first, const tly_format *src_format, const void *src,
                               uint64_t src_first, uint64_t count,
                               const tly_convert_options *options, uint32_t *out_flags);

/* Bits of one element of at most 128 bits. */
typedef struct tly_code {
    uint64_t low;
    uint64_t high;
} tly_code;

/* The same for one element by its bits; bits above the width of the source are ignored. Errors and
 * flags as above (flags are added to what is there). Thread-safe. */
TLY_API tly_status tly_convert_code(const tly_format *dst_format, const tly_format *src_format,
                                    tly_code code, const tly_convert_options *options,
                                    tly_code *out_code, uint32_t *flags);

typedef enum tly_number_class {
    TLY_NUMBER_INVALID = 0, /* bits that the format does not use are not zero (TF32, HF32) */
    TLY_NUMBER_ZERO = 1,
    TLY_NUMBER_SUBNORMAL = 2,
    TLY_NUMBER_NORMAL = 3, /* integers other than zero, too */
    TLY_NUMBER_INFINITE = 4,
    TLY_NUMBER_QUIET_NAN = 5,
    TLY_NUMBER_SIGNALING_NAN = 6
} tly_number_class;

/* What an element is (tly_number_class); `out_negative` may be NULL. Complex formats: INVALID.
 * Thread-safe. */
TLY_API int32_t tly_format_classify(const tly_format *format, tly_code code, int32_t *out_negative);

TLY_END_DECLS

#endif
