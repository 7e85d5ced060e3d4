/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a stream of tensors. */
#include <tilery/stream.h>

#include "base/context.h"
#include "base/error.h"
#include "store/stream_fd.h"
#include "store/stream_rules.h"

struct tly_stream_writer {
    const tly_context *context;
    tly_stream_sink sink;
    void *user;
    int fd; /* of tly_stream_writer_new_fd */
    tly_stream_options options;
    tly_composite_check *check;
    uint64_t left;    /* bytes of the tensor that have not been given */
    tly_error broken; /* status other than OK: what ended the writing */
};

tly_status tly_stream_writer_new(const tly_context *context, tly_stream_sink sink, void *user,
                                 const tly_stream_options *options, tly_stream_writer **out_writer,
                                 tly_error *error) {
    tly_stream_writer *w;
    tly_stream_options own;
    tly_status status = tly_store_stream_options(options, &own, error);
    if (status != TLY_OK) {
        return status;
    }
    w = tly_base_calloc(context, sizeof *w, _Alignof(tly_stream_writer));
    if (w == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a writer");
    }
    w->context = context;
    w->sink = sink;
    w->user = user;
    w->options = own;
    status = tly_composite_check_new(context, &w->check, error);
    if (status != TLY_OK) {
        tly_stream_writer_free(w);
        return status;
    }
    *out_writer = w;
    return TLY_OK;
}

tly_status tly_stream_writer_new_fd(const tly_context *context, int fd,
                                    const tly_stream_options *options,
                                    tly_stream_writer **out_writer, tly_error *error) {
    tly_status status =
        tly_stream_writer_new(context, tly_store_fd_sink, NULL, options, out_writer, error);
    if (status == TLY_OK) {
        (*out_writer)->fd = fd;
        (*out_writer)->user = &(*out_writer)->fd;
    }
    return status;
}

void tly_stream_writer_free(tly_stream_writer *writer) {
    if (writer != NULL) {
        tly_composite_check_free(writer->check);
        tly_base_free(writer->context, writer, sizeof *writer, _Alignof(tly_stream_writer));
    }
}

static tly_status alive(const tly_stream_writer *w, tly_error *error) {
    if (w->broken.status != TLY_OK && error != NULL) {
        *error = w->broken;
    }
    return w->broken.status;
}

static tly_status put(tly_stream_writer *w, const void *bytes, size_t len, tly_error *error) {
    tly_error seen = {0};
    tly_status status = w->sink(w->user, bytes, len, &seen);
    if (status != TLY_OK) {
        w->broken = seen;
        w->broken.status = status;
        return alive(w, error);
    }
    return TLY_OK;
}

/* Checks a descriptor as a reader would see it, counts it in a composite, and writes it. */
static tly_status put_descriptor(tly_stream_writer *w, uint8_t *bytes, size_t len, size_t room,
                                 tly_error *error) {
    tly_descriptor d;
    tly_error seen = {0};
    uint64_t data_len = 0;
    tly_status status = tly_descriptor_decode(bytes, len, bytes + len, room - len, &d, NULL, error);
    status = status == TLY_OK ? tly_store_stream_check(&d, w->options.flags, error) : status;
    status = status == TLY_OK ? tly_store_stream_data_len(&d, &data_len, error) : status;
    if (status != TLY_OK) {
        return status;
    }
    status = tly_composite_check_add(w->check, &d, &seen);
    if (status != TLY_OK) { /* the check cannot go on, so neither can the stream */
        w->broken = seen;
        return alive(w, error);
    }
    w->left = data_len;
    return put(w, bytes, len, error);
}

tly_status tly_stream_writer_begin(tly_stream_writer *writer, const tly_descriptor *descriptor,
                                   tly_error *error) {
    size_t len = 0, room;
    uint8_t *bytes;
    tly_status status = alive(writer, error);
    if (status != TLY_OK) {
        return status;
    }
    if (writer->left != 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "the tensor before lacks %llu bytes",
                             (unsigned long long)writer->left);
    }
    status = tly_descriptor_encode(descriptor, NULL, 0, &len, error);
    if (status != TLY_OK) {
        return status;
    }
    room = 2 * len + 64;
    bytes = tly_base_alloc(writer->context, room, 8);
    if (bytes == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a descriptor of %zu bytes", len);
    }
    status = tly_descriptor_encode(descriptor, bytes, len, &len, error);
    if (status == TLY_OK) {
        status = put_descriptor(writer, bytes, len, room, error);
    }
    tly_base_free(writer->context, bytes, room, 8);
    return status;
}

tly_status tly_stream_writer_append(tly_stream_writer *writer, const void *bytes, uint64_t len,
                                    tly_error *error) {
    tly_status status = alive(writer, error);
    if (status != TLY_OK || len == 0) {
        return status;
    }
    if (len > writer->left || len > SIZE_MAX) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "%llu bytes, but the tensor takes only %llu more",
                             (unsigned long long)len, (unsigned long long)writer->left);
    }
    status = put(writer, bytes, (size_t)len, error);
    if (status == TLY_OK) {
        writer->left -= len;
    }
    return status;
}

tly_status tly_stream_writer_end(tly_stream_writer *writer, tly_error *error) {
    tly_status status = alive(writer, error);
    if (status != TLY_OK) {
        return status;
    }
    if (writer->left != 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "the last tensor lacks %llu bytes", (unsigned long long)writer->left);
    }
    return tly_composite_check_end(writer->check, error);
}
