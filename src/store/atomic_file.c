/* SPDX-License-Identifier: Apache-2.0 */
#include "store/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"

#define BUFFER_LEN    ((size_t)1 << 16)
#define PART_NAME_LEN 40 /* ".tilery-", 16 digits, ".part" */

const tly_file_calls tly_file_system_calls = {write, fsync, linkat, renameat, 0};

struct tly_atomic_file {
    const tly_context *context;
    const tly_file_calls *calls;
    int folder;
    int fd;
    char part[PART_NAME_LEN]; /* name under which the bytes stand meanwhile; "": none */
    char name[NAME_MAX + 1];  /* to be, in `folder` */
    char shown[160];
    uint64_t len;
    size_t buffered;
    uint8_t *buffer;
};

static tly_status fail(const tly_atomic_file *file, int errnum, const char *what,
                       tly_error *error) {
    return tly_base_fail_errno(error, errnum, "cannot %s %s", what, file->shown);
}

static void new_part_name(tly_atomic_file *file) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
        number = (uint64_t)getpid() << 32 ^ (uintptr_t)file; /* O_EXCL decides */
    }
    snprintf(file->part, sizeof file->part, ".tilery-%016llx.part", (unsigned long long)number);
}

/* Folder and name of the file behind `path`, links followed. */
static tly_status find_place(tly_atomic_file *file, const char *path, mode_t *out_mode,
                             int *out_exists, tly_error *error) {
    char resolved[PATH_MAX];
    const char *slash;
    const char *name;
    char folder[PATH_MAX];
    struct stat info;
    *out_exists = 0;
    tly_base_printable(file->shown, sizeof file->shown, path, strlen(path));
    if (realpath(path, resolved) != NULL) {
        path = resolved;
    } else if (errno != ENOENT) {
        return fail(file, errno, "write to", error);
    }
    slash = strrchr(path, '/');
    name = slash != NULL ? slash + 1 : path;
    if (strlen(name) > NAME_MAX || strlen(path) >= sizeof folder) {
        return fail(file, ENAMETOOLONG, "write to", error);
    }
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return fail(file, EISDIR, "write to", error);
    }
    snprintf(file->name, sizeof file->name, "%s", name);
    if (slash == NULL) {
        snprintf(folder, sizeof folder, ".");
    } else {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash == path ? 1 : slash - path), path);
    }
    file->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file->folder < 0) {
        return fail(file, errno, "open the folder of", error);
    }
    if (fstatat(file->folder, file->name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISREG(info.st_mode)) {
            return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "",
                                 "%s exists and is not a regular file: it is not replaced",
                                 file->shown);
        }
        *out_mode = info.st_mode & 07777;
        *out_exists = 1;
    } else if (errno != ENOENT) {
        return fail(file, errno, "examine", error);
    }
    return TLY_OK;
}

/* An unnamed file can be given a name later only through /proc. */
static int open_unnamed(tly_atomic_file *file) {
#ifdef O_TMPFILE
    char self[64];
    if (file->calls->no_unnamed) {
        return 0;
    }
    file->fd = openat(file->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (file->fd < 0) {
        return 0;
    }
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    if (access(self, F_OK) == 0) {
        return 1;
    }
    close(file->fd);
    file->fd = -1;
#endif
    return 0;
}

static tly_status open_part(tly_atomic_file *file, tly_error *error) {
    if (open_unnamed(file)) {
        return TLY_OK;
    }
    for (int tries = 0; tries < 8; tries++) {
        new_part_name(file);
        file->fd = openat(file->folder, file->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd >= 0) {
            return TLY_OK;
        }
        file->part[0] = '\0';
        if (errno != EEXIST) {
            break;
        }
    }
    return fail(file, errno, "create a file beside", error);
}

tly_status tly_atomic_file_new(const tly_context *context, const char *path,
                               const tly_file_calls *calls, tly_atomic_file **out_file,
                               tly_error *error) {
    tly_atomic_file *file = tly_base_calloc(context, sizeof *file, _Alignof(tly_atomic_file));
    mode_t mode = 0;
    int exists;
    tly_status status;
    if (file == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a file");
    }
    file->context = context;
    file->calls = calls;
    file->folder = -1;
    file->fd = -1;
    file->buffer = tly_base_alloc(context, BUFFER_LEN, 64);
    if (file->buffer == NULL) {
        status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                               "no memory for the buffer of a file");
    } else {
        status = find_place(file, path, &mode, &exists, error);
    }
    if (status == TLY_OK) {
        status = open_part(file, error);
    }
    if (status == TLY_OK && exists && fchmod(file->fd, mode) != 0) {
        status = fail(file, errno, "set the permissions of", error);
    }
    if (status != TLY_OK) {
        tly_atomic_file_free(file);
        return status;
    }
    *out_file = file;
    return TLY_OK;
}

uint64_t tly_atomic_file_len(const tly_atomic_file *file) {
    return file->len;
}

static tly_status write_through(tly_atomic_file *file, const uint8_t *bytes, uint64_t len,
                                tly_error *error) {
    while (len > 0) {
        size_t piece = len < (1u << 30) ? (size_t)len : (1u << 30);
        ssize_t done = file->calls->write(file->fd, bytes, piece);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return fail(file, done < 0 ? errno : ENOSPC, "write to", error);
        }
        bytes += done;
        len -= (uint64_t)done;
    }
    return TLY_OK;
}

static tly_status flush(tly_atomic_file *file, tly_error *error) {
    tly_status status = write_through(file, file->buffer, file->buffered, error);
    file->buffered = 0;
    return status;
}

tly_status tly_atomic_file_write(tly_atomic_file *file, const void *bytes, uint64_t len,
                                 tly_error *error) {
    if (len > INT64_MAX - file->len) {
        return fail(file, EFBIG, "write to", error);
    }
    if (len > BUFFER_LEN - file->buffered) {
        tly_status status = flush(file, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    file->len += len;
    if (len >= BUFFER_LEN) {
        return write_through(file, bytes, len, error);
    }
    if (len != 0) {
        memcpy(file->buffer + file->buffered, bytes, (size_t)len);
        file->buffered += (size_t)len;
    }
    return TLY_OK;
}

tly_status tly_atomic_file_write_zeros(tly_atomic_file *file, uint64_t len, tly_error *error) {
    static const uint8_t zeros[4096];
    while (len > 0) {
        uint64_t piece = len < sizeof zeros ? len : sizeof zeros;
        tly_status status = tly_atomic_file_write(file, zeros, piece, error);
        if (status != TLY_OK) {
            return status;
        }
        len -= piece;
    }
    return TLY_OK;
}

static int sync_fd(const tly_file_calls *calls, int fd) {
    int result;
    do {
        result = calls->fsync(fd);
    } while (result != 0 && errno == EINTR);
    return result;
}

/* Gives the unnamed file a name: its own if that is free, a passing one otherwise. */
static tly_status name_it(tly_atomic_file *file, tly_error *error) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    if (file->calls->linkat(AT_FDCWD, self, file->folder, file->name, AT_SYMLINK_FOLLOW) == 0) {
        file->name[0] = '\0'; /* done */
        return TLY_OK;
    }
    for (int tries = 0; tries < 8 && errno == EEXIST; tries++) {
        new_part_name(file);
        if (file->calls->linkat(AT_FDCWD, self, file->folder, file->part, AT_SYMLINK_FOLLOW) == 0) {
            return TLY_OK;
        }
        file->part[0] = '\0';
    }
    return fail(file, errno, "give a name to", error);
}

tly_status tly_atomic_file_commit(tly_atomic_file *file, tly_error *error) {
    tly_status status = flush(file, error);
    if (status != TLY_OK) {
        return status;
    }
    if (sync_fd(file->calls, file->fd) != 0) {
        return fail(file, errno, "synchronise", error);
    }
    if (file->part[0] == '\0') {
        status = name_it(file, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    if (file->name[0] != '\0') {
        if (file->calls->renameat(file->folder, file->part, file->folder, file->name) != 0) {
            return fail(file, errno, "put in place", error);
        }
        file->part[0] = '\0';
    }
    if (sync_fd(file->calls, file->folder) != 0) {
        return fail(file, errno, "synchronise the folder of", error);
    }
    return TLY_OK;
}

void tly_atomic_file_free(tly_atomic_file *file) {
    if (file == NULL) {
        return;
    }
    if (file->part[0] != '\0') {
        (void)unlinkat(file->folder, file->part, 0);
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    if (file->folder >= 0) {
        close(file->folder);
    }
    tly_base_free(file->context, file->buffer, BUFFER_LEN, 64);
    tly_base_free(file->context, file, sizeof *file, _Alignof(tly_atomic_file));
}
