/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer writes, the reader reads; what it must refuse, it refuses. */
#include "store/scratch.h"

#include <tilery/store.h>

#include "base/bytes.h"

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

/* A tensor of random shape and bytes, known by its name. */
typedef struct sample {
    char name[32];
    uint64_t shape[3];
    tly_buffer_info buffers[3];
    tly_descriptor descriptor;
    uint8_t *bytes; /* of all buffers, back to back */
    uint64_t len;
} sample;

static void make_sample(sample *s, uint32_t number, check_rng *rng) {
    tly_dtype types[] = {TLY_F32, TLY_BF16, TLY_U8, TLY_F64, TLY_U4};
    uint32_t rank = (uint32_t)check_below(rng, 4);
    memset(s, 0, sizeof *s);
    snprintf(s->name, sizeof s->name, "t%llu.%u", (unsigned long long)check_below(rng, 1000),
             number);
    for (uint32_t k = 0; k < rank; k++) {
        s->shape[k] = check_below(rng, 30);
    }
    assert_int_equal(tly_descriptor_init_row_major(&s->descriptor, s->buffers, types[number % 5],
                                                   rank, s->shape),
                     TLY_OK);
    if (number % 3 == 0) { /* a private layout with several buffers, empty ones among them */
        s->descriptor.layout = 0xF3;
        s->descriptor.private_id = number;
        s->descriptor.num_buffers = (uint8_t)(1 + number % 4 % 3);
        for (uint32_t i = 0; i < s->descriptor.num_buffers; i++) {
            s->buffers[i].byte_size = check_below(rng, 3) == 0 ? 0 : check_below(rng, 9000);
            s->buffers[i].alignment = 64;
        }
    }
    assert_int_equal(tly_descriptor_data_len(&s->descriptor, &s->len), TLY_OK);
    s->bytes = malloc(s->len + 1);
    for (uint64_t i = 0; i < s->len; i++) {
        s->bytes[i] = (uint8_t)check_random(rng);
    }
}

static void write_sample(tly_store_writer *w, const sample *s, check_rng *rng) {
    tly_error error;
    if (check_below(rng, 2) == 0) {
        const void *buffers[3];
        uint64_t at = 0;
        for (uint32_t i = 0; i < s->descriptor.num_buffers; i++) {
            buffers[i] = s->bytes + at;
            at += s->buffers[i].byte_size;
        }
        CHECK_OK(tly_store_writer_add(w, s->name, strlen(s->name), &s->descriptor, buffers, &error),
                 &error);
    } else {
        uint64_t at = 0;
        CHECK_OK(tly_store_writer_begin(w, s->name, strlen(s->name), &s->descriptor, &error),
                 &error);
        while (at < s->len) {
            uint64_t piece = 1 + check_below(rng, s->len - at);
            CHECK_OK(tly_store_writer_append(w, s->bytes + at, piece, &error), &error);
            at += piece;
        }
        CHECK_OK(tly_store_writer_end(w, &error), &error);
    }
}

static void check_sample(const tly_store *store, const sample *s) {
    static uint64_t work[TLY_STORE_WORK_LEN / 8];
    uint64_t index;
    uint64_t at = 0;
    tly_descriptor d;
    tly_error error;
    assert_int_equal(tly_store_find(store, s->name, strlen(s->name), &index), TLY_OK);
    CHECK_OK(tly_store_descriptor(store, index, work, sizeof work, &d, &error), &error);
    assert_int_equal(d.dtype, s->descriptor.dtype);
    assert_int_equal(d.rank, s->descriptor.rank);
    assert_int_equal(d.num_buffers, s->descriptor.num_buffers);
    for (uint32_t i = 0; i < d.num_buffers; i++) {
        uint64_t offset;
        uint64_t len;
        uint8_t *copy;
        assert_int_equal(tly_store_buffer_range(store, index, &d, i, &offset, &len), TLY_OK);
        assert_int_equal(len, s->buffers[i].byte_size);
        assert_int_equal(offset % 4096, 0);
        copy = malloc(len + 1);
        CHECK_OK(tly_store_read(store, index, offset, copy, len, &error), &error);
        assert_memory_equal(copy, s->bytes + at, len);
        free(copy);
        at += len;
    }
    assert_int_equal(tly_store_buffer_range(store, index, &d, d.num_buffers, &at, &at),
                     TLY_INVALID_ARGUMENT);
}

static void random_containers_come_back(void **state) {
    check_rng rng = {4};
    scratch dir;
    (void)state;
    print_message("# seed 4\n");
    scratch_make(&dir);
    for (int round = 0; round < 40; round++) {
        sample samples[20];
        uint32_t count = (uint32_t)check_below(&rng, 20);
        tly_store_writer_options options = {.size = sizeof options};
        tly_store_open_options open_options = {.size = sizeof open_options};
        tly_store_writer *w;
        tly_store *store;
        tly_error error;
        options.data_alignment = check_below(&rng, 2) ? 0 : 4096u << check_below(&rng, 4);
        options.flags = check_below(&rng, 2) ? TLY_STORE_WRITE_UNSORTED : 0;
        options.tensor_count = check_below(&rng, 2) ? count : 0;
        CHECK_OK(tly_store_writer_new(context, dir.path, &options, &w, &error), &error);
        for (uint32_t i = 0; i < count; i++) {
            make_sample(&samples[i], i, &rng);
            write_sample(w, &samples[i], &rng);
        }
        CHECK_OK(tly_store_writer_commit(w, &error), &error);
        tly_store_writer_free(w);
        assert_int_equal(scratch_count(&dir, 0), 1);
        open_options.flags = check_below(&rng, 2) ? TLY_STORE_OPEN_NO_MAP : 0;
        CHECK_OK(tly_store_open(context, dir.path, &open_options, &store, &error), &error);
        CHECK_OK(tly_store_verify(store, &error), &error);
        assert_int_equal(tly_store_num_tensors(store), count);
        for (uint32_t i = 0; i < count; i++) {
            check_sample(store, &samples[i]);
            free(samples[i].bytes);
        }
        tly_store_free(store);
    }
    scratch_remove(&dir);
}

static void many_names_are_found(void **state) {
    scratch dir;
    tly_store_writer *w;
    tly_store *store;
    tly_error error;
    uint64_t shape[1] = {0};
    tly_buffer_info buffer;
    tly_descriptor d;
    const void *none[1] = {NULL};
    char name[32];
    uint64_t index;
    tly_store_entry last = {0};
    (void)state;
    scratch_make(&dir);
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 1, shape), TLY_OK);
    CHECK_OK(tly_store_writer_new(context, dir.path, NULL, &w, &error), &error);
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "layer.%d.weight", i);
        CHECK_OK(tly_store_writer_add(w, name, strlen(name), &d, none, &error), &error);
    }
    CHECK_OK(tly_store_writer_commit(w, &error), &error);
    tly_store_writer_free(w);
    CHECK_OK(tly_store_open(context, dir.path, NULL, &store, &error), &error);
    assert_int_equal(tly_store_num_tensors(store), 3000);
    for (int i = 0; i < 3000; i++) {
        tly_store_entry e;
        snprintf(name, sizeof name, "layer.%d.weight", i);
        assert_int_equal(tly_store_find(store, name, strlen(name), &index), TLY_OK);
        assert_int_equal(tly_store_entry_at(store, (uint64_t)i, &e), TLY_OK);
        if (i > 0) {
            size_t n = last.name_len < e.name_len ? last.name_len : e.name_len;
            int order = memcmp(last.name, e.name, n);
            assert_true(order < 0 || (order == 0 && last.name_len < e.name_len));
        }
        last = e;
    }
    assert_int_equal(tly_store_find(store, "layer.1.weigh", 13, &index), TLY_NOT_FOUND);
    assert_int_equal(tly_store_find(store, "", 0, &index), TLY_NOT_FOUND);
    assert_int_equal(tly_store_entry_at(store, 3000, &last), TLY_INVALID_ARGUMENT);
    tly_store_free(store);
    scratch_remove(&dir);
}

static void the_writer_refuses_misuse(void **state) {
    scratch dir;
    tly_store_writer *w;
    tly_error error;
    uint64_t shape[1] = {4};
    tly_buffer_info buffer;
    tly_descriptor d;
    float data[4] = {1, 2, 3, 4};
    const void *buffers[1] = {data};
    const void *none[1] = {NULL};
    char *long_name = calloc(1, 70000);
    tly_store_writer_options options = {.size = sizeof options, .data_alignment = 64};
    (void)state;
    memset(long_name, 'x', 69999);
    scratch_make(&dir);
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 1, shape), TLY_OK);
    CHECK_RULE(tly_store_writer_new(context, dir.path, &options, &w, &error), &error,
               TLY_INVALID_ARGUMENT, "F-ALIGN");
    options.data_alignment = 4096;
    options.tensor_count = 2;
    CHECK_OK(tly_store_writer_new(context, dir.path, &options, &w, &error), &error);
    CHECK_RULE(tly_store_writer_add(w, "", 0, &d, buffers, &error), &error, TLY_INVALID_ARGUMENT,
               "F-NAME-EMPTY");
    CHECK_RULE(tly_store_writer_add(w, long_name, 65536, &d, buffers, &error), &error,
               TLY_INVALID_ARGUMENT, "F-NAME-LEN");
    CHECK_RULE(tly_store_writer_add(w, "\xC0\x80", 2, &d, buffers, &error), &error,
               TLY_INVALID_ARGUMENT, "F-NAME-UTF8");
    assert_int_equal(tly_store_writer_add(w, "a", 1, &d, none, &error), TLY_INVALID_ARGUMENT);
    buffer.byte_size = 15;
    CHECK_RULE(tly_store_writer_add(w, "a", 1, &d, buffers, &error), &error, TLY_MALFORMED,
               "B-SIZE");
    buffer.byte_size = 16;
    CHECK_OK(tly_store_writer_add(w, "a", 1, &d, buffers, &error), &error);
    CHECK_RULE(tly_store_writer_add(w, "a", 1, &d, buffers, &error), &error, TLY_EXISTS,
               "F-NAME-DUP");
    assert_int_equal(tly_store_writer_append(w, data, 1, &error), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_store_writer_end(w, &error), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_store_writer_commit(w, &error), TLY_INVALID_ARGUMENT); /* 2 announced */
    CHECK_OK(tly_store_writer_begin(w, long_name, 65535, &d, &error), &error);
    assert_int_equal(tly_store_writer_begin(w, "c", 1, &d, &error), TLY_INVALID_ARGUMENT);
    CHECK_OK(tly_store_writer_append(w, data, 10, &error), &error);
    assert_int_equal(tly_store_writer_end(w, &error), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_store_writer_commit(w, &error), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_store_writer_append(w, data, 7, &error), TLY_INVALID_ARGUMENT);
    CHECK_OK(tly_store_writer_end(w, &error), &error); /* the first six of the seven were taken */
    CHECK_OK(tly_store_writer_commit(w, &error), &error);
    assert_int_equal(tly_store_writer_commit(w, &error), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_store_writer_add(w, "d", 1, &d, buffers, &error), TLY_INVALID_ARGUMENT);
    tly_store_writer_free(w);
    tly_store_writer_free(NULL);
    free(long_name);
    scratch_remove(&dir);
}

static void metadata_is_carried(void **state) {
    uint8_t numbers[24];
    tly_kv kv[4] = {
        {.key = "name", .key_len = 4, .type = TLY_KV_STRING, .data = "silero", .data_len = 6},
        {.key = "version", .key_len = 7, .type = TLY_KV_I64, .number = (uint64_t)-5},
        {.key = "quiet", .key_len = 5, .type = TLY_KV_BOOL, .number = 1},
        {.key = "list",
         .key_len = 4,
         .type = TLY_KV_ARRAY,
         .element_type = TLY_KV_U64,
         .count = 3,
         .data = numbers,
         .data_len = sizeof numbers},
    };
    tly_store_writer_options options = {.size = sizeof options, .kv = kv, .num_kv = 4};
    scratch dir;
    tly_store_writer *w;
    tly_store *store;
    tly_kv_list *list;
    tly_kv found;
    tly_kv element;
    tly_error error;
    uint64_t position = 0;
    (void)state;
    scratch_make(&dir);
    for (uint64_t i = 0; i < 3; i++) {
        tly_base_store_u64(numbers + 8 * i, 100 + i);
    }
    CHECK_OK(tly_store_writer_new(context, dir.path, &options, &w, &error), &error);
    CHECK_OK(tly_store_writer_commit(w, &error), &error);
    tly_store_writer_free(w);
    CHECK_OK(tly_store_open(context, dir.path, NULL, &store, &error), &error);
    CHECK_OK(tly_store_kv(store, &list, &error), &error);
    tly_store_free(store);
    assert_int_equal(tly_kv_list_count(list), 4);
    assert_int_equal(tly_kv_list_find(list, "name", 4, &found), TLY_OK);
    assert_memory_equal(found.data, "silero", 6);
    assert_int_equal(tly_kv_list_find(list, "version", 7, &found), TLY_OK);
    assert_int_equal((int64_t)found.number, -5);
    assert_int_equal(tly_kv_list_find(list, "list", 4, &found), TLY_OK);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(tly_kv_next(&found, &position, &element), TLY_OK);
        assert_int_equal(element.number, 100 + i);
    }
    assert_int_equal(tly_kv_next(&found, &position, &element), TLY_NOT_FOUND);
    assert_int_equal(tly_kv_list_find(list, "nam", 3, &found), TLY_NOT_FOUND);
    assert_int_equal(tly_kv_list_at(list, 4, &found), TLY_INVALID_ARGUMENT);
    tly_kv_list_free(list);
    /* The writer refuses what the reader would. */
    kv[1].key = "name";
    kv[1].key_len = 4;
    CHECK_RULE(tly_store_writer_new(context, dir.path, &options, &w, &error), &error, TLY_MALFORMED,
               "F-KV-DUP");
    kv[1].key_len = 3;
    kv[2].number = 7;
    CHECK_RULE(tly_store_writer_new(context, dir.path, &options, &w, &error), &error, TLY_MALFORMED,
               "F-KV-BOOL");
    kv[2].number = 0;
    kv[3].count = 4;
    CHECK_RULE(tly_store_writer_new(context, dir.path, &options, &w, &error), &error, TLY_MALFORMED,
               "F-KV-TRUNC");
    scratch_remove(&dir);
}

static void limits_are_kept(void **state) {
    scratch dir;
    tly_store_writer *w;
    tly_store *store;
    tly_error error;
    tly_kv kv = {
        .key = "k", .key_len = 1, .type = TLY_KV_STRING, .data = "0123456789", .data_len = 10};
    tly_store_writer_options options = {.size = sizeof options, .kv = &kv, .num_kv = 1};
    tly_buffer_info buffer;
    tly_descriptor d;
    uint8_t byte[1] = {7};
    const void *buffers[1] = {byte};
    tly_store_open_options o = {.size = sizeof o, .limits = {.size = sizeof o.limits}};
    (void)state;
    scratch_make(&dir);
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 0, NULL), TLY_OK);
    CHECK_OK(tly_store_writer_new(context, dir.path, &options, &w, &error), &error);
    CHECK_OK(tly_store_writer_add(w, "first", 5, &d, buffers, &error), &error);
    CHECK_OK(tly_store_writer_add(w, "second", 6, &d, buffers, &error), &error);
    CHECK_OK(tly_store_writer_commit(w, &error), &error);
    tly_store_writer_free(w);
    o.limits.max_tensors = 1;
    CHECK_RULE(tly_store_open(context, dir.path, &o, &store, &error), &error, TLY_LIMIT,
               "F-INDEX-COUNT");
    o.limits.max_tensors = 2;
    o.limits.max_name_len = 5;
    CHECK_RULE(tly_store_open(context, dir.path, &o, &store, &error), &error, TLY_LIMIT,
               "F-NAME-LEN");
    o.limits.max_name_len = 6;
    o.limits.max_descriptor_len = 40;
    CHECK_RULE(tly_store_open(context, dir.path, &o, &store, &error), &error, TLY_LIMIT,
               "F-DESC-LIMIT");
    o.limits.max_descriptor_len = 45;
    o.limits.max_index_len = 80;
    CHECK_RULE(tly_store_open(context, dir.path, &o, &store, &error), &error, TLY_LIMIT,
               "F-INDEX-LEN");
    o.limits.max_index_len = 0;
    o.limits.max_kv_len = 8;
    CHECK_RULE(tly_store_open(context, dir.path, &o, &store, &error), &error, TLY_LIMIT,
               "F-KV-LEN");
    o.limits.max_kv_len = 100;
    CHECK_OK(tly_store_open(context, dir.path, &o, &store, &error), &error);
    {
        uint8_t work[45 + 10];
        CHECK_RULE(tly_store_descriptor(store, 0, work, sizeof work, &d, &error), &error, TLY_LIMIT,
                   "");
        assert_int_equal(tly_store_descriptor(store, 2, work, sizeof work, &d, &error),
                         TLY_INVALID_ARGUMENT);
    }
    tly_store_free(store);
    o.flags = 2;
    assert_int_equal(tly_store_open(context, dir.path, &o, &store, &error), TLY_INVALID_ARGUMENT);
    scratch_remove(&dir);
}

static void files_that_are_none(void **state) {
    scratch dir;
    tly_store *store;
    tly_error error;
    (void)state;
    scratch_make(&dir);
    assert_int_equal(tly_store_open(context, dir.path, NULL, &store, &error), TLY_IO);
    assert_non_null(strstr(error.message, "t.hrry"));
    assert_int_equal(tly_store_open(context, dir.folder, NULL, &store, &error), TLY_IO);
    assert_int_equal(tly_store_open(context, "/dev/null", NULL, &store, &error), TLY_IO);
    assert_int_equal(mkfifo(dir.path, 0600), 0);
    assert_int_equal(tly_store_open(context, dir.path, NULL, &store, &error), TLY_IO);
    unlink(dir.path);
    scratch_write(dir.path, "", 0);
    CHECK_RULE(tly_store_open(context, dir.path, NULL, &store, &error), &error, TLY_TRUNCATED,
               "F-SIZE");
    scratch_remove(&dir);
}

/* Overlaps and padding that is not zero are found by verify; opening does not look. */
static void verify_finds_what_opening_leaves(void **state) {
    scratch dir;
    tly_store_writer *w;
    tly_store *store;
    tly_error error;
    tly_buffer_info buffer;
    tly_descriptor d;
    uint8_t byte[1] = {7};
    const void *buffers[1] = {byte};
    tly_store_entry e[2];
    uint8_t *bytes;
    size_t len;
    (void)state;
    scratch_make(&dir);
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 0, NULL), TLY_OK);
    CHECK_OK(tly_store_writer_new(context, dir.path, NULL, &w, &error), &error);
    CHECK_OK(tly_store_writer_add(w, "a", 1, &d, buffers, &error), &error);
    CHECK_OK(tly_store_writer_add(w, "b", 1, &d, buffers, &error), &error);
    CHECK_OK(tly_store_writer_commit(w, &error), &error);
    tly_store_writer_free(w);
    bytes = scratch_read(dir.path, &len);
    bytes[12] &= (uint8_t)~4u; /* no check sum */
    memset(bytes + len - 12, 0, 4);
    bytes[200] = 1;
    CHECK_OK(tly_store_open_memory(context, bytes, len, NULL, &store, &error), &error);
    CHECK_RULE(tly_store_verify(store, &error), &error, TLY_MALFORMED, "F-PADDING");
    assert_int_equal(error.offset, 200);
    assert_int_equal(tly_store_entry_at(store, 0, &e[0]), TLY_OK);
    assert_int_equal(tly_store_entry_at(store, 1, &e[1]), TLY_OK);
    bytes[200] = 0;
    /* The second tensor claims the place of the first. */
    memcpy((uint8_t *)(uintptr_t)e[1].name + 1, (const uint8_t *)e[0].name + 1, 28);
    CHECK_RULE(tly_store_verify(store, &error), &error, TLY_MALFORMED, "F-OVERLAP");
    tly_store_free(store);
    free(bytes);
    scratch_remove(&dir);
}

/* The head of a composite has no data, and nothing stands between it and its first member but what
 * descriptors are aligned to (Hurray 1.0, file-format, Composite Tensors). */
static void composites_are_written(void **state) {
    uint64_t whole[2] = {4, 6}, part[2] = {4, 3}, offsets[2][2] = {{0, 0}, {0, 3}};
    uint8_t bytes[12] = {1, 2, 3};
    const void *buffers[] = {bytes};
    tly_descriptor head = {.dtype = TLY_U8,
                           .layout = TLY_LAYOUT_COMPOSITE,
                           .rank = 2,
                           .shape = whole,
                           .composite = {.rule = 1, .member_count = 2}};
    tly_store_writer *w;
    tly_store *store;
    tly_store_entry entry, first;
    tly_error error;
    scratch s;
    (void)state;
    scratch_make(&s);
    CHECK_OK(tly_store_writer_new(context, s.path, NULL, &w, &error), &error);
    CHECK_OK(tly_store_writer_begin(w, "c", 1, &head, &error), &error);
    CHECK_RULE(tly_store_writer_append(w, bytes, 1, &error), &error, TLY_INVALID_ARGUMENT, "");
    CHECK_OK(tly_store_writer_end(w, &error), &error);
    for (int i = 0; i < 2; i++) {
        tly_shard shard = {whole, offsets[i]};
        tly_buffer_info buffer;
        tly_descriptor d;
        assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 2, part), TLY_OK);
        d.shard = &shard;
        CHECK_OK(tly_store_writer_add(w, i == 0 ? "c.0" : "c.1", 3, &d, buffers, &error), &error);
    }
    CHECK_OK(tly_store_writer_commit(w, &error), &error);
    tly_store_writer_free(w);
    CHECK_OK(tly_store_open(context, s.path, NULL, &store, &error), &error);
    CHECK_OK(tly_store_verify(store, &error), &error);
    assert_int_equal(tly_store_entry_at(store, 0, &entry), TLY_OK);
    assert_int_equal(tly_store_entry_at(store, 1, &first), TLY_OK);
    assert_int_equal(entry.data_len, 0);
    assert_int_equal(entry.data_offset, entry.descriptor_offset + entry.descriptor_len);
    assert_int_equal(first.descriptor_offset, (entry.data_offset + 7) / 8 * 8);
    tly_store_free(store);
    scratch_remove(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composites_are_written),
        cmocka_unit_test(random_containers_come_back),
        cmocka_unit_test(many_names_are_found),
        cmocka_unit_test(the_writer_refuses_misuse),
        cmocka_unit_test(metadata_is_carried),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(verify_finds_what_opening_leaves),
    };
    return cmocka_run_group_tests_name("store/writer", tests, set_up, tear_down);
}
