/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of its own for a test, and whole files in memory. */
#ifndef TLY_TESTS_STORE_SCRATCH_H
#define TLY_TESTS_STORE_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

typedef struct scratch {
    char folder[64];
    char path[128]; /* of the file "t.hrry" in it */
} scratch;

static inline void scratch_make(scratch *s) {
    snprintf(s->folder, sizeof s->folder, "/tmp/tilery-test-XXXXXX");
    if (mkdtemp(s->folder) == NULL) {
        fail_msg("cannot make a folder in /tmp");
    }
    snprintf(s->path, sizeof s->path, "%s/t.hrry", s->folder);
}

/* Number of entries of the folder, hidden ones too; `remove` deletes them. */
static inline int scratch_count(const scratch *s, int remove_them) {
    DIR *folder = opendir(s->folder);
    struct dirent *entry;
    int count = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            count++;
            if (remove_them) {
                unlinkat(dirfd(folder), entry->d_name, 0);
            }
        }
    }
    closedir(folder);
    return count;
}

static inline void scratch_remove(scratch *s) {
    scratch_count(s, 1);
    rmdir(s->folder);
}

/* Contents of a file; the caller frees them. NULL when there is none. */
static inline uint8_t *scratch_read(const char *path, size_t *out_len) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes;
    long len;
    if (file == NULL) {
        return NULL;
    }
    fseek(file, 0, SEEK_END);
    len = ftell(file);
    rewind(file);
    bytes = malloc((size_t)len + 1);
    assert_int_equal(fread(bytes, 1, (size_t)len, file), len);
    fclose(file);
    *out_len = (size_t)len;
    return bytes;
}

static inline void scratch_write(const char *path, const void *bytes, size_t len) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    fclose(file);
}

#endif
