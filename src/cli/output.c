/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static const char *shown(char out[128], const char *path) {
    return tly_base_printable(out, 128, path, strlen(path));
}

int tly_output_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* DIRECTORY/.NAME.XXXXXX */
static char *name_beside(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *out = NULL;
    if (asprintf(&out, "%.*s.%.200s.XXXXXX", (int)folder, path, path + folder) < 0) {
        return NULL;
    }
    return out;
}

static tly_status open_beside(tly_output *output, tly_error *error) {
    char text[128];
    mode_t mask = umask(0);
    umask(mask);
    output->beside = name_beside(output->path);
    if (output->beside == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a name");
    }
    output->fd = mkostemp(output->beside, O_CLOEXEC);
    if (output->fd < 0) {
        int saved = errno;
        free(output->beside);
        output->beside = NULL;
        return tly_base_fail_errno(error, saved, "cannot write beside %s",
                                   shown(text, output->path));
    }
    fchmod(output->fd, 0666 & ~mask);
    return TLY_OK;
}

tly_status tly_output_init(tly_output *output, const char *path, tly_error *error) {
    char text[128];
    struct stat facts;
    tly_status status;
    output->fd = -1;
    output->beside = NULL;
    if (strcmp(path, "-") == 0) {
        path = "/dev/stdout";
    }
    output->path = strdup(path);
    if (output->path == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a name");
    }
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        output->fd = open(path, O_WRONLY | O_CLOEXEC);
        status = output->fd >= 0
                     ? TLY_OK
                     : tly_base_fail_errno(error, errno, "cannot write to %s", shown(text, path));
    } else {
        status = open_beside(output, error);
    }
    if (status != TLY_OK) {
        tly_output_cleanup(output);
    }
    return status;
}

tly_status tly_output_write(tly_output *output, const void *bytes, uint64_t len, tly_error *error) {
    const char *at = bytes;
    char text[128];
    while (len != 0) {
        size_t piece = len < (1 << 30) ? (size_t)len : 1 << 30;
        ssize_t n = write(output->fd, at, piece);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return tly_base_fail_errno(error, n < 0 ? errno : EIO, "cannot write to %s",
                                       shown(text, output->path));
        }
        at += n;
        len -= (uint64_t)n;
    }
    return TLY_OK;
}

tly_status tly_output_commit(tly_output *output, tly_error *error) {
    char text[128];
    int failed = output->beside != NULL && fsync(output->fd) != 0;
    int saved = errno;
    if (!failed && close(output->fd) != 0) {
        failed = 1;
        saved = errno;
    }
    if (!failed) {
        output->fd = -1;
    }
    if (!failed && output->beside != NULL) {
        failed = rename(output->beside, output->path) != 0;
        saved = errno;
    }
    if (failed) {
        return tly_base_fail_errno(error, saved, "cannot finish %s", shown(text, output->path));
    }
    free(output->beside);
    output->beside = NULL;
    return TLY_OK;
}

void tly_output_cleanup(tly_output *output) {
    if (output->fd >= 0) {
        close(output->fd);
        output->fd = -1;
    }
    if (output->beside != NULL) {
        unlink(output->beside);
        free(output->beside);
        output->beside = NULL;
    }
    free(output->path);
    output->path = NULL;
}
