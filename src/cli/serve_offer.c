/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve_offer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/options_table.h"
#include "cli/url.h"
#include "serve/secret.h"

static int is_container(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot != NULL && strcmp(dot, ".hrry") == 0;
}

/* The containers of a folder, in the order of their names; not those of folders in it. */
static tly_status add_folder(tly_catalogue *catalogue, const char *folder, tly_error *error) {
    struct dirent **names = NULL;
    int num = scandir(folder, &names, is_container, alphasort);
    tly_status status = TLY_OK;
    if (num < 0) {
        return tly_base_fail_errno(error, errno, "cannot read the folder %s", folder);
    }
    for (int i = 0; i < num; i++) {
        char path[4096];
        int n = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (status == TLY_OK && (size_t)n >= sizeof path) {
            status = tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "path",
                                   "the path of a container in %s is too long", folder);
        }
        if (status == TLY_OK) {
            status = tly_catalogue_add_file(catalogue, path, error);
        }
        free(names[i]);
    }
    free(names);
    return status;
}

static tly_status add_url(const char *url, tly_catalogue *catalogue, tly_http *http,
                          tly_error *error) {
    tly_store *store;
    tly_status status = tly_http_open(http, url, NULL, &store, error);
    return status == TLY_OK ? tly_catalogue_add_store(catalogue, store, error) : status;
}

/* A URL a line; what begins with # is for people. */
static tly_status add_urls(const tly_context *context, const char *path, tly_catalogue *catalogue,
                           tly_http *http, tly_error *error) {
    char *text, *rest;
    size_t len;
    tly_status status =
        tly_serve_read_secret(context, path, "signed URLs", "urls-mode", &text, &len, error);
    if (status != TLY_OK) {
        return status;
    }
    for (char *line = strtok_r(text, "\r\n", &rest); line != NULL && status == TLY_OK;
         line = strtok_r(NULL, "\r\n", &rest)) {
        line += strspn(line, " \t");
        line[strcspn(line, " \t")] = '\0';
        if (line[0] != '\0' && line[0] != '#') {
            status = add_url(line, catalogue, http, error);
        }
    }
    tly_serve_free_secret(context, text, len);
    return status;
}

static tly_status fill(const tly_cli *cli, const tly_context *context, tly_catalogue *catalogue,
                       tly_http *http, tly_error *error) {
    const char *urls = tly_cli_value(cli, TLY_CLI_SERVE_URLS, NULL);
    tly_status status = TLY_OK;
    for (uint32_t i = 0; i < cli->num_args && status == TLY_OK; i++) {
        struct stat info;
        if (tly_http_is_url(cli->args[i])) {
            status = add_url(cli->args[i], catalogue, http, error);
        } else if (stat(cli->args[i], &info) == 0 && S_ISDIR(info.st_mode)) {
            status = add_folder(catalogue, cli->args[i], error);
        } else {
            status = tly_catalogue_add_file(catalogue, cli->args[i], error);
        }
    }
    return status == TLY_OK && urls != NULL ? add_urls(context, urls, catalogue, http, error)
                                            : status;
}

static tly_status open_uploads(const tly_cli *cli, tly_catalogue *catalogue, tly_error *error) {
    const char *folder = tly_cli_value(cli, TLY_CLI_SERVE_UPLOADS, NULL);
    if (folder == NULL) {
        return TLY_OK;
    }
    if (tly_http_is_url(folder)) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "uploads-url",
                             "tensors can be put into a folder, and not behind a URL: HTTP cannot "
                             "replace an object whole and durably");
    }
    return tly_catalogue_open_uploads(catalogue, folder, error);
}

/* Is anything behind a URL? */
static int has_urls(const tly_cli *cli) {
    int has = tly_cli_given(cli, TLY_CLI_SERVE_URLS);
    for (uint32_t i = 0; i < cli->num_args; i++) {
        has |= tly_http_is_url(cli->args[i]);
    }
    return has;
}

tly_status tly_serve_input_read(const tly_cli *cli, const tly_context *context, int is_first,
                                tly_http **http, tly_serve_input *out, tly_error *error) {
    const char *rules = tly_cli_value(cli, TLY_CLI_SERVE_ACCESS, NULL);
    tly_status status;
    memset(out, 0, sizeof *out);
    status = tly_catalogue_new(context, &out->catalogue, error);
    if (status == TLY_OK && *http == NULL && has_urls(cli)) {
        uint64_t cache_len = tly_cli_number(cli, TLY_CLI_SERVE_HTTP_CACHE, 0);
        status = tly_cli_http_new(context, cache_len, http, error);
    }
    if (status == TLY_OK) {
        status = fill(cli, context, out->catalogue, *http, error);
    }
    if (status == TLY_OK && is_first) {
        status = open_uploads(cli, out->catalogue, error);
    }
    if (status == TLY_OK && rules != NULL) {
        status = tly_access_load(context, rules, &out->access, error);
    }
    if (status != TLY_OK) {
        tly_serve_input_cleanup(out);
    }
    return status;
}

void tly_serve_input_cleanup(tly_serve_input *input) {
    tly_access_free(input->access);
    tly_catalogue_free(input->catalogue);
    memset(input, 0, sizeof *input);
}

void tly_serve_notify(const char *state) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    size_t len = path != NULL ? strlen(path) : 0;
    int fd;
    if (len == 0 || len >= sizeof un.sun_path || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    memcpy(un.sun_path, path, len);
    if (path[0] == '@') {
        un.sun_path[0] = '\0'; /* a name without a file */
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
        (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&un, size);
        close(fd);
    }
}
