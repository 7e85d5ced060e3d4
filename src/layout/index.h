/* SPDX-License-Identifier: Apache-2.0 */
/* Where elements lie in layouts that are no loop nests: the Hilbert curve by a formula, sparse and
 * paged ones through index buffers. Index buffers are outside bytes: little-endian, of any
 * alignment, and not to be believed before the check has passed. Offsets in errors count in the
 * buffer that the message names by its number in the format. */
#ifndef TLY_LAYOUT_INDEX_H
#define TLY_LAYOUT_INDEX_H

#include <stdint.h>

#include <tilery/context.h>
#include <tilery/status.h>

#define TLY_LAYOUT_NOT_STORED UINT64_MAX

/* Hilbert order of `rank` axes of 2^order indices each (Hurray 1.0, layouts/hilbert); rank >= 2,
 * order >= 1, rank * order <= 63. Indices in range. */
uint64_t tly_layout_hilbert_offset(uint32_t rank, uint32_t order, const uint64_t *index);
void tly_layout_hilbert_index(uint32_t rank, uint32_t order, uint64_t offset, uint64_t *out_index);

/* Coordinates in a list (layouts/coo). */
typedef struct tly_coo_map {
    const uint64_t *shape;
    const uint8_t *indices; /* rank for each element */
    uint64_t nnz;
    uint32_t rank;
    uint32_t is_sorted;
} tly_coo_map;

/* Rows or columns with pointers (layouts/csr, layouts/csc). `major` is the axis that has them. */
typedef struct tly_compressed_map {
    const uint8_t *pointers; /* num_major + 1 */
    const uint8_t *indices;  /* nnz, along the other axis */
    uint64_t nnz;
    uint64_t num_major;
    uint64_t num_minor;
    const char *rules; /* "CSR" or "CSC" */
} tly_compressed_map;

/* A tree with one level for each axis (layouts/csf). */
typedef struct tly_csf_map {
    const uint64_t *shape;
    const uint32_t *mode_order;
    const uint8_t *const *pointers;    /* of each level */
    const uint8_t *const *coordinates; /* of each level */
    const uint64_t *num_pointers;      /* entries that are there */
    const uint64_t *num_nodes;         /* entries that are there */
    uint64_t nnz;
    uint32_t rank;
} tly_csf_map;

/* Pages of tokens (layouts/block-paged). */
typedef struct tly_paged_map {
    const uint8_t *table;    /* num_entries page numbers */
    const uint8_t *pointers; /* num_seqs + 1 */
    uint64_t num_entries;
    uint64_t num_pages;
    uint32_t page_size; /* tokens */
    uint32_t num_seqs;
    uint32_t is_wide; /* entries of 64 bits instead of 32 */
} tly_paged_map;

/* Everything that the format says about the contents. Errors: MALFORMED (rules V-...),
 * OUT_OF_MEMORY (COO that is not sorted is sorted to find repetitions). */
tly_status tly_layout_coo_check(const tly_context *context, const tly_coo_map *map,
                                tly_error *error);
tly_status tly_layout_compressed_check(const tly_compressed_map *map, tly_error *error);
tly_status tly_layout_csf_check(const tly_csf_map *map, tly_error *error);
tly_status tly_layout_paged_check(const tly_paged_map *map, tly_error *error);

/* Position of an element among the stored ones, or NOT_STORED. Maps that passed the check. */
uint64_t tly_layout_coo_find(const tly_coo_map *map, const uint64_t *index);
uint64_t tly_layout_compressed_find(const tly_compressed_map *map, uint64_t major, uint64_t minor);
uint64_t tly_layout_csf_find(const tly_csf_map *map, const uint64_t *index);

/* Slot in the pool (page number * page_size + place in the page) of a token of a sequence, or
 * NOT_STORED beyond its pages. A map that passed the check. */
uint64_t tly_layout_paged_find(const tly_paged_map *map, uint64_t seq, uint64_t token);

/* Entries of the tables of a paged map. */
uint64_t tly_layout_paged_entry(const tly_paged_map *map, uint64_t number);
uint64_t tly_layout_paged_pointer(const tly_paged_map *map, uint64_t seq);

/* Sorts numbers of things by `compare` (negative, 0, positive); equal ones keep their order.
 * `scratch` has room for `count` as well. */
typedef int tly_layout_compare(const void *user, uint64_t a, uint64_t b);
void tly_layout_sort(uint64_t *items, uint64_t *scratch, uint64_t count,
                     tly_layout_compare *compare, const void *user);

#endif
