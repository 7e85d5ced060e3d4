/* SPDX-License-Identifier: Apache-2.0 */
/* Views for callers: the place of an element, its bits, and whether a tensor's contents are right.
 */
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "tensor/compose.h"
#include "tensor/view.h"

static tly_status begin(const tly_context *context, const tly_tensor *tensor,
                        const tly_transcode_options *options, tly_tensor_budget *out,
                        tly_error *error) {
    if (context == NULL || tensor == NULL || tensor->descriptor == NULL ||
        (options != NULL && options->size != sizeof *options)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "null-argument",
                             "the context or the tensor is NULL, or the options have another size");
    }
    *out = (tly_tensor_budget){context, options != NULL && options->memory_limit != 0
                                            ? options->memory_limit
                                            : TLY_TENSOR_DEFAULT_LIMIT};
    return TLY_OK;
}

tly_status tly_view_new(const tly_context *context, const tly_tensor *tensor,
                        const tly_transcode_options *options, tly_view **out_view,
                        tly_error *error) {
    tly_tensor_budget budget;
    tly_view *view;
    tly_status status = begin(context, tensor, options, &budget, error);
    if (status != TLY_OK) {
        return status;
    }
    *out_view = NULL;
    status = tly_tensor_check_composite(context, tensor, error);
    if (status != TLY_OK) {
        return status;
    }
    view = tly_base_alloc(context, sizeof *view, 64);
    if (view == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a view");
    }
    status = tly_tensor_view_init(view, &budget, tensor, error);
    if (status != TLY_OK) {
        tly_base_free(context, view, sizeof *view, 64);
        return status;
    }
    *out_view = view;
    return TLY_OK;
}

void tly_view_free(tly_view *view) {
    if (view != NULL) {
        const tly_context *context = view->context;
        tly_tensor_budget budget = {context, 0};
        tly_tensor_view_cleanup(view, &budget);
        tly_base_free(context, view, sizeof *view, 64);
    }
}

static int inside(const tly_view *view, const uint64_t *index) {
    for (uint32_t k = 0; k < view->rank; k++) {
        if (index[k] >= view->d->shape[k]) {
            return 0;
        }
    }
    return 1;
}

tly_status tly_view_find(const tly_view *view, const uint64_t *index, uint64_t *out_bit,
                         int32_t *out_found) {
    int64_t bit;
    if (view->kind == TLY_VIEW_COMPOSITE || !inside(view, index) ||
        (view->kind == TLY_VIEW_PAGED && view->first_token == NULL)) {
        return TLY_INVALID_ARGUMENT;
    }
    bit = tly_tensor_view_bit(view, index);
    *out_found = bit >= 0;
    *out_bit = bit >= 0 ? (uint64_t)bit : 0;
    return TLY_OK;
}

tly_status tly_view_find_paged(const tly_view *view, uint64_t seq, uint64_t token, uint64_t head,
                               uint64_t dim, uint64_t *out_bit) {
    uint64_t slot, pages;
    if (view->kind != TLY_VIEW_PAGED || head >= view->d->shape[1] || dim >= view->d->shape[2] ||
        seq >= view->paged.num_seqs) {
        return TLY_INVALID_ARGUMENT;
    }
    pages = tly_layout_paged_pointer(&view->paged, seq + 1) -
            tly_layout_paged_pointer(&view->paged, seq);
    if (token / view->paged.page_size >= pages ||
        (view->first_token != NULL &&
         token >= view->first_token[seq + 1] - view->first_token[seq])) {
        return TLY_INVALID_ARGUMENT;
    }
    slot = tly_layout_paged_find(&view->paged, seq, token);
    *out_bit = ((slot * view->d->shape[1] + head) * view->d->shape[2] + dim) * view->bits;
    return TLY_OK;
}

tly_status tly_view_get(const tly_view *view, const uint64_t *index, tly_code *out_code) {
    if (!inside(view, index) || (view->kind == TLY_VIEW_PAGED && view->first_token == NULL)) {
        return TLY_INVALID_ARGUMENT;
    }
    *out_code = (tly_code){0, 0};
    if (view->kind == TLY_VIEW_COMPOSITE) {
        int found;
        return tly_tensor_compose_one(view, index, out_code, &found);
    }
    {
        int64_t bit = tly_tensor_view_bit(view, index);
        if (bit >= 0) {
            *out_code = tly_tensor_load(view->bytes, bit, view->bits);
        }
    }
    return TLY_OK;
}

tly_status tly_tensor_check_data(const tly_context *context, const tly_tensor *tensor,
                                 tly_error *error) {
    tly_tensor_budget budget;
    tly_view view;
    tly_status status = begin(context, tensor, NULL, &budget, error);
    if (status == TLY_OK) {
        status = tly_tensor_check_composite(context, tensor, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    status = tly_tensor_view_init(&view, &budget, tensor, error);
    if (status == TLY_OK) {
        status = tly_tensor_check_values(&view, error);
        tly_tensor_view_cleanup(&view, &budget);
    }
    return status;
}
