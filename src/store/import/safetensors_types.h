/* SPDX-License-Identifier: Apache-2.0 */
/* The element types of safetensors: one row each. */
#ifndef TLY_IMPORT_SAFETENSORS_TYPES_H
#define TLY_IMPORT_SAFETENSORS_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/dtype.h>

typedef struct tly_safetensors_type {
    const char *name;
    uint8_t bits;       /* of an element in the file */
    tly_dtype dtype;    /* 0: there is no such type here */
    uint8_t bool_bytes; /* one byte an element, 0 or 1 */
} tly_safetensors_type;

/* Row of a name of the format, or of an element type; NULL: there is none. */
const tly_safetensors_type *tly_safetensors_type_find(const char *name, size_t len);
const tly_safetensors_type *tly_safetensors_type_of(tly_dtype dtype);

#endif
