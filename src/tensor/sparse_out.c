/* SPDX-License-Identifier: Apache-2.0 */
/* A full tensor is walked in the order that the sparse layout wants. The elements of a sparse one
 * are taken as they come where they come in that order; otherwise the smallest that fit in the
 * memory are picked and sorted, pass by pass, until none is left. */
#include "tensor/sparse_out.h"

#include <string.h>

#include "base/bytes.h"

/* ---- writing ----------------------------------------------------------------------------------
 */

void tly_sparse_out_init(tly_sparse_out *out, const tly_descriptor *layout, uint32_t rank,
                         const uint64_t *shape, uint32_t bits, void *const *buffers) {
    memset(out, 0, sizeof *out);
    out->layout = layout->layout;
    out->rank = rank;
    out->bits = bits;
    out->buffers = buffers;
    for (uint32_t k = 0; k < rank; k++) {
        out->order[k] = layout->layout == TLY_LAYOUT_CSF ? layout->mode_order[k] : k;
    }
    if (layout->layout == TLY_LAYOUT_CSC) {
        out->order[0] = 1;
        out->order[1] = 0;
    }
    if (layout->layout == TLY_LAYOUT_CSR || layout->layout == TLY_LAYOUT_CSC) {
        out->num_major = shape[out->order[0]];
    }
}

static void put_word(const tly_sparse_out *out, uint32_t buffer, uint64_t number, uint64_t value) {
    if (out->buffers != NULL) {
        tly_base_store_u64((uint8_t *)out->buffers[buffer] + number * 8, value);
    }
}

/* Pointers of rows up to `major` begin with the element that comes next. */
static void point(tly_sparse_out *out, uint64_t major) {
    while (out->next_major <= major) {
        put_word(out, 2, out->next_major++, out->nnz);
        if (out->buffers == NULL) {
            out->next_major = major + 1; /* nothing to write */
        }
    }
}

static void grow_tree(tly_sparse_out *out, const uint64_t *index) {
    uint32_t level = 0;
    while (out->nnz > 0 && level < out->rank - 1 && index[out->order[level]] == out->last[level]) {
        level++;
    }
    for (; level < out->rank; level++) {
        uint64_t node = out->num[level]++;
        out->last[level] = index[out->order[level]];
        put_word(out, 2 * level + 2, node, out->last[level]);
        if (level + 1 < out->rank) { /* its children begin here */
            put_word(out, 2 * level + 3, node, out->num[level + 1]);
        }
    }
}

void tly_sparse_out_put(tly_sparse_out *out, const uint64_t *index, const uint8_t *src,
                        int64_t src_bit) {
    switch (out->layout) {
    case TLY_LAYOUT_COO:
        for (uint32_t k = 0; k < out->rank && out->buffers != NULL; k++) {
            put_word(out, 1, out->nnz * out->rank + k, index[k]);
        }
        break;
    case TLY_LAYOUT_CSF:
        grow_tree(out, index);
        break;
    default:
        point(out, index[out->order[0]]);
        put_word(out, 1, out->nnz, index[out->order[1]]);
        break;
    }
    if (out->buffers != NULL) {
        tly_num_copy_element(out->buffers[0], (int64_t)(out->nnz * out->bits), src, src_bit,
                             out->bits);
    }
    out->nnz++;
}

void tly_sparse_out_end(tly_sparse_out *out) {
    if (out->layout == TLY_LAYOUT_CSF) {
        put_word(out, 1, 0, 0);
        put_word(out, 1, 1, out->num[0]);
        for (uint32_t level = 1; level < out->rank; level++) {
            put_word(out, 2 * level + 1, out->num[level - 1], out->num[level]);
        }
    } else if (out->layout != TLY_LAYOUT_COO) {
        point(out, out->num_major);
    }
}

/* ---- in order ---------------------------------------------------------------------------------
 */

typedef struct feed {
    tly_sparse_out *out;
    const tly_view *from;
    uint64_t last[TLY_MAX_RANK]; /* keys are indices in the order of the destination */
    int has_last;
    int rises;  /* in the order of the destination */
    int turned; /* in that order backwards: rows that come column by column */
} feed;

static void key_of(const tly_sparse_out *out, const uint64_t *index, uint64_t *key) {
    for (uint32_t k = 0; k < out->rank; k++) {
        key[k] = index[out->order[k]];
    }
}

static int compare_turned(const uint64_t *a, const uint64_t *b, uint32_t rank) {
    for (uint32_t k = rank; k-- > 0;) {
        if (a[k] != b[k]) {
            return a[k] < b[k] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_keys(const uint64_t *a, const uint64_t *b, uint32_t rank) {
    for (uint32_t k = 0; k < rank; k++) {
        if (a[k] != b[k]) {
            return a[k] < b[k] ? -1 : 1;
        }
    }
    return 0;
}

static int is_zero(const uint8_t *bytes, int64_t bit, uint32_t bits) {
    const uint8_t *p = bytes + (bit >> 3);
    switch (bits) {
    case 8:
        return *p == 0;
    case 16:
        return tly_base_load_u16(p) == 0;
    case 32:
        return tly_base_load_u32(p) == 0;
    case 64:
        return tly_base_load_u64(p) == 0;
    default: {
        tly_code code = tly_tensor_load(bytes, bit, bits);
        return (code.low | code.high) == 0;
    }
    }
}

static tly_status put_nonzero(void *user, const uint64_t *index, int64_t bit) {
    feed *f = user;
    if (!is_zero(f->from->bytes, bit, f->out->bits)) {
        tly_sparse_out_put(f->out, index, f->from->bytes, bit);
    }
    return TLY_OK;
}

static tly_status put_stored(void *user, const uint64_t *index, int64_t bit) {
    feed *f = user;
    tly_sparse_out_put(f->out, index, f->from->bytes, bit);
    return TLY_OK;
}

static tly_status look_at_order(void *user, const uint64_t *index, int64_t bit) {
    feed *f = user;
    uint64_t key[TLY_MAX_RANK];
    (void)bit;
    key_of(f->out, index, key);
    f->rises = f->rises && (!f->has_last || compare_keys(f->last, key, f->out->rank) < 0);
    f->turned = f->turned && (!f->has_last || compare_turned(f->last, key, f->out->rank) < 0);
    memcpy(f->last, key, f->out->rank * sizeof *key);
    f->has_last = 1;
    return TLY_OK;
}

/* ---- pass by pass -----------------------------------------------------------------------------
 */

/* Up to 2 * room picked elements. A record is a key and the bit of the element. items[0 .. num) are
 * the records in use, the others are free. */
typedef struct pick {
    feed base;
    uint64_t *records;
    uint64_t *items;
    uint64_t *scratch;
    uint64_t room;
    uint64_t num;
    uint64_t upper[TLY_MAX_RANK]; /* beyond this is for later passes */
    int has_upper;
} pick;

static const uint64_t *record(const pick *p, uint64_t number) {
    return p->records + number * (p->base.out->rank + 1);
}

static int compare_records(const void *user, uint64_t a, uint64_t b) {
    const pick *p = user;
    return compare_keys(record(p, a), record(p, b), p->base.out->rank);
}

static void keep_smallest(pick *p) {
    tly_layout_sort(p->items, p->scratch, p->num, compare_records, p);
    if (p->num > p->room) {
        p->num = p->room;
        p->has_upper = 1;
        memcpy(p->upper, record(p, p->items[p->num - 1]), p->base.out->rank * sizeof *p->upper);
    }
}

static tly_status pick_element(void *user, const uint64_t *index, int64_t bit) {
    pick *p = user;
    uint32_t rank = p->base.out->rank;
    uint64_t key[TLY_MAX_RANK], *to;
    key_of(p->base.out, index, key);
    if (p->base.has_last && compare_keys(key, p->base.last, rank) <= 0) {
        return TLY_OK; /* done in an earlier pass */
    }
    if (p->num == 2 * p->room) {
        keep_smallest(p);
    }
    if (p->has_upper && compare_keys(key, p->upper, rank) > 0) {
        return TLY_OK;
    }
    to = p->records + p->items[p->num++] * (rank + 1);
    memcpy(to, key, rank * sizeof *key);
    to[rank] = (uint64_t)bit;
    return TLY_OK;
}

static void put_picked(pick *p) {
    tly_sparse_out *out = p->base.out;
    uint64_t index[TLY_MAX_RANK];
    for (uint64_t i = 0; i < p->num; i++) {
        const uint64_t *r = record(p, p->items[i]);
        for (uint32_t k = 0; k < out->rank; k++) {
            index[out->order[k]] = r[k];
        }
        tly_sparse_out_put(out, index, p->base.from->bytes, (int64_t)r[out->rank]);
    }
    if (p->num > 0) {
        memcpy(p->base.last, record(p, p->items[p->num - 1]), out->rank * sizeof *p->base.last);
        p->base.has_last = 1;
    }
}

static tly_status fill_unordered(tly_sparse_out *out, const tly_view *from,
                                 tly_tensor_budget *budget, tly_error *error) {
    pick p = {.base = {.out = out, .from = from}};
    uint64_t words = 2 * ((uint64_t)out->rank + 1) + 4, len;
    tly_status status = TLY_OK;
    p.room = budget->left / 8 / words;
    p.room = p.room < from->d->nnz ? p.room : from->d->nnz;
    p.room = p.room > 0 ? p.room : 1;
    len = p.room * words * 8;
    p.records = tly_tensor_take(budget, len, &status, error);
    if (p.records == NULL) {
        return status;
    }
    p.items = p.records + 2 * p.room * (out->rank + 1);
    p.scratch = p.items + 2 * p.room;
    for (uint64_t i = 0; i < 2 * p.room; i++) {
        p.items[i] = i;
    }
    do {
        p.num = 0;
        p.has_upper = 0;
        status = tly_tensor_view_each(from, pick_element, &p);
        keep_smallest(&p);
        put_picked(&p);
    } while (status == TLY_OK && p.has_upper);
    tly_tensor_give(budget, p.records, len);
    return status;
}

/* ---- rows from columns -------------------------------------------------------------------------
 */

static uint64_t pointer(const tly_sparse_out *out, uint64_t number) {
    return tly_base_load_u64((const uint8_t *)out->buffers[2] + number * 8);
}

static tly_status count_major(void *user, const uint64_t *index, int64_t bit) {
    const feed *f = user;
    uint64_t major = index[f->out->order[0]];
    (void)bit;
    put_word(f->out, 2, major + 1, pointer(f->out, major + 1) + 1);
    return TLY_OK;
}

/* The pointer of a row is where its next element goes. */
static tly_status put_scattered(void *user, const uint64_t *index, int64_t bit) {
    const feed *f = user;
    const tly_sparse_out *out = f->out;
    uint64_t major = index[out->order[0]], at = pointer(out, major);
    put_word(out, 2, major, at + 1);
    put_word(out, 1, at, index[out->order[1]]);
    tly_num_copy_element(out->buffers[0], (int64_t)(at * out->bits), f->from->bytes, bit,
                         out->bits);
    return TLY_OK;
}

/* Rows whose elements come column by column find their places by counting, without any memory. */
static tly_status fill_turned(tly_sparse_out *out, feed *f) {
    tly_status status;
    memset(out->buffers[2], 0, (out->num_major + 1) * 8);
    status = tly_tensor_view_each(f->from, count_major, f);
    for (uint64_t m = 0; m < out->num_major; m++) {
        put_word(out, 2, m + 1, pointer(out, m) + pointer(out, m + 1));
    }
    if (status == TLY_OK) {
        status = tly_tensor_view_each(f->from, put_scattered, f);
    }
    for (uint64_t m = out->num_major; m > 0; m--) { /* each is now the end of its row */
        put_word(out, 2, m, pointer(out, m - 1));
    }
    put_word(out, 2, 0, 0);
    out->nnz = f->from->d->nnz;
    out->next_major = out->num_major + 1;
    return status;
}

tly_status tly_sparse_out_fill(tly_sparse_out *out, const tly_view *from, tly_tensor_budget *budget,
                               tly_error *error) {
    feed f = {.out = out, .from = from, .rises = 1, .turned = 1};
    tly_status status;
    if (tly_tensor_view_is_full(from)) {
        status = tly_tensor_view_scan(from, out->order, put_nonzero, &f);
    } else if (out->buffers == NULL && out->layout != TLY_LAYOUT_CSF) {
        out->nnz = from->d->nnz; /* all of them */
        return TLY_OK;
    } else {
        status = tly_tensor_view_each(from, look_at_order, &f);
        if (status != TLY_OK) {
            return status;
        }
        if (f.rises) {
            status = tly_tensor_view_each(from, put_stored, &f);
        } else if (f.turned && out->layout != TLY_LAYOUT_CSF && out->layout != TLY_LAYOUT_COO) {
            status = fill_turned(out, &f);
        } else {
            status = fill_unordered(out, from, budget, error);
        }
    }
    tly_sparse_out_end(out);
    return status;
}
