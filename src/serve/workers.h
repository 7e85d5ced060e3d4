/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for jobs that may wait for another machine. Those of libuv's pool never do: so a store
 * that does not answer keeps only those waiting who want something of it. */
#ifndef TLY_SERVE_WORKERS_H
#define TLY_SERVE_WORKERS_H

#include <pthread.h>
#include <uv.h>

#define TLY_WORKERS_MAX 16 /* threads; started as they are needed */

/* A job; part of a larger object, which `work.data` is for. */
typedef struct serve_task {
    uv_work_t work; /* of libuv's pool; what both functions are given */
    struct serve_task *next;
    uv_work_cb run;
    uv_after_work_cb after;
} serve_task;

typedef struct serve_workers {
    uv_async_t done_some;
    int is_open, finishing;
    uint32_t num_out;      /* tasks that are not back; of the loop's thread */
    pthread_mutex_t mutex; /* for the rest */
    pthread_cond_t work_there;
    serve_task *first, *last; /* wait for a thread */
    serve_task *done, *last_done;
    uint32_t num_threads, num_idle;
    int stop;
    pthread_t threads[TLY_WORKERS_MAX];
} serve_workers;

/* Returns 0 where the loop has no room. */
int tly_workers_open(serve_workers *workers, uv_loop_t *loop);

/* Runs `run` on a thread, and `after` on the loop's when it is over. `waits`: it may wait for
 * another machine. Without a thread it runs on libuv's pool. */
void tly_workers_queue(serve_workers *workers, uv_loop_t *loop, int waits, serve_task *task,
                       uv_work_cb run, uv_after_work_cb after);

/* The handle goes when the last task is back; the loop has to run until then. */
void tly_workers_close(serve_workers *workers);

/* Ends the threads; the loop is closed. */
void tly_workers_cleanup(serve_workers *workers);

#endif
