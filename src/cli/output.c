/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

int tly_output_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static tly_status failed(const tly_output *output, int errnum, tly_error *error) {
    return tly_base_fail_errno(error, errnum, "cannot write to %s", output->shown);
}

tly_status tly_output_init(tly_output *output, const tly_context *context, const char *path,
                           tly_error *error) {
    struct stat facts;
    int direct = strcmp(path, "-") == 0;
    output->file = NULL;
    output->fd = -1;
    tly_base_printable(output->shown, sizeof output->shown, path, strlen(path));
    if (direct) {
        output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        strcpy(output->shown, "standard output");
    } else if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        direct = 1;
        output->fd = open(path, O_WRONLY | O_CLOEXEC);
    }
    if (direct) {
        return output->fd >= 0 ? TLY_OK : failed(output, errno, error);
    }
    return tly_atomic_file_new(context, path, &tly_file_system_calls, &output->file, error);
}

tly_status tly_output_write(tly_output *output, const void *bytes, uint64_t len, tly_error *error) {
    const char *at = bytes;
    if (output->file != NULL) {
        return tly_atomic_file_write(output->file, bytes, len, error);
    }
    while (len != 0) {
        size_t piece = len < (1 << 30) ? (size_t)len : 1 << 30;
        ssize_t n = write(output->fd, at, piece);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return failed(output, n < 0 ? errno : EIO, error);
        }
        at += n;
        len -= (uint64_t)n;
    }
    return TLY_OK;
}

tly_status tly_output_commit(tly_output *output, tly_error *error) {
    int fd = output->fd;
    if (output->file != NULL) {
        return tly_atomic_file_commit(output->file, error);
    }
    output->fd = -1;
    return close(fd) == 0 ? TLY_OK : failed(output, errno, error);
}

void tly_output_cleanup(tly_output *output) {
    tly_atomic_file_free(output->file);
    output->file = NULL;
    if (output->fd >= 0) {
        close(output->fd);
        output->fd = -1;
    }
}

tly_status tly_output_put(const tly_context *context, const char *path, const void *bytes,
                          uint64_t len, tly_error *error) {
    tly_output output;
    tly_status status = tly_output_init(&output, context, path, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_output_write(&output, bytes, len, error);
    if (status == TLY_OK) {
        status = tly_output_commit(&output, error);
    }
    tly_output_cleanup(&output);
    return status;
}
