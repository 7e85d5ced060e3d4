/* SPDX-License-Identifier: Apache-2.0 */
/* What a client makes of any set of shards: bytes 0 to 3 are the element type and the parent's
 * shape, then eight bytes for each shard: offset, shape, layout, and how much longer its buffer is
 * than its elements. What passes the checks of a connection is received into memory of exactly the
 * length that was announced, and put together in memory of exactly the length of the whole. */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "net/gather.h"
#include "wire/shards.h"

#define MAX_SHARDS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int condition) {
    if (!condition) {
        abort();
    }
}

/* The descriptor of a shard; 0 if there is none such. */
static int describe(const uint8_t *bytes, tly_dtype dtype, const uint64_t *parent, uint64_t *offset,
                    uint64_t *shape, tly_shard *shard, tly_buffer_info *buffer, tly_descriptor *d) {
    for (int i = 0; i < 3; i++) {
        offset[i] = bytes[i] % 16;
        shape[i] = bytes[3 + i] % 16;
        if (offset[i] + shape[i] > parent[i]) {
            return 0;
        }
    }
    if (tly_descriptor_init_row_major(d, buffer, dtype, 3, shape) != TLY_OK) {
        return 0;
    }
    if ((bytes[6] & 1) != 0) {
        d->layout = TLY_LAYOUT_COL_MAJOR;
    }
    buffer->byte_size += bytes[7];
    buffer->alignment = 64;
    shard->parent_shape = parent;
    shard->offset = offset;
    d->shard = shard;
    d->flags = TLY_FLAG_SHARD;
    return tly_descriptor_check_buffers(d, NULL) == TLY_OK;
}

static void gather_all(const tly_context *context, const uint8_t *data, uint32_t num,
                       tly_dtype dtype, const uint64_t *parent) {
    tly_wire_shards *check = calloc(1, sizeof *check);
    tly_gather gather = {.context = context};
    uint8_t *bytes = NULL, *whole_data = NULL;
    uint64_t work[512], total = 0;
    size_t len = 0;
    tly_descriptor whole;
    for (uint32_t k = 0; k < num; k++) {
        uint64_t offset[3], shape[3];
        tly_shard shard;
        tly_buffer_info buffer;
        tly_descriptor d;
        void *at = NULL;
        if (!describe(data + 8 * k, dtype, parent, offset, shape, &shard, &buffer, &d) ||
            (k == 0 && tly_wire_shards_init(context, &d, num, check, NULL) != TLY_OK) ||
            tly_wire_shards_add(check, &d, k, num, NULL) != TLY_OK) {
            break;
        }
        if (k == 0) {
            if (tly_gather_whole(context, &d, &bytes, &len, &total, NULL) != TLY_OK) {
                break;
            }
            expect(tly_descriptor_decode(bytes, len, work, sizeof work, &whole, NULL, NULL) ==
                   TLY_OK);
            whole_data = malloc(total != 0 ? (size_t)total : 1);
        }
        if (tly_gather_add(&gather, k, &whole, whole_data, &d, buffer.byte_size, &at, NULL) !=
            TLY_OK) {
            break;
        }
        if (buffer.byte_size != 0) {
            memset(at, (int)k + 1, (size_t)buffer.byte_size);
        }
        expect(tly_gather_end(&gather, k, tly_dtype_bits(dtype), NULL) == TLY_OK);
        if (k + 1 == num) { /* they cover the whole: every byte has come from one of them */
            for (uint64_t i = 0; i < total; i++) {
                expect(whole_data[i] >= 1 && whole_data[i] <= num);
            }
        }
    }
    tly_gather_cleanup(&gather);
    tly_wire_shards_cleanup(check);
    tly_base_free(context, bytes, len, 1);
    free(whole_data);
    free(check);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const tly_dtype types[] = {TLY_U8, TLY_BF16, TLY_F32, TLY_F64};
    uint64_t parent[3];
    tly_context *context;
    uint32_t num = size < 4 ? 0 : (uint32_t)((size - 4) / 8);
    if (num == 0 || num > MAX_SHARDS || tly_context_new(NULL, &context, NULL) != TLY_OK) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        parent[i] = data[1 + i] % 16;
    }
    gather_all(context, data + 4, num, types[data[0] % 4], parent);
    tly_context_free(context);
    return 0;
}
