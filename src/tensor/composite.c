/* SPDX-License-Identifier: Apache-2.0 */
/* Composites across descriptors (Hurray 1.0, layouts/composite, Validation). A head promises
 * members; they are counted off as they come, and only what has come is remembered. */
#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "tensor/composite.h"
#include "tensor/layouts.h"

/* A head whose members are still coming. */
typedef struct frame {
    uint8_t rule;
    tly_dtype dtype;
    uint32_t rank;
    uint32_t expected;
    uint32_t seen;
    uint64_t shape[TLY_MAX_RANK];
    uint64_t *boxes; /* partition: of each member, where its box begins and ends on every axis */
    uint64_t boxes_len;
} frame;

struct tly_composite_check {
    const tly_context *context;
    uint32_t depth;
    frame frames[TLY_COMPOSITE_MAX_DEPTH];
};

tly_status tly_composite_check_new(const tly_context *context, tly_composite_check **out_check,
                                   tly_error *error) {
    tly_composite_check *check =
        tly_base_calloc(context, sizeof *check, _Alignof(tly_composite_check));
    if (check == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory to check composites");
    }
    check->context = context;
    *out_check = check;
    return TLY_OK;
}

static void drop_boxes(const tly_composite_check *check, frame *f) {
    tly_base_free(check->context, f->boxes, (size_t)f->boxes_len, _Alignof(uint64_t));
    f->boxes = NULL;
    f->boxes_len = 0;
}

void tly_composite_check_free(tly_composite_check *check) {
    if (check != NULL) {
        for (uint32_t i = 0; i < TLY_COMPOSITE_MAX_DEPTH; i++) {
            drop_boxes(check, &check->frames[i]);
        }
        tly_base_free(check->context, check, sizeof *check, _Alignof(tly_composite_check));
    }
}

#define FAIL(error, rule, ...) tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, rule, __VA_ARGS__)

/* Dequantization yields a float32, which a head may show as any of the usual floating-point types.
 */
static int type_fits(tly_dtype head, const tly_descriptor *member) {
    if (member->quantization == NULL) {
        return head == member->dtype;
    }
    return head == TLY_F16 || head == TLY_BF16 || head == TLY_F32 || head == TLY_F64;
}

static tly_status check_role(const frame *f, const tly_descriptor *d, tly_error *error) {
    int has_role = (d->flags & TLY_FLAG_COMPOSITE_MEMBER) != 0;
    if (f->rule != TLY_RULE_OVERLAY) {
        return has_role
                   ? FAIL(error, "C-ROLE-FORBIDDEN",
                          "member %u has a role, which only members of an overlay have", f->seen)
                   : TLY_OK;
    }
    if (!has_role) {
        return FAIL(error, "C-NOROLE", "member %u of an overlay has no role", f->seen);
    }
    if ((d->member_role == 1) != (f->seen == 0)) {
        return FAIL(error, "C-BASE-FIRST",
                    "member %u: the first member of an overlay, and no other, is its base",
                    f->seen);
    }
    for (uint32_t k = 0; k < f->rank && f->seen == 0; k++) {
        if (d->shard->offset[k] != 0 || d->shape[k] != f->shape[k]) {
            return FAIL(error, "C-BASE-SPAN", "the base of an overlay does not span axis %u", k);
        }
    }
    return TLY_OK;
}

/* Check of one member, at once. Boxes lie inside their parent: decode saw to that. */
static tly_status check_member(const frame *f, const tly_descriptor *d, tly_error *error) {
    if (f->rule != TLY_RULE_GROUP) {
        if (d->shard == NULL) {
            return FAIL(error, "C-NOSHARD", "member %u does not say where it lies in the composite",
                        f->seen);
        }
        if (d->rank != f->rank || (f->rank != 0 && memcmp(d->shard->parent_shape, f->shape,
                                                          f->rank * sizeof f->shape[0]) != 0)) {
            return FAIL(error, "C-PARENT", "member %u belongs to a parent of another shape",
                        f->seen);
        }
        if (!type_fits(f->dtype, d)) {
            return FAIL(error, "C-TYPE", "member %u has type 0x%02X, the composite 0x%02X", f->seen,
                        d->dtype, f->dtype);
        }
    }
    return check_role(f, d, error);
}

static tly_status keep_box(const tly_composite_check *check, frame *f, const tly_descriptor *d,
                           tly_error *error) {
    uint64_t per_box = 2 * (uint64_t)f->rank * sizeof(uint64_t);
    uint64_t need = (f->seen + UINT64_C(1)) * per_box;
    uint64_t *box;
    if (f->seen == TLY_COMPOSITE_MAX_MEMBERS) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "C-MEMBERS",
                             "a partition of more than %d members", TLY_COMPOSITE_MAX_MEMBERS);
    }
    if (need > f->boxes_len) {
        uint64_t wanted = need * 2;
        uint64_t *grown = tly_base_grow(check->context, f->boxes, (size_t)f->boxes_len,
                                        (size_t)wanted, _Alignof(uint64_t));
        if (grown == NULL) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory for the members of a composite");
        }
        f->boxes = grown;
        f->boxes_len = wanted;
    }
    box = f->boxes + (size_t)f->seen * 2 * f->rank;
    for (uint32_t k = 0; k < f->rank; k++) {
        box[2 * k] = d->shard->offset[k];
        box[2 * k + 1] = d->shard->offset[k] + d->shape[k];
    }
    return TLY_OK;
}

/* The format's own formula, which also catches an empty box inside another. */
static int overlap(const uint64_t *a, const uint64_t *b, uint32_t rank) {
    for (uint32_t k = 0; k < rank; k++) {
        if (a[2 * k] >= b[2 * k + 1] || b[2 * k] >= a[2 * k + 1]) {
            return 0;
        }
    }
    return 1;
}

typedef unsigned __int128 volume;

static int add_volume(const uint64_t *begin, const uint64_t *end, uint32_t step, uint32_t rank,
                      volume *total) {
    volume v = 1;
    for (uint32_t k = 0; k < rank; k++) {
        uint64_t extent = end[k * step] - (begin != NULL ? begin[k * step] : 0);
        if (__builtin_mul_overflow(v, (volume)extent, &v)) {
            return 1;
        }
    }
    return __builtin_add_overflow(*total, v, total);
}

/* Without overlaps, boxes inside the shape cover it when their volumes add up to its own. */
static tly_status check_cover(const frame *f, tly_error *error) {
    volume whole = 0;
    volume parts = 0;
    int too_large = add_volume(NULL, f->shape, 1, f->rank, &whole);
    for (uint32_t i = 0; i < f->seen; i++) {
        const uint64_t *a = f->boxes + (size_t)i * 2 * f->rank;
        for (uint32_t j = i + 1; j < f->seen; j++) {
            if (overlap(a, f->boxes + (size_t)j * 2 * f->rank, f->rank)) {
                return FAIL(error, "C-OVERLAP", "members %u and %u of a partition overlap", i, j);
            }
        }
        too_large |= add_volume(a, a + 1, 2, f->rank, &parts);
    }
    if (too_large) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "C-GAP",
                             "the volume of a composite does not fit in 128 bits");
    }
    return parts == whole ? TLY_OK : FAIL(error, "C-GAP", "the members of a partition leave a gap");
}

/* Closes every composite whose last member has come. */
static tly_status close_full(tly_composite_check *check, tly_error *error) {
    while (check->depth > 0) {
        frame *f = &check->frames[check->depth - 1];
        tly_status status = TLY_OK;
        if (f->seen < f->expected) {
            return TLY_OK;
        }
        if (f->rule == TLY_RULE_PARTITION) {
            status = check_cover(f, error);
        }
        drop_boxes(check, f);
        check->depth--;
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static tly_status open_head(tly_composite_check *check, const tly_descriptor *d, tly_error *error) {
    frame *f;
    if (check->depth == TLY_COMPOSITE_MAX_DEPTH) {
        return FAIL(error, "C-DEPTH", "composites are nested more than %d deep",
                    TLY_COMPOSITE_MAX_DEPTH);
    }
    f = &check->frames[check->depth++];
    f->rule = d->composite.rule;
    f->dtype = d->dtype;
    f->rank = d->rank;
    f->expected = d->composite.member_count;
    f->seen = 0;
    memcpy(f->shape, d->shape, d->rank * sizeof d->shape[0]);
    return TLY_OK;
}

tly_status tly_composite_check_add(tly_composite_check *check, const tly_descriptor *descriptor,
                                   tly_error *error) {
    tly_status status = TLY_OK;
    if (check->depth > 0) {
        frame *f = &check->frames[check->depth - 1];
        status = check_member(f, descriptor, error);
        if (status == TLY_OK && f->rule == TLY_RULE_PARTITION) {
            status = keep_box(check, f, descriptor, error);
        }
        f->seen++;
    }
    if (status == TLY_OK && descriptor->layout == TLY_LAYOUT_COMPOSITE) {
        status = open_head(check, descriptor, error);
    }
    return status == TLY_OK ? close_full(check, error) : status;
}

tly_status tly_composite_check_end(const tly_composite_check *check, tly_error *error) {
    if (check->depth > 0) {
        const frame *f = &check->frames[check->depth - 1];
        return FAIL(error, "C-TORN", "a composite of %u members has only %u", f->expected, f->seen);
    }
    return TLY_OK;
}
