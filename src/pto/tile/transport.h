/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in memory and elements in a tile: the one way in which TLOAD and TSTORE move data, whatever
 * the layout of the tile. The copy itself is the packing engine's, between the nest of the tile
 * and that of the rows (asl/tile/model/memory/load-store, stride). */
#ifndef TLY_PTO_TILE_TRANSPORT_H
#define TLY_PTO_TILE_TRANSPORT_H

#include <tilery/nest.h>

#include "pto/machine.h"
#include "pto/tile/store.h"

/* Rows of elements in memory. Four-bit elements stand two in a byte, each row in bytes of its
 * own. */
typedef struct tly_pto_rows {
    uint64_t base;
    uint64_t stride; /* bytes from row to row, modulo 2^64 */
    uint32_t num_rows;
    uint32_t num_columns;
    uint32_t dtype;
} tly_pto_rows;

/* Plans of the packing engine for the shapes in use, made when a shape is first seen, in memory
 * that is reserved once. */
struct tly_pto_transport;
tly_status tly_pto_transport_new(const tly_context *context,
                                 struct tly_pto_transport **out_transport, tly_error *error);
void tly_pto_transport_free(const tly_context *context, struct tly_pto_transport *transport);

/* Bytes from row to row where rows follow each other without gaps. */
static inline uint64_t tly_pto_dense_stride(uint32_t columns, uint32_t dtype) {
    return ((uint64_t)columns * tly_pto_dtype_bits(dtype) + 7) / 8;
}

/* Bytes of one element's access: a whole byte for four-bit elements. */
static inline uint32_t tly_pto_access_len(uint32_t dtype) {
    uint32_t bits = tly_pto_dtype_bits(dtype);
    return bits == 4 ? 1 : bits / 8;
}

/* Address of an element. */
static inline uint64_t tly_pto_rows_address(const tly_pto_rows *rows, uint32_t row,
                                            uint32_t column) {
    return rows->base + row * rows->stride + (uint64_t)column * tly_pto_dtype_bits(rows->dtype) / 8;
}

/* Order of the accesses of the current bundle. */
static inline tly_pto_order tly_pto_bundle_order(const tly_pto_machine *m) {
    const tly_pto_control_attributes *control = &m->core.context.header.control;
    return (tly_pto_order)((control->acquire ? TLY_PTO_ORDER_ACQUIRE : 0) |
                           (control->release ? TLY_PTO_ORDER_RELEASE : 0));
}

/* The word that an element of memory becomes: signed integers of a byte or more are extended by
 * their sign, all else by zeros. */
uint64_t tly_pto_decode_element(uint64_t raw, uint32_t dtype, bool high_nibble);

/* Extension that gives such words back from their bits (TLY_PTO_BY_...). */
uint32_t tly_pto_loaded_extension(uint32_t dtype);

/* Raises the fault of the first element, row by row, that may not be accessed. Returns whether all
 * may be. */
bool tly_pto_check_rows(tly_pto_machine *machine, const tly_pto_rows *rows);

/* Fills a tile whose elements are all undefined from rows as large as its valid region, which were
 * checked. `pad` (code of B.DATR) is what cells of the matrix unit hold around them; the padding of
 * other layouts is left at 0, undefined. */
void tly_pto_load_rows(tly_pto_machine *machine, const tly_pto_rows *rows, const tly_pto_tile *tile,
                       tly_pto_elements *elements, uint32_t pad);

/* Writes the valid region to rows that were checked. Rows that overlap are written in order. */
void tly_pto_store_rows(tly_pto_machine *machine, const tly_pto_rows *rows,
                        const tly_pto_tile *tile, tly_pto_elements *elements);

/* The nest of a tile's valid region, in elements; padding lies outside of the shape. */
void tly_pto_tile_nest(const tly_pto_tile *tile, tly_nest *out_nest);

#endif
