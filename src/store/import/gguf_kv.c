/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata of GGUF into that of a container, which has fewer types: integers become 64 bits, f32
 * becomes f64, both exactly. A string that is not UTF-8 becomes bytes; so do all strings of an
 * array in which one is not. */
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/utf8.h"
#include "store/import/gguf.h"

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64, NUM_TYPES };

#define MIN_ALIGNMENT 8
#define MAX_ALIGNMENT ((uint32_t)1 << 20)

static const struct row {
    uint8_t width; /* bytes in the file; 0: not fixed */
    uint8_t type;  /* tly_kv_type */
    uint8_t is_signed;
} rows[NUM_TYPES] = {
    [U8] = {1, TLY_KV_U64, 0},      [I8] = {1, TLY_KV_I64, 1},    [U16] = {2, TLY_KV_U64, 0},
    [I16] = {2, TLY_KV_I64, 1},     [U32] = {4, TLY_KV_U64, 0},   [I32] = {4, TLY_KV_I64, 1},
    [F32] = {4, TLY_KV_F64, 0},     [BOOL] = {1, TLY_KV_BOOL, 0}, [STRING] = {0, TLY_KV_STRING, 0},
    [ARRAY] = {0, TLY_KV_ARRAY, 0}, [U64] = {8, TLY_KV_U64, 0},   [I64] = {8, TLY_KV_I64, 1},
    [F64] = {8, TLY_KV_F64, 0},
};

static tly_status no_memory(tly_gguf *g) {
    return tly_base_fail(g->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                         "no memory for the metadata");
}

/* Memory for `len` bytes of metadata, counted with all other text of the file. */
static tly_status reserve(tly_gguf *g, uint64_t len, uint64_t offset, uint8_t **out) {
    if (len > g->import->text_limit - g->import->text_len || len > UINT32_MAX) {
        return tly_base_fail(g->error, TLY_LIMIT, offset, "text-len",
                             "an entry of the metadata takes %llu bytes, more than there is room "
                             "for",
                             (unsigned long long)len);
    }
    *out = tly_arena_alloc(&g->import->arena, (size_t)len, 8);
    if (*out == NULL) {
        return no_memory(g);
    }
    g->import->text_len += len;
    return TLY_OK;
}

static tly_status read_type(tly_gguf *g, uint32_t *out_type) {
    uint64_t type = 0, start = g->at;
    tly_status status = tly_gguf_int(g, 4, &type);
    if (status == TLY_OK && type >= NUM_TYPES) {
        return tly_base_fail(g->error, TLY_MALFORMED, start, "gguf-type",
                             "%llu is no type of metadata", (unsigned long long)type);
    }
    *out_type = (uint32_t)type;
    return status;
}

/* A number or boolean as the 64 bits that the container has for it. */
static tly_status read_number(tly_gguf *g, uint32_t type, uint64_t *out_number) {
    const struct row *row = &rows[type];
    uint64_t value, start = g->at;
    tly_status status = tly_gguf_int(g, row->width, &value);
    if (status != TLY_OK) {
        return status;
    }
    if (row->is_signed && row->width < 8) {
        uint32_t shift = 64 - 8u * row->width;
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    } else if (type == F32) {
        uint32_t bits = (uint32_t)value;
        float narrow;
        double wide;
        memcpy(&narrow, &bits, sizeof narrow);
        wide = narrow;
        memcpy(&value, &wide, sizeof value);
    } else if (type == BOOL && value > 1) {
        return tly_base_fail(g->error, TLY_MALFORMED, start, "gguf-bool",
                             "a boolean of the metadata is %llu, neither 0 nor 1",
                             (unsigned long long)value);
    }
    *out_number = value;
    return TLY_OK;
}

static tly_status read_string(tly_gguf *g, tly_kv *kv) {
    tly_gguf_string string;
    uint8_t *text = NULL;
    tly_status status = tly_gguf_skip_string(g, &string);
    if (status == TLY_OK) {
        status = reserve(g, string.len, string.at, &text);
    }
    if (status == TLY_OK) {
        status = tly_window_copy(&g->window, string.at, text, string.len);
    }
    if (status == TLY_OK) {
        kv->data = text;
        kv->data_len = string.len;
        if (tly_base_utf8_check(text, (size_t)string.len) != string.len) {
            kv->type = TLY_KV_BYTES;
        }
    }
    return status;
}

static tly_status read_numbers(tly_gguf *g, uint32_t type, uint64_t count, tly_kv *kv) {
    uint32_t width = type == BOOL ? 1 : 8;
    uint8_t *to = NULL;
    tly_status status;
    if (count > (g->import->files[0].len - g->at) / rows[type].width) {
        return tly_base_fail(g->error, TLY_TRUNCATED, g->at, "gguf-count",
                             "an array of %llu elements goes beyond the end of the file",
                             (unsigned long long)count);
    }
    status = reserve(g, count * width, g->at, &to);
    kv->data = to;
    kv->data_len = count * width;
    for (uint64_t i = 0; i < count && status == TLY_OK; i++, to += width) {
        uint64_t number;
        status = read_number(g, type, &number);
        if (status == TLY_OK && width == 1) {
            *to = (uint8_t)number;
        } else if (status == TLY_OK) {
            tly_base_store_u64(to, number);
        }
    }
    return status;
}

/* Strings come one behind the other with their lengths: once over them for the size, and once to
 * copy. */
static tly_status read_strings(tly_gguf *g, uint64_t count, tly_kv *kv) {
    uint64_t start = g->at, len = 0;
    uint8_t *to = NULL;
    tly_status status = TLY_OK;
    for (uint64_t i = 0; i < count && status == TLY_OK; i++) {
        tly_gguf_string string;
        status = tly_gguf_skip_string(g, &string);
        /* All strings lie inside of the file, so the sum of their bytes cannot overflow. */
        len += status == TLY_OK ? 4 + string.len : 0;
    }
    if (status == TLY_OK) {
        status = reserve(g, len, start, &to);
    }
    kv->data = to;
    kv->data_len = len;
    g->at = status == TLY_OK ? start : g->at;
    for (uint64_t i = 0; i < count && status == TLY_OK; i++) {
        tly_gguf_string string;
        status = tly_gguf_skip_string(g, &string);
        if (status == TLY_OK && 4 + string.len > len) {
            return tly_base_fail(g->error, TLY_TRUNCATED, string.at, "file-changed",
                                 "the file has changed while it was read");
        }
        if (status == TLY_OK) {
            tly_base_store_u32(to, (uint32_t)string.len);
            status = tly_window_copy(&g->window, string.at, to + 4, string.len);
        }
        if (status == TLY_OK) {
            if (tly_base_utf8_check(to + 4, (size_t)string.len) != string.len) {
                kv->element_type = TLY_KV_BYTES;
            }
            to += 4 + string.len;
            len -= 4 + string.len;
        }
    }
    return status;
}

static tly_status read_array(tly_gguf *g, tly_kv *kv) {
    uint32_t type = 0;
    uint64_t count = 0, start = g->at;
    tly_status status = read_type(g, &type);
    if (status == TLY_OK) {
        status = tly_gguf_int(g, 8, &count);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (type == ARRAY) {
        return tly_base_fail(g->error, TLY_UNSUPPORTED, start, "gguf-nested-array",
                             "the metadata has arrays of arrays, which a container cannot hold");
    }
    if (count > UINT32_MAX) {
        return tly_base_fail(g->error, TLY_LIMIT, start, "gguf-count",
                             "an array of the metadata has %llu elements; at most 2^32 - 1 are "
                             "taken",
                             (unsigned long long)count);
    }
    kv->element_type = rows[type].type;
    kv->count = (uint32_t)count;
    return type == STRING ? read_strings(g, count, kv) : read_numbers(g, type, count, kv);
}

static tly_status note_alignment(tly_gguf *g, uint32_t type, const tly_kv *kv, uint64_t offset) {
    if (type != U32 || kv->number < MIN_ALIGNMENT || kv->number > MAX_ALIGNMENT ||
        !tly_base_is_power_of_two(kv->number)) {
        return tly_base_fail(g->error, TLY_MALFORMED, offset, "gguf-alignment",
                             "general.alignment must be a u32, a power of two from %u to %u",
                             MIN_ALIGNMENT, MAX_ALIGNMENT);
    }
    g->alignment = (uint32_t)kv->number;
    return TLY_OK;
}

tly_status tly_gguf_read_kv(tly_gguf *g) {
    uint64_t start = g->at;
    tly_gguf_string key;
    tly_kv kv = {.key = NULL};
    uint32_t type = 0;
    tly_status status = tly_gguf_skip_string(g, &key);
    if (status == TLY_OK) {
        status = tly_gguf_name(g, &key, &kv.key);
    }
    if (status == TLY_OK) {
        status = read_type(g, &type);
    }
    if (status != TLY_OK) {
        return status;
    }
    kv.key_len = strlen(kv.key);
    kv.type = rows[type].type;
    status = type == STRING  ? read_string(g, &kv)
             : type == ARRAY ? read_array(g, &kv)
                             : read_number(g, type, &kv.number);
    if (status == TLY_OK && strcmp(kv.key, "general.alignment") == 0) {
        status = note_alignment(g, type, &kv, start);
    }
    return status == TLY_OK ? tly_import_add_kv(g->import, &kv, start, g->error) : status;
}
