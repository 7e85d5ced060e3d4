/* SPDX-License-Identifier: Apache-2.0 */
/* What `tilery convert` does to one tensor. */
#ifndef TLY_CLI_CONVERT_H
#define TLY_CLI_CONVERT_H

#include <tilery/convert.h>

#include "cli/convert_layout.h"
#include "cli/whole.h"

#define TLY_CONVERT_ROW_MAJOR    1 /* the file wants plain elements in this order */
#define TLY_CONVERT_EITHER_ORDER 2 /* or in that of columns, if it is that already */

typedef struct tly_convert_wish {
    tly_convert_layout layout; /* tag 0: as it is */
    tly_dtype dtype;           /* 0: as it is */
    uint8_t dequantize;        /* values instead of codes */
    uint8_t saturate;
    uint8_t plain;    /* TLY_CONVERT_*; 0: any layout will do */
    int32_t rounding; /* tly_rounding */
} tly_convert_wish;

/* Does it change anything? */
int tly_convert_changes(const tly_convert_wish *wish);

/* Changes a tensor in place. Errors: UNSUPPORTED (a type or layout that cannot be had from it),
 * those of transcoding and dequantizing. */
tly_status tly_convert_whole(const tly_context *context, tly_convert_wish *wish, tly_whole *whole,
                             tly_error *error);

#endif
