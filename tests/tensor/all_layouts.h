/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor taken through every layout that can hold it, and tensors to begin with. */
#ifndef TLY_TESTS_TENSOR_ALL_LAYOUTS_H
#define TLY_TESTS_TENSOR_ALL_LAYOUTS_H

#include <stdlib.h>
#include <string.h>

#include <tilery/convert.h>
#include <tilery/panel.h>
#include <tilery/transcode.h>

#include "check.h"

static tly_context *context;

/* Runs through all indices; 0 at the end. */
static inline int next_index(const tly_descriptor *d, uint64_t *index) {
    uint32_t k = d->rank;
    while (k > 0 && ++index[k - 1] == d->shape[k - 1]) {
        index[--k] = 0;
    }
    return k != 0;
}

static inline uint64_t num_elements(const tly_descriptor *d) {
    uint64_t n = 0;
    assert_int_equal(tly_descriptor_num_elements(d, &n), TLY_OK);
    return n;
}

/* All elements in row-major order, one code each. */
static inline tly_code *all_codes(const tly_tensor *t) {
    uint64_t index[TLY_MAX_RANK] = {0}, n = num_elements(t->descriptor), at = 0;
    tly_code *codes = calloc(n + 1, sizeof *codes);
    tly_view *view;
    tly_error error;
    CHECK_OK(tly_view_new(context, t, NULL, &view, &error), &error);
    if (n > 0) {
        do {
            assert_int_equal(tly_view_get(view, index, &codes[at++]), TLY_OK);
        } while (next_index(t->descriptor, index));
        assert_int_equal(at, n);
    }
    tly_view_free(view);
    return codes;
}

/* ---- layouts to go through ---- */

typedef struct wish {
    tly_descriptor layout;
    int64_t strides[TLY_MAX_RANK];
    int64_t outer[TLY_MAX_RANK], inner[TLY_MAX_RANK];
    uint64_t tile[2][TLY_MAX_RANK];
    uint32_t bits[TLY_MAX_RANK];
    uint32_t order[TLY_MAX_RANK];
    tly_block_paged paged;
    uint64_t tokens[4];
    const uint64_t *seq_tokens;
    uint8_t profile[TLY_PANEL_MAX_LEN];
} wish;

enum { NUM_WISHES = 14 };

static inline uint32_t log2_up(uint64_t v) {
    uint32_t b = 0;
    while (b < 63 && (UINT64_C(1) << b) < v) {
        b++;
    }
    return b;
}

/* Wish number n for a tensor of this shape; 0 if the layout cannot hold it. */
static inline int make_wish(wish *w, uint32_t n, const tly_descriptor *d) {
    uint32_t rank = d->rank;
    int64_t stride = 1;
    memset(w, 0, sizeof *w);
    switch (n) {
    case 0:
        w->layout.layout = TLY_LAYOUT_ROW_MAJOR;
        return 1;
    case 1:
        w->layout.layout = TLY_LAYOUT_COL_MAJOR;
        break;
    case 2: /* odd axes backwards, with holes */
        w->layout.layout = TLY_LAYOUT_STRIDED;
        for (uint32_t k = 0; k < rank; k++) {
            w->strides[k] = k % 2 ? -stride : stride;
            stride = (stride + 1) * (int64_t)(d->shape[k] + 1);
            if (stride > (1 << 20)) {
                return 0;
            }
        }
        w->layout.strides = w->strides;
        break;
    case 3:
    case 4:
    case 5: /* tiles of 3; of 2, column by column; 4 in 8 */
        w->layout.layout = TLY_LAYOUT_TILED;
        w->layout.num_levels = n == 5 ? 2 : 1;
        for (uint32_t k = 0; k < rank; k++) {
            w->tile[0][k] = n == 3 ? 3 : n == 4 ? 2 : 4;
            w->tile[1][k] = 2;
        }
        w->layout.levels[0] = (tly_tile_level){w->tile[0], NULL, NULL, n == 3 ? 2 : 1,
                                               n == 3   ? 1
                                               : n == 4 ? 2
                                                        : 4};
        w->layout.levels[1] = (tly_tile_level){w->tile[1], NULL, NULL, 2, 1};
        if (rank > 8) {
            return 0;
        }
        break;
    case 6:
        w->layout.layout = TLY_LAYOUT_MORTON;
        for (uint32_t k = 0; k < rank; k++) {
            w->bits[k] = log2_up(d->shape[k]) > 0 ? log2_up(d->shape[k]) : 1;
            if (w->bits[k] * rank > 18) {
                return 0;
            }
        }
        w->layout.morton_bits = w->bits;
        break;
    case 7:
        w->layout.layout = TLY_LAYOUT_HILBERT;
        w->layout.hilbert_order = rank > 0 ? log2_up(d->shape[0]) : 0;
        for (uint32_t k = 0; k < rank; k++) {
            if (d->shape[k] != UINT64_C(1) << w->layout.hilbert_order) {
                return 0;
            }
        }
        return rank >= 2 && w->layout.hilbert_order > 0;
    case 8:
        w->layout.layout = TLY_LAYOUT_COO;
        break;
    case 9:
        w->layout.layout = TLY_LAYOUT_CSR;
        return rank == 2;
    case 10:
        w->layout.layout = TLY_LAYOUT_CSC;
        return rank == 2;
    case 11:
        w->layout.layout = TLY_LAYOUT_CSF;
        for (uint32_t k = 0; k < rank; k++) {
            w->order[k] = (k + 1) % rank;
        }
        w->layout.mode_order = w->order;
        return rank >= 3;
    case 12: { /* a panel */
        tly_panel_profile profile = {.size = sizeof profile};
        size_t len = 0;
        tly_error error;
        if (rank != 2 || d->quantization != NULL ||
            tly_panel_by_name("cube_n8", d->dtype, 0, &profile, &error) != TLY_OK) {
            return 0;
        }
        CHECK_OK(tly_panel_encode(&profile, w->profile, sizeof w->profile, &len, &error), &error);
        w->layout.layout = TLY_PANEL_LAYOUT_TAG;
        w->layout.private_id = TLY_PANEL_LAYOUT_ID;
        w->layout.private_data = w->profile;
        w->layout.private_len = (uint32_t)len;
        return 1;
    }
    default:
        w->layout.layout = TLY_LAYOUT_BLOCK_PAGED;
        w->paged =
            (tly_block_paged){.page_size = 2, .num_seqs = 2, .layer_index = 1, .index_type = 1};
        w->layout.paged = &w->paged;
        if (rank == 3) {
            w->tokens[0] = d->shape[0] / 2;
            w->tokens[1] = d->shape[0] - w->tokens[0];
        }
        w->seq_tokens = w->tokens;
        return rank == 3;
    }
    return rank > 0;
}

/* The result of a transcode, with buffers that end where they may. */
typedef struct result {
    tly_transcode *plan;
    void *buffers[TLY_MAX_BUFFERS];
    tly_tensor tensor;
} result;

static inline void result_new(result *r, const tly_tensor *src, const wish *w, uint64_t limit) {
    tly_transcode_options options = {sizeof options, limit, w->seq_tokens};
    const tly_descriptor *d;
    tly_error error;
    memset(r, 0, sizeof *r);
    CHECK_OK(tly_transcode_new(context, src, &w->layout, &options, &r->plan, &error), &error);
    d = tly_transcode_descriptor(r->plan);
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        r->buffers[i] = malloc(d->buffers[i].byte_size + 1);
        memset(r->buffers[i], 0xA5, d->buffers[i].byte_size + 1);
    }
    CHECK_OK(tly_transcode_run(r->plan, r->buffers, &error), &error);
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        assert_int_equal(((uint8_t *)r->buffers[i])[d->buffers[i].byte_size], 0xA5);
    }
    r->tensor = (tly_tensor){
        .descriptor = d, .buffers = (const void *const *)r->buffers, .seq_tokens = w->seq_tokens};
}

static inline void result_free(result *r) {
    const tly_descriptor *d = tly_transcode_descriptor(r->plan);
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        free(r->buffers[i]);
    }
    tly_transcode_free(r->plan);
}

static inline void same_codes(const tly_tensor *t, const tly_code *wanted) {
    tly_code *codes = all_codes(t);
    uint64_t n = num_elements(t->descriptor);
    for (uint64_t i = 0; i < n; i++) {
        if (codes[i].low != wanted[i].low || codes[i].high != wanted[i].high) {
            fail_msg("layout %x, element %llu: %llx, not %llx", t->descriptor->layout,
                     (unsigned long long)i, (unsigned long long)codes[i].low,
                     (unsigned long long)wanted[i].low);
        }
    }
    free(codes);
}

/* Into every layout that can hold it, and from there into some others. */
static inline uint32_t through_all(const tly_tensor *t, const tly_code *wanted, check_rng *rng) {
    uint32_t done = 0;
    wish w, v;
    result a, b;
    tly_error error;
    for (uint32_t n = 0; n < NUM_WISHES; n++) {
        if (!make_wish(&w, n, t->descriptor)) {
            continue;
        }
        result_new(&a, t, &w, 0);
        if (t->descriptor->dtype != TLY_F8E8M0) { /* zeros of that type are no valid data */
            CHECK_OK(tly_tensor_check_data(context, &a.tensor, &error), &error);
        }
        same_codes(&a.tensor, wanted);
        for (uint32_t tries = 0; tries < 2; tries++) {
            if (make_wish(&v, (uint32_t)check_below(rng, NUM_WISHES), t->descriptor)) {
                /* Sometimes with hardly any memory: tables and sorting do without. */
                result_new(&b, &a.tensor, &v, check_below(rng, 2) ? 0 : 20000);
                same_codes(&b.tensor, wanted);
                result_free(&b);
                done++;
            }
        }
        result_free(&a);
        done++;
    }
    return done;
}

/* ---- tensors to begin with ---- */

static const tly_dtype all_types[] = {TLY_BOOL, TLY_I2,  TLY_U4,  TLY_F4E2M1, TLY_F6E3M2, TLY_I8,
                                      TLY_BF16, TLY_F32, TLY_U64, TLY_F128,   TLY_C128};

/* A row-major tensor with about one element in `sparse` other than zero. */
typedef struct made {
    tly_tensor tensor;
    tly_descriptor d;
    tly_buffer_info info;
    uint64_t shape[TLY_MAX_RANK];
    const void *buffers[1];
    uint8_t *bytes;
} made;

static inline void make(made *m, check_rng *rng, tly_dtype dtype, uint32_t rank,
                        const uint64_t *shape, uint64_t sparse) {
    uint64_t n, bits = tly_dtype_bits(dtype);
    memcpy(m->shape, shape, rank * sizeof *shape);
    assert_int_equal(tly_descriptor_init_row_major(&m->d, &m->info, dtype, rank, m->shape), TLY_OK);
    m->bytes = calloc(1, m->info.byte_size + 1);
    n = num_elements(&m->d);
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t b = 0; b < bits && check_below(rng, sparse) == 0; b++) {
            uint64_t bit = i * bits + b;
            m->bytes[bit / 8] |= (uint8_t)((check_random(rng) & 1) << bit % 8);
        }
    }
    m->buffers[0] = m->bytes;
    m->tensor = (tly_tensor){.descriptor = &m->d, .buffers = m->buffers};
}
static inline int begin(void **state) {
    tly_error error;
    (void)state;
    return tly_context_new(NULL, &context, &error);
}

static inline int end(void **state) {
    (void)state;
    tly_context_free(context);
    return 0;
}

#endif
