/* SPDX-License-Identifier: Apache-2.0 */
/* The same tensor in every layout: the public streams, and random tensors. */
#include "vectors.h"

#include <tilery/convert.h>
#include <tilery/panel.h>
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
    uint8_t profile[TLY_PANEL_MAX_LEN];
} wish;

enum { NUM_WISHES = 14 };

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
    case 12: { /* a panel */
        tly_panel_profile profile = {.size = sizeof profile};
        size_t len = 0;
        tly_error error;
        if (rank != 2 || d->quantization != NULL ||
            tly_panel_by_name("cube_n8", d->dtype, 0, &profile, &error) != TLY_OK) {
            return 0;
        }
        CHECK_OK(tly_panel_encode(&profile, w->profile, sizeof w->profile, &len, &error), &error);
        w->layout.layout = TLY_PANEL_LAYOUT_TAG;
        w->layout.private_id = TLY_PANEL_LAYOUT_ID;
        w->layout.private_data = w->profile;
        w->layout.private_len = (uint32_t)len;
        return 1;
    }
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

/* ---- random tensors
 * ------------------------------------------------------------------------------ */

static const tly_dtype all_types[] = {TLY_BOOL, TLY_I2,  TLY_U4,  TLY_F4E2M1, TLY_F6E3M2, TLY_I8,
                                      TLY_BF16, TLY_F32, TLY_U64, TLY_F128,   TLY_C128};

/* A row-major tensor with about one element in `sparse` other than zero. */
typedef struct made {
    tly_tensor tensor;
    tly_descriptor d;
    tly_buffer_info info;
    uint64_t shape[TLY_MAX_RANK];
    const void *buffers[1];
    uint8_t *bytes;
} made;

static void make(made *m, check_rng *rng, tly_dtype dtype, uint32_t rank, const uint64_t *shape,
                 uint64_t sparse) {
    uint64_t n, bits = tly_dtype_bits(dtype);
    memcpy(m->shape, shape, rank * sizeof *shape);
    assert_int_equal(tly_descriptor_init_row_major(&m->d, &m->info, dtype, rank, m->shape), TLY_OK);
    m->bytes = calloc(1, m->info.byte_size + 1);
    n = num_elements(&m->d);
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t b = 0; b < bits && check_below(rng, sparse) == 0; b++) {
            uint64_t bit = i * bits + b;
            m->bytes[bit / 8] |= (uint8_t)((check_random(rng) & 1) << bit % 8);
        }
    }
    m->buffers[0] = m->bytes;
    m->tensor = (tly_tensor){.descriptor = &m->d, .buffers = m->buffers};
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

/* ---- composites with quantized members
 * ----------------------------------------------------------- */

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

/* ---- refusals, and memory that runs out
 * ----------------------------------------------------------- */

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
        cmocka_unit_test(random_tensors),
        cmocka_unit_test(sorting_with_little_memory),
        cmocka_unit_test(corrections_over_a_quantized_base),
        cmocka_unit_test(partitions_into_boxes),
        cmocka_unit_test(what_cannot_be_done),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests_name("tensor/transcode", tests, begin, end);
}
