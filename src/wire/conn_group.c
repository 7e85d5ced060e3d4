/* SPDX-License-Identifier: Apache-2.0 */
/* Answers in shards (interchange, Parallel Transfers): shard 0 on the stream of the request, the
 * others on streams that the server opens. The protocol does not say how a client knows whose
 * shards they are, and two tensors can have the same shape: so a client has one such request open
 * at a time (docs/internals/wire.md). */
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "wire/conn.h"

wire_group *tly_wire_find_group(tly_wire *w, uint32_t origin) {
    return w->group != NULL && w->group->origin == origin ? w->group : NULL;
}

void tly_wire_free_group(tly_wire *w) {
    if (w->group != NULL) {
        tly_wire_shards_cleanup(&w->group->shards);
        tly_base_free(w->context, w->group, sizeof *w->group, _Alignof(wire_group));
        w->group = NULL;
    }
}

int tly_wire_expects_shard(const tly_wire *w) {
    return w->parallel_origin != 0 || w->gave_up_shards;
}

tly_status tly_wire_refuse_shard(tly_wire *w, uint32_t code) {
    if (tly_wire_find_stream(w, w->head.stream) == NULL && w->parallel_origin != 0) {
        /* There is room for one stream more than may be: to refuse it on. */
        tly_wire_open_stream(w, w->head.stream, STREAM_ANSWER)->origin = w->parallel_origin;
    }
    return tly_wire_reject(w, code == TLY_WIRE_INVALID_MESSAGE ? TLY_WIRE_SHARD_MISMATCH : code);
}

static tly_status begin_group(tly_wire *w, uint32_t origin, const tly_wire_descriptor *d,
                              const tly_descriptor *tensor, wire_group **out_group) {
    wire_group *g = tly_base_calloc(w->context, sizeof *g, _Alignof(wire_group));
    *out_group = g;
    if (g == NULL) {
        return TLY_OUT_OF_MEMORY;
    }
    g->origin = origin;
    g->left = d->total_shards;
    w->group = g;
    return tly_wire_shards_init(w->context, tensor, d->total_shards, &g->shards, &w->event_error);
}

/* A shard of an answer that was given up: the server is told, the caller was told before. */
static tly_status refuse_late(tly_wire *w) {
    tly_wire_remember_refused(w, w->head.stream);
    return tly_wire_queue_error(w, w->head.stream, TLY_WIRE_SHARD_MISMATCH,
                                "the tensor of this shard was given up");
}

wire_stream *tly_wire_take_shard(tly_wire *w, const tly_wire_descriptor *d,
                                 const tly_descriptor *tensor, tly_status *out_status) {
    wire_stream *s = tly_wire_find_stream(w, w->head.stream);
    wire_group *g;
    tly_status status = TLY_OK;
    if (s != NULL && (!s->parallel_ok || s->composite != NULL)) {
        *out_status = tly_wire_broken(w, "shard-unasked",
                                      "the answer comes in %u shards, which was not asked for",
                                      d->total_shards);
        return NULL;
    }
    if (s == NULL) {
        if (d->total_shards == 1 || w->parallel_origin == 0) {
            *out_status =
                d->total_shards != 1 && w->gave_up_shards
                    ? refuse_late(w)
                    : tly_wire_broken(w, "desc-unasked",
                                      "a descriptor on stream %u, which carries no tensor",
                                      w->head.stream);
            return NULL;
        }
        /* There is room for one stream more than may be: to refuse it on. */
        s = tly_wire_open_stream(w, w->head.stream, STREAM_ANSWER);
        s->origin = w->parallel_origin;
        if (w->num_streams > w->max_streams) {
            tly_base_fail(&w->event_error, TLY_LIMIT, TLY_NO_OFFSET, "max-streams",
                          "a shard comes while %u streams are open, which is the limit",
                          w->max_streams);
            *out_status = tly_wire_reject(w, TLY_WIRE_BUSY);
            return NULL;
        }
    }
    g = tly_wire_find_group(w, s->origin);
    if (g == NULL) {
        status = begin_group(w, s->origin, d, tensor, &g);
    }
    if (status == TLY_OK) {
        status = tly_wire_shards_add(&g->shards, tensor, d->shard_index, d->total_shards,
                                     &w->event_error);
    }
    if (status != TLY_OK) {
        *out_status =
            status == TLY_OUT_OF_MEMORY ? status : tly_wire_reject(w, TLY_WIRE_SHARD_MISMATCH);
        return NULL;
    }
    return s;
}

wire_group *tly_wire_torn_group(tly_wire *w) {
    return w->group != NULL && w->group->shards.seen < w->group->shards.total ? w->group : NULL;
}

tly_status tly_wire_give_up_origin(tly_wire *w, uint32_t origin, uint32_t id, uint32_t code,
                                   const char *text) {
    tly_status status = TLY_OK;
    if (w->parallel_origin == origin && origin != 0) {
        w->gave_up_shards = 1;
        w->parallel_origin = 0;
        tly_wire_free_group(w);
    }
    for (uint32_t i = 0; i < w->num_streams;) {
        uint32_t other = w->streams[i].id;
        if (w->streams[i].origin != origin || other == id) {
            i++;
            continue;
        }
        tly_wire_drop_frames(w, other);
        tly_wire_close_stream(w, other); /* another one is in its place now */
        tly_wire_remember_refused(w, other);
        if (status == TLY_OK) {
            status = tly_wire_queue_error(w, other, code, text);
        }
    }
    return status;
}
