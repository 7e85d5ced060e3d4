/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/whole.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"

#define FIRST_LEN ((size_t)1 << 20) /* bytes taken at once for data that may not come */
#define ALIGNMENT 64

typedef struct tly_whole_block {
    struct tly_whole_block *next;
    void *bytes;
} block;

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a tensor");
}

static tly_status keep_block(tly_whole *l, void *bytes, tly_error *error) {
    block *b = tly_arena_alloc(&l->arena, sizeof *b, _Alignof(block));
    if (b == NULL) {
        free(bytes);
        return no_memory(error);
    }
    *b = (block){l->blocks, bytes};
    l->blocks = b;
    return TLY_OK;
}

void tly_whole_cleanup(tly_whole *loaded) {
    for (block *b = loaded->blocks; b != NULL; b = b->next) {
        free(b->bytes);
    }
    loaded->blocks = NULL;
    tly_arena_cleanup(&loaded->arena);
}

/* A copy of a descriptor that lives in the arena. */
static tly_status copy_descriptor(tly_whole *l, const tly_descriptor *d, const tly_descriptor **out,
                                  tly_error *error) {
    size_t len = 0, room;
    tly_descriptor *copy;
    uint8_t *bytes;
    tly_status status = tly_descriptor_encode(d, NULL, 0, &len, error);
    if (status != TLY_OK) {
        return status;
    }
    room = 2 * len + 64;
    copy = tly_arena_alloc(&l->arena, sizeof *copy, _Alignof(tly_descriptor));
    bytes = tly_arena_alloc(&l->arena, room, 8);
    if (copy == NULL || bytes == NULL) {
        return no_memory(error);
    }
    status = tly_descriptor_encode(d, bytes, len, &len, error);
    *out = copy;
    return status == TLY_OK
               ? tly_descriptor_decode(bytes, len, bytes + len, room - len, copy, NULL, error)
               : status;
}

/* Data on its way into memory that grows as it comes. */
typedef struct growing {
    uint8_t *bytes;
    size_t len, capacity;
    uint64_t limit; /* bytes that are to come */
} growing;

static tly_status take_piece(void *user, const void *bytes, size_t len, tly_error *error) {
    growing *g = user;
    if (len > g->limit - g->len) {
        return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "",
                             "a tensor gave too many bytes");
    }
    if (len > g->capacity - g->len) {
        uint64_t more = 2 * (uint64_t)g->capacity > g->len + (uint64_t)len
                            ? 2 * (uint64_t)g->capacity
                            : g->len + (uint64_t)len;
        uint8_t *grown;
        more = more < g->limit ? more : g->limit;
        grown = realloc(g->bytes, (size_t)more);
        if (grown == NULL) {
            return no_memory(error);
        }
        g->bytes = grown;
        g->capacity = (size_t)more;
    }
    memcpy(g->bytes + g->len, bytes, len);
    g->len += len;
    return TLY_OK;
}

static tly_status load_data(tly_whole *l, tly_source *source, const tly_source_item *item,
                            tly_tensor *tensor, tly_error *error) {
    const tly_descriptor *d = tensor->descriptor;
    growing g = {.limit = item->data_len,
                 .capacity = item->data_len < FIRST_LEN ? (size_t)item->data_len + 1 : FIRST_LEN};
    const void **buffers;
    size_t at = 0;
    tly_status status;
    g.bytes = malloc(g.capacity);
    status = g.bytes != NULL ? tly_source_data(source, take_piece, &g, error) : no_memory(error);
    if (status == TLY_OK && g.len != g.limit) {
        status = tly_base_fail(error, TLY_TRUNCATED, item->offset, "data-len",
                               "a tensor gave fewer bytes than it has");
    }
    if (status != TLY_OK) {
        free(g.bytes);
        return status;
    }
    status = keep_block(l, g.bytes, error);
    buffers = tly_arena_alloc(&l->arena, (d->num_buffers + 1u) * sizeof *buffers, sizeof *buffers);
    if (status != TLY_OK || buffers == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        buffers[i] = g.bytes + at;
        at += (size_t)d->buffers[i].byte_size;
    }
    tensor->buffers = buffers;
    l->data_len += g.len;
    return TLY_OK;
}

/* One tensor being read with what follows it. */
typedef struct reading {
    tly_whole *loaded;
    tly_source *source;
    tly_composite_check *check;
    tly_error *error;
} reading;

static tly_status load_members(reading *r, tly_tensor *head, uint32_t depth);

static tly_status load_one(reading *r, const tly_source_item *item, tly_tensor *out,
                           uint32_t depth) {
    tly_whole *l = r->loaded;
    tly_status status = copy_descriptor(l, item->descriptor, &out->descriptor, r->error);
    if (status == TLY_OK) {
        status = tly_composite_check_add(r->check, out->descriptor, r->error);
        if (status != TLY_OK && r->error->offset == TLY_NO_OFFSET) {
            r->error->offset = item->offset;
        }
    }
    l->num_tensors++;
    if (status == TLY_OK) {
        status = load_data(l, r->source, item, out, r->error);
    }
    return status == TLY_OK && out->descriptor->layout == TLY_LAYOUT_COMPOSITE
               ? load_members(r, out, depth)
               : status;
}

/* Members follow their head. Room for them grows as they come. */
static tly_status load_members(reading *r, tly_tensor *head, uint32_t depth) {
    const uint32_t count = head->descriptor->composite.member_count;
    tly_tensor *members = NULL, *kept;
    uint32_t room = 0;
    tly_status status = TLY_OK;
    for (uint32_t i = 0; i < count && status == TLY_OK; i++) {
        tly_source_item item;
        int more = 0;
        if (i == room) {
            uint32_t wanted = room == 0 ? 8 : 2 * room;
            tly_tensor *grown = realloc(members, wanted * sizeof *members);
            if (grown == NULL) {
                status = no_memory(r->error);
                break;
            }
            members = grown;
            room = wanted;
        }
        memset(&members[i], 0, sizeof members[i]);
        status = tly_source_next(r->source, &item, &more, r->error);
        if (status == TLY_OK && !more) {
            status = tly_base_fail(r->error, TLY_MALFORMED, TLY_NO_OFFSET, "C-TORN",
                                   "a composite of %u members has only %u", count, i);
        }
        if (status == TLY_OK) {
            status = load_one(r, &item, &members[i], depth + 1);
        }
    }
    kept =
        tly_arena_alloc(&r->loaded->arena, (size_t)count * sizeof *kept + 1, _Alignof(tly_tensor));
    if (status == TLY_OK && kept == NULL) {
        status = no_memory(r->error);
    }
    if (status == TLY_OK) {
        if (count != 0) {
            memcpy(kept, members, count * sizeof *kept);
        }
        head->members = kept;
        head->num_members = count;
    }
    free(members);
    return status;
}

tly_status tly_whole_init_item(tly_whole *loaded, const tly_context *context, tly_source *source,
                               const tly_source_item *item, tly_error *error) {
    reading r = {loaded, source, NULL, error};
    tly_status status;
    memset(loaded, 0, sizeof *loaded);
    tly_arena_init(&loaded->arena, context);
    loaded->name = tly_arena_string(&loaded->arena, item->name, item->name_len);
    loaded->name_len = item->name_len;
    status =
        loaded->name != NULL ? tly_composite_check_new(context, &r.check, error) : no_memory(error);
    if (status == TLY_OK) {
        status = load_one(&r, item, &loaded->tensor, 0);
    }
    tly_composite_check_free(r.check);
    if (status != TLY_OK) {
        tly_whole_cleanup(loaded);
    }
    return status;
}

tly_status tly_whole_init(tly_whole *loaded, const tly_context *context, tly_source *source,
                          int *out_more, tly_error *error) {
    tly_source_item item;
    tly_status status = tly_source_next(source, &item, out_more, error);
    return status == TLY_OK && *out_more
               ? tly_whole_init_item(loaded, context, source, &item, error)
               : status;
}

tly_status tly_whole_replace(tly_whole *loaded, const tly_descriptor *descriptor,
                             void **out_buffers, tly_error *error) {
    const void **buffers = tly_arena_alloc(
        &loaded->arena, (descriptor->num_buffers + 1u) * sizeof *buffers, sizeof *buffers);
    uint64_t len = 0;
    uint8_t *bytes;
    tly_status status;
    for (uint32_t i = 0; i < descriptor->num_buffers; i++) {
        if (tly_base_add_u64(len, descriptor->buffers[i].byte_size, &len) ||
            tly_base_round_up_u64(len, ALIGNMENT, &len)) {
            return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "", "a tensor is too large");
        }
    }
    bytes = len < SIZE_MAX - ALIGNMENT ? aligned_alloc(ALIGNMENT, (size_t)len + ALIGNMENT) : NULL;
    if (bytes == NULL || buffers == NULL) {
        free(bytes);
        return no_memory(error);
    }
    status = keep_block(loaded, bytes, error);
    if (status != TLY_OK) {
        return status;
    }
    memset(bytes, 0, (size_t)len);
    len = 0;
    for (uint32_t i = 0; i < descriptor->num_buffers; i++) {
        out_buffers[i] = bytes + len;
        buffers[i] = bytes + len;
        len += (descriptor->buffers[i].byte_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    loaded->tensor = (tly_tensor){.descriptor = descriptor, .buffers = buffers};
    return TLY_OK;
}

static int has_fields(uint8_t layout) {
    return layout != TLY_LAYOUT_ROW_MAJOR && layout != TLY_LAYOUT_COL_MAJOR;
}

tly_status tly_whole_transcode(tly_whole *loaded, const tly_context *context,
                               const tly_descriptor *layout, tly_error *error) {
    const tly_descriptor *was = loaded->tensor.descriptor, *made;
    tly_transcode *plan;
    void *buffers[TLY_MAX_BUFFERS];
    tly_status status;
    if (was->layout == layout->layout && !has_fields(layout->layout) && was->byte_offset == 0) {
        return TLY_OK;
    }
    status = tly_transcode_new(context, &loaded->tensor, layout, NULL, &plan, error);
    if (status != TLY_OK) {
        return status;
    }
    status = copy_descriptor(loaded, tly_transcode_descriptor(plan), &made, error);
    status = status == TLY_OK ? tly_whole_replace(loaded, made, buffers, error) : status;
    status = status == TLY_OK ? tly_transcode_run(plan, buffers, error) : status;
    tly_transcode_free(plan);
    return status;
}
