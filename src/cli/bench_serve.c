/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching over a Unix socket against a bare loop of sendmsg and recv that moves the same bytes:
 * same sources, same chunk, same socket buffers, fresh memory at the receiver, each end on a
 * processor of its own. Server and bare sender are processes of their own; the bytes lie in memory
 * that both map.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tilery/net.h>
#include <tilery/serve.h>

#include "base/error.h"
#include "cli/bench.h"
#include "cli/bench_serve_net.h"
#include "net/memory.h"

extern const tly_bench_group tly_bench_serve;

#define K_EXTENT   UINT64_C(4096)
#define N_EXTENT   UINT64_C(16384)
#define TENSOR_LEN (K_EXTENT * N_EXTENT * 4) /* 256 MiB of f32 */
#define NUM_SLOTS  5                         /* together more than 1 GiB */
#define CHUNK_LEN  (1u << 20)                /* what the server sends at a time by default */

/* Both senders and the one receiver. */
typedef struct rig {
    tly_bench *bench;
    const tly_context *context;
    uint8_t *slots;
    pid_t server, sender;
    int bare; /* our end of the bare connection */
    char folder[64];
    char address[96];
    tly_client *client;
    const tly_fetch_layout *layout; /* NULL: native */
    uint32_t num_layouts;
} rig;

/* ---- the other processes ---- */

static void child_of(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
}

static void run_server(const rig *r, int ready) {
    static const uint64_t shape[] = {K_EXTENT, N_EXTENT};
    tly_catalogue *catalogue;
    tly_server *server;
    tly_error error;
    if (tly_catalogue_new(r->context, &catalogue, &error) != TLY_OK) {
        _exit(1);
    }
    for (uint32_t i = 0; i < NUM_SLOTS; i++) {
        tly_descriptor d;
        tly_buffer_info buffer;
        char key[16];
        uint8_t *slot = r->slots + i * TENSOR_LEN;
        tly_bench_fill_f32(slot, TENSOR_LEN, i);
        snprintf(key, sizeof key, "t%u", i);
        tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 2, shape);
        if (tly_catalogue_add_tensor(catalogue, key, &d, slot, TENSOR_LEN, &error) != TLY_OK) {
            _exit(1);
        }
    }
    if (tly_server_new(r->context, catalogue, NULL, &server, &error) != TLY_OK ||
        tly_server_listen(server, r->address, &error) != TLY_OK || write(ready, "r", 1) != 1) {
        _exit(1);
    }
    tly_server_run(server, &error);
    _exit(0);
}

/* Sends the slot whose number comes in, over and over. */
static void run_sender(const rig *r, int fd) {
    uint8_t slot;
    while (read(fd, &slot, 1) == 1 && slot < NUM_SLOTS) {
        const uint8_t *at = r->slots + slot * TENSOR_LEN;
        uint64_t left = TENSOR_LEN;
        while (left != 0) {
            ssize_t n = send(fd, at, left < CHUNK_LEN ? left : CHUNK_LEN, MSG_NOSIGNAL);
            if (n < 0) {
                _exit(1);
            }
            at += n;
            left -= (uint64_t)n;
        }
    }
    _exit(0);
}

static tly_status rig_fork(rig *r, int taken, tly_error *error) {
    int pair[2], ready[2];
    char byte;
    pid_t parent = getpid();
    if (pipe(ready) != 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return tly_base_fail_errno(error, errno, "cannot make a pair of sockets");
    }
    r->server = fork();
    if (r->server == 0) {
        child_of(parent);
        tly_bench_pin_other(taken);
        run_server(r, ready[1]);
    }
    close(ready[1]);
    if (r->server < 0 || read(ready[0], &byte, 1) != 1) {
        close(ready[0]);
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "the server does not start");
    }
    close(ready[0]);
    r->sender = fork();
    if (r->sender == 0) {
        child_of(parent);
        tly_bench_pin_other(taken);
        close(pair[0]);
        run_sender(r, pair[1]);
    }
    close(pair[1]);
    r->bare = pair[0];
    return r->sender < 0 ? tly_base_fail_errno(error, errno, "cannot fork") : TLY_OK;
}

static void rig_cleanup(rig *r) {
    tly_client_free(r->client);
    if (r->bare >= 0) {
        close(r->bare);
    }
    if (r->server > 0) {
        kill(r->server, SIGKILL);
        waitpid(r->server, NULL, 0);
    }
    if (r->sender > 0) {
        kill(r->sender, SIGKILL);
        waitpid(r->sender, NULL, 0);
    }
    if (r->folder[0] != '\0') {
        unlink(r->address + 5);
        rmdir(r->folder);
    }
    if (r->slots != NULL) {
        munmap(r->slots, NUM_SLOTS * TENSOR_LEN);
    }
    tly_bench_unpin();
}

static tly_status rig_init(rig *r, tly_bench *bench, tly_error *error) {
    void *slots;
    int taken;
    tly_status status;
    memset(r, 0, sizeof *r);
    r->bench = bench;
    r->context = tly_bench_context(bench);
    r->bare = -1;
    taken = tly_bench_pin();
    slots = mmap(NULL, NUM_SLOTS * TENSOR_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    if (slots == MAP_FAILED) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for %d tensors of 256 MiB", NUM_SLOTS);
    }
    r->slots = slots;
    snprintf(r->folder, sizeof r->folder, "/tmp/tilery-bench-XXXXXX");
    if (mkdtemp(r->folder) == NULL) {
        r->folder[0] = '\0';
        return tly_base_fail_errno(error, errno, "cannot make a folder in /tmp");
    }
    snprintf(r->address, sizeof r->address, "unix:%s/s", r->folder);
    status = rig_fork(r, taken, error);
    if (status == TLY_OK) {
        status = tly_client_connect(r->context, r->address, NULL, &r->client, error);
    }
    return status;
}

/* ---- the two sides ---- */

static tly_status fetch_once(void *user, uint64_t turn, tly_error *error) {
    rig *r = user;
    char key[16];
    tly_fetch_request request = {.size = sizeof request,
                                 .key = key,
                                 .layouts = r->layout,
                                 .num_layouts = r->num_layouts,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched;
    tly_status status;
    snprintf(key, sizeof key, "t%u", (unsigned)(turn % NUM_SLOTS));
    status = tly_client_fetch(r->client, &request, &fetched, error);
    if (status == TLY_OK && tly_fetched_choice(fetched) >= r->num_layouts && r->layout != NULL) {
        status = tly_base_fail(error, TLY_LAYOUT_UNAVAILABLE, TLY_NO_OFFSET, "",
                               "the server did not pack");
    }
    tly_fetched_free(fetched);
    return status;
}

static tly_status receive_once(void *user, uint64_t turn, tly_error *error) {
    rig *r = user;
    uint8_t slot = (uint8_t)(turn % NUM_SLOTS);
    tly_net_block block;
    uint64_t done = 0;
    if (!tly_net_block_init(r->context, TENSOR_LEN, 64, &block)) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory to receive");
    }
    if (write(r->bare, &slot, 1) != 1) {
        tly_net_block_cleanup(r->context, &block);
        return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "", "the bare sender is gone");
    }
    while (done < TENSOR_LEN) {
        uint64_t left = TENSOR_LEN - done;
        ssize_t n =
            recv(r->bare, (uint8_t *)block.at + done, left < CHUNK_LEN ? left : CHUNK_LEN, 0);
        if (n <= 0) {
            tly_net_block_cleanup(r->context, &block);
            return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "", "the bare sender is gone");
        }
        done += (uint64_t)n;
    }
    tly_net_block_cleanup(r->context, &block);
    return TLY_OK;
}

static tly_status compare(tly_bench *bench, const tly_bench_case *self,
                          const tly_fetch_layout *layout, tly_error *error) {
    tly_bench_times times[2];
    rig r;
    tly_status status = rig_init(&r, bench, error);
    r.layout = layout;
    r.num_layouts = layout != NULL ? 1 : 0;
    if (status == TLY_OK) {
        tly_bench_side sides[] = {{"fetch", fetch_once, &r}, {"bare loop", receive_once, &r}};
        status = tly_bench_compare(bench, sides, 2, times, error);
    }
    if (status == TLY_OK) {
        tly_bench_report_rate(bench, self, self->name, (double)TENSOR_LEN * 1e-9, &times[0],
                              &times[1], "");
    }
    rig_cleanup(&r);
    return status;
}

static tly_status run_native(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    return compare(bench, self, NULL, error);
}

static tly_status run_panel64(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    tly_panel_profile profile;
    tly_fetch_layout layout = {.profile = &profile};
    tly_status status = tly_panel_by_name("ba16a64b", TLY_F32, 0, &profile, error);
    return status == TLY_OK ? compare(bench, self, &layout, error) : status;
}

/* ---- memory ---- */

static tly_status fetch_in_child(void *user, void *out, size_t out_len, tly_error *error) {
    rig *r = user;
    uint64_t peak;
    tly_status status = tly_client_connect(r->context, r->address, NULL, &r->client, error);
    (void)out_len;
    if (status == TLY_OK) {
        status = fetch_once(r, 0, error);
    }
    peak = tly_bench_peak_memory();
    memcpy(out, &peak, sizeof peak);
    return status;
}

static tly_status run_memory(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    uint64_t peak = 0;
    rig r;
    tly_status status = rig_init(&r, bench, error);
    if (status == TLY_OK) {
        status = tly_bench_fork(fetch_in_child, &r, NULL, &peak, sizeof peak, error);
    }
    if (status == TLY_OK && peak == 0) {
        tly_bench_skip(bench, self, "the system does not say how much memory a process used");
    } else if (status == TLY_OK) {
        tly_bench_report(bench, self, self->name, (double)peak, (double)TENSOR_LEN, 1, 0,
                         "peak of the whole process against the tensor");
    }
    rig_cleanup(&r);
    return status;
}

static const tly_bench_case cases[] = {
    {"serve.unix.256MiB", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "fetch in the native layout against a bare loop of send and recv", run_native},
    {"serve.unix.panel64", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "fetch of a BA16a64b panel, packed on the fly, against the same loop", run_panel64},
    {"serve.client_memory", "bytes", TLY_BENCH_BETTER_LOWER,
     "peak memory of a client that fetches 256 MiB", run_memory},
    {"serve.tcp.256MiB", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "fetch over loopback TCP against nginx and curl", tly_bench_serve_tcp},
    {"serve.tls.256MiB", "GB/s", TLY_BENCH_BETTER_HIGHER, "the same over TLS 1.3",
     tly_bench_serve_tls},
    {"serve.handover.1GiB", "ms", TLY_BENCH_BETTER_LOWER,
     "local hand-over of a packed tensor against one of 1 MiB", tly_bench_serve_handover},
    {"serve.clients.2000", "requests/s", TLY_BENCH_BETTER_HIGHER,
     "2000 clients at once that fetch 64 KiB each, against nginx", tly_bench_serve_clients},
    {"serve.cached.first_byte", "us", TLY_BENCH_BETTER_LOWER,
     "first byte of a variant that is packed already against a PING", tly_bench_serve_first_byte},
};

const tly_bench_group tly_bench_serve = {"serve", "serving and fetching", cases,
                                         sizeof cases / sizeof cases[0], 0};
