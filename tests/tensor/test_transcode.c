/* SPDX-License-Identifier: Apache-2.0 */
/* The same tensor in every layout: the public streams, and random tensors. */
#include "vectors.h"

#include "tensor/all_layouts.h"

#define FOLDER     "tests/vectors/hurray/"
#define MAX_MEMBER 16

/* A tensor read from a stream, and everything that it points to. */
typedef struct loaded {
    tly_tensor tensor;
    tly_descriptor d;
    const void *buffers[TLY_MAX_BUFFERS];
    uint64_t tokens[16];
    tly_tensor members[MAX_MEMBER];
    struct loaded *kept[MAX_MEMBER];
    uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
} loaded;

/* Reads the tensor at *at, with its members, and moves past it. */
static loaded *load(const uint8_t *bytes, size_t len, size_t *at) {
    loaded *l = calloc(1, sizeof *l);
    uint32_t own = 0;
    tly_error error;
    CHECK_OK(
        tly_descriptor_decode(bytes + *at, len - *at, l->work, sizeof l->work, &l->d, &own, &error),
        &error);
    *at += own;
    l->tensor.descriptor = &l->d;
    l->tensor.buffers = l->buffers;
    for (uint32_t i = 0; i < l->d.num_buffers; i++) {
        l->buffers[i] = bytes + *at;
        *at += l->d.buffers[i].byte_size;
        assert_true(*at <= len);
    }
    if (l->d.layout == TLY_LAYOUT_COMPOSITE) {
        l->tensor.num_members = l->d.composite.member_count;
        assert_true(l->tensor.num_members <= MAX_MEMBER);
        for (uint32_t i = 0; i < l->tensor.num_members; i++) {
            l->kept[i] = load(bytes, len, at);
            l->members[i] = l->kept[i]->tensor;
        }
        l->tensor.members = l->members;
    }
    return l;
}

static void unload(loaded *l) {
    for (uint32_t i = 0; i < l->tensor.num_members; i++) {
        unload(l->kept[i]);
    }
    free(l);
}
/* ---- the public streams ---- */

/* The last list of that name: the one of the head comes behind those of its members. */
static const char *list_after(const char *line, const char *key) {
    char pattern[64];
    const char *at = NULL;
    snprintf(pattern, sizeof pattern, "\"%s\":[", key);
    while ((line = strstr(line, pattern)) != NULL) {
        at = line += strlen(pattern);
    }
    return at;
}

/* The next element of a list of hexadecimal texts. */
static int next_hex(const char **at, tly_code *out) {
    char text[40];
    size_t len;
    if (**at == ',') {
        ++*at;
    }
    if (**at != '"') {
        return 0;
    }
    len = strcspn(*at + 1, "\"");
    assert_true(len < sizeof text);
    memcpy(text, *at + 1, len);
    text[len] = '\0';
    *at += len + 2;
    out->high = 0;
    if (len > 16) {
        out->low = strtoull(text + len - 16, NULL, 16);
        text[len - 16] = '\0';
        out->high = strtoull(text, NULL, 16);
    } else {
        out->low = strtoull(text, NULL, 16);
    }
    return 1;
}

static uint64_t next_number(const char **at) {
    char *end;
    uint64_t v;
    while (**at == ',' || **at == '[') {
        ++*at;
    }
    v = strtoull(*at, &end, 10);
    *at = end;
    return v;
}

/* The codes of the line in row-major order, as many as the tensor has. */
static tly_code *wanted_codes(const char *at, uint64_t n) {
    tly_code *codes = calloc(n + 1, sizeof *codes);
    for (uint64_t i = 0; i < n; i++) {
        if (!next_hex(&at, &codes[i])) {
            fail_msg("element %llu of %llu is no code: %.60s", (unsigned long long)i,
                     (unsigned long long)n, at);
        }
    }
    assert_true(*at == ']');
    return codes;
}

static void check_lookups(const loaded *l, const char *line) {
    const char *queries = list_after(line, "queries"), *expect = list_after(line, "expect");
    int paged = l->d.layout == TLY_LAYOUT_BLOCK_PAGED;
    tly_view *view;
    tly_error error;
    if (queries == NULL) {
        return;
    }
    CHECK_OK(tly_view_new(context, &l->tensor, NULL, &view, &error), &error);
    while (*queries != ']') {
        uint64_t index[TLY_MAX_RANK], bit = 0, unit = tly_descriptor_element_bits(&l->d);
        int32_t found = 1;
        for (uint32_t k = 0; k < (paged ? 4 : l->d.rank); k++) {
            index[k] = next_number(&queries);
        }
        queries++;
        expect += *expect == ',';
        if (paged) {
            assert_int_equal(
                tly_view_find_paged(view, index[0], index[1], index[2], index[3], &bit), TLY_OK);
        } else {
            assert_int_equal(tly_view_find(view, index, &bit, &found), TLY_OK);
        }
        if (strncmp(expect, "null", 4) == 0) {
            assert_int_equal(found, 0);
            expect += 4;
        } else {
            assert_int_equal(found, 1);
            assert_int_equal(bit / unit, next_number(&expect));
        }
    }
    tly_view_free(view);
}

static void the_public_streams(void **state) {
    check_vectors lines = check_vectors_open(FOLDER "streams.jsonl.gz");
    check_vectors hexes = check_vectors_open(FOLDER "streams.hex.gz");
    check_rng rng = {check_seed(21)};
    uint32_t singles = 0, composites = 0, copies = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&lines)) != NULL) {
        char id[32], *hex;
        const char *codes, *tokens;
        size_t len, at = 0;
        uint8_t *bytes;
        loaded *l;
        char pattern[40];
        tly_error error;
        check_json_text(line, "id", id, sizeof id);
        snprintf(pattern, sizeof pattern, "%s\t", id);
        hex = strstr(hexes.text, pattern);
        assert_non_null(hex);
        hex += strlen(pattern);
        {
            size_t hex_len = strcspn(hex, "\n");
            char *copy = malloc(hex_len + 1);
            memcpy(copy, hex, hex_len);
            copy[hex_len] = '\0';
            bytes = check_unhex(copy, &len);
            free(copy);
        }
        if (len == 0) { /* a stream without tensors */
            free(bytes);
            continue;
        }
        l = load(bytes, len, &at);
        if (strstr(line, "\"kind\":\"multi\"") == NULL && strstr(line, "composite_mixed") == NULL) {
            assert_int_equal(at, len);
        }
        tokens = list_after(line, "seq_tokens");
        if (l->d.layout == TLY_LAYOUT_BLOCK_PAGED && tokens != NULL) {
            for (uint32_t s = 0; s < l->d.paged->num_seqs; s++) {
                l->tokens[s] = next_number(&tokens);
            }
            l->tensor.seq_tokens = l->tokens;
        }
        codes = list_after(line, l->d.layout == TLY_LAYOUT_COMPOSITE ? "merged_codes"
                                                                     : "logical_codes_row_major");
        if (l->d.dtype != TLY_F8E8M0) {
            CHECK_OK(tly_tensor_check_data(context, &l->tensor, &error), &error);
        }
        check_lookups(l, line);
        if (strstr(line, "\"kind\":\"multi\"") != NULL || strstr(line, "composite_mixed") != NULL) {
            codes = NULL; /* of another tensor, perhaps */
        }
        if (codes != NULL && (l->d.layout != TLY_LAYOUT_COMPOSITE || l->d.composite.rule != 3)) {
            tly_code *wanted = wanted_codes(codes, num_elements(&l->d));
            same_codes(&l->tensor, wanted);
            copies += through_all(&l->tensor, wanted, &rng);
            free(wanted);
            singles += l->d.layout != TLY_LAYOUT_COMPOSITE;
            composites += l->d.layout == TLY_LAYOUT_COMPOSITE;
        }
        unload(l);
        free(bytes);
    }
    check_vectors_close(&hexes);
    check_vectors_close(&lines);
    print_message("# %u tensors and %u composites, %u copies\n", singles, composites, copies);
    assert_true(singles > 700 && composites > 8);
}
static void random_tensors(void **state) {
    check_rng rng = {check_seed(22)};
    uint64_t rounds = check_rounds(60);
    (void)state;
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t shape[4];
        uint32_t rank = (uint32_t)check_below(&rng, 5);
        uint64_t cube = UINT64_C(1) << (1 + check_below(&rng, 2)), most = rank < 3 ? 40 : 9;
        made m;
        tly_code *wanted;
        for (uint32_t k = 0; k < rank; k++) {
            shape[k] = round % 3 == 0               ? cube
                       : check_below(&rng, 20) == 0 ? 0
                                                    : 1 + check_below(&rng, most);
        }
        make(&m, &rng, all_types[check_below(&rng, 11)], rank, shape, 1 + check_below(&rng, 4));
        wanted = all_codes(&m.tensor);
        through_all(&m.tensor, wanted, &rng);
        free(wanted);
        free(m.bytes);
    }
}

/* Coordinates in no order, and so little memory that they are sorted in many passes. */
static void sorting_with_little_memory(void **state) {
    enum { SIDE = 90, NNZ = 2500 };
    static uint8_t indices[NNZ * 16], values[NNZ * 2];
    uint64_t shape[2] = {SIDE, SIDE};
    const void *buffers[2] = {values, indices};
    tly_buffer_info info[2] = {{sizeof values, 64, 0, 0, 0, 0}, {sizeof indices, 64, 0, 0, 0, 0}};
    tly_descriptor d = {.dtype = TLY_U16,
                        .layout = TLY_LAYOUT_COO,
                        .num_buffers = 2,
                        .rank = 2,
                        .shape = shape,
                        .buffers = info,
                        .nnz = NNZ};
    tly_tensor t = {.descriptor = &d, .buffers = buffers};
    check_rng rng = {check_seed(23)};
    uint32_t places[SIDE * SIDE];
    tly_code *wanted = calloc(SIDE * SIDE, sizeof *wanted);
    wish w;
    (void)state;
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        uint32_t j = (uint32_t)check_below(&rng, i + 1);
        places[i] = places[j];
        places[j] = i;
    }
    for (uint32_t i = 0; i < NNZ; i++) {
        uint64_t value = 1 + check_below(&rng, 65535);
        wanted[places[i]].low = value;
        values[2 * i] = (uint8_t)value;
        values[2 * i + 1] = (uint8_t)(value >> 8);
        indices[16 * i] = (uint8_t)(places[i] / SIDE);
        indices[16 * i + 8] = (uint8_t)(places[i] % SIDE);
    }
    for (uint32_t n = 8; n <= 10; n++) {
        for (uint64_t limit = 2000; limit <= 2000000; limit *= 10) {
            result r;
            assert_int_equal(make_wish(&w, n, &d), 1);
            result_new(&r, &t, &w, limit);
            same_codes(&r.tensor, wanted);
            assert_int_equal(r.tensor.descriptor->nnz, NNZ);
            result_free(&r);
        }
    }
    free(wanted);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_public_streams),
        cmocka_unit_test(random_tensors),
        cmocka_unit_test(sorting_with_little_memory),
    };
    return cmocka_run_group_tests_name("tensor/transcode", tests, begin, end);
}
