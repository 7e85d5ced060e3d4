/* SPDX-License-Identifier: Apache-2.0 */
/* Shards of any cut and any dense layout, put together, against the whole that they were cut from.
 */
#include "check.h"

#include <string.h>

#include <tilery/pack.h>

#include "base/context.h"
#include "net/gather.h"

typedef struct box {
    uint64_t offset[3], shape[3];
} box;

/* Cuts a box in two along a random axis, again and again. */
static uint32_t cut(check_rng *rng, box *boxes, uint32_t num, uint32_t most) {
    while (num < most) {
        box *b = &boxes[check_below(rng, num)];
        uint32_t axis = (uint32_t)check_below(rng, 3);
        uint64_t at;
        if (b->shape[axis] < 2) {
            if (check_below(rng, 20) == 0) {
                break;
            }
            continue;
        }
        at = 1 + check_below(rng, b->shape[axis] - 1);
        boxes[num] = *b;
        boxes[num].offset[axis] += at;
        boxes[num].shape[axis] -= at;
        b->shape[axis] = at;
        num++;
    }
    return num;
}

/* The layout of a shard: row-major, column-major, tiled, or strided from behind. */
static void choose_layout(check_rng *rng, uint32_t kind, tly_descriptor *d, int64_t *strides,
                          const uint64_t *tile, uint64_t *out_byte_offset) {
    uint64_t last = 0, stride = 1 + check_below(rng, 2);
    *out_byte_offset = 0;
    if (kind == 1) {
        d->layout = TLY_LAYOUT_COL_MAJOR;
    } else if (kind == 2) {
        d->layout = TLY_LAYOUT_TILED;
        d->num_levels = 1;
        d->levels[0].tile_shape = tile;
        d->levels[0].outer = TLY_TILE_COL;
        d->levels[0].inner = TLY_TILE_ROW;
    } else if (kind == 3) {
        for (uint32_t i = 3; i-- > 0;) {
            strides[i] = -(int64_t)stride;
            last += stride * (d->shape[i] - 1);
            stride *= d->shape[i];
        }
        d->layout = TLY_LAYOUT_STRIDED;
        d->strides = strides;
        *out_byte_offset = last * (tly_dtype_bits(d->dtype) / 8);
    }
}

static void one_round(tly_context *context, check_rng *rng) {
    static const tly_dtype types[] = {TLY_U8, TLY_BF16, TLY_F32, TLY_F64};
    const tly_dtype dtype = types[check_below(rng, 4)];
    const uint32_t width = tly_dtype_bits(dtype) / 8, kind = (uint32_t)check_below(rng, 4);
    const uint64_t tile[3] = {1 + check_below(rng, 3), 1 + check_below(rng, 3), 2};
    box boxes[12] = {{{0}, {0}}};
    tly_gather gather = {.context = context};
    tly_descriptor whole;
    uint8_t *parent, *data = NULL, *bytes = NULL;
    uint64_t work[1024], total = 0, count;
    size_t bytes_len = 0;
    uint32_t num;
    tly_nest model;
    tly_error error;
    for (int i = 0; i < 3; i++) {
        boxes[0].shape[i] = 1 + check_below(rng, 9);
    }
    const uint64_t shape[3] = {boxes[0].shape[0], boxes[0].shape[1], boxes[0].shape[2]};
    count = shape[0] * shape[1] * shape[2];
    parent = malloc((size_t)count * width);
    for (uint64_t i = 0; i < count * width; i++) {
        parent[i] = (uint8_t)check_random(rng);
    }
    num = cut(rng, boxes, 1, 1 + (uint32_t)check_below(rng, 12));
    for (uint32_t k = 0; k < num; k++) {
        tly_descriptor d;
        tly_buffer_info buffer;
        const tly_shard shard = {shape, boxes[k].offset};
        int64_t strides[3], offset;
        uint64_t before, after, index[3];
        tly_nest nest;
        uint8_t *source;
        void *at;
        assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, dtype, 3, boxes[k].shape),
                         TLY_OK);
        choose_layout(rng, kind, &d, strides, tile, &d.byte_offset);
        CHECK_OK(tly_descriptor_span(&d, &before, &after), &error);
        buffer.byte_size = d.byte_offset + after + check_below(rng, 2) * check_below(rng, 300);
        d.shard = &shard;
        d.flags = TLY_FLAG_SHARD;
        if (k == 0) {
            size_t len;
            CHECK_OK(tly_gather_whole(context, &d, &bytes, &len, &total, &error), &error);
            assert_int_equal(total, count * width);
            CHECK_OK(tly_descriptor_decode(bytes, len, work, sizeof work, &whole, NULL, &error),
                     &error);
            assert_int_equal(whole.layout, kind == 1 ? TLY_LAYOUT_COL_MAJOR : TLY_LAYOUT_ROW_MAJOR);
            data = malloc((size_t)total); /* exactly: what is longer must not get here */
            bytes_len = len;
        }
        CHECK_OK(tly_descriptor_nest(&d, &nest, &error), &error);
        source = calloc(1, (size_t)buffer.byte_size);
        for (index[0] = 0; index[0] < boxes[k].shape[0]; index[0]++) {
            for (index[1] = 0; index[1] < boxes[k].shape[1]; index[1]++) {
                for (index[2] = 0; index[2] < boxes[k].shape[2]; index[2]++) {
                    uint64_t from = ((index[0] + boxes[k].offset[0]) * shape[1] + index[1] +
                                     boxes[k].offset[1]) *
                                        shape[2] +
                                    index[2] + boxes[k].offset[2];
                    assert_int_equal(tly_nest_offset(&nest, index, &offset), TLY_OK);
                    memcpy(source + (int64_t)d.byte_offset + offset * (int64_t)width,
                           parent + from * width, width);
                }
            }
        }
        CHECK_OK(tly_gather_add(&gather, 10 + k, &whole, data, &d, buffer.byte_size, &at, &error),
                 &error);
        for (uint64_t i = d.byte_offset + after; i < buffer.byte_size; i++) {
            source[i] = 0xEE;
        }
        memcpy(at, source, (size_t)buffer.byte_size);
        free(source);
        CHECK_OK(tly_gather_end(&gather, 10 + k, tly_dtype_bits(dtype), &error), &error);
    }
    CHECK_OK(tly_descriptor_nest(&whole, &model, &error), &error);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t index[3] = {i / (shape[1] * shape[2]), i / shape[2] % shape[1],
                                   i % shape[2]};
        int64_t offset;
        assert_int_equal(tly_nest_offset(&model, index, &offset), TLY_OK);
        assert_memory_equal(data + offset * (int64_t)width, parent + i * width, width);
    }
    tly_gather_cleanup(&gather);
    tly_base_free(context, bytes, bytes_len, 1);
    free(parent);
    free(data);
}

static void any_cut(void **state) {
    const uint64_t rounds = check_rounds(400), seed = check_seed(99);
    check_rng rng = {seed};
    tly_context *context;
    (void)state;
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    for (uint64_t i = 0; i < rounds; i++) {
        one_round(context, &rng);
    }
    print_message("# %llu tensors from seed %llu\n", (unsigned long long)rounds,
                  (unsigned long long)seed);
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_cut),
    };
    return cmocka_run_group_tests_name("net/gather", tests, NULL, NULL);
}
