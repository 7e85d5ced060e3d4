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

/* The one place in the library with variables of the process: a signal has one handler for all. A
 * host may put its own handler over ours later, so every guard looks whether ours is still there;
 * what it finds instead is remembered in a slot of its own, which never changes again. The thread's
 * variables exist from its start (initial-exec), so that the handler may look at them. */
#define MAX_PREVIOUS 16
static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous_actions[MAX_PREVIOUS];
static atomic_int num_previous;
static __thread tly_store_guard *guards __attribute__((tls_model("initial-exec")));
static __thread int passing_on __attribute__((tls_model("initial-exec")));

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

/* As if there had been no handler: a fault happens again and ends the process; a signal that was
 * sent is sent again. */
static void take_default(int number, const siginfo_t *info, int ignored) {
    struct sigaction plain = {.sa_handler = ignored && info->si_code <= 0 ? SIG_IGN : SIG_DFL};
    sigemptyset(&plain.sa_mask);
    sigaction(number, &plain, NULL);
    if (info->si_code <= 0) {
        raise(number);
    }
}

static void on_sigbus(int number, siginfo_t *info, void *machine) {
    int saved_errno = errno;
    int num = atomic_load_explicit(&num_previous, memory_order_acquire);
    const struct sigaction *previous = &previous_actions[num > 0 ? num - 1 : 0];
    int mended = info->si_code > 0 && mend(info->si_addr);
    errno = saved_errno;
    if (mended) {
        return;
    }
    /* A handler that was put over ours may pass the signal back to us: once is enough. */
    if (passing_on) {
        take_default(number, info, 0);
        return;
    }
    passing_on = 1;
    if ((previous->sa_flags & SA_SIGINFO) != 0) {
        previous->sa_sigaction(number, info, machine);
    } else if (previous->sa_handler != SIG_DFL && previous->sa_handler != SIG_IGN) {
        previous->sa_handler(number);
    } else {
        take_default(number, info, previous->sa_handler == SIG_IGN);
    }
    passing_on = 0;
}

static int is_ours(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_sigbus;
}

static void install(void) {
    struct sigaction now;
    int num;
    if (sigaction(SIGBUS, NULL, &now) != 0 || is_ours(&now)) {
        return;
    }
    pthread_mutex_lock(&installing);
    num = atomic_load_explicit(&num_previous, memory_order_relaxed);
    if (num < MAX_PREVIOUS && sigaction(SIGBUS, NULL, &now) == 0 && !is_ours(&now)) {
        struct sigaction ours = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigemptyset(&ours.sa_mask);
        previous_actions[num] = now;
        atomic_store_explicit(&num_previous, num + 1, memory_order_release);
        sigaction(SIGBUS, &ours, NULL);
    }
    pthread_mutex_unlock(&installing);
}

void tly_store_guard_begin(const tly_store *store, tly_store_guard *guard) {
    tly_store_guard *g = guard;
    if (store->fd >= 0 && store->map != NULL) {
        install();
        passing_on = 0; /* a handler that was called may have left by longjmp */
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
