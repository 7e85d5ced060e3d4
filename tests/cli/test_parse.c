/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <string.h>

#include "cli/cli.h"

static const char *const colours[] = {"red", "green", NULL};

static const tly_cli_option options[] = {
    {"json", 'j', TLY_CLI_FLAG, 0, 0, 0, NULL},
    {"verbose", 'v', TLY_CLI_FLAG, 0, 0, 0, NULL},
    {"output", 'o', TLY_CLI_OUTPUT, 0, 0, 0, NULL},
    {"runs", 'n', TLY_CLI_NUMBER, 0, 2, UINT64_MAX, NULL},
    {"colour", 0, TLY_CLI_CHOICE, 0, 0, 0, colours},
    {"layout", 'l', TLY_CLI_TEXT, 1, 0, 0, NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, 0, 0, NULL},
};
enum { JSON, VERBOSE, OUTPUT, RUNS, COLOUR, LAYOUT };

static const tly_cli_command command = {
    "sample", NULL, options, 7, 1, 2, "tilery sample [OPTION]... A [B]", "help"};

static tly_cli cli;
static tly_error error;

/* Words separated by '|'. */
static tly_status parse(const char *line) {
    static char text[512];
    static char *argv[64];
    int argc = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *at = text; at != NULL; argc++) {
        argv[argc] = at;
        at = strchr(at, '|');
        if (at != NULL) {
            *at++ = '\0';
        }
    }
    memset(&error, 0, sizeof error);
    return tly_cli_parse(&command, argc, argv, &cli, &error);
}

static void options_and_arguments_mix(void **state) {
    (void)state;
    CHECK_OK(parse("a|--json|-o|out|b"), &error);
    assert_int_equal(cli.num_args, 2);
    assert_string_equal(cli.args[0], "a");
    assert_string_equal(cli.args[1], "b");
    assert_true(tly_cli_given(&cli, JSON));
    assert_false(tly_cli_given(&cli, VERBOSE));
    assert_string_equal(tly_cli_value(&cli, OUTPUT, "?"), "out");
    assert_string_equal(tly_cli_value(&cli, COLOUR, "none"), "none");
    assert_int_equal(tly_cli_number(&cli, RUNS, 9), 9);
}

static void every_way_to_give_a_value(void **state) {
    static const char *const lines[] = {"a|-o|x=y",       "a|-ox=y",    "a|--output|x=y",
                                        "a|--output=x=y", "a|-jvo|x=y", "a|-jvox=y"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        CHECK_OK(parse(lines[i]), &error);
        assert_string_equal(tly_cli_value(&cli, OUTPUT, "?"), "x=y");
        assert_int_equal(cli.num_args, 1);
    }
    assert_true(tly_cli_given(&cli, JSON) && tly_cli_given(&cli, VERBOSE));
}

static void a_value_may_look_like_an_option(void **state) {
    (void)state;
    CHECK_OK(parse("a|-o|--json"), &error);
    assert_string_equal(tly_cli_value(&cli, OUTPUT, "?"), "--json");
    assert_false(tly_cli_given(&cli, JSON));
}

static void two_dashes_end_the_options(void **state) {
    (void)state;
    CHECK_OK(parse("-j|--|--json|-"), &error);
    assert_int_equal(cli.num_args, 2);
    assert_string_equal(cli.args[0], "--json");
    assert_string_equal(cli.args[1], "-");
}

static void the_last_one_counts_or_all_do(void **state) {
    (void)state;
    CHECK_OK(parse("a|-n3|-l|one|-n|4|--layout=two|-l|"), &error);
    assert_int_equal(tly_cli_number(&cli, RUNS, 0), 4);
    assert_int_equal(cli.num_repeats, 3);
    assert_string_equal(cli.repeats[0].value, "one");
    assert_string_equal(cli.repeats[1].value, "two");
    assert_string_equal(cli.repeats[2].value, "");
    assert_int_equal(cli.repeats[2].option, LAYOUT);
}

static void numbers_are_decimal_and_in_range(void **state) {
    static const char *const bad[] = {
        "a|-n|1",   "a|-n|",   "a|-n|-1", "a|-n|0x10",
        "a|-n|1e3", "a|-n| 5", "a|-n|5 ", "a|-n|18446744073709551616"};
    (void)state;
    CHECK_OK(parse("a|-n|18446744073709551615"), &error);
    assert_true(tly_cli_number(&cli, RUNS, 0) == UINT64_MAX);
    CHECK_OK(parse("a|-n|0002"), &error);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_RULE(parse(bad[i]), &error, TLY_INVALID_ARGUMENT, "usage-number");
        assert_non_null(strstr(error.message, "--runs takes a number from 2 to"));
    }
}

static void wrong_use_is_explained(void **state) {
    static const struct {
        const char *line, *rule, *says;
    } cases[] = {
        {"a|--jsno", "usage-option", "did you mean --json?"},
        {"a|--outptu=x", "usage-option", "there is no option --outptu; did you mean --output?"},
        {"a|--zzzzzz", "usage-option", "there is no option --zzzzzz"},
        {"a|-x", "usage-option", "there is no option -x"},
        {"a|-jx", "usage-option", "there is no option -x"},
        {"a|-\xFF", "usage-option", "\\xFF"},
        {"a|--json=1", "usage-value", "--json takes no value"},
        {"a|--output", "usage-value", "--output needs a value"},
        {"a|-o", "usage-value", "-o (--output) needs a value"},
        {"a|--output=", "usage-empty", "empty name"},
        {"a|--colour=blue", "usage-choice", "one of red, green, not \"blue\""},
        {"-j", "usage-arguments", "an argument is missing: tilery sample"},
        {"a|b|c\nd", "usage-arguments", "\"c\\x0Ad\" is one argument too many"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_RULE(parse(cases[i].line), &error, TLY_INVALID_ARGUMENT, cases[i].rule);
        if (strstr(error.message, cases[i].says) == NULL) {
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].line, error.message, cases[i].says);
        }
    }
}

static void repeats_have_a_limit(void **state) {
    char line[512] = "a";
    (void)state;
    for (int i = 0; i < TLY_CLI_MAX_REPEATS; i++) {
        strcat(line, "|-lx");
    }
    CHECK_OK(parse(line), &error);
    strcat(line, "|-lx");
    CHECK_RULE(parse(line), &error, TLY_INVALID_ARGUMENT, "usage-repeats");
}

static void no_words_at_all(void **state) {
    (void)state;
    CHECK_RULE(tly_cli_parse(&command, 0, NULL, &cli, &error), &error, TLY_INVALID_ARGUMENT,
               "usage-arguments");
}

static void tables_fit_the_frame(void **state) {
    (void)state;
    for (uint32_t i = 0; i < tly_cli_num_commands; i++) {
        const tly_cli_command *one = &tly_cli_commands[i];
        assert_true(one->num_options >= 1 && one->num_options <= TLY_CLI_MAX_OPTIONS);
        assert_string_equal(one->options[one->num_options - 1].name, "help");
        assert_ptr_equal(tly_cli_find(one->name), one);
    }
    assert_null(tly_cli_find("no-such-command"));
    for (tly_status s = TLY_OK; s <= TLY_INTERNAL; s++) {
        int found = 0;
        for (uint32_t i = 0; i < tly_cli_num_exits; i++) {
            found += tly_cli_exits[i].code == tly_status_exit_code(s);
        }
        assert_int_equal(found, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_arguments_mix),
        cmocka_unit_test(every_way_to_give_a_value),
        cmocka_unit_test(a_value_may_look_like_an_option),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(the_last_one_counts_or_all_do),
        cmocka_unit_test(numbers_are_decimal_and_in_range),
        cmocka_unit_test(wrong_use_is_explained),
        cmocka_unit_test(repeats_have_a_limit),
        cmocka_unit_test(no_words_at_all),
        cmocka_unit_test(tables_fit_the_frame),
    };
    return cmocka_run_group_tests_name("cli/parse", tests, NULL, NULL);
}
