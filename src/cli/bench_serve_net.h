/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmarks of the server against others over the network, and what they share: a folder with the
 * same bytes as a container and as a plain file, and our server on it in a process of its own. */
#ifndef TLY_CLI_BENCH_SERVE_NET_H
#define TLY_CLI_BENCH_SERVE_NET_H

#include <tilery/net.h>
#include <tilery/serve.h>

#include "cli/bench.h"
#include "cli/bench_nginx.h"

typedef struct tly_serve_rig {
    const tly_context *context;
    char folder[64];
    char container[96];   /* one tensor, "w" */
    char plain[96];       /* its bytes, in the folder as "w.bin" */
    char certificate[96]; /* where they may be put */
    char key[96];
    uint64_t len;
    char address[160]; /* of our server */
    pid_t server;
    int taken; /* by us, so that the server goes elsewhere; -1: nobody is bound */
    tly_bench_nginx nginx;
} tly_serve_rig;

/* Makes the folder with a matrix of rows x columns f32; the plain file only `with_plain`. */
tly_status tly_serve_rig_init(tly_serve_rig *rig, const tly_context *context, uint64_t rows,
                              uint64_t columns, int with_plain, tly_error *error);

/* Starts our server on `listen`; rig->address gets the address with its port. `options` may be
 * NULL. */
tly_status tly_serve_rig_serve(tly_serve_rig *rig, const char *listen,
                               const tly_server_options *options, tly_error *error);
void tly_serve_rig_cleanup(tly_serve_rig *rig);

/* Two sides that say themselves how long they took, by turns; each is called once before. */
typedef tly_status (*tly_serve_timed_fn)(void *user, double *out_seconds, tly_error *error);
tly_status tly_serve_compare(tly_bench *bench, tly_serve_timed_fn ours, tly_serve_timed_fn theirs,
                             void *user, tly_bench_times out_times[2], tly_error *error);

/* A case whose other side is not installed is skipped and says so. */
tly_status tly_serve_skip_missing(tly_bench *bench, const tly_bench_case *self, tly_status status,
                                  const tly_error *error);

tly_status tly_bench_serve_tcp(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_serve_tls(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_serve_handover(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_serve_clients(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_serve_first_byte(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error);

#endif
