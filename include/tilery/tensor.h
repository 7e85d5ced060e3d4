/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_TENSOR_H
#define TILERY_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/dtype.h>
#include <tilery/export.h>
#include <tilery/nest.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* Tensor descriptors of the Hurray format 1.0 (metadata, memory-layout, buffer-protocol): what a
 * tensor is and how its buffers hold it, in one self-delimiting block of bytes.
 *
 * Every refusal names a rule of docs/internals/tensor.md and the byte at fault. Legal descriptors
 * that this build does not handle give UNSUPPORTED, with the tag and its name in the message. */

#define TLY_MAX_RANK 64
#define TLY_DYNAMIC  UINT64_MAX /* a dimension that is not known yet */

#define TLY_MAX_BUFFERS 255

/* The shortest prefix that tells how long a descriptor is (tly_descriptor_len). */
#define TLY_DESCRIPTOR_PREFIX_LEN 10

/* Work memory that is enough for every descriptor, however long. `len` + 32 bytes are enough for a
 * descriptor of `len` bytes. */
#define TLY_DESCRIPTOR_WORK_LEN 18432

/* Layouts that this build handles. */
typedef enum tly_layout_tag {
    TLY_LAYOUT_ROW_MAJOR = 0x01,
    TLY_LAYOUT_COL_MAJOR = 0x02,
    TLY_LAYOUT_STRIDED = 0x03,
    TLY_LAYOUT_TILED = 0x04,
    TLY_LAYOUT_MORTON = 0x05,
    TLY_LAYOUT_COO = 0x06,
    TLY_LAYOUT_CSR = 0x07,
    TLY_LAYOUT_CSC = 0x08,
    TLY_LAYOUT_CSF = 0x09,
    TLY_LAYOUT_BLOCK_PAGED = 0x0A,
    TLY_LAYOUT_COMPOSITE = 0x0B,
    TLY_LAYOUT_HILBERT = 0x40,
    TLY_LAYOUT_PRIVATE_FIRST = 0xF0,
    TLY_LAYOUT_PRIVATE_LAST = 0xFE
} tly_layout_tag;

/* Where a buffer is (Hurray 1.0, buffer-protocol, device tags). 0xF0 .. 0xFE are private. */
typedef enum tly_device_tag {
    TLY_DEVICE_CPU = 0,
    TLY_DEVICE_CUDA = 1,
    TLY_DEVICE_ROCM = 2,
    TLY_DEVICE_METAL = 3,
    TLY_DEVICE_VULKAN = 4,
    TLY_DEVICE_WEBGPU = 5,
    TLY_DEVICE_HEXAGON = 6,
    TLY_DEVICE_LEVEL_ZERO = 7,
    TLY_DEVICE_OPENCL = 8
} tly_device_tag;

/* How a buffer can be reached. 0xF0 .. 0xFE belong to private devices. */
typedef enum tly_memory_class {
    TLY_MEMORY_STANDARD = 0,
    TLY_MEMORY_HOST_PINNED = 1,
    TLY_MEMORY_UNIFIED = 2,
    TLY_MEMORY_PEER = 3
} tly_memory_class;

/* Buffer handle (Hurray 1.0, buffer-protocol). */
typedef struct tly_buffer_info {
    uint64_t byte_size;
    uint32_t alignment;   /* bytes, a power of two; >= 64 unless byte_size is 0 */
    uint8_t device;       /* tly_device_tag */
    uint8_t sync_mode;    /* 0: ready; 1: event; 2: consumer's stream. 0 on the CPU */
    uint8_t memory_class; /* tly_memory_class */
    uint8_t reserved;     /* 0 */
} tly_buffer_info;

/* Optional sections (tly_descriptor.flags). */
#define TLY_FLAG_QUANTIZATION     0x01u
#define TLY_FLAG_SHARD            0x02u
#define TLY_FLAG_EXTENSION_TYPE   0x04u
#define TLY_FLAG_STATISTICS       0x08u
#define TLY_FLAG_COMPOSITE_MEMBER 0x10u

/* Fields of the block-paged layout (Hurray 1.0, layouts/block-paged). */
typedef struct tly_block_paged {
    uint64_t num_pages;
    uint32_t page_size;   /* tokens, >= 1 */
    uint32_t paged_axis;  /* 0 */
    uint32_t num_seqs;    /* sequences in the batch */
    uint32_t layer_index; /* UINT32_MAX: of no layer */
    uint8_t kv_role;      /* 0: key; 1: value; 2: other */
    uint8_t index_type;   /* of block table and sequence pointers; 0: 32 bits; 1: 64 bits */
    uint16_t reserved;    /* 0 */
} tly_block_paged;

/* Head of a composite: its members follow it (Hurray 1.0, layouts/composite). */
typedef struct tly_composite {
    uint32_t member_count;
    uint8_t rule;      /* 1: partition; 2: overlay; 3: group */
    uint8_t operation; /* overlay: 1 replace, 2 add; 0 otherwise */
    uint16_t reserved; /* 0 */
} tly_composite;

typedef enum tly_quant_scheme {
    TLY_QUANT_PER_TENSOR = 1,  /* value = scale * (code - zero_point) */
    TLY_QUANT_PER_CHANNEL = 2, /* a scale for each index of one axis */
    TLY_QUANT_PER_BLOCK = 3,   /* a scale for each block along one axis */
    TLY_QUANT_NF4 = 4,
    TLY_QUANT_MXFP = 5
} tly_quant_scheme;

/* How codes become values (Hurray 1.0, quantization). Fields that a scheme has not are 0, buffers
 * UINT32_MAX. */
typedef struct tly_quantization {
    const uint8_t *trailing; /* what the writer put behind the known fields; kept */
    uint32_t trailing_len;   /* bytes */
    uint8_t scheme;          /* tly_quant_scheme */
    uint8_t version;         /* 1 */
    uint16_t flags;          /* bit 0: symmetric, no zero points (per channel, per block) */
    uint32_t axis;
    uint32_t block_size;        /* elements */
    uint32_t scale_buffer;      /* index in the buffer table */
    uint32_t zero_point_buffer; /* int32 values; UINT32_MAX: none */
    float scale;                /* per tensor */
    int32_t zero_point;         /* per tensor */
    tly_dtype scale_type;       /* of the scales in scale_buffer */
    uint8_t reserved[3];        /* 0 */
} tly_quantization;

/* A tensor that is a box of a larger one (Hurray 1.0, metadata, Shard Section). */
typedef struct tly_shard {
    const uint64_t *parent_shape; /* rank entries */
    const uint64_t *offset;       /* rank entries: where the box begins */
} tly_shard;

#define TLY_STATISTICS_NNZ      0x01u
#define TLY_STATISTICS_SPARSITY 0x02u
#define TLY_STATISTICS_RANGE    0x04u /* minimum, maximum, absolute_maximum */
#define TLY_STATISTICS_MOMENTS  0x08u /* mean, deviation */
#define TLY_STATISTICS_N_OF_M   0x10u
#define TLY_STATISTICS_SPECIALS 0x20u /* has_nan, has_inf */

/* What the writer knew about the elements; advice only (Hurray 1.0, metadata, Statistics Section).
 */
typedef struct tly_statistics {
    uint64_t nnz;
    double sparsity; /* share of zeros, 0 .. 1 */
    double minimum;
    double maximum;
    double absolute_maximum;
    double mean;
    double deviation; /* >= 0 */
    uint32_t mask;    /* TLY_STATISTICS_*: which fields mean something */
    uint8_t n;        /* n of every m elements may be other than zero */
    uint8_t m;
    uint8_t has_nan;
    uint8_t has_inf;
} tly_statistics;

/* A type of the tags 0xF0 .. 0xFE (Hurray 1.0, metadata, Extension Type Section). */
typedef struct tly_extension_type {
    uint32_t bit_width;
    uint32_t exponent_bias;
    uint8_t packing; /* elements in a byte: 1, or 8 / bit_width */
    uint8_t is_float;
    uint8_t is_signed;
    uint8_t sign_bits;
    uint8_t exponent_bits;
    uint8_t mantissa_bits;
    uint8_t has_nan;
    uint8_t has_inf;
} tly_extension_type;

/* A descriptor in memory. Plain memory; whoever fills it owns the arrays: tly_descriptor_decode
 * places them in the caller's work memory (private_data stays in the bytes that were decoded).
 * Fields of layouts other than `layout` are 0 and NULL, levels past num_levels undefined. */
typedef struct tly_descriptor {
    uint32_t flags;  /* TLY_FLAG_*: set by decode; encode looks at ..._COMPOSITE_MEMBER only */
    tly_dtype dtype; /* element type in storage */
    uint8_t layout;  /* tly_layout_tag */
    uint8_t version_minor; /* set by decode; encode writes 0 */
    uint8_t num_buffers;   /* 1 .. 255; 0 for the head of a composite */
    uint32_t rank;         /* 0 .. TLY_MAX_RANK; 0 only row-major or private */
    uint32_t num_levels;   /* tiled: 1 .. TLY_TILE_MAX_LEVELS */
    const uint64_t *shape; /* rank entries, TLY_DYNAMIC allowed */
    uint64_t byte_offset;  /* in buffer 0, of the element whose index is all zero */
    const tly_buffer_info *buffers;
    const int64_t *strides;               /* strided: rank entries, elements */
    const uint32_t *morton_bits;          /* Morton: rank entries, > 0, shape <= 2^bits */
    uint64_t private_id;                  /* private: extension_layout_id */
    const uint8_t *private_data;          /* private: extension_data */
    uint32_t private_len;                 /* bytes */
    uint32_t hilbert_order;               /* Hilbert: every extent is 2^order */
    uint64_t nnz;                         /* COO, CSR, CSC, CSF: stored elements */
    const uint32_t *mode_order;           /* CSF: rank entries, the axis of each level */
    const tly_block_paged *paged;         /* block-paged */
    tly_composite composite;              /* head of a composite */
    uint8_t is_sorted;                    /* COO: 1: in lexicographic order */
    uint8_t member_role;                  /* TLY_FLAG_COMPOSITE_MEMBER; 0: correction; 1: base */
    uint16_t reserved;                    /* 0 */
    const tly_quantization *quantization; /* NULL: no such section; so for the next three */
    const tly_shard *shard;
    const tly_statistics *statistics;
    const tly_extension_type *extension_type;
    tly_tile_level levels[TLY_TILE_MAX_LEVELS]; /* tiled: outermost first */
} tly_descriptor;

/* Length of a descriptor, from its first TLY_DESCRIPTOR_PREFIX_LEN bytes. Errors: TRUNCATED (fewer
 * bytes given), MALFORMED (not a descriptor, or a length that none can have). Thread-safe. */
TLY_API tly_status tly_descriptor_len(const void *bytes, size_t len, uint32_t *out_len,
                                      tly_error *error);

/* Reads the descriptor at the start of `bytes` and checks every rule that the format has for it.
 * `len` bytes are there; the descriptor may be shorter (its own length is written to `out_len` when
 * that is not NULL). Arrays are placed in `work`, of any alignment: see TLY_DESCRIPTOR_WORK_LEN.
 * Nothing else is allocated. `bytes` must stay while private_data is used. Whether the buffers are
 * large enough for the elements is a separate question: tly_descriptor_check_buffers.
 * Errors: TRUNCATED, MALFORMED, UNSUPPORTED, LIMIT (work memory too small). Thread-safe. */
TLY_API tly_status tly_descriptor_decode(const void *bytes, size_t len, void *work, size_t work_len,
                                         tly_descriptor *out_descriptor, uint32_t *out_len,
                                         tly_error *error);

/* Writes a descriptor. `buffer` NULL (capacity 0): only `out_len` is found. What decode would
 * refuse is refused with the same rule; the offset then counts in the bytes that would have been
 * written. Errors: INVALID_ARGUMENT (rank or a missing array), MALFORMED, UNSUPPORTED, LIMIT
 * (capacity). Thread-safe. */
TLY_API tly_status tly_descriptor_encode(const tly_descriptor *descriptor, void *buffer,
                                         size_t capacity, size_t *out_len, tly_error *error);

/* Bits of one element: of the element type or the extension type. 0: unknown. Thread-safe. */
TLY_API uint32_t tly_descriptor_element_bits(const tly_descriptor *descriptor);

/* Does buffer 0 hold every element that the layout can address, and the padding that the layout
 * asks for? (Hurray 1.0: layouts, "Buffer Size".) The other buffers of sparse and paged layouts are
 * checked as far as the descriptor fixes their size. Private layouts pass: only their owner knows.
 * Dynamic shapes pass: nobody knows yet. The offset of an error is that of the field in the encoded
 * descriptor. Errors: MALFORMED (rule B-SIZE), OVERFLOW. Thread-safe. */
TLY_API tly_status tly_descriptor_check_buffers(const tly_descriptor *descriptor, tly_error *error);

/* Number of elements of the logical tensor; 1 for rank 0. Errors: INVALID_ARGUMENT (dynamic
 * dimension), OVERFLOW. Thread-safe. */
TLY_API tly_status tly_descriptor_num_elements(const tly_descriptor *descriptor,
                                               uint64_t *out_count);

/* Bytes of all buffers together, without padding between them: what a stream carries and a message
 * announces. Errors: OVERFLOW. Thread-safe. */
TLY_API tly_status tly_descriptor_data_len(const tly_descriptor *descriptor, uint64_t *out_len);

/* Bytes that buffer 0 needs behind and in front of byte_offset: [out_before, out_after) around the
 * element whose index is all zero. Dense layouts only. Errors: INVALID_ARGUMENT (dynamic
 * dimension), LAYOUT_UNAVAILABLE (not dense), OVERFLOW. Thread-safe. */
TLY_API tly_status tly_descriptor_span(const tly_descriptor *descriptor, uint64_t *out_before,
                                       uint64_t *out_after);

/* The loop nest of a dense layout. Offset 0 of the nest is the element at byte_offset of buffer 0.
 * Errors: INVALID_ARGUMENT (dynamic dimension), LAYOUT_UNAVAILABLE (a private layout: panels are
 * bound with tly_panel_bind), OVERFLOW, LIMIT (more loops than a nest can hold). Thread-safe. */
TLY_API tly_status tly_descriptor_nest(const tly_descriptor *descriptor, tly_nest *out_nest,
                                       tly_error *error);

/* Fills `out_descriptor` and its only buffer for a row-major tensor in CPU memory, alignment 64, of
 * exactly the bytes that it needs. `shape` and `out_buffer` must stay while the descriptor is used.
 * Errors: INVALID_ARGUMENT (rank, dynamic dimension), UNSUPPORTED (type), OVERFLOW. Thread-safe. */
TLY_API tly_status tly_descriptor_init_row_major(tly_descriptor *out_descriptor,
                                                 tly_buffer_info *out_buffer, tly_dtype dtype,
                                                 uint32_t rank, const uint64_t *shape);

/* The same for a private layout: one buffer of `byte_size` bytes with `alignment`, identifier and
 * data as given (not copied). Errors: INVALID_ARGUMENT. Thread-safe. */
TLY_API tly_status tly_descriptor_init_private(tly_descriptor *out_descriptor,
                                               tly_buffer_info *out_buffer, tly_dtype dtype,
                                               uint32_t rank, const uint64_t *shape, uint8_t layout,
                                               uint64_t private_id, const void *private_data,
                                               uint32_t private_len, uint64_t byte_size,
                                               uint32_t alignment);

/* Do the tensors of a stream or file, in the order in which they were written, make whole
 * composites? (Hurray 1.0, layouts/composite, Validation.) Single-owner. */
typedef struct tly_composite_check tly_composite_check;

#define TLY_COMPOSITE_MAX_DEPTH 8 /* heads inside each other */
#define TLY_COMPOSITE_MAX_MEMBERS                                                                  \
    16384 /* of one partition: its boxes are compared with each other */

/* Errors: OUT_OF_MEMORY. */
TLY_API tly_status tly_composite_check_new(const tly_context *context,
                                           tly_composite_check **out_check, tly_error *error);
TLY_API void tly_composite_check_free(tly_composite_check *check);

/* The next descriptor. Nothing is kept that it points to. Tensors outside composites pass. Errors:
 * MALFORMED (rules C-...), LIMIT, OVERFLOW, OUT_OF_MEMORY; the check can then only be freed. */
TLY_API tly_status tly_composite_check_add(tly_composite_check *check,
                                           const tly_descriptor *descriptor, tly_error *error);

/* There are no more. Errors: MALFORMED (rule C-TORN: members are missing). */
TLY_API tly_status tly_composite_check_end(const tly_composite_check *check, tly_error *error);

/* Name of a layout tag of the format, as in "row-major" or "COO"; "private" for 0xF0 .. 0xFE; NULL
 * for a tag that the format does not know. Static storage. Thread-safe. */
TLY_API const char *tly_layout_name(uint8_t layout);

TLY_END_DECLS

#endif
