/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/stored.h"

#include "pto/profile/element.h"
#include "pto/profile/order_rows.h"
#include "pto/tile/rows.h"

uint32_t tly_pto_stored_extension(uint32_t dtype) {
    return tly_pto_dtype_is_signed(dtype) ? TLY_PTO_BY_SIGN : TLY_PTO_BY_ZEROS;
}

bool tly_pto_stored_is_whole(const tly_pto_elements *e, const tly_pto_tile *tile) {
    uint32_t extension = tly_pto_stored_extension(tile->data_type);
    return e->stale == 0 && (e->extensions & extension) != 0 &&
           (extension == TLY_PTO_BY_ZEROS || !tly_pto_tile_is_packed(tile));
}

/* Integers are extended anew by every operation. */
bool tly_pto_stored_is_read(const tly_pto_elements *e, uint32_t dtype) {
    return e->stale == 0 &&
           (tly_pto_dtype_is_integer(dtype) || (e->extensions & TLY_PTO_BY_ZEROS) != 0);
}

static bool integer_rows(tly_pto_tile_binary op, uint32_t dtype, const tly_pto_binary_rows *rows) {
    if (!tly_pto_integer_row(op, dtype, NULL, NULL, 1, NULL, 0)) {
        return false;
    }
    for (size_t i = 0; i < rows->num_rows && rows->count != 0; i++) {
        tly_pto_integer_row(op, dtype, (const uint8_t *)rows->left + i * rows->left_stride,
                            (const uint8_t *)rows->right + i * rows->right_stride,
                            rows->broadcast ? 0 : 1, (uint8_t *)rows->out + i * rows->out_stride,
                            rows->count);
    }
    return true;
}

bool tly_pto_stored_binary(const tly_pto_machine *m, tly_pto_tile_binary op, uint32_t dtype,
                           const tly_pto_binary_rows *rows, uint8_t *flags) {
    if (tly_pto_dtype_is_integer(dtype)) {
        return integer_rows(op, dtype, rows);
    }
    return (m->profile->binary_rows != NULL &&
            m->profile->binary_rows(tly_context_simd(m->context), op, dtype, rows, flags)) ||
           tly_pto_order_binary_rows(op, dtype, rows, flags);
}

bool tly_pto_stored_unary(const tly_pto_machine *m, tly_pto_tile_unary op, uint32_t dtype,
                          const void *value, void *out, size_t count, uint8_t *flags) {
    if (tly_pto_dtype_is_integer(dtype)) {
        return tly_pto_integer_unary_row(op, dtype, value, out, count);
    }
    return tly_pto_order_unary_row(op, dtype, value, out, count, flags) ||
           (m->profile->unary_row != NULL &&
            m->profile->unary_row(tly_context_simd(m->context), op, dtype, value, out, count,
                                  flags));
}

bool tly_pto_stored_fused(const tly_pto_machine *m, uint32_t dtype, const tly_pto_fused_row *row,
                          uint8_t *flags) {
    return tly_pto_dtype_is_integer(dtype)
               ? tly_pto_integer_fused_row(dtype, row->left, row->right, row->addend, row->out,
                                           row->count)
               : m->profile->fused_row != NULL &&
                     m->profile->fused_row(tly_context_simd(m->context), dtype, row, flags);
}

bool tly_pto_stored_compare(const tly_pto_machine *m, uint32_t dtype, const void *left,
                            const void *right, bool broadcast, uint8_t *out, size_t count,
                            uint8_t *flags) {
    return tly_pto_dtype_is_integer(dtype)
               ? tly_pto_integer_compare_row(dtype, left, right, broadcast ? 0 : 1, out, count)
               : m->profile->compare == tly_pto_floating_compare &&
                     tly_pto_order_compare_row(dtype, left, right, broadcast, out, count, flags);
}
