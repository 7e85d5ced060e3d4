/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/inflate.h"

#include <string.h>

#include <zlib.h>

#include "base/context.h"
#include "base/error.h"

#define IN_LEN     32768 /* packed bytes read at once */
#define BLOCK_HEAD 16    /* in front of a block of zlib, which frees without telling the size */

struct tly_inflate {
    const tly_context *context;
    const tly_import_file *file;
    uint64_t at; /* of the next packed byte to be read */
    uint64_t left;
    z_stream z;
    int ended;
    uint8_t in[IN_LEN];
};

int tly_inflate_available(void) {
    return 1;
}

uint32_t tly_inflate_crc32(uint32_t crc, const void *bytes, size_t len) {
    return (uint32_t)crc32_z(crc, bytes, len);
}

static void *give_block(void *user, unsigned items, unsigned size) {
    const tly_context *context = user;
    size_t len = (size_t)items * size + BLOCK_HEAD;
    uint8_t *block = tly_base_alloc(context, len, 16);
    if (block == NULL) {
        return NULL;
    }
    memcpy(block, &len, sizeof len);
    return block + BLOCK_HEAD;
}

static void take_block(void *user, void *bytes) {
    const tly_context *context = user;
    uint8_t *block = (uint8_t *)bytes - BLOCK_HEAD;
    size_t len;
    memcpy(&len, block, sizeof len);
    tly_base_free(context, block, len, 16);
}

tly_status tly_inflate_new(const tly_context *context, const tly_import_file *file,
                           uint64_t packed_at, uint64_t packed_len, tly_inflate **out_inflate,
                           tly_error *error) {
    tly_inflate *f = tly_base_calloc(context, sizeof *f, _Alignof(tly_inflate));
    if (f != NULL) {
        f->context = context;
        f->file = file;
        f->at = packed_at;
        f->left = packed_len;
        f->z.zalloc = give_block;
        f->z.zfree = take_block;
        f->z.opaque = (void *)(uintptr_t)context; /* only read */
        if (inflateInit2(&f->z, -MAX_WBITS) == Z_OK) {
            *out_inflate = f;
            return TLY_OK;
        }
        tly_base_free(context, f, sizeof *f, _Alignof(tly_inflate));
    }
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory to unpack");
}

void tly_inflate_free(tly_inflate *inflate) {
    if (inflate != NULL) {
        inflateEnd(&inflate->z);
        tly_base_free(inflate->context, inflate, sizeof *inflate, _Alignof(tly_inflate));
    }
}

static tly_status damaged(const tly_inflate *f, const char *what, tly_error *error) {
    return tly_base_fail(error, TLY_MALFORMED, f->at - f->z.avail_in, "deflate",
                         "the packed data %s", what);
}

static tly_status refill(tly_inflate *f, tly_error *error) {
    uint64_t len = f->left < IN_LEN ? f->left : IN_LEN;
    tly_status status = tly_import_file_read(f->file, f->at, f->in, len, error);
    if (status == TLY_OK) {
        f->z.next_in = f->in;
        f->z.avail_in = (unsigned)len;
        f->at += len;
        f->left -= len;
    }
    return status;
}

tly_status tly_inflate_read(tly_inflate *f, void *buffer, size_t len, tly_error *error) {
    uint8_t *to = buffer;
    while (len > 0) {
        const unsigned room = len < (1u << 30) ? (unsigned)len : 1u << 30;
        int code;
        if (f->ended) {
            return damaged(f, "end before the member does", error);
        }
        if (f->z.avail_in == 0 && f->left != 0) {
            tly_status status = refill(f, error);
            if (status != TLY_OK) {
                return status;
            }
        }
        f->z.next_out = to;
        f->z.avail_out = room;
        code = inflate(&f->z, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory to unpack");
        }
        if (code != Z_OK && code != Z_STREAM_END) {
            return damaged(f, code == Z_BUF_ERROR ? "end too early" : "are damaged", error);
        }
        f->ended = code == Z_STREAM_END;
        to += room - f->z.avail_out;
        len -= room - f->z.avail_out;
    }
    return TLY_OK;
}

tly_status tly_inflate_end(tly_inflate *f, tly_error *error) {
    uint8_t one;
    while (!f->ended) {
        int code;
        if (f->z.avail_in == 0 && f->left != 0) {
            tly_status status = refill(f, error);
            if (status != TLY_OK) {
                return status;
            }
        }
        f->z.next_out = &one;
        f->z.avail_out = 1;
        code = inflate(&f->z, Z_NO_FLUSH);
        if (f->z.avail_out == 0) {
            return damaged(f, "have more bytes than the member", error);
        }
        if (code != Z_OK && code != Z_STREAM_END) {
            return damaged(f, "end too early", error);
        }
        f->ended = code == Z_STREAM_END;
    }
    return f->z.avail_in == 0 && f->left == 0 ? TLY_OK
                                              : damaged(f, "go on behind their end", error);
}
