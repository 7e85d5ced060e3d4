/* SPDX-License-Identifier: Apache-2.0 */
/* The panels that are named after oneDNN's layouts, against oneDNN's own reorder: random shapes
 * with tails, from K x N and from N x K, equal byte by byte. `make proof` runs 200 shapes for each
 * layout. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <tilery/tilery.h>

#ifdef TLY_HAVE_DNNL

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#define CHECK_DNN(call)                                                                            \
    do {                                                                                           \
        dnnl_status_t status_ = (call);                                                            \
        if (status_ != dnnl_success) {                                                             \
            fail_msg("%s: oneDNN status %d", #call, (int)status_);                                 \
        }                                                                                          \
    } while (0)

struct layout {
    const char *name;
    tly_dtype dtype;
    dnnl_data_type_t dnn_type;
    dnnl_format_tag_t tag;
};

static const struct layout layouts[] = {
    {"ba16a64b", TLY_F32, dnnl_f32, dnnl_BA16a64b},
    {"ba16a64b2a", TLY_BF16, dnnl_bf16, dnnl_BA16a64b2a},
    {"ba16a64b4a", TLY_I8, dnnl_s8, dnnl_BA16a64b4a},
    {"ba16a16b", TLY_F32, dnnl_f32, dnnl_BA16a16b},
    {"ba16a48b", TLY_F32, dnnl_f32, dnnl_BA16a48b},
    {"ba16a32b2a", TLY_BF16, dnnl_bf16, dnnl_BA16a32b2a},
    {"ba16a48b4a", TLY_I8, dnnl_s8, dnnl_BA16a48b4a},
    {"oi8i8o", TLY_F32, dnnl_f32, dnnl_OIw8i8o},
};

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static tly_context *context;

static int set_up(void **state) {
    /* Small matrices on many threads take longer than on one; oneDNN has no call for that. */
    void (*set_num_threads)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (set_num_threads != NULL) {
        set_num_threads(1);
    }
    return dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success ||
           dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success ||
           tly_context_new(NULL, &context, NULL) != TLY_OK;
}

static int tear_down(void **state) {
    tly_context_free(context);
    return dnnl_stream_destroy(stream) != dnnl_success ||
           dnnl_engine_destroy(engine) != dnnl_success;
}

/* Any bytes for integers; normal numbers for floating point, as a library may change NaNs and
 * subnormals: neither the highest exponent nor the lowest. */
static void fill(check_rng *rng, uint8_t *bytes, size_t len, const struct layout *layout) {
    uint32_t element_len = tly_dtype_bits(layout->dtype) / 8;
    int is_float = tly_dtype_find(layout->dtype)->klass == TLY_CLASS_FLOAT;
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)check_random(rng);
        if (is_float && i % element_len == element_len - 1) {
            bytes[i] = (uint8_t)((bytes[i] & 0xBF) | 0x20);
        }
    }
}

/* oneDNN's panel. Its axes are (K, N) where the layout's name speaks of a and b, and (N, K, 1)
 * where it speaks of o, i and w. */
static uint8_t *reorder_by_onednn(const struct layout *layout, int64_t k, int64_t n, int transposed,
                                  void *stored, size_t *out_len) {
    int convolution = layout->tag == dnnl_OIw8i8o;
    dnnl_dims_t dims = {convolution ? n : k, convolution ? k : n, 1};
    int rank = convolution ? 3 : 2;
    dnnl_format_tag_t plain =
        convolution ? (transposed ? dnnl_abc : dnnl_bac) : (transposed ? dnnl_ba : dnnl_ab);
    dnnl_memory_desc_t from, to;
    dnnl_primitive_desc_t plan;
    dnnl_primitive_t reorder;
    dnnl_memory_t source, target;
    uint8_t *panel;

    CHECK_DNN(dnnl_memory_desc_init_by_tag(&from, rank, dims, layout->dnn_type, plain));
    CHECK_DNN(dnnl_memory_desc_init_by_tag(&to, rank, dims, layout->dnn_type, layout->tag));
    *out_len = dnnl_memory_desc_get_size(&to);
    panel = malloc(*out_len);
    memset(panel, 0xEE, *out_len);
    CHECK_DNN(dnnl_memory_create(&source, &from, engine, stored));
    CHECK_DNN(dnnl_memory_create(&target, &to, engine, panel));
    CHECK_DNN(dnnl_reorder_primitive_desc_create(&plan, &from, engine, &to, engine, NULL));
    CHECK_DNN(dnnl_primitive_create(&reorder, plan));
    {
        dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}};
        CHECK_DNN(dnnl_primitive_execute(reorder, stream, 2, args));
    }
    CHECK_DNN(dnnl_stream_wait(stream));
    CHECK_DNN(dnnl_primitive_destroy(reorder));
    CHECK_DNN(dnnl_primitive_desc_destroy(plan));
    CHECK_DNN(dnnl_memory_destroy(target));
    CHECK_DNN(dnnl_memory_destroy(source));
    return panel;
}

static void compare(const struct layout *layout, int64_t k, int64_t n, int transposed,
                    check_rng *rng) {
    uint32_t element_len = tly_dtype_bits(layout->dtype) / 8;
    size_t stored_len = (size_t)k * (size_t)n * element_len;
    uint8_t *stored = malloc(stored_len), *want, *got;
    size_t want_len;
    tly_panel_profile profile;
    tly_nest nests[2];
    tly_pack_plan *plan;
    uint64_t shape[2], len;
    tly_error err;

    fill(rng, stored, stored_len, layout);
    want = reorder_by_onednn(layout, k, n, transposed, stored, &want_len);
    CHECK_OK(tly_panel_by_name(layout->name, layout->dtype, transposed, &profile, &err), &err);
    shape[profile.k_axis] = (uint64_t)k;
    shape[profile.mn_axis] = (uint64_t)n;
    CHECK_OK(tly_panel_bind(&profile, 2, shape, &nests[0], &len, &err), &err);
    assert_int_equal(len, want_len);
    got = malloc(len);
    memset(got, 0xAA, len);
    CHECK_OK(tly_nest_row_major(&nests[1], 2, shape), &err);
    CHECK_OK(tly_pack_plan_new(context, &nests[0], &nests[1], element_len * 8, NULL, &plan, &err),
             &err);
    tly_pack_run(plan, got, stored);
    tly_pack_plan_free(plan);
    for (size_t i = 0; i < len; i++) {
        if (got[i] != want[i]) {
            fail_msg("%s of %lld x %lld stored %s: byte %zu is %02X, oneDNN has %02X", layout->name,
                     (long long)k, (long long)n, transposed ? "N x K" : "K x N", i, got[i],
                     want[i]);
        }
    }
    free(got);
    free(want);
    free(stored);
}

static void run(const struct layout *layout, uint64_t rounds) {
    const uint64_t seed = check_seed(2603);
    check_rng rng = {seed ^ layout->tag};
    for (uint64_t i = 0; i < rounds; i++) {
        int64_t limit = i % 16 == 15 ? 700 : 150;
        int64_t k = 1 + (int64_t)check_below(&rng, (uint64_t)limit);
        int64_t n = 1 + (int64_t)check_below(&rng, (uint64_t)limit);
        compare(layout, k, n, 0, &rng);
        compare(layout, k, n, 1, &rng);
    }
    print_message("# %s: %llu shapes from K x N and from N x K are equal (seed %llu)\n",
                  layout->name, (unsigned long long)rounds, (unsigned long long)seed);
}

static void weights_of_f32(void **state) {
    run(&layouts[0], check_rounds(200));
}

static void weights_of_bf16(void **state) {
    run(&layouts[1], check_rounds(200));
}

static void weights_of_s8(void **state) {
    run(&layouts[2], check_rounds(200));
}

static void other_widths(void **state) {
    for (size_t i = 3; i < sizeof layouts / sizeof layouts[0]; i++) {
        run(&layouts[i], check_rounds(20));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_f32),
        cmocka_unit_test(weights_of_bf16),
        cmocka_unit_test(weights_of_s8),
        cmocka_unit_test(other_widths),
    };
    return cmocka_run_group_tests_name("gemm/onednn_reorder", tests, set_up, tear_down);
}

#else

static void built_without_onednn(void **state) {
    print_message("# oneDNN was not there when this test was built: nothing is compared\n");
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(built_without_onednn)};
    return cmocka_run_group_tests_name("gemm/onednn_reorder", tests, NULL, NULL);
}

#endif
