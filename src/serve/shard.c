/* SPDX-License-Identifier: Apache-2.0 */
/* An answer in shards (interchange, Parallel Transfers): cut along the slowest axis that has more
 * than one index, so that each shard is a run of the bytes that are there anyway, and costs no
 * copy. */
#include <string.h>

#include <tilery/tensor.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "serve/server.h"

/* How an answer can be cut. */
typedef struct cut {
    tly_descriptor whole;
    uint32_t axis;
    uint32_t num;
    uint64_t step_len; /* bytes of one index of the axis */
    uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
} cut;

/* The slowest axis with more than one index; rank if there is none. */
static uint32_t slowest_axis(const tly_descriptor *d) {
    for (uint32_t i = 0; i < d->rank; i++) {
        uint32_t axis = d->layout == TLY_LAYOUT_ROW_MAJOR ? i : d->rank - 1 - i;
        if (d->shape[axis] != 1) {
            return axis;
        }
    }
    return d->rank;
}

/* Decides. Returns 0 where the answer goes out in one. */
static int find_cut(const tly_server *server, const tly_answer *a, cut *c) {
    const tly_descriptor *d = &c->whole;
    uint64_t num = server->options.max_shards;
    if (tly_descriptor_decode(a->descriptor, a->descriptor_len, c->work, sizeof c->work, &c->whole,
                              NULL, NULL) != TLY_OK ||
        (d->layout != TLY_LAYOUT_ROW_MAJOR && d->layout != TLY_LAYOUT_COL_MAJOR) || d->flags != 0 ||
        d->num_buffers != 1 || d->byte_offset != 0 || a->total == 0) {
        return 0;
    }
    c->axis = slowest_axis(d);
    if (c->axis == d->rank || a->total % d->shape[c->axis] != 0 ||
        tly_dtype_bits(d->dtype) % 8 != 0) {
        return 0;
    }
    c->step_len = a->total / d->shape[c->axis];
    if (num > a->total / server->options.shard_len) {
        num = a->total / server->options.shard_len;
    }
    if (num > d->shape[c->axis]) {
        num = d->shape[c->axis];
    }
    c->num = (uint32_t)num;
    return num > 1;
}

/* Where shard `k` begins on the axis; the end of the last one for k == num. */
static uint64_t begin_of(const cut *c, uint32_t k) {
    uint64_t extent = c->whole.shape[c->axis];
    uint64_t each = extent / c->num, more = extent % c->num;
    return each * k + (k < more ? k : more);
}

static tly_status send_descriptor(serve_stream *s, const cut *c, uint32_t k, tly_error *error) {
    const tly_context *context = s->conn->server->context;
    uint64_t shape[TLY_MAX_RANK], offset[TLY_MAX_RANK] = {0};
    const tly_shard shard = {.parent_shape = c->whole.shape, .offset = offset};
    tly_buffer_info buffer = c->whole.buffers[0];
    tly_descriptor d = c->whole;
    size_t len;
    uint8_t *bytes;
    tly_status status;
    memcpy(shape, c->whole.shape, c->whole.rank * sizeof *shape);
    offset[c->axis] = begin_of(c, k);
    shape[c->axis] = begin_of(c, k + 1) - offset[c->axis];
    buffer.byte_size = s->total;
    d.shape = shape;
    d.shard = &shard;
    d.buffers = &buffer;
    status = tly_descriptor_encode(&d, NULL, 0, &len, error);
    if (status != TLY_OK) {
        return status;
    }
    bytes = tly_base_alloc(context, len, 1);
    if (bytes == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a descriptor");
    }
    status = tly_descriptor_encode(&d, bytes, len, &len, error);
    if (status == TLY_OK) {
        status = tly_wire_send_descriptor(s->conn->wire, s->id, bytes, len, s->total, error);
    }
    tly_base_free(context, bytes, len, 1);
    return status;
}

static void drop_streams(const tly_context *context, serve_stream *list) {
    while (list != NULL) {
        serve_stream *s = list;
        list = s->next;
        tly_base_free(context, s, sizeof *s, _Alignof(serve_stream));
    }
}

/* A stream for each shard but the first, not yet among the connection's. Returns 0 without memory.
 */
static int new_streams(serve_stream *first, uint32_t num, serve_stream **out_list) {
    const tly_context *context = first->conn->server->context;
    *out_list = NULL;
    while (num-- != 0) {
        serve_stream *s = tly_base_calloc(context, sizeof *s, _Alignof(serve_stream));
        if (s == NULL) {
            drop_streams(context, *out_list);
            return 0;
        }
        s->conn = first->conn;
        s->next = *out_list;
        *out_list = s;
    }
    return 1;
}

/* Makes a stream send its range; the bytes are those of the first. */
static void set_range(serve_stream *s, serve_stream *first, const cut *c, uint32_t k) {
    if (s != first) {
        s->answer = first->answer;
        s->answer->refs++;
        s->native = first->native;
        s->native.stream = s;
        if (first->reader.variant != NULL) {
            tly_variant_join(first->reader.variant, &s->reader);
        }
        s->next = s->conn->streams;
        s->conn->streams = s;
    }
    s->origin = first->id;
    s->from = begin_of(c, k) * c->step_len;
    s->until = begin_of(c, k + 1) * c->step_len;
    s->total = s->until - s->from;
}

int tly_serve_in_shards(serve_stream *first) {
    serve_conn *conn = first->conn;
    tly_server *server = conn->server;
    uint32_t streams[SERVE_MAX_SHARDS];
    serve_stream *more;
    tly_error error;
    cut c;
    if ((first->answer->request.request_flags & TLY_WIRE_PARALLEL_OK) == 0 ||
        (first->answer->answer.maker != NULL && first->reader.variant == NULL) ||
        !find_cut(server, &first->answer->answer, &c) || !new_streams(first, c.num - 1, &more)) {
        return 0;
    }
    if (tly_wire_open_shards(conn->wire, first->id, c.num, streams, &error) != TLY_OK) {
        drop_streams(server->context, more);
        return 0; /* too many streams are open: it goes out in one */
    }
    tly_base_log(server->context, TLY_LOG_INFO,
                 "connection %llu stream %u: in %u shards along axis %u",
                 (unsigned long long)conn->number, first->id, c.num, c.axis);
    for (uint32_t k = 0; k < c.num; k++) {
        serve_stream *s = first;
        if (k != 0) {
            s = more;
            more = s->next;
            s->id = streams[k];
        }
        set_range(s, first, &c, k);
    }
    for (uint32_t k = 0; k < c.num; k++) {
        serve_stream *s = tly_serve_find_stream(conn, streams[k]);
        if (send_descriptor(s, &c, k, &error) != TLY_OK) {
            tly_serve_stream_fail(s, TLY_WIRE_SERVER_FAILED, error.message); /* all of them */
            return 1;
        }
        tly_serve_begin(s);
    }
    return 1;
}
