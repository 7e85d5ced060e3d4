/* SPDX-License-Identifier: Apache-2.0 */
#include <tilery/dtype.h>

#include <stddef.h>
#include <string.h>

#include "num/dtype_table.h"

const tly_dtype_info *tly_dtype_find(tly_dtype dtype) {
    uint8_t row = tly_dtype_row_of_tag[dtype];
    return row != 0 ? &tly_dtype_rows[row - 1] : NULL;
}

tly_dtype tly_dtype_by_name(const char *name) {
    for (size_t i = 0; i < sizeof tly_dtype_rows / sizeof tly_dtype_rows[0]; i++) {
        if (strcmp(name, tly_dtype_rows[i].name) == 0 ||
            strcmp(name, tly_dtype_rows[i].long_name) == 0) {
            return tly_dtype_rows[i].tag;
        }
    }
    return 0;
}

uint32_t tly_dtype_bits(tly_dtype dtype) {
    const tly_dtype_info *info = tly_dtype_find(dtype);
    return info != NULL ? info->bits : 0;
}
