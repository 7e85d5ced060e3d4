/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the contents of buffers. What addresses depend on is checked when a view is made;
 * here are the values. */
#include <inttypes.h>

#include "base/bytes.h"
#include "base/error.h"
#include "tensor/quant.h"

static tly_status bad_parameter(uint64_t number, uint32_t len, const char *rule, const char *what,
                                tly_error *error) {
    return tly_base_fail(error, TLY_MALFORMED, number * len, rule,
                         "quantization, entry %" PRIu64 ": %s", number, what);
}

static tly_status check_scales(const tly_view *v, uint64_t count, tly_error *error) {
    const tly_quant_view *quant = &v->quant;
    uint32_t len = quant->scale_format->bits / 8u;
    for (uint64_t i = 0; i < count; i++) {
        tly_code code = tly_tensor_load(quant->scales, (int64_t)(i * len * 8), len * 8);
        int32_t negative, klass = tly_format_classify(quant->scale_format, code, &negative);
        int finite = klass == TLY_NUMBER_NORMAL || klass == TLY_NUMBER_SUBNORMAL;
        switch (quant->q->scheme) {
        case TLY_QUANT_MXFP:
            if (code.low == 0x00 || code.low == 0xFF) {
                return bad_parameter(i, len, "V-MX-SCALE", "the scales 0x00 and 0xFF are reserved",
                                     error);
            }
            break;
        case TLY_QUANT_NF4:
            if ((!finite && klass != TLY_NUMBER_ZERO) || (negative && klass != TLY_NUMBER_ZERO)) {
                return bad_parameter(i, len, "V-NF4-SCALE", "the scale is negative or not finite",
                                     error);
            }
            break;
        default:
            if (!finite) {
                int channel = quant->q->scheme == TLY_QUANT_PER_CHANNEL;
                return bad_parameter(i, len, channel ? "V-PC-SCALE" : "V-PB-SCALE",
                                     "the scale is zero or not finite", error);
            }
            break;
        }
    }
    return TLY_OK;
}

static tly_status check_zero_points(const tly_view *v, uint64_t count, tly_error *error) {
    const tly_format *f = v->quant.storage;
    int is_signed = f->klass == TLY_CLASS_INT;
    int64_t low = is_signed ? -(INT64_C(1) << (f->bits - 1)) : 0;
    int64_t high = (INT64_C(1) << (f->bits - is_signed)) - 1;
    for (uint64_t i = 0; i < count; i++) {
        int32_t zero = tly_tensor_quant_zero(&v->quant, i);
        if (zero < low || zero > high) {
            int channel = v->quant.q->scheme == TLY_QUANT_PER_CHANNEL;
            return bad_parameter(i, 4, channel ? "V-PC-ZP" : "V-PB-ZP",
                                 "the zero point lies outside the storage type", error);
        }
    }
    return TLY_OK;
}

static tly_status check_parameters(const tly_view *v, tly_error *error) {
    const tly_quantization *q = v->quant.q;
    uint64_t len, each, count;
    tly_status status;
    if (q == NULL || q->scheme == TLY_QUANT_PER_TENSOR) {
        return TLY_OK;
    }
    len = v->d->buffers[q->scale_buffer].byte_size;
    each = v->quant.scale_format->bits / 8u;
    count = q->zero_point_buffer == q->scale_buffer ? len / (each + 4) : len / each;
    status = check_scales(v, count, error);
    return status == TLY_OK && v->quant.zero_points != NULL ? check_zero_points(v, count, error)
                                                            : status;
}

/* Bits behind the last element, in the byte or the three bytes that it shares with nobody. */
static tly_status check_padding(const tly_view *v, tly_error *error) {
    const tly_descriptor *d = v->d;
    uint64_t count = d->nnz, unit = v->bits == 6 ? 24 : 8, rest;
    if (v->bits >= 8) {
        return TLY_OK;
    }
    switch (d->layout) {
    case TLY_LAYOUT_ROW_MAJOR:
    case TLY_LAYOUT_COL_MAJOR:
        if (tly_descriptor_num_elements(d, &count) != TLY_OK) {
            return TLY_OK;
        }
        break;
    case TLY_LAYOUT_COO:
    case TLY_LAYOUT_CSR:
    case TLY_LAYOUT_CSC:
    case TLY_LAYOUT_CSF:
        break;
    default:
        return TLY_OK;
    }
    rest = count % (unit / v->bits) * v->bits;
    if (rest != 0) {
        const uint8_t *last = v->bytes + d->byte_offset + count / (unit / v->bits) * (unit / 8);
        uint32_t value = 0;
        for (uint64_t i = 0; i < unit / 8; i++) {
            value |= (uint32_t)last[i] << (8 * i);
        }
        if (value >> rest != 0) {
            return tly_base_fail(error, TLY_MALFORMED, (uint64_t)(last - v->bytes), "V-PADBITS",
                                 "buffer 0: bits behind the last element are not 0");
        }
    }
    return TLY_OK;
}

/* Strides may name few places as many elements. Then every byte that they reach is looked at. */
static int has_more_elements_than_places(const tly_view *v, uint64_t *out_first,
                                         uint64_t *out_end) {
    uint64_t count, before, after;
    if (v->d->layout != TLY_LAYOUT_STRIDED ||
        tly_descriptor_span(v->d, &before, &after) != TLY_OK) {
        return 0;
    }
    *out_first = v->d->byte_offset - before;
    *out_end = v->d->byte_offset + after;
    return tly_descriptor_num_elements(v->d, &count) != TLY_OK || count > before + after;
}

typedef struct scale_check {
    const tly_view *view;
    tly_error *error;
} scale_check;

static tly_status check_e8m0(void *user, const uint64_t *index, int64_t bit) {
    const scale_check *c = user;
    uint8_t code = c->view->bytes[bit >> 3];
    (void)index;
    if (code == 0x00 || code == 0xFF) {
        return tly_base_fail(c->error, TLY_MALFORMED, (uint64_t)bit >> 3, "V-E8M0",
                             "buffer 0: the code 0x%02X of float8_e8m0 is reserved", code);
    }
    return TLY_OK;
}

static tly_status check_exponents(const tly_view *v, tly_error *error) {
    scale_check c = {v, error};
    uint64_t first, end;
    if (has_more_elements_than_places(v, &first, &end)) {
        tly_status status = TLY_OK;
        for (uint64_t at = first; at < end && status == TLY_OK; at++) {
            status = check_e8m0(&c, NULL, (int64_t)(at * 8));
        }
        return status;
    }
    return tly_tensor_view_each(v, check_e8m0, &c);
}

tly_status tly_tensor_check_values(const tly_view *view, tly_error *error) {
    tly_status status = check_parameters(view, error);
    if (status == TLY_OK) {
        status = check_padding(view, error);
    }
    if (status == TLY_OK && view->d->dtype == TLY_F8E8M0 && view->kind != TLY_VIEW_COMPOSITE &&
        (view->kind != TLY_VIEW_PAGED || view->first_token != NULL)) {
        status = check_exponents(view, error);
    }
    for (uint32_t i = 0; i < view->num_members && status == TLY_OK; i++) {
        status = tly_tensor_check_values(&view->members[i], error);
    }
    return status;
}
