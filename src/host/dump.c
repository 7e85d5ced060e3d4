/* SPDX-License-Identifier: Apache-2.0 */
#include "host/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tilery/panel.h>
#include <tilery/tensor.h>

#include "base/context.h"
#include "base/error.h"
#include "host/types.h"
#include "isa/table.h"
#include "pto/fields.h"
#include "pto/tile/store.h"

enum {
    PREFIX_LEN = 16,
    KEYS_PER_TILE = 5,
    KEY_LEN = 48,
    VALUE_LEN = 128,
    ALIGNMENT = 64,
    FRACTAL_ROWS = 16
};

/* One tile and all that its tensor needs to stay. */
typedef struct dumped {
    char name[32];
    const tly_pto_tile *tile;
    tly_pto_elements *elements;
    tly_descriptor descriptor;
    tly_buffer_info buffer;
    uint64_t shape[2];
    int64_t strides[2];
    uint64_t tile_shape[2];
    uint8_t profile[TLY_PANEL_MAX_LEN];
} dumped;

typedef struct metadata {
    char keys[KEYS_PER_TILE][KEY_LEN];
    char values[KEYS_PER_TILE - 1][VALUE_LEN];
    char *defined; /* allocated, defined_capacity bytes */
    size_t defined_capacity;
} metadata;

static void base_descriptor(dumped *d, tly_dtype dtype, uint64_t rows, uint64_t columns,
                            uint64_t len) {
    d->shape[0] = rows;
    d->shape[1] = columns;
    d->buffer = (tly_buffer_info){.byte_size = len, .alignment = ALIGNMENT};
    d->descriptor = (tly_descriptor){
        .dtype = dtype, .num_buffers = 1, .rank = 2, .shape = d->shape, .buffers = &d->buffer};
}

static void describe_strided(dumped *d, int64_t row_stride, int64_t column_stride) {
    d->strides[0] = row_stride;
    d->strides[1] = column_stride;
    d->descriptor.layout = TLY_LAYOUT_STRIDED;
    d->descriptor.strides = d->strides;
}

static void describe_fractal(dumped *d) {
    bool zn = d->tile->layout == TLY_PTO_LAYOUT_ZN;
    d->tile_shape[0] = FRACTAL_ROWS;
    d->tile_shape[1] = tly_pto_fractal_columns(d->tile->data_type);
    d->descriptor.layout = TLY_LAYOUT_TILED;
    d->descriptor.num_levels = 1;
    d->descriptor.levels[0] = (tly_tile_level){.tile_shape = d->tile_shape,
                                               .outer = zn ? TLY_TILE_ROW : TLY_TILE_COL,
                                               .inner = zn ? TLY_TILE_COL : TLY_TILE_ROW};
}

/* A tile of matrix cells is a panel: its profile travels with it. */
static tly_status describe_cells(dumped *d, tly_dtype dtype, tly_error *error) {
    static const char *const names[] = {"cube_m16", "cube_m32", "cube_n8"};
    tly_panel_profile profile;
    size_t len = 0;
    uint64_t panel_len = 0;
    tly_status status = tly_panel_by_name(names[d->tile->layout - TLY_PTO_LAYOUT_CUBE_M16], dtype,
                                          0, &profile, error);
    if (status == TLY_OK) {
        status = tly_panel_encode(&profile, d->profile, sizeof d->profile, &len, error);
    }
    if (status == TLY_OK) {
        status = tly_panel_bind(&profile, 2, d->shape, NULL, &panel_len, error);
    }
    if (status == TLY_OK && panel_len > d->buffer.byte_size) {
        d->buffer.byte_size = panel_len;
    }
    if (status == TLY_OK) {
        status = tly_descriptor_init_private(&d->descriptor, &d->buffer, dtype, 2, d->shape,
                                             TLY_PANEL_LAYOUT_TAG, TLY_PANEL_LAYOUT_ID, d->profile,
                                             (uint32_t)len, d->buffer.byte_size, ALIGNMENT);
    }
    return status;
}

static tly_status describe(dumped *d, tly_error *error) {
    const tly_pto_tile *t = d->tile;
    uint64_t len = tly_pto_tile_bytes(t);
    tly_pto_elements_prepare(d->elements, t); /* elements that were cleared are zero here too */
    if (t->storage_kind == TLY_PTO_PREDICATE) {
        base_descriptor(d, TLY_U8, 1, len, len);
        describe_strided(d, (int64_t)len, 1);
        return TLY_OK;
    }
    if (t->layout == TLY_PTO_LAYOUT_IMPLEMENTATION) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "dump-layout",
                             "%s has a layout that only its implementation knows", d->name);
    }
    if (d->elements->extensions == TLY_PTO_WORDS_KEPT) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "dump-carriers",
                             "%s holds results of the raw-carrier profile with more bits than its "
                             "element type has; store it with TSTORE first",
                             d->name);
    }
    bool fractal = t->layout == TLY_PTO_LAYOUT_ZN || t->layout == TLY_PTO_LAYOUT_NZ;
    tly_dtype dtype = tly_host_dtype(t->data_type);
    base_descriptor(d, dtype, fractal ? t->rows : t->valid_rows,
                    fractal ? t->columns : t->valid_columns, len);
    if (fractal) {
        describe_fractal(d);
    } else if (t->layout == TLY_PTO_LAYOUT_ROW_MAJOR) {
        describe_strided(d, t->columns, 1);
    } else if (t->layout == TLY_PTO_LAYOUT_COLUMN_MAJOR) {
        describe_strided(d, 1, t->rows);
    } else {
        return describe_cells(d, dtype, error);
    }
    return TLY_OK;
}

/* "0-31,40,42-63"; the text grows with the number of runs. */
static tly_status write_defined(const tly_context *context, metadata *meta, const dumped *d,
                                tly_error *error) {
    uint32_t num = tly_pto_tile_elements(d->tile);
    size_t len = 0;
    for (uint32_t i = 0; i < num;) {
        uint32_t first = i;
        if (!tly_pto_element_is_defined(d->elements, d->tile, i)) {
            i++;
            continue;
        }
        while (i < num && tly_pto_element_is_defined(d->elements, d->tile, i)) {
            i++;
        }
        if (meta->defined_capacity - len < 32) {
            size_t capacity = meta->defined_capacity * 2;
            char *grown =
                tly_base_grow(context, meta->defined, meta->defined_capacity, capacity, 1);
            if (grown == NULL) {
                return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "out of memory");
            }
            meta->defined = grown;
            meta->defined_capacity = capacity;
        }
        len +=
            (size_t)snprintf(meta->defined + len, meta->defined_capacity - len,
                             i - 1 > first ? "%s%u-%u" : "%s%u", len > 0 ? "," : "", first, i - 1);
    }
    meta->defined[len] = '\0';
    return TLY_OK;
}

static void describe_words(metadata *meta, const dumped *d) {
    static const char *const names[KEYS_PER_TILE] = {"type", "layout", "valid", "elements",
                                                     "defined"};
    const tly_pto_tile *t = d->tile;
    tly_pto_place place;
    const char *dtype = tly_isa_name_of(TLY_NAMES_DTYPE, t->data_type);
    for (uint32_t i = 0; i < KEYS_PER_TILE; i++) {
        snprintf(meta->keys[i], KEY_LEN, "pto.%s.%s", d->name, names[i]);
    }
    tly_pto_place_find(NULL, "tile[0].layout", strlen("tile[0].layout"), &place);
    snprintf(meta->values[0], VALUE_LEN, "%s",
             t->storage_kind == TLY_PTO_PREDICATE ? "predicate" : dtype);
    snprintf(meta->values[1], VALUE_LEN, "%s", tly_pto_field_value_name(place.field, t->layout));
    snprintf(meta->values[2], VALUE_LEN, "%u x %u", t->valid_rows, t->valid_columns);
    snprintf(meta->values[3], VALUE_LEN, "%u x %u", t->rows, t->columns);
}

/* One tile, if it is allocated. */
static tly_status collect_tile(const tly_pto_machine *m, bool shared, uint32_t index,
                               const char *prefix, dumped *all, uint32_t *num, tly_error *error) {
    dumped *d = &all[*num];
    d->tile = shared ? &m->core.shared_tiles[index].tile : &m->core.tiles[index];
    d->elements = shared ? &m->tiles->shared[index] : &m->tiles->local[index];
    if (!d->tile->allocated) {
        return TLY_OK;
    }
    snprintf(d->name, sizeof d->name, "%s%s.%u", prefix, shared ? "shared" : "tile", index);
    ++*num;
    return describe(d, error);
}

/* The allocated tiles, described, and their number; shared tiles are the same in all machines. */
static tly_status collect(const tly_pto_machine *const *machines, uint32_t num_machines,
                          dumped *all, uint32_t *out_num, tly_error *error) {
    tly_status status = TLY_OK;
    *out_num = 0;
    for (uint32_t i = 0; i < num_machines * TLY_PTO_NUM_TILES && status == TLY_OK; i++) {
        char prefix[PREFIX_LEN] = "";
        if (num_machines > 1) {
            snprintf(prefix, sizeof prefix, "pe%u.", i / TLY_PTO_NUM_TILES);
        }
        status = collect_tile(machines[i / TLY_PTO_NUM_TILES], false, i % TLY_PTO_NUM_TILES, prefix,
                              all, out_num, error);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES && status == TLY_OK; i++) {
        status = collect_tile(machines[0], true, i, "", all, out_num, error);
    }
    return status;
}

static tly_kv text_kv(const char *key, const char *value) {
    return (tly_kv){.key = key,
                    .key_len = strlen(key),
                    .type = TLY_KV_STRING,
                    .data = value,
                    .data_len = strlen(value)};
}

static tly_status write_all(const tly_context *context, const char *path, const dumped *all,
                            uint32_t num, tly_kv *kv, tly_error *error) {
    tly_store_writer *writer = NULL;
    tly_store_writer_options options = {.size = sizeof options,
                                        .tensor_count = num,
                                        .kv = kv,
                                        .num_kv = (size_t)num * KEYS_PER_TILE};
    tly_status status = tly_store_writer_new(context, path, &options, &writer, error);
    for (uint32_t i = 0; i < num && status == TLY_OK; i++) {
        const dumped *d = &all[i];
        const void *bytes = d->elements->bytes;
        status =
            tly_store_writer_add(writer, d->name, strlen(d->name), &d->descriptor, &bytes, error);
    }
    if (status == TLY_OK) {
        status = tly_store_writer_commit(writer, error);
    }
    tly_store_writer_free(writer);
    return status;
}

tly_status tly_host_dump_tiles(const tly_context *context, const tly_pto_machine *const *machines,
                               uint32_t num_machines, const char *path, uint64_t *out_num_tiles,
                               tly_error *error) {
    enum { FIRST_TEXT = 256 };
    const size_t most = (size_t)num_machines * TLY_PTO_NUM_TILES + TLY_PTO_NUM_SHARED_TILES;
    uint32_t num = 0;
    dumped *all = tly_base_calloc(context, sizeof(*all) * most, _Alignof(dumped));
    metadata *meta = tly_base_calloc(context, sizeof(*meta) * most, _Alignof(metadata));
    tly_kv *kv = tly_base_calloc(context, sizeof(*kv) * most * KEYS_PER_TILE, _Alignof(tly_kv));
    tly_status status =
        all != NULL && meta != NULL && kv != NULL
            ? collect(machines, num_machines, all, &num, error)
            : tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "out of memory");
    for (uint32_t i = 0; i < num && status == TLY_OK; i++) {
        describe_words(&meta[i], &all[i]);
        meta[i].defined = tly_base_alloc(context, FIRST_TEXT, 1);
        meta[i].defined_capacity = meta[i].defined != NULL ? FIRST_TEXT : 0;
        status = meta[i].defined != NULL
                     ? write_defined(context, &meta[i], &all[i], error)
                     : tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "out of memory");
        for (uint32_t k = 0; k < KEYS_PER_TILE && status == TLY_OK; k++) {
            kv[i * KEYS_PER_TILE + k] = text_kv(
                meta[i].keys[k], k + 1 < KEYS_PER_TILE ? meta[i].values[k] : meta[i].defined);
        }
    }
    if (status == TLY_OK) {
        status = write_all(context, path, all, num, kv, error);
    }
    *out_num_tiles = status == TLY_OK ? num : 0;
    for (uint32_t i = 0; meta != NULL && i < num; i++) {
        tly_base_free(context, meta[i].defined, meta[i].defined_capacity, 1);
    }
    tly_base_free(context, all, sizeof(*all) * most, _Alignof(dumped));
    tly_base_free(context, meta, sizeof(*meta) * most, _Alignof(metadata));
    tly_base_free(context, kv, sizeof(*kv) * most * KEYS_PER_TILE, _Alignof(tly_kv));
    return status;
}

tly_status tly_host_add_tile(const tly_pto_machine *m, uint32_t index, tly_store_writer *writer,
                             const char *key, tly_error *error) {
    dumped d = {.tile = &m->core.tiles[index], .elements = &m->tiles->local[index]};
    snprintf(d.name, sizeof d.name, "tile %u", index);
    if (!d.tile->allocated) {
        return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "tile-allocated",
                             "%s is not allocated", d.name);
    }
    tly_status status = describe(&d, error);
    const void *bytes = d.elements->bytes;
    return status == TLY_OK
               ? tly_store_writer_add(writer, key, strlen(key), &d.descriptor, &bytes, error)
               : status;
}
