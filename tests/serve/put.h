/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that take tensors, and tensors whose bytes follow from a number. */
#ifndef TLY_TESTS_SERVE_PUT_H
#define TLY_TESTS_SERVE_PUT_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "serve/fixture.h"

typedef struct put_folder {
    char path[64];
} put_folder;

static inline void put_folder_make(put_folder *f) {
    snprintf(f->path, sizeof f->path, "/tmp/tly-put-XXXXXX");
    assert_non_null(mkdtemp(f->path));
}

/* Files in the folder but for the lock. */
static inline int put_folder_count(const put_folder *f) {
    DIR *folder = opendir(f->path);
    struct dirent *item;
    int num = 0;
    assert_non_null(folder);
    while ((item = readdir(folder)) != NULL) {
        num += strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 &&
               strcmp(item->d_name, ".tilery-lock") != 0;
    }
    closedir(folder);
    return num;
}

static inline void put_folder_remove(put_folder *f) {
    DIR *folder = opendir(f->path);
    struct dirent *item;
    while ((item = readdir(folder)) != NULL) {
        unlinkat(dirfd(folder), item->d_name, 0);
    }
    closedir(folder);
    assert_int_equal(rmdir(f->path), 0);
}

/* Byte `i` of the tensor with this number. */
static inline uint8_t put_byte(uint64_t number, uint64_t i) {
    uint64_t x = (number + 1) * 0x9E3779B97F4A7C15u + (i >> 3) * 0xBF58476D1CE4E5B9u;
    x ^= x >> 29;
    return (uint8_t)(x >> (8 * (i & 7)));
}

static inline uint8_t *put_bytes_of(uint64_t number, uint64_t len) {
    uint8_t *bytes = malloc((size_t)len + 1);
    for (uint64_t i = 0; i < len; i++) {
        bytes[i] = put_byte(number, i);
    }
    return bytes;
}

/* Puts `len` bytes of u8 under a key. */
static inline tly_status put_tensor(tly_client *client, const char *key, const uint8_t *bytes,
                                    uint64_t len, tly_error *error) {
    tly_descriptor d;
    tly_buffer_info buffer;
    const void *buffers[1] = {bytes};
    tly_put_request request = {
        .size = sizeof request, .key = key, .descriptor = &d, .buffers = buffers};
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 1, &len), TLY_OK);
    return tly_client_put(client, &request, error);
}

#endif
