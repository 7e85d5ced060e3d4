/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tilery/version.h>

#include "base/error.h"
#include "cli/handlers.h"
#include "cli/json.h"
#include "cli/text.h"

#define TLY_CLI_DEFINE_TABLES
#include "cli/options_table.h"

const tly_cli_command *tly_cli_find(const char *name) {
    for (uint32_t i = 0; i < tly_cli_num_commands; i++) {
        if (strcmp(tly_cli_commands[i].name, name) == 0) {
            return &tly_cli_commands[i];
        }
    }
    return NULL;
}

int tly_cli_given(const tly_cli *cli, uint32_t option) {
    return cli->values[option] != NULL;
}

const char *tly_cli_value(const tly_cli *cli, uint32_t option, const char *otherwise) {
    return cli->values[option] != NULL ? cli->values[option] : otherwise;
}

uint64_t tly_cli_number(const tly_cli *cli, uint32_t option, uint64_t otherwise) {
    return cli->values[option] != NULL ? cli->numbers[option] : otherwise;
}

/* The value of an option that a command may have, by its name; NULL where it has none or it is not
 * given. */
static const char *value_of(const tly_cli *cli, const char *name) {
    for (uint32_t i = 0; i < cli->command->num_options; i++) {
        if (strcmp(cli->command->options[i].name, name) == 0) {
            return cli->values[i];
        }
    }
    return NULL;
}

static void write_log_json(const tly_cli *cli, tly_log_level level, const char *line) {
    static const char *const names[] = {"", "error", "warning", "info", "debug"};
    char text[2048], stamp[64];
    struct timespec now;
    struct tm utc;
    size_t len;
    tly_json json;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    len = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(stamp + len, sizeof stamp - len, ".%03ldZ", now.tv_nsec / 1000000);
    flockfile(stderr);
    tly_json_init_line(&json, stderr);
    tly_json_object(&json, NULL);
    tly_json_string(&json, "time", stamp);
    tly_json_string(&json, "level", names[level]);
    tly_json_string(&json, "command", cli->command->name);
    tly_json_string(&json, "message", tly_text_safe(text, sizeof text, line, strlen(line)));
    tly_json_end_object(&json);
    tly_json_finish(&json);
    funlockfile(stderr);
}

/* One line of log; one call, because lines come from several threads. */
static void write_log(void *user, tly_log_level level, const char *line) {
    const tly_cli *cli = user;
    const char *format = value_of(cli, "log-format");
    char text[2048];
    if (format != NULL && strcmp(format, "json") == 0) {
        write_log_json(cli, level, line);
        return;
    }
    fprintf(stderr, "tilery: %s: %s\n", cli->command->name,
            tly_text_safe(text, sizeof text, line, strlen(line)));
}

/* What the option --log of a command says, where it has one and it is given. */
static int32_t log_level(const tly_cli *cli) {
    for (uint32_t i = 0; i < cli->command->num_options; i++) {
        const tly_cli_option *option = &cli->command->options[i];
        if (strcmp(option->name, "log") != 0 || cli->values[i] == NULL) {
            continue;
        }
        for (int32_t level = 0; option->choices[level] != NULL; level++) {
            if (strcmp(option->choices[level], cli->values[i]) == 0) {
                return TLY_LOG_ERROR + level;
            }
        }
    }
    return TLY_LOG_WARNING;
}

tly_status tly_cli_context(tly_cli *cli, const tly_context **out_context, tly_error *error) {
    if (cli->context == NULL) {
        tly_context_options options = {.size = sizeof options, .log = write_log, .log_user = cli};
        tly_status status;
        options.log_level = log_level(cli);
        status = tly_context_new(&options, &cli->context, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    *out_context = cli->context;
    return TLY_OK;
}

/* The error, and what to do about it. */
static int complain(const char *command, const tly_error *error) {
    const char *message =
        error->message[0] != '\0' ? error->message : tly_status_text(error->status);
    int code = tly_status_exit_code(error->status);
    char text[4 * sizeof error->message];
    fprintf(stderr, "tilery: %s%s%s", command, command[0] != '\0' ? ": " : "",
            tly_text_safe(text, sizeof text, message, strlen(message)));
    if (error->offset != TLY_NO_OFFSET) {
        fprintf(stderr, " (byte %llu)", (unsigned long long)error->offset);
    }
    if (error->rule[0] != '\0' && error->status != TLY_INVALID_ARGUMENT) {
        fprintf(stderr, " [%s]", error->rule);
    }
    fputc('\n', stderr);
    for (uint32_t i = 0; i < tly_cli_num_exits; i++) {
        if (tly_cli_exits[i].code == code && tly_cli_exits[i].advice[0] != '\0') {
            const char *advice = tly_cli_exits[i].advice;
            const char *place = strstr(advice, "%s");
            int head = place != NULL ? (int)(place - advice) : (int)strlen(advice);
            fprintf(stderr, "tilery: %.*s", head, advice);
            if (place != NULL && command[0] != '\0') {
                fprintf(stderr, "%s%s", command, place + 2);
            } else if (place != NULL) {
                fputs(place + 3, stderr); /* the space after the name goes with it */
            }
            fputc('\n', stderr);
        }
    }
    return code;
}

/* Everything that was printed reaches its place, or the exit code says that it did not. A reader
 * that has seen enough is no news. */
static int finish(const char *command, int code) {
    int failed = ferror(stdout), saved;
    errno = 0;
    if (fflush(stdout) == 0 && !failed) {
        return code;
    }
    saved = errno != 0 ? errno : EIO;
    if (code == 0) {
        code = tly_status_exit_code(TLY_IO);
    }
    if (saved != EPIPE) {
        fprintf(stderr, "tilery: %s%scannot write to standard output: %s\n", command,
                command[0] != '\0' ? ": " : "", strerror(saved));
    }
    return code;
}

/* A standard stream that the caller closed must not become the next file that is opened. What
 * stands in its place refuses the use that the stream is for. */
static void hold_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
        }
    }
}

static tly_status unknown_command(const char *name, tly_error *error) {
    char shown[64];
    const char *nearest = NULL;
    uint32_t least = 3;
    for (uint32_t i = 0; i < tly_cli_num_commands; i++) {
        uint32_t distance = tly_text_distance(name, tly_cli_commands[i].name);
        if (distance < least) {
            least = distance;
            nearest = tly_cli_commands[i].name;
        }
    }
    tly_base_printable(shown, sizeof shown, name, strlen(name));
    if (nearest != NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-command",
                             "there is no command \"%s\"; did you mean \"%s\"?", shown, nearest);
    }
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-command",
                         "there is no command \"%s\"", shown);
}

tly_status tly_cli_run_help(tly_cli *cli, tly_error *error) {
    const tly_cli_command *about;
    if (cli->num_args == 0) {
        fputs(tly_cli_help, cli->out);
        return TLY_OK;
    }
    about = tly_cli_find(cli->args[0]);
    if (about == NULL) {
        return unknown_command(cli->args[0], error);
    }
    fputs(about->help, cli->out);
    return TLY_OK;
}

static int run_command(const tly_cli_command *command, int argc, char **argv) {
    tly_cli cli;
    tly_error error;
    tly_status status;
    int code = 0;
    memset(&error, 0, sizeof error);
    error.offset = TLY_NO_OFFSET;
    status = tly_cli_parse(command, argc, argv, &cli, &error);
    /* --help is the last option of every command, and counts even on a line that is wrong. */
    if (tly_cli_given(&cli, command->num_options - 1)) {
        fputs(command->help, stdout);
        return finish(command->name, 0);
    }
    if (status == TLY_OK) {
        cli.out = stdout;
        status = command->run(&cli, &error);
        tly_context_free(cli.context);
    }
    if (status != TLY_OK) {
        error.status = status;
        fflush(stdout);
        code = complain(command->name, &error);
    }
    return finish(command->name, code);
}

/* Output that is not for eyes goes out in large pieces: when one cannot be written it is, as a
 * rule, the last one, and the reason is still known at the end. */
static void widen_output(void) {
    static char buffer[1 << 16]; /* stdout's until the process ends */
    if (!isatty(STDOUT_FILENO)) {
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    }
}

int tly_cli_main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : NULL;
    const tly_cli_command *command;
    tly_error error;

    hold_standard_streams();
    widen_output();
    signal(SIGPIPE, SIG_IGN);
    if (word != NULL && strcmp(word, "--version") == 0) {
        printf("tilery %s\n", tly_version());
        return finish("", 0);
    }
    if (word != NULL && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
        fputs(tly_cli_help, stdout);
        return finish("", 0);
    }
    if (word == NULL) {
        tly_base_fail(&error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-command",
                      "a command is missing");
        return complain("", &error);
    }
    if (word[0] == '-') {
        char shown[64];
        tly_base_fail(&error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-command",
                      "%s comes before any command; options follow the command",
                      tly_base_printable(shown, sizeof shown, word, strlen(word)));
        return complain("", &error);
    }
    command = tly_cli_find(word);
    if (command == NULL) {
        unknown_command(word, &error);
        return complain("", &error);
    }
    return run_command(command, argc - 2, argv + 2);
}
