/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a stream of tensors. */
#include <tilery/stream.h>

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "store/stream_fd.h"
#include "store/stream_rules.h"

#define AHEAD_LEN   65536 /* bytes read at once when little is asked for */
#define FIRST_GUESS 512   /* bytes of a descriptor before more memory is taken */

struct tly_stream_reader {
    const tly_context *context;
    tly_stream_source source;
    void *user;
    int fd; /* of tly_stream_reader_new_fd */
    tly_stream_options options;
    tly_composite_check *check;
    uint64_t offset; /* of the next byte to be handed out */
    uint64_t left;   /* bytes of the tensor's buffers */
    uint8_t *bytes;  /* the descriptor as it came, then work memory */
    size_t bytes_len;
    tly_descriptor descriptor;
    size_t have_at; /* what was read ahead: ahead[have_at .. have_end) */
    size_t have_end;
    int ended;        /* the source has */
    tly_error broken; /* status other than OK: what ended the reading */
    uint8_t ahead[AHEAD_LEN];
};

tly_status tly_store_stream_options(const tly_stream_options *given, tly_stream_options *out,
                                    tly_error *error) {
    *out = (tly_stream_options){.size = sizeof *out, .max_descriptor_len = 1u << 24};
    if (given == NULL) {
        return TLY_OK;
    }
    if (given->size < sizeof *given || (given->flags & ~TLY_STREAM_CROSS_MACHINE) != 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "size or flags of tly_stream_options are not set correctly");
    }
    out->flags = given->flags;
    if (given->max_descriptor_len != 0) {
        out->max_descriptor_len = given->max_descriptor_len;
    }
    return TLY_OK;
}

tly_status tly_store_stream_check(const tly_descriptor *d, uint32_t flags, tly_error *error) {
    for (uint32_t i = 0; i < d->num_buffers && (flags & TLY_STREAM_CROSS_MACHINE) != 0; i++) {
        if (d->buffers[i].sync_mode != 0) {
            return tly_base_fail(error, TLY_MALFORMED, 0, "P-SYNCMODE",
                                 "buffer %u has synchronisation %u: between machines it must be 0",
                                 i, d->buffers[i].sync_mode);
        }
    }
    return tly_descriptor_check_buffers(d, error);
}

tly_status tly_store_stream_data_len(const tly_descriptor *d, uint64_t *out_len, tly_error *error) {
    if (tly_descriptor_data_len(d, out_len) != TLY_OK) {
        return tly_base_fail(error, TLY_OVERFLOW, 0, "B-SIZE",
                             "the bytes of all buffers together do not fit in 64 bits");
    }
    return TLY_OK;
}

tly_status tly_stream_reader_new(const tly_context *context, tly_stream_source source, void *user,
                                 const tly_stream_options *options, tly_stream_reader **out_reader,
                                 tly_error *error) {
    tly_stream_reader *r;
    tly_stream_options own;
    tly_status status = tly_store_stream_options(options, &own, error);
    if (status != TLY_OK) {
        return status;
    }
    r = tly_base_calloc(context, sizeof *r, _Alignof(tly_stream_reader));
    if (r == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a reader");
    }
    r->context = context;
    r->source = source;
    r->user = user;
    r->options = own;
    status = tly_composite_check_new(context, &r->check, error);
    if (status != TLY_OK) {
        tly_stream_reader_free(r);
        return status;
    }
    *out_reader = r;
    return TLY_OK;
}

tly_status tly_stream_reader_new_fd(const tly_context *context, int fd,
                                    const tly_stream_options *options,
                                    tly_stream_reader **out_reader, tly_error *error) {
    tly_status status =
        tly_stream_reader_new(context, tly_store_fd_source, NULL, options, out_reader, error);
    if (status == TLY_OK) {
        (*out_reader)->fd = fd;
        (*out_reader)->user = &(*out_reader)->fd;
    }
    return status;
}

void tly_stream_reader_free(tly_stream_reader *reader) {
    if (reader != NULL) {
        tly_composite_check_free(reader->check);
        tly_base_free(reader->context, reader->bytes, reader->bytes_len, 8);
        tly_base_free(reader->context, reader, sizeof *reader, _Alignof(tly_stream_reader));
    }
}

/* Remembers what ended the reading. `at` is where a descriptor begins whose bytes the offset of the
 * error counts from. */
static tly_status broken(tly_stream_reader *r, tly_status status, uint64_t at,
                         const tly_error *seen, tly_error *error) {
    r->broken = *seen;
    r->broken.status = status;
    if (seen->offset != TLY_NO_OFFSET) {
        r->broken.offset += at;
    }
    if (error != NULL) {
        *error = r->broken;
    }
    return status;
}

static tly_status broken_before(const tly_stream_reader *r, tly_error *error) {
    if (error != NULL) {
        *error = r->broken;
    }
    return r->broken.status;
}

/* Takes up to `len` bytes; fewer only where the source ends. `to` may be NULL to step over them. */
static tly_status take(tly_stream_reader *r, uint8_t *to, uint64_t len, uint64_t *out_taken,
                       tly_error *error) {
    uint64_t taken = 0;
    while (taken < len) {
        uint64_t wanted = len - taken;
        size_t got = r->have_end - r->have_at;
        if (got != 0) {
            got = got < wanted ? got : (size_t)wanted;
            if (to != NULL) {
                memcpy(to + taken, r->ahead + r->have_at, got);
            }
            r->have_at += got;
        } else if (r->ended) {
            break;
        } else {
            /* Much goes straight to its place, little comes by way of what is read ahead. */
            int straight = to != NULL && wanted >= AHEAD_LEN;
            size_t room = straight && wanted < SIZE_MAX ? (size_t)wanted : AHEAD_LEN;
            tly_status status =
                r->source(r->user, straight ? to + taken : r->ahead, room, &got, error);
            if (status != TLY_OK) {
                return status;
            }
            r->ended = got == 0;
            r->have_at = 0;
            r->have_end = straight ? 0 : got;
            got = straight ? got : 0;
        }
        taken += got;
        r->offset += got;
    }
    *out_taken = taken;
    return TLY_OK;
}

static tly_status torn_data(const tly_stream_reader *r, tly_error *error) {
    return tly_base_fail(error, TLY_TRUNCATED, r->offset, "ST-TORN-DATA",
                         "the stream ends, but %llu bytes of a tensor's data are missing",
                         (unsigned long long)r->left);
}

/* Steps over what is left of a tensor. */
static tly_status skip(tly_stream_reader *r, tly_error *error) {
    uint64_t taken = 0;
    tly_status status = take(r, NULL, r->left, &taken, error);
    if (status != TLY_OK) {
        return status;
    }
    r->left -= taken;
    return r->left == 0 ? TLY_OK : torn_data(r, error);
}

/* Room for `len` bytes of a descriptor, keeping those that are there. */
static tly_status make_room(tly_stream_reader *r, size_t len, tly_error *error) {
    uint8_t *grown;
    if (len <= r->bytes_len) {
        return TLY_OK;
    }
    grown = tly_base_grow(r->context, r->bytes, r->bytes_len, len, 8);
    if (grown == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a descriptor of at least %zu bytes", len);
    }
    r->bytes = grown;
    r->bytes_len = len;
    return TLY_OK;
}

static tly_status torn_descriptor(uint64_t have, tly_error *error) {
    return tly_base_fail(error, TLY_TRUNCATED, have, "ST-TORN-DESC",
                         "the stream ends after %llu bytes of a descriptor",
                         (unsigned long long)have);
}

/* The whole descriptor into `bytes`, with room behind it to decode it. Memory grows with the bytes
 * that arrive. `*out_len` 0: the stream ends here. */
static tly_status gather(tly_stream_reader *r, uint32_t *out_len, tly_error *error) {
    uint64_t taken = 0;
    uint32_t len = 0;
    uint64_t have = TLY_DESCRIPTOR_PREFIX_LEN;
    tly_status status = make_room(r, FIRST_GUESS, error);
    status = status == TLY_OK ? take(r, r->bytes, have, &taken, error) : status;
    if (status != TLY_OK || taken == 0) {
        *out_len = 0;
        return status;
    }
    if (taken < have) {
        return torn_descriptor(taken, error);
    }
    status = tly_descriptor_len(r->bytes, (size_t)have, &len, error);
    if (status != TLY_OK) {
        return status;
    }
    if (len > r->options.max_descriptor_len) {
        return tly_base_fail(error, TLY_LIMIT, 6, "ST-DESC-LIMIT",
                             "a descriptor of %u bytes; the limit is %u", len,
                             r->options.max_descriptor_len);
    }
    while (have < len) {
        uint64_t next = 2 * have > FIRST_GUESS ? 2 * have : FIRST_GUESS;
        next = next < len ? next : len;
        status = make_room(r, (size_t)next, error);
        status = status == TLY_OK ? take(r, r->bytes + have, next - have, &taken, error) : status;
        if (status != TLY_OK) {
            return status;
        }
        if (taken < next - have) {
            return torn_descriptor(have + taken, error);
        }
        have = next;
    }
    *out_len = len;
    return make_room(r, 2 * (size_t)len + 64, error);
}

static tly_status understand(tly_stream_reader *r, uint32_t len, tly_error *error) {
    tly_descriptor *d = &r->descriptor;
    tly_status status =
        tly_descriptor_decode(r->bytes, len, r->bytes + len, r->bytes_len - len, d, NULL, error);
    if (status == TLY_OK) {
        status = tly_store_stream_check(d, r->options.flags, error);
    }
    if (status == TLY_OK) {
        status = tly_composite_check_add(r->check, d, error);
        if (status != TLY_OK && error->offset == TLY_NO_OFFSET) {
            error->offset = 0; /* this descriptor does not fit where it stands */
        }
    }
    return status == TLY_OK ? tly_store_stream_data_len(d, &r->left, error) : status;
}

tly_status tly_stream_reader_next(tly_stream_reader *reader, const tly_descriptor **out_descriptor,
                                  tly_error *error) {
    tly_error seen = {0};
    uint32_t len = 0;
    uint64_t start;
    tly_status status = reader->broken.status;
    *out_descriptor = NULL;
    if (status != TLY_OK) {
        return broken_before(reader, error);
    }
    status = skip(reader, &seen);
    if (status != TLY_OK) {
        return broken(reader, status, 0, &seen, error);
    }
    start = reader->offset;
    status = gather(reader, &len, &seen);
    if (status == TLY_OK && len == 0) {
        status = tly_composite_check_end(reader->check, &seen);
        if (status != TLY_OK) {
            seen.offset = 0;
        }
    } else if (status == TLY_OK) {
        status = understand(reader, len, &seen);
    }
    if (status != TLY_OK) {
        return broken(reader, status, start, &seen, error);
    }
    *out_descriptor = len != 0 ? &reader->descriptor : NULL;
    return TLY_OK;
}

tly_status tly_stream_reader_read(tly_stream_reader *reader, void *buffer, uint64_t len,
                                  tly_error *error) {
    tly_error seen = {0};
    uint64_t taken = 0;
    tly_status status = reader->broken.status;
    if (status != TLY_OK) {
        return broken_before(reader, error);
    }
    if (len > reader->left) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "%llu bytes are wanted, but the tensor has only %llu left",
                             (unsigned long long)len, (unsigned long long)reader->left);
    }
    if (len == 0) {
        return TLY_OK;
    }
    status = take(reader, buffer, len, &taken, &seen);
    reader->left -= taken;
    if (status == TLY_OK && taken < len) {
        status = torn_data(reader, &seen);
    }
    return status == TLY_OK ? TLY_OK : broken(reader, status, 0, &seen, error);
}

uint64_t tly_stream_reader_left(const tly_stream_reader *reader) {
    return reader->left;
}

uint64_t tly_stream_reader_offset(const tly_stream_reader *reader) {
    return reader->offset;
}
