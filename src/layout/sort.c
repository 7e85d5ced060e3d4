/* SPDX-License-Identifier: Apache-2.0 */
/* Merges runs that are sorted already, which index buffers often are. */
#include <string.h>

#include "layout/index.h"

static uint64_t run_end(const uint64_t *items, uint64_t from, uint64_t count,
                        tly_layout_compare *compare, const void *user) {
    uint64_t end = from + 1;
    while (end < count && compare(user, items[end - 1], items[end]) <= 0) {
        end++;
    }
    return end < count ? end : count;
}

void tly_layout_sort(uint64_t *items, uint64_t *scratch, uint64_t count,
                     tly_layout_compare *compare, const void *user) {
    for (;;) {
        uint64_t at = 0, runs = 0;
        while (at < count) {
            uint64_t middle = run_end(items, at, count, compare, user), end = middle;
            uint64_t a = at, b = middle, out = at;
            runs++;
            if (middle < count) {
                end = run_end(items, middle, count, compare, user);
            }
            while (a < middle && b < end) {
                int second = compare(user, items[a], items[b]) > 0;
                scratch[out++] = second ? items[b++] : items[a++];
            }
            memcpy(scratch + out, items + a, (middle - a) * sizeof *items);
            out += middle - a;
            memcpy(scratch + out, items + b, (end - b) * sizeof *items);
            at = end;
        }
        if (count > 0) {
            memcpy(items, scratch, count * sizeof *items);
        }
        if (runs <= 1) {
            return;
        }
    }
}
