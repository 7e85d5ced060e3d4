/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"

#define MAX_FILE_LEN (16u << 20)

tly_status tly_serve_read_secret(const tly_context *context, const char *path, const char *holds,
                                 const char *rule, char **out_text, size_t *out_len,
                                 tly_error *error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    size_t done = 0, len;
    char *text;
    ssize_t n = 1;
    if (fd < 0 || fstat(fd, &info) != 0) {
        int failed = errno;
        if (fd >= 0) {
            close(fd);
        }
        return tly_base_fail_errno(error, failed, "cannot read %s", path);
    }
    if (!S_ISREG(info.st_mode) || (info.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
        close(fd);
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, rule,
                             "%s holds %s, and others may read or change it: chmod 600 it", path,
                             holds);
    }
    if (info.st_size > (off_t)MAX_FILE_LEN) {
        close(fd);
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "secret-len",
                             "%s has more than %u bytes", path, MAX_FILE_LEN);
    }
    len = (size_t)info.st_size;
    text = tly_base_alloc(context, len + 1, 1);
    while (text != NULL && done < len && n > 0) {
        n = read(fd, text + done, len - done);
        done += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (text == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for %s", path);
    }
    if (done != len) {
        tly_serve_free_secret(context, text, len);
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "%s changed while it was read",
                             path);
    }
    text[len] = '\0';
    *out_text = text;
    *out_len = len;
    return TLY_OK;
}

void tly_serve_free_secret(const tly_context *context, char *text, size_t len) {
    explicit_bzero(text, len);
    tly_base_free(context, text, len + 1, 1);
}
