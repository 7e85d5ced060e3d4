/* SPDX-License-Identifier: Apache-2.0 */
/* Every byte of a descriptor has a name, once; also where the descriptor is cut short or wrong. */
#include "vectors.h"

#include <tilery/tensor.h>

#include "cli/fields.h"

typedef struct seen {
    size_t at;
    size_t not_understood; /* bytes */
    size_t behind;
    char labels[16384];
    size_t used;
} seen;

static void note(void *user, size_t offset, size_t len, const char *label, const char *value) {
    seen *s = user;
    assert_int_equal(offset, s->at);
    assert_true(len > 0);
    assert_true(label[0] != '\0' && value != NULL);
    s->at += len;
    if (strcmp(label, "not understood") == 0) {
        s->not_understood += len;
    }
    if (strcmp(label, "behind the known fields") == 0) {
        s->behind += len;
    }
    if (s->used + strlen(label) + strlen(value) + 4 < sizeof s->labels) {
        s->used += (size_t)sprintf(s->labels + s->used, "%s=%s;", label, value);
    }
}

static seen walk(const uint8_t *bytes, size_t len) {
    seen s = {0};
    tly_fields_walk(bytes, len, note, &s);
    assert_int_equal(s.at, len);
    return s;
}

static void every_byte_has_a_name(void **state) {
    check_vectors v = check_vectors_open("tests/vectors/hurray/descriptors.jsonl.gz");
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    check_rng rng = {5};
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        char *hex = malloc(strlen(line) + 1);
        size_t len;
        uint8_t *bytes = check_unhex(check_json_text(line, "hex", hex, strlen(line)), &len);
        uint32_t own_len = 0;
        tly_descriptor d;
        tly_error error;
        seen s;
        CHECK_OK(tly_descriptor_decode(bytes, len, work, sizeof work, &d, &own_len, &error),
                 &error);
        s = walk(bytes, own_len);
        assert_int_equal(s.not_understood, 0);
        assert_true(s.behind == 0 || d.version_minor > 0);
        for (int i = 0; i < 3; i++) { /* cut short, at the end of a block of memory */
            size_t cut = check_below(&rng, len + 1);
            uint8_t *copy = malloc(cut != 0 ? cut : 1);
            memcpy(copy, bytes, cut);
            for (uint64_t k = check_below(&rng, 3); k > 0 && cut > 0; k--) {
                copy[check_below(&rng, cut)] = (uint8_t)check_random(&rng);
            }
            (void)walk(copy, cut);
            free(copy);
        }
        free(bytes);
        free(hex);
    }
    check_vectors_close(&v);
}

static void fields_say_what_they_mean(void **state) {
    uint64_t shape[2] = {4, 64}, parent[2] = {4, 64}, offset[2] = {0, 0};
    tly_buffer_info buffers[2];
    tly_quantization q = {.scheme = TLY_QUANT_PER_BLOCK,
                          .version = 1,
                          .flags = 1,
                          .axis = 1,
                          .block_size = 32,
                          .scale_buffer = 1,
                          .zero_point_buffer = UINT32_MAX,
                          .scale_type = TLY_F16};
    tly_shard shard = {parent, offset};
    tly_descriptor d;
    tly_error error;
    uint8_t bytes[512];
    size_t len;
    seen s;
    static const char *const wanted[] = {"magic=HRRY;",
                                         "flags=quantization, shard;",
                                         "element type=i8;",
                                         "layout=0x01 (row-major);",
                                         "shape[1]=64;",
                                         "buffer 1: bytes=16;",
                                         "scheme=3 (per block);",
                                         "flags of the scheme=symmetric;",
                                         "block size=32;",
                                         "buffer of the zero points=none;",
                                         "type of the scales=f16;",
                                         "offset in the parent[1]=0;"};
    (void)state;
    assert_int_equal(tly_descriptor_init_row_major(&d, buffers, TLY_I8, 2, shape), TLY_OK);
    buffers[1] = (tly_buffer_info){.byte_size = 16, .alignment = 64};
    d.num_buffers = 2;
    d.quantization = &q;
    d.shard = &shard;
    CHECK_OK(tly_descriptor_encode(&d, bytes, sizeof bytes, &len, &error), &error);
    s = walk(bytes, len);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (strstr(s.labels, wanted[i]) == NULL) {
            fail_msg("\"%s\" is missing in %s", wanted[i], s.labels);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_has_a_name),
        cmocka_unit_test(fields_say_what_they_mean),
    };
    return cmocka_run_group_tests_name("cli/fields", tests, NULL, NULL);
}
