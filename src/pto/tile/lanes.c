/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/lanes.h"

#include "pto/tile/dtype.h"
#include "pto/tile/header.h"

static bool is_whole(const tly_pto_tile *tile) {
    return tile->valid_rows == tile->rows && tile->valid_columns == tile->columns;
}

tly_pto_elements *tly_pto_begin_result(tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    tly_pto_elements *e = tly_pto_plan_result_elements(m, plan, ordinal);
    const tly_pto_tile *tile = &plan->results[ordinal];
    tly_pto_elements_clear(e);
    if (is_whole(tile)) {
        tly_pto_elements_overwrite(e, tile, TLY_PTO_BY_EITHER);
    } else {
        tly_pto_elements_prepare(e, tile);
    }
    return e;
}

void tly_pto_finish_result(tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal, uint32_t pad) {
    tly_pto_tile *tile = &plan->results[ordinal];
    tly_pto_result_defined(tile);
    tly_pto_pad_elements(tly_pto_plan_result_elements(m, plan, ordinal), tile, pad);
}

/* ------------------------------------------------------------------------------------------ */

/* The largest finite number; a signed integer's or a floating type's smallest is the carrier that
 * has the sign too, not extended. Types that are missing have carriers of their own. */
static const uint64_t largest[TLY_PTO_NUM_DTYPES] = {
    [TLY_PTO_FP64] = UINT64_C(0x7fefffffffffffff),
    [TLY_PTO_FP32] = 0x7f7fffff,
    [TLY_PTO_TF32] = 0x7f7fe000,
    [TLY_PTO_HF32] = 0x7f7ff000,
    [TLY_PTO_FP16] = 0x7bff,
    [TLY_PTO_BF16] = 0x7f7f,
    [TLY_PTO_E4M3] = 0x7e,
    [TLY_PTO_E5M2] = 0x7b,
    [TLY_PTO_S64] = INT64_MAX,
    [TLY_PTO_S32] = INT32_MAX,
    [TLY_PTO_S16] = INT16_MAX,
    [TLY_PTO_S8] = INT8_MAX,
    [TLY_PTO_U64] = UINT64_MAX,
    [TLY_PTO_U32] = UINT32_MAX,
    [TLY_PTO_U16] = UINT16_MAX,
    [TLY_PTO_U8] = UINT8_MAX,
};

uint64_t tly_pto_pad_value(uint32_t pad, uint32_t dtype) {
    uint64_t value = largest[dtype], sign = UINT64_C(1) << (tly_pto_dtype_bits(dtype) - 1);
    switch (pad) {
    case TLY_PTO_PAD_MAX:
        return value != 0 ? value : UINT64_MAX;
    case TLY_PTO_PAD_MIN:
        if (tly_pto_dtype_in(dtype, TLY_PTO_TYPES_UNSIGNED)) {
            return 0;
        }
        if (value == 0) {
            return UINT64_C(1) << 63;
        }
        return tly_pto_dtype_is_integer(dtype) ? sign : value | sign;
    default:
        return 0;
    }
}

/* A run of padding. */
static void fill(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t first, uint32_t count,
                 const uint64_t *words) {
    while (count > 0) {
        uint32_t step = count < TLY_PTO_LANES ? count : TLY_PTO_LANES;
        tly_pto_elements_write(e, tile, first, step, words);
        first += step;
        count -= step;
    }
}

static void fill_rows(tly_pto_elements *e, const tly_pto_tile *tile, const uint64_t *words) {
    uint32_t columns = tile->columns, padding = columns - tile->valid_columns;
    for (uint32_t row = 0; row < tile->valid_rows && padding != 0; row++) {
        fill(e, tile, row * columns + tile->valid_columns, padding, words);
    }
    uint32_t valid = (uint32_t)tile->valid_rows * columns;
    fill(e, tile, valid, tly_pto_tile_elements(tile) - valid, words);
}

void tly_pto_pad_elements(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t pad) {
    uint64_t words[TLY_PTO_LANES];
    e->defined = TLY_PTO_DEFINED_VALID;
    if (pad == TLY_PTO_PAD_NULL || is_whole(tile)) {
        return;
    }
    e->defined = TLY_PTO_DEFINED_ALL;
    uint64_t value = tly_pto_pad_value(pad, tile->data_type);
    for (uint32_t i = 0; i < TLY_PTO_LANES; i++) {
        words[i] = value;
    }
    if (tile->layout == TLY_PTO_LAYOUT_ROW_MAJOR) {
        fill_rows(e, tile, words);
        return;
    }
    for (uint32_t row = 0; row < tile->rows; row++) {
        uint32_t column = row < tile->valid_rows ? tile->valid_columns : 0;
        for (; column < tile->columns; column++) {
            tly_pto_element_write(e, tile, tly_pto_tile_index(tile, row, column), value);
        }
    }
}
