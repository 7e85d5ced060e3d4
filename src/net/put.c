/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor to the server. Frames leave from the caller's buffers; between them we look whether
 * the server has given the upload up, so that a refusal does not cost a transfer. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "net/client.h"

#define FRAME_LEN (UINT64_C(1) << 20)

/* The next event if there is one without waiting, not even for the rest of a message or record: the
 * server may in its turn wait for ours. */
static tly_status look(tly_client *client, tly_wire_event *out_event, tly_error *error) {
    int fd = client->channel.fd, flags = fcntl(fd, F_GETFL);
    struct pollfd p = {fd, POLLIN, 0};
    tly_net_result result;
    uint64_t len;
    tly_wire_next(client->wire, out_event);
    if (out_event->kind != TLY_WIRE_EVENT_NONE ||
        (!tly_net_has_pending(&client->channel) && poll(&p, 1, 0) <= 0)) {
        return TLY_OK;
    }
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    result = tly_net_receive(&client->channel, client->wire, &len);
    fcntl(fd, F_SETFL, flags);
    if (result != TLY_NET_OK && result != TLY_NET_AGAIN) {
        return tly_client_fail_io(client, result, "receive from", error);
    }
    tly_wire_next(client->wire, out_event);
    return TLY_OK;
}

/* What an event means for the upload on `stream`. `out_done` is set by the acknowledgement. */
static tly_status judge(tly_client *client, const tly_wire_event *event, uint32_t stream,
                        int *out_done, tly_error *error) {
    if (event->kind == TLY_WIRE_EVENT_ERROR || event->kind == TLY_WIRE_EVENT_REJECTED) {
        tly_client_flush(client, NULL);
        return tly_client_refusal(client, event, error);
    }
    *out_done = event->kind == TLY_WIRE_EVENT_ACK && event->stream == stream;
    return TLY_OK;
}

static void drop_tokens(tly_client *client) {
    void *token;
    while (tly_wire_next_released(client->wire, &token)) {
    }
}

/* Nothing can be sent any more; the server may have said why, and that is still there to be read.
 */
static tly_status why_closed(tly_client *client, tly_status status, tly_error *error) {
    tly_wire_event event;
    tly_net_result result = TLY_NET_OK;
    uint64_t len;
    while (result == TLY_NET_OK) {
        tly_wire_next(client->wire, &event);
        if (event.kind == TLY_WIRE_EVENT_ERROR) {
            return tly_client_refusal(client, &event, error);
        }
        if (event.kind == TLY_WIRE_EVENT_NONE) {
            result = tly_net_receive(&client->channel, client->wire, &len);
        }
    }
    return status;
}

static tly_status send_buffer(tly_client *client, const tly_put_request *request, uint32_t stream,
                              const uint8_t *at, uint64_t len, uint64_t *done, uint64_t total,
                              tly_error *error) {
    uint64_t most = tly_wire_max_frame(client->wire);
    most = most < FRAME_LEN ? most : FRAME_LEN;
    while (len != 0) {
        uint64_t n = len < most ? len : most;
        tly_wire_event event;
        int acknowledged;
        tly_status status = tly_wire_send_data(client->wire, stream, at, n, NULL, error);
        if (status == TLY_OK) {
            status = tly_client_flush(client, error);
        }
        drop_tokens(client);
        if (status == TLY_OK) {
            status = look(client, &event, error);
        }
        if (status == TLY_OK) {
            status = judge(client, &event, stream, &acknowledged, error);
        }
        if (status != TLY_OK) {
            return status;
        }
        at += n;
        len -= n;
        *done += n;
        if (request->progress != NULL &&
            request->progress(request->progress_user, *done, total) != 0) {
            client->broken = 1; /* half a tensor is under way */
            return tly_base_fail(error, TLY_CANCELLED, TLY_NO_OFFSET, "progress",
                                 "the caller stopped the transfer");
        }
    }
    return TLY_OK;
}

static tly_status send_all(tly_client *client, const tly_put_request *request, uint32_t stream,
                           uint64_t total, tly_error *error) {
    uint64_t done = 0;
    tly_status status = TLY_OK;
    int acknowledged = 0;
    for (uint32_t i = 0; i < request->descriptor->num_buffers && status == TLY_OK; i++) {
        status = send_buffer(client, request, stream, request->buffers[i],
                             request->descriptor->buffers[i].byte_size, &done, total, error);
    }
    if (status == TLY_OK) {
        status = tly_wire_send_end(client->wire, stream, error);
    }
    while (status == TLY_OK && !acknowledged) {
        tly_wire_event event;
        status = tly_client_event(client, &event, error);
        if (status == TLY_OK) {
            status = judge(client, &event, stream, &acknowledged, error);
        }
    }
    drop_tokens(client);
    return status == TLY_CLOSED ? why_closed(client, status, error) : status;
}

static tly_status put(tly_client *client, const tly_put_request *request, tly_error *error) {
    tly_wire_put message = {.key = request->key, .key_len = (uint32_t)strlen(request->key)};
    uint8_t *bytes;
    size_t len;
    uint64_t total;
    uint32_t stream;
    tly_status status = tly_descriptor_data_len(request->descriptor, &total);
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TLY_NO_OFFSET, "data-len",
                             "the buffers are larger than 64 bits can say");
    }
    status = tly_descriptor_encode(request->descriptor, NULL, 0, &len, error);
    if (status != TLY_OK) {
        return status;
    }
    bytes = tly_base_alloc(client->context, len, 1);
    if (bytes == NULL || len > UINT32_MAX) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a descriptor");
    }
    status = tly_descriptor_encode(request->descriptor, bytes, len, &len, error);
    if (status == TLY_OK) {
        message.descriptor = bytes;
        message.descriptor_len = (uint32_t)len;
        message.total_data_bytes = total;
        status = tly_wire_put_tensor(client->wire, &message, &stream, error);
    }
    tly_base_free(client->context, bytes, len, 1);
    return status == TLY_OK ? send_all(client, request, stream, total, error) : status;
}

tly_status tly_client_put(tly_client *client, const tly_put_request *request, tly_error *error) {
    tly_error own;
    if (request->size != sizeof *request || request->key == NULL || request->descriptor == NULL ||
        (request->descriptor->num_buffers != 0 && request->buffers == NULL) ||
        strlen(request->key) > UINT32_MAX) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "request",
                             "tly_put_request: wrong size, no key, no descriptor or no buffers");
    }
    if (client->broken) {
        return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "broken",
                             "the connection broke in an earlier call");
    }
    return put(client, request, error != NULL ? error : &own);
}
