/* SPDX-License-Identifier: Apache-2.0 */
/* One product on a fetched matrix, from the request to the proof that it is right. */
#ifndef TLY_CLI_MULTIPLY_H
#define TLY_CLI_MULTIPLY_H

#include <tilery/gemm.h>
#include <tilery/panel.h>

#include "cli/bench.h"
#include "cli/fetch.h"

typedef struct tly_multiply_options {
    const char *address;
    const char *key;
    const char *kernel; /* name of an adapter */
    uint64_t m;         /* rows of A */
    uint64_t seed;      /* of the values of A */
    uint32_t runs;      /* samples of each time; 0: none are taken */
    int stored_nk;
    int pack_here; /* fetch B as it is kept, and pack it on this side */
    int plain;     /* no panel at all: the library's ordinary call on B as it is plain */
} tly_multiply_options;

/* What came of it. Plain memory. */
typedef struct tly_multiply_result {
    uint64_t m, n, k;
    uint64_t shape[2];                  /* of the stored tensor */
    tly_dtype dtype;                    /* of B */
    char version[TLY_GEMM_VERSION_LEN]; /* of the kernel library */
    char profile[320];                  /* the panel, as text */
    uint64_t bytes_fetched;             /* of the buffer that was multiplied from, or packed */
    uint64_t bytes_repacked; /* written by packing between the fetch and the product; 0 when
                                the kernel read the very bytes that came off the wire */
    uint64_t scratch_bytes;  /* most memory that the adapter took for the product */
    uint64_t peak_memory;    /* of the process, before the plain matrix was fetched for the check */
    double max_relative_error; /* tly_operand_error */
    double fetch_seconds;      /* of the panel */
    int has_panel; /* 0: a plain product; `profile` is "" and `panel` below is not there */
    int probed;    /* the library's own packer has agreed with the panel's template */
    int has_times;
    int has_plain;         /* plain below is there */
    tly_bench_times panel; /* one call on the panel */
    tly_bench_times plain; /* one call of the library on the plain matrix */
} tly_multiply_result;

/* Fetches B in the panel of the kernel, multiplies straight from the buffer, which is
 * write-protected by then, and only afterwards fetches B plain to compute the reference and to time
 * the plain call. Errors: those of the client and of gemm; NO_PANEL, UNSUPPORTED,
 * LAYOUT_UNAVAILABLE. */
tly_status tly_multiply(const tly_context *context, const tly_multiply_options *options,
                        tly_multiply_result *out_result, tly_error *error);

#endif
