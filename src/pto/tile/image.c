/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of a feature map as rows of a matrix (asl/tile/model/execution/image-to-column).
 * Bundles never give a tile the location that this operation asks of its source and its result, so
 * every bundle that selects it is refused; hosts can make such tiles. */
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"

typedef struct window {
    const tly_pto_feature_map *map;
    uint64_t height; /* of the output */
    uint64_t width;
} window;

static uint64_t output_extent(uint32_t extent, uint32_t before, uint32_t after, uint32_t dilation,
                              uint32_t filter, uint32_t stride) {
    uint64_t padded = (uint64_t)extent + before + after;
    uint64_t receptive = (uint64_t)dilation * (filter - 1) + 1;
    return padded < receptive ? 0 : (padded - receptive) / stride + 1;
}

static window window_of(const tly_pto_feature_map *map) {
    return (window){map,
                    output_extent(map->height, map->pad_top, map->pad_bottom, map->dilation_height,
                                  map->filter_height, map->stride_height),
                    output_extent(map->width, map->pad_left, map->pad_right, map->dilation_width,
                                  map->filter_width, map->stride_width)};
}

/* Where the element of a row and a column of the matrix comes from; false: from the padding. */
static bool source_index(const window *w, uint64_t row, uint64_t column, uint64_t *out_index) {
    const tly_pto_feature_map *map = w->map;
    uint64_t per_depth = w->height * w->width, c0 = map->channels_per_group;
    uint64_t batch = row / (per_depth * map->depth), in_batch = row % (per_depth * map->depth);
    uint64_t depth = in_batch / per_depth, in_depth = in_batch % per_depth;
    uint64_t per_filter_row = map->filter_width * c0,
             per_group = map->filter_height * per_filter_row;
    uint64_t group = column / per_group, in_group = column % per_group;
    uint64_t channel = in_group % c0;
    uint64_t y =
        in_depth / w->width * map->stride_height + in_group / per_filter_row * map->dilation_height;
    uint64_t x = in_depth % w->width * map->stride_width +
                 in_group % per_filter_row / c0 * map->dilation_width;
    if (group * c0 + channel >= map->logical_channels || y < map->pad_top || x < map->pad_left ||
        y - map->pad_top >= map->height || x - map->pad_left >= map->width) {
        return false;
    }
    uint64_t plane = (batch * map->depth + depth) * map->channel_groups + group;
    *out_index =
        ((plane * map->height + y - map->pad_top) * map->width + x - map->pad_left) * c0 + channel;
    return true;
}

/* The architecture's fields begin at 1; a machine after reset, and a host, have 0 in them as well.
 */
static bool window_valid(const tly_pto_feature_map *map) {
    return map->filter_height != 0 && map->filter_width != 0 && map->stride_height != 0 &&
           map->stride_width != 0 && map->dilation_height != 0 && map->dilation_width != 0;
}

static bool map_valid(const tly_pto_feature_map *map, const tly_pto_tile *tile) {
    uint64_t elements = tly_pto_tile_elements(tile), count = 1;
    const uint16_t extents[] = {map->batches, map->depth, map->channel_groups,
                                map->height,  map->width, map->channels_per_group};
    for (uint32_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        if (extents[i] == 0 || (count *= extents[i]) > elements) {
            return false;
        }
    }
    return map->valid && window_valid(map) && !map->transposed &&
           (map->layout != 0 || map->depth == 1) &&
           map->logical_channels <= (uint32_t)map->channel_groups * map->channels_per_group;
}

static uint64_t position(const tly_pto_machine *m, uint32_t dimension) {
    uint64_t given = m->core.context.header.dimensions[dimension];
    return given <= TLY_PTO_TILE_MAX_EXTENT ? given : 0;
}

static bool check_range(const tly_pto_machine *m, tly_pto_plan *plan, const window *w) {
    const tly_pto_tile *to = &plan->results[0], *from = tly_pto_plan_source(m, plan, 0);
    const tly_pto_feature_map *map = w->map;
    uint64_t rows = map->batches * map->depth * w->height * w->width;
    uint64_t columns = (uint64_t)map->channel_groups * map->filter_height * map->filter_width *
                       map->channels_per_group;
    if (position(m, 0) + to->valid_rows > rows || position(m, 1) + to->valid_columns > columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_IMAGE_RANGE, position(m, 0),
                                   position(m, 1), rows, columns);
    }
    for (uint32_t row = 0; row < to->valid_rows; row++) {
        for (uint32_t column = 0; column < to->valid_columns; column++) {
            uint64_t index;
            if (source_index(w, position(m, 0) + row, position(m, 1) + column, &index) &&
                !tly_pto_element_is_defined(tly_pto_plan_source_elements(m, plan, 0), from,
                                            (uint32_t)index)) {
                return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_IMAGE_UNDEFINED,
                                           plan->sources[0], index, 0, 0);
            }
        }
    }
    return true;
}

bool tly_pto_check_image(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0], *from = tly_pto_plan_source(m, plan, 0);
    const tly_pto_feature_map *map = &m->core.feature_maps[plan->sources[0]];
    if (!tly_pto_check_source_legal(m, plan, 0) ||
        !tly_pto_check_type(plan, from->data_type, TLY_PTO_TYPES_CARRIED) ||
        !tly_pto_check_source_type(m, plan, 0, to->data_type) ||
        !tly_pto_check_source_layout(m, plan, 0, TLY_PTO_LAYOUT_ROW_MAJOR)) {
        return false;
    }
    if (!map_valid(map, from)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_IMAGE_MAP, plan->sources[0], 0, 0, 0);
    }
    if (to->location != TLY_PTO_LOCATION_MATRIX || from->location != TLY_PTO_LOCATION_MATRIX) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_IMAGE_LOCATION, plan->sources[0],
                                   plan->destinations[0], 0, 0);
    }
    window w = window_of(map);
    if (w.height == 0 || w.width == 0) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_IMAGE_WINDOW, map->filter_height,
                                   map->filter_width, map->height, map->width);
    }
    return check_range(m, plan, &w);
}

bool tly_pto_run_image(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0], *from = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    window w = window_of(&m->core.feature_maps[plan->sources[0]]);
    uint64_t padding = tly_pto_raw(w.map->padding, from->data_type);
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    for (uint32_t row = 0; row < to->valid_rows; row++) {
        for (uint32_t column = 0; column < to->valid_columns; column++) {
            uint64_t index, word = padding;
            if (source_index(&w, position(m, 0) + row, position(m, 1) + column, &index)) {
                word = tly_pto_element_read(in, from, (uint32_t)index);
            }
            tly_pto_element_write(out, to, row * to->columns + column, word);
        }
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}
