/* SPDX-License-Identifier: Apache-2.0 */
/* A second reader of ONNX, as simple as can be: the whole model in memory, trusted, every message
 * searched field by field. What it finds must be what the importer finds. */
#ifndef TLY_TESTS_WALK_H
#define TLY_TESTS_WALK_H

#include "import_test.h"

typedef struct part {
    const uint8_t *at;
    size_t len;
} part;

typedef struct walked {
    char name[2048];
    uint64_t type; /* TensorProto.DataType */
    uint64_t dims[16];
    uint32_t num_dims;
    part raw;           /* raw_data */
    part varints;       /* int32_data, int64_data or uint64_data, packed */
    char location[256]; /* external data; "" if there is none */
    uint64_t offset;
} walked;

typedef struct walk_list {
    walked *items;
    size_t num;
} walk_list;

static inline uint64_t walk_varint(part *p) {
    uint64_t value = 0;
    int shift = 0;
    uint8_t byte;
    do {
        assert_true(p->len > 0);
        byte = *p->at++;
        p->len--;
        value |= (uint64_t)(byte & 0x7F) << shift;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

/* Takes one field off the front of a message. */
static inline uint32_t walk_field(part *message, uint64_t *value, part *content) {
    uint64_t tag = walk_varint(message);
    *value = 0;
    content->at = message->at;
    content->len = 0;
    switch (tag & 7) {
    case 0:
        *value = walk_varint(message);
        break;
    case 1:
        content->len = 8;
        break;
    case 5:
        content->len = 4;
        break;
    default:
        content->len = (size_t)walk_varint(message);
        content->at = message->at;
    }
    message->at += content->len;
    message->len -= content->len;
    return (uint32_t)(tag >> 3);
}

/* The nth content of a field, or nothing. */
static inline part walk_find(part message, uint32_t field, int nth) {
    part content = {NULL, 0};
    uint64_t value;
    while (message.len > 0) {
        if (walk_field(&message, &value, &content) == field && nth-- == 0) {
            return content;
        }
    }
    return (part){NULL, 0};
}

static inline int walk_is(part p, const char *text) {
    return p.len == strlen(text) && memcmp(p.at, text, p.len) == 0;
}

static inline void walk_tensor(walk_list *list, part message, const char *prefix, part name) {
    walked w = {.num_dims = 0};
    part content;
    uint64_t value;
    if (name.len == 0) {
        name = walk_find(message, 8, 0);
    }
    snprintf(w.name, sizeof w.name, "%s%.*s", prefix, (int)name.len, (const char *)name.at);
    while (message.len > 0) {
        switch (walk_field(&message, &value, &content)) {
        case 1:
            w.dims[w.num_dims++] = value;
            break;
        case 2:
            w.type = value;
            break;
        case 9:
            w.raw = content;
            break;
        case 5:
        case 7:
        case 11:
            w.varints = content;
            break;
        case 13: {
            part key = walk_find(content, 1, 0), text = walk_find(content, 2, 0);
            char digits[32] = "";
            memcpy(digits, text.at, text.len < 31 ? text.len : 31);
            if (walk_is(key, "location")) {
                memcpy(w.location, text.at, text.len);
            } else if (walk_is(key, "offset")) {
                w.offset = strtoull(digits, NULL, 10);
            }
            break;
        }
        default:
            break;
        }
    }
    list->items = realloc(list->items, (list->num + 1) * sizeof w);
    list->items[list->num++] = w;
}

static inline void walk_graph(walk_list *list, part graph, const char *prefix) {
    part content, label, attribute;
    uint64_t value;
    while (graph.len > 0) {
        uint32_t field = walk_field(&graph, &value, &content);
        if (field == 5) {
            walk_tensor(list, content, prefix, (part){NULL, 0});
        }
        if (field != 1) {
            continue;
        }
        label = walk_find(content, 3, 0);
        if (label.len == 0) {
            label = walk_find(content, 2, 0);
        }
        for (int i = 0; (attribute = walk_find(content, 5, i)).at != NULL; i++) {
            part name = walk_find(attribute, 1, 0);
            part tensor = walk_find(attribute, 5, 0), inner = walk_find(attribute, 6, 0);
            if (walk_is(walk_find(content, 4, 0), "Constant") && tensor.at != NULL) {
                walk_tensor(list, tensor, prefix, walk_find(content, 2, 0));
            }
            if (inner.at != NULL) {
                char deeper[2048];
                snprintf(deeper, sizeof deeper, "%s%.*s.%.*s/", prefix, (int)label.len,
                         (const char *)label.at, (int)name.len, (const char *)name.at);
                walk_graph(list, inner, deeper);
            }
        }
    }
}

/* Checks an import against what the walk over the same file finds. `folder` is where external data
 * is. */
static inline void walk_compare(const tly_import *import, const blob *file, const char *folder) {
    static const struct {
        tly_dtype dtype;
        size_t len;
    } types[] = {{0, 0},         {TLY_F32, 4}, {TLY_U8, 1},  {TLY_I8, 1},  {TLY_U16, 2},
                 {TLY_I16, 2},   {TLY_I32, 4}, {TLY_I64, 8}, {0, 0},       {TLY_BOOL, 0},
                 {TLY_F16, 2},   {TLY_F64, 8}, {TLY_U32, 4}, {TLY_U64, 8}, {TLY_C64, 8},
                 {TLY_C128, 16}, {TLY_BF16, 2}};
    walk_list list = {NULL, 0};
    walk_graph(&list, walk_find((part){file->bytes, file->len}, 7, 0), "");
    assert_int_equal(tly_import_num_tensors(import), list.num);
    for (size_t i = 0; i < list.num; i++) {
        const walked *w = &list.items[i];
        char shape[256] = "";
        size_t used = 0, count = 1, len;
        uint8_t *wanted;
        assert_true(w->type < sizeof types / sizeof types[0]);
        for (uint32_t axis = 0; axis < w->num_dims; axis++) {
            used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%llu",
                                     axis != 0 ? "," : "", (unsigned long long)w->dims[axis]);
            count *= w->dims[axis];
        }
        len = w->type == 9 ? (count + 7) / 8 : count * types[w->type].len;
        wanted = calloc(1, len + 1);
        if (w->location[0] != '\0') {
            char *path = path_in(folder, w->location);
            FILE *data = fopen(path, "rb");
            assert_non_null(data);
            assert_int_equal(fseek(data, (long)w->offset, SEEK_SET), 0);
            assert_int_equal(fread(wanted, 1, len, data), len);
            fclose(data);
            free(path);
        } else if (w->type == 9) {
            part p = w->varints;
            for (size_t k = 0; k < count; k++) {
                uint64_t bit = p.len != 0 ? walk_varint(&p) : w->raw.at[k];
                wanted[k / 8] |= (uint8_t)(bit << k % 8);
            }
        } else if (w->varints.len != 0) {
            part p = w->varints;
            for (size_t k = 0; k < count; k++) {
                uint8_t bytes[8];
                tly_base_store_u64(bytes, walk_varint(&p));
                memcpy(wanted + k * types[w->type].len, bytes, types[w->type].len);
            }
        } else if (len != 0) {
            assert_int_equal(w->raw.len, len);
            memcpy(wanted, w->raw.at, len);
        }
        must_hold(import, w->name, types[w->type].dtype, shape, wanted, len);
        free(wanted);
    }
    free(list.items);
}

#endif
