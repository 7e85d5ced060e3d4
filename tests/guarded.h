/* SPDX-License-Identifier: Apache-2.0 */
/* Memory whose first or last byte touches a page that nobody may read: an access one byte too far
 * ends the program. */
#ifndef TLY_TESTS_GUARDED_H
#define TLY_TESTS_GUARDED_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guarded {
    uint8_t *map;
    size_t map_len;
    uint8_t *bytes; /* the `len` bytes asked for */
} guarded;

/* `at_end` != 0: the last byte lies before the forbidden page; otherwise the first one after it.
 * Zeroed. */
static inline guarded guarded_new(size_t len, int at_end) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (len + page - 1) / page * page;
    guarded g;
    g.map_len = room + 2 * page;
    g.map = mmap(NULL, g.map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED || mprotect(g.map, page, PROT_NONE) != 0 ||
        mprotect(g.map + page + room, page, PROT_NONE) != 0) {
        abort();
    }
    g.bytes = at_end ? g.map + page + room - len : g.map + page;
    return g;
}

static inline void guarded_free(guarded *g) {
    munmap(g->map, g->map_len);
}

#endif
