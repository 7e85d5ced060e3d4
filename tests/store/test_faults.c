/* SPDX-License-Identifier: Apache-2.0 */
/* The writer when the system, the memory or the process itself fails at any moment: the older file
 * stays, or the new one is there whole; nothing else is left behind. */
#include "store/scratch.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <tilery/store.h>

#include "store/writer.h"

/* --- system calls that fail on command --- */

static int calls_until_failure; /* counts down; at 0 the call fails, and every later one */
static int failure_errno;
static size_t most_at_once; /* short writes; 0: no limit */

static int fails_now(void) {
    if (calls_until_failure < 0) {
        return 0;
    }
    if (calls_until_failure == 0) {
        errno = failure_errno;
        return 1;
    }
    calls_until_failure--;
    return 0;
}

static ssize_t test_write(int fd, const void *bytes, size_t len) {
    if (fails_now()) {
        return -1;
    }
    return write(fd, bytes, most_at_once != 0 && len > most_at_once ? most_at_once : len);
}

static int test_fsync(int fd) {
    return fails_now() ? -1 : fsync(fd);
}

static int test_linkat(int a, const char *b, int c, const char *d, int flags) {
    return fails_now() ? -1 : linkat(a, b, c, d, flags);
}

static int test_renameat(int a, const char *b, int c, const char *d) {
    return fails_now() ? -1 : renameat(a, b, c, d);
}

static const tly_file_calls with_unnamed = {test_write, test_fsync, test_linkat, test_renameat, 0};
static const tly_file_calls without_unnamed = {test_write, test_fsync, test_linkat, test_renameat,
                                               1};

/* --- memory that fails on command --- */

static int allocations_until_failure;
static int64_t bytes_in_use;

static void *test_resize(void *user, void *old, size_t old_size, size_t new_size,
                         size_t alignment) {
    void *block = NULL;
    (void)user;
    if (new_size != 0) {
        if (allocations_until_failure == 0) {
            return NULL;
        }
        allocations_until_failure -= allocations_until_failure > 0;
        if (posix_memalign(&block, alignment < 8 ? 8 : alignment, new_size) != 0) {
            return NULL;
        }
        if (old != NULL) {
            memcpy(block, old, old_size < new_size ? old_size : new_size);
        }
    }
    free(old);
    bytes_in_use += (int64_t)new_size - (int64_t)old_size;
    return block;
}

static tly_context *context;

static int set_up(void **state) {
    tly_context_options options = {.size = sizeof options, .allocator = {test_resize, NULL}};
    tly_error error;
    (void)state;
    allocations_until_failure = -1;
    calls_until_failure = -1;
    return tly_context_new(&options, &context, &error) == TLY_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tly_context_free(context);
    return 0;
}

/* Writes a container whose tensors all hold `fill`. */
static tly_status write_container(const char *path, uint8_t fill, const tly_file_calls *calls,
                                  tly_error *error) {
    tly_kv kv = {.key = "k", .key_len = 1, .type = TLY_KV_STRING, .data = "value", .data_len = 5};
    tly_store_writer_options options = {.size = sizeof options, .kv = &kv, .num_kv = 1};
    uint64_t shape[2] = {300, 1000};
    static uint8_t bytes[300000];
    const void *buffers[1] = {bytes};
    tly_buffer_info buffer;
    tly_descriptor d;
    tly_store_writer *w;
    tly_status status = tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 2, shape);
    memset(bytes, fill, sizeof bytes);
    if (status == TLY_OK) {
        status = tly_store_writer_new_with(context, path, &options, calls, &w, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    for (int i = 0; i < 40 && status == TLY_OK; i++) {
        char name[64];
        int len = snprintf(name, sizeof name, "a.rather.long.name.of.a.tensor.%d", i);
        d.rank = i % 10 == 0 ? 2 : 0;
        buffer.byte_size = d.rank != 0 ? sizeof bytes : 1;
        status = tly_store_writer_add(w, name, (size_t)len, &d, buffers, error);
    }
    if (status == TLY_OK) {
        status = tly_store_writer_commit(w, error);
    }
    if (status != TLY_OK) {
        /* A broken writer stays broken. */
        tly_error again;
        assert_int_not_equal(tly_store_writer_commit(w, &again), TLY_OK);
    }
    tly_store_writer_free(w);
    return status;
}

/* The fill of a whole container at `path`; -1 when there is no file. Anything else fails the test.
 */
static int fill_of(const char *path) {
    tly_store *store;
    tly_error error;
    uint8_t byte;
    if (access(path, F_OK) != 0) {
        return -1;
    }
    CHECK_OK(tly_store_open(context, path, NULL, &store, &error), &error);
    CHECK_OK(tly_store_verify(store, &error), &error);
    assert_int_equal(tly_store_num_tensors(store), 40);
    for (uint64_t i = 0; i < 40; i++) {
        tly_store_entry e;
        uint8_t last;
        assert_int_equal(tly_store_entry_at(store, i, &e), TLY_OK);
        CHECK_OK(tly_store_read(store, i, e.data_offset + e.data_len - 1, &byte, 1, &error),
                 &error);
        CHECK_OK(tly_store_read(store, 0, ((tly_store_entry_at(store, 0, &e)), e.data_offset),
                                &last, 1, &error),
                 &error);
        assert_int_equal(byte, last);
    }
    tly_store_free(store);
    return byte;
}

static void fail_each_call(const tly_file_calls *calls, int errnum, int old_file) {
    scratch dir;
    int n = 0;
    int failed = 0;
    tly_error error;
    scratch_make(&dir);
    for (;; n++) {
        tly_status status;
        int fill;
        calls_until_failure = -1;
        scratch_count(&dir, 1);
        if (old_file) {
            CHECK_OK(write_container(dir.path, 1, calls, &error), &error);
        }
        calls_until_failure = n;
        failure_errno = errnum;
        status = write_container(dir.path, 2, calls, &error);
        calls_until_failure = -1;
        fill = fill_of(dir.path);
        assert_int_equal(scratch_count(&dir, 0), fill >= 0);
        if (status == TLY_OK) {
            assert_int_equal(fill, 2);
            break;
        }
        failed++;
        assert_int_equal(status, TLY_IO);
        assert_int_equal(error.status, TLY_IO);
        /* Only the synchronisation of the folder comes after the file is in place. */
        if (fill == 2) {
            assert_non_null(strstr(error.message, "folder"));
        } else {
            assert_int_equal(fill, old_file ? 1 : -1);
        }
    }
    assert_true(failed >= 10);
    scratch_remove(&dir);
}

static void every_failing_call_keeps_the_old_file(void **state) {
    (void)state;
    fail_each_call(&with_unnamed, ENOSPC, 1);
    fail_each_call(&with_unnamed, EIO, 0);
    fail_each_call(&without_unnamed, EDQUOT, 1);
    fail_each_call(&without_unnamed, ENOSPC, 0);
}

static void short_writes_are_continued(void **state) {
    scratch dir;
    tly_error error;
    (void)state;
    scratch_make(&dir);
    most_at_once = 1000;
    CHECK_OK(write_container(dir.path, 9, &with_unnamed, &error), &error);
    most_at_once = 0;
    assert_int_equal(fill_of(dir.path), 9);
    scratch_remove(&dir);
}

static void a_full_disk_is_an_error(void **state) {
    scratch dir;
    struct rlimit old;
    struct rlimit small;
    tly_error error;
    tly_status status;
    (void)state;
    scratch_make(&dir);
    CHECK_OK(write_container(dir.path, 1, &tly_file_system_calls, &error), &error);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (rlim_t limit = 0; limit < 1300000; limit += 97777) {
        small = (struct rlimit){limit, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        status = write_container(dir.path, 2, &tly_file_system_calls, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(status, TLY_IO);
        assert_int_equal(scratch_count(&dir, 0), 1);
        assert_int_equal(fill_of(dir.path), 1);
    }
    signal(SIGXFSZ, SIG_DFL);
    scratch_remove(&dir);
}

static void every_failing_allocation_is_an_error(void **state) {
    scratch dir;
    tly_error error;
    int64_t before = bytes_in_use;
    int failed = 0;
    (void)state;
    scratch_make(&dir);
    for (int n = 0;; n++) {
        tly_status status;
        allocations_until_failure = n;
        status = write_container(dir.path, 3, &tly_file_system_calls, &error);
        allocations_until_failure = -1;
        assert_int_equal(bytes_in_use, before);
        if (status == TLY_OK) {
            break;
        }
        assert_int_equal(status, TLY_OUT_OF_MEMORY);
        assert_int_equal(scratch_count(&dir, 0), 0);
        failed++;
    }
    assert_true(failed > 40);
    for (int n = 0;; n++) {
        tly_store *store;
        tly_status status;
        allocations_until_failure = n;
        status = tly_store_open(context, dir.path, NULL, &store, &error);
        if (status == TLY_OK) {
            status = tly_store_verify(store, &error);
            tly_store_free(store);
        }
        allocations_until_failure = -1;
        assert_int_equal(bytes_in_use, before);
        if (status == TLY_OK) {
            break;
        }
        assert_int_equal(status, TLY_OUT_OF_MEMORY);
    }
    scratch_remove(&dir);
}

static void a_killed_writer_leaves_the_old_file_or_the_new(void **state) {
    scratch dir;
    tly_error error;
    check_rng rng = {9};
    int old = 0;
    int new = 0;
    (void)state;
    print_message("# seed 9\n");
    scratch_make(&dir);
    for (int round = 0; round < 60; round++) {
        int fill;
        int status;
        pid_t child;
        scratch_count(&dir, 1);
        CHECK_OK(write_container(dir.path, 1, &tly_file_system_calls, &error), &error);
        child = fork();
        if (child == 0) {
            write_container(dir.path, 2, &tly_file_system_calls, &error);
            _exit(0);
        }
        usleep((useconds_t)check_below(&rng, 12000));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        fill = fill_of(dir.path);
        assert_true(fill == 1 || fill == 2);
        old += fill == 1;
        new += fill == 2;
        /* At most a hidden file between its two last steps. */
        assert_true(scratch_count(&dir, 0) <= 2);
    }
    print_message("# killed 60 times: %d old files, %d new ones\n", old, new);
    scratch_remove(&dir);
}

static void an_abandoned_writer_leaves_nothing(void **state) {
    scratch dir;
    (void)state;
    scratch_make(&dir);
    for (int unnamed = 0; unnamed < 2; unnamed++) {
        tly_store_writer *w;
        tly_error error;
        CHECK_OK(tly_store_writer_new_with(context, dir.path, NULL,
                                           unnamed ? &with_unnamed : &without_unnamed, &w, &error),
                 &error);
        assert_true(access(dir.path, F_OK) != 0);
        tly_store_writer_free(w);
        assert_int_equal(scratch_count(&dir, 0), 0);
    }
    scratch_remove(&dir);
}

static void permissions_and_links_are_kept(void **state) {
    scratch dir;
    char link_path[160];
    struct stat info;
    tly_error error;
    tly_store_writer *w;
    (void)state;
    scratch_make(&dir);
    scratch_write(dir.path, "old", 3);
    assert_int_equal(chmod(dir.path, 0640), 0);
    snprintf(link_path, sizeof link_path, "%s/link.hrry", dir.folder);
    assert_int_equal(symlink("t.hrry", link_path), 0);
    CHECK_OK(write_container(link_path, 5, &tly_file_system_calls, &error), &error);
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(dir.path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_int_equal(fill_of(dir.path), 5);
    /* What is not a regular file is not replaced. */
    assert_int_equal(tly_store_writer_new(context, dir.folder, NULL, &w, &error), TLY_IO);
    assert_int_equal(tly_store_writer_new(context, "/dev/full", NULL, &w, &error), TLY_IO);
    assert_int_equal(tly_store_writer_new(context, "/nowhere/at/all", NULL, &w, &error), TLY_IO);
    assert_int_equal(tly_store_writer_new(context, "", NULL, &w, &error), TLY_IO);
    assert_int_equal(tly_store_writer_new(context, "/tmp/", NULL, &w, &error), TLY_IO);
    scratch_remove(&dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_call_keeps_the_old_file),
        cmocka_unit_test(short_writes_are_continued),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(every_failing_allocation_is_an_error),
        cmocka_unit_test(a_killed_writer_leaves_the_old_file_or_the_new),
        cmocka_unit_test(an_abandoned_writer_leaves_nothing),
        cmocka_unit_test(permissions_and_links_are_kept),
    };
    return cmocka_run_group_tests_name("store/faults", tests, set_up, tear_down);
}
