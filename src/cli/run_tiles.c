/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_tiles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/convert.h>

#include "cli/text.h"
#include "isa/table.h"
#include "pto/fields.h"
#include "pto/tile/allocate.h"
#include "pto/tile/store.h"

enum { SHOWN_ROWS = 4, SHOWN_COLUMNS = 8, BAR = 32, VALUE_LEN = 32 };

typedef struct shown {
    const tly_pto_tile *tile;
    const tly_pto_elements *elements;
    uint32_t mask;
} shown;

static shown shown_at(const tly_pto_machine *m, bool shared, uint32_t index) {
    if (shared) {
        return (shown){&m->core.shared_tiles[index].tile, &m->tiles->shared[index],
                       m->core.shared_tiles[index].allocation_mask};
    }
    return (shown){&m->core.tiles[index], &m->tiles->local[index],
                   m->core.tile_allocation_masks[index]};
}

static void put_bar(FILE *out, uint64_t part, uint64_t whole) {
    uint32_t filled = whole != 0 ? (uint32_t)((part * BAR + whole - 1) / whole) : 0;
    fputc('[', out);
    for (uint32_t i = 0; i < BAR; i++) {
        fputc(i < filled ? '#' : '.', out);
    }
    fputc(']', out);
}

/* Number of defined elements inside and outside of the valid region. */
static void count_defined(const shown *s, uint32_t *out_valid, uint32_t *out_padding) {
    *out_valid = *out_padding = 0;
    for (uint32_t row = 0; row < s->tile->rows; row++) {
        for (uint32_t column = 0; column < s->tile->columns; column++) {
            uint32_t index = tly_pto_tile_index(s->tile, row, column);
            bool inside = row < s->tile->valid_rows && column < s->tile->valid_columns;
            if (tly_pto_element_is_defined(s->elements, s->tile, index)) {
                (*(inside ? out_valid : out_padding))++;
            }
        }
    }
}

/* An element as a number of its type; words that the type cannot hold, and formats that are no
 * numbers, in hexadecimal. */
static const char *element_text(const shown *s, uint32_t index, char *out, size_t capacity) {
    uint64_t word = tly_pto_element_read(s->elements, s->tile, index);
    const tly_format *format = tly_format_of_tile(s->tile->data_type);
    uint32_t bits = tly_isa_dtype_bits(s->tile->data_type);
    tly_code code = {.low = bits < 64 ? word & ((UINT64_C(1) << bits) - 1) : word}, value;
    double number = 0;
    uint32_t flags = 0;
    bool fits =
        tly_pto_dtype_in(s->tile->data_type, TLY_PTO_TYPES_SIGNED)
            ? bits == 64 || (int64_t)word >> (bits - 1) == 0 || (int64_t)word >> (bits - 1) == -1
            : code.low == word;
    if (s->tile->storage_kind == TLY_PTO_PREDICATE) {
        snprintf(out, capacity, "%d", tly_pto_predicate_read(s->elements, index));
    } else if (fits && tly_pto_dtype_in(s->tile->data_type, TLY_PTO_TYPES_SIGNED)) {
        int64_t extended =
            bits < 64 ? (int64_t)(code.low << (64 - bits)) >> (64 - bits) : (int64_t)code.low;
        snprintf(out, capacity, "%" PRId64, extended);
    } else if (fits && tly_pto_dtype_in(s->tile->data_type, TLY_PTO_TYPES_UNSIGNED)) {
        snprintf(out, capacity, "%" PRIu64, code.low);
    } else if (fits && format != NULL &&
               tly_convert_code(tly_format_find(TLY_F64), format, code, NULL, &value, &flags) ==
                   TLY_OK) {
        memcpy(&number, &value.low, sizeof number);
        snprintf(out, capacity, "%.6g", number);
    } else {
        snprintf(out, capacity, "0x%" PRIx64, word);
    }
    return out;
}

static void put_elements(FILE *out, const shown *s) {
    char text[VALUE_LEN];
    uint32_t rows = s->tile->valid_rows < SHOWN_ROWS ? s->tile->valid_rows : SHOWN_ROWS;
    uint32_t columns =
        s->tile->valid_columns < SHOWN_COLUMNS ? s->tile->valid_columns : SHOWN_COLUMNS;
    for (uint32_t row = 0; row < rows; row++) {
        fputs("    ", out);
        for (uint32_t column = 0; column < columns; column++) {
            uint32_t index = tly_pto_tile_index(s->tile, row, column);
            bool defined = tly_pto_element_is_defined(s->elements, s->tile, index);
            fprintf(out, " %12s",
                    defined ? element_text(s, index, text, sizeof text) : "undefined");
        }
        fputs(columns < s->tile->valid_columns ? " ...\n" : "\n", out);
    }
    if (rows < s->tile->valid_rows) {
        fputs("     ...\n", out);
    }
}

void tly_run_tile_print(FILE *out, const tly_pto_machine *m, bool shared, uint32_t index) {
    static const char hands[] = "tumn";
    shown s = shown_at(m, shared, index);
    char name[32], layout[64], size[32];
    uint32_t valid = 0, padding = 0;
    tly_pto_place place;
    snprintf(name, sizeof name, shared ? "shared %u" : "tile %u", index);
    if (!s.tile->allocated) {
        fprintf(out, "%s: not allocated\n", name);
        return;
    }
    tly_pto_place_find(m, "tile[0].layout", strlen("tile[0].layout"), &place);
    snprintf(layout, sizeof layout, "%s", tly_pto_field_value_name(place.field, s.tile->layout));
    const char *dtype = s.tile->storage_kind == TLY_PTO_PREDICATE
                            ? "predicates"
                            : tly_isa_name_of(TLY_NAMES_DTYPE, s.tile->data_type);
    fprintf(out, "%s", name);
    if (!shared) {
        fprintf(out, " (hand %c)", hands[index / 16 % 4]);
    }
    fprintf(out, ": %s, %s, %u x %u, valid %u x %u, elements %u%u%u%u, %s each\n",
            dtype != NULL ? dtype : "?", layout, s.tile->rows, s.tile->columns, s.tile->valid_rows,
            s.tile->valid_columns, s.mask >> 3 & 1, s.mask >> 2 & 1, s.mask >> 1 & 1, s.mask & 1,
            tly_text_bytes(size, sizeof size, s.tile->capacity_bytes));
    if (shared) {
        const tly_pto_shared_tile *t = &m->core.shared_tiles[index];
        fprintf(out, "    initialized %u%u%u%u, %s\n", t->initialized_mask >> 3 & 1,
                t->initialized_mask >> 2 & 1, t->initialized_mask >> 1 & 1, t->initialized_mask & 1,
                t->published ? "published" : "not published");
    }
    if (s.tile->layout == TLY_PTO_LAYOUT_IMPLEMENTATION) {
        return;
    }
    count_defined(&s, &valid, &padding);
    fprintf(out, "    defined: %u of %u valid elements, %u of the padding\n", valid,
            (uint32_t)s.tile->valid_rows * s.tile->valid_columns, padding);
    put_elements(out, &s);
}

void tly_run_tiles_print(FILE *out, const tly_pto_machine *m) {
    char used[32], whole[32];
    uint64_t in_use = tly_pto_capacity_in_use(m);
    fputs("capacity ", out);
    put_bar(out, in_use, m->core.base.tile_capacity);
    fprintf(out, " %s of %s\n", tly_text_bytes(used, sizeof used, in_use),
            tly_text_bytes(whole, sizeof whole, m->core.base.tile_capacity));
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        if (m->core.tiles[i].allocated) {
            tly_run_tile_print(out, m, false, i);
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        if (m->core.shared_tiles[i].tile.allocated) {
            tly_run_tile_print(out, m, true, i);
        }
    }
}

bool tly_run_tile_parse(const char *text, uint32_t *out_tile) {
    static const char hands[] = "tumn";
    const uint32_t in_hand = TLY_PTO_NUM_TILES / 4;
    const char *hand = text[0] != '\0' ? strchr(hands, text[0] | 32) : NULL;
    const char *digits = hand != NULL && text[1] == '#' ? text + 2 : text;
    bool by_hand = digits != text;
    char *end = NULL;
    unsigned long value = strtoul(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end != '\0' ||
        (by_hand ? value < 1 || value > in_hand : value >= TLY_PTO_NUM_TILES)) {
        return false;
    }
    *out_tile =
        by_hand ? (uint32_t)(hand - hands) * in_hand + (uint32_t)value - 1 : (uint32_t)value;
    return true;
}
