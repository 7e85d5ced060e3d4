/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor made ready for look-ups: what all code that touches elements goes through. */
#ifndef TLY_TENSOR_VIEW_H
#define TLY_TENSOR_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/transcode.h>

#include "layout/index.h"
#include "num/packed.h"

#define TLY_TENSOR_DEFAULT_LIMIT (UINT64_C(256) << 20)

/* Memory that a call may still take. Returns NULL and fills `error` where it may not, or where
 * there is none. `len` > 0. */
typedef struct tly_tensor_budget {
    const tly_context *context;
    uint64_t left;
} tly_tensor_budget;

void *tly_tensor_take(tly_tensor_budget *budget, uint64_t len, tly_status *out_status,
                      tly_error *error);
void tly_tensor_give(tly_tensor_budget *budget, void *block, uint64_t len);

typedef enum tly_view_kind {
    TLY_VIEW_NEST,
    TLY_VIEW_HILBERT,
    TLY_VIEW_COO,
    TLY_VIEW_COMPRESSED, /* CSR and CSC */
    TLY_VIEW_CSF,
    TLY_VIEW_PAGED,
    TLY_VIEW_COMPOSITE
} tly_view_kind;

/* A quantization with its parameters at hand (quant.c). */
typedef struct tly_quant_view {
    const tly_quantization *q; /* NULL: not quantized */
    const uint8_t *scales;
    const uint8_t *zero_points; /* NULL: all zero */
    const tly_format *scale_format;
    const tly_format *storage;
    uint64_t blocks; /* along the axis */
} tly_quant_view;

struct tly_view {
    const tly_context *context;
    tly_tensor tensor;
    const tly_descriptor *d;
    tly_view_kind kind;
    uint32_t rank;
    uint32_t bits;        /* of an element */
    int64_t base_bit;     /* of element offset 0, in buffer 0 */
    const uint8_t *bytes; /* buffer 0 */
    uint64_t *memory;     /* one block, for everything below */
    uint64_t memory_len;
    tly_nest *nest;
    /* What an index of an axis adds to the offset of a nest: so much for each step (even), or what
     * a table says, or what the loops say where there was no room for a table. */
    int64_t *stride;
    int64_t **table;
    uint64_t even; /* one bit for each axis */
    tly_coo_map coo;
    tly_compressed_map compressed;
    tly_csf_map csf;
    tly_paged_map paged;
    const uint64_t *first_token; /* num_seqs + 1: of each sequence; NULL: not known */
    tly_quant_view quant;
    struct tly_view *members;
    uint32_t num_members;
    uint32_t major; /* CSR, CSC: axis that has pointers */
};

/* Checks whatever addresses depend on. `budget` pays for tables. On failure nothing stays. */
tly_status tly_tensor_view_init(tly_view *view, tly_tensor_budget *budget, const tly_tensor *tensor,
                                tly_error *error);
void tly_tensor_view_cleanup(tly_view *view, tly_tensor_budget *budget);

/* The nest of a dense layout, of a panel too (a private layout that names this library's identifier
 * and has a profile as its data). `out_len` receives the bytes that it needs behind byte_offset in
 * the case of a panel, else 0. Errors: UNSUPPORTED (other private layouts), those of
 * tly_descriptor_nest and tly_panel_bind. */
tly_status tly_tensor_nest(const tly_descriptor *d, tly_nest *out_nest, uint64_t *out_len,
                           uint32_t *out_alignment, tly_error *error);
int tly_tensor_is_panel(const tly_descriptor *d);

/* Does every index have a place (dense, Hilbert, paged with known tokens)? */
int tly_tensor_view_is_full(const tly_view *view);

/* Bit of buffer 0 where an element inside the shape lies; -1: not stored. No composites. */
int64_t tly_tensor_view_bit(const tly_view *view, const uint64_t *index);

/* Called for an element at its index. A status other than OK ends the walk. */
typedef tly_status tly_tensor_visit(void *user, const uint64_t *index, int64_t bit);

/* Every element of a full view, the last of `order` (rank axes) turning fastest. */
tly_status tly_tensor_view_scan(const tly_view *view, const uint32_t *order,
                                tly_tensor_visit *visit, void *user);

/* Every stored element of a view that is no composite, in the order of storage (dense: of indices).
 */
tly_status tly_tensor_view_each(const tly_view *view, tly_tensor_visit *visit, void *user);

/* The bits of an element of buffer 0. */
tly_code tly_tensor_load(const uint8_t *bytes, int64_t bit, uint32_t bits);
void tly_tensor_store(uint8_t *bytes, int64_t bit, uint32_t bits, tly_code code);

/* Bits of the member's element as the head of its composite wants it: quantized ones are decoded
 * and converted. */
tly_code tly_tensor_member_code(const tly_view *member, const tly_descriptor *head,
                                const uint64_t *index, int64_t bit);

/* The sum of two elements of a type, as overlays add. */
tly_code tly_tensor_add_codes(tly_dtype dtype, tly_code a, tly_code b);

/* Rules about values: scales, zero points, padding bits, reserved codes. */
tly_status tly_tensor_check_values(const tly_view *view, tly_error *error);

#endif
