/* SPDX-License-Identifier: Apache-2.0 */
/* The bar is drawn on a terminal and nowhere else. Standard error becomes a pseudo-terminal. */
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/progress.h"

static int saved = -1;

static int keep_stderr(void **state) {
    (void)state;
    saved = dup(STDERR_FILENO);
    return saved < 0 ? -1 : 0;
}

static int restore_stderr(void **state) {
    (void)state;
    return dup2(saved, STDERR_FILENO) < 0 || close(saved) != 0 ? -1 : 0;
}

/* Everything that has been written to the terminal so far. */
static void drain(int master, char *out, size_t capacity) {
    ssize_t n = read(master, out, capacity - 1);
    out[n > 0 ? n : 0] = '\0';
}

static void drawn_on_a_terminal(void **state) {
    tly_progress progress;
    char out[4096];
    int terminal, master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    (void)state;
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        skip();
    }
    terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_int_equal(dup2(terminal, STDERR_FILENO), STDERR_FILENO);
    close(terminal);

    tly_progress_init(&progress, "import", 1000);
    tly_progress_update(&progress, 10);
    drain(master, out, sizeof out);
    assert_string_equal(out, ""); /* too early */
    usleep(250000);
    tly_progress_update(&progress, 500);
    drain(master, out, sizeof out);
    assert_non_null(strstr(out, "import [###############...............]  50%  500 B of 1000 B"));
    tly_progress_update(&progress, 510);
    drain(master, out, sizeof out);
    assert_string_equal(out, ""); /* not more often than can be read */
    usleep(120000);
    tly_progress_update(&progress, 2000);
    drain(master, out, sizeof out);
    assert_non_null(strstr(out, "[##############################] 100%"));
    tly_progress_finish(&progress);
    drain(master, out, sizeof out);
    assert_string_equal(out, "\r\033[K");
    close(master);
}

static void silent_elsewhere(void **state) {
    tly_progress progress;
    char path[] = "/tmp/tilery-progress-XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    tly_progress_init(&progress, "import", 0);
    usleep(250000);
    tly_progress_update(&progress, 5);
    tly_progress_finish(&progress);
    assert_int_equal(lseek(fd, 0, SEEK_END), 0);
    close(fd);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(drawn_on_a_terminal, keep_stderr, restore_stderr),
        cmocka_unit_test_setup_teardown(silent_elsewhere, keep_stderr, restore_stderr),
    };
    return cmocka_run_group_tests_name("cli/progress", tests, NULL, NULL);
}
