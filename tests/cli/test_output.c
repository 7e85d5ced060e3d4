/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"

static char folder[64];
static char path[128];
static tly_error error;
static tly_context *context;

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/tilery-output-XXXXXX");
    if (mkdtemp(folder) == NULL || tly_context_new(NULL, &context, NULL) != TLY_OK) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/caf\xE9 out", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    tly_context_free(context);
    return rmdir(folder);
}

static int num_files(void) {
    DIR *dir = opendir(folder);
    int num = 0;
    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        num++;
    }
    closedir(dir);
    return num - 2;
}

static void expect(const char *wanted) {
    char text[64] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    (void)!fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_string_equal(text, wanted);
}

static void appears_whole_and_replaces(void **state) {
    struct stat facts;
    mode_t mask = umask(027);
    (void)state;
    for (int round = 0; round < 2; round++) {
        tly_output output;
        CHECK_OK(tly_output_init(&output, context, path, &error), &error);
        CHECK_OK(tly_output_write(&output, "abc", 3, &error), &error);
        CHECK_OK(tly_output_write(&output, round == 0 ? "def" : "xyz", 3, &error), &error);
        if (round == 0) {
            assert_int_equal(access(path, F_OK), -1);
        } else {
            expect("abcdef");
        }
        CHECK_OK(tly_output_commit(&output, &error), &error);
        tly_output_cleanup(&output);
        tly_output_cleanup(&output);
        expect(round == 0 ? "abcdef" : "abcxyz");
        assert_int_equal(num_files(), 1);
    }
    umask(mask);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0640);
}

static void without_commit_nothing_stays(void **state) {
    tly_output output;
    (void)state;
    CHECK_OK(tly_output_init(&output, context, path, &error), &error);
    CHECK_OK(tly_output_write(&output, "abc", 3, &error), &error);
    tly_output_cleanup(&output);
    assert_int_equal(num_files(), 0);
}

static void devices_are_written_in_place(void **state) {
    tly_output output;
    struct stat facts;
    (void)state;
    CHECK_OK(tly_output_init(&output, context, "/dev/full", &error), &error);
    CHECK_RULE(tly_output_write(&output, "abc", 3, &error), &error, TLY_IO, "");
    assert_non_null(strstr(error.message, "/dev/full: No space left on device"));
    tly_output_cleanup(&output);
    CHECK_OK(tly_output_init(&output, context, "/dev/null", &error), &error);
    CHECK_OK(tly_output_write(&output, "abc", 3, &error), &error);
    CHECK_OK(tly_output_commit(&output, &error), &error);
    tly_output_cleanup(&output);
    assert_int_equal(stat("/dev/null", &facts), 0);
    assert_true(S_ISCHR(facts.st_mode));
}

static void a_bad_place_is_an_error(void **state) {
    tly_output output;
    (void)state;
    CHECK_RULE(tly_output_init(&output, context, "/nonexistent/file", &error), &error, TLY_IO, "");
    assert_non_null(strstr(error.message, "/nonexistent/file"));
    CHECK_RULE(tly_output_init(&output, context, folder, &error), &error, TLY_IO, "");
}

static void same_files_are_known(void **state) {
    char dotted[160];
    int fd;
    (void)state;
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    snprintf(dotted, sizeof dotted, "%s/./caf\xE9 out", folder);
    assert_true(tly_output_same_file(path, dotted));
    assert_false(tly_output_same_file(path, "/dev/null"));
    assert_false(tly_output_same_file(path, "/nonexistent"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appears_whole_and_replaces, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(without_commit_nothing_stays, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(devices_are_written_in_place, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_bad_place_is_an_error, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(same_files_are_known, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("cli/output", tests, NULL, NULL);
}
