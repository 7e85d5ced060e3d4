/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_PACK_H
#define TILERY_PACK_H

#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/nest.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* The packing engine: copies the elements of one nest into another of the same shape, bit for bit,
 * and writes zero bytes wherever the destination's index lies outside the shape. Transcoding,
 * packing panels and filling tiles are all this one operation. */

/* A checked and compiled pair of nests. Immutable, so any number of threads may run one plan. */
typedef struct tly_pack_plan tly_pack_plan;

typedef struct tly_pack_options {
    size_t size;        /* sizeof(tly_pack_options) */
    uint64_t padding;   /* element written as padding, in the low bits; 0 for 6 and 128 bits */
    uint32_t streaming; /* 0: decide by size; 1: never bypass the cache; 2: bypass where possible */
    uint32_t reserved;
} tly_pack_options;

/* Plans the copy of `src` into `dst`. Both have the same rank and shape. `element_bits` is 8, 16,
 * 32, 64 or 128; or 1, 2, 4 or 6 for elements packed from the least significant bit, element i at
 * bit i * element_bits. The destination must visit each index of the shape exactly once and no
 * offset twice; the source may alias. `options` may be NULL. Errors: INVALID_ARGUMENT (rule in
 * `error`), UNSUPPORTED, OVERFLOW, OUT_OF_MEMORY. The caller frees the plan. */
TLY_API tly_status tly_pack_plan_new(const tly_context *context, const tly_nest *dst,
                                     const tly_nest *src, uint32_t element_bits,
                                     const tly_pack_options *options, tly_pack_plan **out_plan,
                                     tly_error *error);
TLY_API void tly_pack_plan_free(tly_pack_plan *plan);

/* Runs a plan. `dst` and `src` point to the element with offset 0 of their nests and do not
 * overlap. No byte outside what the nests touch inside the shape is read, none outside the
 * destination's extent is written; of bytes that belong to the extent in part only, the other bits
 * stay. Any alignment is correct. Cannot fail. Thread-safe. */
TLY_API void tly_pack_run(const tly_pack_plan *plan, void *dst, const void *src);

/* A destination that ascends can be made piece by piece, so that packed bytes can leave while later
 * ones are still missing. The units of a plan are equal, consecutive, gapless ranges of the
 * destination (the last may be smaller); a destination that does not ascend has one unit. */
TLY_API uint64_t tly_pack_num_units(const tly_pack_plan *plan);

/* Bytes of all units but the last. The whole destination is tly_pack_dst_len bytes. */
TLY_API uint64_t tly_pack_unit_len(const tly_pack_plan *plan);
TLY_API uint64_t tly_pack_dst_len(const tly_pack_plan *plan);

/* Makes units [first, first + count). `dst` points to where unit `first` begins, not to the whole
 * destination. `src` as in tly_pack_run. Neighbouring units share cache lines of the source, so
 * some in one call are faster than one by one. Thread-safe. */
TLY_API void tly_pack_run_units(const tly_pack_plan *plan, uint64_t first, uint64_t count,
                                void *dst, const void *src);

/* Are there offsets in the destination's extent that belong to no place of its nest (a strided
 * view, Morton with unequal bits)? Runs leave them alone, so whoever sends the whole extent clears
 * it first. Thread-safe. */
TLY_API int tly_pack_has_gaps(const tly_pack_plan *plan);

/* Which path the plan takes, for people and benchmarks ("copy", "panel", "transpose", ...).
 * Static storage. */
TLY_API const char *tly_pack_path(const tly_pack_plan *plan);

TLY_END_DECLS

#endif
