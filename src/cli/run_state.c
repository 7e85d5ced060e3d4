/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_state.h"

#include <inttypes.h>
#include <string.h>

#include "cli/json.h"
#include "pto/fields.h"
#include "pto/tile/store.h"

static void put_value(tly_json *json, const char *key, const tly_pto_field *field, uint64_t value) {
    char hex[24];
    const char *name = tly_pto_field_value_name(field, value);
    if (name != NULL) {
        tly_json_string(json, key, name);
    } else if (field->kind == TLY_PTO_FIELD_FLAG) {
        tly_json_bool(json, key, value != 0);
    } else if (field->kind == TLY_PTO_FIELD_WORD) {
        snprintf(hex, sizeof hex, "0x%" PRIx64, value);
        tly_json_string(json, key, hex);
    } else {
        tly_json_u64(json, key, value);
    }
}

/* Runs of defined elements, as [[first, last], ..]. */
static void put_defined(tly_json *json, const tly_pto_elements *e, const tly_pto_tile *tile) {
    uint32_t num = tly_pto_tile_elements(tile);
    tly_json_row(json, "defined");
    for (uint32_t i = 0; i < num;) {
        uint32_t first = i;
        if (!tly_pto_element_is_defined(e, tile, i)) {
            i++;
            continue;
        }
        while (i < num && tly_pto_element_is_defined(e, tile, i)) {
            i++;
        }
        tly_json_row(json, NULL);
        tly_json_u64(json, NULL, first);
        tly_json_u64(json, NULL, i - 1);
        tly_json_end_array(json);
    }
    tly_json_end_array(json);
}

/* Elements in the order of the tile's layout, as words in hexadecimal; undefined ones are null. */
static void put_elements(tly_json *json, const tly_pto_elements *e, const tly_pto_tile *tile) {
    char hex[24];
    uint32_t num = tly_pto_tile_elements(tile);
    tly_json_row(json, "elements");
    for (uint32_t i = 0; i < num; i++) {
        if (!tly_pto_element_is_defined(e, tile, i)) {
            tly_json_string(json, NULL, "");
            continue;
        }
        uint64_t word = tile->storage_kind == TLY_PTO_PREDICATE ? tly_pto_predicate_read(e, i)
                                                                : tly_pto_element_read(e, tile, i);
        snprintf(hex, sizeof hex, "%" PRIx64, word);
        tly_json_string(json, NULL, hex);
    }
    tly_json_end_array(json);
}

static void put_tiles(tly_json *json, const char *key, tly_pto_machine *m, bool shared) {
    uint32_t count = shared ? TLY_PTO_NUM_SHARED_TILES : TLY_PTO_NUM_TILES;
    tly_json_array(json, key);
    for (uint32_t i = 0; i < count; i++) {
        const tly_pto_tile *tile = shared ? &m->core.shared_tiles[i].tile : &m->core.tiles[i];
        const tly_pto_elements *e = shared ? &m->tiles->shared[i] : &m->tiles->local[i];
        if (tile->allocated) {
            tly_json_object(json, NULL);
            tly_json_u64(json, "index", i);
            put_defined(json, e, tile);
            put_elements(json, e, tile);
            tly_json_end_object(json);
        }
    }
    tly_json_end_array(json);
}

static void put_machine(tly_json *json, tly_pto_machine *m, tly_pto_machine *reset) {
    tly_pto_place place = {0};
    char name[128];
    tly_json_object(json, NULL);
    tly_json_object(json, "state");
    while (tly_pto_place_next(m, &place)) {
        uint64_t value = tly_pto_place_read(m, &place);
        if (value != tly_pto_place_read(reset, &place)) {
            tly_pto_place_name(&place, name, sizeof name);
            put_value(json, name, place.field, value);
        }
    }
    tly_json_end_object(json);
    put_tiles(json, "tiles", m, false);
    put_tiles(json, "shared_tiles", m, true);
    tly_json_end_object(json);
}

void tly_run_state_json(FILE *out, tly_pto_machine *m, tly_pto_machine *reset) {
    tly_json json;
    tly_json_init(&json, out);
    put_machine(&json, m, reset);
    tly_json_finish(&json);
}

void tly_run_team_state_json(FILE *out, tly_pto_team *team, tly_pto_machine *reset) {
    tly_json json;
    tly_json_init(&json, out);
    tly_json_object(&json, NULL);
    tly_json_array(&json, "elements");
    for (uint32_t i = 0; i < tly_pto_team_size(team); i++) {
        put_machine(&json, tly_pto_team_machine(team, i), reset);
    }
    tly_json_end_array(&json);
    tly_json_end_object(&json);
    tly_json_finish(&json);
}
