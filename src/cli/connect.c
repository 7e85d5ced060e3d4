/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define MAX_TOKEN_LEN 1024

const char *tly_cli_setting(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The first line of a file that only its owner may read. */
static tly_status read_token(const char *path, char token[MAX_TOKEN_LEN + 2], tly_error *error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    ssize_t n;
    if (fd < 0 || fstat(fd, &info) != 0) {
        int failed = errno;
        if (fd >= 0) {
            close(fd);
        }
        return tly_base_fail_errno(error, failed, "cannot read the token in %s", path);
    }
    if (!S_ISREG(info.st_mode) || (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        close(fd);
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "token-mode",
                             "%s holds a token, and others may read it: chmod 600 it", path);
    }
    n = read(fd, token, MAX_TOKEN_LEN + 1);
    close(fd);
    if (n < 0) {
        return tly_base_fail_errno(error, errno, "cannot read the token in %s", path);
    }
    token[n] = '\0';
    token[strcspn(token, "\r\n")] = '\0';
    return TLY_OK;
}

tly_status tly_cli_link_init(tly_cli_link *link, tly_error *error) {
    const char *path = tly_cli_setting("TILERY_TOKEN_FILE");
    memset(link, 0, sizeof *link);
    link->tls = (tly_tls_options){.size = sizeof link->tls,
                                  .certificate = tly_cli_setting("TILERY_TLS_CERT"),
                                  .key = tly_cli_setting("TILERY_TLS_KEY"),
                                  .ca = tly_cli_setting("TILERY_TLS_CA")};
    if (link->tls.key == NULL) {
        link->tls.key = link->tls.certificate; /* both in one file */
    }
    link->options.size = sizeof link->options;
    link->options.tls = &link->tls;
    if (path == NULL) {
        return TLY_OK;
    }
    link->options.token = link->token;
    return read_token(path, link->token, error);
}

void tly_cli_link_cleanup(tly_cli_link *link) {
    explicit_bzero(link->token, sizeof link->token);
}

tly_status tly_cli_connect(const tly_context *context, const char *address, uint32_t flags,
                           tly_client **out_client, tly_error *error) {
    tly_cli_link link;
    tly_status status = tly_cli_link_init(&link, error);
    *out_client = NULL;
    link.options.flags = flags;
    if (status == TLY_OK) {
        status = tly_client_connect(context, address, &link.options, out_client, error);
    }
    tly_cli_link_cleanup(&link);
    return status;
}
