/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/crew.h"

#include <sched.h>
#include <time.h>

#include "base/thread.h"

/* Loads before a thread sleeps, about 30 us: jobs mostly follow each other sooner than that, and to
 * be woken takes longer. Where there are more threads than processors, looking would keep a
 * processor from those who work. */
enum { LOOKS = 100000 };

/* A post whose jobs take less than this all together is quick: to hand it out takes as long. After
 * so many in a row the caller does them alone, until one is not quick. */
enum { QUICK_NS = 20000, QUICK_POSTS = 32 };

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void count_quick(tly_pto_crew *c, uint64_t spent_ns) {
    c->num_quick = spent_ns >= QUICK_NS         ? 0
                   : c->num_quick < QUICK_POSTS ? c->num_quick + 1
                                                : c->num_quick;
}

static uint32_t look(const uint32_t *number) {
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

/* Lets go of the lock and looks for a while whether the number changes. */
static void look_for_change(tly_pto_crew *c, const uint32_t *number, uint32_t from) {
    const uint32_t num_looks = c->num_looks;
    pthread_mutex_unlock(&c->lock);
    for (uint32_t i = 0; i < num_looks && look(number) == from; i++) {
    }
    pthread_mutex_lock(&c->lock);
}

static uint32_t num_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

static void increment(uint32_t *number) {
    __atomic_store_n(number, *number + 1, __ATOMIC_RELAXED);
}

/* Takes jobs until there are none. The lock is held before and after. */
static void do_jobs(tly_pto_crew *c) {
    while (c->next_job < c->num_jobs) {
        uint32_t number = c->next_job++;
        pthread_mutex_unlock(&c->lock);
        uint64_t start = now_ns();
        c->job(c->user, number);
        uint64_t spent_ns = now_ns() - start;
        pthread_mutex_lock(&c->lock);
        c->spent_ns += spent_ns;
        increment(&c->num_done);
        if (c->num_done == c->num_jobs) {
            pthread_cond_signal(&c->done_all);
        }
    }
}

static void *work(void *user) {
    const tly_pto_worker *self = user;
    tly_pto_crew *c = self->crew;
    pthread_mutex_lock(&c->lock);
    while (!c->quit) {
        if (self->number < c->num_allowed) {
            do_jobs(c);
        }
        const uint32_t seen = c->num_posts;
        look_for_change(c, &c->num_posts, seen);
        while (!c->quit && c->num_posts == seen) {
            pthread_cond_wait(&c->posted_some, &c->lock);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

void tly_pto_crew_init(tly_pto_crew *c) {
    *c = (tly_pto_crew){0};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->posted_some, NULL);
    pthread_cond_init(&c->done_all, NULL);
}

void tly_pto_crew_cleanup(tly_pto_crew *c) {
    pthread_mutex_lock(&c->lock);
    c->quit = true;
    pthread_cond_broadcast(&c->posted_some);
    pthread_mutex_unlock(&c->lock);
    for (uint32_t i = 0; i < c->num_workers; i++) {
        pthread_join(c->workers[i].thread, NULL);
    }
    pthread_cond_destroy(&c->done_all);
    pthread_cond_destroy(&c->posted_some);
    pthread_mutex_destroy(&c->lock);
}

static void hire(tly_pto_crew *c, uint32_t wanted) {
    while (c->num_workers < wanted && c->num_workers < TLY_PTO_CREW_MAX) {
        tly_pto_worker *worker = &c->workers[c->num_workers];
        worker->crew = c;
        worker->number = c->num_workers;
        if (!tly_base_start_thread(&worker->thread, work, worker)) {
            return;
        }
        c->num_workers++;
    }
}

void tly_pto_crew_begin(tly_pto_crew *c) {
    c->num_quick = 0;
}

void tly_pto_crew_run(tly_pto_crew *c, uint32_t threads, uint32_t num_jobs, tly_pto_job job,
                      void *user) {
    if (threads > 1 && num_jobs > 1) {
        hire(c, threads - 1);
    }
    if (threads <= 1 || num_jobs <= 1 || c->num_workers == 0 || c->num_quick == QUICK_POSTS) {
        uint64_t start = threads > 1 ? now_ns() : 0;
        for (uint32_t i = 0; i < num_jobs; i++) {
            job(user, i);
        }
        if (threads > 1) {
            count_quick(c, now_ns() - start);
        }
        return;
    }
    c->spent_ns = 0;
    pthread_mutex_lock(&c->lock);
    c->job = job;
    c->user = user;
    c->num_jobs = num_jobs;
    c->next_job = 0;
    c->num_allowed = threads - 1;
    c->num_looks = threads <= num_processors() ? LOOKS : 0;
    __atomic_store_n(&c->num_done, 0, __ATOMIC_RELAXED);
    increment(&c->num_posts);
    pthread_cond_broadcast(&c->posted_some);
    do_jobs(c);
    while (c->num_done < num_jobs) {
        const uint32_t done = c->num_done;
        look_for_change(c, &c->num_done, done);
        if (c->num_done == done) {
            pthread_cond_wait(&c->done_all, &c->lock);
        }
    }
    count_quick(c, c->spent_ns);
    pthread_mutex_unlock(&c->lock);
}
