/* SPDX-License-Identifier: Apache-2.0 */
/* What a server makes of any list of preferences: byte 0 picks the tensor, bytes 1 and 2 are the
 * number of entries, the rest is the list. Whatever is packed must fit its announced length
 * exactly, and the answer must be a legal descriptor of the same tensor. */
#include <stdlib.h>
#include <string.h>

#include "serve/answer.h"

#define MAX_PACKED (UINT64_C(1) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int condition) {
    if (!condition) {
        abort();
    }
}

static const struct {
    tly_dtype dtype;
    uint32_t rank;
    uint64_t shape[3];
} tensors[] = {{TLY_F32, 2, {37, 61}}, {TLY_BF16, 2, {33, 20}},   {TLY_I8, 2, {70, 9}},
               {TLY_F64, 1, {50}},     {TLY_U16, 3, {3, 17, 12}}, {TLY_I4, 2, {8, 8}},
               {TLY_F32, 0, {0}},      {TLY_F32, 2, {0, 5}}};

static void run_plan(const tly_answer *a) {
    uint64_t unit = tly_maker_unit_len(a->maker), num = tly_maker_num_units(a->maker);
    uint8_t *out = malloc((size_t)a->total);
    for (uint64_t i = 0; i < num; i++) { /* one by one, as a server with tiny pieces would */
        uint64_t len = i + 1 == num ? a->total - i * unit : unit;
        uint8_t *piece = malloc((size_t)len);
        memset(piece, 0, (size_t)len);
        expect(tly_maker_run(a->maker, i, 1, piece, NULL) == TLY_OK);
        memcpy(out + i * unit, piece, (size_t)len);
        free(piece);
    }
    free(out);
}

static void check_answer(const tly_answer *a, const tly_descriptor *stored) {
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    tly_descriptor d;
    uint64_t len;
    expect(tly_descriptor_decode(a->descriptor, a->descriptor_len, work, sizeof work, &d, NULL,
                                 NULL) == TLY_OK);
    expect(tly_descriptor_check_buffers(&d, NULL) == TLY_OK);
    expect(tly_descriptor_data_len(&d, &len) == TLY_OK && len == a->total);
    expect(d.dtype == stored->dtype && d.rank == stored->rank);
    expect(d.rank == 0 || memcmp(d.shape, stored->shape, d.rank * sizeof *d.shape) == 0);
    if (a->maker != NULL) {
        run_plan(a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tly_context *context;
    tly_catalogue *catalogue;
    tly_descriptor d;
    tly_buffer_info buffer;
    tly_answer_limits limits = {.transcode_limit = MAX_PACKED, .probe_budget = 1 << 20};
    tly_wire_hello client = {.protocol_version = 1};
    tly_wire_request request = {.key = "k", .key_len = 1, .min_alignment = 64};
    tly_answer answer;
    uint32_t index, code;
    uint8_t *bytes;
    if (size < 3) {
        return 0;
    }
    index = data[0] % (sizeof tensors / sizeof tensors[0]);
    request.request_flags = (data[0] & 0x80) != 0 ? 0 : TLY_WIRE_ALLOW_TRANSCODE;
    if (tly_wire_layouts_get(data + 3, size - 3, data[1] | (uint32_t)data[2] << 8, &request.layouts,
                             NULL) != TLY_OK) {
        return 0;
    }
    expect(tly_context_new(NULL, &context, NULL) == TLY_OK);
    expect(tly_catalogue_new(context, &catalogue, NULL) == TLY_OK);
    expect(tly_panel_verdicts_new(context, NULL, &limits.verdicts, NULL) == TLY_OK);
    expect(tly_descriptor_init_row_major(&d, &buffer, tensors[index].dtype, tensors[index].rank,
                                         tensors[index].shape) == TLY_OK);
    bytes = malloc((size_t)buffer.byte_size + 1);
    memset(bytes, 0x5A, (size_t)buffer.byte_size + 1);
    expect(tly_catalogue_add_tensor(catalogue, "k", &d, bytes, buffer.byte_size, NULL) == TLY_OK);
    expect(tly_answer_init(&answer, context, catalogue, &limits, &client, &request, &code, NULL) ==
           TLY_OK); /* the native layout is always there */
    check_answer(&answer, &d);
    tly_answer_cleanup(&answer);
    tly_panel_verdicts_free(limits.verdicts);
    tly_catalogue_free(catalogue);
    tly_context_free(context);
    free(bytes);
    return 0;
}
