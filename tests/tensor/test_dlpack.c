/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack, with the header that Debian ships. */
#include "check.h"

#include <string.h>

#include <dlpack/dlpack.h>

#include <tilery/dlpack.h>

#include "tensor/dlpack_abi.h"

static tly_context *context;

static void the_structures_are_those_of_the_header(void **state) {
    (void)state;
    assert_int_equal(sizeof(DLTensor), sizeof(tly_dl_tensor));
    assert_int_equal(sizeof(DLManagedTensor), sizeof(tly_dl_managed));
    assert_int_equal(offsetof(DLTensor, data), offsetof(tly_dl_tensor, data));
    assert_int_equal(offsetof(DLTensor, device), offsetof(tly_dl_tensor, device_type));
    assert_int_equal(offsetof(DLTensor, ndim), offsetof(tly_dl_tensor, ndim));
    assert_int_equal(offsetof(DLTensor, dtype), offsetof(tly_dl_tensor, code));
    assert_int_equal(offsetof(DLTensor, shape), offsetof(tly_dl_tensor, shape));
    assert_int_equal(offsetof(DLTensor, strides), offsetof(tly_dl_tensor, strides));
    assert_int_equal(offsetof(DLTensor, byte_offset), offsetof(tly_dl_tensor, byte_offset));
    assert_int_equal(offsetof(DLManagedTensor, manager_ctx), offsetof(tly_dl_managed, manager));
    assert_int_equal(offsetof(DLManagedTensor, deleter), offsetof(tly_dl_managed, deleter));
    assert_int_equal(kDLInt, TLY_DL_INT);
    assert_int_equal(kDLUInt, TLY_DL_UINT);
    assert_int_equal(kDLFloat, TLY_DL_FLOAT);
    assert_int_equal(kDLBfloat, TLY_DL_BFLOAT);
    assert_int_equal(kDLComplex, TLY_DL_COMPLEX);
}

/* A tensor of bytes, so that it works on machines of either byte order. */
static DLTensor bytes_tensor(uint8_t *data, int ndim, int64_t *shape, int64_t *strides,
                             uint64_t byte_offset) {
    DLTensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device.device_type = kDLCPU;
    t.ndim = ndim;
    t.dtype.code = kDLUInt;
    t.dtype.bits = 8;
    t.dtype.lanes = 1;
    t.shape = shape;
    t.strides = strides;
    t.byte_offset = byte_offset;
    return t;
}

static uint64_t element(const tly_tensor *t, const uint64_t *index) {
    tly_view *view;
    tly_code code;
    tly_error error;
    CHECK_OK(tly_view_new(context, t, NULL, &view, &error), &error);
    assert_int_equal(tly_view_get(view, index, &code), TLY_OK);
    tly_view_free(view);
    return code.low;
}

static void strides_and_offsets(void **state) {
    uint8_t data[64];
    int64_t shape[] = {3, 4}, backwards[] = {-4, 1}, zero[] = {0, 1}, columns[] = {1, 3};
    uint64_t index[] = {2, 1};
    DLTensor t;
    tly_dlpack_tensor in;
    tly_error error;
    (void)state;
    for (int i = 0; i < 64; i++) {
        data[i] = (uint8_t)i;
    }
    t = bytes_tensor(data, 2, shape, NULL, 5); /* compact */
    CHECK_OK(tly_dlpack_import(&t, 0, &in, &error), &error);
    assert_int_equal(in.descriptor.layout, TLY_LAYOUT_ROW_MAJOR);
    assert_int_equal(element(&in.tensor, index), 5 + 9);
    CHECK_RULE(tly_dlpack_import(&t, 102, &in, &error), &error, TLY_INVALID_ARGUMENT, "dlpack");
    CHECK_OK(tly_dlpack_import(&t, 101, &in, &error), &error);
    t = bytes_tensor(data, 2, shape, backwards, 20);
    CHECK_OK(tly_dlpack_import(&t, 0, &in, &error), &error);
    assert_int_equal(in.descriptor.layout, TLY_LAYOUT_STRIDED);
    assert_int_equal(element(&in.tensor, index), 20 - 8 + 1);
    assert_int_equal(in.buffer.byte_size, 12);
    assert_ptr_equal(in.data[0], data + 12);
    t = bytes_tensor(data, 2, shape, zero, 0);
    CHECK_OK(tly_dlpack_import(&t, 0, &in, &error), &error);
    assert_int_equal(element(&in.tensor, index), 1);
    assert_int_equal(in.buffer.byte_size, 4);
    t = bytes_tensor(data, 2, shape, columns, 0);
    CHECK_OK(tly_dlpack_import(&t, 0, &in, &error), &error);
    assert_int_equal(element(&in.tensor, index), 2 + 3);
}

static void small_axes_do_not_matter(void **state) {
    uint8_t data[32] = {7};
    int64_t shape[] = {3, 1, 5}, odd[] = {5, 123456789, 1};
    int64_t empty[] = {1, 8, 0, 128}, wild[] = {INT64_MAX, INT64_MIN, -7, 3};
    uint64_t index[] = {0, 0, 0};
    DLTensor t = bytes_tensor(data, 3, shape, odd, 0);
    tly_dlpack_tensor in;
    tly_error error;
    (void)state;
    CHECK_OK(tly_dlpack_import(&t, 0, &in, &error), &error);
    assert_int_equal(in.descriptor.layout, TLY_LAYOUT_ROW_MAJOR);
    assert_int_equal(in.buffer.byte_size, 15);
    odd[0] = 6; /* now there are holes */
    CHECK_OK(tly_dlpack_import(&t, 0, &in, &error), &error);
    assert_int_equal(in.descriptor.layout, TLY_LAYOUT_STRIDED);
    assert_int_equal(in.buffer.byte_size, 17);
    assert_int_equal(element(&in.tensor, index), 7);
    t = bytes_tensor(NULL, 4, empty, wild, 0);
    CHECK_OK(tly_dlpack_import(&t, 0, &in, &error), &error);
    assert_int_equal(in.descriptor.layout, TLY_LAYOUT_ROW_MAJOR);
    assert_int_equal(in.buffer.byte_size, 0);
    t = bytes_tensor(data, 0, NULL, NULL, 3); /* a scalar */
    CHECK_OK(tly_dlpack_import(&t, 102, &in, &error), &error);
    assert_int_equal(in.descriptor.rank, 0);
    assert_ptr_equal(in.data[0], data + 3);
}

static void what_is_refused(void **state) {
    uint8_t data[32];
    int64_t shape[] = {3, 4}, negative[] = {3, -1}, huge[] = {INT64_MAX, 4};
    int64_t far[] = {INT64_MAX, 1};
    DLTensor good = bytes_tensor(data, 2, shape, NULL, 0), t;
    tly_dlpack_tensor in;
    tly_error error;
    (void)state;
#define REFUSED(status) CHECK_RULE(tly_dlpack_import(&t, 0, &in, &error), &error, status, "dlpack")
    t = good;
    t.byte_offset = UINT64_MAX - 39; /* -40 */
    REFUSED(TLY_INVALID_ARGUMENT);
    t = good;
    t.ndim = -1;
    REFUSED(TLY_INVALID_ARGUMENT);
    t.ndim = 65;
    REFUSED(TLY_INVALID_ARGUMENT);
    t = good;
    t.shape = NULL;
    REFUSED(TLY_INVALID_ARGUMENT);
    t.shape = negative;
    REFUSED(TLY_INVALID_ARGUMENT);
    t.shape = huge;
    REFUSED(TLY_OVERFLOW);
    t = good;
    t.strides = far;
    REFUSED(TLY_OVERFLOW);
    t = good;
    t.data = NULL;
    REFUSED(TLY_INVALID_ARGUMENT);
    t = good;
    t.dtype.lanes = 4;
    REFUSED(TLY_UNSUPPORTED);
    t = good;
    t.dtype.bits = 4;
    REFUSED(TLY_UNSUPPORTED);
    t = good;
    t.dtype.code = 77;
    REFUSED(TLY_UNSUPPORTED);
    t = good;
    t.device.device_type = kDLVPI;
    REFUSED(TLY_UNSUPPORTED);
}

static void count(void *user) {
    ++*(int *)user;
}

static void exported_and_imported_again(void **state) {
    uint64_t shape[] = {3, 1, 4}, index[] = {2, 0, 3};
    int64_t strides[] = {-5, 9, 1};
    uint8_t data[64];
    const void *buffers[] = {data};
    tly_descriptor d;
    tly_buffer_info info;
    tly_tensor tensor = {.descriptor = &d, .buffers = buffers};
    tly_dlpack_tensor in;
    tly_error error;
    int released = 0;
    void *managed;
    (void)state;
    for (int i = 0; i < 64; i++) {
        data[i] = (uint8_t)(3 * i);
    }
    for (uint8_t layout = TLY_LAYOUT_ROW_MAJOR; layout <= TLY_LAYOUT_STRIDED; layout++) {
        for (uint32_t version = 0; version <= 100; version += 100) {
            const DLTensor *t;
            assert_int_equal(tly_descriptor_init_row_major(&d, &info, TLY_U8, 3, shape), TLY_OK);
            d.layout = layout;
            d.strides = strides;
            d.byte_offset = layout == TLY_LAYOUT_STRIDED ? 20 : 2;
            info.byte_size = 64;
            CHECK_OK(
                tly_dlpack_export(context, &tensor, version, count, &released, &managed, &error),
                &error);
            t = version == 0 ? &((DLManagedTensor *)managed)->dl_tensor
                             : (const DLTensor *)&((tly_dl_versioned *)managed)->tensor;
            assert_int_equal(t->ndim, 3);
            assert_int_equal(t->shape[2], 4);
            assert_int_equal(t->byte_offset, d.byte_offset);
            CHECK_OK(tly_dlpack_import(t, version, &in, &error), &error);
            assert_int_equal(element(&in.tensor, index), element(&tensor, index));
            if (version == 0) {
                ((DLManagedTensor *)managed)->deleter(managed);
            } else {
                assert_int_equal(((tly_dl_versioned *)managed)->major, 1);
                assert_int_equal(((tly_dl_versioned *)managed)->flags, 1);
                ((tly_dl_versioned *)managed)->deleter(managed);
            }
        }
    }
    assert_int_equal(released, 6);
    d.layout = TLY_LAYOUT_MORTON;
    CHECK_RULE(tly_dlpack_export(context, &tensor, 0, count, &released, &managed, &error), &error,
               TLY_LAYOUT_UNAVAILABLE, "dlpack");
    d.layout = TLY_LAYOUT_ROW_MAJOR;
    d.dtype = TLY_U4;
    CHECK_RULE(tly_dlpack_export(context, &tensor, 0, count, &released, &managed, &error), &error,
               TLY_UNSUPPORTED, "dlpack");
    d.dtype = TLY_U8;
    CHECK_RULE(tly_dlpack_export(context, &tensor, 101, count, &released, &managed, &error), &error,
               TLY_UNSUPPORTED, "dlpack");
    assert_int_equal(released, 6);
}

static int begin(void **state) {
    tly_error error;
    (void)state;
    return tly_context_new(NULL, &context, &error);
}

static int end(void **state) {
    (void)state;
    tly_context_free(context);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_structures_are_those_of_the_header),
        cmocka_unit_test(strides_and_offsets),
        cmocka_unit_test(small_axes_do_not_matter),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(exported_and_imported_again),
    };
    return cmocka_run_group_tests_name("tensor/dlpack", tests, begin, end);
}
