/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do a few jobs at a time and wait for the next ones. */
#ifndef TLY_PTO_CREW_H
#define TLY_PTO_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { TLY_PTO_CREW_MAX = 3 }; /* threads beside the caller's */

typedef void (*tly_pto_job)(void *user, uint32_t number);

struct tly_pto_crew;

typedef struct tly_pto_worker {
    struct tly_pto_crew *crew;
    uint32_t number;
    pthread_t thread;
} tly_pto_worker;

/* Memory of the caller; does not move. Single-owner. */
typedef struct tly_pto_crew {
    pthread_mutex_t lock;
    pthread_cond_t posted_some;
    pthread_cond_t done_all;
    tly_pto_job job;
    void *user;
    uint32_t num_jobs;
    uint32_t next_job;
    uint32_t num_done;    /* written with the lock; read without it too */
    uint32_t num_posts;   /* the same */
    uint32_t num_allowed; /* workers that may take jobs of this post */
    uint32_t num_looks;   /* before a thread sleeps */
    uint32_t num_quick;   /* posts in a row whose jobs took next to no time */
    uint64_t spent_ns;    /* by the jobs of this post, all together */
    bool quit;
    uint32_t num_workers;
    tly_pto_worker workers[TLY_PTO_CREW_MAX];
} tly_pto_crew;

void tly_pto_crew_init(tly_pto_crew *crew);
void tly_pto_crew_cleanup(tly_pto_crew *crew);

/* What was learned of the jobs does not hold for those that follow. */
void tly_pto_crew_begin(tly_pto_crew *crew);

/* Does job(user, 0) .. job(user, num_jobs - 1), on up to `threads` threads with the caller's, and
 * returns when all are done. Threads are made when they are first asked for and then kept; where
 * the system gives fewer, fewer work. Where jobs take next to no time, post after post, the caller
 * does them alone. */
void tly_pto_crew_run(tly_pto_crew *crew, uint32_t threads, uint32_t num_jobs, tly_pto_job job,
                      void *user);

#endif
