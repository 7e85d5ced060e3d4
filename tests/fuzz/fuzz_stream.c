/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: read in pieces that the input itself decides on. What can be read is written again, and
 * must give the same bytes. */
#include <stdlib.h>
#include <string.h>

#include <tilery/stream.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct source {
    const uint8_t *bytes;
    size_t len;
    size_t at;
} source;

static tly_status give(void *user, void *buffer, size_t capacity, size_t *out_len,
                       tly_error *error) {
    source *s = user;
    size_t len = s->len - s->at < capacity ? s->len - s->at : capacity;
    (void)error;
    if (len > 0) {
        size_t some = 1 + s->bytes[s->at] % 64;
        len = some < len ? some : len;
    }
    memcpy(buffer, s->bytes + s->at, len);
    s->at += len;
    *out_len = len;
    return TLY_OK;
}

/* Takes only the bytes that the stream had. */
static tly_status compare(void *user, const void *bytes, size_t len, tly_error *error) {
    source *s = user;
    (void)error;
    if (len > s->len - s->at || memcmp(s->bytes + s->at, bytes, len) != 0) {
        abort();
    }
    s->at += len;
    return TLY_OK;
}

static tly_status copy_tensor(tly_stream_reader *reader, tly_stream_writer *writer,
                              tly_error *error) {
    while (tly_stream_reader_left(reader) != 0) {
        uint8_t piece[300];
        uint64_t left = tly_stream_reader_left(reader);
        uint64_t len = left < sizeof piece ? left : sizeof piece;
        tly_status status = tly_stream_reader_read(reader, piece, len, error);
        if (status != TLY_OK) {
            return status;
        }
        if (writer != NULL && tly_stream_writer_append(writer, piece, len, error) != TLY_OK) {
            abort();
        }
    }
    return TLY_OK;
}

static void run(const tly_context *context, const uint8_t *data, size_t size, int skip) {
    source from = {data, size, 0}, to = {data, size, 0};
    tly_stream_reader *reader;
    tly_stream_writer *writer;
    tly_error error = {0};
    int same = 1; /* neither a later version nor something behind a quantization */
    tly_status status;
    if (tly_stream_reader_new(context, give, &from, NULL, &reader, NULL) != TLY_OK ||
        tly_stream_writer_new(context, compare, &to, NULL, &writer, NULL) != TLY_OK) {
        abort();
    }
    do {
        const tly_descriptor *d;
        status = tly_stream_reader_next(reader, &d, &error);
        if (status != TLY_OK || d == NULL) {
            break;
        }
        same = same && !skip && d->version_minor == 0;
        if (same && tly_stream_writer_begin(writer, d, &error) != TLY_OK) {
            abort();
        }
        if (!skip) {
            status = copy_tensor(reader, same ? writer : NULL, &error);
        }
    } while (status == TLY_OK);
    if (status == TLY_OK
            ? same && (tly_stream_writer_end(writer, &error) != TLY_OK || to.at != size)
            : error.message[0] == '\0' || error.offset > size) {
        abort();
    }
    tly_stream_reader_free(reader);
    tly_stream_writer_free(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tly_context *context;
    if (tly_context_new(NULL, &context, NULL) != TLY_OK) {
        abort();
    }
    run(context, data, size, 0);
    run(context, data, size, 1);
    tly_context_free(context);
    return 0;
}
