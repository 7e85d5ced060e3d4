/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do the parts of a round: each job once, side by side where it takes time, on the
 * caller's thread where it does not. */
#include "check.h"

#include <stdbool.h>
#include <time.h>

#include "pto/crew.h"

enum { MAX_JOBS = 4, ENOUGH_QUICK_POSTS = 100 };

typedef struct seen {
    uint32_t num_runs[MAX_JOBS];
    pthread_t thread[MAX_JOBS];
    uint32_t num_started; /* by __atomic operations */
    bool wait;            /* each job waits until all have started */
    uint32_t num_jobs;
} seen;

static void pause_us(long us) {
    const struct timespec time = {.tv_nsec = us * 1000};
    nanosleep(&time, NULL);
}

static void job(void *user, uint32_t number) {
    seen *s = user;
    s->num_runs[number]++;
    s->thread[number] = pthread_self();
    __atomic_fetch_add(&s->num_started, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0;
         s->wait && i < 50000 && __atomic_load_n(&s->num_started, __ATOMIC_SEQ_CST) < s->num_jobs;
         i++) {
        pause_us(100);
    }
}

static void slow_job(void *user, uint32_t number) {
    (void)user, (void)number;
    pause_us(1000);
}

static seen run(tly_pto_crew *crew, uint32_t threads, uint32_t num_jobs, bool wait) {
    seen s = {.wait = wait, .num_jobs = num_jobs};
    tly_pto_crew_run(crew, threads, num_jobs, job, &s);
    for (uint32_t i = 0; i < num_jobs; i++) {
        assert_int_equal(s.num_runs[i], 1);
    }
    return s;
}

static uint32_t on_other_threads(const seen *s) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->num_jobs; i++) {
        count += !pthread_equal(s->thread[i], pthread_self());
    }
    return count;
}

/* As many jobs as threads can only wait for each other when all of them run. */
static void jobs_run_side_by_side(void **state) {
    (void)state;
    tly_pto_crew crew;
    tly_pto_crew_init(&crew);
    for (uint32_t threads = 2; threads <= MAX_JOBS; threads++) {
        seen s = run(&crew, threads, threads, true);
        assert_int_equal(on_other_threads(&s), threads - 1);
    }
    seen s = run(&crew, 2, 2, true); /* there are more threads than may work now */
    assert_int_equal(on_other_threads(&s), 1);
    tly_pto_crew_cleanup(&crew);
}

static void one_thread_is_the_callers(void **state) {
    (void)state;
    tly_pto_crew crew;
    tly_pto_crew_init(&crew);
    for (uint32_t num_jobs = 0; num_jobs <= MAX_JOBS; num_jobs++) {
        seen s = run(&crew, 1, num_jobs, false);
        assert_int_equal(on_other_threads(&s), 0);
    }
    assert_int_equal(crew.num_workers, 0);
    tly_pto_crew_cleanup(&crew);
}

/* Until one of them takes time, or the crew begins anew. A quick job may seem slow on a busy
 * machine, so it is tried again. */
static void quick_jobs_are_done_alone(void **state) {
    (void)state;
    tly_pto_crew crew;
    tly_pto_crew_init(&crew);
    for (uint32_t anew = 0; anew < 2; anew++) {
        seen s = {0};
        bool alone = false;
        for (uint32_t attempt = 0; attempt < 100 && !alone; attempt++) {
            for (uint32_t i = 0; i < ENOUGH_QUICK_POSTS; i++) {
                s = run(&crew, 2, 2, false);
            }
            alone = crew.num_quick != 0 && on_other_threads(&s) == 0;
        }
        assert_true(alone);
        if (anew != 0) {
            tly_pto_crew_begin(&crew);
        } else {
            tly_pto_crew_run(&crew, 2, 2, slow_job, NULL);
        }
        s = run(&crew, 2, 2, true);
        assert_int_equal(on_other_threads(&s), 1);
    }
    tly_pto_crew_cleanup(&crew);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_side_by_side),
        cmocka_unit_test(one_thread_is_the_callers),
        cmocka_unit_test(quick_jobs_are_done_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
