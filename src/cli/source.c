/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/url.h"

#define PIECE_LEN ((size_t)1 << 20)

/* A tensor of a container: where its descriptor stands, and its number in the index. */
typedef struct place {
    uint64_t offset;
    uint64_t index;
} place;

struct tly_source {
    const tly_context *context;
    tly_http *http;   /* NULL: no URL */
    tly_store *store; /* one of the three */
    tly_import *import;
    tly_stream_reader *stream;
    int fd;         /* of the stream; -1: none of ours */
    place *places;  /* container: in the order of the file */
    uint64_t num;   /* tensors; streams: not known */
    uint64_t next;  /* number of the tensor that comes next */
    uint64_t index; /* of the one that came last */
    uint8_t *work;  /* for descriptors */
    size_t work_len;
    char *name;
    size_t name_room;
    tly_descriptor descriptor;
    tly_buffer_info buffer;
    tly_kv_list *kv_list;
    tly_kv *kv;
    size_t num_kv;
    int has_kv;
};

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a file");
}

/* What a file begins with decides. A file that cannot be read is left to whoever opens it. */
static size_t read_head(const char *path, uint8_t *head, size_t len) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd >= 0 ? read(fd, head, len) : -1;
    if (fd >= 0) {
        close(fd);
    }
    return got > 0 ? (size_t)got : 0;
}

/* A stream may have no tensors at all: then only the name can tell that it is one. */
static int ends_as_stream(const char *path) {
    size_t len = strlen(path);
    return (len > 5 && strcmp(path + len - 5, ".hrry") == 0) ||
           (len > 6 && strcmp(path + len - 6, ".hrrys") == 0);
}

static int by_offset(const void *a, const void *b) {
    const place *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static tly_status open_file(tly_source *s, const char *path, tly_error *error) {
    tly_status status;
    if (!tly_http_is_url(path)) {
        return tly_store_open(s->context, path, NULL, &s->store, error);
    }
    status = tly_cli_http_new(s->context, 0, &s->http, error);
    return status == TLY_OK ? tly_http_open(s->http, path, NULL, &s->store, error) : status;
}

static tly_status open_store(tly_source *s, const char *path, tly_error *error) {
    tly_status status = open_file(s, path, error);
    if (status != TLY_OK) {
        return status;
    }
    s->num = tly_store_num_tensors(s->store);
    s->places = calloc((size_t)s->num + 1, sizeof *s->places);
    if (s->places == NULL) {
        return no_memory(error);
    }
    for (uint64_t i = 0; i < s->num; i++) {
        tly_store_entry entry;
        tly_store_entry_at(s->store, i, &entry);
        s->places[i] = (place){entry.descriptor_offset, i};
    }
    qsort(s->places, (size_t)s->num, sizeof *s->places, by_offset);
    return TLY_OK;
}

static tly_status open_stream(tly_source *s, const char *path, tly_error *error) {
    int fd = STDIN_FILENO;
    if (strcmp(path, "-") != 0) {
        fd = s->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot open %s", path);
        }
    }
    return tly_stream_reader_new_fd(s->context, fd, NULL, &s->stream, error);
}

tly_status tly_source_open(const tly_context *context, const char *path, int skip_unsupported,
                           tly_source **out_source, tly_error *error) {
    tly_source *s = calloc(1, sizeof *s);
    uint8_t head[8];
    size_t len = strcmp(path, "-") == 0 ? 0 : read_head(path, head, sizeof head);
    tly_status status;
    if (s == NULL) {
        return no_memory(error);
    }
    s->context = context;
    s->fd = -1;
    if (tly_http_is_url(path) || (len == 8 && memcmp(head, "HRRYFILE", 8) == 0)) {
        status = open_store(s, path, error);
    } else if ((len >= 4 && memcmp(head, "HRRY", 4) == 0) || strcmp(path, "-") == 0 ||
               (len == 0 && ends_as_stream(path) && access(path, R_OK) == 0)) {
        status = open_stream(s, path, error);
    } else {
        tly_import_options options = {.size = sizeof options,
                                      .unsupported =
                                          skip_unsupported ? TLY_IMPORT_SKIP : TLY_IMPORT_REFUSE};
        status = tly_import_open(context, path, &options, &s->import, error);
        s->num = status == TLY_OK ? tly_import_num_tensors(s->import) : 0;
    }
    if (status != TLY_OK) {
        tly_source_free(s);
        return status;
    }
    *out_source = s;
    return TLY_OK;
}

void tly_source_free(tly_source *source) {
    if (source == NULL) {
        return;
    }
    tly_kv_list_free(source->kv_list);
    tly_store_free(source->store);
    tly_http_free(source->http);
    tly_import_free(source->import);
    tly_stream_reader_free(source->stream);
    if (source->fd >= 0) {
        close(source->fd);
    }
    free(source->places);
    free(source->work);
    free(source->name);
    free(source->kv);
    free(source);
}

const char *tly_source_format(const tly_source *source) {
    return source->store != NULL    ? "hurray"
           : source->stream != NULL ? "hurray-stream"
                                    : tly_import_format_name(tly_import_format_of(source->import));
}

const tly_store *tly_source_store(const tly_source *source) {
    return source->store;
}

const tly_import *tly_source_import(const tly_source *source) {
    return source->import;
}

static tly_status keep_name(tly_source *s, const char *name, size_t len, tly_source_item *item,
                            tly_error *error) {
    if (len + 1 > s->name_room) {
        char *grown = realloc(s->name, len + 1);
        if (grown == NULL) {
            return no_memory(error);
        }
        s->name = grown;
        s->name_room = len + 1;
    }
    memcpy(s->name, name, len);
    s->name[len] = '\0';
    item->name = s->name;
    item->name_len = len;
    return TLY_OK;
}

static tly_status next_stored(tly_source *s, tly_source_item *item, tly_error *error) {
    tly_store_entry entry;
    size_t need;
    tly_status status;
    tly_store_entry_at(s->store, s->index, &entry);
    need = 2 * (size_t)entry.descriptor_len + 64;
    if (need > s->work_len) {
        free(s->work);
        s->work = malloc(need);
        s->work_len = s->work != NULL ? need : 0;
        if (s->work == NULL) {
            return no_memory(error);
        }
    }
    status = keep_name(s, entry.name, entry.name_len, item, error);
    if (status == TLY_OK) {
        status =
            tly_store_descriptor(s->store, s->index, s->work, s->work_len, &s->descriptor, error);
    }
    item->descriptor = &s->descriptor;
    item->offset = entry.descriptor_offset;
    return status;
}

static tly_status next_imported(tly_source *s, tly_source_item *item, tly_error *error) {
    tly_import_tensor info;
    tly_import_info(s->import, s->index, &info);
    tly_import_descriptor(s->import, s->index, &s->descriptor, &s->buffer);
    item->descriptor = &s->descriptor;
    item->offset = info.file_offset;
    return keep_name(s, info.name, info.name_len, item, error);
}

static tly_status next_streamed(tly_source *s, tly_source_item *item, int *out_more,
                                tly_error *error) {
    char number[24];
    int len = snprintf(number, sizeof number, "%" PRIu64, s->next);
    uint64_t before = tly_stream_reader_offset(s->stream) + tly_stream_reader_left(s->stream);
    tly_status status = tly_stream_reader_next(s->stream, &item->descriptor, error);
    if (status != TLY_OK || item->descriptor == NULL) {
        return status;
    }
    *out_more = 1;
    item->offset = before;
    s->next++;
    return keep_name(s, number, (size_t)len, item, error);
}

tly_status tly_source_next(tly_source *source, tly_source_item *out_item, int *out_more,
                           tly_error *error) {
    tly_source *s = source;
    tly_status status;
    memset(out_item, 0, sizeof *out_item);
    *out_more = 0;
    if (s->stream != NULL) {
        status = next_streamed(s, out_item, out_more, error);
    } else {
        if (s->next == s->num) {
            return TLY_OK;
        }
        *out_more = 1;
        s->index = s->store != NULL ? s->places[s->next].index : s->next;
        s->next++;
        status =
            s->store != NULL ? next_stored(s, out_item, error) : next_imported(s, out_item, error);
    }
    if (status == TLY_OK && *out_more &&
        tly_descriptor_data_len(out_item->descriptor, &out_item->data_len) != TLY_OK) {
        status = tly_base_fail(error, TLY_OVERFLOW, out_item->offset, "B-SIZE",
                               "the buffers of a tensor do not fit in 64 bits");
    }
    return status;
}

static tly_status stored_data(tly_source *s, uint8_t *piece, tly_import_sink sink, void *user,
                              tly_error *error) {
    for (uint32_t b = 0; b < s->descriptor.num_buffers; b++) {
        uint64_t offset = 0, len = 0;
        tly_store_buffer_range(s->store, s->index, &s->descriptor, b, &offset, &len);
        for (uint64_t at = 0; at < len; at += PIECE_LEN) {
            size_t num = len - at < PIECE_LEN ? (size_t)(len - at) : PIECE_LEN;
            tly_status status = tly_store_read(s->store, s->index, offset + at, piece, num, error);
            status = status == TLY_OK ? sink(user, piece, num, error) : status;
            if (status != TLY_OK) {
                return status;
            }
        }
    }
    return TLY_OK;
}

static tly_status streamed_data(tly_source *s, uint8_t *piece, tly_import_sink sink, void *user,
                                tly_error *error) {
    while (tly_stream_reader_left(s->stream) != 0) {
        uint64_t left = tly_stream_reader_left(s->stream);
        size_t num = left < PIECE_LEN ? (size_t)left : PIECE_LEN;
        tly_status status = tly_stream_reader_read(s->stream, piece, num, error);
        status = status == TLY_OK ? sink(user, piece, num, error) : status;
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

tly_status tly_source_data(tly_source *source, tly_import_sink sink, void *user, tly_error *error) {
    uint8_t *piece;
    tly_status status;
    if (source->import != NULL) {
        return tly_import_stream(source->import, source->index, sink, user, error);
    }
    piece = malloc(PIECE_LEN);
    if (piece == NULL) {
        return no_memory(error);
    }
    status = source->store != NULL ? stored_data(source, piece, sink, user, error)
                                   : streamed_data(source, piece, sink, user, error);
    free(piece);
    return status;
}

tly_status tly_source_seek(tly_source *source, const char *name, size_t name_len) {
    uint64_t index;
    if (source->import != NULL) {
        if (memchr(name, '\0', name_len) != NULL ||
            tly_import_find(source->import, name, &index) != TLY_OK) {
            return TLY_NOT_FOUND;
        }
        source->next = index;
        return TLY_OK;
    }
    if (source->store == NULL || tly_store_find(source->store, name, name_len, &index) != TLY_OK) {
        return TLY_NOT_FOUND;
    }
    {
        tly_store_entry entry;
        const place *found;
        place key;
        tly_store_entry_at(source->store, index, &entry);
        key = (place){entry.descriptor_offset, index};
        found = bsearch(&key, source->places, (size_t)source->num, sizeof key, by_offset);
        source->next = (uint64_t)(found - source->places);
    }
    return TLY_OK;
}

tly_status tly_source_metadata(tly_source *source, const tly_kv **out_kv, size_t *out_num,
                               tly_error *error) {
    tly_source *s = source;
    tly_status status = TLY_OK;
    uint64_t num = s->import != NULL ? tly_import_num_metadata(s->import) : 0;
    *out_kv = NULL;
    *out_num = 0;
    if (!s->has_kv) {
        if (s->store != NULL) {
            status = tly_store_kv(s->store, &s->kv_list, error);
            num = status == TLY_OK ? tly_kv_list_count(s->kv_list) : 0;
        }
        if (status != TLY_OK) {
            return status;
        }
        s->kv = calloc((size_t)num + 1, sizeof *s->kv);
        if (s->kv == NULL) {
            return no_memory(error);
        }
        for (uint64_t i = 0; i < num; i++) {
            if (s->store != NULL) {
                tly_kv_list_at(s->kv_list, i, &s->kv[i]);
            } else {
                tly_import_metadata(s->import, i, &s->kv[i]);
            }
        }
        s->num_kv = (size_t)num;
        s->has_kv = 1;
    }
    *out_kv = s->kv;
    *out_num = s->num_kv;
    return TLY_OK;
}
