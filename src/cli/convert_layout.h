/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of the format by the names that people write: "csr", "tiled:16x16". */
#ifndef TLY_CLI_CONVERT_LAYOUT_H
#define TLY_CLI_CONVERT_LAYOUT_H

#include <tilery/tensor.h>

/* A layout that was asked for, made for one tensor by tly_convert_layout_for. */
typedef struct tly_convert_layout {
    uint8_t tag;       /* tly_layout_tag; 0: none */
    uint32_t num_tile; /* tiled: extents given, one for each axis from the last one backwards */
    uint64_t tile[TLY_MAX_RANK];
    uint64_t tile_shape[TLY_MAX_RANK]; /* what tly_convert_layout_for points to */
    uint32_t bits[TLY_MAX_RANK];
    uint32_t order[TLY_MAX_RANK];
} tly_convert_layout;

/* Reads a name. Errors: INVALID_ARGUMENT (rule "layout-name", with the names that there are). */
tly_status tly_convert_layout_parse(const char *text, tly_convert_layout *out_layout,
                                    tly_error *error);

/* The layout's fields for a tensor of this shape. The result points into `layout`. Errors:
 * INVALID_ARGUMENT (a tensor that the layout cannot hold: its rank, its extents). */
tly_status tly_convert_layout_for(tly_convert_layout *layout, const tly_descriptor *tensor,
                                  tly_descriptor *out_layout, tly_error *error);

#endif
