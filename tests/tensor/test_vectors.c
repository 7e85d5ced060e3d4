/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptor codec against the vectors of the format and against a second decoder. */
#include "vectors.h"

#include <tilery/tensor.h>
#include <tilery/transcode.h>

#include "base/bytes.h"
#include "tensor/plain.h"
#include "tensor/text.h"

#define FOLDER "tests/vectors/hurray/"

static const char *rule_of(tly_status status, const tly_error *error) {
    return status == TLY_OK ? "" : error->rule;
}

/* Decodes with both decoders, which must agree, and returns the verdict of the first. */
static const char *verdict(const uint8_t *bytes, size_t len, tly_descriptor *out, void *work,
                           tly_error *error) {
    char *plain_text;
    uint32_t own_len = 0;
    tly_status status =
        tly_descriptor_decode(bytes, len, work, TLY_DESCRIPTOR_WORK_LEN, out, &own_len, error);
    const char *rule = plain_decode(bytes, len, &plain_text);
    if (strcmp(rule_of(status, error), rule) != 0) {
        fail_msg("decoder says \"%s\", second decoder \"%s\"", rule_of(status, error), rule);
    }
    if (status == TLY_OK) {
        char *text = text_of(out);
        assert_string_equal(text, plain_text);
        free(text);
        assert_true(own_len <= len);
    } else {
        assert_true(error->message[0] != '\0');
        assert_true(error->offset <= len);
    }
    free(plain_text);
    return rule_of(status, error);
}

static void valid_descriptors(void **state) {
    check_vectors v = check_vectors_open(FOLDER "descriptors.jsonl.gz");
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    int read = 0;
    int short_buffers = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        char *hex = malloc(strlen(line) + 1);
        size_t len;
        uint8_t *bytes = check_unhex(check_json_text(line, "hex", hex, strlen(line)), &len);
        tly_descriptor d;
        tly_error error;
        const char *rule = verdict(bytes, len, &d, work, &error);
        const char *meaning = strstr(line, "\"descriptor\":") + strlen("\"descriptor\":");
        char *text = text_of(&d);
        size_t again_len;
        uint8_t *again = malloc(len);
        assert_string_equal(rule, "");
        if (strncmp(meaning, text, strlen(text)) != 0) {
            fail_msg("decoded as\n%s\nfor\n%s", text, line);
        }
        free(text);
        /* Written again, every byte is the same, but for a later minor version. */
        CHECK_OK(tly_descriptor_encode(&d, again, len, &again_len, &error), &error);
        if (d.version_minor == 0) {
            assert_int_equal(again_len, len);
            assert_memory_equal(again, bytes, len);
        } else {
            assert_true(again_len <= len);
            assert_memory_equal(again + 10, bytes + 10, again_len - 10);
        }
        free(again);
        {
            /* The work memory that the header promises to be enough, at any alignment. */
            uint8_t *tight = malloc(len + 32 + 7);
            for (size_t skew = 0; skew < 8; skew++) {
                tly_descriptor third;
                CHECK_OK(
                    tly_descriptor_decode(bytes, len, tight + skew, len + 32, &third, NULL, &error),
                    &error);
            }
            free(tight);
        }
        short_buffers += tly_descriptor_check_buffers(&d, &error) != TLY_OK;
        read++;
        free(bytes);
        free(hex);
    }
    /* Three of rank 64 in Morton order announce fewer bytes than 2^64 elements take. */
    assert_int_equal(short_buffers, 3);
    assert_int_equal(read, 1761);
    check_vectors_close(&v);
}

/* Finds the descriptor of an identifier in the text of descriptors.jsonl, at or after `from`. */
static char *find_descriptor(check_vectors *v, const char *id) {
    static char *last;
    char pattern[64];
    char *at;
    snprintf(pattern, sizeof pattern, "{\"id\":\"%s\"", id);
    at = last != NULL && last >= v->text && last < v->text + v->len ? strstr(last, pattern) : NULL;
    at = at != NULL ? at : strstr(v->text, pattern);
    last = at;
    return at;
}

/* Byte of the buffer and bit of that byte (of the group of three bytes for 6-bit elements). */
static void place_of(const tly_descriptor *d, int64_t offset, int64_t *out_byte, int64_t *out_bit) {
    int64_t bits = tly_descriptor_element_bits(d);
    int64_t unit = bits == 6 ? 3 : bits >= 8 ? bits / 8 : 1; /* bytes that hold whole elements */
    int64_t per_unit = unit * 8 / bits;
    int64_t which = offset / per_unit - (offset % per_unit < 0);
    *out_byte = (int64_t)d->byte_offset + which * unit;
    *out_bit = (offset - which * per_unit) * bits;
}

/* By the nest where the layout is one, and by a view of a tensor whose data is never touched. */
static void addresses(void **state) {
    check_vectors v = check_vectors_open(FOLDER "addresses.tsv.gz");
    check_vectors all = check_vectors_open(FOLDER "descriptors.jsonl.gz");
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    static const void *const buffers[TLY_MAX_BUFFERS] = {"", "", "", "", ""};
    static tly_nest nest;
    char current[32] = "";
    uint8_t *bytes = NULL;
    tly_descriptor d;
    tly_context *context;
    tly_view *view = NULL;
    tly_error error;
    int by_nest = 0;
    int by_view = 0;
    char *line;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    while ((line = check_vectors_line(&v)) != NULL) {
        char *fields[5] = {0};
        uint64_t index[TLY_MAX_RANK];
        int64_t offset;
        int64_t byte;
        int64_t bit;
        uint32_t n = 0;
        assert_int_equal(check_fields(line, fields, 5), 5);
        if (strcmp(fields[0], current) != 0) {
            const char *at = find_descriptor(&all, fields[0]);
            tly_tensor tensor = {.descriptor = &d, .buffers = buffers};
            char hex[4096];
            size_t len;
            assert_non_null(at);
            snprintf(current, sizeof current, "%s", fields[0]);
            free(bytes);
            tly_view_free(view);
            view = NULL;
            bytes = check_unhex(check_json_text(at, "hex", hex, sizeof hex), &len);
            CHECK_OK(tly_descriptor_decode(bytes, len, work, sizeof work, &d, NULL, &error),
                     &error);
            if (d.layout != TLY_LAYOUT_HILBERT) {
                CHECK_OK(tly_descriptor_nest(&d, &nest, &error), &error);
            }
            if (tly_descriptor_check_buffers(&d, &error) == TLY_OK) {
                CHECK_OK(tly_view_new(context, &tensor, NULL, &view, &error), &error);
            }
        }
        for (char *at = fields[1]; *at != '\0'; at += *at == ',') {
            index[n++] = strtoull(at, &at, 10);
        }
        assert_int_equal(n, d.rank);
        if (d.layout != TLY_LAYOUT_HILBERT) {
            CHECK_OK(tly_nest_offset(&nest, index, &offset), &error);
            by_nest++;
        } else {
            uint64_t at, back[TLY_MAX_RANK];
            assert_int_equal(tly_hilbert_offset(d.rank, d.hilbert_order, index, &at), TLY_OK);
            assert_int_equal(tly_hilbert_index(d.rank, d.hilbert_order, at, back), TLY_OK);
            assert_memory_equal(back, index, n * sizeof *index);
            offset = (int64_t)at;
        }
        assert_int_equal(offset, strtoll(fields[2], NULL, 10));
        place_of(&d, offset, &byte, &bit);
        assert_int_equal(byte, strtoull(fields[3], NULL, 10));
        assert_int_equal(bit, strtoull(fields[4], NULL, 10));
        if (view != NULL) {
            uint64_t place;
            int32_t found;
            CHECK_OK(tly_view_find(view, index, &place, &found), &error);
            assert_int_equal(found, 1);
            assert_int_equal(place, (uint64_t)(8 * byte + bit));
            by_view++;
        }
    }
    print_message("# %d addresses by nests, %d by views\n", by_nest, by_view);
    assert_int_equal(by_nest, 21648);
    assert_int_equal(by_view, 23220);
    tly_view_free(view);
    tly_context_free(context);
    free(bytes);
    check_vectors_close(&v);
    check_vectors_close(&all);
}

/* Every descriptor that must be refused is refused, by its rule. */
static void malformed_descriptors(void **state) {
    check_vectors v = check_vectors_open(FOLDER "malformed.tsv.gz");
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    int by_rule = 0;
    int elsewhere = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        char *fields[4] = {0};
        size_t len;
        uint8_t *bytes;
        tly_descriptor d;
        tly_error error;
        const char *rule;
        assert_int_equal(check_fields(line, fields, 4), 4);
        if (strcmp(fields[1], "desc") != 0) {
            elsewhere++; /* files and streams */
            continue;
        }
        bytes = check_unhex(fields[3], &len);
        rule = verdict(bytes, len, &d, work, &error);
        if (strcmp(rule, fields[2]) != 0) {
            fail_msg("%s: refused by \"%s\", not \"%s\"", fields[0], rule, fields[2]);
        }
        by_rule++;
        free(bytes);
    }
    assert_int_equal(by_rule, 306);
    assert_int_equal(by_rule + elsewhere, 391);
    check_vectors_close(&v);
}

/* What the format refuses and its reference implementation does not. */
static void disagreements(void **state) {
    check_vectors v = check_vectors_open(FOLDER "disagreements.jsonl.gz");
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    int refused = 0;
    int elsewhere = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        size_t room = strlen(line) + 1;
        char *hex = malloc(room);
        char id[32];
        char mode[32];
        char want[64];
        size_t len;
        uint8_t *bytes = check_unhex(check_json_text(line, "hex", hex, room), &len);
        tly_descriptor d;
        tly_error error;
        check_json_text(line, "id", id, sizeof id);
        check_json_text(line, "rule", want, sizeof want);
        check_json_text(line, "mode", mode, sizeof mode);
        if (strcmp(mode, "desc") == 0) {
            const char *rule = verdict(bytes, len, &d, work, &error);
            if (strcmp(rule, want) != 0) {
                fail_msg("%s: refused by \"%s\", not \"%s\"", id, rule, want);
            }
            refused++;
        } else {
            elsewhere++;
        }
        free(bytes);
        free(hex);
    }
    assert_int_equal(refused + elsewhere, 113);
    assert_int_equal(refused, 74);
    check_vectors_close(&v);
}

/* A refusal of the buffers' sizes names a byte of the descriptor: where the size of one stands. */
static void check_place(const tly_descriptor *d, const uint8_t *bytes, size_t len) {
    tly_error error;
    int found = 0;
    if (tly_descriptor_check_buffers(d, &error) == TLY_OK) {
        return;
    }
    assert_true(error.rule[0] != '\0' && error.offset < len);
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        found += tly_base_load_u64(bytes + error.offset) == d->buffers[i].byte_size;
    }
    assert_true(found > 0 || strcmp(error.rule, "B-SIZE") != 0);
}

static void fuzzed_descriptors(void **state) {
    check_vectors v = check_vectors_open(FOLDER "fuzz_descriptors.jsonl.gz");
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    int accepted = 0;
    int refused = 0;
    int other_rule = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        size_t room = strlen(line) + 1;
        char *hex = malloc(room);
        char id[32];
        char want[16];
        char want_rule[64];
        size_t len;
        uint8_t *bytes = check_unhex(check_json_text(line, "hex", hex, room), &len);
        tly_descriptor d;
        tly_error error;
        const char *rule = verdict(bytes, len, &d, work, &error);
        check_json_text(line, "id", id, sizeof id);
        check_json_text(line, "spec_verdict", want, sizeof want);
        check_json_text(line, "rule", want_rule, sizeof want_rule);
        if ((rule[0] == '\0') != (strcmp(want, "accept") == 0)) {
            fail_msg("%s: \"%s\", wanted %s by \"%s\"", id, rule, want, want_rule);
        } else if (rule[0] == '\0') {
            accepted++;
            check_place(&d, bytes, len);
        } else {
            refused++;
            other_rule += strcmp(rule, want_rule) != 0; /* two rules broken: either may be named */
        }
        free(bytes);
        free(hex);
    }
    print_message("# %d accepted, %d refused, %d of them by another rule\n", accepted, refused,
                  other_rule);
    assert_int_equal(accepted + refused, 5012);
    assert_int_equal(accepted, 1698);
    check_vectors_close(&v);
}

/* Both decoders agree on descriptors with a few bytes changed, cut off or added. */
static void decoders_agree_on_mutations(void **state) {
    check_vectors v = check_vectors_open(FOLDER "descriptors.jsonl.gz");
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    static const uint8_t telling[] = {0,  1,    2,    3,    4,    5,    8,   63,
                                      64, 0x7F, 0x80, 0xEF, 0xF0, 0xFE, 0xFF};
    check_rng rng = {20261130};
    int accepted = 0;
    char *line;
    (void)state;
    print_message("# seed 20261130\n");
    while ((line = check_vectors_line(&v)) != NULL) {
        char *hex = malloc(strlen(line) + 1);
        size_t len;
        uint8_t *bytes = check_unhex(check_json_text(line, "hex", hex, strlen(line)), &len);
        for (int round = 0; round < 15 && len < 2000; round++) {
            size_t now = check_below(&rng, 8) == 0 ? check_below(&rng, len + 9) : len;
            uint8_t *copy = malloc(now + 1);
            tly_descriptor d;
            tly_error error;
            memset(copy, 0, now + 1);
            memcpy(copy, bytes, now < len ? now : len);
            for (uint64_t n = check_below(&rng, 3); n > 0 && now > 0; n--) {
                /* The head decides most, so it is hit most. */
                size_t at = check_below(&rng, check_below(&rng, 2) && now > 24 ? 24 : now);
                copy[at] = check_below(&rng, 2) ? telling[check_below(&rng, sizeof telling)]
                                                : (uint8_t)check_random(&rng);
            }
            copy = realloc(copy, now != 0 ? now : 1);
            accepted += verdict(copy, now, &d, work, &error)[0] == '\0';
            free(copy);
        }
        free(bytes);
        free(hex);
    }
    assert_true(accepted > 2000);
    check_vectors_close(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_descriptors),     cmocka_unit_test(addresses),
        cmocka_unit_test(malformed_descriptors), cmocka_unit_test(disagreements),
        cmocka_unit_test(fuzzed_descriptors),    cmocka_unit_test(decoders_agree_on_mutations),
    };
    return cmocka_run_group_tests_name("tensor/vectors", tests, NULL, NULL);
}
