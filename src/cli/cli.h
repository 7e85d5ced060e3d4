/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of the command: what tables/options.toml and tables/commands/ become, and what a
 * command's handler gets.
 *
 * A command is a file in tables/commands/ and a function tly_cli_run_<name>. The frame has checked
 * options and number of arguments before it calls the function, and turns what the function returns
 * into a message on standard error and an exit code. */
#ifndef TLY_CLI_CLI_H
#define TLY_CLI_CLI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tilery/context.h>
#include <tilery/status.h>

typedef enum tly_cli_type {
    TLY_CLI_FLAG,
    TLY_CLI_TEXT,
    TLY_CLI_FILE,
    TLY_CLI_OUTPUT,
    TLY_CLI_ADDRESS,
    TLY_CLI_NUMBER,
    TLY_CLI_CHOICE
} tly_cli_type;

typedef struct tly_cli_option {
    const char *name; /* long, without dashes */
    char letter;      /* short, or 0 */
    uint8_t type;     /* tly_cli_type */
    uint8_t repeats;  /* may stand several times, and each one counts */
    uint64_t min;     /* TLY_CLI_NUMBER */
    uint64_t max;
    const char *const *choices; /* TLY_CLI_CHOICE: NULL at the end */
} tly_cli_option;

typedef struct tly_cli tly_cli;

typedef struct tly_cli_command {
    const char *name;
    tly_status (*run)(tly_cli *cli, tly_error *error);
    const tly_cli_option *options;
    uint32_t num_options;
    uint32_t min_arguments;
    uint32_t max_arguments;
    const char *usage;
    const char *help;
} tly_cli_command;

typedef struct tly_cli_exit {
    int code;
    const char *advice; /* "" or a sentence with %s for the command's name */
} tly_cli_exit;

extern const tly_cli_command tly_cli_commands[];
extern const uint32_t tly_cli_num_commands;
extern const char tly_cli_help[];
extern const tly_cli_exit tly_cli_exits[];
extern const uint32_t tly_cli_num_exits;

#define TLY_CLI_MAX_OPTIONS 32
#define TLY_CLI_MAX_REPEATS 32

/* One command line, taken apart. Pointers are into argv. */
struct tly_cli {
    const tly_cli_command *command;
    const char *const *args; /* what is no option */
    uint32_t num_args;
    uint32_t num_repeats;                    /* values of options that repeat, in order */
    const char *values[TLY_CLI_MAX_OPTIONS]; /* last value of each option; NULL: not given. A flag
                                                that is given has "" */
    uint64_t numbers[TLY_CLI_MAX_OPTIONS];
    struct {
        uint32_t option;
        const char *value;
    } repeats[TLY_CLI_MAX_REPEATS];
    FILE *out;            /* standard output */
    tly_context *context; /* made by tly_cli_context, freed by the frame */
};

/* Takes a command line apart: options and arguments in any order, `--` ends the options, `--name
 * value`, `--name=value`, `-x value`, `-xvalue`, `-xyz` for flags. `args` has room for argc
 * entries. Errors: INVALID_ARGUMENT with rules usage-*. */
tly_status tly_cli_parse(const tly_cli_command *command, int argc, char **argv, tly_cli *out_cli,
                         tly_error *error);

/* The command of that name, or NULL. */
const tly_cli_command *tly_cli_find(const char *name);

/* Options are named by their number, TLY_CLI_<COMMAND>_<OPTION> of options_table.h. */
int tly_cli_given(const tly_cli *cli, uint32_t option);
const char *tly_cli_value(const tly_cli *cli, uint32_t option, const char *otherwise);
uint64_t tly_cli_number(const tly_cli *cli, uint32_t option, uint64_t otherwise);

/* The context of this run, made at the first call. */
tly_status tly_cli_context(tly_cli *cli, const tly_context **out_context, tly_error *error);

/* The whole command: what main() calls. Returns the exit code. */
int tly_cli_main(int argc, char **argv);

#endif
