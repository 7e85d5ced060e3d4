/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_DTYPE_H
#define TILERY_DTYPE_H

#include <stdint.h>

#include <tilery/dtype_tags.h>
#include <tilery/export.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* An element type, by its tag in the tensor format (Hurray 1.0, element-types). TLY_DTYPE_* are in
 * tilery/dtype_tags.h. 0 is no type. */
typedef uint8_t tly_dtype;

typedef enum tly_dtype_class {
    TLY_CLASS_FLOAT = 1,
    TLY_CLASS_INT = 2,
    TLY_CLASS_UINT = 3,
    TLY_CLASS_BOOL = 4,
    TLY_CLASS_COMPLEX = 5, /* two floats of half the bits, the real part first */
    TLY_CLASS_TAPERED =
        6 /* HiF8 (tilery/convert.h): the exponent takes its bits from the mantissa */
} tly_dtype_class;

/* One row of the table of element types. */
typedef struct tly_dtype_info {
    tly_dtype tag;
    uint8_t klass;         /* tly_dtype_class */
    uint16_t bits;         /* width of one element in storage */
    uint8_t exponent_bits; /* floating point only, as are the next four */
    uint8_t mantissa_bits; /* stored bits, without the implied one */
    uint8_t nan_rule;      /* TLY_SPECIAL_* */
    uint8_t inf_rule;      /* TLY_SPECIAL_* */
    int32_t exponent_bias;
    const char *name;      /* short name, "f32" */
    const char *long_name; /* "float32" */
} tly_dtype_info;

/* How a floating-point format encodes NaN or infinity. */
#define TLY_SPECIAL_NONE 0 /* not at all */
#define TLY_SPECIAL_IEEE 1 /* all-ones exponent */
#define TLY_SPECIAL_MAX  2 /* the all-ones code only */

/* Row of a type, or NULL if this build does not know the tag. Static storage. Thread-safe. */
TLY_API const tly_dtype_info *tly_dtype_find(tly_dtype dtype);

/* Type of a short or long name ("f32", "float32"), or 0. Thread-safe. */
TLY_API tly_dtype tly_dtype_by_name(const char *name);

/* Bits of one element, 0 for an unknown type. Thread-safe. */
TLY_API uint32_t tly_dtype_bits(tly_dtype dtype);

TLY_END_DECLS

#endif
