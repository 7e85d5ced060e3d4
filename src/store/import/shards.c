/* SPDX-License-Identifier: Apache-2.0 */
/* model.safetensors.index.json: which shard has which tensor. The shards must be exactly what the
 * index says: no tensor more, none less, none elsewhere. */
#include "store/import/shards.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "store/import/json.h"

#define MAX_LOCATION 4096

typedef struct mapping {
    const char *name;
    const char *location;
    uint64_t offset; /* of the name in the index */
} mapping;

typedef struct reader {
    tly_import *import;
    tly_error *error;
    tly_import_json json;
    mapping *maps;
    size_t num, cap;
    uint32_t *by_name;    /* maps sorted by name; num */
    size_t num_seen;      /* tensors found in shards so far */
    const char *location; /* of the shard being read */
    int has_map;
} reader;

int tly_import_looks_like_index(const tly_import *import) {
    uint8_t head[8];
    /* The length of a header that anybody takes has a zero byte at its end; JSON has none. */
    return import->files[0].len >= sizeof head &&
           tly_import_file_read(&import->files[0], 0, head, sizeof head, NULL) == TLY_OK &&
           head[0] == '{' && head[7] != 0;
}

static tly_status fail(reader *r, uint64_t offset, const char *rule, const char *name,
                       const char *problem) {
    char shown[160];
    return tly_base_fail(r->error, TLY_MALFORMED, offset, rule, "tensor \"%s\" %s",
                         tly_base_printable(shown, sizeof shown, name, strlen(name)), problem);
}

static tly_status add_mapping(reader *r, const tly_import_json_string *key,
                              const tly_import_json_string *value) {
    mapping m = {NULL, NULL, key->offset};
    void *array = r->maps;
    tly_status status;
    if (r->num >= r->import->options.num_tensors) {
        return tly_base_fail(r->error, TLY_LIMIT, key->offset, "num-tensors",
                             "the index has more than %llu tensors, the limit",
                             (unsigned long long)r->import->options.num_tensors);
    }
    if (value->len > MAX_LOCATION) {
        return tly_base_fail(r->error, TLY_MALFORMED, value->offset, "external-location",
                             "the name of a shard has more than %d bytes", MAX_LOCATION);
    }
    status = tly_import_name(r->import, key->text, key->len, key->offset, &m.name, r->error);
    /* Neighbours are in one shard as a rule, so its name is kept once for them. */
    if (status == TLY_OK && r->num != 0 &&
        tly_import_json_is(value, r->maps[r->num - 1].location)) {
        m.location = r->maps[r->num - 1].location;
    } else if (status == TLY_OK) {
        status = tly_import_text(r->import, value->text, value->len, value->offset, &m.location,
                                 r->error);
    }
    if (status == TLY_OK) {
        status = tly_import_reserve(r->import, &array, r->num, &r->cap, sizeof *r->maps, r->error);
        r->maps = array;
    }
    if (status == TLY_OK) {
        r->maps[r->num++] = m;
    }
    return status;
}

static tly_status read_map(reader *r) {
    int first = 1, more;
    tly_status status = tly_import_json_enter(&r->json, '{');
    while (status == TLY_OK) {
        tly_import_json_string key, value;
        status = tly_import_json_next(&r->json, '{', &first, &more);
        if (status != TLY_OK || !more) {
            break;
        }
        status = tly_import_json_key(&r->json, &key);
        if (status == TLY_OK) {
            status = tly_import_json_read_string(&r->json, &value);
        }
        if (status == TLY_OK) {
            status = add_mapping(r, &key, &value);
        }
    }
    return status;
}

/* Other keys than weight_map (metadata with a total size) are checked as JSON and left. */
static tly_status read_top(reader *r) {
    int first = 1, more;
    tly_status status = tly_import_json_enter(&r->json, '{');
    while (status == TLY_OK) {
        tly_import_json_string key;
        status = tly_import_json_next(&r->json, '{', &first, &more);
        if (status != TLY_OK || !more) {
            break;
        }
        status = tly_import_json_key(&r->json, &key);
        if (status == TLY_OK && tly_import_json_is(&key, "weight_map")) {
            if (r->has_map) {
                return tly_base_fail(r->error, TLY_MALFORMED, key.offset, "duplicate-key",
                                     "weight_map stands twice");
            }
            r->has_map = 1;
            status = read_map(r);
        } else if (status == TLY_OK) {
            status = tly_import_json_skip(&r->json);
        }
    }
    if (status == TLY_OK && !r->has_map) {
        return tly_base_fail(r->error, TLY_MALFORMED, 0, "missing-key",
                             "the index has no weight_map");
    }
    return status == TLY_OK ? tly_import_json_end(&r->json) : status;
}

static int compare_maps(const void *user, uint32_t a, uint32_t b) {
    const mapping *maps = user;
    int order = strcmp(maps[a].name, maps[b].name);
    return order != 0 ? order : (a > b) - (a < b);
}

static tly_status sort_maps(reader *r) {
    r->by_name = r->num <= UINT32_MAX ? tly_base_alloc(r->import->context,
                                                       r->num * sizeof(uint32_t), sizeof(uint32_t))
                                      : NULL;
    if (r->by_name == NULL) {
        return tly_base_fail(r->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the index");
    }
    for (size_t i = 0; i < r->num; i++) {
        r->by_name[i] = (uint32_t)i;
    }
    tly_import_sort(r->by_name, r->num, compare_maps, r->maps);
    for (size_t i = 1; i < r->num; i++) {
        const mapping *m = &r->maps[r->by_name[i]];
        if (strcmp(r->maps[r->by_name[i - 1]].name, m->name) == 0) {
            return fail(r, m->offset, "duplicate-name", m->name, "stands twice in the index");
        }
    }
    return TLY_OK;
}

static tly_status check_name(void *user, const char *name, tly_error *error) {
    reader *r = user;
    size_t low = 0, high = r->num;
    (void)error;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const mapping *m = &r->maps[r->by_name[middle]];
        int order = strcmp(m->name, name);
        if (order == 0) {
            r->num_seen++;
            return strcmp(m->location, r->location) == 0
                       ? TLY_OK
                       : fail(r, m->offset, "shard-map", name, "is in another shard than it says");
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return fail(r, TLY_NO_OFFSET, "shard-map", name, "is in a shard but not in the index");
}

/* Opens a shard when its name comes up for the first time, and reads it. */
static tly_status read_shard(reader *r, const mapping *m) {
    size_t before = r->import->num_files;
    uint32_t file;
    tly_error inner;
    tly_status status = tly_import_open_below(r->import, m->location, m->offset, &file, r->error);
    if (status != TLY_OK || r->import->num_files == before) {
        return status;
    }
    r->location = m->location;
    status = tly_import_read_shard(r->import, file, check_name, r, r->error);
    if (status != TLY_OK && r->error != NULL) {
        char shown[120];
        inner = *r->error;
        tly_base_fail(r->error, inner.status, inner.offset, inner.rule, "%s: %s",
                      tly_base_printable(shown, sizeof shown, m->location, strlen(m->location)),
                      inner.message);
    }
    return status;
}

static tly_status read_shards(reader *r) {
    tly_status status = r->num != 0 ? sort_maps(r) : TLY_OK;
    for (size_t i = 0; i < r->num && status == TLY_OK; i++) {
        if (i == 0 || r->maps[i].location != r->maps[i - 1].location) {
            status = read_shard(r, &r->maps[i]);
        }
    }
    if (status == TLY_OK && r->num_seen != r->num) {
        return tly_base_fail(r->error, TLY_MALFORMED, 0, "shard-map",
                             "the index has %zu tensors, the shards have %zu", r->num, r->num_seen);
    }
    return status;
}

tly_status tly_import_read_index(tly_import *import, tly_error *error) {
    reader r = {.import = import, .error = error};
    uint64_t len = import->files[0].len;
    uint8_t *text;
    tly_status status;
    if (len > import->options.header_len) {
        return tly_base_fail(error, TLY_LIMIT, 0, "header-len",
                             "the index has %llu bytes, the limit is %llu", (unsigned long long)len,
                             (unsigned long long)import->options.header_len);
    }
    text = tly_base_alloc(import->context, (size_t)len, 1);
    if (text == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the index");
    }
    status = tly_import_file_read(&import->files[0], 0, text, len, error);
    if (status == TLY_OK) {
        tly_import_json_init(&r.json, text, (size_t)len, 0, import->options.json_depth,
                             &import->arena, error);
        status = read_top(&r);
    }
    tly_base_free(import->context, text, (size_t)len, 1);
    if (status == TLY_OK) {
        status = read_shards(&r);
    }
    tly_base_free(import->context, r.by_name, r.num * sizeof(uint32_t), sizeof(uint32_t));
    tly_base_free(import->context, r.maps, r.cap * sizeof *r.maps, 16);
    return status;
}
