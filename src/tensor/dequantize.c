/* SPDX-License-Identifier: Apache-2.0 */
/* Values of whole quantized tensors: runs of elements with one scale, or with scales at even steps.
 */
#include <tilery/quantize.h>

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/try.h"
#include "num/number.h"
#include "tensor/compose.h"
#include "tensor/quant_walk.h"

typedef struct job {
    const tly_context *context;
    const quant_kernels *kernels;
    const num_fast_table *fast;
    tly_quant_view quant;
    const uint8_t *codes; /* row-major */
    const tly_format *to;
    uint8_t *out;
    uint32_t bits;
    int is_signed;
    float values[256]; /* of the codes, where a code is no integer */
} job;

/* Integers of `n` codes from number `first` on. */
static void expand(const job *j, uint64_t first, size_t n, int32_t *out) {
    uint64_t codes[QUANT_CHUNK], bit = first % 8 * j->bits;
    const uint8_t *from = j->codes + first / 8 * j->bits + bit / 8;
    if (bit % 8 == 0 && j->bits == 8) {
        j->kernels->expand8(out, from, n, j->is_signed);
    } else if (bit % 8 == 0 && j->bits == 4) {
        j->kernels->expand4(out, from, n, j->is_signed);
    } else if (bit % 8 == 0 && j->bits == 2) {
        j->kernels->expand2(out, from, n, j->is_signed);
    } else {
        tly_num_load_codes(j->codes, first, (uint32_t)n, j->bits, codes, codes);
        for (size_t i = 0; i < n; i++) {
            out[i] = (int32_t)(j->is_signed ? tly_tensor_code_integer(j->quant.storage, codes[i])
                                            : (int64_t)codes[i]);
        }
    }
}

static void finish(const job *j, uint64_t first, size_t n, const float *values) {
    uint32_t bits[QUANT_CHUNK];
    memcpy(bits, values, n * sizeof *bits);
    for (size_t i = 0; i < n; i++) {
        bits[i] = TLY_BASE_LE32(bits[i]);
    }
    /* Both formats are good and the sizes were checked: it cannot fail. */
    (void)tly_convert(j->context, j->to, j->out, first, tly_format_find(TLY_F32), bits, 0, n, NULL,
                      NULL);
}

/* 32-bit codes: the difference needs more than 32 bits. */
static void run_wide(const job *j, const tly_quant_run *run, uint64_t done, size_t n, float *out) {
    for (size_t i = 0; i < n; i++) {
        uint64_t code = 0;
        tly_num_load_codes(j->codes, run->first + done + i, 1, j->bits, &code, &code);
        out[i] = tly_tensor_quant_value(&j->quant, run->block + (done + i) / run->hold * run->step,
                                        code);
    }
}

static void run_affine(const job *j, const tly_quant_part *part, const int32_t *codes, float *out) {
    size_t at = 0;
    if (part->hold == 1) {
        j->kernels->affine_each(out, codes, part->count, part->scales, part->zeros);
        return;
    }
    for (size_t i = 0; i < part->num; i++) {
        size_t from = at, n = tly_quant_segment(part, i, &at);
        j->kernels->affine(out + from, codes + from, n, part->scales[i], part->zeros[i]);
    }
}

static void run_scaled(const job *j, const tly_quant_part *part, const int32_t *codes, float *out) {
    float values[QUANT_CHUNK];
    size_t at = 0;
    for (size_t i = 0; i < part->count; i++) {
        values[i] = j->values[(uint32_t)codes[i] & 255];
    }
    if (part->hold == 1) {
        j->kernels->scale_each(out, values, part->count, part->scales);
        return;
    }
    for (size_t i = 0; i < part->num; i++) {
        size_t from = at, n = tly_quant_segment(part, i, &at);
        j->kernels->scale(out + from, values + from, n, part->scales[i]);
    }
}

static tly_status run_values(void *user, const tly_quant_run *run) {
    const job *j = user;
    tly_quant_part part;
    float out[QUANT_CHUNK];
    int32_t codes[QUANT_CHUNK];
    for (uint64_t done = 0; done < run->count; done += part.count) {
        uint64_t block;
        tly_quant_cut(run, done, &part, &block);
        if (j->bits == 32) {
            run_wide(j, run, done, part.count, out);
        } else {
            expand(j, part.first, part.count, codes);
            tly_quant_load(&j->quant, j->fast, block, run->step, part.num, part.scales, part.zeros);
            if (j->quant.q->scheme <= TLY_QUANT_PER_BLOCK) {
                run_affine(j, &part, codes, out);
            } else {
                run_scaled(j, &part, codes, out);
            }
        }
        finish(j, part.first, part.count, out);
    }
    return TLY_OK;
}

static void fill_values(job *j) {
    tly_num_control control = {TLY_ROUND_NEAREST_EVEN, 0, 0};
    for (uint32_t code = 0; code < 1u << j->bits && j->bits <= 8; code++) {
        uint32_t flags = 0, bits;
        if (j->quant.q->scheme == TLY_QUANT_NF4) {
            j->values[code] = tly_tensor_nf4[code & 15];
        } else {
            bits = (uint32_t)tly_num_round(tly_format_find(TLY_F32),
                                           tly_num_unpack(j->quant.storage, code), control, &flags);
            memcpy(&j->values[code], &bits, sizeof bits);
        }
    }
}

/* One element after the other: paged tensors with a scale for each slot, and dense ones where there
 * is no memory to bring them into rows. */
typedef struct slots {
    const job *j;
    const tly_view *view;
    uint64_t at;
} slots;

static tly_status put_slot(void *user, const uint64_t *index, int64_t bit) {
    slots *s = user;
    tly_code code = tly_tensor_load(s->view->bytes, bit, s->view->bits);
    float value =
        tly_tensor_quant_value(&s->view->quant, tly_tensor_quant_of(s->view, index, bit), code.low);
    finish(s->j, s->at++, 1, &value);
    return TLY_OK;
}

static tly_status run_rows(job *j, const tly_view *view, const uint64_t *shape) {
    j->is_signed = j->quant.storage->klass == TLY_CLASS_INT;
    if (j->quant.q->scheme >= TLY_QUANT_NF4) {
        j->is_signed = 0; /* codes into the table */
        fill_values(j);
    }
    return tly_quant_walk(&j->quant, view->rank, shape, run_values, j);
}

/* Brings the codes into rows, in memory of the budget. */
static tly_status run_copied(job *j, tly_view *view, tly_tensor_budget *budget, tly_error *error) {
    tly_descriptor rows = {.layout = TLY_LAYOUT_ROW_MAJOR};
    tly_transcode_options options = {sizeof options, budget->left, NULL};
    tly_transcode *plan;
    void *buffers[TLY_MAX_BUFFERS] = {NULL};
    const tly_descriptor *d;
    uint8_t *block, *at;
    uint64_t len = 0;
    tly_status status = tly_transcode_new(j->context, &view->tensor, &rows, &options, &plan, error);
    if (status != TLY_OK) {
        return status;
    }
    d = tly_transcode_descriptor(plan);
    (void)tly_descriptor_data_len(d, &len); /* it was encoded, so it has one */
    at = block = len > 0 ? tly_tensor_take(budget, len, &status, error) : NULL;
    for (uint32_t i = 0; i < d->num_buffers && at != NULL; i++) {
        buffers[i] = at;
        at += d->buffers[i].byte_size;
    }
    if (block != NULL) {
        status = tly_transcode_run(plan, buffers, error);
        if (status == TLY_OK) {
            j->codes = block;
            status = run_rows(j, view, view->d->shape);
        }
    }
    tly_tensor_give(budget, block, len);
    tly_transcode_free(plan);
    return status;
}

static tly_status run(job *j, tly_view *view, tly_tensor_budget *budget, tly_error *error) {
    tly_error attempt;
    slots s = {j, view, 0};
    tly_status status;
    if (view->d->layout == TLY_LAYOUT_ROW_MAJOR) {
        j->codes = view->bytes + view->d->byte_offset;
        return run_rows(j, view, view->d->shape);
    }
    if (view->kind == TLY_VIEW_PAGED && view->quant.q->scheme == TLY_QUANT_PER_BLOCK) {
        return tly_tensor_view_each(view, put_slot, &s);
    }
    status = run_copied(j, view, budget, &attempt);
    if (status == TLY_LIMIT && tly_tensor_view_is_full(view)) {
        return tly_tensor_view_each(view, put_slot, &s);
    }
    if (status != TLY_OK && error != NULL) {
        *error = attempt;
    }
    return status;
}

tly_status tly_dequantize(const tly_context *context, const tly_tensor *src, tly_dtype dtype,
                          void *out, const tly_transcode_options *options, tly_error *error) {
    const tly_format *to = tly_format_find(dtype);
    tly_tensor_budget budget;
    tly_view view;
    uint64_t count;
    job j;
    tly_status status;
    if (context == NULL || src == NULL || src->descriptor == NULL ||
        src->descriptor->quantization == NULL ||
        (options != NULL && options->size != sizeof *options)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "not-quantized",
                             "the tensor is not quantized, or an argument is missing");
    }
    if (to == NULL || (to->klass != TLY_CLASS_FLOAT && to->klass != TLY_CLASS_TAPERED)) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "element-type",
                             "values can only be made of a floating-point type, not of 0x%02X",
                             dtype);
    }
    if (tly_descriptor_num_elements(src->descriptor, &count) != TLY_OK ||
        (count > 0 && out == NULL)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "null-argument",
                             "there is no place for the values, or an extent is not known");
    }
    budget = (tly_tensor_budget){context, options != NULL && options->memory_limit != 0
                                              ? options->memory_limit
                                              : TLY_TENSOR_DEFAULT_LIMIT};
    TRY(tly_tensor_view_init(&view, &budget, src, error));
    status = tly_tensor_compose_check(&view, error);
    if (status == TLY_OK) {
        status = tly_tensor_check_values(&view, error); /* scales and zero points in range */
    }
    if (status == TLY_OK && count > 0) {
        j = (job){.context = context,
                  .kernels = quant_kernels_for(tly_context_simd(context)),
                  .fast = num_fast_level(tly_context_simd(context)),
                  .quant = view.quant,
                  .to = to,
                  .out = out,
                  .bits = view.bits};
        status = run(&j, &view, &budget, error);
    }
    tly_tensor_view_cleanup(&view, &budget);
    return status;
}
