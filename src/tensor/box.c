/* SPDX-License-Identifier: Apache-2.0 */
/* Members of composites that are boxes of a tensor with even strides: such a box is a nest too. */
#include <tilery/pack.h>

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "tensor/compose.h"

static int leads(const tly_view *to, const tly_view *head, uint32_t number) {
    const tly_view *member = &head->members[number];
    uint64_t all = to->rank == 64 ? UINT64_MAX : (UINT64_C(1) << to->rank) - 1;
    return to->kind == TLY_VIEW_NEST && to->even == all && member->kind == TLY_VIEW_NEST &&
           member->quant.q == NULL && (number == 0 || head->d->composite.operation != 2) &&
           (to->bits < 8 || (to->bits & (to->bits - 1)) == 0);
}

tly_status tly_tensor_copy_box(const tly_view *to, uint8_t *bytes, const tly_view *head,
                               uint32_t number, int *out_done, tly_error *error) {
    const tly_view *member = &head->members[number];
    int64_t bit = to->base_bit;
    tly_pack_plan *plan;
    tly_nest *box;
    tly_status status;
    *out_done = 0;
    if (!leads(to, head, number)) {
        return TLY_OK;
    }
    for (uint32_t k = 0; k < to->rank; k++) {
        bit += (int64_t)member->d->shard->offset[k] * to->stride[k] * to->bits;
    }
    if (bit % 8 != 0) {
        return TLY_OK; /* begins inside a byte */
    }
    box = tly_base_alloc(to->context, sizeof *box, 64);
    if (box == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a nest");
    }
    status = tly_nest_strided(box, member->rank, member->d->shape, to->stride);
    if (status == TLY_OK) {
        status = tly_pack_plan_new(to->context, box, member->nest, to->bits, NULL, &plan, error);
    } else {
        (void)tly_base_fail(error, status, TLY_NO_OFFSET, "", "the member is too large");
    }
    if (status == TLY_OK) {
        if (tly_pack_dst_len(plan) > 0) {
            tly_pack_run(plan, bytes + bit / 8, member->bytes + member->d->byte_offset);
        }
        tly_pack_plan_free(plan);
        *out_done = 1;
    }
    tly_base_free(to->context, box, sizeof *box, 64);
    return status;
}
