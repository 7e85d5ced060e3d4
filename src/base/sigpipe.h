/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to a connection that the peer has closed must not end the program that uses the library:
 * send() has MSG_NOSIGNAL, sendfile() and what other libraries write have not. Between hold and
 * release the calling thread gets no SIGPIPE; one that came meanwhile is taken away, one that the
 * program had pending stays. errno is kept. */
#ifndef TLY_BASE_SIGPIPE_H
#define TLY_BASE_SIGPIPE_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

typedef struct tly_base_sigpipe {
    sigset_t before; /* the thread's mask */
    bool was_pending;
} tly_base_sigpipe;

static inline void tly_base_sigpipe_hold(tly_base_sigpipe *held) {
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    held->was_pending = false;
    pthread_sigmask(SIG_BLOCK, &pipe, &held->before);
    if (sigismember(&held->before, SIGPIPE) == 1 && sigpending(&pending) == 0) {
        held->was_pending = sigismember(&pending, SIGPIPE) == 1;
    }
}

/* `broken`: not all was written, so a signal may have come. */
static inline void tly_base_sigpipe_release(const tly_base_sigpipe *held, bool broken) {
    int saved = errno;
    if (broken && !held->was_pending) {
        const struct timespec at_once = {0, 0};
        sigset_t pipe;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        while (sigtimedwait(&pipe, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
    errno = saved;
}

#endif
