/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tilery/store.h>

#include "base/error.h"
#include "cli/bench_serve_net.h"

static tly_status write_plain(const char *path, const void *bytes, uint64_t len, tly_error *error) {
    FILE *out = fopen(path, "we");
    int ok = out != NULL && fwrite(bytes, 1, (size_t)len, out) == len;
    if (out != NULL && fclose(out) != 0) {
        ok = 0;
    }
    return ok ? TLY_OK : tly_base_fail_errno(error, errno, "cannot write %s", path);
}

static tly_status write_container(const tly_serve_rig *rig, const uint64_t *shape,
                                  const void *bytes, tly_error *error) {
    tly_store_writer *writer;
    tly_buffer_info buffer;
    tly_descriptor d;
    tly_status status = tly_store_writer_new(rig->context, rig->container, NULL, &writer, error);
    if (status != TLY_OK) {
        return status;
    }
    tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 2, shape);
    status = tly_store_writer_begin(writer, "w", 1, &d, error);
    if (status == TLY_OK) {
        status = tly_store_writer_append(writer, bytes, rig->len, error);
    }
    if (status == TLY_OK) {
        status = tly_store_writer_end(writer, error);
    }
    if (status == TLY_OK) {
        status = tly_store_writer_commit(writer, error);
    }
    tly_store_writer_free(writer);
    return status;
}

tly_status tly_serve_rig_init(tly_serve_rig *rig, const tly_context *context, uint64_t rows,
                              uint64_t columns, int with_plain, tly_error *error) {
    const uint64_t shape[] = {rows, columns};
    tly_status status;
    void *bytes;
    memset(rig, 0, sizeof *rig);
    rig->context = context;
    rig->taken = -1;
    rig->len = rows * columns * 4;
    snprintf(rig->folder, sizeof rig->folder, "/tmp/tilery-bench-XXXXXX");
    if (mkdtemp(rig->folder) == NULL) {
        rig->folder[0] = '\0';
        return tly_base_fail_errno(error, errno, "cannot make a folder in /tmp");
    }
    snprintf(rig->container, sizeof rig->container, "%s/w.hrry", rig->folder);
    snprintf(rig->certificate, sizeof rig->certificate, "%s/cert.pem", rig->folder);
    snprintf(rig->key, sizeof rig->key, "%s/key.pem", rig->folder);
    snprintf(rig->plain, sizeof rig->plain, "%s/w.bin", rig->folder);
    bytes =
        mmap(NULL, (size_t)rig->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a tensor");
    }
    tly_bench_fill_f32(bytes, (size_t)rig->len, 7);
    status = with_plain ? write_plain(rig->plain, bytes, rig->len, error) : TLY_OK;
    if (status == TLY_OK) {
        status = write_container(rig, shape, bytes, error);
    }
    munmap(bytes, (size_t)rig->len);
    return status;
}

/* In the child: says the address, then serves until it is killed. */
static void serve(const tly_serve_rig *rig, const char *listen, const tly_server_options *options,
                  int out) {
    const char *address;
    tly_catalogue *catalogue;
    tly_server *server;
    tly_error error;
    if (tly_catalogue_new(rig->context, &catalogue, &error) != TLY_OK ||
        tly_catalogue_add_file(catalogue, rig->container, &error) != TLY_OK ||
        tly_server_new(rig->context, catalogue, options, &server, &error) != TLY_OK ||
        tly_server_listen(server, listen, &error) != TLY_OK) {
        fprintf(stderr, "tilery: bench: %s\n", error.message);
        _exit(1);
    }
    address = tly_server_address(server, 0);
    if (write(out, address, strlen(address) + 1) < 0) {
        _exit(1);
    }
    close(out);
    tly_server_run(server, &error);
    _exit(0);
}

tly_status tly_serve_rig_serve(tly_serve_rig *rig, const char *listen,
                               const tly_server_options *options, tly_error *error) {
    pid_t parent = getpid();
    int ready[2];
    ssize_t n;
    if (pipe(ready) != 0) {
        return tly_base_fail_errno(error, errno, "cannot make a pipe");
    }
    rig->server = fork();
    if (rig->server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);
        }
        tly_bench_pin_other(rig->taken);
        close(ready[0]);
        serve(rig, listen, options, ready[1]);
    }
    close(ready[1]);
    n = read(ready[0], rig->address, sizeof rig->address - 1);
    close(ready[0]);
    if (rig->server < 0 || n <= 0) {
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "the server does not start");
    }
    return TLY_OK;
}

void tly_serve_rig_cleanup(tly_serve_rig *rig) {
    tly_bench_nginx_stop(&rig->nginx);
    if (rig->server > 0) {
        kill(rig->server, SIGKILL);
        waitpid(rig->server, NULL, 0);
    }
    if (rig->folder[0] != '\0') {
        static const char *const names[] = {"w.hrry",    "w.bin",    "s",       "nginx.conf",
                                            "nginx.log", "cert.pem", "key.pem", "t1",
                                            "t2",        "t3",       "t4",      "t5"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            char path[128];
            snprintf(path, sizeof path, "%s/%s", rig->folder, names[i]);
            remove(path);
        }
        rmdir(rig->folder);
    }
}

tly_status tly_serve_compare(tly_bench *bench, tly_serve_timed_fn ours, tly_serve_timed_fn theirs,
                             void *user, tly_bench_times out_times[2], tly_error *error) {
    tly_serve_timed_fn sides[2] = {ours, theirs};
    uint32_t runs = tly_bench_runs(bench);
    double *samples[2] = {calloc(runs, sizeof(double)), calloc(runs, sizeof(double))};
    tly_status status = samples[0] != NULL && samples[1] != NULL ? TLY_OK : TLY_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < 2 && status == TLY_OK; i++) {
        double warm;
        status = sides[i](user, &warm, error);
    }
    for (uint32_t round = 0; round < runs && status == TLY_OK; round++) {
        for (uint32_t i = 0; i < 2 && status == TLY_OK; i++) {
            uint32_t side = (round + i) % 2;
            status = sides[side](user, &samples[side][round], error);
        }
    }
    for (uint32_t i = 0; i < 2 && status == TLY_OK; i++) {
        tly_bench_summarise(samples[i], runs, &out_times[i]);
    }
    free(samples[0]);
    free(samples[1]);
    return status;
}

tly_status tly_serve_skip_missing(tly_bench *bench, const tly_bench_case *self, tly_status status,
                                  const tly_error *error) {
    if (status == TLY_NOT_FOUND || status == TLY_MODULE) {
        tly_bench_skip(bench, self, "%s", error->message);
        return TLY_OK;
    }
    return status;
}
