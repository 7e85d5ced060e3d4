/* SPDX-License-Identifier: Apache-2.0 */
/* tilery check: one function for each kind of recording. */
#ifndef TLY_CLI_CHECK_VECTORS_H
#define TLY_CLI_CHECK_VECTORS_H

#include <stdio.h>

#include <tilery/context.h>
#include <tilery/status.h>

typedef struct tly_check_options {
    const char *only;   /* NULL: everything */
    uint32_t num_jobs;  /* threads */
    uint32_t max_shown; /* failures that are printed */
    FILE *out;
} tly_check_options;

typedef struct tly_check_counts {
    uint64_t passed;
    uint64_t failed;
} tly_check_counts;

/* Runs every case of a file of recordings of the PTO model and prints those that fail. Errors: IO,
 * MALFORMED (a line is no case; the message names file and line), OUT_OF_MEMORY. */
tly_status tly_check_pto(const tly_context *context, const char *path,
                         const tly_check_options *options, tly_check_counts *counts,
                         tly_error *error);

/* The same for recordings of the tensor format: a file of cases, a container or stream, or a folder
 * with any number of them. What is no file of cases counts as a failure. Errors: as above. */
tly_status tly_check_hurray(const tly_context *context, const char *path,
                            const tly_check_options *options, tly_check_counts *counts,
                            tly_error *error);

#endif
