/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/allocate.h"

#include "pto/tile/legal.h"

void tly_pto_sum_up(const tly_pto_machine *m) {
    tly_pto_tile_store *store = m->tiles;
    store->in_use = 0;
    store->allocated = 0;
    store->legal = 0;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        if (m->core.tiles[i].allocated) {
            store->allocated |= UINT64_C(1) << i;
            store->in_use += tly_pto_allocation_bytes(m->core.tile_allocation_masks[i],
                                                      m->core.tiles[i].capacity_bytes);
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        const tly_pto_shared_tile *shared = &m->core.shared_tiles[i];
        if (shared->descriptor_valid) {
            store->in_use +=
                tly_pto_allocation_bytes(shared->allocation_mask, shared->tile.capacity_bytes);
        }
    }
    store->summed = true;
}

void tly_pto_capacity_changed(tly_pto_machine *m) {
    m->tiles->summed = false;
}

tly_pto_tile tly_pto_predicate_tile(uint32_t capacity_bytes, uint32_t rows, uint32_t columns,
                                    uint32_t valid_rows, uint32_t valid_columns) {
    return (tly_pto_tile){
        .allocated = true,
        .storage_kind = TLY_PTO_PREDICATE,
        .data_type = TLY_PTO_U8,
        .layout = TLY_PTO_LAYOUT_ROW_MAJOR,
        .location = TLY_PTO_LOCATION_ANY,
        .capacity_bytes = capacity_bytes,
        .rows = (uint16_t)rows,
        .columns = (uint16_t)columns,
        .valid_rows = (uint16_t)valid_rows,
        .valid_columns = (uint16_t)valid_columns,
    };
}

tly_pto_tile tly_pto_cube_tile(const tly_pto_machine *m, uint32_t capacity_bytes,
                               uint32_t valid_rows, uint32_t valid_columns, uint32_t dtype,
                               uint32_t layout) {
    tly_pto_cube_shape shape = tly_pto_cube_shape_of(layout, valid_rows, valid_columns, dtype);
    if (shape.cell_count == 0 || shape.storage_bytes > capacity_bytes ||
        !tly_pto_local_capacity_legal(m, capacity_bytes)) {
        return (tly_pto_tile){0};
    }
    return (tly_pto_tile){
        .allocated = true,
        .storage_kind = TLY_PTO_NUMERIC,
        .data_type = (uint8_t)dtype,
        .layout = (uint8_t)layout,
        .location = TLY_PTO_LOCATION_MATRIX,
        .capacity_bytes = capacity_bytes,
        .rows = (uint16_t)shape.rows,
        .columns = (uint16_t)shape.columns,
        .valid_rows = (uint16_t)valid_rows,
        .valid_columns = (uint16_t)valid_columns,
        .cube_k_repeat = (uint16_t)shape.k_repeat,
        .cube_n_repeat = (uint16_t)shape.n_repeat,
        .cube_cell_count = (uint16_t)shape.cell_count,
        .cube_storage_bytes = shape.storage_bytes,
    };
}

/* Takes the tile's share out of the sums; what is known of its descriptor is forgotten. */
static void withdraw(tly_pto_machine *m, uint32_t index) {
    tly_pto_tile_store *store = tly_pto_summed(m);
    const tly_pto_tile *tile = &m->core.tiles[index];
    uint64_t bit = UINT64_C(1) << index;
    if (tile->allocated) {
        store->in_use -=
            tly_pto_allocation_bytes(m->core.tile_allocation_masks[index], tile->capacity_bytes);
    }
    store->allocated &= ~bit;
    store->legal &= ~bit;
    m->core.feature_maps[index].valid = false;
}

void tly_pto_install_tile(tly_pto_machine *m, uint32_t index, const tly_pto_tile *tile,
                          uint32_t pe_mask) {
    withdraw(m, index);
    m->core.tiles[index] = *tile;
    m->core.tile_allocation_masks[index] = (uint8_t)pe_mask;
    m->tiles->in_use += tly_pto_allocation_bytes(pe_mask, tile->capacity_bytes);
    m->tiles->allocated |= UINT64_C(1) << index;
}

void tly_pto_release_tile(tly_pto_machine *m, uint32_t index) {
    withdraw(m, index);
    m->core.tiles[index] =
        (tly_pto_tile){.data_type = TLY_PTO_U8, .location = TLY_PTO_LOCATION_ANY};
    m->core.tile_allocation_masks[index] = 0;
    tly_pto_elements_clear(&m->tiles->local[index]);
}
