/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of tokens behind a table (Hurray 1.0, layouts/block-paged). */
#include <inttypes.h>

#include "base/bytes.h"
#include "base/error.h"
#include "layout/index.h"

static uint64_t entry(const tly_paged_map *map, const uint8_t *words, uint64_t number) {
    return map->is_wide ? tly_base_load_u64(words + number * 8)
                        : tly_base_load_u32(words + number * 4);
}

uint64_t tly_layout_paged_entry(const tly_paged_map *map, uint64_t number) {
    return entry(map, map->table, number);
}

uint64_t tly_layout_paged_pointer(const tly_paged_map *map, uint64_t seq) {
    return entry(map, map->pointers, seq);
}

static tly_status fail(const tly_paged_map *map, uint32_t buffer, uint64_t at, const char *rule,
                       const char *what, tly_error *error) {
    return tly_base_fail(error, TLY_MALFORMED, at * (map->is_wide ? 8 : 4), rule,
                         "buffer %u (%s), entry %" PRIu64 ": %s", buffer,
                         buffer == 1 ? "block table" : "sequence pointers", at, what);
}

tly_status tly_layout_paged_check(const tly_paged_map *map, tly_error *error) {
    if (entry(map, map->pointers, 0) != 0) {
        return fail(map, 2, 0, "V-BP-SEQ0", "the first pointer is not 0", error);
    }
    for (uint64_t s = 0; s < map->num_seqs; s++) {
        if (entry(map, map->pointers, s + 1) < entry(map, map->pointers, s)) {
            return fail(map, 2, s + 1, "V-BP-SEQMONO", "the pointers fall", error);
        }
    }
    if (entry(map, map->pointers, map->num_seqs) != map->num_entries) {
        return fail(map, 2, map->num_seqs, "V-BP-SEQEND",
                    "the last pointer is not the number of entries of the block table", error);
    }
    for (uint64_t i = 0; i < map->num_entries; i++) {
        if (entry(map, map->table, i) >= map->num_pages) {
            return fail(map, 1, i, "V-BP-PAGE", "there is no such page", error);
        }
    }
    return TLY_OK;
}

uint64_t tly_layout_paged_find(const tly_paged_map *map, uint64_t seq, uint64_t token) {
    uint64_t first, last, page = token / map->page_size;
    if (seq >= map->num_seqs) {
        return TLY_LAYOUT_NOT_STORED;
    }
    first = entry(map, map->pointers, seq);
    last = entry(map, map->pointers, seq + 1);
    if (page >= last - first) {
        return TLY_LAYOUT_NOT_STORED;
    }
    return entry(map, map->table, first + page) * map->page_size + token % map->page_size;
}
