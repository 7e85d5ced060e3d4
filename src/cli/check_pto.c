/* SPDX-License-Identifier: Apache-2.0 */
/* tilery check pto: files of recorded cases, by several threads. */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "cli/check_vectors.h"
#include "cli/lines.h"
#include "cli/pto_case.h"
#include "pto/create.h"

enum { NUM_QUEUES = 4, MAX_JOBS = 64, ID_LEN = 64 };

/* What the threads share: a file is read line by line under the lock. */
typedef struct shared_work {
    pthread_mutex_t lock;
    tly_lines lines;
    const tly_context *context;
    const tly_check_options *options;
    tly_check_counts counts;
    tly_status status; /* the first error ends all */
    tly_error error;
} shared_work;

/* The two machines of a thread, made anew when a case wants other memory. */
typedef struct pair {
    tly_pto_machine *machine;
    tly_pto_machine *expected;
    uint64_t memory_bytes;
    uint64_t app_limit;
} pair;

static void pair_cleanup(pair *p) {
    tly_pto_machine_free(p->machine);
    tly_pto_machine_free(p->expected);
    memset(p, 0, sizeof(*p));
}

static tly_status pair_for(pair *p, const tly_context *context, json_t *recorded,
                           tly_error *error) {
    tly_pto_config config = {.num_queues = NUM_QUEUES, .release = TLY_ISA_0_58_3};
    tly_pto_case_memory(recorded, &config.memory_bytes, &config.app_limit);
    if (p->machine != NULL && p->memory_bytes == config.memory_bytes &&
        p->app_limit == config.app_limit) {
        return TLY_OK;
    }
    pair_cleanup(p);
    p->memory_bytes = config.memory_bytes;
    p->app_limit = config.app_limit;
    tly_status status = tly_pto_machine_new(context, &config, &p->machine, error);
    return status != TLY_OK ? status : tly_pto_machine_new(context, &config, &p->expected, error);
}

static bool wanted(const tly_check_options *options, json_t *recorded) {
    static const char *const keys[] = {"form", "id", "asm", "group"};
    for (size_t i = 0; options->only != NULL && i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *text = json_string_value(json_object_get(recorded, keys[i]));
        if (text != NULL && strstr(text, options->only) != NULL) {
            return true;
        }
    }
    return options->only == NULL;
}

static tly_status run_line(shared_work *w, pair *p, const char *line, size_t len, uint64_t number) {
    json_error_t why;
    tly_error error = {0};
    tly_pto_verdict_text verdict;
    json_t *recorded = json_loadb(line, len, 0, &why);
    if (recorded == NULL || json_object_get(recorded, "words") == NULL) {
        json_decref(recorded);
        pthread_mutex_lock(&w->lock);
        w->status =
            tly_base_fail(&w->error, TLY_MALFORMED, TLY_NO_OFFSET, "vector-line",
                          "%s: line %" PRIu64 " is no recorded case", w->lines.path, number);
        pthread_mutex_unlock(&w->lock);
        return TLY_MALFORMED;
    }
    tly_status status = TLY_OK;
    if (wanted(w->options, recorded)) {
        status = pair_for(p, w->context, recorded, &error);
        if (status == TLY_OK) {
            status = tly_pto_case_run(recorded, p->machine, p->expected, &verdict, &error);
        }
        pthread_mutex_lock(&w->lock);
        if (status != TLY_OK) {
            w->status =
                tly_base_fail(&w->error, status, TLY_NO_OFFSET, error.rule,
                              "%s: line %" PRIu64 ": %s", w->lines.path, number, error.message);
        } else if (verdict.passed) {
            w->counts.passed++;
        } else if (w->counts.failed++ < w->options->max_shown) {
            const char *id = json_string_value(json_object_get(recorded, "id"));
            const char *text = json_string_value(json_object_get(recorded, "asm"));
            fprintf(w->options->out, "FAIL %s (%s): %s\n", id != NULL ? id : "?",
                    text != NULL ? text : "?", verdict.text);
        }
        pthread_mutex_unlock(&w->lock);
    }
    json_decref(recorded);
    return status;
}

static void *work(void *user) {
    shared_work *w = user;
    pair p = {0};
    char *copy = NULL;
    size_t capacity = 0;
    for (;;) {
        const char *line = NULL;
        size_t len = 0;
        pthread_mutex_lock(&w->lock);
        tly_status status = w->status;
        if (status == TLY_OK) {
            status = w->status = tly_lines_next(&w->lines, &line, &len, &w->error);
        }
        if (line != NULL && len > capacity) {
            char *grown = realloc(copy, 2 * len);
            capacity = grown != NULL ? len : capacity;
            copy = grown != NULL ? grown : copy;
            if (grown == NULL) {
                status = w->status =
                    tly_base_fail(&w->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "out of memory");
            }
        }
        uint64_t number = w->lines.number;
        if (status == TLY_OK && line != NULL) {
            len = tly_lines_quote(line, len, copy);
        }
        pthread_mutex_unlock(&w->lock);
        if (status != TLY_OK || line == NULL ||
            (len > 0 && run_line(w, &p, copy, len, number) != TLY_OK)) {
            break;
        }
    }
    free(copy);
    pair_cleanup(&p);
    return NULL;
}

tly_status tly_check_pto(const tly_context *context, const char *path,
                         const tly_check_options *options, tly_check_counts *counts,
                         tly_error *error) {
    shared_work w = {.context = context, .options = options};
    pthread_t threads[MAX_JOBS];
    uint32_t num_threads = 0;
    tly_status status = tly_lines_init(&w.lines, path, error);
    if (status != TLY_OK) {
        return status;
    }
    pthread_mutex_init(&w.lock, NULL);
    for (; num_threads + 1 < options->num_jobs && num_threads < MAX_JOBS; num_threads++) {
        if (pthread_create(&threads[num_threads], NULL, work, &w) != 0) {
            break;
        }
    }
    work(&w);
    while (num_threads > 0) {
        pthread_join(threads[--num_threads], NULL);
    }
    pthread_mutex_destroy(&w.lock);
    tly_lines_cleanup(&w.lines);
    counts->passed += w.counts.passed;
    counts->failed += w.counts.failed;
    if (w.status != TLY_OK && error != NULL) {
        *error = w.error;
    }
    return w.status;
}
