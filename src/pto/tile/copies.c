/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/copies.h"

#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"

enum {
    NUM_SLOTS = 32,
    SLOT_LEN = 32768,
    SCRATCH_LEN = 262144,
    SCRATCH_FROM = 16384 /* blocks of this size and more are the engine's work space */
};

/* What decides a plan. Compared as bytes, so it has no holes. */
typedef struct copy_key {
    uint64_t stride;
    uint64_t padding;
    uint32_t rows;
    uint32_t columns;
    uint32_t valid_rows;
    uint32_t valid_columns;
    uint32_t k_repeat;
    uint32_t n_repeat;
    uint16_t layout;
    uint16_t bits;
    uint16_t kind;
    uint16_t used;
} copy_key;

/* A piece of the reservation that is handed out from its start. */
typedef struct arena {
    uint8_t *start;
    size_t used;
    size_t len;
} arena;

struct tly_pto_transport {
    tly_context *context; /* whose memory is `slot` and `scratch` */
    void *mapping;
    arena slot;
    arena scratch;
    uint32_t next; /* slot to be given up next */
    uint32_t last; /* slot used last */
    copy_key keys[NUM_SLOTS];
    tly_pack_plan *plans[NUM_SLOTS];
};

enum { MAPPING_LEN = SLOT_LEN * (NUM_SLOTS + 1) + SCRATCH_LEN };

/* Blocks are never given back one by one: an arena begins anew with its slot. */
static void *resize(void *user, void *old, size_t old_size, size_t new_size, size_t alignment) {
    struct tly_pto_transport *t = user;
    (void)old_size;
    if (new_size == 0 || old != NULL) {
        return NULL;
    }
    arena *from = new_size >= SCRATCH_FROM ? &t->scratch : &t->slot;
    size_t at = (from->used + alignment - 1) / alignment * alignment;
    if (at > from->len || new_size > from->len - at) {
        return NULL;
    }
    from->used = at + new_size;
    return from->start + at;
}

static void begin_slot(struct tly_pto_transport *t, uint32_t slot) {
    uint8_t *start = (uint8_t *)t->mapping + SCRATCH_LEN;
    t->slot = (arena){start + (size_t)slot * SLOT_LEN, 0, SLOT_LEN};
    t->scratch = (arena){t->mapping, 0, SCRATCH_LEN};
}

void tly_pto_transport_free(const tly_context *context, struct tly_pto_transport *t) {
    if (t != NULL) {
        if (t->mapping != MAP_FAILED) {
            munmap(t->mapping, MAPPING_LEN);
        }
        tly_base_free(context, t, sizeof(*t), _Alignof(struct tly_pto_transport));
    }
}

tly_status tly_pto_transport_new(const tly_context *context, struct tly_pto_transport **out,
                                 tly_error *error) {
    struct tly_pto_transport *t =
        tly_base_calloc(context, sizeof(*t), _Alignof(struct tly_pto_transport));
    if (t == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "", "out of memory");
    }
    t->mapping = mmap(NULL, MAPPING_LEN, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t->mapping == MAP_FAILED) {
        tly_pto_transport_free(context, t);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "pto-transport",
                             "no room for plans of tile copies");
    }
    begin_slot(t, NUM_SLOTS); /* the context itself stands behind all slots */
    tly_context_options options = {.size = sizeof(options),
                                   .allocator = {resize, t},
                                   .simd = (int32_t)tly_context_simd(context)};
    tly_status status = tly_context_new(&options, &t->context, error);
    if (status != TLY_OK) {
        tly_pto_transport_free(context, t);
        return status;
    }
    *out = t;
    return TLY_OK;
}

static void row_nest(const tly_pto_rows *rows, tly_nest *out) {
    uint32_t bits = tly_pto_dtype_bits(rows->dtype);
    int64_t stride = rows->num_rows > 1 ? (int64_t)rows->stride * 8 / (int64_t)bits : 0;
    out->rank = 2;
    out->num_loops = 2;
    out->shape[0] = rows->num_rows;
    out->shape[1] = rows->num_columns;
    out->loops[0] = (tly_loop){.axis = 0, .step = 1, .count = rows->num_rows, .stride = stride};
    out->loops[1] = (tly_loop){.axis = 1, .step = 1, .count = rows->num_columns, .stride = 1};
}

/* The engine writes padding as the machine's own integers; a tile's bytes are little-endian. */
static uint64_t padding_bytes(uint64_t padding, uint32_t bits) {
    uint8_t bytes[8];
    uint16_t two;
    uint32_t four;
    switch (bits) {
    case 16:
        tly_base_store_u16(bytes, (uint16_t)padding);
        memcpy(&two, bytes, sizeof(two));
        return two;
    case 32:
        tly_base_store_u32(bytes, (uint32_t)padding);
        memcpy(&four, bytes, sizeof(four));
        return four;
    case 64:
        tly_base_store_u64(bytes, padding);
        memcpy(&padding, bytes, sizeof(padding));
        return padding;
    default:
        return tly_pto_low_bits(padding, bits);
    }
}

static void make_plan(struct tly_pto_transport *t, uint32_t slot, const tly_pto_tile *tile,
                      const tly_pto_rows *rows, const copy_key *key) {
    tly_nest tile_nest, memory_nest;
    tly_pack_options options = {
        .size = sizeof(options), .padding = padding_bytes(key->padding, key->bits), .streaming = 1};
    bool load = key->kind == TLY_PTO_COPY_LOAD;
    tly_pto_tile_nest(tile, &tile_nest);
    row_nest(rows, &memory_nest);
    begin_slot(t, slot);
    t->keys[slot] = *key;
    t->plans[slot] = NULL;
    if (tly_pack_plan_new(t->context, load ? &tile_nest : &memory_nest,
                          load ? &memory_nest : &tile_nest, key->bits, &options, &t->plans[slot],
                          NULL) != TLY_OK) {
        t->plans[slot] = NULL;
    }
}

const tly_pack_plan *tly_pto_copy_plan(struct tly_pto_transport *t, const tly_pto_tile *tile,
                                       const tly_pto_rows *rows, tly_pto_copy_kind kind,
                                       uint64_t padding) {
    const copy_key key = {.stride = rows->num_rows > 1 ? rows->stride : 0,
                          .padding = padding,
                          .rows = tile->rows,
                          .columns = tile->columns,
                          .valid_rows = tile->valid_rows,
                          .valid_columns = tile->valid_columns,
                          .k_repeat = tile->cube_k_repeat,
                          .n_repeat = tile->cube_n_repeat,
                          .layout = tile->layout,
                          .bits = (uint16_t)tly_pto_dtype_bits(tile->data_type),
                          .kind = (uint16_t)kind,
                          .used = 1};
    if (!tly_pto_layout_is_cube(tile->layout) && !tly_pto_generic_indexing(tile)) {
        return NULL; /* elements meet: no nest says which of them stays */
    }
    if (memcmp(&t->keys[t->last], &key, sizeof(key)) == 0) {
        return t->plans[t->last];
    }
    for (uint32_t i = 0; i < NUM_SLOTS; i++) {
        if (memcmp(&t->keys[i], &key, sizeof(key)) == 0) {
            t->last = i;
            return t->plans[i];
        }
    }
    t->last = t->next;
    t->next = (t->next + 1) % NUM_SLOTS;
    make_plan(t, t->last, tile, rows, &key);
    return t->plans[t->last];
}
