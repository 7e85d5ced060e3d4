/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pto_case_tiles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pto/tile/store.h"

/* One tile of the machine: descriptor and elements. */
typedef struct tile_ref {
    tly_pto_tile *tile;
    tly_pto_elements *elements;
} tile_ref;

static tile_ref tile_at(tly_pto_machine *m, bool shared, uint32_t index) {
    return shared ? (tile_ref){&m->core.shared_tiles[index].tile, &m->tiles->shared[index]}
                  : (tile_ref){&m->core.tiles[index], &m->tiles->local[index]};
}

/* "0-3,8" */
static bool set_defined(tile_ref t, const char *runs) {
    uint32_t num_elements = tly_pto_tile_elements(t.tile);
    for (const char *at = runs; at != NULL && *at != '\0';) {
        char *end = NULL;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at) {
            return false;
        }
        if (*end == '-') {
            last = strtoul(end + 1, &end, 10);
        }
        if (first > last || last >= num_elements || (*end != ',' && *end != '\0')) {
            return false;
        }
        for (unsigned long i = first; i <= last; i++) {
            tly_pto_element_define(t.elements, t.tile, (uint32_t)i, true);
        }
        at = *end == ',' ? end + 1 : end;
    }
    return true;
}

/* [[first, "w,w,.."], ..] in hexadecimal */
static bool set_payload(tile_ref t, const json_t *pieces) {
    size_t i = 0;
    const json_t *piece = NULL;
    uint32_t len = tly_pto_payload_len(t.tile);
    json_array_foreach(pieces, i, piece) {
        uint64_t index = (uint64_t)json_integer_value(json_array_get(piece, 0));
        const char *at = json_string_value(json_array_get(piece, 1));
        while (at != NULL && *at != '\0') {
            char *end = NULL;
            uint64_t word = strtoull(at, &end, 16);
            if (end == at || (*end != ',' && *end != '\0') || index >= len) {
                return false;
            }
            tly_pto_payload_write(t.elements, t.tile, (uint32_t)index++, word);
            at = *end == ',' ? end + 1 : end;
        }
    }
    return true;
}

/* Descriptor first: it says how many elements there are. */
static tly_status set_tile(tly_pto_machine *m, bool shared, uint32_t index, json_t *recorded,
                           tly_error *error) {
    const char *key = NULL;
    json_t *value = NULL;
    char name[128];
    tile_ref t = tile_at(m, shared, index);
    json_object_foreach(recorded, key, value) {
        if (strcmp(key, "payload") == 0 || strstr(key, "defined_elements") != NULL) {
            continue;
        }
        snprintf(name, sizeof name, "%s[%u].%.64s", shared ? "shared" : "tile", index, key);
        tly_status status = tly_pto_case_set(m, name, value, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    bool good = true;
    json_object_foreach(recorded, key, value) {
        if (strcmp(key, "payload") == 0) {
            good = good && set_payload(t, value);
        } else if (strstr(key, "defined_elements") != NULL) {
            good = good && set_defined(t, json_string_value(value));
        }
    }
    return good ? TLY_OK
                : tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "vector-state",
                                "tile %u: elements that it does not have", index);
}

tly_status tly_pto_case_set_tiles(tly_pto_machine *m, json_t *tiles, bool shared,
                                  tly_error *error) {
    const char *key = NULL;
    json_t *recorded = NULL;
    json_object_foreach(tiles, key, recorded) {
        unsigned long index = strtoul(key, NULL, 10);
        if (index >= (shared ? TLY_PTO_NUM_SHARED_TILES : TLY_PTO_NUM_TILES)) {
            return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "vector-state",
                                 "there is no tile %s", key);
        }
        tly_status status = set_tile(m, shared, (uint32_t)index, recorded, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static bool same_tile(tile_ref got, tile_ref wanted, bool shared, uint32_t index, char *out_text,
                      size_t capacity) {
    const char *kind = shared ? "shared tile" : "tile";
    if (!wanted.tile->allocated) {
        return true;
    }
    for (uint32_t i = 0; i < tly_pto_tile_elements(wanted.tile); i++) {
        bool a = tly_pto_element_is_defined(wanted.elements, wanted.tile, i);
        bool b = tly_pto_element_is_defined(got.elements, got.tile, i);
        if (a != b) {
            snprintf(out_text, capacity, "%s %u, element %u: expected %s, got %s", kind, index, i,
                     a ? "defined" : "undefined", b ? "defined" : "undefined");
            return false;
        }
    }
    for (uint32_t i = 0; i < tly_pto_payload_len(wanted.tile); i++) {
        uint64_t a = tly_pto_payload_read(wanted.elements, wanted.tile, i);
        uint64_t b = tly_pto_payload_read(got.elements, got.tile, i);
        if (a != b) {
            snprintf(out_text, capacity,
                     "%s %u, payload %u: expected 0x%" PRIx64 ", got 0x%" PRIx64, kind, index, i, a,
                     b);
            return false;
        }
    }
    return true;
}

bool tly_pto_case_same_tiles(tly_pto_machine *machine, tly_pto_machine *expected, char *out_text,
                             size_t capacity) {
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        if (!same_tile(tile_at(machine, false, i), tile_at(expected, false, i), false, i, out_text,
                       capacity)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        if (!same_tile(tile_at(machine, true, i), tile_at(expected, true, i), true, i, out_text,
                       capacity)) {
            return false;
        }
    }
    return true;
}
