/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_nginx.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define START_TRIES 500 /* of 10 ms */

int tly_bench_find_program(const char *name, char *out, size_t capacity) {
    const char *path = getenv("PATH");
    char list[4096];
    snprintf(list, sizeof list, "%s:/usr/sbin:/usr/local/sbin:/sbin", path != NULL ? path : "");
    for (const char *at = list; *at != '\0';) {
        size_t len = strcspn(at, ":");
        if (len != 0 && (size_t)snprintf(out, capacity, "%.*s/%s", (int)len, at, name) < capacity &&
            access(out, X_OK) == 0) {
            return 1;
        }
        at += len + (at[len] == ':');
    }
    return 0;
}

static struct sockaddr_in loopback(uint16_t port) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return in;
}

/* A port that was free a moment ago. */
static uint16_t free_port(void) {
    struct sockaddr_in in = loopback(0);
    socklen_t len = sizeof in;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint16_t port = 0;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&in, sizeof in) == 0 &&
        getsockname(fd, (struct sockaddr *)&in, &len) == 0) {
        port = ntohs(in.sin_port);
    }
    if (fd >= 0) {
        close(fd);
    }
    return port;
}

static int answers(uint16_t port) {
    struct sockaddr_in in = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int there = fd >= 0 && connect(fd, (struct sockaddr *)&in, sizeof in) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return there;
}

static tly_status write_config(const tly_bench_nginx *nginx, const char *path,
                               const char *certificate, const char *key, tly_error *error) {
    FILE *out = fopen(path, "we");
    if (out == NULL) {
        return tly_base_fail_errno(error, errno, "cannot write %s", path);
    }
    fprintf(out,
            "daemon off;\nmaster_process off;\nworker_processes 1;\npid %s/nginx.pid;\n"
            "error_log %s/nginx.log;\nworker_rlimit_nofile 8192;\n"
            "events { worker_connections 8000; }\n"
            "http {\n  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on;\n"
            "  keepalive_requests 100000000; keepalive_timeout 600;\n"
            "  open_file_cache max=100 inactive=600s; open_file_cache_valid 600s;\n"
            "  client_body_temp_path %s/t1; proxy_temp_path %s/t2; fastcgi_temp_path %s/t3;\n"
            "  uwsgi_temp_path %s/t4; scgi_temp_path %s/t5;\n"
            "  server {\n    listen 127.0.0.1:%u%s backlog=4096;\n    root %s;\n",
            nginx->folder, nginx->folder, nginx->folder, nginx->folder, nginx->folder,
            nginx->folder, nginx->folder, nginx->port, nginx->tls ? " ssl" : "", nginx->folder);
    if (nginx->tls) {
        fprintf(out,
                "    ssl_certificate %s; ssl_certificate_key %s;\n    ssl_protocols TLSv1.3;\n",
                certificate, key);
    }
    fprintf(out, "  }\n}\n");
    return fclose(out) == 0 ? TLY_OK : tly_base_fail_errno(error, errno, "cannot write %s", path);
}

/* Standard output goes to `out` (-1: nowhere), the rest nowhere. Does not return. */
static void run(const char *const *argv, int out, pid_t parent) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || null < 0) {
        _exit(127);
    }
    dup2(null, 0);
    dup2(out >= 0 ? out : null, 1);
    dup2(null, 2);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

tly_status tly_bench_nginx_start(tly_bench_nginx *nginx, const char *folder,
                                 const char *certificate, const char *key, tly_error *error) {
    char program[512], config[512], log[512];
    const char *argv[] = {program, "-p", folder, "-e", log, "-c", config, NULL};
    struct timespec pause = {0, 10000000};
    pid_t parent = getpid();
    tly_status status;
    memset(nginx, 0, sizeof *nginx);
    nginx->folder = folder;
    nginx->tls = certificate != NULL;
    nginx->port = free_port();
    if (!tly_bench_find_program("nginx", program, sizeof program)) {
        return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "no-nginx",
                             "nginx is not installed (Debian: nginx-light)");
    }
    snprintf(config, sizeof config, "%s/nginx.conf", folder);
    snprintf(log, sizeof log, "%s/nginx.log", folder);
    status = write_config(nginx, config, certificate, key, error);
    if (status != TLY_OK) {
        return status;
    }
    nginx->pid = fork();
    if (nginx->pid == 0) {
        run(argv, -1, parent);
    }
    for (int i = 0; nginx->pid > 0 && i < START_TRIES; i++) {
        if (answers(nginx->port)) {
            return TLY_OK;
        }
        nanosleep(&pause, NULL);
    }
    tly_bench_nginx_stop(nginx);
    return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "nginx", "nginx does not start; see %s",
                         log);
}

void tly_bench_nginx_stop(tly_bench_nginx *nginx) {
    if (nginx->pid > 0) {
        kill(nginx->pid, SIGTERM);
        waitpid(nginx->pid, NULL, 0);
    }
    nginx->pid = 0;
}

tly_status tly_bench_curl(const tly_bench_nginx *nginx, const char *file, uint64_t len,
                          double *out_seconds, tly_error *error) {
    char program[512], url[512], said[128] = "";
    const char *argv[] = {
        program, "-s", "-k", "-o", "/dev/null", "-w", "%{size_download} %{time_total}", url, NULL};
    unsigned long long got = 0;
    size_t used = 0;
    ssize_t n;
    int out[2], state = 0;
    pid_t parent = getpid(), child;
    if (!tly_bench_find_program("curl", program, sizeof program)) {
        return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "no-curl",
                             "curl is not installed");
    }
    snprintf(url, sizeof url, "http%s://127.0.0.1:%u/%s", nginx->tls ? "s" : "", nginx->port, file);
    if (pipe2(out, O_CLOEXEC) != 0) {
        return tly_base_fail_errno(error, errno, "cannot make a pipe");
    }
    child = fork();
    if (child == 0) {
        run(argv, out[1], parent);
    }
    close(out[1]);
    while (used < sizeof said - 1 && (n = read(out[0], said + used, sizeof said - 1 - used)) > 0) {
        used += (size_t)n;
    }
    close(out[0]);
    if (child < 0 || waitpid(child, &state, 0) != child || state != 0 ||
        sscanf(said, "%llu %lf", &got, out_seconds) != 2) {
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "curl", "curl does not fetch %s", url);
    }
    if (got != len) {
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "curl",
                             "curl fetched %llu bytes of %llu", got, (unsigned long long)len);
    }
    return TLY_OK;
}
