/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define MAX_LOCATION 4096

void tly_import_file_memory(tly_import_file *file, const void *bytes, size_t len,
                            const char *name) {
    memset(file, 0, sizeof *file);
    file->name = name;
    file->memory = bytes;
    file->len = len;
    file->fd = -1;
}

void tly_import_file_close(tly_import_file *file) {
    if (file->map != NULL) {
        munmap(file->map, (size_t)file->len);
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    file->map = NULL;
    file->fd = -1;
}

/* Takes over an open descriptor; closes it on failure. */
static tly_status adopt(tly_import_file *file, int fd, const char *name, struct stat *st,
                        tly_error *error) {
    memset(file, 0, sizeof *file);
    file->name = name;
    file->fd = fd;
    if (fstat(fd, st) != 0) {
        tly_status status = tly_base_fail_errno(error, errno, "cannot look at %s", name);
        tly_import_file_close(file);
        return status;
    }
    if (!S_ISREG(st->st_mode)) {
        tly_import_file_close(file);
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "regular-file",
                             "%s is %s; give a regular file", name,
                             S_ISDIR(st->st_mode) ? "a folder" : "no regular file");
    }
    file->len = (uint64_t)st->st_size;
    if (file->len != 0 && file->len <= SIZE_MAX) {
        void *map = mmap(NULL, (size_t)file->len, PROT_READ, MAP_PRIVATE, fd, 0);
        file->map = map != MAP_FAILED ? map : NULL;
    }
    return TLY_OK;
}

tly_status tly_import_file_open(tly_import_file *file, const char *path, tly_error *error) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        if (errno == ENOENT || errno == ENOTDIR) {
            return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "", "there is no file %s",
                                 path);
        }
        return tly_base_fail_errno(error, errno, "cannot open %s", path);
    }
    return adopt(file, fd, path, &st, error);
}

static tly_status link_refused(const char *location, uint64_t offset, tly_error *error) {
    char shown[120];
    return tly_base_fail(error, TLY_MALFORMED, offset, "external-link",
                         "the external data \"%s\" is reached through a link, which could lead out "
                         "of the model's folder; follow links only if you trust the model, or "
                         "replace the link by the file",
                         tly_base_printable(shown, sizeof shown, location, strlen(location)));
}

static tly_status open_failed(int folder_fd, const char *component, int errnum,
                              const char *location, uint64_t offset, tly_error *error) {
    struct stat st;
    char shown[120];
    if (fstatat(folder_fd, component, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
        return link_refused(location, offset, error);
    }
    tly_base_printable(shown, sizeof shown, location, strlen(location));
    if (errnum == ENOENT || errnum == ENOTDIR) {
        return tly_base_fail(error, TLY_NOT_FOUND, offset, "external-missing",
                             "the external data \"%s\" is not in the model's folder", shown);
    }
    return tly_base_fail_errno(error, errnum, "cannot open the external data \"%s\"", shown);
}

/* Refuses a location that could name anything outside the folder. */
static tly_status check_location(const char *location, uint64_t offset, tly_error *error) {
    const char *at = location;
    size_t len = strlen(location);
    int bad = len == 0 || len >= MAX_LOCATION || location[0] == '/' || location[len - 1] == '/';
    while (!bad && *at != '\0') {
        size_t step = strcspn(at, "/");
        bad = step == 2 && at[0] == '.' && at[1] == '.';
        at += step + (at[step] == '/');
    }
    if (bad) {
        char shown[120];
        return tly_base_fail(error, TLY_MALFORMED, offset, "external-location",
                             "the external data \"%s\" is not a file below the model's folder",
                             tly_base_printable(shown, sizeof shown, location, len));
    }
    return TLY_OK;
}

tly_status tly_import_file_open_below(tly_import_file *file, int folder_fd, const char *location,
                                      int follow_links, uint64_t offset, tly_error *error) {
    char component[MAX_LOCATION];
    const char *at = location;
    struct stat st;
    int here = folder_fd;
    int fd;
    tly_status status = check_location(location, offset, error);
    if (status != TLY_OK) {
        return status;
    }
    if (follow_links) {
        fd = openat(folder_fd, location, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd >= 0 ? adopt(file, fd, location, &st, error)
                       : open_failed(-1, "", errno, location, offset, error);
    }
    /* One component at a time, so that a link on the way is seen, not followed. */
    for (;;) {
        size_t len;
        int last;
        at += strspn(at, "/");
        len = strcspn(at, "/");
        last = at[len] == '\0';
        memcpy(component, at, len);
        component[len] = '\0';
        fd = openat(here, component,
                    last ? O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW
                         : O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
        if (fd < 0) {
            status = open_failed(here, component, errno, location, offset, error);
        }
        if (here != folder_fd) {
            close(here);
        }
        if (fd < 0) {
            return status;
        }
        if (last) {
            break;
        }
        here = fd;
        at += len;
    }
    status = adopt(file, fd, location, &st, error);
    if (status == TLY_OK && st.st_nlink > 1) {
        tly_import_file_close(file);
        return link_refused(location, offset, error);
    }
    return status;
}

tly_status tly_import_file_read(const tly_import_file *file, uint64_t offset, void *buffer,
                                uint64_t len, tly_error *error) {
    uint8_t *to = buffer;
    if (len == 0) {
        return TLY_OK; /* wherever nothing may be */
    }
    if (offset > file->len || len > file->len - offset) {
        return tly_base_fail(error, TLY_TRUNCATED, file->len, "file-end",
                             "%s ends at byte %llu, but %llu bytes from byte %llu are needed",
                             file->name, (unsigned long long)file->len, (unsigned long long)len,
                             (unsigned long long)offset);
    }
    if (file->memory != NULL) {
        memcpy(to, file->memory + offset, (size_t)len);
        return TLY_OK;
    }
    while (len > 0) {
        size_t want = len < ((size_t)1 << 30) ? (size_t)len : (size_t)1 << 30;
        ssize_t got = pread(file->fd, to, want, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return tly_base_fail_errno(error, errno, "cannot read %s", file->name);
        }
        if (got == 0) {
            return tly_base_fail(error, TLY_TRUNCATED, offset, "file-shrunk",
                                 "%s has become shorter while it was read", file->name);
        }
        to += got;
        offset += (uint64_t)got;
        len -= (uint64_t)got;
    }
    return TLY_OK;
}
