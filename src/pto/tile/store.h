/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tiles: packed bytes in the order of the tile's layout, and which of them are
 * defined. The descriptor (tly_pto_tile) says how many there are and how wide.
 *
 * An element is read and written as a word of 64 bits. The reference keeps all 64; they are nearly
 * always the element's bits, extended by zeros or by their sign, so a tile remembers which of the
 * two extensions give its words back. Only where neither does are the words themselves kept: until
 * the tile is cleared. Tiles for which tly_pto_tile_is_packed keep bits only, extended by zeros.
 *
 * Nothing here allocates after tly_pto_tile_store_new: all places are reserved and take memory
 * when they are first touched. Functions on elements need a descriptor that is allocated and an
 * index inside of it; they check neither. */
#ifndef TLY_PTO_TILE_STORE_H
#define TLY_PTO_TILE_STORE_H

#include <tilery/context.h>
#include <tilery/status.h>

#include "pto/state.h"
#include "pto/tile/shape.h"

enum { TLY_PTO_NUM_SCRATCH_TILES = 4 };

/* Extensions that give every word of a tile back. */
enum { TLY_PTO_WORDS_KEPT = 0, TLY_PTO_BY_ZEROS = 1, TLY_PTO_BY_SIGN = 2, TLY_PTO_BY_EITHER = 3 };

/* Which elements are defined. */
typedef enum tly_pto_defined {
    TLY_PTO_DEFINED_NONE,
    TLY_PTO_DEFINED_VALID, /* those of the valid region */
    TLY_PTO_DEFINED_ALL,   /* the padding too */
    TLY_PTO_DEFINED_MAP    /* those whose bit is set */
} tly_pto_defined;

typedef struct tly_pto_elements {
    uint8_t *bytes;     /* little-endian; a nibble pair has its first element in the low half */
    uint64_t *words;    /* when extensions is TLY_PTO_WORDS_KEPT; the bytes hold then too */
    uint64_t *map;      /* when defined is TLY_PTO_DEFINED_MAP */
    uint32_t used;      /* bytes from 0 that may hold elements */
    uint32_t stale;     /* bytes from 0 that may hold what was cleared; then all elements are 0 */
    uint8_t defined;    /* tly_pto_defined */
    uint8_t extensions; /* TLY_PTO_BY_... */
} tly_pto_elements;

typedef struct tly_pto_tile_store {
    tly_pto_elements local[TLY_PTO_NUM_TILES];
    tly_pto_elements *shared; /* TLY_PTO_NUM_SHARED_TILES: the store's own, or those of another */
    tly_pto_elements own_shared[TLY_PTO_NUM_SHARED_TILES];
    tly_pto_elements scratch[TLY_PTO_NUM_SCRATCH_TILES]; /* as large as shared ones */
    void *mapping;
    size_t mapping_len;
    /* What the descriptors say all together, if known (allocate.h). The two masks are no
     * neighbours: compilers would change both by one access, which waits for the single ones before
     * it. */
    bool summed;
    uint64_t allocated; /* bit i: local tile i */
    uint64_t in_use;    /* bytes of all active allocations */
    uint64_t legal; /* bit i: local tile i was found legal (legal.h) and has not changed since */
} tly_pto_tile_store;

/* Errors: OUT_OF_MEMORY. Single owner. */
tly_status tly_pto_tile_store_new(const tly_context *context, tly_pto_tile_store **out_store,
                                  tly_error *error);
void tly_pto_tile_store_free(const tly_context *context, tly_pto_tile_store *store);
void tly_pto_tile_store_reset(tly_pto_tile_store *store);

/* All elements become 0 and undefined, at no cost. */
void tly_pto_elements_clear(tly_pto_elements *e);

/* For code that writes e->bytes itself. _prepare: the bytes are those of the elements, `tile` says
 * how many; afterwards every word written must fit e->extensions. _overwrite: all bytes will be
 * written, with words that `extensions` gives back; definedness is left as it is. */
void tly_pto_elements_prepare(tly_pto_elements *e, const tly_pto_tile *tile);
void tly_pto_elements_overwrite(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t extensions);

/* The element's word. */
uint64_t tly_pto_element_read(const tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index);

/* Writes the word; definedness is left as it is. */
void tly_pto_element_write(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index,
                           uint64_t word);

/* The same for `count` elements from `first`. */
void tly_pto_elements_read(const tly_pto_elements *e, const tly_pto_tile *tile, uint32_t first,
                           uint32_t count, uint64_t *out_words);
void tly_pto_elements_write(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t first,
                            uint32_t count, const uint64_t *words);

/* A predicate is a bit. */
bool tly_pto_predicate_read(const tly_pto_elements *e, uint32_t index);
void tly_pto_predicate_write(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index,
                             bool value);

bool tly_pto_element_is_defined(const tly_pto_elements *e, const tly_pto_tile *tile,
                                uint32_t index);
void tly_pto_element_define(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index,
                            bool defined);

/* Whether every element of the valid region is defined. */
bool tly_pto_valid_region_defined(const tly_pto_elements *e, const tly_pto_tile *tile);

/* Elements, words and definedness of another tile of the same shape. */
void tly_pto_elements_copy(tly_pto_elements *e, const tly_pto_elements *from,
                           const tly_pto_tile *tile);

/* The reference's own array of words, by which its states are written down: an element's word; the
 * word of 64 bits of elements for packed tiles; the byte of eight predicates. */
uint32_t tly_pto_payload_len(const tly_pto_tile *tile);
uint64_t tly_pto_payload_read(const tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index);
void tly_pto_payload_write(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index,
                           uint64_t word);

#endif
