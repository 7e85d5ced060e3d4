/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a connection, fed with anything in pieces of any size: a server that answers, in
 * shards too, and takes uploads, or a client with requests, one of them open to shards, and an
 * upload. Byte 0: role and how to answer; byte 1: seed of the sizes; the rest is what the peer
 * sends. */
#include <stdlib.h>
#include <string.h>

#include <tilery/wire.h>

#define MAX_DEST 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int condition) {
    if (!condition) {
        abort();
    }
}

typedef struct end {
    tly_wire *wire;
    uint8_t *dest; /* exactly as long as announced, so that a sanitizer sees a byte too many */
    uint32_t dest_stream;
    uint64_t total, placed, windowed;
    int answer;
} end;

/* Names the next part of the destination: all of it, or seven bytes at most. */
static void name_place(end *e) {
    uint64_t len = e->total - e->windowed;
    if ((e->answer & 8) != 0 && len > 7) {
        len = 7;
    }
    expect(tly_wire_set_destination(e->wire, e->dest_stream, e->dest + e->windowed, len) == TLY_OK);
    e->windowed += len;
}

/* One tensor at a time gets memory, exactly as much as it announces. */
static void take(end *e, uint32_t stream, uint64_t total, const tly_descriptor *tensor) {
    uint64_t len;
    expect(tensor != NULL && tly_descriptor_data_len(tensor, &len) == TLY_OK && len == total);
    if (e->dest == NULL && total <= MAX_DEST) {
        e->total = total;
        e->dest = malloc(total != 0 ? (size_t)total : 1);
        e->dest_stream = stream;
        e->placed = e->windowed = 0;
        name_place(e);
    } else if ((e->answer & 4) != 0) {
        tly_wire_fail_stream(e->wire, stream, TLY_WIRE_INVALID_MESSAGE, "no");
    }
}

static void forget(end *e, uint32_t stream) {
    if (e->dest != NULL && e->dest_stream == stream) {
        free(e->dest);
        e->dest = NULL;
    }
}

static void serve(end *e, uint32_t stream) {
    static const uint8_t bytes[64] = {0};
    uint32_t streams[3];
    if ((e->answer & 16) != 0 &&
        tly_wire_open_shards(e->wire, stream, 3, streams, NULL) == TLY_OK) {
        tly_wire_fail_stream(e->wire, streams[2], TLY_WIRE_SERVER_FAILED, "all three");
        return;
    }
    if ((e->answer & 2) != 0 ||
        tly_wire_send_descriptor(e->wire, stream, "HRRY\1\0\12\0\0\0", 10, 40, NULL) != TLY_OK) {
        tly_wire_fail_stream(e->wire, stream, TLY_WIRE_UNKNOWN_TENSOR, "none");
        return;
    }
    for (int i = 0; i < 40; i += 8) {
        if (tly_wire_send_data(e->wire, stream, bytes, 8, e, NULL) != TLY_OK) {
            tly_wire_fail_stream(e->wire, stream, TLY_WIRE_SERVER_FAILED, "frame");
            return;
        }
    }
    expect(tly_wire_send_end(e->wire, stream, NULL) == TLY_OK);
}

static void on_event(end *e, const tly_wire_event *event) {
    tly_wire_layouts list;
    tly_wire_layout layout;
    uint32_t num = 0;
    switch (event->kind) {
    case TLY_WIRE_EVENT_HELLO:
        for (list = event->hello.layouts; tly_wire_layouts_next(&list, &layout);) {
            num++;
        }
        expect(num == event->hello.layouts.num);
        break;
    case TLY_WIRE_EVENT_REQUEST:
        for (list = event->request.layouts; tly_wire_layouts_next(&list, &layout);) {
            num++;
        }
        expect(num == event->request.layouts.num);
        serve(e, event->stream);
        break;
    case TLY_WIRE_EVENT_DESCRIPTOR:
        take(e, event->stream, event->descriptor.total_data_bytes, event->tensor);
        break;
    case TLY_WIRE_EVENT_PUT:
        take(e, event->stream, event->put.total_data_bytes, event->tensor);
        break;
    case TLY_WIRE_EVENT_DATA:
        if (event->stream == e->dest_stream && e->dest != NULL) {
            expect(event->offset == e->placed);
            e->placed += event->len;
            expect(e->placed <= e->windowed);
            if (e->placed == e->windowed && e->placed != e->total) {
                name_place(e);
            }
        }
        break;
    case TLY_WIRE_EVENT_END:
        if (event->stream == e->dest_stream && e->dest != NULL) {
            expect(e->placed == e->total);
        }
        forget(e, event->stream);
        if ((e->answer & 1) == 0) {
            expect(tly_wire_send_ack(e->wire, event->stream, NULL) == TLY_OK);
        }
        break;
    case TLY_WIRE_EVENT_ERROR:
        forget(e, event->stream);
        break;
    case TLY_WIRE_EVENT_PRIVATE:
        expect(event->type == 0xF3);
        for (uint64_t i = 0; i < event->len; i++) {
            num += event->bytes[i];
        }
        break;
    case TLY_WIRE_EVENT_REJECTED:
        expect(event->error->message[0] != '\0' && event->code != 0);
        forget(e, event->stream);
        break;
    default:
        break;
    }
}

static void drain_output(end *e) {
    tly_wire_span spans[4];
    void *token;
    uint32_t num;
    while ((num = tly_wire_output(e->wire, spans, 4)) != 0) {
        uint64_t len = 0;
        for (uint32_t i = 0; i < num; i++) {
            len += spans[i].len;
        }
        expect(len != 0 && len <= tly_wire_queued(e->wire));
        tly_wire_sent(e->wire, len);
    }
    expect(tly_wire_queued(e->wire) == 0);
    while (tly_wire_next_released(e->wire, &token)) {
        expect(token == e);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tly_context *context;
    tly_wire_options options = {
        .size = sizeof options, .max_streams = 6, .capability_flags = 15, .private_types = 1u << 3};
    tly_wire_put put = {.key = "p", .key_len = 1};
    tly_descriptor tensor;
    tly_buffer_info buffer;
    const uint64_t shape[1] = {40};
    uint8_t descriptor[128];
    size_t descriptor_len;
    tly_wire_request request = {.key = "k", .key_len = 1, .min_alignment = 64};
    end e = {0};
    uint32_t seed, stream;
    size_t done = 0;
    if (size < 2 || tly_context_new(NULL, &context, NULL) != TLY_OK) {
        return 0;
    }
    options.role = (data[0] & 1) != 0 ? TLY_WIRE_CLIENT : TLY_WIRE_SERVER;
    e.answer = data[0];
    seed = data[1] + 1u;
    expect(tly_wire_new(context, &options, &e.wire, NULL) == TLY_OK);
    for (int i = 0; i < 3 && options.role == TLY_WIRE_CLIENT; i++) {
        request.request_flags = i == 1 ? TLY_WIRE_PARALLEL_OK : 0;
        expect(tly_wire_request_tensor(e.wire, &request, &stream, NULL) == TLY_OK);
    }
    if (options.role == TLY_WIRE_CLIENT) {
        expect(tly_descriptor_init_row_major(&tensor, &buffer, TLY_U8, 1, shape) == TLY_OK);
        expect(tly_descriptor_encode(&tensor, descriptor, sizeof descriptor, &descriptor_len,
                                     NULL) == TLY_OK);
        put.descriptor = descriptor;
        put.descriptor_len = (uint32_t)descriptor_len;
        put.total_data_bytes = 40;
        expect(tly_wire_put_tensor(e.wire, &put, &stream, NULL) == TLY_OK);
    }
    data += 2;
    size -= 2;
    for (;;) {
        tly_wire_event event;
        size_t used, n;
        tly_wire_next(e.wire, &event);
        if (event.kind != TLY_WIRE_EVENT_NONE) {
            on_event(&e, &event);
            drain_output(&e);
            continue;
        }
        if (done == size) {
            break;
        }
        seed = seed * 1103515245u + 12345u;
        n = 1 + (seed >> 16) % 97;
        n = n < size - done ? n : size - done;
        expect(tly_wire_feed(e.wire, data + done, n, &used) == TLY_OK && used <= n);
        done += used;
        if (used == 0) {
            tly_wire_next(e.wire, &event); /* only an event may hold it up */
            expect(event.kind != TLY_WIRE_EVENT_NONE);
            on_event(&e, &event);
        }
        drain_output(&e);
    }
    (void)tly_wire_eof(e.wire, NULL);
    free(e.dest);
    tly_wire_free(e.wire);
    tly_context_free(context);
    return 0;
}
