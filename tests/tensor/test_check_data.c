/* SPDX-License-Identifier: Apache-2.0 */
/* Contents that break a rule although the descriptor is fine: each is refused for its reason. */
#include "vectors.h"

#include <tilery/transcode.h>

/* Rules of the vectors that the sizes in the descriptor already break: two names for one fault. */
static int is_size(const char *rule) {
    return strstr(rule, "SIZE") != NULL || strcmp(rule, "V-STRIDE-OOB") == 0 ||
           strcmp(rule, "V-CSF-POSEND") == 0; /* of 5 elements there are 4, and values for 4 */
}

/* What the bytes of a stream with one tensor are refused for. */
static const char *verdict(const tly_context *context, const uint8_t *bytes, size_t len,
                           tly_error *error) {
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    const void *buffers[TLY_MAX_BUFFERS];
    tly_descriptor d;
    uint32_t own;
    size_t at;
    tly_tensor tensor = {.descriptor = &d, .buffers = buffers};
    CHECK_OK(tly_descriptor_decode(bytes, len, work, sizeof work, &d, &own, error), error);
    at = own;
    for (uint32_t i = 0; i < d.num_buffers; i++) {
        buffers[i] = bytes + at;
        if (d.buffers[i].byte_size > len - at) {
            fail_msg("buffer %u is not there", i);
        }
        at += d.buffers[i].byte_size;
    }
    return tly_tensor_check_data(context, &tensor, error) == TLY_OK ? "" : error->rule;
}

static void contents_that_break_rules(void **state) {
    check_vectors v = check_vectors_open("tests/vectors/hurray/malformed_data.jsonl.gz");
    tly_context *context;
    tly_error error;
    char *line;
    int num = 0;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    while ((line = check_vectors_line(&v)) != NULL) {
        char *hex = malloc(strlen(line)), wanted[40], id[40];
        const char *got;
        size_t len;
        uint8_t *bytes = check_unhex(check_json_text(line, "hex", hex, strlen(line)), &len);
        check_json_text(line, "rule", wanted, sizeof wanted);
        check_json_text(line, "id", id, sizeof id);
        got = verdict(context, bytes, len, &error);
        if (strcmp(got, wanted) != 0 && !(is_size(wanted) && is_size(got) && got[0] != '\0')) {
            fail_msg("%s: wanted %s, got \"%s\" (%s)", id, wanted, got,
                     got[0] != '\0' ? error.message : "accepted");
        }
        /* Sizes beyond 64 bits overflow. */
        assert_true(error.status == TLY_MALFORMED ||
                    (error.status == TLY_OVERFLOW && is_size(wanted)));
        num++;
        free(bytes);
        free(hex);
    }
    assert_int_equal(num, 71);
    check_vectors_close(&v);
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_that_break_rules),
    };
    return cmocka_run_group_tests_name("tensor/check_data", tests, NULL, NULL);
}
