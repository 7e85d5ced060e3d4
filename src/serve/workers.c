/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/workers.h"

#include "base/thread.h"

static void append(serve_task **first, serve_task **last, serve_task *task) {
    task->next = NULL;
    *(*first != NULL ? &(*last)->next : first) = task;
    *last = task;
}

static serve_task *take_first(serve_task **first) {
    serve_task *task = *first;
    *first = task->next;
    return task;
}

static void *work(void *user) {
    serve_workers *w = user;
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        serve_task *task;
        w->num_idle++;
        while (w->first == NULL && !w->stop) {
            pthread_cond_wait(&w->work_there, &w->mutex);
        }
        w->num_idle--;
        if (w->first == NULL) {
            break;
        }
        task = take_first(&w->first);
        pthread_mutex_unlock(&w->mutex);
        task->run(&task->work);
        pthread_mutex_lock(&w->mutex);
        append(&w->done, &w->last_done, task);
        uv_async_send(&w->done_some); /* before the loop may take the task: then the handle lives */
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

static void close_if_over(serve_workers *w) {
    if (w->finishing && w->num_out == 0 && w->is_open) {
        w->is_open = 0;
        uv_close((uv_handle_t *)&w->done_some, NULL);
    }
}

static void on_done(uv_async_t *async) {
    serve_workers *w = async->data;
    serve_task *list;
    pthread_mutex_lock(&w->mutex);
    list = w->done;
    w->done = NULL;
    pthread_mutex_unlock(&w->mutex);
    while (list != NULL) {
        serve_task *task = take_first(&list);
        w->num_out--;
        task->after(&task->work, 0);
    }
    close_if_over(w);
}

int tly_workers_open(serve_workers *workers, uv_loop_t *loop) {
    serve_workers *w = workers;
    w->done_some.data = w;
    if (uv_async_init(loop, &w->done_some, on_done) != 0) {
        return 0;
    }
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->work_there, NULL);
    w->is_open = 1;
    return 1;
}

/* One more thread, where all are busy. Returns how many there are. */
static uint32_t grow(serve_workers *w) {
    uint32_t waiting = 0;
    for (const serve_task *t = w->first; t != NULL && waiting <= w->num_idle; t = t->next) {
        waiting++;
    }
    if (waiting >= w->num_idle && w->num_threads < TLY_WORKERS_MAX) {
        w->num_threads += tly_base_start_thread(&w->threads[w->num_threads], work, w);
    }
    return w->num_threads;
}

void tly_workers_queue(serve_workers *workers, uv_loop_t *loop, int waits, serve_task *task,
                       uv_work_cb run, uv_after_work_cb after) {
    serve_workers *w = workers;
    int taken = 0;
    if (waits) {
        task->run = run;
        task->after = after;
        pthread_mutex_lock(&w->mutex);
        taken = grow(w) != 0;
        if (taken) {
            append(&w->first, &w->last, task);
            w->num_out++;
            pthread_cond_signal(&w->work_there);
        }
        pthread_mutex_unlock(&w->mutex);
    }
    if (!taken) {
        uv_queue_work(loop, &task->work, run, after); /* fails on NULL arguments only */
    }
}

void tly_workers_close(serve_workers *workers) {
    workers->finishing = 1;
    close_if_over(workers);
}

void tly_workers_cleanup(serve_workers *workers) {
    serve_workers *w = workers;
    if (w->done_some.data == NULL) {
        return; /* was never open */
    }
    pthread_mutex_lock(&w->mutex);
    w->stop = 1;
    pthread_cond_broadcast(&w->work_there);
    pthread_mutex_unlock(&w->mutex);
    for (uint32_t i = 0; i < w->num_threads; i++) {
        pthread_join(w->threads[i], NULL);
    }
    pthread_cond_destroy(&w->work_there);
    pthread_mutex_destroy(&w->mutex);
}
