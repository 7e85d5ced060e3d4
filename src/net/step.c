/* SPDX-License-Identifier: Apache-2.0 */
/* The client without waiting: fetches that are begun, and steps that move them on. */
#include <errno.h>
#include <fcntl.h>

#include "base/context.h"
#include "base/error.h"
#include "net/client.h"

/* Then the caller has its turn; but not before all is given out that the socket no longer tells of,
 * for nothing would wake it. */
#define READS_PER_STEP 64

static int goes_on(const tly_client *client, int num_reads) {
    return client->fetches != NULL &&
           (num_reads < READS_PER_STEP || tly_net_has_pending(&client->channel));
}

typedef struct client_fetch {
    struct client_fetch *next;
    tly_fetch_request request;
    uint32_t stream;
    tly_fetched *fetched;
    tly_gather gather;
    tly_fetch_done_fn done;
    void *user;
} client_fetch;

static void set_waiting(tly_client *client, int waits) {
    int flags = fcntl(client->channel.fd, F_GETFL);
    fcntl(client->channel.fd, F_SETFL, waits ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
    client->steps = !waits;
}

tly_status tly_client_begin(tly_client *client, const tly_fetch_request *request,
                            tly_fetch_done_fn done, void *user, tly_error *error) {
    tly_status status = tly_client_check_request(client, request, error);
    client_fetch *f;
    if (status != TLY_OK) {
        return status;
    }
    f = tly_base_calloc(client->context, sizeof *f, _Alignof(client_fetch));
    if (f != NULL) {
        f->fetched = tly_fetched_new(client->context);
    }
    if (f == NULL || f->fetched == NULL) {
        tly_base_free(client->context, f, sizeof *f, _Alignof(client_fetch));
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a fetch");
    }
    f->request = *request;
    f->gather.context = client->context;
    f->done = done;
    f->user = user;
    status = tly_client_send_request(client, request, NULL, &f->stream, error);
    if (status != TLY_OK) {
        tly_fetched_free(f->fetched);
        tly_base_free(client->context, f, sizeof *f, _Alignof(client_fetch));
        return status;
    }
    f->next = client->fetches;
    client->fetches = f;
    if (!client->steps) {
        set_waiting(client, 0);
    }
    return TLY_OK;
}

int tly_client_descriptor(const tly_client *client) {
    return client->channel.fd;
}

int tly_client_wants_output(const tly_client *client) {
    return tly_wire_queued(client->wire) != 0 || tly_net_has_staged(&client->channel) ||
           tly_net_wants_write(&client->channel);
}

uint32_t tly_client_num_begun(const tly_client *client) {
    uint32_t num = 0;
    for (const client_fetch *f = client->fetches; f != NULL; f = f->next) {
        num++;
    }
    return num;
}

/* Takes a fetch off the list and tells its caller. */
static void end(tly_client *client, client_fetch *f, tly_status status, const tly_error *error) {
    client_fetch **link = &client->fetches;
    tly_fetched *fetched = f->fetched;
    tly_fetch_done_fn done = f->done;
    void *user = f->user;
    while (*link != f) {
        link = &(*link)->next;
    }
    *link = f->next;
    tly_gather_cleanup(&f->gather);
    tly_base_free(client->context, f, sizeof *f, _Alignof(client_fetch));
    if (status != TLY_OK) {
        tly_fetched_free(fetched);
        fetched = NULL;
    }
    done(user, status, fetched, error);
}

/* The connection is broken: all hear of it, but not those that are begun meanwhile, which cannot
 * be. */
static tly_status end_all(tly_client *client, tly_status status, const tly_error *error) {
    client->broken = 1;
    while (client->fetches != NULL) {
        end(client, client->fetches, status, error);
    }
    return status;
}

void tly_client_give_up(tly_client *client) {
    tly_error error;
    if (client->fetches != NULL) {
        tly_base_fail(&error, TLY_CANCELLED, TLY_NO_OFFSET, "freed", "the client was freed");
        end_all(client, TLY_CANCELLED, &error);
    }
}

static client_fetch *find(const tly_client *client, const tly_wire_event *event) {
    client_fetch *f = client->fetches;
    while (f != NULL && f->stream != event->origin && f->stream != event->stream) {
        f = f->next;
    }
    return f;
}

static tly_status on_event(tly_client *client, const tly_wire_event *event, tly_error *error) {
    client_fetch *f = find(client, event);
    int whole = 0;
    tly_status status;
    if (f == NULL) {
        return event->kind == TLY_WIRE_EVENT_ERROR || event->kind == TLY_WIRE_EVENT_REJECTED
                   ? tly_client_refusal(client, event, error)
                   : TLY_OK; /* of a fetch that was given up */
    }
    status = tly_client_on_event(client, &f->request, event, f->stream, f->fetched, NULL,
                                 &f->gather, &whole, error);
    if (status != TLY_OK && client->broken) {
        return status;
    }
    if (status != TLY_OK || whole) {
        end(client, f, status, error);
    }
    return TLY_OK;
}

static tly_status take_events(tly_client *client, tly_error *error) {
    for (;;) {
        tly_wire_event event;
        tly_status status;
        tly_wire_next(client->wire, &event);
        if (event.kind == TLY_WIRE_EVENT_NONE) {
            return TLY_OK;
        }
        status = on_event(client, &event, error);
        if (status != TLY_OK) {
            return status;
        }
    }
}

static tly_status send_some(tly_client *client, tly_error *error) {
    while (tly_wire_queued(client->wire) != 0 || tly_net_has_staged(&client->channel)) {
        uint64_t len;
        tly_net_result result = tly_net_send(&client->channel, client->wire, &len);
        if (result == TLY_NET_AGAIN) {
            return TLY_OK;
        }
        if (result != TLY_NET_OK) {
            return tly_client_fail_io(client, result, "send to", error);
        }
    }
    return TLY_OK;
}

tly_status tly_client_step(tly_client *client, tly_error *error) {
    tly_error own;
    tly_status status = TLY_OK;
    error = error != NULL ? error : &own;
    if (client->broken) {
        return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "broken",
                             "the connection broke in an earlier call");
    }
    for (int i = 0; status == TLY_OK && goes_on(client, i); i++) {
        tly_net_result result;
        uint64_t len;
        status = take_events(client, error);
        if (status == TLY_OK) {
            status = send_some(client, error);
        }
        if (status != TLY_OK || client->fetches == NULL) {
            break;
        }
        result = tly_net_receive(&client->channel, client->wire, &len);
        if (result == TLY_NET_AGAIN) {
            break;
        }
        if (result != TLY_NET_OK) {
            status = tly_client_fail_io(client, result, "receive from", error);
        }
    }
    if (status == TLY_OK) {
        status = take_events(client, error);
    }
    if (status != TLY_OK) {
        tly_error why = *error; /* a callee may use the caller's */
        return end_all(client, status, &why);
    }
    if (client->fetches == NULL && client->steps) {
        set_waiting(client, 1);
    }
    return TLY_OK;
}
