/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/convert_layout.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "cli/text.h"

/* What can be asked for. Their names are the format's, in any case. */
static const uint8_t tags[] = {
    TLY_LAYOUT_ROW_MAJOR, TLY_LAYOUT_COL_MAJOR, TLY_LAYOUT_TILED,
    TLY_LAYOUT_MORTON,    TLY_LAYOUT_HILBERT,   TLY_LAYOUT_COO,
    TLY_LAYOUT_CSR,       TLY_LAYOUT_CSC,       TLY_LAYOUT_CSF,
};

enum { MAX_TILE_EXTENT = 1 << 30 };

static tly_status bad_name(const char *text, tly_error *error) {
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "layout-name",
                         "\"%s\" is no layout; there are row-major, column-major, tiled:RxC, "
                         "morton, hilbert, coo, csr, csc and csf",
                         text);
}

tly_status tly_convert_layout_parse(const char *text, tly_convert_layout *out_layout,
                                    tly_error *error) {
    const char *colon = strchr(text, ':');
    size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);
    memset(out_layout, 0, sizeof *out_layout);
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        const char *name = tly_layout_name(tags[i]);
        if (strlen(name) == len && strncasecmp(name, text, len) == 0) {
            out_layout->tag = tags[i];
        }
    }
    if (colon != NULL) {
        out_layout->num_tile =
            tly_text_extents(colon + 1, 1, MAX_TILE_EXTENT, out_layout->tile, TLY_MAX_RANK);
    }
    if (out_layout->tag == 0 || (out_layout->tag == TLY_LAYOUT_TILED) != (colon != NULL) ||
        (colon != NULL && out_layout->num_tile == 0)) {
        return bad_name(text, error);
    }
    return TLY_OK;
}

/* Bits that hold every index of an extent. */
static uint32_t bits_for(uint64_t extent) {
    uint32_t bits = 1;
    while (bits < 63 && UINT64_C(1) << bits < extent) {
        bits++;
    }
    return bits;
}

static tly_status cannot(tly_error *error, const char *what) {
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "layout-fit", "%s", what);
}

tly_status tly_convert_layout_for(tly_convert_layout *layout, const tly_descriptor *tensor,
                                  tly_descriptor *out_layout, tly_error *error) {
    const uint32_t rank = tensor->rank;
    memset(out_layout, 0, sizeof *out_layout);
    out_layout->layout = layout->tag;
    out_layout->is_sorted = layout->tag == TLY_LAYOUT_COO;
    if (rank == 0 && layout->tag != TLY_LAYOUT_ROW_MAJOR) {
        return cannot(error, "a tensor without axes is row-major");
    }
    if (layout->tag == TLY_LAYOUT_TILED) {
        if (layout->num_tile > rank) {
            return cannot(error, "the tile has more axes than the tensor");
        }
        for (uint32_t k = 0; k < rank; k++) { /* axes that are not named are cut into ones */
            uint32_t from_end = rank - 1 - k;
            layout->tile_shape[k] =
                from_end < layout->num_tile ? layout->tile[layout->num_tile - 1 - from_end] : 1;
        }
        out_layout->num_levels = 1;
        out_layout->levels[0].tile_shape = layout->tile_shape;
        out_layout->levels[0].outer = TLY_TILE_ROW;
        out_layout->levels[0].inner = TLY_TILE_ROW;
    } else if (layout->tag == TLY_LAYOUT_MORTON) {
        for (uint32_t k = 0; k < rank; k++) {
            layout->bits[k] = bits_for(tensor->shape[k]);
        }
        out_layout->morton_bits = layout->bits;
    } else if (layout->tag == TLY_LAYOUT_HILBERT) {
        out_layout->hilbert_order = bits_for(tensor->shape[0]);
        for (uint32_t k = 0; k < rank; k++) {
            if (tensor->shape[k] != UINT64_C(1) << out_layout->hilbert_order) {
                return cannot(error, "Hilbert order wants the same power of two on every axis");
            }
        }
    } else if (layout->tag == TLY_LAYOUT_CSF) {
        for (uint32_t k = 0; k < rank; k++) {
            layout->order[k] = k;
        }
        out_layout->mode_order = layout->order;
    }
    return TLY_OK;
}
