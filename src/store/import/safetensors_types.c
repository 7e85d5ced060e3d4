/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/safetensors_types.h"

#include <string.h>

static const tly_safetensors_type rows[] = {
    {"F64", 64, TLY_F64, 0},   {"F32", 32, TLY_F32, 0},       {"F16", 16, TLY_F16, 0},
    {"BF16", 16, TLY_BF16, 0}, {"I64", 64, TLY_I64, 0},       {"I32", 32, TLY_I32, 0},
    {"I16", 16, TLY_I16, 0},   {"I8", 8, TLY_I8, 0},          {"U64", 64, TLY_U64, 0},
    {"U32", 32, TLY_U32, 0},   {"U16", 16, TLY_U16, 0},       {"U8", 8, TLY_U8, 0},
    {"BOOL", 8, TLY_BOOL, 1},  {"F8_E4M3", 8, TLY_F8E4M3, 0}, {"F8_E5M2", 8, TLY_F8E5M2, 0},
    {"C64", 64, TLY_C64, 0},   {"F8_E8M0", 8, TLY_F8E8M0, 0}, {"F8_E4M3FNUZ", 8, 0, 0},
    {"F8_E5M2FNUZ", 8, 0, 0},  {"F6_E2M3", 6, 0, 0},          {"F6_E3M2", 6, 0, 0},
    {"F4", 4, 0, 0},
};

#define NUM_ROWS (sizeof rows / sizeof rows[0])

const tly_safetensors_type *tly_safetensors_type_find(const char *name, size_t len) {
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

const tly_safetensors_type *tly_safetensors_type_of(tly_dtype dtype) {
    for (size_t i = 0; i < NUM_ROWS && dtype != 0; i++) {
        if (rows[i].dtype == dtype) {
            return &rows[i];
        }
    }
    return NULL;
}
