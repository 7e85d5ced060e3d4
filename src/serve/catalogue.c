/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/catalogue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/context.h"
#include "base/error.h"
#include "base/utf8.h"
#include "serve/uploads.h"
#include "store/store.h"

struct tly_catalogue {
    const tly_context *context;
    tly_arena arena;              /* keys, descriptors, the list of stores */
    tly_catalogue_entry *entries; /* sorted by key */
    size_t num_entries;
    size_t capacity;
    struct open_store *stores;
    tly_uploads *uploads; /* NULL: none are taken */
};

struct open_store {
    struct open_store *next;
    tly_store *store;
};

tly_status tly_catalogue_new(const tly_context *context, tly_catalogue **out_catalogue,
                             tly_error *error) {
    tly_catalogue *c = tly_base_calloc(context, sizeof *c, _Alignof(tly_catalogue));
    *out_catalogue = c;
    if (c == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a catalogue");
    }
    c->context = context;
    tly_arena_init(&c->arena, context);
    return TLY_OK;
}

void tly_catalogue_free(tly_catalogue *catalogue) {
    if (catalogue == NULL) {
        return;
    }
    tly_uploads_free(catalogue->uploads);
    for (struct open_store *s = catalogue->stores; s != NULL; s = s->next) {
        tly_store_free(s->store);
    }
    tly_base_free(catalogue->context, catalogue->entries,
                  catalogue->capacity * sizeof *catalogue->entries, _Alignof(tly_catalogue_entry));
    tly_arena_cleanup(&catalogue->arena);
    tly_base_free(catalogue->context, catalogue, sizeof *catalogue, _Alignof(tly_catalogue));
}

static int compare_keys(const char *a, size_t a_len, const char *b, size_t b_len) {
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int compare_entries(const void *a, const void *b) {
    const tly_catalogue_entry *x = a, *y = b;
    return compare_keys(x->key, x->key_len, y->key, y->key_len);
}

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                         "no memory for the catalogue");
}

/* Room for `more` entries behind the last. */
static int reserve(tly_catalogue *c, uint64_t more) {
    size_t want = c->num_entries + (size_t)more;
    tly_catalogue_entry *grown;
    if (more > SIZE_MAX / sizeof *grown - c->num_entries) {
        return 0;
    }
    if (want <= c->capacity) {
        return 1;
    }
    if (want < 2 * c->capacity) {
        want = 2 * c->capacity;
    }
    grown = tly_base_grow(c->context, c->entries, c->capacity * sizeof *grown, want * sizeof *grown,
                          _Alignof(tly_catalogue_entry));
    if (grown == NULL) {
        return 0;
    }
    c->entries = grown;
    c->capacity = want;
    return 1;
}

/* Sorts the first `num` entries and refuses keys that stand twice. */
static tly_status settle(tly_catalogue *c, size_t num, tly_error *error) {
    qsort(c->entries, num, sizeof *c->entries, compare_entries);
    for (size_t i = 1; i < num; i++) {
        if (compare_entries(&c->entries[i - 1], &c->entries[i]) == 0) {
            char shown[160];
            return tly_base_fail(
                error, TLY_EXISTS, TLY_NO_OFFSET, "key-taken",
                "there are two tensors called \"%s\"",
                tly_base_printable(shown, sizeof shown, c->entries[i].key, c->entries[i].key_len));
        }
    }
    return TLY_OK;
}

/* Takes the entries behind num_entries, all from `store`, in; if a key is taken, out again. */
static tly_status commit(tly_catalogue *c, size_t num_new, const tly_store *store,
                         tly_error *error) {
    size_t num = c->num_entries + num_new, kept = 0;
    tly_status status = settle(c, num, error);
    if (status == TLY_OK) {
        c->num_entries = num;
        return TLY_OK;
    }
    for (size_t i = 0; i < num; i++) {
        if (c->entries[i].store != store) {
            c->entries[kept++] = c->entries[i];
        }
    }
    return status;
}

tly_status tly_catalogue_add_file(tly_catalogue *catalogue, const char *path, tly_error *error) {
    tly_store *store;
    tly_status status = tly_store_open(catalogue->context, path, NULL, &store, error);
    return status == TLY_OK ? tly_catalogue_add_store(catalogue, store, error) : status;
}

tly_status tly_catalogue_add_store(tly_catalogue *catalogue, tly_store *store, tly_error *error) {
    struct open_store *open =
        tly_arena_alloc(&catalogue->arena, sizeof *open, _Alignof(struct open_store));
    uint64_t num = tly_store_num_tensors(store);
    tly_status status;
    if (open == NULL || !reserve(catalogue, num)) {
        tly_store_free(store);
        return no_memory(error);
    }
    for (uint64_t i = 0; i < num; i++) {
        tly_catalogue_entry *e = &catalogue->entries[catalogue->num_entries + i];
        tly_store_entry named;
        tly_store_entry_at(store, i, &named);
        memset(e, 0, sizeof *e);
        e->key = tly_arena_string(&catalogue->arena, named.name, named.name_len);
        e->key_len = named.name_len;
        e->store = store;
        e->index = i;
        if (e->key == NULL) {
            tly_store_free(store);
            return no_memory(error);
        }
    }
    status = commit(catalogue, (size_t)num, store, error);
    if (status != TLY_OK) {
        tly_store_free(store);
        return status;
    }
    open->store = store;
    open->next = catalogue->stores;
    catalogue->stores = open;
    return TLY_OK;
}

/* Among the tensors of files and of memory. */
static const tly_catalogue_entry *find_fixed(const tly_catalogue *catalogue, const char *key,
                                             size_t key_len) {
    size_t low = 0, high = catalogue->num_entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const tly_catalogue_entry *e = &catalogue->entries[middle];
        int order = compare_keys(key, key_len, e->key, e->key_len);
        if (order == 0) {
            return e;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

tly_status tly_catalogue_add_tensor(tly_catalogue *catalogue, const char *key,
                                    const tly_descriptor *descriptor, const void *data,
                                    uint64_t len, tly_error *error) {
    size_t key_len = strlen(key), descriptor_len;
    tly_catalogue_entry *e;
    uint8_t *bytes;
    uint64_t data_len;
    tly_status status = tly_descriptor_check_buffers(descriptor, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_descriptor_data_len(descriptor, &data_len);
    if (status != TLY_OK || data_len != len || descriptor->num_buffers != 1) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "data-len",
                             "the descriptor does not stand for one buffer of %llu bytes",
                             (unsigned long long)len);
    }
    if (key_len == 0 || tly_base_utf8_check(key, key_len) != key_len) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "key",
                             "a key is UTF-8 and not empty");
    }
    if (find_fixed(catalogue, key, key_len) != NULL) {
        char shown[160];
        return tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "key-taken",
                             "there is a tensor called \"%s\" already",
                             tly_base_printable(shown, sizeof shown, key, key_len));
    }
    status = tly_descriptor_encode(descriptor, NULL, 0, &descriptor_len, error);
    if (status != TLY_OK) {
        return status;
    }
    bytes = tly_arena_alloc(&catalogue->arena, descriptor_len, 1);
    if (bytes == NULL || !reserve(catalogue, 1)) {
        return no_memory(error);
    }
    status = tly_descriptor_encode(descriptor, bytes, descriptor_len, &descriptor_len, error);
    if (status != TLY_OK) {
        return status;
    }
    e = &catalogue->entries[catalogue->num_entries];
    memset(e, 0, sizeof *e);
    e->key = tly_arena_string(&catalogue->arena, key, key_len);
    e->key_len = key_len;
    e->descriptor = bytes;
    e->descriptor_len = descriptor_len;
    e->data = data;
    if (e->key == NULL) {
        return no_memory(error);
    }
    catalogue->num_entries++;
    return settle(catalogue, catalogue->num_entries, error);
}

uint64_t tly_catalogue_num_tensors(const tly_catalogue *catalogue) {
    return catalogue->num_entries +
           (catalogue->uploads != NULL ? tly_uploads_num(catalogue->uploads) : 0);
}

const char *tly_catalogue_key(const tly_catalogue *catalogue, uint64_t index) {
    return index < catalogue->num_entries ? catalogue->entries[index].key : NULL;
}

const tly_catalogue_entry *tly_catalogue_find(const tly_catalogue *catalogue, const char *key,
                                              size_t key_len, struct tly_upload **out_hold) {
    const tly_catalogue_entry *entry = find_fixed(catalogue, key, key_len);
    *out_hold = NULL;
    if (entry != NULL || catalogue->uploads == NULL) {
        return entry;
    }
    *out_hold = tly_uploads_find(catalogue->uploads, key, key_len);
    return *out_hold != NULL ? &(*out_hold)->entry : NULL;
}

int tly_catalogue_waits(const tly_catalogue *catalogue, const char *key, size_t key_len) {
    const tly_catalogue_entry *entry = find_fixed(catalogue, key, key_len);
    return entry != NULL && entry->store != NULL && tly_store_blocks(entry->store) != NULL;
}

int tly_catalogue_is_fixed(const tly_catalogue *catalogue, const char *key, size_t key_len) {
    return find_fixed(catalogue, key, key_len) != NULL;
}

tly_uploads *tly_catalogue_uploads(const tly_catalogue *catalogue) {
    return catalogue->uploads;
}

tly_status tly_catalogue_open_uploads(tly_catalogue *catalogue, const char *folder,
                                      tly_error *error) {
    if (catalogue->uploads != NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "uploads-twice",
                             "a catalogue has one folder for what is put");
    }
    return tly_uploads_open(catalogue->context, folder, &catalogue->uploads, error);
}

tly_status tly_catalogue_share_uploads(tly_catalogue *catalogue, const tly_catalogue *from,
                                       tly_error *error) {
    if (catalogue->uploads != NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "uploads-twice",
                             "a catalogue has one folder for what is put");
    }
    catalogue->uploads = from->uploads != NULL ? tly_uploads_hold(from->uploads) : NULL;
    return TLY_OK;
}

tly_status tly_catalogue_describe(const tly_catalogue_entry *entry, void *work, size_t work_len,
                                  tly_descriptor *out_descriptor, tly_error *error) {
    if (entry->store != NULL) {
        return tly_store_descriptor(entry->store, entry->index, work, work_len, out_descriptor,
                                    error);
    }
    return tly_descriptor_decode(entry->descriptor, entry->descriptor_len, work, work_len,
                                 out_descriptor, NULL, error);
}

tly_status tly_catalogue_buffer(const tly_catalogue_entry *entry, const tly_descriptor *descriptor,
                                uint32_t buffer, tly_catalogue_bytes *out, tly_error *error) {
    const void *at;
    tly_status status;
    if (entry->store == NULL) {
        out->at = entry->data;
        out->len = descriptor->buffers[0].byte_size;
        out->fd = -1;
        out->offset = 0;
        return TLY_OK;
    }
    status = tly_store_buffer_range(entry->store, entry->index, descriptor, buffer, &out->offset,
                                    &out->len);
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TLY_NO_OFFSET, "buffer", "buffer %u is not there",
                             buffer);
    }
    if (tly_store_blocks(entry->store) != NULL) {
        out->at = tly_blocks_map(tly_store_blocks(entry->store)) + out->offset;
        out->fd = -1;
        return TLY_OK;
    }
    status = tly_store_view(entry->store, entry->index, out->offset, out->len, &at, error);
    out->at = at;
    out->fd = entry->store->fd;
    return status;
}

int tly_catalogue_run_at(const tly_catalogue_bytes *parts, uint32_t num_parts, uint64_t offset,
                         uint64_t len, tly_catalogue_bytes *out) {
    while (num_parts != 0 && offset >= parts->len) {
        offset -= parts->len;
        parts++;
        num_parts--;
    }
    if (num_parts == 0 || len == 0) {
        return 0;
    }
    *out = *parts;
    out->at += offset;
    out->offset += offset;
    out->len = parts->len - offset < len ? parts->len - offset : len;
    return 1;
}

int tly_catalogue_get_source(const tly_store *store, uint64_t place, tly_catalogue_source *out) {
    struct stat info;
    memset(out, 0, sizeof *out);
    out->place = place;
    if (store != NULL && store->blocks != NULL) {
        const uint8_t *version = tly_blocks_version(store->blocks);
        out->device = UINT64_MAX; /* no file system has this one */
        memcpy(&out->inode, version, sizeof out->inode);
        memcpy(&out->changed_ns, version + 8, sizeof out->changed_ns);
        out->file_len = store->len;
        return tly_blocks_intact(store->blocks);
    }
    if (store == NULL || store->fd < 0) {
        return 1;
    }
    if (fstat(store->fd, &info) != 0) {
        return 0;
    }
    out->device = (uint64_t)info.st_dev;
    out->inode = (uint64_t)info.st_ino;
    out->file_len = (uint64_t)info.st_size;
    out->changed_ns = (uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
    return 1;
}

uint64_t tly_catalogue_generation(const tly_catalogue *catalogue) {
    return catalogue->num_entries +
           (catalogue->uploads != NULL ? tly_uploads_generation(catalogue->uploads) : 0);
}
