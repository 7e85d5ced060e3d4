/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of coordinates, and compressed rows and columns (Hurray 1.0, layouts/coo, csr, csc). */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "layout/index.h"

static uint64_t word(const uint8_t *words, uint64_t number) {
    return tly_base_load_u64(words + number * 8);
}

/* ---- coordinates ------------------------------------------------------------------------------
 */

static int compare_entries(const void *user, uint64_t a, uint64_t b) {
    const tly_coo_map *map = user;
    for (uint32_t d = 0; d < map->rank; d++) {
        uint64_t x = word(map->indices, a * map->rank + d),
                 y = word(map->indices, b * map->rank + d);
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return 0;
}

static tly_status bad_entry(uint64_t entry, uint32_t rank, const char *rule, const char *what,
                            tly_error *error) {
    return tly_base_fail(error, TLY_MALFORMED, entry * rank * 8, rule,
                         "buffer 1 (indices): entry %" PRIu64 " %s", entry, what);
}

static tly_status repeated(uint64_t entry, uint32_t rank, tly_error *error) {
    return bad_entry(entry, rank, "V-COO-DUP", "has the coordinates of another one", error);
}

static tly_status check_repetition(const tly_context *context, const tly_coo_map *map,
                                   tly_error *error) {
    tly_status status = TLY_OK;
    uint64_t len, *items;
    if (tly_base_mul_u64(map->nnz, 16, &len) || len > SIZE_MAX) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "", "too many elements to sort");
    }
    items = tly_base_alloc(context, len, 8);
    if (items == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory to sort %" PRIu64 " coordinates", map->nnz);
    }
    for (uint64_t i = 0; i < map->nnz; i++) {
        items[i] = i;
    }
    tly_layout_sort(items, items + map->nnz, map->nnz, compare_entries, map);
    for (uint64_t i = 1; i < map->nnz; i++) {
        if (compare_entries(map, items[i - 1], items[i]) == 0) {
            status = repeated(items[i], map->rank, error);
            break;
        }
    }
    tly_base_free(context, items, len, 8);
    return status;
}

tly_status tly_layout_coo_check(const tly_context *context, const tly_coo_map *map,
                                tly_error *error) {
    int rises = 1;
    for (uint64_t i = 0; i < map->nnz; i++) {
        for (uint32_t d = 0; d < map->rank; d++) {
            uint64_t at = i * map->rank + d;
            if (word(map->indices, at) >= map->shape[d]) {
                return tly_base_fail(error, TLY_MALFORMED, at * 8, "V-COO-BOUNDS",
                                     "buffer 1 (indices): entry %" PRIu64 " has %" PRIu64
                                     " on axis %u, whose extent is %" PRIu64,
                                     i, word(map->indices, at), d, map->shape[d]);
            }
        }
        if (i > 0) {
            int order = compare_entries(map, i - 1, i);
            if (order == 0) {
                return repeated(i, map->rank, error);
            }
            if (order > 0 && map->is_sorted) {
                return bad_entry(i, map->rank, "V-COO-ORDER",
                                 "comes before the one in front of it, but the list is declared "
                                 "sorted",
                                 error);
            }
            rises = rises && order < 0;
        }
    }
    return rises ? TLY_OK : check_repetition(context, map, error);
}

static int compare_index(const tly_coo_map *map, const uint64_t *index, uint64_t entry) {
    for (uint32_t d = 0; d < map->rank; d++) {
        uint64_t y = word(map->indices, entry * map->rank + d);
        if (index[d] != y) {
            return index[d] < y ? -1 : 1;
        }
    }
    return 0;
}

uint64_t tly_layout_coo_find(const tly_coo_map *map, const uint64_t *index) {
    uint64_t low = 0, high = map->nnz;
    if (!map->is_sorted) {
        for (uint64_t i = 0; i < map->nnz; i++) {
            if (compare_index(map, index, i) == 0) {
                return i;
            }
        }
        return TLY_LAYOUT_NOT_STORED;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order = compare_index(map, index, middle);
        if (order == 0) {
            return middle;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return TLY_LAYOUT_NOT_STORED;
}

/* ---- rows and columns -------------------------------------------------------------------------
 */

static tly_status fail(const tly_compressed_map *map, uint64_t at, const char *rule,
                       const char *what, tly_error *error) {
    char name[32];
    snprintf(name, sizeof name, "V-%s-%s", map->rules, rule);
    return tly_base_fail(error, TLY_MALFORMED, at * 8, name, "buffer %d, entry %" PRIu64 ": %s",
                         rule[0] == 'P' ? 2 : 1, at, what);
}

tly_status tly_layout_compressed_check(const tly_compressed_map *map, tly_error *error) {
    if (word(map->pointers, 0) != 0) {
        return fail(map, 0, "PTR0", "the first pointer is not 0", error);
    }
    for (uint64_t i = 0; i < map->num_major; i++) {
        uint64_t from = word(map->pointers, i), to = word(map->pointers, i + 1);
        if (to < from) {
            return fail(map, i + 1, "PTRMONO", "the pointers fall", error);
        }
    }
    if (word(map->pointers, map->num_major) != map->nnz) {
        return fail(map, map->num_major, "PTREND", "the last pointer is not the number of elements",
                    error);
    }
    for (uint64_t i = 0; i < map->num_major; i++) {
        uint64_t from = word(map->pointers, i), to = word(map->pointers, i + 1);
        for (uint64_t j = from; j < to; j++) {
            if (word(map->indices, j) >= map->num_minor) {
                return fail(map, j, "BOUNDS", "the index lies outside the shape", error);
            }
            if (j > from && word(map->indices, j) <= word(map->indices, j - 1)) {
                int same = word(map->indices, j) == word(map->indices, j - 1);
                return fail(map, j, same ? "DUP" : "SORTED",
                            same ? "the index repeats" : "the index falls within its row or column",
                            error);
            }
        }
    }
    return TLY_OK;
}

/* Place of `wanted` among the sorted words [low, high). */
static uint64_t search(const uint8_t *words, uint64_t low, uint64_t high, uint64_t wanted) {
    while (low < high) {
        uint64_t middle = low + (high - low) / 2, value = word(words, middle);
        if (value == wanted) {
            return middle;
        }
        if (wanted < value) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return TLY_LAYOUT_NOT_STORED;
}

uint64_t tly_layout_compressed_find(const tly_compressed_map *map, uint64_t major, uint64_t minor) {
    return search(map->indices, word(map->pointers, major), word(map->pointers, major + 1), minor);
}

/* ---- trees ------------------------------------------------------------------------------------
 */

static tly_status csf_fail(uint32_t level, int is_pointer, uint64_t at, const char *rule,
                           const char *what, tly_error *error) {
    return tly_base_fail(
        error, TLY_MALFORMED, at * 8, rule, "buffer %u (%s of level %u), entry %" PRIu64 ": %s",
        2 * level + (is_pointer ? 1 : 2), is_pointer ? "pointers" : "coordinates", level, at, what);
}

static tly_status check_level(const tly_csf_map *map, uint32_t level, uint64_t num_parents,
                              tly_error *error) {
    const uint8_t *pointers = map->pointers[level], *coordinates = map->coordinates[level];
    uint64_t extent = map->shape[map->mode_order[level]], num = map->num_nodes[level];
    if (word(pointers, 0) != 0) {
        return csf_fail(level, 1, 0, "V-CSF-POS0", "the first pointer is not 0", error);
    }
    for (uint64_t p = 0; p < num_parents; p++) {
        if (word(pointers, p + 1) < word(pointers, p)) {
            return csf_fail(level, 1, p + 1, "V-CSF-POSMONO", "the pointers fall", error);
        }
    }
    if (word(pointers, num_parents) != num || (level + 1 == map->rank && num != map->nnz)) {
        return csf_fail(level, 1, num_parents, "V-CSF-POSEND",
                        "the last pointer is not the number of coordinates of the level", error);
    }
    for (uint64_t p = 0; p < num_parents; p++) {
        uint64_t from = word(pointers, p), to = word(pointers, p + 1);
        for (uint64_t i = from; i < to; i++) {
            if (word(coordinates, i) >= extent) {
                return csf_fail(level, 0, i, "V-CSF-BOUNDS", "outside the shape", error);
            }
            if (i > from && word(coordinates, i) <= word(coordinates, i - 1)) {
                int same = word(coordinates, i) == word(coordinates, i - 1);
                return csf_fail(level, 0, i, same ? "V-CSF-DUP" : "V-CSF-SORTED",
                                same ? "a child twice" : "the children are not sorted", error);
            }
        }
    }
    return TLY_OK;
}

tly_status tly_layout_csf_check(const tly_csf_map *map, tly_error *error) {
    uint64_t num_parents = 1;
    for (uint32_t level = 0; level < map->rank; level++) {
        tly_status status;
        if (num_parents == UINT64_MAX || map->num_pointers[level] != num_parents + 1) {
            return csf_fail(level, 1, 0, "V-CSF-SIZE",
                            "there is not one pointer for each parent and one more", error);
        }
        status = check_level(map, level, num_parents, error);
        if (status != TLY_OK) {
            return status;
        }
        num_parents = map->num_nodes[level];
    }
    return TLY_OK;
}

uint64_t tly_layout_csf_find(const tly_csf_map *map, const uint64_t *index) {
    uint64_t p = 0;
    for (uint32_t level = 0; level < map->rank && p != TLY_LAYOUT_NOT_STORED; level++) {
        p = search(map->coordinates[level], word(map->pointers[level], p),
                   word(map->pointers[level], p + 1), index[map->mode_order[level]]);
    }
    return p;
}
