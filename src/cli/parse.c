/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a command line apart by the table of its command. */
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/text.h"

#define USAGE(error, rule, ...)                                                                    \
    tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, rule, __VA_ARGS__)

typedef struct parser {
    const tly_cli_command *command;
    tly_cli *cli;
    tly_error *error;
} parser;

static const char *shown(char *out, size_t capacity, const char *text) {
    return tly_base_printable(out, capacity, text, strlen(text));
}

/* Decimal digits only, so that "-1", "0x10", "1e3" and "" are refused. */
static int to_number(const char *text, uint64_t *out) {
    uint64_t value = 0;
    if (*text == '\0') {
        return 0;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value)) {
            return 0;
        }
    }
    *out = value;
    return 1;
}

static tly_status bad_choice(parser *p, const tly_cli_option *option, const char *value) {
    char list[200] = "", text[64];
    for (uint32_t i = 0; option->choices[i] != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", option->choices[i]);
    }
    return USAGE(p->error, "usage-choice", "--%s takes one of %s, not \"%s\"", option->name, list,
                 shown(text, sizeof text, value));
}

static tly_status store(parser *p, uint32_t index, const char *value) {
    const tly_cli_option *option = &p->command->options[index];
    char text[64];
    if (option->type == TLY_CLI_NUMBER) {
        uint64_t number;
        if (!to_number(value, &number) || number < option->min || number > option->max) {
            return USAGE(p->error, "usage-number",
                         "--%s takes a number from %llu to %llu, not \"%s\"", option->name,
                         (unsigned long long)option->min, (unsigned long long)option->max,
                         shown(text, sizeof text, value));
        }
        p->cli->numbers[index] = number;
    } else if (option->type == TLY_CLI_CHOICE) {
        uint32_t i = 0;
        while (option->choices[i] != NULL && strcmp(option->choices[i], value) != 0) {
            i++;
        }
        if (option->choices[i] == NULL) {
            return bad_choice(p, option, value);
        }
    } else if (option->type != TLY_CLI_FLAG && option->type != TLY_CLI_TEXT && value[0] == '\0') {
        return USAGE(p->error, "usage-empty", "--%s is given an empty name", option->name);
    }
    if (option->repeats) {
        if (p->cli->num_repeats == TLY_CLI_MAX_REPEATS) {
            return USAGE(p->error, "usage-repeats", "--%s stands more than %d times", option->name,
                         TLY_CLI_MAX_REPEATS);
        }
        p->cli->repeats[p->cli->num_repeats].option = index;
        p->cli->repeats[p->cli->num_repeats++].value = value;
    }
    p->cli->values[index] = value;
    return TLY_OK;
}

static tly_status unknown_long(parser *p, const char *name, size_t len) {
    const char *nearest = NULL;
    char text[64], word[32];
    uint32_t least = 3;
    snprintf(word, sizeof word, "%.*s", (int)(len < sizeof word ? len : sizeof word - 1), name);
    for (uint32_t i = 0; i < p->command->num_options; i++) {
        uint32_t distance = tly_text_distance(word, p->command->options[i].name);
        if (distance < least) {
            least = distance;
            nearest = p->command->options[i].name;
        }
    }
    tly_base_printable(text, sizeof text, name, len);
    if (nearest != NULL) {
        return USAGE(p->error, "usage-option", "there is no option --%s; did you mean --%s?", text,
                     nearest);
    }
    return USAGE(p->error, "usage-option", "there is no option --%s", text);
}

/* --name, --name=value, --name value. `next` is the word after, or NULL; *used says that it went.
 */
static tly_status take_long(parser *p, const char *word, const char *next, int *used) {
    const char *equals = strchr(word, '=');
    size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
    for (uint32_t i = 0; i < p->command->num_options; i++) {
        const tly_cli_option *option = &p->command->options[i];
        if (strlen(option->name) != len || memcmp(option->name, word, len) != 0) {
            continue;
        }
        if (option->type == TLY_CLI_FLAG) {
            if (equals != NULL) {
                return USAGE(p->error, "usage-value", "--%s takes no value", option->name);
            }
            return store(p, i, "");
        }
        if (equals == NULL && next == NULL) {
            return USAGE(p->error, "usage-value", "--%s needs a value", option->name);
        }
        *used = equals == NULL;
        return store(p, i, equals != NULL ? equals + 1 : next);
    }
    return unknown_long(p, word, len);
}

/* -x, -xyz (flags), -xvalue, -x value. `word` is what follows the dash. */
static tly_status take_short(parser *p, const char *word, const char *next, int *used) {
    for (; *word != '\0'; word++) {
        const tly_cli_option *option = NULL;
        uint32_t i;
        tly_status status;
        char text[16];
        for (i = 0; i < p->command->num_options && option == NULL; i++) {
            if (p->command->options[i].letter == *word) {
                option = &p->command->options[i];
            }
        }
        if (option == NULL) {
            return USAGE(p->error, "usage-option", "there is no option -%s",
                         tly_base_printable(text, sizeof text, word, 1));
        }
        if (option->type != TLY_CLI_FLAG) {
            if (word[1] == '\0' && next == NULL) {
                return USAGE(p->error, "usage-value", "-%c (--%s) needs a value", *word,
                             option->name);
            }
            *used = word[1] == '\0';
            return store(p, i - 1, word[1] != '\0' ? word + 1 : next);
        }
        status = store(p, i - 1, "");
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

tly_status tly_cli_parse(const tly_cli_command *command, int argc, char **argv, tly_cli *out_cli,
                         tly_error *error) {
    parser p = {command, out_cli, error};
    int only_arguments = 0;
    memset(out_cli, 0, sizeof *out_cli);
    out_cli->command = command;
    out_cli->args = (const char *const *)argv;
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        tly_status status = TLY_OK;
        int used = 0;
        if (only_arguments || word[0] != '-' || word[1] == '\0') {
            argv[out_cli->num_args++] = word; /* never ahead of where we read */
        } else if (strcmp(word, "--") == 0) {
            only_arguments = 1;
        } else if (word[1] == '-') {
            status = take_long(&p, word + 2, next, &used);
        } else {
            status = take_short(&p, word + 1, next, &used);
        }
        if (status != TLY_OK) {
            return status;
        }
        i += used;
    }
    if (out_cli->num_args < command->min_arguments) {
        return USAGE(error, "usage-arguments", "an argument is missing: %s", command->usage);
    }
    if (out_cli->num_args > command->max_arguments) {
        char text[64];
        return USAGE(error, "usage-arguments", "\"%s\" is one argument too many: %s",
                     shown(text, sizeof text, argv[command->max_arguments]), command->usage);
    }
    return TLY_OK;
}
