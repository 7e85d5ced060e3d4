/* SPDX-License-Identifier: Apache-2.0 */
/* Composites: tensors that belong together, one after the other. */
#include "vectors.h"

#include <tilery/tensor.h>

#define FOLDER "tests/vectors/hurray/"

static tly_context *context;

static int set_up(void **state) {
    tly_error error;
    (void)state;
    return tly_context_new(NULL, &context, &error) == TLY_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tly_context_free(context);
    return 0;
}

/* Reads a stream, descriptors and data back to back, and returns the rule that it breaks. */
static const char *verdict(const uint8_t *bytes, size_t len, tly_error *error) {
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    tly_composite_check *check;
    const char *rule = "";
    size_t at = 0;
    assert_int_equal(tly_composite_check_new(context, &check, error), TLY_OK);
    while (at < len && rule[0] == '\0') {
        tly_descriptor d;
        uint32_t own_len;
        uint64_t data_len;
        tly_status status =
            tly_descriptor_decode(bytes + at, len - at, work, sizeof work, &d, &own_len, error);
        if (status != TLY_OK) {
            rule = status == TLY_TRUNCATED ? "ST-TORN-DESC" : error->rule;
            break;
        }
        at += own_len;
        status = tly_composite_check_add(check, &d, error);
        if (status != TLY_OK) {
            rule = error->rule;
        } else if (tly_descriptor_data_len(&d, &data_len) != TLY_OK || data_len > len - at) {
            rule = "ST-TORN-DATA";
        } else {
            at += data_len;
        }
    }
    if (rule[0] == '\0' && tly_composite_check_end(check, error) != TLY_OK) {
        rule = error->rule;
    }
    tly_composite_check_free(check);
    return rule;
}

static void streams_to_refuse(void **state) {
    check_vectors v = check_vectors_open(FOLDER "malformed.tsv.gz");
    int refused = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        char *fields[4] = {0};
        uint8_t *bytes;
        size_t len;
        tly_error error;
        const char *rule;
        assert_int_equal(check_fields(line, fields, 4), 4);
        if (strcmp(fields[1], "stream") != 0) {
            continue;
        }
        bytes = check_unhex(fields[3], &len);
        rule = verdict(bytes, len, &error);
        if (strcmp(rule, fields[2]) != 0) {
            fail_msg("%s: \"%s\", not \"%s\"", fields[0], rule, fields[2]);
        }
        refused++;
        free(bytes);
    }
    assert_int_equal(refused, 36);
    check_vectors_close(&v);
}

static void streams_that_the_reference_accepts(void **state) {
    check_vectors v = check_vectors_open(FOLDER "disagreements.jsonl.gz");
    int refused = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        char mode[32];
        char want[64];
        if (strcmp(check_json_text(line, "mode", mode, sizeof mode), "stream") == 0) {
            size_t room = strlen(line) + 1;
            char *hex = malloc(room);
            size_t len;
            uint8_t *bytes = check_unhex(check_json_text(line, "hex", hex, room), &len);
            tly_error error;
            const char *rule = verdict(bytes, len, &error);
            assert_string_equal(rule, check_json_text(line, "rule", want, sizeof want));
            refused++;
            free(bytes);
            free(hex);
        }
    }
    assert_int_equal(refused, 4);
    check_vectors_close(&v);
}

/* A head of rank 2 and its members, cut from a grid at random places. */
typedef struct cut {
    tly_descriptor d;
    tly_buffer_info buffer;
    tly_shard shard;
    uint64_t shape[2];
    uint64_t offset[2];
} cut;

static void fill_cut(cut *c, const uint64_t *parent, uint64_t row, uint64_t col, uint64_t rows,
                     uint64_t cols) {
    c->shape[0] = rows;
    c->shape[1] = cols;
    c->offset[0] = row;
    c->offset[1] = col;
    assert_int_equal(tly_descriptor_init_row_major(&c->d, &c->buffer, TLY_F32, 2, c->shape),
                     TLY_OK);
    c->shard = (tly_shard){parent, c->offset};
    c->d.shard = &c->shard;
}

static tly_status check_cuts(const uint64_t *parent, const cut *cuts, uint32_t count,
                             tly_error *error) {
    tly_descriptor head = {.dtype = TLY_F32,
                           .layout = TLY_LAYOUT_COMPOSITE,
                           .rank = 2,
                           .shape = parent,
                           .composite = {count, 1, 0, 0}};
    tly_composite_check *check;
    tly_status status;
    assert_int_equal(tly_composite_check_new(context, &check, error), TLY_OK);
    status = tly_composite_check_add(check, &head, error);
    for (uint32_t i = 0; i < count && status == TLY_OK; i++) {
        status = tly_composite_check_add(check, &cuts[i].d, error);
    }
    if (status == TLY_OK) {
        status = tly_composite_check_end(check, error);
    }
    tly_composite_check_free(check);
    return status;
}

/* Painted cell by cell, every cell once: that is what a partition is. */
static void partitions_cover_every_cell_once(void **state) {
    check_rng rng = {5};
    int good = 0;
    int bad = 0;
    (void)state;
    print_message("# seed 5\n");
    for (int round = 0; round < 3000; round++) {
        uint64_t parent[2] = {1 + check_below(&rng, 6), 1 + check_below(&rng, 6)};
        cut cuts[40];
        uint32_t count = 0;
        int painted[6][6] = {{0}};
        int once = 1;
        tly_error error;
        tly_status status;
        uint64_t row = 0;
        while (row < parent[0]) {
            uint64_t rows = 1 + check_below(&rng, parent[0] - row);
            uint64_t col = 0;
            while (col < parent[1]) {
                uint64_t cols = 1 + check_below(&rng, parent[1] - col);
                fill_cut(&cuts[count++], parent, row, col, rows, cols);
                col += cols;
            }
            row += rows;
        }
        if (check_below(&rng, 2) == 0) { /* one box elsewhere */
            cut *c = &cuts[check_below(&rng, count)];
            uint64_t rows = 1 + check_below(&rng, parent[0]);
            uint64_t cols = 1 + check_below(&rng, parent[1]);
            fill_cut(c, parent, check_below(&rng, parent[0] - rows + 1),
                     check_below(&rng, parent[1] - cols + 1), rows, cols);
        }
        for (uint32_t i = 0; i < count; i++) {
            for (uint64_t r = 0; r < cuts[i].shape[0]; r++) {
                for (uint64_t c = 0; c < cuts[i].shape[1]; c++) {
                    painted[cuts[i].offset[0] + r][cuts[i].offset[1] + c]++;
                }
            }
        }
        for (uint64_t r = 0; r < parent[0]; r++) {
            for (uint64_t c = 0; c < parent[1]; c++) {
                once &= painted[r][c] == 1;
            }
        }
        status = check_cuts(parent, cuts, count, &error);
        assert_int_equal(status == TLY_OK, once);
        good += once;
        bad += !once;
    }
    assert_true(good > 1000 && bad > 500);
}

static void too_many_members_are_a_limit(void **state) {
    uint64_t parent[2] = {20000, 1};
    cut *cuts = calloc(20000, sizeof *cuts);
    tly_error error;
    (void)state;
    for (uint32_t i = 0; i < 20000; i++) {
        fill_cut(&cuts[i], parent, i, 0, 1, 1);
    }
    CHECK_RULE(check_cuts(parent, cuts, 20000, &error), &error, TLY_LIMIT, "C-MEMBERS");
    parent[0] = 2000;
    CHECK_OK(check_cuts(parent, cuts, 2000, &error), &error);
    free(cuts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_to_refuse),
        cmocka_unit_test(streams_that_the_reference_accepts),
        cmocka_unit_test(partitions_cover_every_cell_once),
        cmocka_unit_test(too_many_members_are_a_limit),
    };
    return cmocka_run_group_tests_name("tensor/composite", tests, set_up, tear_down);
}
