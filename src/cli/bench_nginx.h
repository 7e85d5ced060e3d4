/* SPDX-License-Identifier: Apache-2.0 */
/* nginx and curl as what the server is held against: one worker, a folder of plain files. */
#ifndef TLY_CLI_BENCH_NGINX_H
#define TLY_CLI_BENCH_NGINX_H

#include <stdint.h>
#include <sys/types.h>

#include <tilery/status.h>

typedef struct tly_bench_nginx {
    const char *folder; /* of the caller; served, and used for nginx's own files */
    pid_t pid;
    uint16_t port;
    int tls;
} tly_bench_nginx;

/* Where a program is, looked for in PATH and the folders of system programs; 0 if nowhere. */
int tly_bench_find_program(const char *name, char *out, size_t capacity);

/* Starts nginx on a free port of 127.0.0.1, with `certificate` and `key` (PEM files) over TLS 1.3
 * if they are not NULL, and waits until it takes connections. Errors: NOT_FOUND (no nginx), IO. */
tly_status tly_bench_nginx_start(tly_bench_nginx *nginx, const char *folder,
                                 const char *certificate, const char *key, tly_error *error);
void tly_bench_nginx_stop(tly_bench_nginx *nginx);

/* Has curl fetch `file` into nothing; `out_seconds` is what curl itself says that it took, so its
 * start does not count. Errors: NOT_FOUND (no curl), IO, MISMATCH (not `len` bytes). */
tly_status tly_bench_curl(const tly_bench_nginx *nginx, const char *file, uint64_t len,
                          double *out_seconds, tly_error *error);

#endif
