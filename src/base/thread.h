/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library. */
#ifndef TLY_BASE_THREAD_H
#define TLY_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Starts a thread that takes no signals: they are for the threads of the program, but for one's own
 * faults. Returns whether the system gave one. */
static inline bool tly_base_start_thread(pthread_t *out_thread, void *(*run)(void *user),
                                         void *user) {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGFPE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(out_thread, NULL, run, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

#endif
