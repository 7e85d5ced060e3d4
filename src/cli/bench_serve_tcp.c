/* SPDX-License-Identifier: Apache-2.0 */
/* One large tensor over the network, with and without TLS: our server and our client against nginx
 * and curl, each pair from connecting to the last byte. curl throws the bytes away; our client
 * keeps them in fresh memory, as one that is going to use them does. */
#include <stdio.h>

#include "base/error.h"
#include "cli/bench_serve_net.h"

#define ROWS    UINT64_C(4096)
#define COLUMNS UINT64_C(16384) /* 256 MiB of f32 */

static tly_status fetch(void *user, double *out_seconds, tly_error *error) {
    tly_serve_rig *rig = user;
    tly_fetch_request request = {.size = sizeof request, .key = "w"};
    double started = tly_bench_now();
    tly_fetched *fetched = NULL;
    tly_tls_options tls = {.size = sizeof tls, .ca = rig->certificate};
    tly_client_options options = {.size = sizeof options, .tls = &tls};
    tly_client *client;
    tly_status status = tly_client_connect(rig->context, rig->address, &options, &client, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_client_fetch(client, &request, &fetched, error);
    *out_seconds = tly_bench_now() - started;
    if (status == TLY_OK && tly_fetched_len(fetched) != rig->len) {
        status = tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "", "the tensor is too short");
    }
    tly_fetched_free(fetched);
    tly_client_free(client);
    return status;
}

static tly_status curl(void *user, double *out_seconds, tly_error *error) {
    tly_serve_rig *rig = user;
    return tly_bench_curl(&rig->nginx, "w.bin", rig->len, out_seconds, error);
}

/* A certificate for 127.0.0.1 that signs itself. */
static tly_status make_certificate(const tly_serve_rig *rig, tly_error *error) {
    char program[512];
    const char *argv[] = {program,
                          "req",
                          "-x509",
                          "-newkey",
                          "ec",
                          "-pkeyopt",
                          "ec_paramgen_curve:P-256",
                          "-nodes",
                          "-subj",
                          "/CN=tilery-bench",
                          "-addext",
                          "subjectAltName=IP:127.0.0.1",
                          "-days",
                          "2",
                          "-keyout",
                          rig->key,
                          "-out",
                          rig->certificate,
                          NULL};
    if (!tly_bench_find_program("openssl", program, sizeof program)) {
        return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "no-openssl",
                             "the program openssl is not installed");
    }
    return tly_bench_spawn(argv, NULL, error);
}

static tly_status compare(tly_bench *bench, const tly_bench_case *self, int secure,
                          tly_error *error) {
    tly_bench_times times[2];
    tly_serve_rig rig;
    tly_tls_options tls = {.size = sizeof tls};
    tly_server_options options = {.size = sizeof options, .tls = &tls};
    tly_status status = tly_serve_rig_init(&rig, tly_bench_context(bench), ROWS, COLUMNS, 1, error);
    if (status == TLY_OK && secure) {
        status = make_certificate(&rig, error);
        tls.certificate = rig.certificate;
        tls.key = rig.key;
    }
    if (status == TLY_OK) {
        status = tly_bench_nginx_start(&rig.nginx, rig.folder, secure ? rig.certificate : NULL,
                                       secure ? rig.key : NULL, error);
    }
    if (status == TLY_OK) {
        status = tly_serve_rig_serve(&rig, secure ? "tls:127.0.0.1:0" : "tcp:127.0.0.1:0", &options,
                                     error);
    }
    if (status == TLY_OK) {
        status = tly_serve_compare(bench, fetch, curl, &rig, times, error);
    }
    if (status == TLY_OK) {
        tly_bench_report_rate(bench, self, self->name, (double)rig.len * 1e-9, &times[0], &times[1],
                              "");
    }
    tly_serve_rig_cleanup(&rig);
    return tly_serve_skip_missing(bench, self, status, error);
}

tly_status tly_bench_serve_tcp(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    return compare(bench, self, 0, error);
}

tly_status tly_bench_serve_tls(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    return compare(bench, self, 1, error);
}
