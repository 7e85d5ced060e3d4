/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_PANEL_H
#define TILERY_PANEL_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/dtype.h>
#include <tilery/export.h>
#include <tilery/nest.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* A panel profile names the packed layout that a GEMM kernel wants, before the shape of the matrix
 * is known: a nest whose counts are constants or "extent rounded up to r, over q". Its serialised
 * form (docs/spec/panel-profile.md, whose sections are named below) is the ext_metadata of a layout
 * entry in negotiation and the extension_data of the private layout in the descriptor of the
 * answer. */

#define TLY_PANEL_VERSION       1
#define TLY_PANEL_MAX_LOOPS     8
#define TLY_PANEL_MAX_LEN       256                  /* bytes, serialised */
#define TLY_PANEL_NAME_LEN      48                   /* kernel name, with the final NUL */
#define TLY_PANEL_MIN_RANK      2                    /* of the stored tensor */
#define TLY_PANEL_MAX_RANK      8                    /* of the stored tensor */
#define TLY_PANEL_MAX_ALIGNMENT 0x200000             /* bytes */
#define TLY_PANEL_MAX_GRANULE   0x10000              /* elements along one axis */
#define TLY_PANEL_MAX_CELL      0x1000000            /* bytes of the panel of a 1 x 1 matrix */
#define TLY_PANEL_PROBE_WORK    (UINT64_C(64) << 20) /* bytes that one probe may move */

/* Layout tag and extension_layout_id under which profiles travel (spec: Where a profile stands). */
#define TLY_PANEL_LAYOUT_TAG 0xF0
#define TLY_PANEL_LAYOUT_ID  UINT64_C(0x31304C4E50594C54) /* "TLYPNL01" in memory */

/* Which axis of the product a loop runs over. */
typedef enum tly_panel_axis {
    TLY_PANEL_K = 0, /* the summed axis */
    TLY_PANEL_MN = 1 /* N for operand B, M for operand A */
} tly_panel_axis;

typedef enum tly_panel_role { TLY_PANEL_A = 1, TLY_PANEL_B = 2 } tly_panel_role;

typedef struct tly_panel_loop {
    uint8_t axis;      /* tly_panel_axis */
    uint8_t rounded;   /* 0: `count` turns; 1: up(extent, round) / over turns */
    uint16_t reserved; /* 0 */
    uint32_t step;     /* > 0: what one turn adds to the index of the axis */
    uint32_t count;    /* constant only: >= 2; 0 for a rounded loop */
    uint32_t round;    /* rounded only: a multiple of over; 0 for a constant loop */
    uint32_t over;     /* rounded only: equal to step; 0 for a constant loop */
} tly_panel_loop;

/* A profile in memory. Plain memory, owned by the caller. Unused fields and loops are 0. */
typedef struct tly_panel_profile {
    size_t size;     /* sizeof(tly_panel_profile) */
    uint8_t role;    /* tly_panel_role */
    tly_dtype dtype; /* element type of the tensor and of the panel: the same */
    uint8_t rank;    /* rank of the stored tensor, 2 .. TLY_PANEL_MAX_RANK; a matrix has 2 */
    uint8_t k_axis;  /* axis of the stored tensor that is K */
    uint8_t mn_axis; /* axis of the stored tensor that is N, or M for operand A; all other axes stay
                        outermost, in their order */
    uint8_t num_loops;               /* 2 .. TLY_PANEL_MAX_LOOPS */
    uint8_t has_probe;               /* 1: probe_hash is set */
    uint8_t reserved;                /* 0 */
    uint32_t alignment;              /* bytes, a power of two: where the buffer should start */
    uint32_t kernel_version;         /* informative */
    char kernel[TLY_PANEL_NAME_LEN]; /* informative: "onednn", "blis/haswell"; printable ASCII */
    uint64_t probe_hash; /* what the kernel's own packer makes of the probe matrices; else 0 */
    tly_panel_loop loops[TLY_PANEL_MAX_LOOPS]; /* outermost first; strides follow from the order */
} tly_panel_profile;

/* Checks a profile in memory: all that tly_panel_decode would refuse (spec: Which templates are
 * exact). `error` names the rule; its offset is where the value stands in the serialised form.
 * Errors: INVALID_ARGUMENT (size), MALFORMED, UNSUPPORTED (element type), LIMIT. Thread-safe. */
TLY_API tly_status tly_panel_check(const tly_panel_profile *profile, tly_error *error);

/* Drops constant loops of one turn and joins neighbours that one loop can say, as the canonical
 * form demands: for profiles that were put together block by block. The order of places does not
 * change. Thread-safe. */
TLY_API void tly_panel_normalize(tly_panel_profile *profile);

/* Serialises a profile. `buffer` has room for `capacity` bytes (TLY_PANEL_MAX_LEN is always
 * enough). Errors: those of tly_panel_check (without an offset), LIMIT (capacity). Thread-safe. */
TLY_API tly_status tly_panel_encode(const tly_panel_profile *profile, void *buffer, size_t capacity,
                                    size_t *out_len, tly_error *error);

/* Reads a profile. Everything that can be refused without a shape is refused here: version,
 * lengths, ranges, and loops that do not visit each index exactly once. What is accepted encodes to
 * the same bytes again. Errors: TRUNCATED, MALFORMED, UNSUPPORTED (another version, an element type
 * that this build does not know), LIMIT. Thread-safe. */
TLY_API tly_status tly_panel_decode(const void *bytes, size_t len, tly_panel_profile *out_profile,
                                    tly_error *error);

/* Binds a profile to the shape of the stored tensor: `out_nest` gets the nest of the panel over the
 * axes of the stored tensor (so that it is the destination of a plan whose source is the stored
 * tensor's own nest), `out_len` the bytes of the panel, padding included; both may be NULL. An
 * empty tensor has an empty panel. Errors: INVALID_ARGUMENT (rank), OVERFLOW, LAYOUT_UNAVAILABLE
 * (the template does not reach this far), those of tly_panel_check. Thread-safe. */
TLY_API tly_status tly_panel_bind(const tly_panel_profile *profile, uint32_t rank,
                                  const uint64_t *shape, tly_nest *out_nest, uint64_t *out_len,
                                  tly_error *error);

/* Do two profiles describe the same bytes of the same stored tensors (everything but alignment,
 * kernel name, version and probe)? Thread-safe. */
TLY_API int tly_panel_same_layout(const tly_panel_profile *a, const tly_panel_profile *b);

/* A profile as one line of text, "B f32 [N:up(N,64)/64 step 64][K:up(K,16)][N:64] from K x N", cut
 * to `capacity` bytes (256 are always enough) with the final NUL. Returns `out`. Thread-safe. */
TLY_API const char *tly_panel_describe(const tly_panel_profile *profile, char *out,
                                       size_t capacity);

/* Built-in profiles by name (docs/spec/panel-profile.md, Well-known panels): "ba16a64b", "cube_n8",
 * "nr16", ... combined with an element type. `transposed` == 0: the stored tensor is a matrix as
 * the product reads it, K x N for operand B and M x K for A; otherwise N x K, or K x M. Errors:
 * NOT_FOUND, UNSUPPORTED (the panel has no form for this element type). Thread-safe. */
TLY_API tly_status tly_panel_by_name(const char *name, tly_dtype dtype, int transposed,
                                     tly_panel_profile *out_profile, tly_error *error);

/* Names for tly_panel_by_name by number, NULL after the last. Static storage. Thread-safe. */
TLY_API const char *tly_panel_name(uint32_t index);

/* What a built-in panel is, in a few words, or NULL. Static storage. Thread-safe. */
TLY_API const char *tly_panel_summary(uint32_t index);

/* Probing (spec: Probing): the client packs known matrices with its kernel's own packer and sends a
 * hash; the server packs the same ones by the template and compares. */

/* One matrix to pack. Plain memory. */
typedef struct tly_panel_probe {
    uint64_t k; /* extents of the matrix */
    uint64_t mn;
    uint64_t shape[TLY_PANEL_MAX_RANK]; /* of the stored tensor: k, mn and ones */
    uint64_t stored_len; /* bytes of the stored matrix, contiguous, last axis fastest */
    uint64_t panel_len;  /* bytes of the panel */
    uint32_t digit;      /* which digit of the element's number the values show */
    uint32_t reserved;   /* 0 */
} tly_panel_probe;

/* Number of matrices to pack for a profile, in `out_num`, and the sum of their stored and packed
 * bytes, in `out_work` (may be NULL). Errors: those of tly_panel_check. Thread-safe. */
TLY_API tly_status tly_panel_probe_count(const tly_panel_profile *profile, uint32_t *out_num,
                                         uint64_t *out_work, tly_error *error);

/* Matrix number `index` of the probe. Errors: INVALID_ARGUMENT (index), those of tly_panel_check.
 * Thread-safe. */
TLY_API tly_status tly_panel_probe_get(const tly_panel_profile *profile, uint32_t index,
                                       tly_panel_probe *out_probe, tly_error *error);

/* Fills `stored` (probe->stored_len bytes) with the elements of the matrix in this machine's byte
 * order. Thread-safe. */
TLY_API void tly_panel_probe_fill(const tly_panel_profile *profile, const tly_panel_probe *probe,
                                  void *stored);

/* Takes one panel (probe->panel_len bytes, elements in this machine's byte order) into the hash.
 * Start with 0 and give the result of one call to the next, in the order of the matrices; the last
 * one is probe_hash. Thread-safe. */
TLY_API uint64_t tly_panel_probe_hash(const tly_panel_profile *profile, uint64_t hash,
                                      const void *panel, uint64_t len);

/* The hash that this library's packer gives. Does at most `max_work` bytes of work as counted by
 * tly_panel_probe_count (0: TLY_PANEL_PROBE_WORK). Errors: LIMIT, OUT_OF_MEMORY, those of
 * tly_panel_check. Thread-safe. */
TLY_API tly_status tly_panel_probe_expected(const tly_context *context,
                                            const tly_panel_profile *profile, uint64_t max_work,
                                            uint64_t *out_hash, tly_error *error);

/* A bounded memory of probes, for servers: each layout is packed once. Thread-safe. */
typedef struct tly_panel_verdicts tly_panel_verdicts;

typedef struct tly_panel_verdicts_options {
    size_t size;          /* sizeof(tly_panel_verdicts_options) */
    uint64_t max_work;    /* bytes for one probe; 0: TLY_PANEL_PROBE_WORK */
    uint32_t max_entries; /* layouts remembered, the least recently asked goes first; 0: 256 */
    uint32_t reserved;    /* 0 */
} tly_panel_verdicts_options;

/* `options` may be NULL. `context` outlives the object. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
TLY_API tly_status tly_panel_verdicts_new(const tly_context *context,
                                          const tly_panel_verdicts_options *options,
                                          tly_panel_verdicts **out_verdicts, tly_error *error);
TLY_API void tly_panel_verdicts_free(tly_panel_verdicts *verdicts);

/* May the server pack by this profile? Yes if it has no probe hash or if the hash is what this
 * library's packer gives. `inout_budget` (may be NULL) is how many bytes of work the caller still
 * allows, for one connection say; what was really done is subtracted, and what is remembered costs
 * nothing. Errors: MISMATCH (the packers differ), LIMIT (too much work), OUT_OF_MEMORY, those of
 * tly_panel_check. Thread-safe. */
TLY_API tly_status tly_panel_verdicts_check(tly_panel_verdicts *verdicts,
                                            const tly_panel_profile *profile,
                                            uint64_t *inout_budget, tly_error *error);

TLY_END_DECLS

#endif
