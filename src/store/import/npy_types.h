/* SPDX-License-Identifier: Apache-2.0 */
/* The element types of npy: one row each. */
#ifndef TLY_IMPORT_NPY_TYPES_H
#define TLY_IMPORT_NPY_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/dtype.h>

typedef struct tly_npy_type {
    const char *code; /* kind and bytes, without the byte order */
    tly_dtype dtype;
    uint8_t bytes;
    uint8_t unit; /* what a change of byte order reverses */
} tly_npy_type;

/* Row of a code, or of an element type; NULL: there is none. */
const tly_npy_type *tly_npy_type_find(const char *code, size_t len);
const tly_npy_type *tly_npy_type_of(tly_dtype dtype);

#endif
