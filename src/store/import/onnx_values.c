/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/onnx_values.h"

#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"

#define BATCH     256               /* values handed on at once */
#define CHUNK_LEN ((size_t)1 << 16) /* bytes; room for many batches */

/* A walk over the values of one field; `take` gets them in order. */
typedef struct walk {
    tly_window *window;
    const tly_import_entry *entry;
    tly_status (*take)(void *user, const uint64_t *values, size_t num);
    void *user;
    size_t num;
    uint64_t values[BATCH];
} walk;

static tly_status out_of_range(walk *w, uint64_t at) {
    return tly_base_fail(w->window->error, TLY_MALFORMED, at, "value-range",
                         "a value does not fit the tensor's element type %s",
                         tly_dtype_find(w->entry->dtype)->name);
}

/* Checks a varint against the element type. int32_data holds everything up to 32 bits: negative
 * numbers stand there with 64 bits, or with 32 from some writers. */
static int fits(const tly_import_entry *entry, uint64_t value) {
    int64_t number = (int64_t)value;
    if (value > INT32_MAX && value <= UINT32_MAX && entry->dtype != TLY_U32 &&
        entry->dtype != TLY_I64 && entry->dtype != TLY_U64) {
        number = (int64_t)value - (INT64_C(1) << 32);
    }
    switch (entry->dtype) {
    case TLY_BOOL:
        return value <= 1;
    case TLY_I8:
        return number >= INT8_MIN && number <= INT8_MAX;
    case TLY_I16:
        return number >= INT16_MIN && number <= INT16_MAX;
    case TLY_I32:
        return number >= INT32_MIN && number <= INT32_MAX;
    case TLY_U8:
    case TLY_F8E4M3:
    case TLY_F8E5M2:
    case TLY_F8E8M0:
    case TLY_F4E2M1:
    case TLY_I4:
    case TLY_U4:
    case TLY_I2:
    case TLY_U2:
        return value <= UINT8_MAX;
    case TLY_U16:
    case TLY_F16:
    case TLY_BF16:
        return value <= UINT16_MAX;
    case TLY_U32:
        return value <= UINT32_MAX;
    default:
        return 1;
    }
}

static tly_status flush(walk *w) {
    size_t num = w->num;
    w->num = 0;
    return num != 0 ? w->take(w->user, w->values, num) : TLY_OK;
}

static tly_status put(walk *w, uint64_t value, uint64_t at) {
    if (w->entry->wire == TLY_WIRE_VARINT && !fits(w->entry, value)) {
        return out_of_range(w, at);
    }
    if (w->entry->single) {
        w->values[0] = value; /* the last one counts */
        w->num = 1;
        return TLY_OK;
    }
    w->values[w->num++] = value;
    return w->num == BATCH ? flush(w) : TLY_OK;
}

static tly_status walk_varints(walk *w, const tly_proto_range *range) {
    uint64_t at = range->at, end = range->at + range->len;
    while (at < end) {
        uint64_t value, start = at;
        tly_status status = tly_proto_varint(w->window, &at, end, &value);
        if (status == TLY_OK) {
            status = put(w, value, start);
        }
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static tly_status walk_fixed(walk *w, const tly_proto_range *range) {
    uint64_t width = w->entry->wire == TLY_WIRE_FIXED32 ? 4 : 8;
    uint64_t at = range->at, end = range->at + range->len;
    if (range->len % width != 0) {
        return tly_base_fail(w->window->error, TLY_MALFORMED, range->at, "packed-len",
                             "a packed field of %llu-byte values has %llu bytes",
                             (unsigned long long)width, (unsigned long long)range->len);
    }
    while (at < end) {
        uint8_t bytes[8];
        tly_status status;
        const uint8_t *p = bytes;
        uint64_t got;
        status = tly_window_peek(w->window, at, end - at, &p, &got);
        if (status == TLY_OK && got < width) { /* across the end of the window */
            status = tly_window_copy(w->window, at, bytes, width);
            p = bytes;
            got = width;
        }
        for (uint64_t i = 0; status == TLY_OK && i + width <= got; i += width, at += width) {
            status = put(w, width == 4 ? tly_base_load_u32(p + i) : tly_base_load_u64(p + i), at);
        }
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static tly_status run(walk *w) {
    uint64_t at = w->entry->offset, end = w->entry->offset + w->entry->extent;
    while (at < end) {
        tly_proto_field field;
        tly_status status = tly_proto_next(w->window, &at, end, &field);
        if (status != TLY_OK) {
            return status;
        }
        if (field.number != w->entry->field) {
            continue;
        }
        if (field.wire == w->entry->wire) {
            status = put(w, field.value, field.range.at);
        } else if (field.wire == TLY_WIRE_LEN && !w->entry->single) {
            status = w->entry->wire == TLY_WIRE_VARINT ? walk_varints(w, &field.range)
                                                       : walk_fixed(w, &field.range);
        } else {
            status = tly_proto_expect(w->window, &field, w->entry->wire, "a field of values");
        }
        if (status != TLY_OK) {
            return status;
        }
    }
    if (w->entry->single && w->num == 0) { /* a field that is not there is 0 */
        w->values[0] = 0;
        w->num = 1;
    }
    return flush(w);
}

static tly_status count_some(void *user, const uint64_t *values, size_t num) {
    uint64_t *count = user;
    (void)values;
    *count += num;
    return TLY_OK;
}

tly_status tly_import_count_values(tly_window *window, const tly_import_entry *entry,
                                   uint64_t *out_count) {
    walk w;
    w.window = window;
    w.entry = entry;
    w.take = count_some;
    w.user = out_count;
    w.num = 0;
    *out_count = 0;
    return run(&w);
}

/* Values on their way to the sink. */
typedef struct output {
    const tly_import_entry *entry;
    tly_import_sink sink;
    void *user;
    tly_error *error;
    uint8_t *chunk;
    uint64_t left;   /* bytes that the tensor still has to give */
    size_t used;     /* bytes of the chunk */
    uint32_t bits;   /* booleans in `partial` */
    uint8_t partial; /* the byte that booleans are put into */
} output;

static tly_status hand_on(output *o) {
    size_t used = o->used;
    o->used = 0;
    if (used > o->left) {
        return tly_base_fail(o->error, TLY_MALFORMED, o->entry->offset, "file-changed",
                             "the file has changed while it was read");
    }
    o->left -= used;
    return used != 0 ? o->sink(o->user, o->chunk, used, o->error) : TLY_OK;
}

static tly_status store_some(void *user, const uint64_t *values, size_t num) {
    output *o = user;
    size_t unit = o->entry->unit;
    if (o->used + num * 8 > CHUNK_LEN) {
        tly_status status = hand_on(o);
        if (status != TLY_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < num; i++) {
        uint8_t bytes[8];
        if (unit == 0) {
            o->partial |= (uint8_t)(values[i] << o->bits);
            if (++o->bits == 8) {
                o->chunk[o->used++] = o->partial;
                o->bits = 0;
                o->partial = 0;
            }
            continue;
        }
        tly_base_store_u64(bytes, values[i]);
        memcpy(o->chunk + o->used, bytes, unit);
        o->used += unit;
    }
    return TLY_OK;
}

tly_status tly_import_stream_values(const tly_import *import, const tly_import_entry *entry,
                                    tly_import_sink sink, void *user, tly_error *error) {
    output o = {.entry = entry, .sink = sink, .user = user, .error = error};
    tly_window window;
    walk w;
    tly_status status =
        tly_window_init(&window, import->context, &import->files[entry->file], error);
    if (status != TLY_OK) {
        return status;
    }
    o.left = entry->byte_len;
    o.chunk = tly_base_alloc(import->context, CHUNK_LEN, 16);
    if (o.chunk == NULL) {
        tly_window_cleanup(&window);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a buffer of values");
    }
    w.window = &window;
    w.entry = entry;
    w.take = store_some;
    w.user = &o;
    w.num = 0;
    status = run(&w);
    if (status == TLY_OK && o.bits != 0) {
        o.chunk[o.used++] = o.partial;
    }
    if (status == TLY_OK) {
        status = hand_on(&o);
    }
    if (status == TLY_OK && o.left != 0) {
        status = tly_base_fail(error, TLY_TRUNCATED, entry->offset, "file-changed",
                               "the file has changed while it was read");
    }
    tly_base_free(import->context, o.chunk, CHUNK_LEN, 16);
    tly_window_cleanup(&window);
    return status;
}
