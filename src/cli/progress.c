/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/text.h"

#define BAR 30

void tly_progress_init(tly_progress *progress, const char *label, uint64_t total) {
    progress->label = label;
    progress->total = total;
    progress->started = tly_bench_now();
    progress->shown = 0;
    progress->enabled = isatty(STDERR_FILENO);
}

void tly_progress_update(tly_progress *progress, uint64_t done) {
    char bar[BAR + 1], have[32], all[32], rate[32];
    double now, fraction;
    if (!progress->enabled) {
        return;
    }
    now = tly_bench_now();
    if (now - progress->started < 0.2 || (progress->shown != 0 && now - progress->shown < 0.1)) {
        return;
    }
    progress->shown = now;
    fraction = progress->total != 0 ? (double)done / (double)progress->total : 1;
    fraction = fraction > 1 ? 1 : fraction;
    for (int i = 0; i < BAR; i++) {
        bar[i] = i < (int)(fraction * BAR) ? '#' : '.';
    }
    bar[BAR] = '\0';
    fprintf(
        stderr, "\r\033[K%s [%s] %3.0f%%  %s of %s  %s/s", progress->label, bar, 100 * fraction,
        tly_text_bytes(have, sizeof have, done), tly_text_bytes(all, sizeof all, progress->total),
        tly_text_bytes(rate, sizeof rate, (uint64_t)((double)done / (now - progress->started))));
    fflush(stderr);
}

void tly_progress_finish(tly_progress *progress) {
    if (progress->enabled && progress->shown != 0) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
