/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats, and whether a row of the caller's makes sense. */
#include "num/number.h"

#include <stddef.h>
#include <string.h>

#include "num/format_table.h"

#define NUM_ROWS (sizeof tly_format_rows / sizeof tly_format_rows[0])

const tly_format *tly_format_find(tly_format_id id) {
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (tly_format_rows[i].id == id) {
            return &tly_format_rows[i];
        }
    }
    return NULL;
}

const tly_format *tly_format_of_tile(uint32_t tile_code) {
    uint8_t row = tile_code < 32 ? tly_format_row_of_tile[tile_code] : 0;
    return row != 0 ? &tly_format_rows[row - 1] : NULL;
}

const tly_format *tly_format_by_name(const char *name) {
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (strcmp(name, tly_format_rows[i].name) == 0) {
            return &tly_format_rows[i];
        }
    }
    return NULL;
}

static int float_ok(const tly_format *f) {
    uint32_t fields = (uint32_t)f->sign_bits + f->exponent_bits + f->mantissa_bits + f->low_zeros;
    return f->sign_bits <= 1 && f->exponent_bits >= 1 && f->exponent_bits <= 15 &&
           f->mantissa_bits <= 112 && fields == f->bits && f->nan_rule <= TLY_SPECIAL_MAX &&
           f->inf_rule <= TLY_SPECIAL_IEEE && f->no_zero <= 1 && f->bias >= -32768 &&
           f->bias <= 32768 &&
           !(f->inf_rule == TLY_SPECIAL_IEEE && f->nan_rule == TLY_SPECIAL_MAX) &&
           !(f->nan_rule == TLY_SPECIAL_IEEE && f->mantissa_bits == 0);
}

int tly_num_format_ok(const tly_format *format) {
    static const uint8_t widths[] = {1, 2, 4, 6, 8, 16, 32, 64, 128};
    if (format == NULL || memchr(widths, format->bits, sizeof widths) == NULL) {
        return 0;
    }
    switch (format->klass) {
    case TLY_CLASS_FLOAT:
        return float_ok(format);
    case TLY_CLASS_INT:
    case TLY_CLASS_UINT:
        return format->bits <= 64;
    case TLY_CLASS_BOOL:
        return 1;
    case TLY_CLASS_COMPLEX:
        return format->bits == 64 || format->bits == 128;
    case TLY_CLASS_TAPERED:
        return format->bits == 8;
    default:
        return 0;
    }
}
