/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_PANEL_H
#define TILERY_PANEL_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/dtype.h>
#include <tilery/export.h>
#include <tilery/nest.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* A panel profile names the packed layout that a GEMM kernel wants, before the shape of the matrix is
 * known: a nest whose counts are constants or "extent rounded up to r, over q". Its serialised form
 * (docs/spec/panel-profile.md) is the ext_metadata of a layout entry in negotiation and the
 * extension_data of the private layout in the descriptor of the answer. */

#define TLY_PANEL_MAX_LOOPS 8
#define TLY_PANEL_MAX_LEN   256 /* bytes, serialised */
#define TLY_PANEL_NAME_LEN  48  /* with the final NUL */

/* Layout tag and extension_layout_id under which profiles travel (docs/spec/panel-profile.md). */
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
    uint32_t step;     /* > 0 */
    uint32_t count;    /* constant only */
    uint32_t round;    /* rounded only, > 0 */
    uint32_t over;     /* rounded only, > 0, divides round */
} tly_panel_loop;

/* A profile in memory. Plain memory, owned by the caller. */
typedef struct tly_panel_profile {
    size_t size;                   /* sizeof(tly_panel_profile) */
    uint8_t role;                  /* tly_panel_role */
    tly_dtype dtype;               /* element type of the tensor and of the panel: the same */
    uint8_t k_axis;                /* axis of the stored tensor that is K (0 or 1 for a matrix) */
    uint8_t mn_axis;               /* axis of the stored tensor that is N, or M for operand A */
    uint8_t rank;                  /* rank of the stored tensor: 2 in version 1 */
    uint8_t num_loops;             /* 1 .. TLY_PANEL_MAX_LOOPS */
    uint8_t has_probe;             /* probe_hash is set */
    uint8_t reserved;              /* 0 */
    uint32_t alignment;            /* bytes, a power of two: where the buffer should start */
    uint32_t kernel_version;       /* informative */
    char kernel[TLY_PANEL_NAME_LEN]; /* informative: "onednn", "blis/haswell"; printable ASCII */
    uint64_t probe_hash;           /* what the kernel's own packer makes of the probe matrices */
    tly_panel_loop loops[TLY_PANEL_MAX_LOOPS]; /* outermost first; strides follow from the order */
} tly_panel_profile;

/* Serialises a profile. `buffer` has room for `capacity` bytes (TLY_PANEL_MAX_LEN is always enough).
 * Errors: INVALID_ARGUMENT (a profile that decode would refuse), LIMIT (capacity). Thread-safe. */
TLY_API tly_status tly_panel_encode(const tly_panel_profile *profile, void *buffer,
                                    size_t capacity, size_t *out_len, tly_error *error);

/* Reads a profile. Everything that can be refused without a shape is refused here: version, lengths,
 * ranges, and loops that do not visit each index exactly once. Errors: TRUNCATED, MALFORMED,
 * UNSUPPORTED (a later version), LIMIT. Thread-safe. */
TLY_API tly_status tly_panel_decode(const void *bytes, size_t len, tly_panel_profile *out_profile,
                                    tly_error *error);

/* Binds a profile to the shape of the stored tensor: `out_nest` gets the nest of the panel over the
 * axes of the stored tensor (so that it is the destination of a plan whose source is the stored
 * tensor's own nest), `out_len` the bytes of the panel, padding included. Errors: INVALID_ARGUMENT
 * (rank), OVERFLOW, LAYOUT_UNAVAILABLE (the template does not cover this shape). Thread-safe. */
TLY_API tly_status tly_panel_bind(const tly_panel_profile *profile, uint32_t rank,
                                  const uint64_t *shape, tly_nest *out_nest, uint64_t *out_len,
                                  tly_error *error);

/* Do two profiles describe the same bytes (everything but kernel name, version and probe)?
 * Thread-safe. */
TLY_API int tly_panel_same_layout(const tly_panel_profile *a, const tly_panel_profile *b);

/* Built-in profiles by name, for people and tests: "ba16a64b", "ba16a64b2a", "ba16a64b4a",
 * "cube_n8", "cube_m16", ... combined with an element type. `stored_nk` != 0: the stored tensor is
 * N x K (or K x M for A). Errors: NOT_FOUND, UNSUPPORTED (a type this panel does not take).
 * Thread-safe. */
TLY_API tly_status tly_panel_by_name(const char *name, tly_dtype dtype, int stored_nk,
                                     tly_panel_profile *out_profile, tly_error *error);

/* Names for tly_panel_by_name, NULL at the end. Static storage. Thread-safe. */
TLY_API const char *tly_panel_name(uint32_t index);

TLY_END_DECLS

#endif
