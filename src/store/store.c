/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a container, and copying bytes out of it. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "store/kv.h"

tly_status tly_store_fetch(const tly_store *store, uint64_t offset, void *buffer, uint64_t len,
                           tly_error *error) {
    uint8_t *out = buffer;
    if (store->blocks != NULL) {
        return tly_blocks_read(store->blocks, offset, buffer, len, NULL, error);
    }
    if (store->fd < 0) {
        if (len != 0) {
            memcpy(out, store->map + offset, (size_t)len);
        }
        return TLY_OK;
    }
    while (len > 0) {
        size_t piece = len < (1u << 30) ? (size_t)len : (1u << 30);
        ssize_t got = pread(store->fd, out, piece, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return tly_base_fail_errno(error, errno, "cannot read %zu bytes at %llu", piece,
                                       (unsigned long long)offset);
        }
        if (got == 0) {
            return tly_base_fail(error, TLY_TRUNCATED, offset, "F-SHRUNK",
                                 "the file has become shorter than the %llu bytes that it had when "
                                 "it was opened",
                                 (unsigned long long)store->len);
        }
        out += got;
        offset += (uint64_t)got;
        len -= (uint64_t)got;
    }
    return TLY_OK;
}

static void set_limits(tly_store_limits *limits, const tly_store_open_options *options) {
    static const tly_store_limits defaults = {
        sizeof defaults, 1u << 24, UINT64_C(1) << 31, 1u << 28, 1u << 20, UINT16_MAX, 1u << 24};
    *limits = defaults;
    if (options != NULL && options->limits.size >= sizeof *limits) {
        const tly_store_limits *given = &options->limits;
#define TAKE(field) limits->field = given->field != 0 ? given->field : limits->field
        TAKE(max_tensors);
        TAKE(max_index_len);
        TAKE(max_kv_len);
        TAKE(max_kv_entries);
        TAKE(max_name_len);
        TAKE(max_descriptor_len);
#undef TAKE
    }
}

static tly_status make(const tly_context *context, const tly_store_open_options *options,
                       tly_store **out, tly_error *error) {
    tly_store *s;
    if (options != NULL &&
        (options->size < sizeof *options || (options->flags & ~TLY_STORE_OPEN_NO_MAP) != 0)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "size or flags of tly_store_open_options are not set correctly");
    }
    s = tly_base_calloc(context, sizeof *s, _Alignof(tly_store));
    if (s == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a store");
    }
    s->context = context;
    s->fd = -1;
    s->page_len = (uint64_t)sysconf(_SC_PAGESIZE);
    set_limits(&s->limits, options);
    *out = s;
    return TLY_OK;
}

/* Reads frame and index; frees the store when that fails. */
static tly_status finish(tly_store *s, tly_store **out_store, tly_error *error) {
    tly_status status = tly_store_read_frame(s, error);
    if (status == TLY_OK) {
        status = tly_store_read_index(s, error);
    }
    if (status != TLY_OK) {
        tly_store_free(s);
        return status;
    }
    *out_store = s;
    return TLY_OK;
}

static tly_status open_file(tly_store *s, const char *path, int map, tly_error *error) {
    struct stat info;
    char shown[160];
    tly_base_printable(shown, sizeof shown, path, strlen(path));
    /* Without O_NONBLOCK a pipe of that name would keep us waiting for its writer. */
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0) {
        return tly_base_fail_errno(error, errno, "cannot open %s", shown);
    }
    if (fstat(s->fd, &info) != 0) {
        return tly_base_fail_errno(error, errno, "cannot examine %s", shown);
    }
    if (!S_ISREG(info.st_mode)) {
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "%s is not a regular file", shown);
    }
    s->len = (uint64_t)info.st_size;
    if (map && s->len != 0 && s->len <= SIZE_MAX) {
        void *bytes = mmap(NULL, (size_t)s->len, PROT_READ, MAP_SHARED, s->fd, 0);
        if (bytes != MAP_FAILED) {
            s->map = bytes;
        }
    }
    return TLY_OK;
}

tly_status tly_store_open(const tly_context *context, const char *path,
                          const tly_store_open_options *options, tly_store **out_store,
                          tly_error *error) {
    tly_store *s = NULL;
    tly_status status = make(context, options, &s, error);
    if (status != TLY_OK) {
        return status;
    }
    status =
        open_file(s, path, options == NULL || (options->flags & TLY_STORE_OPEN_NO_MAP) == 0, error);
    if (status != TLY_OK) {
        tly_store_free(s);
        return status;
    }
    return finish(s, out_store, error);
}

tly_status tly_store_open_memory(const tly_context *context, const void *bytes, size_t len,
                                 const tly_store_open_options *options, tly_store **out_store,
                                 tly_error *error) {
    tly_store *s = NULL;
    tly_status status = make(context, options, &s, error);
    if (status != TLY_OK) {
        return status;
    }
    s->map = bytes;
    s->len = len;
    return finish(s, out_store, error);
}

tly_status tly_store_open_blocks(const tly_context *context, tly_blocks *blocks,
                                 const tly_store_open_options *options, tly_store **out_store,
                                 tly_error *error) {
    tly_store *s = NULL;
    tly_status status = make(context, options, &s, error);
    if (status != TLY_OK) {
        tly_blocks_free(blocks);
        return status;
    }
    s->blocks = blocks;
    s->len = tly_blocks_len(blocks);
    return finish(s, out_store, error);
}

tly_blocks *tly_store_blocks(const tly_store *store) {
    return store->blocks;
}

void tly_store_free(tly_store *store) {
    if (store == NULL) {
        return;
    }
    tly_blocks_free(store->blocks);
    if (store->fd >= 0) {
        if (store->map != NULL) {
            munmap((void *)(uintptr_t)store->map, (size_t)store->len);
        }
        close(store->fd);
    }
    tly_store_names_cleanup(&store->names);
    tly_base_free(store->context, store->entries,
                  (size_t)store->num_entries * sizeof *store->entries, _Alignof(uint64_t));
    tly_base_free(store->context, store->index_copy, (size_t)store->index_len, 1);
    tly_base_free(store->context, store, sizeof *store, _Alignof(tly_store));
}

tly_status tly_store_kv(const tly_store *store, tly_kv_list **out_list, tly_error *error) {
    uint8_t *bytes = NULL;
    if (store->kv_len != 0) {
        tly_status status;
        bytes = tly_base_alloc(store->context, (size_t)store->kv_len, 1);
        if (bytes == NULL) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory for %llu bytes of metadata",
                                 (unsigned long long)store->kv_len);
        }
        status = tly_store_fetch(store, store->kv_offset, bytes, store->kv_len, error);
        if (status != TLY_OK) {
            tly_base_free(store->context, bytes, (size_t)store->kv_len, 1);
            return status;
        }
    }
    return tly_store_kv_parse(store->context, bytes, store->kv_len, store->kv_offset,
                              store->limits.max_kv_entries, out_list, error);
}
