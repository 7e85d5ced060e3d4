/* SPDX-License-Identifier: Apache-2.0 */
/* A bar on standard error for work that takes long, if that is a terminal. */
#ifndef TLY_CLI_PROGRESS_H
#define TLY_CLI_PROGRESS_H

#include <stdint.h>

/* Plain memory. Single-owner. */
typedef struct tly_progress {
    const char *label;
    uint64_t total; /* bytes */
    double started;
    double shown; /* when the bar was last drawn; 0: never */
    int enabled;
} tly_progress;

/* Draws nothing before 0.2 s have passed. `label` must live as long. */
void tly_progress_init(tly_progress *progress, const char *label, uint64_t total);
void tly_progress_update(tly_progress *progress, uint64_t done);

/* Takes the bar away. */
void tly_progress_finish(tly_progress *progress);

#endif
