/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/compose.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for an answer");
}

tly_status tly_answer_encode(const tly_context *context, const tly_descriptor *descriptor,
                             uint8_t **out_bytes, size_t *out_len, tly_error *error) {
    tly_status status = tly_descriptor_encode(descriptor, NULL, 0, out_len, error);
    if (status != TLY_OK) {
        return status;
    }
    *out_bytes = tly_base_alloc(context, *out_len, 1);
    if (*out_bytes == NULL) {
        return no_memory(error);
    }
    return tly_descriptor_encode(descriptor, *out_bytes, *out_len, out_len, error);
}

tly_status tly_answer_describe(const tly_catalogue_entry *entry, const int32_t *cancel, void *work,
                               size_t work_len, tly_descriptor *out, tly_error *error) {
    tly_blocks *blocks = entry->store != NULL ? tly_store_blocks(entry->store) : NULL;
    tly_block_hold hold = {0};
    tly_store_entry place;
    tly_status status = TLY_OK;
    if (blocks != NULL && tly_store_entry_at(entry->store, entry->index, &place) == TLY_OK) {
        status = tly_blocks_hold(blocks, place.descriptor_offset, place.descriptor_len, 0, cancel,
                                 &hold, error);
    }
    if (status == TLY_OK || status == TLY_LIMIT) { /* without room it is read past the cache */
        status = tly_catalogue_describe(entry, work, work_len, out, error);
    }
    tly_blocks_release(&hold);
    return status;
}

tly_status tly_answer_use_stored(const tly_context *context, const tly_catalogue_entry *entry,
                                 const tly_descriptor *stored, uint32_t min_alignment,
                                 tly_answer_member *out, tly_error *error) {
    tly_buffer_info buffers[TLY_MAX_BUFFERS];
    tly_descriptor d = *stored;
    tly_status status = TLY_OK;
    memset(out, 0, sizeof *out);
    if (stored->num_buffers != 0) {
        out->parts = tly_base_calloc(context, stored->num_buffers * sizeof *out->parts,
                                     _Alignof(tly_catalogue_bytes));
        if (out->parts == NULL) {
            return no_memory(error);
        }
    }
    out->num_parts = stored->num_buffers;
    for (uint32_t i = 0; i < out->num_parts && status == TLY_OK; i++) {
        buffers[i] = stored->buffers[i];
        if (buffers[i].byte_size != 0) {
            if (buffers[i].alignment < min_alignment) {
                buffers[i].alignment = min_alignment;
            }
            status = tly_catalogue_buffer(entry, stored, i, &out->parts[i], error);
            out->total += out->parts[i].len;
        }
    }
    d.buffers = buffers;
    if (status == TLY_OK && out->total != 0 && entry->store != NULL &&
        tly_store_blocks(entry->store) != NULL) {
        status = tly_maker_new_copy(context, tly_store_blocks(entry->store), out->parts,
                                    out->num_parts, &out->maker, error);
    }
    return status == TLY_OK
               ? tly_answer_encode(context, &d, &out->descriptor, &out->descriptor_len, error)
               : status;
}

static void drop_member(const tly_context *context, tly_answer_member *m) {
    tly_maker_free(m->maker);
    tly_base_free(context, m->descriptor, m->descriptor_len, 1);
    tly_base_free(context, m->parts, m->num_parts * sizeof *m->parts,
                  _Alignof(tly_catalogue_bytes));
}

void tly_answer_drop_members(tly_answer *answer) {
    for (uint32_t i = 0; i < answer->num_members; i++) {
        drop_member(answer->context, &answer->members[i]);
    }
    tly_base_free(answer->context, answer->members,
                  answer->members_capacity * sizeof *answer->members, _Alignof(tly_answer_member));
    answer->members = NULL;
    answer->num_members = answer->members_capacity = 0;
}

/* ---- members ---- */

/* A tensor of the file by the place of its descriptor: members follow their head there. */
typedef struct placed {
    uint64_t offset;
    uint64_t index;
} placed;

static int by_offset(const void *a, const void *b) {
    uint64_t x = ((const placed *)a)->offset, y = ((const placed *)b)->offset;
    return (x > y) - (x < y);
}

static tly_answer_member *new_member(tly_answer *a) {
    if (a->num_members == a->members_capacity) {
        uint32_t want = a->members_capacity != 0 ? 2 * a->members_capacity : 8;
        tly_answer_member *grown =
            tly_base_grow(a->context, a->members, a->members_capacity * sizeof *grown,
                          want * sizeof *grown, _Alignof(tly_answer_member));
        if (grown == NULL) {
            return NULL;
        }
        a->members = grown;
        a->members_capacity = want;
    }
    return &a->members[a->num_members];
}

/* What compose() works with. */
typedef struct composing {
    tly_answer *answer;
    tly_composite_check *check;
    placed *order;
    uint64_t num; /* in the file */
    uint32_t min_alignment;
    const int32_t *cancel;
    uint8_t work[TLY_CATALOGUE_WORK_LEN];
} composing;

static tly_status add_member(composing *c, uint64_t index, uint64_t *pending, tly_error *error) {
    const tly_catalogue_entry entry = {.store = c->answer->store, .index = index};
    tly_descriptor d;
    tly_answer_member *m = new_member(c->answer);
    tly_status status = tly_answer_describe(&entry, c->cancel, c->work, sizeof c->work, &d, error);
    if (m == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; status == TLY_OK && i < d.num_buffers; i++) {
        if (d.buffers[i].device != TLY_DEVICE_CPU) {
            status = tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "stored-device",
                                   "a member is stored for device %u", d.buffers[i].device);
        }
    }
    if (status == TLY_OK) {
        status = tly_composite_check_add(c->check, &d, error);
    }
    if (status == TLY_OK) {
        c->answer->num_members++;
        status = tly_answer_use_stored(c->answer->context, &entry, &d, c->min_alignment, m, error);
        *pending += d.layout == TLY_LAYOUT_COMPOSITE ? d.composite.member_count : 0;
    }
    return status;
}

static tly_status add_members(composing *c, uint64_t head, uint64_t pending, tly_error *error) {
    uint64_t at = 0;
    tly_status status = TLY_OK;
    while (c->order[at].index != head) {
        at++;
    }
    while (pending != 0 && status == TLY_OK) {
        if (++at == c->num) {
            return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "C-TORN",
                                 "the file ends before the members of the composite do");
        }
        if (c->answer->num_members == TLY_ANSWER_MAX_MEMBERS) {
            return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "max-members",
                                 "the composite has more than %d members", TLY_ANSWER_MAX_MEMBERS);
        }
        pending--;
        status = add_member(c, c->order[at].index, &pending, error);
    }
    return status;
}

tly_status tly_answer_compose(tly_answer *answer, const tly_catalogue_entry *entry,
                              const tly_descriptor *head, uint32_t min_alignment,
                              const int32_t *cancel, tly_error *error) {
    const tly_context *context = answer->context;
    composing *c;
    size_t order_len;
    tly_status status;
    if (entry->store == NULL) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "stored-composite",
                             "the head of a composite in memory has no members");
    }
    c = tly_base_calloc(context, sizeof *c, _Alignof(composing));
    if (c == NULL) {
        return no_memory(error);
    }
    c->answer = answer;
    c->min_alignment = min_alignment;
    c->cancel = cancel;
    c->num = tly_store_num_tensors(entry->store);
    order_len = (size_t)c->num * sizeof *c->order;
    c->order = tly_base_alloc(context, order_len, _Alignof(placed));
    status =
        c->order != NULL ? tly_composite_check_new(context, &c->check, error) : no_memory(error);
    if (status == TLY_OK) {
        for (uint64_t i = 0; i < c->num; i++) {
            tly_store_entry e;
            (void)tly_store_entry_at(entry->store, i, &e);
            c->order[i] = (placed){e.descriptor_offset, i};
        }
        qsort(c->order, (size_t)c->num, sizeof *c->order, by_offset);
        status =
            tly_answer_encode(context, head, &answer->descriptor, &answer->descriptor_len, error);
    }
    if (status == TLY_OK) {
        status = tly_composite_check_add(c->check, head, error);
    }
    if (status == TLY_OK) {
        status = add_members(c, entry->index, head->composite.member_count, error);
    }
    tly_composite_check_free(c->check);
    tly_base_free(context, c->order, order_len, _Alignof(placed));
    tly_base_free(context, c, sizeof *c, _Alignof(composing));
    return status;
}
