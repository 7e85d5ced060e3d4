/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor: ask, check the descriptor before memory is taken, receive into the destination. */
#include <string.h>
#include <unistd.h>

#include <tilery/tensor.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "net/client.h"
#include "net/gather.h"

#define DEFAULT_ALIGNMENT 64u

static tly_status refuse(tly_status status, const char *rule, const char *text, tly_error *error) {
    return tly_base_fail(error, status, TLY_NO_OFFSET, rule, "%s", text);
}

/* ---- the request ---- */

/* Preferences as layout entries; `profiles` holds what the entries' metadata points to. */
static tly_status put_layouts(const tly_fetch_request *request, tly_wire_layout *entries,
                              uint8_t (*profiles)[TLY_PANEL_MAX_LEN], tly_error *error) {
    for (uint32_t i = 0; i < request->num_layouts; i++) {
        const tly_fetch_layout *l = &request->layouts[i];
        size_t len;
        tly_status status;
        memset(&entries[i], 0, sizeof entries[i]);
        entries[i].tag = l->profile != NULL ? TLY_PANEL_LAYOUT_TAG : l->tag;
        if (l->family != NULL) {
            if (l->metadata_len > UINT16_MAX) {
                return refuse(TLY_INVALID_ARGUMENT, "request",
                              "a layout entry holds at most 65535 bytes of metadata", error);
            }
            entries[i].tag = (uint8_t)l->family->tag;
            entries[i].metadata = l->metadata;
            entries[i].metadata_len = (uint16_t)l->metadata_len;
            continue;
        }
        if (l->profile == NULL) {
            continue;
        }
        status = tly_panel_encode(l->profile, profiles[i], TLY_PANEL_MAX_LEN, &len, error);
        if (status != TLY_OK) {
            return status;
        }
        entries[i].metadata = profiles[i];
        entries[i].metadata_len = (uint16_t)len;
    }
    return TLY_OK;
}

/* Bytes that plug-ins have to say. */
static size_t metadata_len(const tly_fetch_request *request) {
    size_t len = 0;
    for (uint32_t i = 0; i < request->num_layouts; i++) {
        len += request->layouts[i].family != NULL ? request->layouts[i].metadata_len : 0;
    }
    return len;
}

tly_status tly_client_send_request(tly_client *client, const tly_fetch_request *request,
                                   const tly_range *range, uint32_t *out_stream, tly_error *error) {
    size_t each = sizeof(tly_wire_layout) + TLY_PANEL_MAX_LEN + 3 + TLY_PANEL_MAX_LEN;
    uint32_t num = request->num_layouts + (range != NULL);
    size_t more = metadata_len(request);
    size_t work_len = (size_t)num * each + more;
    uint8_t room[TLY_RANGE_ENTRY_LEN];
    uint8_t *work = tly_base_alloc(client->context, work_len, _Alignof(tly_wire_layout));
    tly_wire_layout *entries = (tly_wire_layout *)(void *)work;
    tly_wire_request message = {
        .key = request->key,
        .key_len = (uint32_t)strlen(request->key),
        .request_flags = request->request_flags,
        .min_alignment = request->min_alignment != 0 ? request->min_alignment : DEFAULT_ALIGNMENT};
    tly_status status = TLY_OK;
    if (work_len != 0 && work == NULL) {
        return refuse(TLY_OUT_OF_MEMORY, "", "no memory for a request", error);
    }
    if (work_len != 0) {
        uint8_t *profiles = work + num * sizeof *entries;
        uint8_t *list = profiles + (size_t)num * TLY_PANEL_MAX_LEN;
        status =
            put_layouts(request, entries, (uint8_t(*)[TLY_PANEL_MAX_LEN])(void *)profiles, error);
        if (range != NULL) {
            entries[num - 1] = tly_net_range_entry(range, room);
        }
        if (status == TLY_OK) {
            status = tly_wire_layouts_put(entries, num, list,
                                          (size_t)num * (3 + TLY_PANEL_MAX_LEN) + more,
                                          &message.layouts, error);
        }
    }
    if (status == TLY_OK) {
        status = tly_wire_request_tensor(client->wire, &message, out_stream, error);
        if (status == TLY_LIMIT && (message.request_flags & TLY_WIRE_PARALLEL_OK) != 0) {
            message.request_flags &= ~TLY_WIRE_PARALLEL_OK; /* not after one that was given up */
            status = tly_wire_request_tensor(client->wire, &message, out_stream, error);
        }
    }
    tly_base_free(client->context, work, work_len, _Alignof(tly_wire_layout));
    return status;
}

/* ---- the answer ---- */

/* Does a panel that came back hold what its template says for this shape? */
static tly_status check_panel(const tly_descriptor *d, uint64_t total, tly_error *error) {
    tly_panel_profile profile;
    uint64_t len;
    tly_status status = tly_panel_decode(d->private_data, d->private_len, &profile, error);
    if (status == TLY_OK) {
        status = tly_panel_bind(&profile, d->rank, d->shape, NULL, &len, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (profile.dtype != d->dtype || len != total || d->byte_offset != 0) {
        return refuse(TLY_MALFORMED, "panel-mismatch",
                      "the panel that the server sends does not fit its own template", error);
    }
    return TLY_OK;
}

static int is_family(const tly_fetch_layout *l, const tly_descriptor *d) {
    return l->family != NULL && d->layout == l->family->tag &&
           d->private_id == l->family->layout_id && d->private_len == l->metadata_len &&
           (d->private_len == 0 || memcmp(l->metadata, d->private_data, d->private_len) == 0);
}

/* Does a layout of a plug-in that came back take as many bytes as its own plug-in says? */
static tly_status check_family(const tly_family *family, const tly_descriptor *d, uint64_t total,
                               tly_error *error) {
    const tly_family_tensor tensor = {.size = sizeof tensor,
                                      .metadata = d->private_data,
                                      .metadata_len = d->private_len,
                                      .rank = d->rank,
                                      .shape = d->shape,
                                      .dtype = (uint8_t)d->dtype,
                                      .element_bits = tly_dtype_bits(d->dtype)};
    char why[160] = "";
    uint64_t len;
    uint32_t alignment;
    if (family->plan(&tensor, &len, &alignment, why, sizeof why) != TLY_OK || len != total ||
        d->num_buffers != 1 || d->byte_offset != 0) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "family-mismatch",
                             "what the server sends is not what the layout family %s says for such "
                             "a tensor",
                             family->name);
    }
    return TLY_OK;
}

/* Which preference a descriptor answers, or num_layouts. */
static uint32_t find_choice(const tly_fetch_request *request, const tly_descriptor *d) {
    for (uint32_t i = 0; i < request->num_layouts; i++) {
        const tly_fetch_layout *l = &request->layouts[i];
        uint8_t bytes[TLY_PANEL_MAX_LEN];
        size_t len;
        if (l->family != NULL) {
            if (is_family(l, d)) {
                return i;
            }
        } else if (l->profile == NULL) {
            if (l->tag == d->layout) {
                return i;
            }
        } else if (d->layout == TLY_PANEL_LAYOUT_TAG && d->private_id == TLY_PANEL_LAYOUT_ID &&
                   tly_panel_encode(l->profile, bytes, sizeof bytes, &len, NULL) == TLY_OK &&
                   len == d->private_len && memcmp(bytes, d->private_data, len) == 0) {
            return i;
        }
    }
    return request->num_layouts;
}

/* What the connection does not know: our own limit. */
static tly_status check_limit(const tly_client *client, uint64_t total, tly_error *error) {
    if (total > client->max_tensor_len || total > SIZE_MAX) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "max-tensor-len",
                             "the tensor has %llu bytes, the limit is %llu",
                             (unsigned long long)total, (unsigned long long)client->max_tensor_len);
    }
    return TLY_OK;
}

/* Copies and reads the descriptor, and checks everything that needs no data. */
static tly_status take_descriptor(const tly_client *client, const tly_fetch_request *request,
                                  const tly_wire_descriptor *message, tly_fetched *f,
                                  tly_error *error) {
    tly_status status;
    uint32_t used;
    f->descriptor_len = (size_t)message->len;
    f->descriptor_bytes = tly_base_alloc(f->context, f->descriptor_len, 1);
    f->work_len = f->descriptor_len + 32;
    f->work = tly_base_alloc(f->context, f->work_len, 16);
    if (f->descriptor_bytes == NULL || f->work == NULL) {
        return refuse(TLY_OUT_OF_MEMORY, "", "no memory for a descriptor", error);
    }
    memcpy(f->descriptor_bytes, message->bytes, f->descriptor_len);
    status = tly_descriptor_decode(f->descriptor_bytes, f->descriptor_len, f->work, f->work_len,
                                   &f->descriptor, &used, error);
    if (status == TLY_OK) {
        status = check_limit(client, message->total_data_bytes, error);
    }
    if (status == TLY_OK && f->descriptor.layout == TLY_PANEL_LAYOUT_TAG &&
        f->descriptor.private_id == TLY_PANEL_LAYOUT_ID) {
        status = check_panel(&f->descriptor, message->total_data_bytes, error);
    }
    f->len = message->total_data_bytes;
    f->choice = find_choice(request, &f->descriptor);
    if (status == TLY_OK && f->choice < request->num_layouts &&
        request->layouts[f->choice].family != NULL) {
        status = check_family(request->layouts[f->choice].family, &f->descriptor, f->len, error);
    }
    return status;
}

/* The alignment that the layout, the request and the profile demand together. */
static uint32_t wanted_alignment(const tly_fetch_request *request, const tly_fetched *f) {
    uint32_t alignment = request->min_alignment != 0 ? request->min_alignment : DEFAULT_ALIGNMENT;
    const tly_panel_profile *profile =
        f->choice < request->num_layouts ? request->layouts[f->choice].profile : NULL;
    for (uint32_t i = 0; i < f->descriptor.num_buffers; i++) {
        if (f->descriptor.buffers[i].alignment > alignment) {
            alignment = f->descriptor.buffers[i].alignment;
        }
    }
    return profile != NULL && profile->alignment > alignment ? profile->alignment : alignment;
}

static tly_status take_memory(const tly_fetch_request *request, tly_fetched *f, tly_error *error) {
    uint32_t alignment = wanted_alignment(request, f);
    if (request->destination != NULL) {
        f->data =
            request->destination(request->destination_user, &f->descriptor, f->len, alignment);
        if (f->data == NULL && f->len != 0) {
            return refuse(TLY_CANCELLED, "destination", "the caller gave no destination", error);
        }
        if (((uintptr_t)f->data & (alignment - 1)) != 0) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "destination",
                                 "the destination is not aligned to %u bytes", alignment);
        }
        return TLY_OK;
    }
    if (f->len != 0 && !tly_net_block_init(f->context, f->len, alignment, &f->block)) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a tensor of %llu bytes", (unsigned long long)f->len);
    }
    f->data = f->block.at;
    return TLY_OK;
}

/* ---- a tensor that is handed over ---- */

static void drop_file(tly_fetched *f) {
    if (f->fd >= 0) {
        close(f->fd);
    }
    f->fd = -1;
}

/* The message that stands before the descriptor: keeps and checks the file. */
static tly_status on_handover(tly_client *client, const tly_wire_event *event, tly_fetched *f,
                              tly_error *error) {
    tly_status status;
    if (f->fd >= 0 || f->descriptor_bytes != NULL) {
        return refuse(TLY_PROTOCOL, "handover-order", "a second hand-over for one tensor", error);
    }
    f->fd = tly_net_take_fd(&client->channel);
    status = tly_net_handover_get(event->bytes, event->len, f->fd, &f->handover, error);
    if (status != TLY_OK) {
        drop_file(f);
    }
    return status;
}

/* The descriptor that stands behind it. A caller with a destination of his own gets a copy there,
 * unless he says that he need not have it. */
static tly_status take_file(const tly_fetch_request *request, tly_fetched *f, tly_error *error) {
    uint32_t alignment = wanted_alignment(request, f);
    tly_net_block map;
    tly_status status = TLY_OK;
    if (f->handover.total_data_bytes != f->len) {
        return tly_base_fail(error, TLY_PROTOCOL, TLY_NO_OFFSET, "handover-total",
                             "%llu bytes are handed over, the descriptor announces %llu",
                             (unsigned long long)f->handover.total_data_bytes,
                             (unsigned long long)f->len);
    }
    if (!tly_net_block_map(f->fd, f->handover.file_offset, f->len, alignment, &map)) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no address space for a tensor of %llu bytes",
                             (unsigned long long)f->len);
    }
    drop_file(f);
    if (request->destination == NULL || (request->flags & TLY_FETCH_KEEP_SHARED) != 0) {
        f->block = map;
        f->data = map.at;
        f->shared = 1;
        return TLY_OK;
    }
    status = take_memory(request, f, error);
    if (status == TLY_OK) {
        memcpy(f->data, map.at, (size_t)f->len);
    }
    tly_net_block_cleanup(f->context, &map);
    return status;
}

/* ---- a tensor in shards ---- */

/* The first shard that comes tells what the whole is. */
static tly_status begin_whole(tly_client *client, const tly_fetch_request *request,
                              const tly_descriptor *shard, tly_fetched *f, tly_error *error) {
    tly_wire_descriptor message = {.total_shards = 1};
    uint8_t *bytes = NULL;
    size_t len = 0;
    tly_status status =
        tly_gather_whole(client->context, shard, &bytes, &len, &message.total_data_bytes, error);
    if (status == TLY_OK) {
        message.bytes = bytes;
        message.len = len;
        status = take_descriptor(client, request, &message, f, error);
    }
    if (status == TLY_OK) {
        status = take_memory(request, f, error);
    }
    tly_base_free(client->context, bytes, len, 1);
    return status;
}

static tly_status on_shard(tly_client *client, const tly_fetch_request *request,
                           const tly_wire_event *event, tly_fetched *f, tly_gather *gather,
                           tly_error *error) {
    uint64_t len = event->descriptor.total_data_bytes;
    void *at = NULL;
    tly_status status = TLY_OK;
    if (f->descriptor_bytes == NULL) {
        status = begin_whole(client, request, event->tensor, f, error);
    }
    if (status == TLY_OK) { /* a buffer may be longer than its elements, but not without end */
        status = check_limit(client, len, error);
    }
    if (status == TLY_OK) {
        status = tly_gather_add(gather, event->stream, &f->descriptor, f->data, event->tensor, len,
                                &at, error);
    }
    if (status != TLY_OK) {
        tly_wire_fail_stream(client->wire, event->stream, TLY_WIRE_INVALID_MESSAGE, error->message);
        tly_client_flush(client, NULL);
        return status;
    }
    if (len != 0) {
        tly_wire_set_destination(client->wire, event->stream, at, len);
    }
    return TLY_OK;
}

/* ---- the stream ---- */

/* The rest of a tensor whose beginning has come before: it must be the same one. */
static tly_status take_over(tly_fetched *f, tly_fetched *before, tly_error *error) {
    if (f->descriptor_len != before->descriptor_len || f->len != before->len ||
        memcmp(f->descriptor_bytes, before->descriptor_bytes, f->descriptor_len) != 0) {
        return refuse(TLY_PROTOCOL, "range-descriptor",
                      "the rest of a tensor comes with another descriptor", error);
    }
    f->data = before->data;
    f->block = before->block;
    f->received = before->received;
    memset(&before->block, 0, sizeof before->block);
    before->data = NULL;
    return TLY_OK;
}

static tly_status on_descriptor(tly_client *client, const tly_fetch_request *request,
                                const tly_wire_event *event, tly_fetched *f, tly_fetched *before,
                                tly_error *error) {
    tly_status status = take_descriptor(client, request, &event->descriptor, f, error);
    int elsewhere = f->fd >= 0;
    if (status == TLY_OK) {
        status = elsewhere             ? take_file(request, f, error)
                 : f->range.first != 0 ? take_over(f, before, error)
                                       : take_memory(request, f, error);
    }
    if (status != TLY_OK) { /* tell the server, so that it stops sending */
        tly_wire_fail_stream(client->wire, event->stream,
                             status == TLY_LIMIT ? TLY_WIRE_TOO_LARGE : TLY_WIRE_INVALID_MESSAGE,
                             error != NULL ? error->message : "the client refuses the descriptor");
        tly_client_flush(client, NULL);
        return status;
    }
    if (elsewhere) {
        tly_wire_data_elsewhere(client->wire, event->stream);
    } else if (f->len != 0) {
        uint64_t first = f->range.first;
        if (first != 0) {
            tly_wire_begin_at(client->wire, event->stream, first);
        }
        tly_wire_set_destination(client->wire, event->stream, (uint8_t *)f->data + first,
                                 f->len - first);
    }
    return TLY_OK;
}

tly_fetched *tly_fetched_new(const tly_context *context) {
    tly_fetched *f = tly_base_calloc(context, sizeof *f, _Alignof(tly_fetched));
    if (f != NULL) {
        f->context = context;
        f->fd = -1;
    }
    return f;
}

/* A further tensor on the stream: a member of the composite that `f` is the head of. */
static tly_status on_member(tly_client *client, const tly_wire_event *event, tly_fetched *f,
                            tly_error *error) {
    const tly_fetch_request plain = {.size = sizeof plain};
    tly_fetched *member;
    if (f->num_members == f->members_capacity) {
        uint32_t want = f->members_capacity != 0 ? 2 * f->members_capacity : 8;
        tly_fetched **grown =
            tly_base_grow(f->context, f->members, f->members_capacity * sizeof *grown,
                          want * sizeof *grown, _Alignof(tly_fetched *));
        if (grown == NULL) {
            return refuse(TLY_OUT_OF_MEMORY, "", "no memory for a member", error);
        }
        f->members = grown;
        f->members_capacity = want;
    }
    member = tly_fetched_new(f->context);
    if (member == NULL) {
        return refuse(TLY_OUT_OF_MEMORY, "", "no memory for a member", error);
    }
    f->members[f->num_members++] = member;
    return on_descriptor(client, &plain, event, member, NULL, error);
}

/* Which bytes will come, and from where on. */
static tly_status on_range(const tly_wire_event *event, tly_fetched *f, const tly_fetched *before,
                           tly_error *error) {
    if (f->has_range || f->descriptor_bytes != NULL ||
        !tly_net_range_get(event->bytes, event->len, &f->range)) {
        return refuse(TLY_PROTOCOL, "range-order", "a RANGE that is malformed or out of its turn",
                      error);
    }
    if (f->range.first != 0 &&
        (before == NULL || f->range.first != before->received ||
         memcmp(f->range.version, before->range.version, sizeof f->range.version) != 0)) {
        return refuse(TLY_PROTOCOL, "range-unasked", "the answer begins where nobody asked", error);
    }
    f->has_range = 1;
    return TLY_OK;
}

static tly_status on_private(tly_client *client, const tly_wire_event *event, uint32_t stream,
                             tly_fetched *f, const tly_fetched *before, tly_error *error) {
    tly_status status = event->stream != stream
                            ? refuse(TLY_PROTOCOL, "private-stream",
                                     "a message about a tensor that was not asked for", error)
                        : event->type == TLY_RANGE_TYPE ? on_range(event, f, before, error)
                                                        : on_handover(client, event, f, error);
    client->broken |= status != TLY_OK; /* what comes is not what was agreed on */
    return status;
}

/* What one event does. `out_whole` is set when the tensor is there. */
tly_status tly_client_on_event(tly_client *client, const tly_fetch_request *request,
                               const tly_wire_event *event, uint32_t stream, tly_fetched *f,
                               tly_fetched *before, tly_gather *gather, int *out_whole,
                               tly_error *error) {
    switch (event->kind) {
    case TLY_WIRE_EVENT_ERROR:
    case TLY_WIRE_EVENT_REJECTED:
        tly_client_flush(client, NULL);
        return tly_client_refusal(client, event, error);
    case TLY_WIRE_EVENT_PRIVATE:
        return on_private(client, event, stream, f, before, error);
    case TLY_WIRE_EVENT_DESCRIPTOR:
        if (event->descriptor.total_shards != 1) {
            return on_shard(client, request, event, f, gather, error);
        }
        return f->descriptor_bytes != NULL
                   ? on_member(client, event, f, error)
                   : on_descriptor(client, request, event, f, before, error);
    case TLY_WIRE_EVENT_DATA:
        gather->done += event->len;
        f->received = f->range.first + gather->done;
        if (request->progress != NULL &&
            request->progress(request->progress_user, f->received, f->len)) {
            client->broken = 1; /* the rest of the tensor is under way */
            return refuse(TLY_CANCELLED, "progress", "the caller stopped the transfer", error);
        }
        return TLY_OK;
    case TLY_WIRE_EVENT_END:
        *out_whole = event->left == 0;
        return gather->shards != NULL ? tly_gather_end(gather, event->stream,
                                                       tly_dtype_bits(f->descriptor.dtype), error)
                                      : TLY_OK;
    default:
        return TLY_OK;
    }
}

/* Runs one request to its end. */
static tly_status run(tly_client *client, const tly_fetch_request *request, uint32_t stream,
                      tly_fetched *f, tly_fetched *before, tly_error *error) {
    tly_gather gather = {.context = client->context};
    tly_status status = TLY_OK;
    int whole = 0;
    while (status == TLY_OK && !whole) {
        tly_wire_event event;
        status = tly_client_event(client, &event, error);
        if (status == TLY_OK &&
            (event.origin == stream || event.kind == TLY_WIRE_EVENT_ERROR ||
             event.kind == TLY_WIRE_EVENT_REJECTED || event.kind == TLY_WIRE_EVENT_PRIVATE)) {
            status = tly_client_on_event(client, request, &event, stream, f, before, &gather,
                                         &whole, error);
        }
    }
    tly_gather_cleanup(&gather);
    return status;
}

tly_status tly_client_check_request(const tly_client *client, const tly_fetch_request *request,
                                    tly_error *error) {
    if (request->size != sizeof *request || request->key == NULL ||
        (request->num_layouts != 0 && request->layouts == NULL) ||
        strlen(request->key) > UINT32_MAX || request->num_layouts >= UINT16_MAX) {
        return refuse(TLY_INVALID_ARGUMENT, "request",
                      "tly_fetch_request: wrong size, no key, or "
                      "no layouts",
                      error);
    }
    if (client->broken) {
        return refuse(TLY_CLOSED, "broken", "the connection broke in an earlier call", error);
    }
    return TLY_OK;
}

/* Is what has come of use in another attempt? */
static int is_worth_keeping(const tly_fetched *f) {
    return f->has_range && f->received != 0 && f->data != NULL && !f->shared;
}

tly_status tly_client_fetch_on(tly_client *client, const tly_fetch_request *request,
                               tly_fetched *before, tly_fetched **out_fetched, tly_error *error) {
    /* Shards have streams of their own, and none begins in the middle. */
    int parallel = (request->request_flags & TLY_WIRE_PARALLEL_OK) != 0;
    tly_range range = {0};
    tly_fetched *f = NULL;
    tly_error own;
    uint32_t stream = 0;
    tly_status status = tly_client_check_request(client, request, error);
    *out_fetched = NULL;
    if (status != TLY_OK) {
        return status;
    }
    f = tly_fetched_new(client->context);
    if (f == NULL) {
        return refuse(TLY_OUT_OF_MEMORY, "", "no memory for a tensor", error);
    }
    if (before != NULL) {
        range = before->range;
        range.first = before->received;
    }
    error = error != NULL ? error : &own;
    status = tly_client_send_request(client, request, parallel ? NULL : &range, &stream, error);
    if (status == TLY_OK) {
        status = run(client, request, stream, f, before, error);
    }
    if (status != TLY_OK && !is_worth_keeping(f)) {
        tly_fetched_free(f);
        f = NULL;
    }
    *out_fetched = f;
    return status;
}

tly_status tly_client_fetch(tly_client *client, const tly_fetch_request *request,
                            tly_fetched **out_fetched, tly_error *error) {
    tly_fetched *f = NULL;
    tly_error own;
    uint32_t stream = 0;
    tly_status status = tly_client_check_request(client, request, error);
    *out_fetched = NULL;
    if (status != TLY_OK) {
        return status;
    }
    f = tly_fetched_new(client->context);
    if (f == NULL) {
        return refuse(TLY_OUT_OF_MEMORY, "", "no memory for a tensor", error);
    }
    error = error != NULL ? error : &own;
    status = tly_client_send_request(client, request, NULL, &stream, error);
    if (status == TLY_OK) {
        status = run(client, request, stream, f, NULL, error);
    }
    if (status != TLY_OK) {
        tly_fetched_free(f);
        return status;
    }
    *out_fetched = f;
    return TLY_OK;
}

const tly_descriptor *tly_fetched_descriptor(const tly_fetched *fetched) {
    return &fetched->descriptor;
}

const void *tly_fetched_descriptor_bytes(const tly_fetched *fetched, size_t *out_len) {
    *out_len = fetched->descriptor_len;
    return fetched->descriptor_bytes;
}

void *tly_fetched_data(tly_fetched *fetched) {
    return fetched->data;
}

uint64_t tly_fetched_len(const tly_fetched *fetched) {
    return fetched->len;
}

int tly_fetched_is_shared(const tly_fetched *fetched) {
    return fetched->shared;
}

uint32_t tly_fetched_choice(const tly_fetched *fetched) {
    return fetched->choice;
}

uint32_t tly_fetched_num_members(const tly_fetched *fetched) {
    return fetched->num_members;
}

tly_fetched *tly_fetched_member(const tly_fetched *fetched, uint32_t index) {
    return index < fetched->num_members ? fetched->members[index] : NULL;
}

void tly_fetched_free(tly_fetched *fetched) {
    if (fetched == NULL) {
        return;
    }
    for (uint32_t i = 0; i < fetched->num_members; i++) {
        tly_fetched_free(fetched->members[i]); /* has no members: all stand in one list */
    }
    tly_base_free(fetched->context, fetched->members,
                  fetched->members_capacity * sizeof *fetched->members, _Alignof(tly_fetched *));
    drop_file(fetched);
    tly_net_block_cleanup(fetched->context, &fetched->block);
    tly_base_free(fetched->context, fetched->descriptor_bytes, fetched->descriptor_len, 1);
    tly_base_free(fetched->context, fetched->work, fetched->work_len, 16);
    tly_base_free(fetched->context, fetched, sizeof *fetched, _Alignof(tly_fetched));
}
