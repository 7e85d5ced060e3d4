/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions and overlays, element by element. A sparse member covers only what it stores
 * (DISP-17), so that the corrections of an overlay leave the base alone elsewhere. */
#include "tensor/compose.h"

#include <string.h>

#include "base/error.h"
#include "num/number.h"
#include "tensor/quant.h"

#define REPLACE 1

static tly_status feed(tly_composite_check *check, const tly_tensor *tensor, uint32_t depth,
                       tly_error *error) {
    const tly_descriptor *d = tensor->descriptor;
    tly_status status;
    if (d == NULL || depth > TLY_COMPOSITE_MAX_DEPTH) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "members",
                             "a member is missing, or they are nested too deeply");
    }
    status = tly_composite_check_add(check, d, error);
    if (status != TLY_OK || d->layout != TLY_LAYOUT_COMPOSITE) {
        return status;
    }
    if (tensor->num_members != d->composite.member_count ||
        (tensor->num_members != 0 && tensor->members == NULL)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "members",
                             "the composite has %u members, %u were given",
                             d->composite.member_count, tensor->num_members);
    }
    for (uint32_t i = 0; i < tensor->num_members && status == TLY_OK; i++) {
        status = feed(check, &tensor->members[i], depth + 1, error);
    }
    return status;
}

tly_status tly_tensor_check_composite(const tly_context *context, const tly_tensor *tensor,
                                      tly_error *error) {
    tly_composite_check *check;
    tly_status status;
    if (tensor->descriptor->layout != TLY_LAYOUT_COMPOSITE) {
        return TLY_OK;
    }
    status = tly_composite_check_new(context, &check, error);
    if (status != TLY_OK) {
        return status;
    }
    status = feed(check, tensor, 0, error);
    if (status == TLY_OK) {
        status = tly_composite_check_end(check, error);
    }
    tly_composite_check_free(check);
    return status;
}

tly_status tly_tensor_compose_check(const tly_view *head, tly_error *error) {
    tly_status status = TLY_OK;
    if (head->kind != TLY_VIEW_COMPOSITE) {
        return head->kind == TLY_VIEW_PAGED && head->first_token == NULL
                   ? tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "tokens",
                                   "say how many tokens each sequence has (tly_tensor.seq_tokens)")
                   : TLY_OK;
    }
    if (head->d->composite.rule == 3) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "group",
                             "a group has no elements of its own: take its members one by one");
    }
    for (uint32_t i = 0; i < head->num_members && status == TLY_OK; i++) {
        status = tly_tensor_compose_check(&head->members[i], error);
    }
    return status;
}

static tly_num_control nearest(void) {
    return (tly_num_control){TLY_ROUND_NEAREST_EVEN, 0, 0};
}

tly_code tly_tensor_member_code(const tly_view *member, const tly_descriptor *head,
                                const uint64_t *index, int64_t bit) {
    tly_code code = tly_tensor_load(member->bytes, bit, member->bits);
    uint32_t flags = 0, bits;
    float value;
    if (member->quant.q == NULL) {
        return code;
    }
    value =
        tly_tensor_quant_value(&member->quant, tly_tensor_quant_of(member, index, bit), code.low);
    memcpy(&bits, &value, sizeof bits);
    if (head->dtype == TLY_F32) {
        return (tly_code){bits, 0};
    }
    return tly_num_code_of(tly_num_round(tly_format_find(head->dtype),
                                         tly_num_unpack(tly_format_find(TLY_F32), bits), nearest(),
                                         &flags));
}

static tly_num_bits add_bits(const tly_format *f, tly_num_bits a, tly_num_bits b) {
    uint32_t flags = 0;
    if (f->klass == TLY_CLASS_FLOAT || f->klass == TLY_CLASS_TAPERED) {
        return tly_num_round(f, tly_num_add(tly_num_unpack(f, a), tly_num_unpack(f, b)), nearest(),
                             &flags);
    }
    return f->klass == TLY_CLASS_BOOL ? a | b : (a + b) & tly_num_mask(f->bits);
}

tly_code tly_tensor_add_codes(tly_dtype dtype, tly_code a, tly_code b) {
    const tly_format *f = tly_format_find(dtype);
    if (f != NULL && f->klass == TLY_CLASS_COMPLEX) {
        const tly_format *part = tly_format_find(f->bits == 64 ? TLY_F32 : TLY_F64);
        tly_num_bits x = tly_num_bits_of(a), y = tly_num_bits_of(b);
        tly_num_bits mask = tly_num_mask(part->bits);
        return tly_num_code_of(add_bits(part, x & mask, y & mask) |
                               add_bits(part, x >> part->bits, y >> part->bits) << part->bits);
    }
    return f != NULL ? tly_num_code_of(add_bits(f, tly_num_bits_of(a), tly_num_bits_of(b))) : b;
}

/* Index inside a member's box; 0 if the box does not have it. */
static int inside_box(const tly_view *member, const uint64_t *index, uint64_t *out_local) {
    for (uint32_t k = 0; k < member->rank; k++) {
        uint64_t offset = member->d->shard->offset[k];
        if (index[k] < offset || index[k] - offset >= member->d->shape[k]) {
            return 0;
        }
        out_local[k] = index[k] - offset;
    }
    return 1;
}

static tly_status member_one(const tly_view *head, const tly_view *member, const uint64_t *local,
                             tly_code *out_code, int *out_found) {
    int64_t bit;
    if (member->kind == TLY_VIEW_COMPOSITE) {
        return tly_tensor_compose_one(member, local, out_code, out_found);
    }
    if (member->kind == TLY_VIEW_PAGED && member->first_token == NULL) {
        return TLY_INVALID_ARGUMENT;
    }
    bit = tly_tensor_view_bit(member, local);
    *out_found = bit >= 0;
    if (bit >= 0) {
        *out_code = tly_tensor_member_code(member, head->d, local, bit);
    }
    return TLY_OK;
}

tly_status tly_tensor_compose_one(const tly_view *head, const uint64_t *index, tly_code *out_code,
                                  int *out_found) {
    int replaces = head->d->composite.operation != 2;
    uint64_t local[TLY_MAX_RANK];
    *out_code = (tly_code){0, 0};
    *out_found = 0;
    if (head->d->composite.rule == 3) {
        return TLY_INVALID_ARGUMENT;
    }
    for (uint32_t n = 0; n < head->num_members; n++) {
        /* The last one that has the element wins; sums go from the base upwards. */
        const tly_view *member = &head->members[replaces ? head->num_members - 1 - n : n];
        tly_code code = {0, 0};
        int found = 0;
        tly_status status;
        if (!inside_box(member, index, local)) {
            continue;
        }
        status = member_one(head, member, local, &code, &found);
        if (status != TLY_OK) {
            return status;
        }
        if (found) {
            *out_code = *out_found && !replaces
                            ? tly_tensor_add_codes(head->d->dtype, *out_code, code)
                            : code;
            *out_found = 1;
            if (replaces) {
                return TLY_OK;
            }
        }
    }
    return TLY_OK;
}

typedef struct box_visit {
    const tly_view *head;
    const tly_view *member;
    tly_tensor_compose_put *put;
    void *user;
    int replace;
} box_visit;

static void shift(const tly_view *member, const uint64_t *local, uint64_t *out) {
    for (uint32_t k = 0; k < member->rank; k++) {
        out[k] = member->d->shard->offset[k] + local[k];
    }
}

static tly_status visit_member(void *user, const uint64_t *index, int64_t bit) {
    const box_visit *b = user;
    uint64_t at[TLY_MAX_RANK];
    shift(b->member, index, at);
    return b->put(b->user, at, tly_tensor_member_code(b->member, b->head->d, index, bit),
                  b->replace);
}

static tly_status visit_nested(void *user, const uint64_t *index, tly_code code, int replace) {
    const box_visit *b = user;
    uint64_t at[TLY_MAX_RANK];
    shift(b->member, index, at);
    return b->put(b->user, at, code, replace);
}

/* A sum within a member that is added itself, or a replacement within one: the member's elements
 * have to be complete before they count. */
static tly_status visit_whole(const box_visit *b) {
    uint64_t local[TLY_MAX_RANK] = {0}, at[TLY_MAX_RANK];
    const tly_descriptor *d = b->member->d;
    for (uint32_t k = 0; k < d->rank; k++) {
        if (d->shape[k] == 0) {
            return TLY_OK;
        }
    }
    for (;;) {
        tly_code code;
        int found;
        uint32_t k = d->rank;
        tly_status status = tly_tensor_compose_one(b->member, local, &code, &found);
        if (status == TLY_OK && found) {
            shift(b->member, local, at);
            status = b->put(b->user, at, code, b->replace);
        }
        if (status != TLY_OK) {
            return status;
        }
        while (k > 0 && ++local[k - 1] == d->shape[k - 1]) {
            local[--k] = 0;
        }
        if (k == 0) {
            return TLY_OK;
        }
    }
}

tly_status tly_tensor_compose_member(const tly_view *head, uint32_t number,
                                     tly_tensor_compose_put *put, void *user) {
    const tly_view *member = &head->members[number];
    box_visit b = {head, member, put, user, REPLACE};
    b.replace = number == 0 || head->d->composite.operation != 2;
    if (member->kind != TLY_VIEW_COMPOSITE) {
        return tly_tensor_view_each(member, visit_member, &b);
    }
    if (member->d->composite.operation == 2 || !b.replace) {
        return visit_whole(&b);
    }
    return tly_tensor_compose_each(member, visit_nested, &b);
}

tly_status tly_tensor_compose_each(const tly_view *head, tly_tensor_compose_put *put, void *user) {
    tly_status status = TLY_OK;
    for (uint32_t i = 0; i < head->num_members && status == TLY_OK; i++) {
        status = tly_tensor_compose_member(head, i, put, user);
    }
    return status;
}
