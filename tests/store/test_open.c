/* SPDX-License-Identifier: Apache-2.0 */
/* What opening costs: the index and nothing else, however many tensors and however much data; and
 * memory that fails at any moment. */
#include "store/scratch.h"
#include "vectors.h"

#include <tilery/store.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "failing.h"

#define NUM_TENSORS 100000
#define STEP        (UINT64_C(4) << 20) /* bytes of a tensor's data, of which none are there */

/* Bytes that this process has read by system calls; 0 where the system does not say. */
static uint64_t bytes_read(void) {
    unsigned long long value = 0;
    FILE *file = fopen("/proc/self/io", "r");
    if (file != NULL) {
        if (fscanf(file, "rchar: %llu", &value) != 1) {
            value = 0;
        }
        fclose(file);
    }
    return value;
}

/* A file of 400 GB with nothing on the disk but header, index and trailer. */
static uint64_t make_large(const char *path) {
    const uint64_t index_at = STEP * (NUM_TENSORS + 1);
    const size_t entry_len = 2 + 12 + 32;
    const size_t len = 8 + NUM_TENSORS * entry_len;
    uint8_t header[64] = {'H', 'R', 'R', 'Y', 'F', 'I', 'L', 'E', 1, 0};
    uint8_t trailer[40] = {0};
    uint8_t *index = calloc(1, len);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    tly_base_store_u32(header + 12, 2 | 4); /* sorted, with a check sum */
    tly_base_store_u32(header + 16, 4096);
    tly_base_store_u64(header + 20, STEP);
    tly_base_store_u64(header + 28, NUM_TENSORS);
    tly_base_store_u64(index, NUM_TENSORS);
    for (uint64_t i = 0; i < NUM_TENSORS; i++) {
        uint8_t *e = index + 8 + i * entry_len;
        char name[16];
        snprintf(name, sizeof name, "tensor%06llu", (unsigned long long)i);
        tly_base_store_u16(e, 12);
        memcpy(e + 2, name, 12);
        tly_base_store_u64(e + 14, STEP * (i + 1));
        tly_base_store_u32(e + 22, 53);
        tly_base_store_u64(e + 26, STEP * (i + 1) + 4096);
        tly_base_store_u64(e + 34, STEP - 8192);
    }
    tly_base_store_u64(trailer, index_at);
    tly_base_store_u64(trailer + 8, len);
    tly_base_store_u32(trailer + 28, tly_base_crc32c(0, index, len));
    memcpy(trailer + 36, "HRRY", 4);
    if (ftruncate(fd, (off_t)index_at) != 0) {
        close(fd);
        free(index);
        return 0;
    }
    assert_int_equal(pwrite(fd, header, sizeof header, 0), sizeof header);
    assert_int_equal(pwrite(fd, index, len, (off_t)index_at), (ssize_t)len);
    assert_int_equal(pwrite(fd, trailer, sizeof trailer, (off_t)(index_at + len)), sizeof trailer);
    close(fd);
    free(index);
    return len;
}

static void many_tensors_cost_their_index(void **state) {
    failing f;
    tly_context *context = failing_context(&f);
    scratch s;
    tly_store *store;
    tly_store_entry entry;
    tly_error error;
    uint64_t index_len, before, after, found;
    (void)state;
    scratch_make(&s);
    index_len = make_large(s.path);
    if (index_len == 0) {
        print_message("# skip: no file of 400 GB can be made in /tmp, even without contents\n");
        scratch_remove(&s);
        tly_context_free(context);
        skip();
    }
    before = bytes_read();
    CHECK_OK(tly_store_open(context, s.path, NULL, &store, &error), &error);
    after = bytes_read();
    assert_int_equal(tly_store_num_tensors(store), NUM_TENSORS);
    assert_true(after - before < index_len + 4096);
    assert_true(f.live < 3 * index_len);
    assert_int_equal(tly_store_find(store, "tensor077777", 12, &found), TLY_OK);
    assert_int_equal(tly_store_entry_at(store, found, &entry), TLY_OK);
    assert_int_equal(entry.descriptor_offset, STEP * 77778);
    tly_store_free(store);
    scratch_remove(&s);
    tly_context_free(context);
}

static tly_status read_everything(const tly_context *context, const uint8_t *bytes, size_t len,
                                  tly_error *error) {
    static uint64_t work[TLY_STORE_WORK_LEN / 8];
    tly_store *store;
    tly_kv_list *kv = NULL;
    tly_status status = tly_store_open_memory(context, bytes, len, NULL, &store, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_store_kv(store, &kv, error);
    tly_kv_list_free(status == TLY_OK ? kv : NULL);
    for (uint64_t i = 0; status == TLY_OK && i < tly_store_num_tensors(store); i++) {
        tly_descriptor d;
        status = tly_store_descriptor(store, i, work, sizeof work, &d, error);
    }
    status = status == TLY_OK ? tly_store_verify(store, error) : status;
    tly_store_free(store);
    return status;
}

/* Every allocation fails once, for every file of the format. */
static void allocations_that_fail(void **state) {
    failing f;
    tly_context *context = failing_context(&f);
    size_t before = f.live;
    int files = 0;
    (void)state;
    for (int number = 1; number <= 64; number++) {
        char path[64];
        check_vectors v;
        size_t at = 0;
        tly_status status;
        snprintf(path, sizeof path, "tests/vectors/hurray/files/f%03d.hrry.gz", number);
        if (access(path, R_OK) != 0) {
            continue;
        }
        v = check_vectors_open(path);
        do {
            tly_error error = {0};
            f.calls = 0;
            f.fail_at = ++at;
            status = read_everything(context, (const uint8_t *)v.text, v.len, &error);
            assert_true(status == TLY_OK || status == TLY_OUT_OF_MEMORY);
            assert_true(status == TLY_OK || error.message[0] != '\0');
            assert_int_equal(f.live, before);
        } while (status != TLY_OK);
        assert_true(at > 2);
        files++;
        check_vectors_close(&v);
    }
    f.fail_at = 0;
    assert_int_equal(files, 53);
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_tensors_cost_their_index),
        cmocka_unit_test(allocations_that_fail),
    };
    return cmocka_run_group_tests_name("store/open", tests, NULL, NULL);
}
