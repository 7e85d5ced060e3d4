/* SPDX-License-Identifier: Apache-2.0 */
/* From values to codes: one pass for the range of each scale, one for the codes. */
#include <tilery/quantize.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/try.h"
#include "num/bits.h"
#include "num/number.h"
#include "tensor/compose.h"
#include "tensor/own.h"
#include "tensor/quant_walk.h"

struct tly_quantize {
    const tly_context *context;
    const quant_kernels *kernels;
    tly_tensor_budget budget;
    tly_view from;
    const uint8_t *values; /* row-major, of the source's type */
    uint8_t *copy;         /* where they had to be brought into that order */
    uint64_t copy_len;
    const tly_format *src_format;
    const tly_format *storage;
    tly_own_descriptor own; /* what comes out */
    tly_quant_view quant;   /* of which only the fields count */
    int symmetric;
    uint64_t num_groups;
    float *scales; /* of each group; the smallest value first */
    float *highs;  /* of each group: the largest value */
    int32_t *zeros;
    uint64_t groups_len; /* bytes of the three together */
    int64_t low, high;   /* of the codes */
};

/* ---- the source --------------------------------------------------------------------------------
 */

static tly_status bring_into_rows(tly_quantize *z, tly_error *error) {
    tly_descriptor rows = {.layout = TLY_LAYOUT_ROW_MAJOR};
    tly_transcode_options options = {sizeof options, z->budget.left, NULL};
    tly_transcode *plan;
    tly_status status = TLY_OK;
    if (z->from.d->layout == TLY_LAYOUT_ROW_MAJOR) {
        z->values = z->from.bytes + z->from.d->byte_offset;
        return TLY_OK;
    }
    TRY(tly_transcode_new(z->context, &z->from.tensor, &rows, &options, &plan, error));
    z->copy_len = tly_transcode_descriptor(plan)->buffers[0].byte_size;
    if (z->copy_len > 0) {
        z->copy = tly_tensor_take(&z->budget, z->copy_len, &status, error);
    }
    if (status == TLY_OK) {
        void *buffers[1] = {z->copy};
        status = tly_transcode_run(plan, buffers, error);
    }
    z->values = z->copy;
    tly_transcode_free(plan);
    return status;
}

static void load_values(const tly_quantize *z, uint64_t first, size_t n, float *out) {
    uint32_t bits[QUANT_CHUNK];
    /* Both formats are good and the sizes were checked: it cannot fail. */
    (void)tly_convert(z->context, tly_format_find(TLY_F32), bits, 0, z->src_format, z->values,
                      first, n, NULL, NULL);
    for (size_t i = 0; i < n; i++) {
        bits[i] = TLY_BASE_LE32(bits[i]);
    }
    memcpy(out, bits, n * sizeof *out);
}

/* ---- parameters --------------------------------------------------------------------------------
 */

static tly_status find_range(void *user, const tly_quant_run *run) {
    tly_quantize *z = user;
    float values[QUANT_CHUNK];
    tly_quant_part part;
    for (uint64_t done = 0; done < run->count; done += part.count) {
        uint64_t block;
        uint32_t bad = 0;
        size_t at = 0;
        tly_quant_cut(run, done, &part, &block);
        load_values(z, part.first, part.count, values);
        for (size_t i = 0; i < part.num; i++, block += run->step) {
            size_t from = at;
            if (part.hold > 1) {
                size_t n = tly_quant_segment(&part, i, &at);
                z->kernels->range(values + from, n, &z->scales[block], &z->highs[block], &bad);
            } else {
                bad |= !isfinite(values[i]);
                z->scales[block] = values[i] < z->scales[block] ? values[i] : z->scales[block];
                z->highs[block] = values[i] > z->highs[block] ? values[i] : z->highs[block];
            }
        }
        if (bad) {
            return TLY_INVALID_ARGUMENT;
        }
    }
    return TLY_OK;
}

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* The nearest scale that the type of the scales has; neither 0 nor infinite. */
static float fit_scale(const tly_quantize *z, double wanted) {
    const tly_format *f32 = tly_format_find(TLY_F32), *f = z->quant.scale_format;
    tly_num_control control = {TLY_ROUND_NEAREST_EVEN, 1, 0};
    uint32_t flags = 0;
    uint64_t wide, code;
    f = f != NULL ? f : f32; /* per tensor */
    memcpy(&wide, &wanted, sizeof wide);
    code =
        (uint64_t)tly_num_round(f, tly_num_unpack(tly_format_find(TLY_F64), wide), control, &flags);
    code = code != 0 ? code : 1;
    return float_of((uint32_t)tly_num_round(f32, tly_num_unpack(f, code), control, &flags));
}

/* Exponent of the largest power of two in the storage type, as OCP MX counts. */
static int largest_exponent(const tly_format *storage) {
    return tly_num_unpack(storage, tly_num_largest(storage)).exponent;
}

static void choose_affine(tly_quantize *z, uint64_t g, double low, double high) {
    double largest = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
    z->zeros[g] = 0;
    z->scales[g] = 1;
    low = low < 0 ? low : 0;
    high = high > 0 ? high : 0;
    if (largest == 0) {
        return;
    }
    if (z->symmetric) {
        z->scales[g] = fit_scale(z, largest / (double)z->high);
        return;
    }
    z->scales[g] = fit_scale(z, (high - low) / (double)(z->high - z->low));
    {
        double zero = nearbyint((double)z->low - low / (double)z->scales[g]);
        zero = zero < (double)z->low ? (double)z->low : zero;
        zero = zero > (double)z->high ? (double)z->high : zero;
        zero = zero > INT32_MAX ? INT32_MAX : zero; /* of uint32 codes the format reaches half */
        z->zeros[g] = (int32_t)zero;
    }
}

static void choose_parameters(tly_quantize *z) {
    for (uint64_t g = 0; g < z->num_groups; g++) {
        float low = z->scales[g], high = z->highs[g];
        float largest = fabsf(low) > fabsf(high) ? fabsf(low) : fabsf(high);
        if (z->quant.q->scheme == TLY_QUANT_NF4) {
            z->scales[g] = largest;
        } else if (z->quant.q->scheme == TLY_QUANT_MXFP) {
            int e = largest > 0 ? ilogbf(largest) - largest_exponent(z->storage) : 0;
            e = e < -126 ? -126 : e > 127 ? 127 : e;
            z->scales[g] = ldexpf(1, e);
        } else {
            choose_affine(z, g, low, high);
        }
    }
}

/* ---- codes -------------------------------------------------------------------------------------
 */

typedef struct job {
    const tly_quantize *z;
    uint8_t *out;
} job;

/* One scale for each element, for the loops that are not worth segments. */
static void spread(const tly_quant_part *part, float *out_scales, int32_t *out_zeros) {
    size_t at = 0;
    for (size_t i = 0; i < part->num; i++) {
        size_t from = at;
        (void)tly_quant_segment(part, i, &at);
        for (size_t k = from; k < at; k++) {
            out_scales[k] = part->scales[i];
            out_zeros[k] = part->zeros[i];
        }
    }
}

static void find_wide(const tly_quantize *z, uint64_t *codes, const float *values,
                      const float *scales, const int32_t *zeros, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double v = nearbyint((double)values[i] / (double)scales[i]);
        double low = (double)(z->low - zeros[i]), high = (double)(z->high - zeros[i]);
        v = v < low ? low : v;
        v = v > high ? high : v;
        codes[i] = (uint64_t)((int64_t)v + zeros[i]);
    }
}

static void find_affine(const tly_quantize *z, const tly_quant_part *part, const float *values,
                        int32_t *codes) {
    size_t at = 0;
    if (part->hold == 1) {
        z->kernels->quantize_each(codes, values, part->count, part->scales, part->zeros,
                                  (int32_t)z->low, (int32_t)z->high);
        return;
    }
    for (size_t i = 0; i < part->num; i++) {
        size_t from = at, n = tly_quant_segment(part, i, &at);
        z->kernels->quantize(codes + from, values + from, n, part->scales[i], part->zeros[i],
                             (int32_t)z->low, (int32_t)z->high);
    }
}

static tly_status write_codes(void *user, const tly_quant_run *run) {
    const job *j = user;
    const tly_quantize *z = j->z;
    const tly_format *f = z->storage;
    tly_quant_part part;
    float values[QUANT_CHUNK], scales[QUANT_CHUNK];
    int32_t zeros[QUANT_CHUNK], small[QUANT_CHUNK];
    uint64_t codes[QUANT_CHUNK];
    for (uint64_t done = 0; done < run->count; done += part.count) {
        uint64_t block;
        size_t n;
        tly_quant_cut(run, done, &part, &block);
        n = part.count;
        load_values(z, part.first, n, values);
        for (size_t i = 0; i < part.num; i++, block += run->step) {
            part.scales[i] = z->scales[block];
            part.zeros[i] = z->zeros[block];
        }
        if (z->quant.q->scheme == TLY_QUANT_NF4) {
            spread(&part, scales, zeros);
            z->kernels->levels(small, values, n, scales, tly_tensor_nf4);
        } else if (z->quant.q->scheme == TLY_QUANT_MXFP && f->klass == TLY_CLASS_FLOAT) {
            spread(&part, scales, zeros);
            z->kernels->divide(values, n, scales);
            z->kernels->minifloat(small, values, n, f->exponent_bits, f->mantissa_bits);
        } else if (f->bits == 32) {
            spread(&part, scales, zeros);
            find_wide(z, codes, values, scales, zeros, n);
        } else {
            find_affine(z, &part, values, small);
        }
        for (size_t i = 0; i < n && f->bits < 32; i++) {
            codes[i] = (uint32_t)small[i] & (uint32_t)tly_num_mask(f->bits);
        }
        tly_num_store_codes(j->out, part.first, (uint32_t)n, f->bits, codes, codes);
    }
    return TLY_OK;
}

void tly_quantize_run(const tly_quantize *quantize, void *const *buffers) {
    const tly_quantize *z = quantize;
    const tly_descriptor *d = &z->own.d;
    const tly_quantization *q = d->quantization;
    tly_num_control control = {TLY_ROUND_NEAREST_EVEN, 1, 0};
    job j = {z, buffers[0]};
    if (d->buffers[0].byte_size > 0) {
        memset(buffers[0], 0, d->buffers[0].byte_size);
        (void)tly_quant_walk(&z->quant, d->rank, d->shape, write_codes, &j); /* never fails */
    }
    for (uint64_t g = 0; g < z->num_groups && q->scheme != TLY_QUANT_PER_TENSOR; g++) {
        uint32_t flags = 0;
        uint64_t code = (uint64_t)tly_num_round(
            z->quant.scale_format, tly_num_unpack(tly_format_find(TLY_F32), bits_of(z->scales[g])),
            control, &flags);
        tly_num_store_codes(buffers[1], g, 1, z->quant.scale_format->bits, &code, &code);
        if (q->zero_point_buffer != UINT32_MAX) {
            tly_base_store_u32((uint8_t *)buffers[2] + g * 4, (uint32_t)z->zeros[g]);
        }
    }
}

/* ---- the plan ----------------------------------------------------------------------------------
 */

static tly_status count_groups(const tly_descriptor *d, const tly_quantization *q, uint64_t *out) {
    uint64_t extent, groups;
    *out = 1;
    if (q->scheme == TLY_QUANT_PER_TENSOR) {
        return TLY_OK;
    }
    if (q->axis >= d->rank) {
        return TLY_OK; /* decode refuses it by its rule */
    }
    extent = d->shape[q->axis];
    if (q->scheme == TLY_QUANT_PER_CHANNEL) {
        *out = extent;
        return TLY_OK;
    }
    groups = q->block_size != 0 ? extent / q->block_size + (extent % q->block_size != 0) : 0;
    for (uint32_t k = 0; k < d->rank; k++) {
        if (k != q->axis && tly_base_mul_u64(groups, d->shape[k], &groups)) {
            return TLY_OVERFLOW;
        }
    }
    *out = groups;
    return TLY_OK;
}

static void fill_quantization(const tly_quantize_options *o, tly_quantization *q) {
    *q = (tly_quantization){.scheme = o->scheme,
                            .version = 1,
                            .axis = o->axis,
                            .block_size = o->block_size,
                            .scale_buffer = 1,
                            .zero_point_buffer = UINT32_MAX,
                            .scale = 1};
    switch (o->scheme) {
    case TLY_QUANT_PER_TENSOR:
        q->axis = q->block_size = 0;
        q->scale_buffer = UINT32_MAX;
        break;
    case TLY_QUANT_PER_CHANNEL:
    case TLY_QUANT_PER_BLOCK:
        q->scale_type =
            o->scheme == TLY_QUANT_PER_BLOCK && o->scale_type != 0 ? o->scale_type : TLY_F32;
        q->flags = o->symmetric ? 1 : 0;
        q->zero_point_buffer = o->symmetric ? UINT32_MAX : 2;
        break;
    case TLY_QUANT_NF4:
        q->scale_type = TLY_F32;
        break;
    default:
        q->scale_type = TLY_F8E8M0;
        break;
    }
}

/* Describes the result. Per tensor the parameters stand in the descriptor and come later. */
static tly_status describe(tly_quantize *z, const tly_quantize_options *o,
                           const tly_quantization *q, tly_error *error) {
    tly_descriptor d;
    tly_buffer_info info[3];
    tly_status status;
    memset(info, 0, sizeof info);
    status =
        tly_descriptor_init_row_major(&d, &info[0], o->storage, z->from.rank, z->from.d->shape);
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TLY_NO_OFFSET, "", "codes of type 0x%02X: %s",
                             o->storage, tly_status_text(status));
    }
    info[1].alignment = info[2].alignment = 64;
    d.shard = z->from.d->shard;
    d.quantization = q;
    d.num_buffers = q->scheme == TLY_QUANT_PER_TENSOR    ? 1
                    : q->zero_point_buffer != UINT32_MAX ? 3
                                                         : 2;
    if (count_groups(&d, q, &z->num_groups) != TLY_OK ||
        tly_num_storage_len(z->num_groups, q->scale_type != 0 ? tly_dtype_bits(q->scale_type) : 8,
                            &info[1].byte_size) ||
        tly_base_mul_u64(z->num_groups, 4, &info[2].byte_size)) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "", "there are too many scales");
    }
    return tly_own_descriptor_init(&z->own, z->context, &d, error);
}

static tly_status find_parameters(tly_quantize *z, tly_error *error) {
    tly_status status = TLY_OK;
    if (tly_base_mul_u64(z->num_groups, 12, &z->groups_len)) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "", "there are too many scales");
    }
    if (z->groups_len == 0) {
        return TLY_OK;
    }
    z->scales = tly_tensor_take(&z->budget, z->groups_len, &status, error);
    if (z->scales == NULL) {
        return status;
    }
    z->highs = z->scales + z->num_groups;
    z->zeros = (int32_t *)(void *)(z->highs + z->num_groups);
    for (uint64_t g = 0; g < z->num_groups; g++) {
        z->scales[g] = FLT_MAX;
        z->highs[g] = -FLT_MAX;
        z->zeros[g] = 0;
    }
    status = tly_quant_walk(&z->quant, z->own.d.rank, z->own.d.shape, find_range, z);
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TLY_NO_OFFSET, "not-finite",
                             "a value is infinite or NaN: it has no code");
    }
    for (uint64_t g = 0; g < z->num_groups; g++) { /* of no values, or only of padding */
        if (z->scales[g] > z->highs[g]) {
            z->scales[g] = z->highs[g] = 0;
        }
    }
    choose_parameters(z);
    return TLY_OK;
}

static tly_status plan(tly_quantize *z, const tly_quantize_options *o, tly_error *error) {
    tly_quantization q;
    fill_quantization(o, &q);
    TRY(describe(z, o, &q, error));
    z->storage = tly_format_find(o->storage);
    z->low = z->storage->klass == TLY_CLASS_INT ? -(INT64_C(1) << (z->storage->bits - 1)) : 0;
    z->high = (INT64_C(1) << (z->storage->bits - (z->storage->klass == TLY_CLASS_INT))) - 1;
    z->symmetric = o->symmetric;
    z->quant = (tly_quant_view){
        .q = &q, .scale_format = q.scale_type != 0 ? tly_format_find(q.scale_type) : NULL};
    if (q.block_size != 0 && q.axis < z->from.rank) {
        uint64_t extent = z->from.d->shape[q.axis];
        z->quant.blocks = extent / q.block_size + (extent % q.block_size != 0);
    }
    TRY(bring_into_rows(z, error));
    TRY(find_parameters(z, error));
    if (q.scheme == TLY_QUANT_PER_TENSOR) {
        q.scale = z->scales[0];
        q.zero_point = z->zeros[0];
        tly_own_descriptor_cleanup(&z->own, z->context);
        TRY(describe(z, o, &q, error));
    }
    z->quant.q = z->own.d.quantization;
    return TLY_OK;
}

static int known_options(const tly_quantize_options *o) {
    return o != NULL && o->size == sizeof *o && o->scheme >= TLY_QUANT_PER_TENSOR &&
           o->scheme <= TLY_QUANT_MXFP && tly_dtype_find(o->storage) != NULL && o->symmetric <= 1;
}

tly_status tly_quantize_new(const tly_context *context, const tly_tensor *src,
                            const tly_quantize_options *options, tly_quantize **out_quantize,
                            tly_error *error) {
    const tly_format *format;
    tly_quantize *z;
    tly_status status;
    if (context == NULL || src == NULL || src->descriptor == NULL || out_quantize == NULL ||
        !known_options(options)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "quantize-options",
                             "an argument is NULL, or the options name a scheme or a type that "
                             "does not exist");
    }
    *out_quantize = NULL;
    format = tly_format_find(src->descriptor->dtype);
    if (format == NULL || format->klass != TLY_CLASS_FLOAT || format->bits > 64 ||
        src->descriptor->quantization != NULL) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "element-type",
                             "only floats of at most 64 bits can be quantized, not type 0x%02X",
                             src->descriptor->dtype);
    }
    TRY(tly_tensor_check_composite(context, src, error));
    z = tly_base_calloc(context, sizeof *z, 64);
    if (z == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a plan");
    }
    z->context = context;
    z->kernels = quant_kernels_for(tly_context_simd(context));
    z->src_format = format;
    z->budget = (tly_tensor_budget){context, options->memory_limit != 0 ? options->memory_limit
                                                                        : TLY_TENSOR_DEFAULT_LIMIT};
    status = tly_tensor_view_init(&z->from, &z->budget, src, error);
    if (status != TLY_OK) {
        tly_base_free(context, z, sizeof *z, 64);
        return status;
    }
    status = tly_tensor_compose_check(&z->from, error);
    if (status == TLY_OK) {
        status = plan(z, options, error);
    }
    if (status != TLY_OK) {
        tly_quantize_free(z);
        return status;
    }
    *out_quantize = z;
    return TLY_OK;
}

void tly_quantize_free(tly_quantize *quantize) {
    if (quantize != NULL) {
        tly_quantize *z = quantize;
        const tly_context *context = z->context;
        tly_tensor_give(&z->budget, z->scales, z->groups_len);
        tly_tensor_give(&z->budget, z->copy, z->copy_len);
        tly_own_descriptor_cleanup(&z->own, context);
        tly_tensor_view_cleanup(&z->from, &z->budget);
        tly_base_free(context, z, sizeof *z, 64);
    }
}

const tly_descriptor *tly_quantize_descriptor(const tly_quantize *quantize) {
    return &quantize->own.d;
}
