/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/npy_types.h"

#include <string.h>

static const tly_npy_type rows[] = {
    {"f2", TLY_F16, 2, 2}, {"f4", TLY_F32, 4, 4},    {"f8", TLY_F64, 8, 8}, {"i1", TLY_I8, 1, 1},
    {"i2", TLY_I16, 2, 2}, {"i4", TLY_I32, 4, 4},    {"i8", TLY_I64, 8, 8}, {"u1", TLY_U8, 1, 1},
    {"u2", TLY_U16, 2, 2}, {"u4", TLY_U32, 4, 4},    {"u8", TLY_U64, 8, 8}, {"b1", TLY_BOOL, 1, 1},
    {"c8", TLY_C64, 8, 4}, {"c16", TLY_C128, 16, 8},
};

#define NUM_ROWS (sizeof rows / sizeof rows[0])

const tly_npy_type *tly_npy_type_find(const char *code, size_t len) {
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (strlen(rows[i].code) == len && memcmp(rows[i].code, code, len) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

const tly_npy_type *tly_npy_type_of(tly_dtype dtype) {
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (rows[i].dtype == dtype) {
            return &rows[i];
        }
    }
    return NULL;
}
