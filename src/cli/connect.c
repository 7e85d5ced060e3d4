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

/* NULL where it is not set, or empty. */
static const char *setting(const char *name) {
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

tly_status tly_cli_connect(const tly_context *context, const char *address, tly_client **out_client,
                           tly_error *error) {
    tly_tls_options tls = {.size = sizeof tls,
                           .certificate = setting("TILERY_TLS_CERT"),
                           .key = setting("TILERY_TLS_KEY"),
                           .ca = setting("TILERY_TLS_CA")};
    tly_client_options options = {.size = sizeof options, .tls = &tls};
    const char *path = setting("TILERY_TOKEN_FILE");
    char token[MAX_TOKEN_LEN + 2];
    tly_status status = TLY_OK;
    *out_client = NULL;
    if (tls.key == NULL) {
        tls.key = tls.certificate; /* both in one file */
    }
    if (path != NULL) {
        status = read_token(path, token, error);
        options.token = token;
    }
    if (status == TLY_OK) {
        status = tly_client_connect(context, address, &options, out_client, error);
    }
    explicit_bzero(token, sizeof token);
    return status;
}
