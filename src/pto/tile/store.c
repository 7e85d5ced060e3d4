/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/store.h"

#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"

/* Room for one tile of `bytes`: its bytes, its words, a bit for each four-bit element. */
enum { WORDS_LEN = TLY_PTO_WIDE_ELEMENTS * 8 };

static size_t map_len(uint32_t bytes) {
    return (size_t)bytes * 2 / 8;
}

static size_t place_len(uint32_t bytes) {
    return bytes + WORDS_LEN + map_len(bytes);
}

static uint8_t *place(tly_pto_elements *e, uint8_t *at, uint32_t bytes) {
    e->bytes = at;
    e->words = (uint64_t *)(void *)(at + bytes);
    e->map = (uint64_t *)(void *)(at + bytes + WORDS_LEN);
    e->extensions = TLY_PTO_BY_EITHER;
    return at + place_len(bytes);
}

tly_status tly_pto_tile_store_new(const tly_context *context, tly_pto_tile_store **out_store,
                                  tly_error *error) {
    tly_pto_tile_store *s = tly_base_calloc(context, sizeof(*s), _Alignof(tly_pto_tile_store));
    if (s == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "", "no memory for a store of tiles");
    }
    s->mapping_len =
        place_len(TLY_PTO_LOCAL_TILE_MAX) * TLY_PTO_NUM_TILES +
        place_len(TLY_PTO_SHARED_TILE_MAX) * (TLY_PTO_NUM_SHARED_TILES + TLY_PTO_NUM_SCRATCH_TILES);
    s->mapping = mmap(NULL, s->mapping_len, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->mapping == MAP_FAILED) {
        size_t len = s->mapping_len;
        tly_base_free(context, s, sizeof(*s), _Alignof(tly_pto_tile_store));
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "pto-tiles",
                             "no room for %zu bytes of address space for tiles", len);
    }
    uint8_t *at = s->mapping;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        at = place(&s->local[i], at, TLY_PTO_LOCAL_TILE_MAX);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        at = place(&s->own_shared[i], at, TLY_PTO_SHARED_TILE_MAX);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SCRATCH_TILES; i++) {
        at = place(&s->scratch[i], at, TLY_PTO_SHARED_TILE_MAX);
    }
    s->shared = s->own_shared;
    *out_store = s;
    return TLY_OK;
}

void tly_pto_tile_store_free(const tly_context *context, tly_pto_tile_store *store) {
    if (store != NULL) {
        munmap(store->mapping, store->mapping_len);
        tly_base_free(context, store, sizeof(*store), _Alignof(tly_pto_tile_store));
    }
}

void tly_pto_tile_store_reset(tly_pto_tile_store *store) {
    store->summed = false;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        tly_pto_elements_clear(&store->local[i]);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        tly_pto_elements_clear(&store->shared[i]);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SCRATCH_TILES; i++) {
        tly_pto_elements_clear(&store->scratch[i]);
    }
}

void tly_pto_elements_clear(tly_pto_elements *e) {
    if (e->used > e->stale) {
        e->stale = e->used;
    }
    e->used = 0;
    e->defined = TLY_PTO_DEFINED_NONE;
    e->extensions = TLY_PTO_BY_EITHER;
}

void tly_pto_elements_prepare(tly_pto_elements *e, const tly_pto_tile *tile) {
    if (e->stale != 0) {
        memset(e->bytes, 0, e->stale);
        e->stale = 0;
    }
    uint32_t len = tly_pto_tile_bytes(tile);
    if (len > e->used) {
        e->used = len;
    }
}

void tly_pto_elements_overwrite(tly_pto_elements *e, const tly_pto_tile *tile,
                                uint32_t extensions) {
    uint32_t len = tly_pto_tile_bytes(tile);
    uint32_t old = e->used > e->stale ? e->used : e->stale;
    if (old > len) {
        memset(e->bytes + len, 0, old - len);
    }
    e->stale = 0;
    e->used = len;
    e->extensions = (uint8_t)extensions;
}

/* ------------------------------------------------------------------------------------------ */

static uint64_t bits_at(const uint8_t *bytes, uint32_t element_bits, uint32_t index) {
    switch (element_bits) {
    case 4:
        return bytes[index / 2] >> (index % 2 * 4) & 15;
    case 8:
        return bytes[index];
    case 16:
        return tly_base_load_u16(bytes + (size_t)index * 2);
    case 32:
        return tly_base_load_u32(bytes + (size_t)index * 4);
    default:
        return tly_base_load_u64(bytes + (size_t)index * 8);
    }
}

static uint64_t by_sign(uint64_t bits, uint32_t element_bits) {
    uint32_t shift = 64 - element_bits;
    return (uint64_t)((int64_t)(bits << shift) >> shift);
}

/* How the bits of an element of this tile become its word. */
static bool sign_extends(const tly_pto_elements *e, const tly_pto_tile *tile) {
    return e->extensions == TLY_PTO_BY_SIGN && !tly_pto_tile_is_packed(tile);
}

static bool words_kept(const tly_pto_elements *e) {
    return e->extensions == TLY_PTO_WORDS_KEPT;
}

uint64_t tly_pto_element_read(const tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index) {
    if (e->stale != 0) {
        return 0;
    }
    if (words_kept(e)) {
        return e->words[index];
    }
    uint32_t bits = tly_pto_dtype_bits(tile->data_type);
    uint64_t value = bits_at(e->bytes, bits, index);
    return sign_extends(e, tile) ? by_sign(value, bits) : value;
}

#define READ_RUN(BITS, STEP)                                                                       \
    static void read_##BITS(const uint8_t *bytes, uint32_t count, bool sign, uint64_t *out) {      \
        if (sign) {                                                                                \
            for (uint32_t i = 0; i < count; i++) {                                                 \
                out[i] = (uint64_t)(int64_t)(int##BITS##_t)STEP;                                   \
            }                                                                                      \
        } else {                                                                                   \
            for (uint32_t i = 0; i < count; i++) {                                                 \
                out[i] = STEP;                                                                     \
            }                                                                                      \
        }                                                                                          \
    }
READ_RUN(8, bytes[i])
READ_RUN(16, tly_base_load_u16(bytes + (size_t)i * 2))
READ_RUN(32, tly_base_load_u32(bytes + (size_t)i * 4))
READ_RUN(64, tly_base_load_u64(bytes + (size_t)i * 8))
#undef READ_RUN

void tly_pto_elements_read(const tly_pto_elements *e, const tly_pto_tile *tile, uint32_t first,
                           uint32_t count, uint64_t *out_words) {
    if (e->stale != 0) {
        memset(out_words, 0, (size_t)count * 8);
        return;
    }
    if (words_kept(e)) {
        memcpy(out_words, e->words + first, (size_t)count * 8);
        return;
    }
    bool sign = sign_extends(e, tile);
    switch (tly_pto_dtype_bits(tile->data_type)) {
    case 8:
        read_8(e->bytes + first, count, sign, out_words);
        return;
    case 16:
        read_16(e->bytes + (size_t)first * 2, count, sign, out_words);
        return;
    case 32:
        read_32(e->bytes + (size_t)first * 4, count, sign, out_words);
        return;
    case 64:
        read_64(e->bytes + (size_t)first * 8, count, sign, out_words);
        return;
    default:
        for (uint32_t i = 0; i < count; i++) {
            uint64_t value = bits_at(e->bytes, 4, first + i);
            out_words[i] = sign ? by_sign(value, 4) : value;
        }
    }
}

/* ------------------------------------------------------------------------------------------ */

/* Each writes the low bits of the words and returns which extensions give all of them back. */
#define WRITE_RUN(BITS, STORE)                                                                     \
    static uint32_t write_##BITS(uint8_t *bytes, uint32_t count, const uint64_t *words) {          \
        uint64_t zeros = 0, sign = 0;                                                              \
        for (uint32_t i = 0; i < count; i++) {                                                     \
            uint##BITS##_t v = (uint##BITS##_t)words[i];                                           \
            STORE;                                                                                 \
            zeros |= words[i] ^ v;                                                                 \
            sign |= words[i] ^ (uint64_t)(int64_t)(int##BITS##_t)v;                                \
        }                                                                                          \
        return (zeros == 0 ? TLY_PTO_BY_ZEROS : 0) | (sign == 0 ? TLY_PTO_BY_SIGN : 0);            \
    }
WRITE_RUN(8, bytes[i] = v)
WRITE_RUN(16, tly_base_store_u16(bytes + (size_t)i * 2, v))
WRITE_RUN(32, tly_base_store_u32(bytes + (size_t)i * 4, v))
WRITE_RUN(64, tly_base_store_u64(bytes + (size_t)i * 8, v))
#undef WRITE_RUN

static uint32_t write_4(uint8_t *bytes, uint32_t first, uint32_t count, const uint64_t *words) {
    uint64_t zeros = 0, sign = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *at = &bytes[(first + i) / 2];
        uint32_t shift = (first + i) % 2 * 4;
        uint64_t v = words[i] & 15;
        *at = (uint8_t)((*at & ~(15u << shift)) | v << shift);
        zeros |= words[i] ^ v;
        sign |= words[i] ^ by_sign(v, 4);
    }
    return (zeros == 0 ? TLY_PTO_BY_ZEROS : 0) | (sign == 0 ? TLY_PTO_BY_SIGN : 0);
}

static uint32_t write_run(uint8_t *bytes, uint32_t element_bits, uint32_t first, uint32_t count,
                          const uint64_t *words) {
    switch (element_bits) {
    case 4:
        return write_4(bytes, first, count, words);
    case 8:
        return write_8(bytes + first, count, words);
    case 16:
        return write_16(bytes + (size_t)first * 2, count, words);
    case 32:
        return write_32(bytes + (size_t)first * 4, count, words);
    default:
        return write_64(bytes + (size_t)first * 8, count, words);
    }
}

/* Begins to keep words, because none of the extensions gives all of them back any more. */
static void keep_words(tly_pto_elements *e, const tly_pto_tile *tile) {
    tly_pto_elements_read(e, tile, 0, tly_pto_tile_elements(tile), e->words);
    e->extensions = TLY_PTO_WORDS_KEPT;
}

void tly_pto_elements_write(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t first,
                            uint32_t count, const uint64_t *words) {
    tly_pto_elements_prepare(e, tile);
    uint32_t bits = tly_pto_dtype_bits(tile->data_type);
    if (tly_pto_tile_is_packed(tile) || words_kept(e)) {
        write_run(e->bytes, bits, first, count, words);
    } else {
        uint32_t before = e->extensions;
        uint32_t fit = before & write_run(e->bytes, bits, first, count, words);
        if (fit != 0) {
            e->extensions = (uint8_t)fit;
            return;
        }
        keep_words(e, tile);
    }
    if (words_kept(e)) {
        memcpy(e->words + first, words, (size_t)count * 8);
    }
}

void tly_pto_element_write(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index,
                           uint64_t word) {
    tly_pto_elements_write(e, tile, index, 1, &word);
}

bool tly_pto_predicate_read(const tly_pto_elements *e, uint32_t index) {
    return e->stale == 0 && (e->bytes[index / 8] >> index % 8 & 1) != 0;
}

void tly_pto_predicate_write(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index,
                             bool value) {
    tly_pto_elements_prepare(e, tile);
    uint8_t *at = &e->bytes[index / 8];
    *at = (uint8_t)((*at & ~(1u << index % 8)) | (uint32_t)value << index % 8);
}

/* ------------------------------------------------------------------------------------------ */

static bool in_valid_region(const tly_pto_tile *tile, uint32_t index) {
    uint32_t row, column;
    tly_pto_tile_position(tile, index, &row, &column);
    return row < tile->valid_rows && column < tile->valid_columns;
}

bool tly_pto_element_is_defined(const tly_pto_elements *e, const tly_pto_tile *tile,
                                uint32_t index) {
    switch (e->defined) {
    case TLY_PTO_DEFINED_NONE:
        return false;
    case TLY_PTO_DEFINED_VALID:
        return in_valid_region(tile, index);
    case TLY_PTO_DEFINED_ALL:
        return true;
    default:
        return (e->map[index / 64] >> index % 64 & 1) != 0;
    }
}

/* Writes the definedness down bit by bit. */
static void make_map(tly_pto_elements *e, const tly_pto_tile *tile) {
    uint32_t count = tly_pto_tile_elements(tile);
    if (e->defined == TLY_PTO_DEFINED_VALID) {
        memset(e->map, 0, (count + 63) / 64 * 8);
        for (uint32_t row = 0; row < tile->valid_rows; row++) {
            for (uint32_t column = 0; column < tile->valid_columns; column++) {
                uint32_t i = tly_pto_tile_index(tile, row, column);
                e->map[i / 64] |= UINT64_C(1) << i % 64;
            }
        }
    } else if (e->defined != TLY_PTO_DEFINED_MAP) {
        memset(e->map, e->defined == TLY_PTO_DEFINED_ALL ? 0xff : 0, (count + 63) / 64 * 8);
    }
    e->defined = TLY_PTO_DEFINED_MAP;
}

void tly_pto_element_define(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index,
                            bool defined) {
    if (tly_pto_element_is_defined(e, tile, index) == defined) {
        return;
    }
    make_map(e, tile);
    e->map[index / 64] ^= UINT64_C(1) << index % 64;
}

bool tly_pto_valid_region_defined(const tly_pto_elements *e, const tly_pto_tile *tile) {
    if (e->defined != TLY_PTO_DEFINED_MAP) {
        return e->defined != TLY_PTO_DEFINED_NONE || tile->valid_rows == 0 ||
               tile->valid_columns == 0;
    }
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        for (uint32_t column = 0; column < tile->valid_columns; column++) {
            if (!tly_pto_element_is_defined(e, tile, tly_pto_tile_index(tile, row, column))) {
                return false;
            }
        }
    }
    return true;
}

void tly_pto_elements_copy(tly_pto_elements *e, const tly_pto_elements *from,
                           const tly_pto_tile *tile) {
    if (from->stale != 0) {
        tly_pto_elements_clear(e);
    } else {
        tly_pto_elements_overwrite(e, tile, from->extensions);
        memcpy(e->bytes, from->bytes, e->used);
        if (words_kept(from)) {
            memcpy(e->words, from->words, (size_t)tly_pto_tile_elements(tile) * 8);
        }
    }
    e->defined = from->defined;
    if (from->defined == TLY_PTO_DEFINED_MAP) {
        memcpy(e->map, from->map, (size_t)(tly_pto_tile_elements(tile) + 63) / 64 * 8);
    }
}

/* ------------------------------------------------------------------------------------------ */

static bool payload_is_packed(const tly_pto_tile *tile) {
    return tile->storage_kind == TLY_PTO_NUMERIC && tly_pto_tile_is_packed(tile);
}

uint32_t tly_pto_payload_len(const tly_pto_tile *tile) {
    if (tile->storage_kind == TLY_PTO_PREDICATE) {
        return tly_pto_tile_bytes(tile);
    }
    return payload_is_packed(tile) ? (tly_pto_tile_bytes(tile) + 7) / 8
                                   : tly_pto_tile_elements(tile);
}

uint64_t tly_pto_payload_read(const tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index) {
    if (e->stale != 0) {
        return 0;
    }
    if (tile->storage_kind == TLY_PTO_PREDICATE) {
        return e->bytes[index];
    }
    return payload_is_packed(tile) ? tly_base_load_u64(e->bytes + (size_t)index * 8)
                                   : tly_pto_element_read(e, tile, index);
}

void tly_pto_payload_write(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index,
                           uint64_t word) {
    if (tile->storage_kind == TLY_PTO_NUMERIC && !payload_is_packed(tile)) {
        tly_pto_element_write(e, tile, index, word);
        return;
    }
    tly_pto_elements_prepare(e, tile);
    if (tile->storage_kind == TLY_PTO_PREDICATE) {
        e->bytes[index] = (uint8_t)word;
    } else {
        tly_base_store_u64(e->bytes + (size_t)index * 8, word);
    }
}
