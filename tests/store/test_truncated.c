/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is cut short while it is open gives errors, never a dead process. */
#include "store/scratch.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <tilery/store.h>

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

#define NUM_BYTES ((uint64_t)1 << 20)

/* A container with one tensor of 1 MiB, every byte 0x5A. */
static void write_big(const scratch *dir) {
    tly_store_writer *w;
    tly_error error;
    uint64_t shape[1] = {NUM_BYTES};
    tly_buffer_info buffer;
    tly_descriptor d;
    uint8_t *bytes = malloc(NUM_BYTES);
    const void *buffers[1] = {bytes};
    memset(bytes, 0x5A, NUM_BYTES);
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 1, shape), TLY_OK);
    CHECK_OK(tly_store_writer_new(context, dir->path, NULL, &w, &error), &error);
    CHECK_OK(tly_store_writer_add(w, "big", 3, &d, buffers, &error), &error);
    CHECK_OK(tly_store_writer_commit(w, &error), &error);
    tly_store_writer_free(w);
    free(bytes);
}

static tly_store *open_big(const scratch *dir, uint64_t *out_offset) {
    tly_store *store;
    tly_error error;
    tly_store_entry e;
    CHECK_OK(tly_store_open(context, dir->path, NULL, &store, &error), &error);
    assert_int_equal(tly_store_entry_at(store, 0, &e), TLY_OK);
    *out_offset = e.data_offset;
    return store;
}

static uint64_t sum_of(const uint8_t *bytes, uint64_t len) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < len; i++) {
        sum += bytes[i];
    }
    return sum;
}

/* What ends a child that touches a hole: its exit code, or minus the signal. */
static int child_outcome(void (*body)(const scratch *dir), const scratch *dir) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGBUS, SIG_DFL); /* a sanitizer may have put its own there */
        body(dir);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static const volatile uint8_t *touched;

static void compare_address(int number, siginfo_t *info, void *machine) {
    (void)number;
    (void)machine;
    _exit((uintptr_t)info->si_addr / 4096 == (uintptr_t)touched / 4096 ? 50 : 51);
}

static void *touch(void *unused) {
    (void)*touched;
    return unused;
}

static void touch_in_a_thread(const scratch *dir) {
    struct sigaction action = {.sa_sigaction = compare_address, .sa_flags = SA_SIGINFO};
    int fd = open(dir->path, O_RDWR);
    pthread_t thread;
    touched = (volatile uint8_t *)mmap(NULL, 65536, PROT_READ, MAP_SHARED, fd, 0) + 20001;
    sigaction(SIGBUS, &action, NULL);
    if (ftruncate(fd, 0) == 0 && pthread_create(&thread, NULL, touch, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}

/* Some emulators of other processors say a wrong address in siginfo. */
static void skip_where_fault_addresses_are_wrong(const scratch *dir) {
    static const uint8_t bytes[65536];
    int outcome;
    scratch_write(dir->path, bytes, sizeof bytes);
    outcome = child_outcome(touch_in_a_thread, dir);
    if (outcome == 51) {
        print_message(
            "# SKIP the system gives wrong addresses of faults: run this on a real one\n");
        scratch_remove((scratch *)(uintptr_t)dir);
        skip();
    }
    assert_int_equal(outcome, 50);
}

static void a_whole_file_is_seen_whole(void **state) {
    scratch dir;
    tly_store *store;
    tly_store_guard guard;
    tly_error error;
    uint64_t offset;
    const void *view;
    (void)state;
    scratch_make(&dir);
    write_big(&dir);
    store = open_big(&dir, &offset);
    tly_store_guard_begin(store, &guard);
    CHECK_OK(tly_store_view(store, 0, offset, NUM_BYTES, &view, &error), &error);
    assert_int_equal(sum_of(view, NUM_BYTES), NUM_BYTES * 0x5A);
    CHECK_OK(tly_store_guard_end(&guard, &error), &error);
    assert_true(tly_store_intact(store));
    tly_store_free(store);
    scratch_remove(&dir);
}

static void a_cut_file_is_an_error(void **state) {
    scratch dir;
    tly_store *store;
    tly_store *other;
    tly_store_guard guard;
    tly_store_guard inner;
    tly_error error;
    uint64_t offset;
    const void *view;
    uint8_t *copy;
    (void)state;
    scratch_make(&dir);
    skip_where_fault_addresses_are_wrong(&dir);
    copy = malloc(NUM_BYTES);
    write_big(&dir);
    store = open_big(&dir, &offset);
    other = open_big(&dir, &offset);
    CHECK_OK(tly_store_view(store, 0, offset, NUM_BYTES, &view, &error), &error);
    assert_int_equal(truncate(dir.path, (off_t)offset + 8192), 0);
    /* Guards may nest and end in any order; only the store that was touched is marked. */
    tly_store_guard_begin(store, &guard);
    tly_store_guard_begin(other, &inner);
    assert_int_equal(sum_of(view, NUM_BYTES), 8192 * 0x5A);
    CHECK_RULE(tly_store_guard_end(&guard, &error), &error, TLY_TRUNCATED, "F-SHRUNK");
    CHECK_OK(tly_store_guard_end(&inner, &error), &error);
    assert_false(tly_store_intact(store));
    assert_true(tly_store_intact(other));
    CHECK_RULE(tly_store_view(store, 0, offset, 1, &view, &error), &error, TLY_TRUNCATED,
               "F-SHRUNK");
    /* Copies say the truth in either case. */
    CHECK_RULE(tly_store_read(other, 0, offset, copy, NUM_BYTES, &error), &error, TLY_TRUNCATED,
               "F-SHRUNK");
    CHECK_OK(tly_store_read(store, 0, offset, copy, 8192, &error), &error);
    assert_int_equal(sum_of(copy, 8192), 8192 * 0x5A);
    tly_store_free(store);
    tly_store_free(other);
    free(copy);
    scratch_remove(&dir);
}

static void an_unmapped_file_has_no_views(void **state) {
    scratch dir;
    tly_store_open_options options = {.size = sizeof options, .flags = TLY_STORE_OPEN_NO_MAP};
    tly_store *store;
    tly_error error;
    tly_store_entry e;
    const void *view;
    uint8_t byte;
    (void)state;
    scratch_make(&dir);
    write_big(&dir);
    CHECK_OK(tly_store_open(context, dir.path, &options, &store, &error), &error);
    assert_int_equal(tly_store_entry_at(store, 0, &e), TLY_OK);
    assert_int_equal(tly_store_view(store, 0, e.data_offset, 1, &view, &error), TLY_UNSUPPORTED);
    CHECK_OK(tly_store_read(store, 0, e.data_offset, &byte, 1, &error), &error);
    assert_int_equal(byte, 0x5A);
    assert_int_equal(truncate(dir.path, 100), 0);
    CHECK_RULE(tly_store_read(store, 0, e.data_offset, &byte, 1, &error), &error, TLY_TRUNCATED,
               "F-SHRUNK");
    tly_store_free(store);
    scratch_remove(&dir);
}

typedef struct reader {
    const tly_store *store;
    const uint8_t *view;
    int verdicts[2]; /* OK, TRUNCATED */
} reader;

static void *read_often(void *argument) {
    reader *r = argument;
    for (int i = 0; i < 50; i++) {
        tly_store_guard guard;
        tly_status status;
        uint64_t sum;
        tly_store_guard_begin(r->store, &guard);
        sum = sum_of(r->view, NUM_BYTES);
        status = tly_store_guard_end(&guard, NULL);
        /* Zeros are never passed off as data. */
        if (status == TLY_OK && sum != NUM_BYTES * 0x5A) {
            return argument;
        }
        r->verdicts[status == TLY_OK ? 0 : 1]++;
    }
    return NULL;
}

static void threads_meet_the_hole_together(void **state) {
    scratch dir;
    tly_store *store;
    tly_error error;
    uint64_t offset;
    const void *view;
    pthread_t threads[4];
    reader readers[4];
    (void)state;
    scratch_make(&dir);
    skip_where_fault_addresses_are_wrong(&dir);
    write_big(&dir);
    store = open_big(&dir, &offset);
    CHECK_OK(tly_store_view(store, 0, offset, NUM_BYTES, &view, &error), &error);
    for (int i = 0; i < 4; i++) {
        readers[i] = (reader){store, view, {0, 0}};
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, &readers[i]), 0);
    }
    usleep(2000);
    assert_int_equal(truncate(dir.path, (off_t)offset + 4096), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
        assert_int_equal(readers[i].verdicts[0] + readers[i].verdicts[1], 50);
    }
    assert_int_equal(sum_of(view, 4096), 4096 * 0x5A);
    tly_store_free(store);
    scratch_remove(&dir);
}

/* Makes a mapping of our own with a hole and touches it. */
static void touch_a_hole_of_our_own(const scratch *dir) {
    int fd = open(dir->path, O_RDWR);
    volatile uint8_t *bytes = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
    if (ftruncate(fd, 0) == 0) {
        (void)bytes[4096];
    }
}

static void touch_without_a_guard(const scratch *dir) {
    tly_store *store;
    tly_store_guard guard;
    uint64_t offset;
    store = open_big(dir, &offset);
    tly_store_guard_begin(store, &guard); /* the handler is installed, and stays */
    tly_store_guard_end(&guard, NULL);
    touch_a_hole_of_our_own(dir);
}

static void touch_a_foreign_hole_inside_a_guard(const scratch *dir) {
    tly_store *store;
    tly_store_guard guard;
    uint64_t offset;
    char other[160];
    scratch away = *dir;
    store = open_big(dir, &offset);
    snprintf(other, sizeof other, "%s/other", dir->folder);
    scratch_write(other, "x", 1);
    snprintf(away.path, sizeof away.path, "%s/other", dir->folder);
    tly_store_guard_begin(store, &guard);
    touch_a_hole_of_our_own(&away);
}

static void host_handler(int number, siginfo_t *info, void *machine) {
    (void)number;
    (void)machine;
    _exit(info->si_code == BUS_ADRERR ? 42 : 43);
}

static void touch_under_a_host_handler(const scratch *dir) {
    struct sigaction action = {.sa_sigaction = host_handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    touch_without_a_guard(dir);
}

static struct sigaction below;

/* A handler that passes everything on to the one that it found: ours. */
static void chaining_handler(int number, siginfo_t *info, void *machine) {
    below.sa_sigaction(number, info, machine);
}

static void touch_under_a_chain_that_is_a_ring(const scratch *dir) {
    struct sigaction action = {.sa_sigaction = chaining_handler, .sa_flags = SA_SIGINFO};
    tly_store *store;
    tly_store_guard guard;
    uint64_t offset;
    alarm(20); /* another signal than the one that is awaited */
    store = open_big(dir, &offset);
    tly_store_guard_begin(store, &guard);
    tly_store_guard_end(&guard, NULL);
    sigaction(SIGBUS, &action, &below);
    tly_store_guard_begin(store, &guard); /* ours again, and the host's passes back to it */
    tly_store_guard_end(&guard, NULL);
    touch_a_hole_of_our_own(dir);
}

static void receive_a_sent_signal(const scratch *dir) {
    tly_store *store;
    tly_store_guard guard;
    uint64_t offset;
    store = open_big(dir, &offset);
    tly_store_guard_begin(store, &guard);
    raise(SIGBUS);
}

static void other_faults_go_to_whom_they_went_before(void **state) {
    scratch dir;
    (void)state;
    scratch_make(&dir);
#define AFTER(body) (write_big(&dir), child_outcome((body), &dir))
    assert_int_equal(AFTER(touch_without_a_guard), -SIGBUS);
    assert_int_equal(AFTER(touch_a_foreign_hole_inside_a_guard), -SIGBUS);
    assert_int_equal(AFTER(receive_a_sent_signal), -SIGBUS);
    assert_int_equal(AFTER(touch_under_a_host_handler), 42);
    assert_int_equal(AFTER(touch_under_a_chain_that_is_a_ring), -SIGBUS);
#undef AFTER
    scratch_remove(&dir);
}

int main(void) {
    /* The first must come before this process itself has opened a guard. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_faults_go_to_whom_they_went_before),
        cmocka_unit_test(a_whole_file_is_seen_whole),
        cmocka_unit_test(a_cut_file_is_an_error),
        cmocka_unit_test(an_unmapped_file_has_no_views),
        cmocka_unit_test(threads_meet_the_hole_together),
    };
    return cmocka_run_group_tests_name("store/truncated", tests, set_up, tear_down);
}
