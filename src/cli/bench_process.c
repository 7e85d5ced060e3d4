/* SPDX-License-Identifier: Apache-2.0 */
/* Processors and processes for benchmarks. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/bench.h"

int tly_bench_pin(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return -1;
    }
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) { /* the last: the first takes interrupts */
        if (CPU_ISSET(cpu, &set)) {
            CPU_ZERO(&set);
            CPU_SET(cpu, &set);
            return sched_setaffinity(0, sizeof set, &set) == 0 ? cpu : -1;
        }
    }
    return -1;
}

void tly_bench_pin_other(int taken) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < CPU_SETSIZE && taken >= 0; i++) {
        if (i != taken && i < sysconf(_SC_NPROCESSORS_ONLN)) {
            CPU_SET(i, &set);
            sched_setaffinity(0, sizeof set, &set);
            return;
        }
    }
}

void tly_bench_unpin(void) {
    cpu_set_t set;
    memset(&set, 0xFF, sizeof set); /* the system keeps those that the process may use */
    sched_setaffinity(0, sizeof set, &set);
}

static int write_all(int fd, const void *bytes, size_t len) {
    const char *at = bytes;
    while (len != 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return 0;
        }
        at += n;
        len -= (size_t)n;
    }
    return 1;
}

static int read_all(int fd, void *bytes, size_t len) {
    char *at = bytes;
    while (len != 0) {
        ssize_t n = read(fd, at, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return 0;
        }
        at += n;
        len -= (size_t)n;
    }
    return 1;
}

static int wait_for(pid_t child) {
    int state = 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
    }
    return state;
}

static _Noreturn void run_child(tly_bench_child_fn fn, void *user, const char *const *environment,
                                void *out, size_t out_len, int fd) {
    tly_error error;
    memset(&error, 0, sizeof error);
    for (; environment != NULL && *environment != NULL; environment++) {
        const char *equals = strchr(*environment, '=');
        char name[64];
        if (equals != NULL && (size_t)(equals - *environment) < sizeof name) {
            memcpy(name, *environment, (size_t)(equals - *environment));
            name[equals - *environment] = '\0';
            setenv(name, equals + 1, 1);
        }
    }
    memset(out, 0, out_len);
    error.status = fn(user, out, out_len, &error);
    _exit(write_all(fd, &error, sizeof error) && write_all(fd, out, out_len) ? 0 : 1);
}

tly_status tly_bench_fork(tly_bench_child_fn fn, void *user, const char *const *environment,
                          void *out, size_t out_len, tly_error *error) {
    int pipe_fds[2], got, state;
    tly_error from_child;
    pid_t child;

    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        return tly_base_fail_errno(error, errno, "cannot make a pipe");
    }
    child = fork();
    if (child < 0) {
        int saved = errno;
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        return tly_base_fail_errno(error, saved, "cannot start a process");
    }
    if (child == 0) {
        close(pipe_fds[0]);
        run_child(fn, user, environment, out, out_len, pipe_fds[1]);
    }
    close(pipe_fds[1]);
    memset(out, 0, out_len);
    got = read_all(pipe_fds[0], &from_child, sizeof from_child) &&
          read_all(pipe_fds[0], out, out_len);
    close(pipe_fds[0]);
    state = wait_for(child);
    if (WIFSIGNALED(state)) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "child-signal",
                             "the child process died of signal %d (%s)", WTERMSIG(state),
                             strsignal(WTERMSIG(state)));
    }
    if (!got) {
        return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "child-silent",
                             "the child process ended with code %d and no result",
                             WEXITSTATUS(state));
    }
    if (from_child.status != TLY_OK && error != NULL) {
        *error = from_child;
    }
    return from_child.status;
}

extern char **environ;

tly_status tly_bench_spawn(const char *const *argv, double *out_seconds, tly_error *error) {
    posix_spawn_file_actions_t actions;
    char *args[32];
    pid_t child;
    double start;
    int code, state;
    size_t num = 0;

    for (; argv[num] != NULL; num++) {
        if (num + 1 == sizeof args / sizeof args[0]) {
            return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "bench-range",
                                 "a program takes at most %zu arguments here", num);
        }
        memcpy(&args[num], &argv[num], sizeof args[num]); /* posix_spawn does not write to them */
    }
    args[num] = NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    start = tly_bench_now();
    code = posix_spawn(&child, args[0], &actions, NULL, args, environ);
    if (code == 0) {
        state = wait_for(child);
        if (out_seconds != NULL) {
            *out_seconds = tly_bench_now() - start;
        }
    }
    posix_spawn_file_actions_destroy(&actions);
    if (code == ENOENT) {
        return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "", "there is no program %s",
                             argv[0]);
    }
    if (code != 0) {
        return tly_base_fail_errno(error, code, "cannot start %s", argv[0]);
    }
    if (WIFSIGNALED(state) || WEXITSTATUS(state) != 0) {
        return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "child-failed",
                             "%s ended with %s %d", argv[0], WIFSIGNALED(state) ? "signal" : "code",
                             WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
    }
    return TLY_OK;
}
