/* SPDX-License-Identifier: Apache-2.0 */
/* The same tensor in every layout: the public streams, and random tensors. */
#include "vectors.h"

#include <tilery/convert.h>
#include <tilery/transcode.h>

#define FOLDER     "tests/vectors/hurray/"
#define MAX_MEMBER 16

static tly_context *context;

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

/* Runs through all indices; 0 at the end. */
static int next_index(const tly_descriptor *d, uint64_t *index) {
    uint32_t k = d->rank;
    while (k > 0 && ++index[k - 1] == d->shape[k - 1]) {
        index[--k] = 0;
    }
    return k != 0;
}

static uint64_t num_elements(const tly_descriptor *d) {
    uint64_t n = 0;
    assert_int_equal(tly_descriptor_num_elements(d, &n), TLY_OK);
    return n;
}

/* All elements in row-major order, one code each. */
static tly_code *all_codes(const tly_tensor *t) {
    uint64_t index[TLY_MAX_RANK] = {0}, n = num_elements(t->descriptor), at = 0;
    tly_code *codes = calloc(n + 1, sizeof *codes);
    tly_view *view;
    tly_error error;
    CHECK_OK(tly_view_new(context, t, NULL, &view, &error), &error);
    if (n > 0) {
        do {
            assert_int_equal(tly_view_get(view, index, &codes[at++]), TLY_OK);
        } while (next_index(t->descriptor, index));
        assert_int_equal(at, n);
    }
    tly_view_free(view);
    return codes;
}

/* ---- layouts to go through ---------------------------------------------------------------------
 */

typedef struct wish {
    tly_descriptor layout;
    int64_t strides[TLY_MAX_RANK];
    int64_t outer[TLY_MAX_RANK], inner[TLY_MAX_RANK];
    uint64_t tile[2][TLY_MAX_RANK];
    uint32_t bits[TLY_MAX_RANK];
    uint32_t order[TLY_MAX_RANK];
    tly_block_paged paged;
    uint64_t tokens[4];
    const uint64_t *seq_tokens;
} wish;

enum { NUM_WISHES = 13 };

static uint32_t log2_up(uint64_t v) {
    uint32_t b = 0;
    while (b < 63 && (UINT64_C(1) << b) < v) {
        b++;
    }
    return b;
}

/* Wish number n for a tensor of this shape; 0 if the layout cannot hold it. */
static int make_wish(wish *w, uint32_t n, const tly_descriptor *d) {
    uint32_t rank = d->rank;
    int64_t stride = 1;
    memset(w, 0, sizeof *w);
    switch (n) {
    case 0:
        w->layout.layout = TLY_LAYOUT_ROW_MAJOR;
        return 1;
    case 1:
        w->layout.layout = TLY_LAYOUT_COL_MAJOR;
        break;
    case 2: /* odd axes backwards, with holes */
        w->layout.layout = TLY_LAYOUT_STRIDED;
        for (uint32_t k = 0; k < rank; k++) {
            w->strides[k] = k % 2 ? -stride : stride;
            stride = (stride + 1) * (int64_t)(d->shape[k] + 1);
            if (stride > (1 << 20)) {
                return 0;
            }
        }
        w->layout.strides = w->strides;
        break;
    case 3:
    case 4:
    case 5: /* tiles of 3; of 2, column by column; 4 in 8 */
        w->layout.layout = TLY_LAYOUT_TILED;
        w->layout.num_levels = n == 5 ? 2 : 1;
        for (uint32_t k = 0; k < rank; k++) {
            w->tile[0][k] = n == 3 ? 3 : n == 4 ? 2 : 4;
            w->tile[1][k] = 2;
        }
        w->layout.levels[0] = (tly_tile_level){w->tile[0], NULL, NULL, n == 3 ? 2 : 1,
                                               n == 3   ? 1
                                               : n == 4 ? 2
                                                        : 4};
        w->layout.levels[1] = (tly_tile_level){w->tile[1], NULL, NULL, 2, 1};
        if (rank > 8) {
            return 0;
        }
        break;
    case 6:
        w->layout.layout = TLY_LAYOUT_MORTON;
        for (uint32_t k = 0; k < rank; k++) {
            w->bits[k] = log2_up(d->shape[k]) > 0 ? log2_up(d->shape[k]) : 1;
            if (w->bits[k] * rank > 18) {
                return 0;
            }
        }
        w->layout.morton_bits = w->bits;
        break;
    case 7:
        w->layout.layout = TLY_LAYOUT_HILBERT;
        w->layout.hilbert_order = rank > 0 ? log2_up(d->shape[0]) : 0;
        for (uint32_t k = 0; k < rank; k++) {
            if (d->shape[k] != UINT64_C(1) << w->layout.hilbert_order) {
                return 0;
            }
        }
        return rank >= 2 && w->layout.hilbert_order > 0;
    case 8:
        w->layout.layout = TLY_LAYOUT_COO;
        break;
    case 9:
        w->layout.layout = TLY_LAYOUT_CSR;
        return rank == 2;
    case 10:
        w->layout.layout = TLY_LAYOUT_CSC;
        return rank == 2;
    case 11:
        w->layout.layout = TLY_LAYOUT_CSF;
        for (uint32_t k = 0; k < rank; k++) {
            w->order[k] = (k + 1) % rank;
        }
        w->layout.mode_order = w->order;
        return rank >= 3;
    default:
        w->layout.layout = TLY_LAYOUT_BLOCK_PAGED;
        w->paged =
            (tly_block_paged){.page_size = 2, .num_seqs = 2, .layer_index = 1, .index_type = 1};
        w->layout.paged = &w->paged;
        if (rank == 3) {
            w->tokens[0] = d->shape[0] / 2;
            w->tokens[1] = d->shape[0] - w->tokens[0];
        }
        w->seq_tokens = w->tokens;
        return rank == 3;
    }
    return rank > 0;
}

/* The result of a transcode, with buffers that end where they may. */
typedef struct result {
    tly_transcode *plan;
    void *buffers[TLY_MAX_BUFFERS];
    tly_tensor tensor;
} result;

static void result_new(result *r, const tly_tensor *src, const wish *w, uint64_t limit) {
    tly_transcode_options options = {sizeof options, limit, w->seq_tokens};
    const tly_descriptor *d;
    tly_error error;
    memset(r, 0, sizeof *r);
    CHECK_OK(tly_transcode_new(context, src, &w->layout, &options, &r->plan, &error), &error);
    d = tly_transcode_descriptor(r->plan);
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        r->buffers[i] = malloc(d->buffers[i].byte_size + 1);
        memset(r->buffers[i], 0xA5, d->buffers[i].byte_size + 1);
    }
    CHECK_OK(tly_transcode_run(r->plan, r->buffers, &error), &error);
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        assert_int_equal(((uint8_t *)r->buffers[i])[d->buffers[i].byte_size], 0xA5);
    }
    r->tensor = (tly_tensor){
        .descriptor = d, .buffers = (const void *const *)r->buffers, .seq_tokens = w->seq_tokens};
}

static void result_free(result *r) {
    const tly_descriptor *d = tly_transcode_descriptor(r->plan);
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        free(r->buffers[i]);
    }
    tly_transcode_free(r->plan);
}

static void same_codes(const tly_tensor *t, const tly_code *wanted) {
    tly_code *codes = all_codes(t);
    uint64_t n = num_elements(t->descriptor);
    for (uint64_t i = 0; i < n; i++) {
        if (codes[i].low != wanted[i].low || codes[i].high != wanted[i].high) {
            fail_msg("layout %x, element %llu: %llx, not %llx", t->descriptor->layout,
                     (unsigned long long)i, (unsigned long long)codes[i].low,
                     (unsigned long long)wanted[i].low);
        }
    }
    free(codes);
}

/* Into every layout that can hold it, and from there into some others. */
static uint32_t through_all(const tly_tensor *t, const tly_code *wanted, check_rng *rng) {
    uint32_t done = 0;
    wish w, v;
    result a, b;
    tly_error error;
    for (uint32_t n = 0; n < NUM_WISHES; n++) {
        if (!make_wish(&w, n, t->descriptor)) {
            continue;
        }
        result_new(&a, t, &w, 0);
        if (t->descriptor->dtype != TLY_F8E8M0) { /* zeros of that type are no valid data */
            CHECK_OK(tly_tensor_check_data(context, &a.tensor, &error), &error);
        }
        same_codes(&a.tensor, wanted);
        for (uint32_t tries = 0; tries < 2; tries++) {
            if (make_wish(&v, (uint32_t)check_below(rng, NUM_WISHES), t->descriptor)) {
                /* Sometimes with hardly any memory: tables and sorting do without. */
                result_new(&b, &a.tensor, &v, check_below(rng, 2) ? 0 : 20000);
                same_codes(&b.tensor, wanted);
                result_free(&b);
                done++;
            }
        }
        result_free(&a);
        done++;
    }
    return done;
}

/* ---- the public streams
 * -------------------------------------------------------------------------- */

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
        cmocka_unit_test(the_public_streams),
    };
    return cmocka_run_group_tests_name("tensor/transcode", tests, begin, end);
}
