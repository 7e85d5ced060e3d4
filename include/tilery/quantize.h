/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_QUANTIZE_H
#define TILERY_QUANTIZE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/status.h>
#include <tilery/tensor.h>
#include <tilery/transcode.h>

TLY_BEGIN_DECLS

/* Quantized tensors from and to floating-point ones, all five schemes of the format (Hurray 1.0,
 * quantization). */

/* Values of a quantized tensor in any layout, as row-major elements of `dtype` without gaps: in f32
 * by the formulas of the format, then converted to nearest even if `dtype` is another
 * floating-point type. `out` has room for all elements, any alignment. Layouts other than row-major
 * are brought into that order first; dense and paged ones go element by element where
 * `options->memory_limit` does not allow that, sparse ones give LIMIT. Errors: INVALID_ARGUMENT
 * (not quantized), MALFORMED (contents), UNSUPPORTED (a type that is no float), LIMIT,
 * OUT_OF_MEMORY. Thread-safe. */
TLY_API tly_status tly_dequantize(const tly_context *context, const tly_tensor *src,
                                  tly_dtype dtype, void *out, const tly_transcode_options *options,
                                  tly_error *error);

/* How to quantize. What a scheme does not need is 0. */
typedef struct tly_quantize_options {
    size_t size;           /* sizeof(tly_quantize_options) */
    uint8_t scheme;        /* tly_quant_scheme */
    tly_dtype storage;     /* type of the codes; NF4: u4 */
    tly_dtype scale_type;  /* per block: f32 (also 0), f16 or bf16 */
    uint8_t symmetric;     /* 1: no zero points; affine schemes */
    uint32_t axis;         /* all but per tensor */
    uint32_t block_size;   /* per block, NF4, MXFP: elements, a power of two */
    uint32_t reserved;     /* 0 */
    uint64_t memory_limit; /* as in tly_transcode_options */
} tly_quantize_options;

/* A tensor being quantized: row-major codes, then scales, then zero points. Single-owner. */
typedef struct tly_quantize tly_quantize;

/* Plans and chooses the parameters. `src` is a tensor of floats of at most 64 bits in any layout,
 * not quantized itself; it is taken in f32, and must stay unchanged.
 *
 *   affine, symmetric   scale = largest magnitude / largest code, zero point 0
 *   affine              the range from the smallest to the largest value, 0 included, becomes that
 * of the codes; the zero point is the nearest code to where 0 lies NF4                 scale =
 * largest magnitude; the nearest level MXFP                scale = 2^(floor(log2(largest
 * magnitude)) - largest exponent of the type), as OCP MX has it; elements to nearest even, beyond
 * the range the largest
 *
 * Codes are nearest, ties to even, and stay inside their range. Where all values are 0 the scale is
 * 1 (NF4: 0). Errors: INVALID_ARGUMENT (options; an infinity or NaN among the values, rule
 * "not-finite"), the rules of tly_descriptor_decode for what the format does not allow,
 * UNSUPPORTED, LIMIT, OVERFLOW, OUT_OF_MEMORY. */
TLY_API tly_status tly_quantize_new(const tly_context *context, const tly_tensor *src,
                                    const tly_quantize_options *options,
                                    tly_quantize **out_quantize, tly_error *error);
TLY_API void tly_quantize_free(tly_quantize *quantize);

/* The tensor that comes out, with the sizes of its buffers. Lives as long as the plan. */
TLY_API const tly_descriptor *tly_quantize_descriptor(const tly_quantize *quantize);

/* Fills the buffers: one pointer for each, of byte_size bytes, any alignment. Cannot fail. */
TLY_API void tly_quantize_run(const tly_quantize *quantize, void *const *buffers);

TLY_END_DECLS

#endif
