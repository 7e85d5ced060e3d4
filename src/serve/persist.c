/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/persist.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "panel/hash.h"

/* A file: magic, length of the name (u32), length of the data (u64), CRC-32C of all before it and
 * of the name (u32), the name, zeros up to the data. */
#define HEAD_LEN     24
#define MAX_NAME_LEN (TLY_PERSIST_DATA_OFFSET - HEAD_LEN)
#define FILE_NAME    24 /* 16 hexadecimal digits, ".variant", NUL, rounded */

static const uint8_t magic[8] = {'T', 'L', 'Y', 'V', 'A', 'R', '0', '1'};

struct tly_persist {
    const tly_context *context;
    int folder;
    int lock;
    uint64_t limit; /* bytes of all files */
};

static void name_file(const void *name, size_t name_len, char out[32]) {
    snprintf(out, 32, "%016llx.variant",
             (unsigned long long)tly_panel_hash64(name, name_len, 0, 1));
}

static int is_ours(const char *file) {
    size_t len = strlen(file);
    return len == FILE_NAME && strcmp(file + 16, ".variant") == 0;
}

static int is_unfinished(const char *file) {
    return strncmp(file, "new.", 4) == 0;
}

/* ---- the folder ---- */

/* Calls `visit` for each file of the folder. */
static void for_each(tly_persist *p, void (*visit)(tly_persist *, const char *, void *),
                     void *user) {
    int fd = openat(p->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    if (dir == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        visit(p, entry->d_name, user);
    }
    closedir(dir);
}

static void remove_unfinished(tly_persist *p, const char *file, void *user) {
    (void)user;
    if (is_unfinished(file)) {
        unlinkat(p->folder, file, 0);
    }
}

typedef struct inventory {
    uint64_t used; /* bytes */
    struct timespec oldest;
    char oldest_file[32]; /* "": there is none */
} inventory;

static void take_stock(tly_persist *p, const char *file, void *user) {
    inventory *i = user;
    struct stat info;
    if (!is_ours(file) || fstatat(p->folder, file, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    i->used += (uint64_t)info.st_size;
    if (i->oldest_file[0] == '\0' || info.st_mtim.tv_sec < i->oldest.tv_sec ||
        (info.st_mtim.tv_sec == i->oldest.tv_sec && info.st_mtim.tv_nsec < i->oldest.tv_nsec)) {
        i->oldest = info.st_mtim;
        memcpy(i->oldest_file, file, FILE_NAME + 1);
    }
}

/* Removes the oldest files until `len` bytes more fit. Returns 0 if they never will. */
static int make_room(tly_persist *p, uint64_t len) {
    if (len > p->limit) {
        return 0;
    }
    for (;;) {
        inventory i = {0};
        for_each(p, take_stock, &i);
        if (i.used <= p->limit - len) {
            return 1;
        }
        if (i.oldest_file[0] == '\0' || unlinkat(p->folder, i.oldest_file, 0) != 0) {
            return 0;
        }
    }
}

tly_status tly_persist_open(const tly_context *context, const char *folder, uint64_t limit,
                            tly_persist **out_persist, tly_error *error) {
    tly_persist *p = tly_base_calloc(context, sizeof *p, _Alignof(tly_persist));
    struct stat info;
    *out_persist = NULL;
    if (p == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a folder");
    }
    p->context = context;
    p->limit = limit;
    p->lock = -1;
    p->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->folder < 0 || fstat(p->folder, &info) != 0) {
        int failed = errno;
        tly_persist_free(p);
        return tly_base_fail_errno(error, failed, "cannot open the folder %s", folder);
    }
    if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        tly_persist_free(p);
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "persist-folder",
                             "%s must belong to the server's user and be closed to the writing of "
                             "others: what is in it is served",
                             folder);
    }
    p->lock = openat(p->folder, ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (p->lock < 0 || flock(p->lock, LOCK_EX | LOCK_NB) != 0) {
        int failed = errno;
        tly_persist_free(p);
        return failed == EWOULDBLOCK
                   ? tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "persist-lock",
                                   "another server keeps its variants in %s", folder)
                   : tly_base_fail_errno(error, failed, "cannot lock the folder %s", folder);
    }
    for_each(p, remove_unfinished, NULL);
    *out_persist = p;
    return TLY_OK;
}

void tly_persist_free(tly_persist *persist) {
    if (persist == NULL) {
        return;
    }
    if (persist->lock >= 0) {
        close(persist->lock);
    }
    if (persist->folder >= 0) {
        close(persist->folder);
    }
    tly_base_free(persist->context, persist, sizeof *persist, _Alignof(tly_persist));
}

/* ---- files ---- */

static void put_head(uint8_t head[TLY_PERSIST_DATA_OFFSET], const void *name, size_t name_len,
                     uint64_t len) {
    memset(head, 0, TLY_PERSIST_DATA_OFFSET);
    memcpy(head, magic, sizeof magic);
    tly_base_store_u32(head + 8, (uint32_t)name_len);
    tly_base_store_u64(head + 12, len);
    memcpy(head + HEAD_LEN, name, name_len);
    tly_base_store_u32(head + 20, tly_base_crc32c(tly_base_crc32c(0, head, 20), name, name_len));
}

int tly_persist_load(tly_persist *persist, const void *name, size_t name_len, uint64_t len) {
    uint8_t wanted[TLY_PERSIST_DATA_OFFSET], head[TLY_PERSIST_DATA_OFFSET];
    struct stat info;
    char file[32];
    int fd;
    if (name_len > MAX_NAME_LEN) {
        return -1;
    }
    name_file(name, name_len, file);
    fd = openat(persist->folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return -1;
    }
    put_head(wanted, name, name_len, len);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        (uint64_t)info.st_size == TLY_PERSIST_DATA_OFFSET + len &&
        pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
        memcmp(head, wanted, sizeof head) == 0) {
        futimens(fd, NULL); /* used now */
        return fd;
    }
    close(fd);
    unlinkat(persist->folder, file, 0);
    return -1;
}

static int write_all(int fd, const uint8_t *bytes, uint64_t len) {
    while (len != 0) {
        ssize_t n = write(fd, bytes, len < (1u << 30) ? (size_t)len : (size_t)1 << 30);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return 0;
        }
        bytes += n;
        len -= (uint64_t)n;
    }
    return 1;
}

tly_status tly_persist_save(tly_persist *persist, const void *name, size_t name_len,
                            const void *data, uint64_t len, tly_error *error) {
    uint8_t head[TLY_PERSIST_DATA_OFFSET];
    char file[32], fresh[40];
    int fd, ok, failed;
    if (name_len > MAX_NAME_LEN || len > UINT64_MAX - sizeof head ||
        !make_room(persist, len + sizeof head)) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "persist-limit",
                             "a variant of %llu bytes does not fit into the folder",
                             (unsigned long long)len);
    }
    name_file(name, name_len, file);
    snprintf(fresh, sizeof fresh, "new.%s", file);
    fd = openat(persist->folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return tly_base_fail_errno(error, errno, "cannot keep a variant");
    }
    put_head(head, name, name_len, len);
    ok = write_all(fd, head, sizeof head) && write_all(fd, data, len) && fsync(fd) == 0;
    failed = errno;
    close(fd);
    if (!ok || renameat(persist->folder, fresh, persist->folder, file) != 0) {
        failed = ok ? errno : failed;
        unlinkat(persist->folder, fresh, 0);
        return tly_base_fail_errno(error, failed, "cannot keep a variant");
    }
    fsync(persist->folder);
    return TLY_OK;
}
