/* SPDX-License-Identifier: Apache-2.0 */
/* Taking the pages of a mapped memory file before they are written: without memory that gives an
 * error, and a signal otherwise. It also saves a fault for each page. */
#ifndef TLY_BASE_POPULATE_H
#define TLY_BASE_POPULATE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE /* Linux 5.14; older ones say EINVAL */
#define MADV_POPULATE_WRITE 23
#endif

/* `at` is where `fd` is mapped from `offset` on, and best begins on a page. */
static inline bool tly_base_populate(void *at, size_t len, int fd, off_t offset) {
    return madvise(at, len, MADV_POPULATE_WRITE) == 0 ||
           (errno == EINVAL && fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, (off_t)len) == 0);
}

#endif
