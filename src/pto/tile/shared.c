/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/shared.h"

#include "pto/tile/allocate.h"
#include "pto/tile/header.h"

static bool capacity_legal(const tly_pto_machine *m, uint32_t bytes) {
    return bytes >= TLY_PTO_CELL_BYTES && bytes % TLY_PTO_CELL_BYTES == 0 &&
           bytes <= TLY_PTO_SHARED_TILE_MAX && bytes <= m->core.base.tile_capacity;
}

static bool same_descriptor(const tly_pto_tile *left, const tly_pto_tile *right) {
    return left->allocated && right->allocated && !tly_pto_layout_is_cube(left->layout) &&
           left->capacity_bytes == right->capacity_bytes && left->rows == right->rows &&
           left->columns == right->columns && left->valid_rows == right->valid_rows &&
           left->valid_columns == right->valid_columns && left->data_type == right->data_type &&
           left->layout == right->layout && left->location == right->location &&
           left->cube_k_repeat == right->cube_k_repeat &&
           left->cube_n_repeat == right->cube_n_repeat &&
           left->cube_cell_count == right->cube_cell_count &&
           left->cube_storage_bytes == right->cube_storage_bytes;
}

bool tly_pto_shared_writable(const tly_pto_machine *m, uint32_t shared_id, const tly_pto_tile *tile,
                             uint32_t mask) {
    const tly_pto_shared_tile *old = &m->core.shared_tiles[shared_id];
    if (tly_pto_layout_is_cube(tile->layout) || !capacity_legal(m, tile->capacity_bytes) ||
        tile->rows == 0 ||
        tile->rows != tly_pto_derived_rows(tile->capacity_bytes, tile->columns, tile->data_type) ||
        tile->valid_rows > tile->rows || tile->valid_columns > tile->columns) {
        return false;
    }
    if (old->descriptor_valid) {
        return (mask & ~(uint32_t)old->allocation_mask) == 0 && same_descriptor(&old->tile, tile);
    }
    return tly_pto_capacity_in_use(m) + tly_pto_allocation_bytes(mask, tile->capacity_bytes) <=
           m->core.base.tile_capacity;
}

void tly_pto_shared_wrote(tly_pto_machine *m, uint32_t shared_id, const tly_pto_tile *tile,
                          uint32_t mask, uint32_t part, bool publish) {
    tly_pto_shared_tile *shared = &m->core.shared_tiles[shared_id];
    if (!shared->descriptor_valid) {
        shared->descriptor_valid = true;
        shared->published = false;
        shared->allocation_mask = (uint8_t)mask;
        shared->initialized_mask = 0;
        shared->tile = *tile;
        tly_pto_capacity_changed(m);
    }
    shared->initialized_mask |= (uint8_t)part;
    shared->tile.contents_defined = shared->initialized_mask == shared->allocation_mask;
    shared->published = shared->published || (publish && shared->tile.contents_defined);
    if (shared->tile.contents_defined) {
        shared->tile.defined_valid_elements =
            (uint32_t)shared->tile.valid_rows * shared->tile.valid_columns;
    }
}

uint64_t tly_pto_shared_word(const tly_pto_machine *m, uint32_t shared_id, uint32_t index) {
    const tly_pto_shared_tile *shared = &m->core.shared_tiles[shared_id];
    if (!shared->descriptor_valid ||
        !tly_pto_mask_has(shared->initialized_mask, tly_pto_shared_quarter(&shared->tile, index))) {
        return shared_id ^ (uint64_t)index;
    }
    return tly_pto_element_read(&m->tiles->shared[shared_id], &shared->tile, index);
}

bool tly_pto_shared_readable(const tly_pto_machine *m, uint32_t shared_id,
                             const tly_pto_tile *wanted) {
    const tly_pto_shared_tile *shared = &m->core.shared_tiles[shared_id];
    if (tly_pto_layout_is_cube(wanted->layout)) {
        return false;
    }
    if (shared->descriptor_valid) {
        return tly_pto_shared_tile_legal(m, shared_id) &&
               shared->tile.capacity_bytes == wanted->capacity_bytes &&
               shared->tile.columns == wanted->columns &&
               wanted->valid_rows <= shared->tile.valid_rows &&
               wanted->valid_columns <= shared->tile.valid_columns &&
               shared->tile.data_type == wanted->data_type && shared->tile.layout == wanted->layout;
    }
    return capacity_legal(m, wanted->capacity_bytes) &&
           tly_pto_shape_legal(wanted->capacity_bytes, wanted->columns, wanted->valid_rows,
                               wanted->valid_columns, wanted->data_type);
}

bool tly_pto_shared_published(const tly_pto_machine *m, uint32_t shared_id) {
    const tly_pto_shared_tile *shared = &m->core.shared_tiles[shared_id];
    return shared->descriptor_valid && shared->initialized_mask == shared->allocation_mask &&
           shared->tile.contents_defined && shared->published;
}
