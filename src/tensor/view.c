/* SPDX-License-Identifier: Apache-2.0 */
/* Making a view of a tensor: maps over its index buffers, checked, and tables. */
#include "tensor/view.h"

#include <tilery/panel.h>

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/try.h"
#include "num/bits.h"
#include "tensor/layouts.h"
#include "tensor/quant.h"

void *tly_tensor_take(tly_tensor_budget *budget, uint64_t len, tly_status *out_status,
                      tly_error *error) {
    void *block;
    if (len > budget->left || len > SIZE_MAX) {
        *out_status = tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "memory-limit",
                                    "this needs %" PRIu64 " bytes of memory, %" PRIu64
                                    " are allowed: raise the memory limit",
                                    len, budget->left);
        return NULL;
    }
    block = tly_base_alloc(budget->context, (size_t)len, 64);
    if (block == NULL) {
        *out_status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                    "no memory for %" PRIu64 " bytes", len);
        return NULL;
    }
    budget->left -= len;
    return block;
}

void tly_tensor_give(tly_tensor_budget *budget, void *block, uint64_t len) {
    if (block != NULL) {
        tly_base_free(budget->context, block, (size_t)len, 64);
        budget->left += len;
    }
}

/* ---- sizes of index buffers -------------------------------------------------------------------
 */

static tly_status wrong_size(const tly_view *v, uint32_t number, const char *rule, const char *what,
                             tly_error *error) {
    return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, rule,
                         "buffer %u has %" PRIu64 " bytes, which is not %s", number,
                         v->d->buffers[number].byte_size, what);
}

/* Exactly `count` * `each` elements of `bits`. */
static tly_status need(const tly_view *v, uint32_t number, uint64_t count, uint64_t each,
                       uint32_t bits, const char *rule, const char *what, tly_error *error) {
    uint64_t len;
    if (tly_base_mul_u64(count, each, &count) || tly_num_storage_len(count, bits, &len) ||
        v->d->buffers[number].byte_size != len) {
        return wrong_size(v, number, rule, what, error);
    }
    return TLY_OK;
}

static const uint8_t *buffer(const tly_view *v, uint32_t number) {
    return v->tensor.buffers[number];
}

static tly_status init_coo(tly_view *v, tly_error *error) {
    const tly_descriptor *d = v->d;
    TRY(need(v, 0, d->nnz, 1, v->bits, "V-COO-SIZE", "the size of its elements", error));
    TRY(need(v, 1, d->nnz, d->rank, 64, "V-COO-SIZE", "the size of the coordinates", error));
    v->kind = TLY_VIEW_COO;
    v->coo = (tly_coo_map){d->shape, buffer(v, 1), d->nnz, d->rank, d->is_sorted};
    return tly_layout_coo_check(v->context, &v->coo, error);
}

static tly_status init_compressed(tly_view *v, tly_error *error) {
    const tly_descriptor *d = v->d;
    const char *rule = d->layout == TLY_LAYOUT_CSR ? "V-CSR-SIZE" : "V-CSC-SIZE";
    v->major = d->layout == TLY_LAYOUT_CSR ? 0 : 1;
    TRY(need(v, 0, d->nnz, 1, v->bits, rule, "the size of its elements", error));
    TRY(need(v, 1, d->nnz, 1, 64, rule, "the size of the indices", error));
    if (d->shape[v->major] == UINT64_MAX) {
        return wrong_size(v, 2, rule, "the size of the pointers", error);
    }
    TRY(need(v, 2, d->shape[v->major] + 1, 1, 64, rule, "the size of the pointers", error));
    v->kind = TLY_VIEW_COMPRESSED;
    v->compressed = (tly_compressed_map){
        buffer(v, 2),       buffer(v, 1),           d->nnz,
        d->shape[v->major], d->shape[1 - v->major], d->layout == TLY_LAYOUT_CSR ? "CSR" : "CSC"};
    return tly_layout_compressed_check(&v->compressed, error);
}

static tly_status init_csf(tly_view *v, tly_error *error) {
    const tly_descriptor *d = v->d;
    const uint8_t **pointers = (const uint8_t **)(void *)v->memory;
    const uint8_t **coordinates = pointers + d->rank;
    uint64_t *num_pointers = v->memory + 2 * d->rank, *num_nodes = num_pointers + d->rank;
    TRY(need(v, 0, d->nnz, 1, v->bits, "V-CSF-SIZE", "the size of its elements", error));
    for (uint32_t level = 0; level < d->rank; level++) {
        for (uint32_t n = 2 * level + 1; n <= 2 * level + 2; n++) {
            if (d->buffers[n].byte_size % 8 != 0) {
                return wrong_size(v, n, "V-CSF-SIZE", "a number of 64-bit entries", error);
            }
        }
        num_pointers[level] = d->buffers[2 * level + 1].byte_size / 8;
        num_nodes[level] = d->buffers[2 * level + 2].byte_size / 8;
        pointers[level] = buffer(v, 2 * level + 1);
        coordinates[level] = buffer(v, 2 * level + 2);
    }
    v->kind = TLY_VIEW_CSF;
    v->csf = (tly_csf_map){d->shape,     d->mode_order, pointers, coordinates,
                           num_pointers, num_nodes,     d->nnz,   d->rank};
    return tly_layout_csf_check(&v->csf, error);
}

/* First token of each sequence, if the caller says so or if there is only one possibility. */
static tly_status init_tokens(tly_view *v, uint64_t *first, tly_error *error) {
    const tly_paged_map *map = &v->paged;
    const uint64_t *given = v->tensor.seq_tokens;
    uint64_t total = 0, capacity, wanted = v->d->shape[0];
    if (tly_base_mul_u64(map->num_entries, map->page_size, &capacity)) {
        capacity = UINT64_MAX;
    }
    if (wanted > capacity) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "V-BP-TOKENS",
                             "%" PRIu64 " tokens do not fit in %" PRIu64 " pages of %u", wanted,
                             map->num_entries, map->page_size);
    }
    if (given == NULL && map->num_seqs > 1 && wanted != capacity) {
        return TLY_OK; /* not known */
    }
    for (uint64_t s = 0; s < map->num_seqs; s++) {
        uint64_t pages = tly_layout_paged_pointer(map, s + 1) - tly_layout_paged_pointer(map, s);
        uint64_t tokens = given != NULL        ? given[s]
                          : map->num_seqs == 1 ? wanted
                                               : pages * map->page_size;
        first[s] = total;
        if (tokens > pages * map->page_size || tly_base_add_u64(total, tokens, &total)) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "tokens",
                                 "sequence %" PRIu64 " has %" PRIu64
                                 " pages of %u, not room for %" PRIu64 " tokens",
                                 s, pages, map->page_size, tokens);
        }
    }
    first[map->num_seqs] = total;
    if (total != wanted) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "tokens",
                             "the sequences have %" PRIu64 " tokens, the tensor %" PRIu64, total,
                             wanted);
    }
    v->first_token = first;
    return TLY_OK;
}

static tly_status init_paged(tly_view *v, tly_error *error) {
    const tly_descriptor *d = v->d;
    const tly_block_paged *p = d->paged;
    uint32_t entry = p->index_type != 0 ? 64 : 32;
    uint64_t slots, rows;
    if (tly_base_mul_u64(p->num_pages, p->page_size, &slots) ||
        tly_base_mul_u64(slots, d->shape[1], &rows)) {
        return wrong_size(v, 0, "V-BP-SIZE", "the size of the pages", error);
    }
    TRY(need(v, 0, rows, d->shape[2], v->bits, "V-BP-SIZE", "the size of the pages", error));
    TRY(need(v, 2, (uint64_t)p->num_seqs + 1, 1, entry, "V-BP-SIZE", "one more than the sequences",
             error));
    if (d->buffers[1].byte_size % (entry / 8) != 0) {
        return wrong_size(v, 1, "V-BP-SIZE", "a number of page numbers", error);
    }
    v->kind = TLY_VIEW_PAGED;
    v->paged =
        (tly_paged_map){buffer(v, 1),      buffer(v, 2), d->buffers[1].byte_size / (entry / 8),
                        p->num_pages,      p->page_size, p->num_seqs,
                        p->index_type != 0};
    TRY(tly_layout_paged_check(&v->paged, error));
    return init_tokens(v, v->memory, error);
}

/* ---- dense ------------------------------------------------------------------------------------
 */

int tly_tensor_is_panel(const tly_descriptor *d) {
    return d->layout == TLY_PANEL_LAYOUT_TAG && d->private_id == TLY_PANEL_LAYOUT_ID;
}

tly_status tly_tensor_nest(const tly_descriptor *d, tly_nest *out_nest, uint64_t *out_len,
                           uint32_t *out_alignment, tly_error *error) {
    tly_panel_profile profile;
    *out_len = 0;
    *out_alignment = 64;
    if (!tly_tensor_is_panel(d)) {
        return tly_descriptor_nest(d, out_nest, error);
    }
    profile.size = sizeof profile;
    TRY(tly_panel_decode(d->private_data, d->private_len, &profile, error));
    if (profile.dtype != d->dtype) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "panel-dtype",
                             "the panel has elements of type 0x%02X, the tensor 0x%02X",
                             profile.dtype, d->dtype);
    }
    *out_alignment = profile.alignment > 64 ? profile.alignment : 64;
    return tly_panel_bind(&profile, d->rank, d->shape, out_nest, out_len, error);
}

/* What an index adds, by the loops of its axis. */
static int64_t axis_offset(const tly_nest *nest, uint32_t axis, uint64_t index) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        const tly_loop *loop = &nest->loops[i];
        if (loop->axis == axis) {
            offset += (int64_t)(index / loop->step % loop->count) * loop->stride;
        }
    }
    return offset;
}

static int64_t axis_at(const tly_view *v, uint32_t axis, uint64_t index) {
    if (v->even >> axis & 1) {
        return (int64_t)index * v->stride[axis];
    }
    return v->table[axis] != NULL ? v->table[axis][index] : axis_offset(v->nest, axis, index);
}

/* Is the axis walked in equal steps? */
static int is_even(const tly_nest *nest, uint32_t axis, int64_t *out_stride) {
    uint32_t loops = 0;
    *out_stride = 0;
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        if (nest->loops[i].axis == axis && nest->loops[i].count > 1) {
            loops++;
            *out_stride = nest->loops[i].stride;
        }
    }
    return loops <= 1;
}

/* `words` of memory are left for tables. */
static void fill_tables(tly_view *v, uint64_t *memory, uint64_t words) {
    v->stride = (int64_t *)(void *)memory;
    v->table = (int64_t **)(void *)(memory + v->rank);
    memory += 2 * (uint64_t)v->rank;
    for (uint32_t k = 0; k < v->rank; k++) {
        uint64_t extent = v->d->shape[k];
        v->table[k] = NULL;
        if (is_even(v->nest, k, &v->stride[k])) {
            v->even |= UINT64_C(1) << k;
        } else if (extent <= words) {
            v->table[k] = (int64_t *)(void *)memory;
            for (uint64_t i = 0; i < extent; i++) {
                v->table[k][i] = axis_offset(v->nest, k, i);
            }
            memory += extent;
            words -= extent;
        }
    }
}

static int is_empty(const tly_descriptor *d) {
    for (uint32_t k = 0; k < d->rank; k++) {
        if (d->shape[k] == 0) {
            return 1;
        }
    }
    return 0;
}

static tly_status init_nest(tly_view *v, tly_error *error) {
    uint64_t before = (sizeof(tly_nest) + 7) / 8, len;
    uint32_t alignment;
    v->kind = TLY_VIEW_NEST;
    v->nest = (tly_nest *)(void *)v->memory;
    TRY(tly_tensor_nest(v->d, v->nest, &len, &alignment, error));
    if (v->d->byte_offset > v->d->buffers[0].byte_size ||
        len > v->d->buffers[0].byte_size - v->d->byte_offset) {
        return wrong_size(v, 0, "B-SIZE", "enough for the panel", error);
    }
    fill_tables(v, v->memory + before, v->memory_len / 8 - before - 2 * (uint64_t)v->rank);
    return TLY_OK;
}

/* ---- all --------------------------------------------------------------------------------------
 */

/* Bytes of the block of a view. Tables of a nest take a quarter of the memory at most, and not more
 * than the tensor itself: a short buffer may claim to have many elements. */
static uint64_t block_len(const tly_view *v, const tly_tensor_budget *budget) {
    const tly_descriptor *d = v->d;
    uint64_t len, words = 0, room;
    switch (d->layout) {
    case TLY_LAYOUT_CSF:
        return (uint64_t)d->rank * 4 * 8;
    case TLY_LAYOUT_BLOCK_PAGED:
        return ((uint64_t)d->paged->num_seqs + 1) * 8;
    case TLY_LAYOUT_COO:
    case TLY_LAYOUT_CSR:
    case TLY_LAYOUT_CSC:
    case TLY_LAYOUT_HILBERT:
    case TLY_LAYOUT_COMPOSITE:
        return 8;
    default:
        len = (sizeof(tly_nest) + 7) / 8 * 8 + 16 * (uint64_t)d->rank;
        room = (d->buffers[0].byte_size + 16384) / 8;
        room = room < budget->left / 32 ? room : budget->left / 32;
        if (d->layout == TLY_LAYOUT_TILED || d->layout == TLY_LAYOUT_MORTON ||
            tly_tensor_is_panel(d)) {
            for (uint32_t k = 0; k < d->rank && !is_empty(d); k++) {
                words += d->shape[k] < room ? d->shape[k] : room;
            }
        }
        return len + (words < room ? words : room) * 8;
    }
}

static tly_status init_members(tly_view *v, tly_tensor_budget *budget, tly_error *error) {
    const tly_tensor *t = &v->tensor;
    tly_status status = TLY_OK;
    v->kind = TLY_VIEW_COMPOSITE;
    if (t->num_members != v->d->composite.member_count) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "members",
                             "the composite has %u members, %u were given",
                             v->d->composite.member_count, t->num_members);
    }
    if (t->num_members == 0) {
        return TLY_OK;
    }
    v->members = tly_tensor_take(budget, t->num_members * sizeof *v->members, &status, error);
    if (v->members == NULL) {
        return status;
    }
    for (uint32_t i = 0; i < t->num_members && status == TLY_OK; i++) {
        status = tly_tensor_view_init(&v->members[i], budget, &t->members[i], error);
        v->num_members += status == TLY_OK;
    }
    return status;
}

static tly_status init_parts(tly_view *v, tly_tensor_budget *budget, tly_error *error) {
    switch (v->d->layout) {
    case TLY_LAYOUT_COO:
        return init_coo(v, error);
    case TLY_LAYOUT_CSR:
    case TLY_LAYOUT_CSC:
        return init_compressed(v, error);
    case TLY_LAYOUT_CSF:
        return init_csf(v, error);
    case TLY_LAYOUT_BLOCK_PAGED:
        return init_paged(v, error);
    case TLY_LAYOUT_COMPOSITE:
        return init_members(v, budget, error);
    case TLY_LAYOUT_HILBERT:
        v->kind = TLY_VIEW_HILBERT;
        return TLY_OK;
    default:
        return init_nest(v, error);
    }
}

tly_status tly_tensor_view_init(tly_view *view, tly_tensor_budget *budget, const tly_tensor *tensor,
                                tly_error *error) {
    const tly_descriptor *d = tensor->descriptor;
    const tly_tensor_layout *layout = tly_tensor_layout_find(d->layout);
    tly_status status = TLY_OK;
    memset(view, 0, sizeof *view);
    view->context = budget->context;
    view->tensor = *tensor;
    view->d = d;
    view->rank = d->rank;
    view->bits = tly_descriptor_element_bits(d);
    view->base_bit = (int64_t)(d->byte_offset * 8);
    if (layout == NULL || (layout->kind == TLY_KIND_PRIVATE && !tly_tensor_is_panel(d))) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "private-layout",
                             "layout 0x%02X is private: its elements cannot be found", d->layout);
    }
    for (uint32_t k = 0; k < d->rank; k++) {
        if (d->shape[k] == TLY_DYNAMIC) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "dynamic",
                                 "axis %u has no extent yet", k);
        }
    }
    if (view->bits == 0 || view->bits > 128 || (view->bits > 8 && view->bits % 8 != 0) ||
        view->bits == 3 || view->bits == 5 || view->bits == 7) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "element-width",
                             "elements of %u bits cannot be handled", view->bits);
    }
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        if (d->buffers[i].byte_size != 0 &&
            (tensor->buffers == NULL || tensor->buffers[i] == NULL)) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "null-argument",
                                 "buffer %u is NULL", i);
        }
    }
    status = tly_descriptor_check_buffers(d, error);
    if (status != TLY_OK) {
        return status;
    }
    view->bytes = d->num_buffers > 0 ? tensor->buffers[0] : NULL;
    view->memory_len = block_len(view, budget);
    view->memory = tly_tensor_take(budget, view->memory_len, &status, error);
    if (view->memory == NULL) {
        return status;
    }
    status = init_parts(view, budget, error);
    if (status == TLY_OK) {
        tly_tensor_quant_init(&view->quant, d, tensor->buffers);
    } else {
        tly_tensor_view_cleanup(view, budget);
    }
    return status;
}

void tly_tensor_view_cleanup(tly_view *view, tly_tensor_budget *budget) {
    for (uint32_t i = 0; i < view->num_members; i++) {
        tly_tensor_view_cleanup(&view->members[i], budget);
    }
    tly_tensor_give(budget, view->members, view->tensor.num_members * sizeof *view->members);
    tly_tensor_give(budget, view->memory, view->memory_len);
    view->members = NULL;
    view->memory = NULL;
}

/* ---- look-up ----------------------------------------------------------------------------------
 */

int tly_tensor_view_is_full(const tly_view *view) {
    return view->kind == TLY_VIEW_NEST || view->kind == TLY_VIEW_HILBERT ||
           (view->kind == TLY_VIEW_PAGED && view->first_token != NULL);
}

static int64_t paged_bit(const tly_view *v, const uint64_t *index) {
    uint64_t low = 0, high = v->paged.num_seqs, slot;
    while (high - low > 1) { /* the sequence that has this token */
        uint64_t middle = low + (high - low) / 2;
        if (v->first_token[middle] <= index[0]) {
            low = middle;
        } else {
            high = middle;
        }
    }
    slot = tly_layout_paged_find(&v->paged, low, index[0] - v->first_token[low]);
    return (int64_t)(((slot * v->d->shape[1] + index[1]) * v->d->shape[2] + index[2]) * v->bits);
}

static int64_t stored_bit(const tly_view *v, uint64_t position) {
    return position == TLY_LAYOUT_NOT_STORED ? -1 : (int64_t)(position * v->bits);
}

int64_t tly_tensor_view_bit(const tly_view *view, const uint64_t *index) {
    int64_t offset = 0;
    switch (view->kind) {
    case TLY_VIEW_NEST:
        for (uint32_t k = 0; k < view->rank; k++) {
            offset += axis_at(view, k, index[k]);
        }
        return view->base_bit + offset * view->bits;
    case TLY_VIEW_HILBERT:
        offset = (int64_t)tly_layout_hilbert_offset(view->rank, view->d->hilbert_order, index);
        return view->base_bit + offset * view->bits;
    case TLY_VIEW_COO:
        return stored_bit(view, tly_layout_coo_find(&view->coo, index));
    case TLY_VIEW_COMPRESSED:
        return stored_bit(view, tly_layout_compressed_find(&view->compressed, index[view->major],
                                                           index[1 - view->major]));
    case TLY_VIEW_CSF:
        return stored_bit(view, tly_layout_csf_find(&view->csf, index));
    case TLY_VIEW_PAGED:
        return paged_bit(view, index);
    default:
        return -1;
    }
}

/* Elements of whole bytes that no type has, only extensions: 24 bits, 80 bits. */
static int is_odd(uint32_t bits) {
    return bits > 8 && (bits & (bits - 1)) != 0;
}

tly_code tly_tensor_load(const uint8_t *bytes, int64_t bit, uint32_t bits) {
    tly_code code = {0, 0};
    const uint8_t *p = bytes + (bit >> 3);
    if (bits < 8) {
        code.low = tly_num_get_bits(bytes, bit, bits);
    } else if (is_odd(bits)) {
        for (uint32_t i = 0; i < bits / 8; i++) {
            *(i < 8 ? &code.low : &code.high) |= (uint64_t)p[i] << (i % 8 * 8);
        }
    } else {
        tly_num_load_codes(p, 0, 1, bits, &code.low, &code.high);
    }
    return code;
}

void tly_tensor_store(uint8_t *bytes, int64_t bit, uint32_t bits, tly_code code) {
    uint8_t *p = bytes + (bit >> 3);
    if (bits < 8) {
        tly_num_put_bits(bytes, bit, bits, (uint32_t)code.low);
    } else if (is_odd(bits)) {
        for (uint32_t i = 0; i < bits / 8; i++) {
            p[i] = (uint8_t)((i < 8 ? code.low : code.high) >> (i % 8 * 8));
        }
    } else {
        tly_num_store_codes(p, 0, 1, bits, &code.low, &code.high);
    }
}

/* ---- walks ------------------------------------------------------------------------------------
 */

typedef struct scan {
    const tly_view *view;
    const uint32_t *order;
    tly_tensor_visit *visit;
    void *user;
    uint64_t index[TLY_MAX_RANK];
} scan;

static tly_status scan_axis(scan *s, uint32_t depth, int64_t offset) {
    const tly_view *v = s->view;
    uint32_t k;
    uint64_t count;
    if (depth == v->rank) {
        int64_t bit = v->kind == TLY_VIEW_NEST ? v->base_bit + offset * v->bits
                                               : tly_tensor_view_bit(v, s->index);
        return s->visit(s->user, s->index, bit);
    }
    k = s->order != NULL ? s->order[depth] : depth;
    count = v->d->shape[k];
    for (uint64_t i = 0; i < count; i++) {
        s->index[k] = i;
        TRY(scan_axis(s, depth + 1, v->kind == TLY_VIEW_NEST ? offset + axis_at(v, k, i) : 0));
    }
    return TLY_OK;
}

tly_status tly_tensor_view_scan(const tly_view *view, const uint32_t *order,
                                tly_tensor_visit *visit, void *user) {
    scan s = {.view = view, .order = order, .visit = visit, .user = user};
    return is_empty(view->d) ? TLY_OK : scan_axis(&s, 0, 0);
}

static tly_status each_csf(const tly_view *v, uint32_t level, uint64_t parent, uint64_t *index,
                           tly_tensor_visit *visit, void *user) {
    const tly_csf_map *map = &v->csf;
    uint64_t from = tly_base_load_u64(map->pointers[level] + parent * 8);
    uint64_t to = tly_base_load_u64(map->pointers[level] + parent * 8 + 8);
    for (uint64_t i = from; i < to; i++) {
        index[map->mode_order[level]] = tly_base_load_u64(map->coordinates[level] + i * 8);
        TRY(level + 1 == map->rank ? visit(user, index, (int64_t)(i * v->bits))
                                   : each_csf(v, level + 1, i, index, visit, user));
    }
    return TLY_OK;
}

tly_status tly_tensor_view_each(const tly_view *view, tly_tensor_visit *visit, void *user) {
    uint64_t index[TLY_MAX_RANK];
    switch (view->kind) {
    case TLY_VIEW_COO:
        for (uint64_t i = 0; i < view->coo.nnz; i++) {
            for (uint32_t k = 0; k < view->rank; k++) {
                index[k] = tly_base_load_u64(view->coo.indices + (i * view->rank + k) * 8);
            }
            TRY(visit(user, index, (int64_t)(i * view->bits)));
        }
        return TLY_OK;
    case TLY_VIEW_COMPRESSED:
        for (uint64_t m = 0; m < view->compressed.num_major; m++) {
            uint64_t from = tly_base_load_u64(view->compressed.pointers + m * 8);
            uint64_t to = tly_base_load_u64(view->compressed.pointers + m * 8 + 8);
            index[view->major] = m;
            for (uint64_t i = from; i < to; i++) {
                index[1 - view->major] = tly_base_load_u64(view->compressed.indices + i * 8);
                TRY(visit(user, index, (int64_t)(i * view->bits)));
            }
        }
        return TLY_OK;
    case TLY_VIEW_CSF:
        return each_csf(view, 0, 0, index, visit, user);
    default:
        return tly_tensor_view_scan(view, NULL, visit, user);
    }
}
