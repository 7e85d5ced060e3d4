/* SPDX-License-Identifier: Apache-2.0 */
/* Composites put together, what transcoding refuses, and memory that runs out. */
#include "tensor/all_layouts.h"

/* ---- composites with quantized members ---- */

/* An int4 base with a scale for each block, and corrections in float16: the composite of outlier
 * quantization. */
static void corrections_over_a_quantized_base(void **state) {
    uint64_t shape[2] = {2, 4}, zero[2] = {0, 0};
    tly_shard shard = {shape, zero};
    uint8_t codes[4] = {0x21, 0x43, 0xFE, 0x8C};                          /* 1 2 3 4, -2 -1 -4 -8 */
    uint8_t scales[8] = {0x00, 0x38, 0x00, 0x3C, 0x00, 0x40, 0x00, 0x34}; /* 0.5 1 2 0.25 */
    uint8_t outliers[4] = {0x00, 0x7B, 0x00, 0xFB};                       /* 57344, -57344 */
    uint8_t places[32] = {0};
    tly_quantization q = {.scheme = TLY_QUANT_PER_BLOCK,
                          .version = 1,
                          .flags = 1,
                          .axis = 1,
                          .block_size = 2,
                          .scale_buffer = 1,
                          .zero_point_buffer = UINT32_MAX,
                          .scale_type = TLY_F16};
    tly_buffer_info base_info[2] = {{4, 64, 0, 0, 0, 0}, {8, 64, 0, 0, 0, 0}};
    tly_buffer_info more_info[2] = {{4, 64, 0, 0, 0, 0}, {32, 64, 0, 0, 0, 0}};
    tly_descriptor base = {.flags = TLY_FLAG_COMPOSITE_MEMBER,
                           .dtype = TLY_I4,
                           .layout = TLY_LAYOUT_ROW_MAJOR,
                           .num_buffers = 2,
                           .rank = 2,
                           .shape = shape,
                           .buffers = base_info,
                           .member_role = 1,
                           .quantization = &q,
                           .shard = &shard};
    tly_descriptor more = {.flags = TLY_FLAG_COMPOSITE_MEMBER,
                           .dtype = TLY_F16,
                           .layout = TLY_LAYOUT_COO,
                           .num_buffers = 2,
                           .rank = 2,
                           .shape = shape,
                           .buffers = more_info,
                           .nnz = 2,
                           .is_sorted = 1,
                           .shard = &shard};
    tly_descriptor head = {
        .dtype = TLY_F16, .layout = TLY_LAYOUT_COMPOSITE, .rank = 2, .shape = shape};
    const void *base_buffers[2] = {codes, scales}, *more_buffers[2] = {outliers, places};
    tly_tensor members[2] = {{.descriptor = &base, .buffers = base_buffers},
                             {.descriptor = &more, .buffers = more_buffers}};
    tly_tensor t = {.descriptor = &head, .members = members, .num_members = 2};
    static const uint16_t replaced[8] = {0x3800, 0x7B00, 0x4200, 0x4400,
                                         0xC400, 0xC000, 0xBC00, 0xFB00};
    static const uint16_t added[8] = {0x3800, 0x7B00, 0x4200, 0x4400,
                                      0xC400, 0xC000, 0xBC00, 0xFB00};
    (void)state;
    places[8] = 1; /* (0, 1) and (1, 3) */
    places[16] = 1;
    places[24] = 3;
    for (uint8_t operation = 1; operation <= 2; operation++) {
        tly_code wanted[8];
        check_rng rng = {check_seed(24)};
        head.composite = (tly_composite){2, 2, operation, 0};
        for (int i = 0; i < 8; i++) { /* what is added to 57344 is lost in rounding */
            wanted[i] = (tly_code){operation == 1 ? replaced[i] : added[i], 0};
        }
        same_codes(&t, wanted);
        assert_true(through_all(&t, wanted, &rng) > 8);
    }
    outliers[1] = 0x3C; /* 1 instead, and -1 */
    outliers[3] = 0xBC;
    {
        tly_code wanted[8];
        for (int i = 0; i < 8; i++) {
            wanted[i] = (tly_code){added[i], 0};
        }
        wanted[1].low = 0x4000; /* 1 + 1 */
        wanted[7].low = 0xC200; /* -2 - 1 */
        same_codes(&t, wanted);
    }
}

/* Four boxes that meet anywhere make one tensor, whatever the layouts of the boxes. */
static void partitions_into_boxes(void **state) {
    check_rng rng = {check_seed(27)};
    uint64_t rounds = check_rounds(25);
    (void)state;
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t shape[2] = {2 + check_below(&rng, 20), 2 + check_below(&rng, 20)};
        uint64_t cut[2] = {1 + check_below(&rng, shape[0] - 1),
                           1 + check_below(&rng, shape[1] - 1)};
        tly_dtype dtype = all_types[check_below(&rng, 11)];
        uint32_t bits = tly_dtype_bits(dtype);
        tly_descriptor head = {.dtype = dtype,
                               .layout = TLY_LAYOUT_COMPOSITE,
                               .rank = 2,
                               .shape = shape,
                               .composite = {4, 1, 0, 0}};
        tly_descriptor members[4];
        tly_shard shards[4];
        uint64_t offsets[4][2];
        made boxes[4], all;
        result moved[4];
        tly_tensor parts[4], t = {.descriptor = &head, .members = parts, .num_members = 4};
        tly_code *wanted;
        make(&all, &rng, dtype, 2, shape, 1);
        wanted = all_codes(&all.tensor);
        for (uint32_t n = 0; n < 4; n++) {
            uint64_t box[2];
            wish w;
            for (uint32_t k = 0; k < 2; k++) {
                int far = (n >> k & 1) != 0;
                offsets[n][k] = far ? cut[k] : 0;
                box[k] = far ? shape[k] - cut[k] : cut[k];
            }
            make(&boxes[n], &rng, dtype, 2, box, 1);
            memset(boxes[n].bytes, 0, boxes[n].info.byte_size);
            for (uint64_t i = 0; i < box[0] * box[1]; i++) {
                uint64_t from =
                    (offsets[n][0] + i / box[1]) * shape[1] + offsets[n][1] + i % box[1];
                for (uint64_t b = 0; b < bits; b++) {
                    uint64_t x = from * bits + b, y = i * bits + b;
                    boxes[n].bytes[y / 8] |= (uint8_t)((all.bytes[x / 8] >> x % 8 & 1) << y % 8);
                }
            }
            while (!make_wish(&w, (uint32_t)check_below(&rng, 12), &boxes[n].d)) {
            }
            result_new(&moved[n], &boxes[n].tensor, &w, 0);
            members[n] = *moved[n].tensor.descriptor;
            shards[n] = (tly_shard){shape, offsets[n]};
            members[n].shard = &shards[n];
            parts[n] = (tly_tensor){.descriptor = &members[n], .buffers = moved[n].tensor.buffers};
        }
        through_all(&t, wanted, &rng);
        for (uint32_t n = 0; n < 4; n++) {
            result_free(&moved[n]);
            free(boxes[n].bytes);
        }
        free(all.bytes);
        free(wanted);
    }
}
/* Types that only their section describes are converted like any other. */
static void extension_types(void **state) {
    tly_extension_type x = {.bit_width = 8,
                            .packing = 1,
                            .is_float = 1,
                            .sign_bits = 1,
                            .exponent_bits = 5,
                            .mantissa_bits = 2,
                            .exponent_bias = 15,
                            .has_nan = 1,
                            .has_inf = 1};
    tly_descriptor d = {.dtype = 0xF3, .extension_type = &x};
    tly_format format;
    tly_code a, b;
    tly_error error;
    (void)state;
    for (int known = 0; known < 2; known++) {
        tly_dtype same = known == 0 ? TLY_F8E5M2 : TLY_F8E4M3;
        CHECK_OK(tly_tensor_format(&d, &format, &error), &error);
        for (uint64_t code = 0; code < 256; code++) {
            assert_int_equal(tly_convert_code(tly_format_find(TLY_F32), &format,
                                              (tly_code){code, 0}, NULL, &a, NULL),
                             TLY_OK);
            assert_int_equal(tly_convert_code(tly_format_find(TLY_F32), tly_format_find(same),
                                              (tly_code){code, 0}, NULL, &b, NULL),
                             TLY_OK);
            assert_int_equal(a.low, b.low);
        }
        x.exponent_bits = 4;
        x.mantissa_bits = 3;
        x.exponent_bias = 7;
        x.has_inf = 0;
    }
    x = (tly_extension_type){.bit_width = 4, .packing = 2, .is_signed = 1};
    CHECK_OK(tly_tensor_format(&d, &format, &error), &error);
    assert_int_equal(
        tly_convert_code(tly_format_find(TLY_I32), &format, (tly_code){0xF, 0}, NULL, &a, NULL),
        TLY_OK);
    assert_int_equal(a.low, 0xFFFFFFFF);
    x.bit_width = 24;
    CHECK_RULE(tly_tensor_format(&d, &format, &error), &error, TLY_UNSUPPORTED, "extension-format");
    d.extension_type = NULL;
    CHECK_RULE(tly_tensor_format(&d, &format, &error), &error, TLY_UNSUPPORTED, "extension-format");
    d.dtype = TLY_F16;
    CHECK_OK(tly_tensor_format(&d, &format, &error), &error);
    assert_int_equal(format.exponent_bits, 5);
}

/* ---- refusals, and memory that runs out ---- */

static void what_cannot_be_done(void **state) {
    uint64_t shape[3] = {4, 3, 2};
    const int64_t zero[3] = {0, 0, 0};
    check_rng rng = {check_seed(25)};
    tly_descriptor layout = {.layout = 0xF0};
    tly_descriptor head = {.dtype = TLY_U8,
                           .layout = TLY_LAYOUT_COMPOSITE,
                           .rank = 3,
                           .shape = shape,
                           .composite = {1, 3, 0, 0}};
    tly_transcode_options options = {.size = sizeof options, .memory_limit = 100};
    tly_transcode *plan;
    tly_tensor group;
    tly_error error;
    made m;
    (void)state;
    make(&m, &rng, TLY_U8, 3, shape, 2);
    CHECK_RULE(tly_transcode_new(context, &m.tensor, &layout, NULL, &plan, &error), &error,
               TLY_UNSUPPORTED, "private-layout");
    layout.layout = TLY_LAYOUT_COMPOSITE;
    CHECK_RULE(tly_transcode_new(context, &m.tensor, &layout, NULL, &plan, &error), &error,
               TLY_UNSUPPORTED, "private-layout");
    layout.layout = TLY_LAYOUT_STRIDED;
    CHECK_RULE(tly_transcode_new(context, &m.tensor, &layout, NULL, &plan, &error), &error,
               TLY_INVALID_ARGUMENT, "layout-fields");
    layout.strides = zero; /* every element in one place */
    CHECK_RULE(tly_transcode_new(context, &m.tensor, &layout, NULL, &plan, &error), &error,
               TLY_INVALID_ARGUMENT, "nest-overlap");
    layout.layout = TLY_LAYOUT_CSR; /* of rank 3 */
    CHECK_RULE(tly_transcode_new(context, &m.tensor, &layout, NULL, &plan, &error), &error,
               TLY_INVALID_ARGUMENT, "layout-fields");
    layout.layout = TLY_LAYOUT_ROW_MAJOR;
    CHECK_RULE(tly_transcode_new(context, &m.tensor, &layout, &options, &plan, &error), &error,
               TLY_LIMIT, "memory-limit");
    group = (tly_tensor){.descriptor = &head, .members = &m.tensor, .num_members = 1};
    CHECK_RULE(tly_transcode_new(context, &group, &layout, NULL, &plan, &error), &error,
               TLY_UNSUPPORTED, "group");
    free(m.bytes);
}

typedef struct miser {
    uint64_t left;
    uint64_t blocks;
} miser;

static void *miserly(void *user, void *old, size_t old_size, size_t new_size, size_t alignment) {
    miser *m = user;
    void *block;
    (void)old_size;
    if (new_size == 0) {
        m->blocks -= old != NULL;
        free(old);
        return NULL;
    }
    if (m->left == 0) {
        return NULL;
    }
    m->left--;
    assert_null(old); /* nothing here grows a block */
    if (posix_memalign(&block, alignment < 8 ? 8 : alignment, new_size) != 0) {
        return NULL;
    }
    m->blocks++;
    return block;
}

static void memory_that_runs_out(void **state) {
    uint64_t shape[2] = {9, 7};
    check_rng rng = {check_seed(26)};
    miser purse = {1, 0};
    tly_context_options options = {.size = sizeof options, .allocator = {miserly, &purse}};
    tly_context *poor;
    tly_error error;
    made m;
    wish first, second;
    result coo;
    (void)state;
    CHECK_OK(tly_context_new(&options, &poor, &error), &error);
    make(&m, &rng, TLY_F32, 2, shape, 2);
    assert_int_equal(make_wish(&first, 8, &m.d), 1);
    result_new(&coo, &m.tensor, &first, 0);
    for (uint32_t n = 0; n < 11; n++) {
        const tly_tensor *from = n % 2 ? &coo.tensor : &m.tensor;
        tly_status status = TLY_OUT_OF_MEMORY;
        if (!make_wish(&second, n, &m.d)) {
            continue;
        }
        for (uint64_t allowed = 0; status == TLY_OUT_OF_MEMORY; allowed++) {
            tly_transcode *plan;
            uint64_t before = purse.blocks;
            purse.left = allowed;
            status = tly_transcode_new(poor, from, &second.layout, NULL, &plan, &error);
            if (status == TLY_OK) {
                const tly_descriptor *d = tly_transcode_descriptor(plan);
                void *buffers[8];
                for (uint32_t i = 0; i < d->num_buffers; i++) {
                    buffers[i] = malloc(d->buffers[i].byte_size + 1);
                }
                status = tly_transcode_run(plan, buffers, &error);
                for (uint32_t i = 0; i < d->num_buffers; i++) {
                    free(buffers[i]);
                }
                tly_transcode_free(plan);
            }
            assert_true(status == TLY_OK || status == TLY_OUT_OF_MEMORY);
            assert_int_equal(purse.blocks, before);
            assert_true(allowed < 50);
        }
    }
    result_free(&coo);
    free(m.bytes);
    purse.left = 0;
    tly_context_free(poor);
    assert_int_equal(purse.blocks, 0);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corrections_over_a_quantized_base),
        cmocka_unit_test(partitions_into_boxes),
        cmocka_unit_test(extension_types),
        cmocka_unit_test(what_cannot_be_done),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests_name("tensor/composed", tests, begin, end);
}
