/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of ADD, SUB, MUL and DIV of FP16. The including file defines
 *
 *   halves, HALVES               a vector of FP16, and how many
 *   h_load(p), h_store(p, h)
 *   half_step(op, a, b)          one operation, with the canonical NaN
 */

static inline halves half_set(uint16_t half) {
    uint16_t all[HALVES];
    for (size_t i = 0; i < HALVES; i++) {
        all[i] = half;
    }
    return h_load(all);
}

/* `op` and `broadcast` are constants where this is inlined. What the last vector lacks is its first
 * element once more, which raises nothing new. */
static inline __attribute__((always_inline)) void half_row(tly_pto_tile_binary op,
                                                           const uint16_t *a, const uint16_t *b,
                                                           bool broadcast, uint16_t *out,
                                                           size_t count) {
    const halves one = half_set(*b);
    size_t at = 0;
    for (; at + HALVES <= count; at += HALVES) {
        h_store(out + at, half_step(op, h_load(a + at), broadcast ? one : h_load(b + at)));
    }
    if (at < count) {
        uint16_t left[HALVES], right[HALVES];
        h_store(left, half_set(a[at]));
        h_store(right, broadcast ? one : half_set(b[at]));
        memcpy(left, a + at, (count - at) * sizeof *a);
        if (!broadcast) {
            memcpy(right, b + at, (count - at) * sizeof *b);
        }
        h_store(left, half_step(op, h_load(left), h_load(right)));
        memcpy(out + at, left, (count - at) * sizeof *out);
    }
}

static inline __attribute__((always_inline)) void half_rows(tly_pto_tile_binary op,
                                                            const tly_pto_binary_rows *rows) {
    for (size_t i = 0; i < rows->num_rows; i++) {
        const char *a = (const char *)rows->left + i * rows->left_stride;
        const char *b = (const char *)rows->right + i * rows->right_stride;
        char *c = (char *)rows->out + i * rows->out_stride;
        if (rows->broadcast) {
            half_row(op, (const void *)a, (const void *)b, true, (void *)c, rows->count);
        } else {
            half_row(op, (const void *)a, (const void *)b, false, (void *)c, rows->count);
        }
    }
}

static void binary_f16(tly_pto_tile_binary op, const tly_pto_binary_rows *rows) {
    switch (op) {
    case TLY_PTO_TILE_ADD:
        half_rows(TLY_PTO_TILE_ADD, rows);
        break;
    case TLY_PTO_TILE_SUB:
        half_rows(TLY_PTO_TILE_SUB, rows);
        break;
    case TLY_PTO_TILE_MUL:
        half_rows(TLY_PTO_TILE_MUL, rows);
        break;
    default:
        half_rows(TLY_PTO_TILE_DIV, rows);
        break;
    }
}
