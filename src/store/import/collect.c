/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tensors that a format's reader fills, and the checks that are the same for all. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/utf8.h"
#include "store/import/importer.h"

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                         "no memory for the list of tensors");
}

tly_status tly_import_reserve(tly_import *import, void **array, size_t num, size_t *cap,
                              size_t element_len, tly_error *error) {
    size_t more = *cap < 8 ? 8 : *cap * 2;
    void *grown;
    if (num < *cap) {
        return TLY_OK;
    }
    if (more > SIZE_MAX / element_len) {
        return no_memory(error);
    }
    grown = tly_base_grow(import->context, *array, *cap * element_len, more * element_len, 16);
    if (grown == NULL) {
        return no_memory(error);
    }
    *array = grown;
    *cap = more;
    return TLY_OK;
}

tly_status tly_import_text(tly_import *import, const void *bytes, uint64_t len, uint64_t offset,
                           const char **out_text, tly_error *error) {
    const char *text = bytes;
    size_t good;
    if (len > import->text_limit - import->text_len) {
        return tly_base_fail(
            error, TLY_LIMIT, offset, "text-len",
            "the names of this file would take more than %llu bytes, far more than "
            "the file itself",
            (unsigned long long)import->text_limit);
    }
    good = tly_base_utf8_check(text, (size_t)len);
    if (good != len) {
        return tly_base_fail(error, TLY_MALFORMED, offset + good, "utf-8",
                             "byte %llu of a name or text is not UTF-8", (unsigned long long)good);
    }
    if (len != 0 && memchr(text, '\0', (size_t)len) != NULL) {
        return tly_base_fail(error, TLY_MALFORMED, offset, "nul-in-text",
                             "a name or text contains a zero byte");
    }
    *out_text = tly_arena_string(&import->arena, text, (size_t)len);
    if (*out_text == NULL) {
        return no_memory(error);
    }
    import->text_len += len;
    return TLY_OK;
}

tly_status tly_import_name(tly_import *import, const void *bytes, uint64_t len, uint64_t offset,
                           const char **out_name, tly_error *error) {
    if (len > import->options.name_len) {
        return tly_base_fail(error, TLY_LIMIT, offset, "name-len",
                             "a tensor's name has %llu bytes, the limit is %u",
                             (unsigned long long)len, import->options.name_len);
    }
    return tly_import_text(import, bytes, len, offset, out_name, error);
}

tly_status tly_import_stem(tly_import *import, const char *ending, const char **out_name,
                           tly_error *error) {
    const char *path = import->files[0].name;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t len = strlen(name), end_len = strlen(ending);
    if (len > end_len && memcmp(name + len - end_len, ending, end_len) == 0) {
        len -= end_len;
    }
    if (len == 0) {
        name = "array";
        len = 5;
    }
    return tly_import_name(import, name, len, 0, out_name, error);
}

tly_status tly_import_count(uint32_t rank, const uint64_t *shape, uint64_t offset,
                            uint64_t *out_count, tly_error *error) {
    uint64_t count = 1;
    for (uint32_t axis = 0; axis < rank; axis++) {
        if (shape[axis] == 0) {
            *out_count = 0;
            return TLY_OK;
        }
    }
    for (uint32_t axis = 0; axis < rank; axis++) {
        if (tly_base_mul_u64(count, shape[axis], &count)) {
            return tly_base_fail(error, TLY_OVERFLOW, offset, "shape-overflow",
                                 "the product of the shape does not fit in 64 bits");
        }
    }
    *out_count = count;
    return TLY_OK;
}

tly_status tly_import_packed_len(uint64_t count, uint32_t bits, uint64_t offset, uint64_t *out_len,
                                 tly_error *error) {
    uint64_t whole;
    if (bits % 8 == 0) {
        if (tly_base_mul_u64(count, bits / 8, &whole)) {
            return tly_base_fail(error, TLY_OVERFLOW, offset, "size-overflow",
                                 "the size of the tensor does not fit in 64 bits");
        }
        *out_len = whole;
        return TLY_OK;
    }
    /* Less than a byte: whole groups of 8 elements first, so that nothing can overflow. */
    *out_len = count / 8 * bits + (count % 8 * bits + 7) / 8;
    return TLY_OK;
}

static tly_status check_num(const tly_import *import, tly_error *error) {
    if (import->num_entries + import->num_skips >= import->options.num_tensors) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "num-tensors",
                             "the file has more than %llu tensors, the limit",
                             (unsigned long long)import->options.num_tensors);
    }
    return TLY_OK;
}

tly_status tly_import_add(tly_import *import, const tly_import_entry *entry, tly_error *error) {
    tly_status status = check_num(import, error);
    void *array = import->entries;
    if (status != TLY_OK) {
        return status;
    }
    if (tly_base_add_u64(import->total_len, entry->byte_len, &import->total_len) ||
        import->total_len > import->options.expanded_len) {
        return tly_base_fail(error, TLY_LIMIT, entry->offset, "expanded-len",
                             "the tensors of this file have more than %llu bytes together, the "
                             "limit",
                             (unsigned long long)import->options.expanded_len);
    }
    status = tly_import_reserve(import, &array, import->num_entries, &import->cap_entries,
                                sizeof *entry, error);
    import->entries = array;
    if (status != TLY_OK) {
        return status;
    }
    import->entries[import->num_entries] = *entry;
    import->entries[import->num_entries].name_len = (uint32_t)strlen(entry->name);
    import->num_entries++;
    return TLY_OK;
}

tly_status tly_import_refuse(tly_import *import, const char *name, uint64_t offset,
                             const char *rule, const char *reason, tly_error *error) {
    void *array = import->skips;
    tly_status status = check_num(import, error);
    if (status != TLY_OK) {
        return status;
    }
    name = name != NULL ? name : "";
    if (import->options.unsupported != TLY_IMPORT_SKIP) {
        char shown[160];
        return tly_base_fail(error, TLY_UNSUPPORTED, offset, rule,
                             "tensor \"%s\" cannot be carried: %s; it can be skipped on request",
                             tly_base_printable(shown, sizeof shown, name, strlen(name)), reason);
    }
    status = tly_import_reserve(import, &array, import->num_skips, &import->cap_skips,
                                sizeof *import->skips, error);
    import->skips = array;
    if (status == TLY_OK) {
        tly_import_skip skip = {name, reason, offset};
        import->skips[import->num_skips++] = skip;
    }
    return status;
}

tly_status tly_import_add_kv(tly_import *import, const tly_kv *kv, uint64_t offset,
                             tly_error *error) {
    void *array = import->kv;
    tly_status status;
    if (kv->key_len == 0 || kv->key_len > UINT16_MAX) {
        return tly_import_refuse(import, "", offset, "metadata-key",
                                 kv->key_len == 0
                                     ? "this is metadata with an empty key"
                                     : "this is metadata with a key of over 65535 bytes",
                                 error);
    }
    status = tly_import_reserve(import, &array, import->num_kv, &import->cap_kv, sizeof *import->kv,
                                error);
    import->kv = array;
    if (status == TLY_OK) {
        import->kv[import->num_kv++] = *kv;
    }
    return status;
}

tly_status tly_import_add_pair(tly_import *import, const char *key, const char *value,
                               uint64_t offset, tly_error *error) {
    tly_kv kv = {.key = key,
                 .key_len = strlen(key),
                 .data = value,
                 .data_len = strlen(value),
                 .type = TLY_KV_STRING};
    return tly_import_add_kv(import, &kv, offset, error);
}

void tly_import_sort(uint32_t *order, size_t num, int (*compare)(const void *, uint32_t, uint32_t),
                     const void *user) {
    /* Heap sort: first build a heap with the greatest on top, then take from the top. */
    size_t build = num / 2;
    size_t end = num;
    while (end > 1) {
        size_t root;
        uint32_t value;
        if (build > 0) {
            value = order[--build];
        } else {
            value = order[--end];
            order[end] = order[0];
        }
        root = build;
        for (;;) {
            size_t child = root * 2 + 1;
            if (child >= end) {
                break;
            }
            if (child + 1 < end && compare(user, order[child], order[child + 1]) < 0) {
                child++;
            }
            if (compare(user, value, order[child]) >= 0) {
                break;
            }
            order[root] = order[child];
            root = child;
        }
        order[root] = value;
    }
}

/* By name; among equal names those that must keep theirs come first, those of one graph together.
 */
static int compare_names(const void *user, uint32_t a, uint32_t b) {
    const tly_import *import = user;
    const tly_import_entry *x = &import->entries[a], *y = &import->entries[b];
    int order = strcmp(x->name, y->name);
    if (order == 0) {
        order = (int)y->fixed_name - (int)x->fixed_name;
    }
    if (order == 0) {
        order = (x->scope > y->scope) - (x->scope < y->scope);
    }
    return order != 0 ? order : (a > b) - (a < b);
}

/* Is `name` the name of an entry? The first `num` of by_name are sorted. */
static int name_taken(const tly_import *import, const char *name) {
    size_t low = 0, high = import->num_entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(import->entries[import->by_name[middle]].name, name);
        if (order == 0) {
            return 1;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 0;
}

static tly_status duplicate(const tly_import_entry *entry, tly_error *error) {
    char shown[160];
    return tly_base_fail(error, TLY_MALFORMED, entry->offset, "duplicate-name",
                         "two tensors are called \"%s\"",
                         tly_base_printable(shown, sizeof shown, entry->name, entry->name_len));
}

/* Finds new names for the entries of by_name[first .. last), which all have one name. They are only
 * noted in `renamed`, since by_name has to stay sorted until all groups are done. */
static tly_status rename_group(tly_import *import, size_t first, size_t last, const char **renamed,
                               tly_error *error) {
    char *buffer;
    size_t base_len = import->entries[import->by_name[first]].name_len;
    uint64_t number = 2;
    tly_status status = TLY_OK;
    for (size_t i = first + 1; i < last; i++) {
        const tly_import_entry *a = &import->entries[import->by_name[i - 1]];
        const tly_import_entry *b = &import->entries[import->by_name[i]];
        if (b->fixed_name && a->fixed_name && a->scope == b->scope) {
            return duplicate(b, error);
        }
    }
    buffer = tly_base_alloc(import->context, base_len + 24, 1);
    if (buffer == NULL) {
        return no_memory(error);
    }
    memcpy(buffer, import->entries[import->by_name[first]].name, base_len);
    for (size_t i = first + 1; i < last && status == TLY_OK; i++) {
        uint32_t index = import->by_name[i];
        do {
            snprintf(buffer + base_len, 24, "#%llu", (unsigned long long)number++);
        } while (name_taken(import, buffer));
        status = tly_import_name(import, buffer, strlen(buffer), import->entries[index].offset,
                                 &renamed[index], error);
    }
    tly_base_free(import->context, buffer, base_len + 24, 1);
    return status;
}

static tly_status make_unique(tly_import *import, tly_error *error) {
    size_t num = import->num_entries;
    const char **renamed = NULL;
    tly_status status = TLY_OK;
    for (size_t first = 0; first < num && status == TLY_OK;) {
        const char *name = import->entries[import->by_name[first]].name;
        size_t last = first + 1;
        while (last < num && strcmp(import->entries[import->by_name[last]].name, name) == 0) {
            last++;
        }
        if (last - first > 1 && renamed == NULL) {
            renamed = tly_base_calloc(import->context, num * sizeof *renamed, sizeof *renamed);
            if (renamed == NULL) {
                return no_memory(error);
            }
        }
        if (last - first > 1) {
            status = rename_group(import, first, last, renamed, error);
        }
        first = last;
    }
    if (renamed != NULL && status == TLY_OK) {
        for (size_t i = 0; i < num; i++) {
            if (renamed[i] != NULL) {
                import->entries[i].name = renamed[i];
                import->entries[i].name_len = (uint32_t)strlen(renamed[i]);
            }
        }
        tly_import_sort(import->by_name, num, compare_names, import);
    }
    tly_base_free(import->context, renamed, num * sizeof *renamed, sizeof *renamed);
    return status;
}

static int compare_keys(const void *user, uint32_t a, uint32_t b) {
    const tly_kv *kv = user;
    int order = strcmp(kv[a].key, kv[b].key);
    return order != 0 ? order : (a > b) - (a < b);
}

/* A permutation of 0 .. num-1 in order; the caller frees it. */
static tly_status sorted(const tly_import *import, size_t num,
                         int (*compare)(const void *, uint32_t, uint32_t), const void *user,
                         uint32_t **out_order, tly_error *error) {
    uint32_t *order = num <= UINT32_MAX
                          ? tly_base_alloc(import->context, num * sizeof *order, sizeof *order)
                          : NULL;
    if (order == NULL) {
        return no_memory(error);
    }
    for (size_t i = 0; i < num; i++) {
        order[i] = (uint32_t)i;
    }
    tly_import_sort(order, num, compare, user);
    *out_order = order;
    return TLY_OK;
}

static tly_status check_keys(const tly_import *import, tly_error *error) {
    size_t num = import->num_kv;
    uint32_t *order = NULL;
    tly_status status = TLY_OK;
    if (num > 1) {
        status = sorted(import, num, compare_keys, import->kv, &order, error);
    }
    for (size_t i = 1; order != NULL && status == TLY_OK && i < num; i++) {
        const char *key = import->kv[order[i]].key;
        if (strcmp(import->kv[order[i - 1]].key, key) == 0) {
            char shown[160];
            status = tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "duplicate-key",
                                   "the metadata has the key \"%s\" twice",
                                   tly_base_printable(shown, sizeof shown, key, strlen(key)));
        }
    }
    tly_base_free(import->context, order, num * sizeof *order, sizeof *order);
    return status;
}

tly_status tly_import_finish(tly_import *import, tly_error *error) {
    tly_status status = check_keys(import, error);
    if (status == TLY_OK && import->num_entries != 0) {
        status =
            sorted(import, import->num_entries, compare_names, import, &import->by_name, error);
        status = status == TLY_OK ? make_unique(import, error) : status;
    }
    return status;
}
