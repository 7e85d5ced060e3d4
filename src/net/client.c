/* SPDX-License-Identifier: Apache-2.0 */
#include "net/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "net/token.h"

#define DEFAULT_CONNECT_MS  10000u
#define DEFAULT_PROGRESS_MS 30000u
#define CLOSE_WAIT_MS       200
#define CLOSE_DRAINS        64

/* A refusal by the server, in our own terms. */
static tly_status status_of_code(uint32_t code) {
    switch (code) {
    case TLY_WIRE_UNKNOWN_TENSOR:
        return TLY_NOT_FOUND;
    case TLY_WIRE_LAYOUT_UNAVAILABLE:
    case TLY_WIRE_TRANSCODE_LIMIT:
        return TLY_LAYOUT_UNAVAILABLE;
    default:
        return TLY_PEER;
    }
}

tly_status tly_client_refusal(tly_client *client, const tly_wire_event *event, tly_error *error) {
    char text[320];
    if (event->kind == TLY_WIRE_EVENT_REJECTED) {
        /* A tensor that is described wrongly costs its stream, a broken rule the connection. */
        tly_status status = event->error->status;
        client->broken |= status == TLY_PROTOCOL || tly_wire_is_closing(client->wire);
        return tly_base_fail(error, status, event->error->offset, event->error->rule,
                             "%s %s: %.300s", client->address,
                             status == TLY_PROTOCOL ? "broke the protocol"
                                                    : "sends a tensor that is refused",
                             event->error->message);
    }
    return tly_base_fail(error, status_of_code(event->code), TLY_NO_OFFSET,
                         event->code == TLY_WIRE_BUSY            ? "server-busy"
                         : event->code == TLY_WIRE_SERVER_FAILED ? "server-failed"
                                                                 : "server-error",
                         "%s answered %s: %s", client->address, tly_wire_code_name(event->code),
                         tly_base_printable(text, sizeof text, event->text, event->text_len));
}

tly_status tly_client_fail_io(tly_client *client, tly_net_result result, const char *verb,
                              tly_error *error) {
    int failed = errno;
    char reason[192];
    tly_status status;
    client->broken = 1;
    switch (result) {
    case TLY_NET_AGAIN:
        return tly_base_fail(error, TLY_TIMEOUT, TLY_NO_OFFSET, "progress-timeout",
                             "%s made no progress for %u ms", client->address,
                             client->progress_timeout_ms);
    case TLY_NET_EOF:
        status = tly_wire_eof(client->wire, error);
        if (status == TLY_OK) {
            return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "eof",
                                 "%s closed the connection", client->address);
        }
        return status;
    case TLY_NET_IDLE:
        return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "closing",
                             "the connection to %s is closing", client->address);
    default:
        if (failed == ENOMEM) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory for a message");
        }
        if (failed == EPIPE || failed == ECONNRESET) {
            return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "reset",
                                 "%s closed the connection", client->address);
        }
        tly_net_explain(&client->channel, reason, sizeof reason);
        if (reason[0] != '\0') {
            return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "tls", "cannot %s %s: %s", verb,
                                 client->address, reason);
        }
        return tly_base_fail_errno(error, failed, "cannot %s %s", verb, client->address);
    }
}

tly_status tly_client_flush(tly_client *client, tly_error *error) {
    if (client->steps) {
        return TLY_OK;
    }
    while (tly_wire_queued(client->wire) != 0 || tly_net_has_staged(&client->channel)) {
        uint64_t len;
        tly_net_result result = tly_net_send(&client->channel, client->wire, &len);
        if (result != TLY_NET_OK && !(result == TLY_NET_AGAIN && errno == EINTR)) {
            return tly_client_fail_io(client, result, "send to", error);
        }
    }
    return TLY_OK;
}

tly_status tly_client_event(tly_client *client, tly_wire_event *out_event, tly_error *error) {
    for (;;) {
        tly_net_result result;
        tly_status status;
        uint64_t len;
        tly_wire_next(client->wire, out_event);
        status = tly_client_flush(client, error);
        if (status != TLY_OK) {
            if (out_event->kind != TLY_WIRE_EVENT_NONE) {
                return TLY_OK; /* what the server said last matters more; the next call will fail */
            }
            return status;
        }
        if (out_event->kind != TLY_WIRE_EVENT_NONE) {
            return TLY_OK;
        }
        result = tly_net_receive(&client->channel, client->wire, &len);
        if (result != TLY_NET_OK && !(result == TLY_NET_AGAIN && errno == EINTR)) {
            return tly_client_fail_io(client, result, "receive from", error);
        }
    }
}

static tly_status hello(tly_client *client, tly_error *error) {
    tly_wire_event event;
    do {
        tly_status status = tly_client_event(client, &event, error);
        if (status != TLY_OK) {
            return status;
        }
        if (event.kind == TLY_WIRE_EVENT_ERROR || event.kind == TLY_WIRE_EVENT_REJECTED) {
            tly_client_flush(client, NULL);
            return tly_client_refusal(client, &event, error);
        }
    } while (event.kind != TLY_WIRE_EVENT_HELLO);
    if (tly_net_range_announced(&event.hello)) {
        tly_wire_agree_private(client->wire, TLY_RANGE_TYPES);
    }
    if (client->shares && tly_net_handover_announced(&event.hello)) {
        tly_wire_agree_private(client->wire, TLY_HANDOVER_TYPES);
        client->channel.takes_fds = 1;
    }
    return TLY_OK;
}

static tly_status make_wire(tly_client *client, const tly_client_options *options,
                            tly_error *error) {
    static const uint8_t cpu[] = {TLY_DEVICE_CPU};
    static const uint8_t standard[] = {TLY_MEMORY_STANDARD};
    tly_wire_layout taken[] = {
        {.tag = TLY_LAYOUT_ROW_MAJOR},
        {.tag = TLY_LAYOUT_COL_MAJOR},
        {.tag = TLY_LAYOUT_STRIDED},
        {.tag = TLY_LAYOUT_TILED},
        {.tag = TLY_LAYOUT_MORTON},
        {.tag = TLY_LAYOUT_HILBERT},
        {.tag = TLY_LAYOUT_BLOCK_PAGED},
        {.tag = TLY_LAYOUT_COO},
        {.tag = TLY_LAYOUT_CSR},
        {.tag = TLY_LAYOUT_CSC},
        {.tag = TLY_LAYOUT_CSF},
        {.tag = TLY_PANEL_LAYOUT_TAG}, /* no profile: any that a request names */
        tly_net_range_announcement(),
        {.tag = 0}, /* room for two more */
        {.tag = 0},
    };
    uint32_t num = sizeof taken / sizeof taken[0] - 2;
    uint8_t room[TLY_TOKEN_ENTRY_LEN];
    uint8_t bytes[3 * sizeof taken / sizeof taken[0] + TLY_HANDOVER_METADATA_LEN +
                  TLY_RANGE_ENTRY_LEN + sizeof room];
    tly_wire_options wire = {.size = sizeof wire, .role = TLY_WIRE_CLIENT};
    tly_status status = TLY_OK;
    if (client->shares) {
        taken[num++] = tly_net_handover_entry();
    }
    if (options->token != NULL) {
        status = tly_net_token_entry(options->token, room, &taken[num++], error);
    }
    if (status == TLY_OK) {
        status = tly_wire_layouts_put(taken, num, bytes, sizeof bytes, &wire.layouts, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    wire.max_message_size = options->max_message_size;
    wire.devices = cpu;
    wire.num_devices = sizeof cpu;
    wire.memory_classes = standard;
    wire.num_memory_classes = sizeof standard;
    return tly_wire_new(client->context, &wire, &client->wire, error);
}

/* Starts TLS, where the address says so. */
static tly_status secure(tly_client *client, const tly_tls_options *options, tly_error *error) {
    tly_net_address address;
    tly_status status = tly_net_address_parse(client->address, &address, error);
    if (status != TLY_OK || address.kind != TLY_NET_TLS) {
        return status;
    }
    status = tly_net_tls_library_init(&client->tls, options, 0, error);
    if (status == TLY_OK) {
        client->channel.tls =
            tly_net_tls_new(client->context, &client->tls, client->channel.fd, address.host);
        if (client->channel.tls == NULL) {
            status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                   "no memory for a TLS session");
        }
    }
    return status;
}

/* May a token be shown here? */
static tly_status check_private(const tly_client *client, tly_error *error) {
    struct sockaddr_storage peer = {0};
    socklen_t len = sizeof peer;
    if (client->channel.tls != NULL ||
        (getpeername(client->channel.fd, (struct sockaddr *)&peer, &len) == 0 &&
         tly_net_is_loopback((const struct sockaddr *)&peer))) {
        return TLY_OK;
    }
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "token-in-the-clear",
                         "the token would cross the network in the clear: use tls: instead of %s",
                         client->address);
}

tly_status tly_client_connect(const tly_context *context, const char *address,
                              const tly_client_options *options, tly_client **out_client,
                              tly_error *error) {
    static const tly_client_options defaults = {.size = sizeof defaults};
    tly_client *client;
    tly_status status;
    *out_client = NULL;
    if (options == NULL) {
        options = &defaults;
    }
    if (options->size != sizeof *options) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "tly_client_options.size is %zu, expected %zu", options->size,
                             sizeof *options);
    }
    client = tly_base_calloc(context, sizeof *client, _Alignof(tly_client));
    if (client == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a client");
    }
    client->context = context;
    client->channel.fd = -1;
    client->max_tensor_len = options->max_tensor_len != 0 ? options->max_tensor_len : UINT64_MAX;
    client->progress_timeout_ms =
        options->progress_timeout_ms != 0 ? options->progress_timeout_ms : DEFAULT_PROGRESS_MS;
    snprintf(client->address, sizeof client->address, "%s", address);
    client->shares = (options->flags & TLY_CLIENT_SHARED) != 0 && strncmp(address, "unix:", 5) == 0;
    status = make_wire(client, options, error);
    if (status == TLY_OK) {
        status = tly_net_connect(address,
                                 options->connect_timeout_ms != 0 ? options->connect_timeout_ms
                                                                  : DEFAULT_CONNECT_MS,
                                 options->socket_buffer_len, &client->channel.fd, error);
    }
    if (status == TLY_OK) {
        tly_net_set_timeout(client->channel.fd, client->progress_timeout_ms);
        status = secure(client, options->tls, error);
    }
    if (status == TLY_OK && options->token != NULL) {
        status = check_private(client, error);
    }
    if (status == TLY_OK) {
        status = hello(client, error);
    }
    if (status == TLY_OK && options->token != NULL) {
        status = tly_client_ping(client, NULL, error); /* a refusal comes behind the HELLO */
    }
    if (status != TLY_OK) {
        tly_client_free(client);
        return status;
    }
    *out_client = client;
    return TLY_OK;
}

/* Says that nothing more will be sent, then takes what the server still sends, for a moment: a
 * socket that is closed with unread input resets the connection and with it what we sent last. */
static void close_in_order(tly_net_channel *channel) {
    int fd = channel->fd;
    struct pollfd p = {fd, POLLIN, 0};
    tly_net_end_output(channel);
    for (int i = 0; i < CLOSE_DRAINS; i++) {
        tly_net_result result = tly_net_drain(fd);
        if (result == TLY_NET_EOF || result == TLY_NET_ERROR ||
            (result == TLY_NET_AGAIN && poll(&p, 1, CLOSE_WAIT_MS) <= 0)) {
            break;
        }
    }
    close(fd);
}

void tly_client_free(tly_client *client) {
    if (client == NULL) {
        return;
    }
    tly_client_give_up(client);
    if (client->channel.fd >= 0) {
        if (client->broken) {
            close(client->channel.fd);
        } else {
            close_in_order(&client->channel);
        }
    }
    tly_net_channel_cleanup(client->context, &client->channel);
    tly_net_tls_library_cleanup(&client->tls);
    tly_wire_free(client->wire);
    tly_base_free(client->context, client, sizeof *client, _Alignof(tly_client));
}

const tly_wire_hello *tly_client_server(const tly_client *client) {
    return tly_wire_peer(client->wire);
}

tly_status tly_client_ping(tly_client *client, double *out_seconds, tly_error *error) {
    struct timespec from, to;
    tly_wire_event event;
    if (client->broken) {
        return tly_client_fail_io(client, TLY_NET_IDLE, "", error);
    }
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (tly_wire_ping(client->wire) != TLY_OK) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a PING");
    }
    do {
        tly_status status = tly_client_event(client, &event, error);
        if (status != TLY_OK) {
            return status;
        }
        if (event.kind == TLY_WIRE_EVENT_ERROR || event.kind == TLY_WIRE_EVENT_REJECTED) {
            return tly_client_refusal(client, &event, error);
        }
    } while (event.kind != TLY_WIRE_EVENT_PONG);
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (out_seconds != NULL) {
        *out_seconds =
            (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    }
    return TLY_OK;
}
