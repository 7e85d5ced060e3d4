/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_TENSOR_H
#define TILERY_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/dtype.h>
#include <tilery/export.h>
#include <tilery/nest.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* Tensor descriptors of the Hurray format 1.0 (metadata, memory-layout, buffer-protocol). */

#define TLY_MAX_RANK         64
#define TLY_DYNAMIC          UINT64_MAX /* a dimension that is not known yet */
#define TLY_DESCRIPTOR_MAGIC "HRRY"

typedef enum tly_layout_tag {
    TLY_LAYOUT_ROW_MAJOR = 0x01,
    TLY_LAYOUT_COL_MAJOR = 0x02,
    TLY_LAYOUT_STRIDED = 0x03,
    TLY_LAYOUT_TILED = 0x04,
    TLY_LAYOUT_MORTON = 0x05,
    TLY_LAYOUT_PRIVATE_FIRST = 0xF0,
    TLY_LAYOUT_PRIVATE_LAST = 0xFE
} tly_layout_tag;

/* One level of a tiled layout. Arrays have `rank` entries and live as long as the descriptor. */
typedef struct tly_tiled_record {
    const uint64_t *tile_shape;
    const int64_t *outer_strides; /* NULL unless outer is strided */
    const int64_t *inner_strides; /* NULL unless inner is strided */
    uint8_t outer;                /* tly_tile_order */
    uint8_t inner;                /* tly_tile_order */
} tly_tiled_record;

/* Buffer handle (Hurray 1.0, buffer-protocol). */
typedef struct tly_buffer_info {
    uint64_t byte_size;
    uint32_t alignment; /* power of two */
    uint8_t device;     /* 0: CPU */
    uint8_t sync_mode;
    uint8_t memory_class;
    uint8_t reserved;
} tly_buffer_info;

/* A descriptor in memory. Arrays are owned by whoever filled the structure: the arena of
 * tly_descriptor_decode, or the caller. */
typedef struct tly_descriptor {
    uint32_t flags; /* TLY_FLAG_* */
    tly_dtype dtype;
    uint8_t layout; /* tly_layout_tag */
    uint8_t version_minor;
    uint8_t num_buffers;
    uint32_t rank;
    uint32_t num_levels;  /* tiled: levels */
    const uint64_t *shape;
    uint64_t byte_offset; /* of the element with index 0, in buffer 0 */
    const int64_t *strides;           /* strided: elements */
    const tly_tiled_record *levels;   /* tiled: outermost first */
    const uint32_t *morton_bits;      /* Morton */
    uint64_t private_id;              /* private: extension_layout_id */
    const uint8_t *private_data;      /* private: extension_data */
    uint32_t private_len;             /* bytes */
    uint32_t reserved;
    const tly_buffer_info *buffers;
} tly_descriptor;

TLY_END_DECLS

#endif
