/* SPDX-License-Identifier: Apache-2.0 */
/* FP16 with instructions of its own: each rounds once, and keeps subnormal numbers whatever the
 * control register says of others. */
#include <immintrin.h>
#include <string.h>

#include "pto/profile/ieee_rows.h"

enum { HALVES = 32 };

typedef __m512h halves;

static inline halves h_load(const uint16_t *p) {
    return _mm512_loadu_ph(p);
}

static inline void h_store(uint16_t *p, halves h) {
    _mm512_storeu_ph(p, h);
}

static inline halves half_result(tly_pto_tile_binary op, halves a, halves b) {
    switch (op) {
    case TLY_PTO_TILE_ADD:
        return _mm512_add_ph(a, b);
    case TLY_PTO_TILE_SUB:
        return _mm512_sub_ph(a, b);
    case TLY_PTO_TILE_MUL:
        return _mm512_mul_ph(a, b);
    default:
        return _mm512_div_ph(a, b);
    }
}

static inline halves half_step(tly_pto_tile_binary op, halves a, halves b) {
    const halves nan = _mm512_castsi512_ph(_mm512_set1_epi16(0x7E00));
    const halves result = half_result(op, a, b);
    return _mm512_mask_blend_ph(_mm512_cmp_ph_mask(result, result, _CMP_UNORD_Q), result, nan);
}

#include "pto/profile/ieee_halves_template.h"

void tly_pto_ieee_binary_f16_avx512fp16(tly_pto_tile_binary op, const tly_pto_binary_rows *rows) {
    binary_f16(op, rows);
}
