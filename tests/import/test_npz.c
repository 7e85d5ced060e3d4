/* SPDX-License-Identifier: Apache-2.0 */
/* npz: archives built here with zlib, member by member, and broken in every way that matters. */
#include "import_test.h"

#include <zlib.h>

/* What makes a member. Zero means: as it should be. */
typedef struct part {
    const char *name;
    const char *dictionary;
    size_t data_len;
    int packed;       /* deflate */
    int zip64;        /* sizes in the extra field */
    uint32_t flags;   /* of the directory's record */
    uint16_t method;  /* other than the true one */
    uint32_t crc_xor; /* spoils the check sum */
    int late_name;    /* the local header has another name */
} part;

static uint8_t byte_of(size_t i) {
    return (uint8_t)(i % 251);
}

static void put16(blob *b, uint32_t v) {
    uint8_t bytes[2];
    tly_base_store_u16(bytes, (uint16_t)v);
    blob_put(b, bytes, 2);
}

static void put32(blob *b, uint32_t v) {
    uint8_t bytes[4];
    tly_base_store_u32(bytes, v);
    blob_put(b, bytes, 4);
}

static void put64(blob *b, uint64_t v) {
    uint8_t bytes[8];
    tly_base_store_u64(bytes, v);
    blob_put(b, bytes, 8);
}

static blob npy_of(const part *p) {
    blob b = {NULL, 0};
    blob_put(&b, "\223NUMPY\1\0", 8);
    put16(&b, (uint32_t)strlen(p->dictionary));
    blob_text(&b, p->dictionary);
    b.bytes = realloc(b.bytes, b.len + p->data_len + 1);
    for (size_t i = 0; i < p->data_len; i++) {
        b.bytes[b.len++] = byte_of(i);
    }
    return b;
}

static blob deflated(const blob *plain) {
    blob out = {malloc(compressBound(plain->len) + 64), 0};
    z_stream z = {0};
    z.next_in = plain->bytes;
    z.avail_in = (unsigned)plain->len;
    z.next_out = out.bytes;
    z.avail_out = (unsigned)compressBound(plain->len) + 64;
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.len = z.total_out;
    deflateEnd(&z);
    return out;
}

static void put_extra(blob *b, uint64_t len, uint64_t packed_len) {
    put16(b, 1);
    put16(b, 16);
    put64(b, len);
    put64(b, packed_len);
}

/* `version 20, time 0`: nobody looks at them. */
static void put_fields(blob *b, const part *p, const blob *plain, const blob *packed) {
    put16(b, p->flags);
    put16(b, p->method != 0 ? p->method : p->packed ? 8 : 0);
    put32(b, 0);
    put32(b, (uint32_t)crc32(0, plain->bytes, (unsigned)plain->len) ^ p->crc_xor);
    put32(b, p->zip64 ? 0xFFFFFFFF : (uint32_t)packed->len);
    put32(b, p->zip64 ? 0xFFFFFFFF : (uint32_t)plain->len);
    put16(b, (uint32_t)strlen(p->name));
    put16(b, p->zip64 ? 20 : 0);
}

/* The archive; with `end64` the place of the directory stands in a record of 64 bits. */
static blob archive(const part *parts, size_t num, int end64, const char *comment) {
    blob b = {NULL, 0}, directory = {NULL, 0};
    uint64_t at;
    for (size_t i = 0; i < num; i++) {
        const part *p = &parts[i];
        blob plain = npy_of(p);
        blob packed = p->packed ? deflated(&plain) : (blob){NULL, 0};
        const blob *bytes = p->packed ? &packed : &plain;
        uint64_t local_at = b.len;
        blob_put(&b, "PK\3\4\24\0", 6);
        put_fields(&b, p, &plain, bytes);
        if (p->late_name) {
            for (size_t k = 0; k < strlen(p->name); k++) {
                blob_text(&b, "x");
            }
        } else {
            blob_text(&b, p->name);
        }
        if (p->zip64) {
            put_extra(&b, plain.len, bytes->len);
        }
        blob_put(&b, bytes->bytes, bytes->len);
        blob_put(&directory, "PK\1\2\24\0\24\0", 8);
        put_fields(&directory, p, &plain, bytes);
        put16(&directory, 0); /* comment */
        put16(&directory, 0); /* part */
        put16(&directory, 0);
        put32(&directory, 0);
        put32(&directory, (uint32_t)local_at);
        blob_text(&directory, p->name);
        if (p->zip64) {
            put_extra(&directory, plain.len, bytes->len);
        }
        blob_free(&plain);
        blob_free(&packed);
    }
    at = b.len;
    blob_put(&b, directory.bytes, directory.len);
    if (end64) {
        uint64_t record_at = b.len;
        blob_put(&b, "PK\6\6", 4);
        put64(&b, 44);
        put32(&b, 0x002D002D);
        put64(&b, 0); /* parts */
        put64(&b, num);
        put64(&b, num);
        put64(&b, directory.len);
        put64(&b, at);
        blob_put(&b, "PK\6\7\0\0\0\0", 8);
        put64(&b, record_at);
        put32(&b, 1);
    }
    blob_put(&b, "PK\5\6\0\0\0\0", 8);
    put16(&b, end64 ? 0xFFFF : (uint32_t)num);
    put16(&b, end64 ? 0xFFFF : (uint32_t)num);
    put32(&b, end64 ? 0xFFFFFFFF : (uint32_t)directory.len);
    put32(&b, end64 ? 0xFFFFFFFF : (uint32_t)at);
    put16(&b, (uint32_t)strlen(comment));
    blob_text(&b, comment);
    blob_free(&directory);
    return b;
}

#define F4  "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n"
#define U1  "{'descr': '|u1', 'fortran_order': True, 'shape': (100, 3000), }     \n"
#define BIG "{'descr': '>i2', 'fortran_order': False, 'shape': (4,), }            \n"

static void members_of_all_kinds(void **state) {
    static const part parts[] = {
        {.name = "a.npy", .dictionary = F4, .data_len = 24},
        {.name = "b/c.npy", .dictionary = F4, .data_len = 24, .packed = 1},
        {.name = "large.npy", .dictionary = U1, .data_len = 300000, .packed = 1},
        {.name = "big.npy", .dictionary = BIG, .data_len = 8, .packed = 1, .zip64 = 1}};
    static uint8_t counting[300000], swapped[8];
    tly_context *context = plain_context();
    (void)state;
    for (size_t i = 0; i < sizeof counting; i++) {
        counting[i] = byte_of(i);
        if (i < 8) {
            swapped[i] = byte_of(i ^ 1);
        }
    }
    for (int end64 = 0; end64 < 2; end64++) {
        blob b = archive(parts, 4, end64, end64 ? "a comment PK\5\6 and more of it........." : "");
        tly_import *import = must_open(context, &b, "x.npz", NULL);
        tly_import_tensor info;
        assert_int_equal(tly_import_format_of(import), TLY_IMPORT_NPZ);
        assert_int_equal(tly_import_num_tensors(import), 4);
        must_hold(import, "a", TLY_F32, "2,3", counting, 24);
        must_hold(import, "b/c", TLY_F32, "2,3", counting, 24);
        must_hold(import, "large", TLY_U8, "100,3000", counting, sizeof counting);
        must_hold(import, "big", TLY_I16, "4", swapped, 8);
        tly_import_info(import, 0, &info);
        assert_int_equal(info.viewable, 1); /* stored as it is */
        tly_import_info(import, 2, &info);
        assert_int_equal(info.viewable, 0);
        assert_int_equal(info.layout, TLY_LAYOUT_COL_MAJOR);
        tly_import_free(import);
        blob_free(&b);
    }
    tly_context_free(context);
}

static void what_is_no_array_is_named(void **state) {
    static const part parts[] = {
        {.name = "folder/", .dictionary = "", .data_len = 0},
        {.name = "data.pkl", .dictionary = F4, .data_len = 24},
        {.name = "s.npy", .dictionary = F4, .data_len = 24, .flags = 1},
        {.name = "m.npy", .dictionary = F4, .data_len = 24, .method = 93},
        {.name = "text.npy",
         .dictionary = "{'descr': '<U3', 'fortran_order': False, 'shape': (), }",
         .data_len = 12},
        {.name = "good.npy", .dictionary = F4, .data_len = 24},
    };
    static const char *const reasons[] = {"no array", "no array", "encrypted", "packed", "text"};
    tly_context *context = plain_context();
    tly_import_options options = skipping();
    blob b = archive(parts, 6, 0, "");
    tly_import *import = must_open(context, &b, "x.npz", &options);
    (void)state;
    assert_int_equal(tly_import_num_tensors(import), 1);
    assert_int_equal(tly_import_num_skipped(import), 5);
    for (uint64_t i = 0; i < 5; i++) {
        tly_import_skip skip;
        assert_int_equal(tly_import_skipped(import, i, &skip), TLY_OK);
        if (strstr(skip.reason, reasons[i]) == NULL) {
            fail_msg("%s: %s", skip.name, skip.reason);
        }
    }
    tly_import_free(import);
    must_refuse(context, &b, NULL, TLY_UNSUPPORTED, "zip-member");
    tly_context_free(context);
}

static void refuse_parts(const part *parts, size_t num, tly_status status, const char *rule) {
    tly_context *context = plain_context();
    blob b = archive(parts, num, 0, "");
    must_refuse(context, &b, NULL, status, rule);
    tly_context_free(context);
}

static void headers_must_agree(void **state) {
    part p = {.name = "a.npy", .dictionary = F4, .data_len = 24};
    part same[2];
    (void)state;
    p.late_name = 1;
    refuse_parts(&p, 1, TLY_MALFORMED, "zip-directory");
    p.late_name = 0;
    p.data_len = 25;
    refuse_parts(&p, 1, TLY_MALFORMED, "trailing-bytes");
    p.data_len = 23;
    refuse_parts(&p, 1, TLY_TRUNCATED, "data-len");
    p.data_len = 24;
    same[0] = same[1] = p;
    refuse_parts(same, 2, TLY_MALFORMED, "duplicate-name");
    {
        tly_context *context = plain_context();
        blob b = archive(&p, 1, 0, "");
        b.bytes[0] = 'X';
        must_refuse(
            context, &b,
            &(tly_import_options){.size = sizeof(tly_import_options), .format = TLY_IMPORT_NPZ},
            TLY_MALFORMED, "zip-directory");
        b = archive(&p, 1, 0, "");
        b.len -= 1;
        must_refuse(context, &b, NULL, TLY_TRUNCATED, "zip-end");
        tly_context_free(context);
    }
}

/* Two records of the directory that lead to one member. */
static void overlaps_are_refused(void **state) {
    static const part parts[] = {{.name = "a.npy", .dictionary = F4, .data_len = 24},
                                 {.name = "b.npy", .dictionary = F4, .data_len = 24}};
    tly_context *context = plain_context();
    blob b = archive(parts, 2, 0, "");
    uint32_t directory_at = tly_base_load_u32(b.bytes + b.len - 6);
    uint8_t *second = b.bytes + directory_at + 46 + 5;
    (void)state;
    memcpy(second + 46, "a.npy", 5);
    tly_base_store_u32(second + 42, 0);
    must_refuse(context, &b, NULL, TLY_MALFORMED, "zip-overlap");
    tly_context_free(context);
}

static tly_status read_first(const blob *b, tly_error *error) {
    tly_context *context = plain_context();
    tly_import *import = must_open(context, b, "x.npz", NULL);
    static uint8_t data[300000];
    tly_import_tensor info;
    tly_status status;
    tly_import_info(import, 0, &info);
    status = tly_import_read(import, 0, data, info.byte_len, error);
    tly_import_free(import);
    tly_context_free(context);
    return status;
}

static void damage_is_found_when_it_is_read(void **state) {
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        part p = {
            .name = "a.npy", .dictionary = U1, .data_len = 300000, .packed = packed, .crc_xor = 1};
        blob b = archive(&p, 1, 0, "");
        tly_error error;
        CHECK_RULE(read_first(&b, &error), &error, TLY_MALFORMED, "zip-crc32");
        blob_free(&b);
        p.crc_xor = 0;
        b = archive(&p, 1, 0, "");
        CHECK_OK(read_first(&b, &error), &error);
        b.bytes[400] ^= 1;
        assert_int_equal(read_first(&b, &error), TLY_MALFORMED);
        assert_true(strcmp(error.rule, "zip-crc32") == 0 || strcmp(error.rule, "deflate") == 0);
        blob_free(&b);
    }
}

/* A member whose directory announces less or more than it unpacks to. */
static void lengths_must_be_true(void **state) {
    (void)state;
    for (int more = 0; more < 2; more++) {
        static const char *const dictionaries[] = {
            "{'descr': '|u1', 'fortran_order': True, 'shape': (100, 2999), }     \n",
            "{'descr': '|u1', 'fortran_order': True, 'shape': (100, 3001), }     \n"};
        part p = {
            .name = "a.npy", .dictionary = dictionaries[more], .data_len = 300000, .packed = 1};
        blob b = archive(&p, 1, 0, "");
        uint32_t directory_at = tly_base_load_u32(b.bytes + b.len - 6);
        uint8_t *len = b.bytes + directory_at + 24;
        tly_error error;
        tly_base_store_u32(len, more ? tly_base_load_u32(len) + 100 : tly_base_load_u32(len) - 100);
        assert_int_equal(read_first(&b, &error), TLY_MALFORMED);
        assert_string_equal(error.rule, "deflate");
        blob_free(&b);
    }
}

/* 4 MiB of blanks pack to 4 KiB; as a header they are not unpacked into memory. */
static void bombs_take_no_memory(void **state) {
    failing f;
    tly_context *context = failing_context(&f);
    blob plain = {NULL, 0}, packed;
    part p = {.name = "a.npy", .dictionary = F4, .data_len = 24, .packed = 1};
    blob b = archive(&p, 1, 0, "");
    (void)state;
    blob_put(&plain, "\223NUMPY\2\0\0\0\x40\0", 12);
    plain.bytes = realloc(plain.bytes, plain.len + (1 << 22));
    memset(plain.bytes + plain.len, ' ', 1 << 22);
    plain.len += 1 << 22;
    packed = deflated(&plain);
    {
        blob bomb = {NULL, 0};
        size_t head = 30 + 5;
        uint32_t old_at = tly_base_load_u32(b.bytes + b.len - 6);
        blob_put(&bomb, b.bytes, head);
        blob_put(&bomb, packed.bytes, packed.len);
        blob_put(&bomb, b.bytes + old_at, b.len - old_at);
        tly_base_store_u32(bomb.bytes + bomb.len - 6, (uint32_t)(head + packed.len));
        tly_base_store_u32(bomb.bytes + head + packed.len + 20, (uint32_t)packed.len);
        tly_base_store_u32(bomb.bytes + head + packed.len + 24, (uint32_t)plain.len);
        must_refuse(context, &bomb, NULL, TLY_LIMIT, "header-len");
    }
    assert_true(f.largest < 200000);
    blob_free(&packed);
    blob_free(&plain);
    blob_free(&b);
    tly_context_free(context);
}

static void mutations_and_failing_memory(void **state) {
    static const part parts[] = {
        {.name = "a.npy", .dictionary = F4, .data_len = 24},
        {.name = "b.npy", .dictionary = BIG, .data_len = 8, .packed = 1, .zip64 = 1}};
    (void)state;
    for (int end64 = 0; end64 < 2; end64++) {
        blob b = archive(parts, 2, end64, "");
        must_survive_mutations(&b, 50, 4000);
        must_survive_failing_memory(&b);
        blob_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_all_kinds),
        cmocka_unit_test(what_is_no_array_is_named),
        cmocka_unit_test(headers_must_agree),
        cmocka_unit_test(overlaps_are_refused),
        cmocka_unit_test(damage_is_found_when_it_is_read),
        cmocka_unit_test(lengths_must_be_true),
        cmocka_unit_test(bombs_take_no_memory),
        cmocka_unit_test(mutations_and_failing_memory),
    };
    return cmocka_run_group_tests_name("import/npz", tests, NULL, NULL);
}
