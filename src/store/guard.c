/* SPDX-License-Identifier: Apache-2.0 */
/* Files that lose bytes while they are mapped: see docs/adr for why this handler exists.
 *
 * A thread that touches a map says so with a guard, in a list of its own. When the system answers
 * with SIGBUS, the handler looks only at the guards of the thread that was hit: no lock, no list
 * that another thread could be changing. It puts zero pages where the file has none and marks the
 * store. A signal that no guard explains goes to whoever handled it before. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/error.h"
#include "store/store.h"

/* The one place in the library with variables of the process: a signal has one handler for all. The
 * list is in memory that exists with the thread (initial-exec), so that the handler may look at it.
 */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction previous_action;
static __thread tly_store_guard *guards __attribute__((tls_model("initial-exec")));

static int mend(const void *address) {
    for (const tly_store_guard *g = guards; g != NULL; g = g->next) {
        const tly_store *s = g->store;
        uintptr_t first = (uintptr_t)s->map;
        uintptr_t at = (uintptr_t)address;
        if (s->fd >= 0 && s->map != NULL && at >= first && at - first < s->len) {
            uintptr_t page = at & ~(uintptr_t)(s->page_len - 1);
            uintptr_t end = first + (uintptr_t)s->len;
            if (mmap((void *)page, end - page, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                     0) == MAP_FAILED) {
                return 0;
            }
            __atomic_store_n(&((tly_store *)(uintptr_t)s)->shortened, 1, __ATOMIC_RELEASE);
            return 1;
        }
    }
    return 0;
}

static void on_sigbus(int number, siginfo_t *info, void *machine) {
    int saved_errno = errno;
    if (info->si_code > 0 && mend(info->si_addr)) {
        errno = saved_errno;
        return;
    }
    errno = saved_errno;
    if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
        previous_action.sa_sigaction(number, info, machine);
    } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
        previous_action.sa_handler(number);
    } else {
        /* As if there had been no handler: the fault happens again and ends the process; a signal
         * that was sent is sent again. */
        struct sigaction plain = {.sa_handler = SIG_DFL};
        if (info->si_code <= 0) {
            plain.sa_handler = previous_action.sa_handler;
        }
        sigemptyset(&plain.sa_mask);
        sigaction(number, &plain, NULL);
        if (info->si_code <= 0) {
            raise(number);
        }
    }
}

static void install(void) {
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous_action);
}

void tly_store_guard_begin(const tly_store *store, tly_store_guard *guard) {
    tly_store_guard *g = guard;
    if (store->fd >= 0 && store->map != NULL) {
        pthread_once(&once, install);
    }
    g->store = store;
    g->reserved = NULL;
    g->previous = NULL;
    g->next = guards;
    if (g->next != NULL) {
        g->next->previous = g;
    }
    atomic_signal_fence(memory_order_seq_cst);
    guards = g;
    atomic_signal_fence(memory_order_seq_cst);
}

tly_status tly_store_guard_end(tly_store_guard *guard, tly_error *error) {
    tly_store_guard *g = guard;
    const tly_store *store = g->store;
    atomic_signal_fence(memory_order_seq_cst);
    if (g->previous != NULL) {
        g->previous->next = g->next;
    } else {
        guards = g->next;
    }
    if (g->next != NULL) {
        g->next->previous = g->previous;
    }
    atomic_signal_fence(memory_order_seq_cst);
    if (!tly_store_intact(store)) {
        return tly_base_fail(error, TLY_TRUNCATED, TLY_NO_OFFSET, "F-SHRUNK",
                             "the file has become shorter while it was being read");
    }
    return TLY_OK;
}

int tly_store_intact(const tly_store *store) {
    return !__atomic_load_n(&store->shortened, __ATOMIC_ACQUIRE);
}
