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

static tly_status add_url(const tly_cli *cli, const tly_context *context, const char *url,
                          tly_catalogue *catalogue, tly_http **http, tly_error *error) {
    tly_store *store;
    tly_status status = TLY_OK;
    if (*http == NULL) {
        status = tly_cli_http_new(context, tly_cli_number(cli, TLY_CLI_SERVE_HTTP_CACHE, 0), http,
                                  error);
    }
    if (status == TLY_OK) {
        status = tly_http_open(*http, url, NULL, &store, error);
    }
    return status == TLY_OK ? tly_catalogue_add_store(catalogue, store, error) : status;
}

static tly_status fill(const tly_cli *cli, const tly_context *context, int is_first,
                       tly_catalogue *catalogue, tly_http **http, tly_error *error) {
    const char *uploads = tly_cli_value(cli, TLY_CLI_SERVE_UPLOADS, NULL);
    tly_status status = TLY_OK;
    if (uploads != NULL && tly_http_is_url(uploads)) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "uploads-url",
                             "tensors can be put into a folder, and not behind a URL: HTTP cannot "
                             "replace an object whole and durably");
    }
    for (uint32_t i = 0; i < cli->num_args && status == TLY_OK; i++) {
        struct stat info;
        if (tly_http_is_url(cli->args[i])) {
            status = add_url(cli, context, cli->args[i], catalogue, http, error);
        } else if (stat(cli->args[i], &info) == 0 && S_ISDIR(info.st_mode)) {
            status = add_folder(catalogue, cli->args[i], error);
        } else {
            status = tly_catalogue_add_file(catalogue, cli->args[i], error);
        }
    }
    if (status == TLY_OK && is_first && uploads != NULL) {
        status = tly_catalogue_open_uploads(catalogue, uploads, error);
    }
    return status;
}

tly_status tly_serve_input_read(const tly_cli *cli, const tly_context *context, int is_first,
                                tly_http **http, tly_serve_input *out, tly_error *error) {
    const char *rules = tly_cli_value(cli, TLY_CLI_SERVE_ACCESS, NULL);
    tly_status status;
    memset(out, 0, sizeof *out);
    status = tly_catalogue_new(context, &out->catalogue, error);
    if (status == TLY_OK) {
        status = fill(cli, context, is_first, out->catalogue, http, error);
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
