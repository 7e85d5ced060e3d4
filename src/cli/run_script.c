/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "cli/lines.h"
#include "cli/run_tiles.h"
#include "isa/table.h"
#include "pto/fields.h"

enum { MAX_WORDS = 12, LINE_LEN = 512, MAX_PRINTED = 65536, ROW = 16 };

/* One line, cut at blanks. */
typedef struct action {
    char text[LINE_LEN];
    const char *words[MAX_WORDS];
    uint32_t num;
    uint64_t line;
} action;

typedef struct verb {
    const char *name;
    uint32_t min_words; /* with the verb */
    uint32_t max_words;
    tly_status (*run)(tly_script *script, const action *a, tly_error *error);
    const char *usage;
} verb;

static tly_status bad(tly_error *error, const action *a, const char *format, const char *word) {
    char text[200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, word);
#pragma GCC diagnostic pop
    return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "script", "line %" PRIu64 ": %s",
                         a->line, text);
}

/* A number, or a symbol of the program. */
static tly_status number(const tly_script *s, const action *a, uint32_t word, uint64_t *out_value,
                         tly_error *error) {
    if (tly_loaded_address(s->loaded, a->words[word], out_value, NULL, NULL) == TLY_OK) {
        return TLY_OK;
    }
    return bad(error, a, "\"%.100s\" is neither a number nor a symbol", a->words[word]);
}

static tly_status tile(const action *a, uint32_t word, uint32_t *out_tile, tly_error *error) {
    return tly_run_tile_parse(a->words[word], out_tile)
               ? TLY_OK
               : bad(error, a, "\"%.100s\" is no tile: 0 to 63, or t#1 to n#16", a->words[word]);
}

static const char *end_name(int32_t end) {
    static const char *const names[] = {"stopped", "refused", "ran", "no instruction", "ended"};
    return names[end];
}

static void show_refusal(tly_script *s, const tly_pto_refusal *why) {
    s->failed = 1;
    fprintf(s->out, "refused: %s at 0x%" PRIx64 " [%s] %s\n", why->name, why->address, why->rule,
            why->text);
}

static tly_status run_for(tly_script *s, uint64_t stop_pc, uint64_t max_steps) {
    tly_pto_run_options options = s->run;
    tly_pto_run_result result;
    tly_pto_refusal why = {.size = sizeof why};
    options.stop_pc = stop_pc;
    options.max_steps = max_steps;
    tly_pto_run(s->machine, &options, &result);
    fprintf(s->out, "%s after %" PRIu64 " steps at 0x%" PRIx64 "\n", end_name(result.end),
            result.num_steps, s->machine->core.context.tpc);
    if (result.end == TLY_PTO_END_FAULT) {
        tly_pto_refusal_get(s->machine, &why);
        show_refusal(s, &why);
    }
    s->failed |= result.end == TLY_PTO_END_FETCH;
    return TLY_OK;
}

static tly_status do_run(tly_script *s, const action *a, tly_error *error) {
    uint64_t steps = s->run.max_steps;
    tly_status status = a->num > 1 ? number(s, a, 1, &steps, error) : TLY_OK;
    return status == TLY_OK ? run_for(s, s->run.stop_pc, steps) : status;
}

static tly_status do_step(tly_script *s, const action *a, tly_error *error) {
    uint64_t steps = 1;
    tly_status status = a->num > 1 ? number(s, a, 1, &steps, error) : TLY_OK;
    return status == TLY_OK ? run_for(s, UINT64_MAX, steps) : status;
}

static tly_status do_until(tly_script *s, const action *a, tly_error *error) {
    uint64_t address = 0;
    tly_status status = number(s, a, 1, &address, error);
    return status == TLY_OK ? run_for(s, address, s->run.max_steps) : status;
}

/* "a0" and its like are registers of the current element; all else is a name of the state. */
static tly_status place_of(const tly_script *s, const action *a, uint32_t word,
                           tly_pto_place *out_place, tly_error *error) {
    const char *name = a->words[word];
    char path[32];
    for (uint32_t r = 0; r < TLY_PTO_NUM_GPRS; r++) {
        if (strcasecmp(name, tly_isa_register_name(r)) == 0) {
            snprintf(path, sizeof path, "gpr[%u][%u]", s->machine->core.current_pe, r);
            name = path;
            break;
        }
    }
    return tly_pto_place_find(s->machine, name, strlen(name), out_place)
               ? TLY_OK
               : bad(error, a, "the machine has no state \"%.100s\"", a->words[word]);
}

static tly_status do_set(tly_script *s, const action *a, tly_error *error) {
    tly_pto_place place;
    uint64_t value = 0;
    tly_status status = place_of(s, a, 1, &place, error);
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_pto_field_value_find(place.field, a->words[2], strlen(a->words[2]), &value)) {
        status = number(s, a, 2, &value, error);
    }
    if (status == TLY_OK && !tly_pto_place_admits(&place, value)) {
        return bad(error, a, "that cannot be \"%.100s\"", a->words[2]);
    }
    if (status == TLY_OK) {
        tly_pto_place_write(s->machine, &place, value);
    }
    return status;
}

/* alloc TILE BYTES TYPE ROWS COLUMNS [LAYOUT [MASK]]: shape of the valid region. */
static tly_status do_alloc(tly_script *s, const action *a, tly_error *error) {
    tly_pto_refusal why = {.size = sizeof why};
    tly_pto_tile_shape shape = {.size = sizeof shape, .pe_mask = 8};
    uint64_t bytes = 0, rows = 0, columns = 0, layout = 0, mask = 8;
    uint32_t index = 0, physical = 1;
    tly_pto_place place;
    tly_status status = tile(a, 1, &index, error);
    if (status == TLY_OK) {
        status = number(s, a, 2, &bytes, error);
    }
    if (status == TLY_OK &&
        !tly_isa_code_of(TLY_NAMES_DTYPE, a->words[3], strlen(a->words[3]), &shape.data_type)) {
        status = bad(error, a, "\"%.100s\" is no element type", a->words[3]);
    }
    if (status == TLY_OK) {
        status = number(s, a, 4, &rows, error);
    }
    if (status == TLY_OK) {
        status = number(s, a, 5, &columns, error);
    }
    tly_pto_place_find(s->machine, "tile[0].layout", strlen("tile[0].layout"), &place);
    if (status == TLY_OK && a->num > 6 &&
        !tly_pto_field_value_find(place.field, a->words[6], strlen(a->words[6]), &layout)) {
        status = bad(error, a, "\"%.100s\" is no layout of tiles", a->words[6]);
    }
    if (status == TLY_OK && a->num > 7) {
        char *end = NULL;
        mask = strtoul(a->words[7], &end, 2);
        if (*end != '\0' || strlen(a->words[7]) != TLY_PTO_NUM_PES) {
            status = bad(error, a, "\"%.100s\" is no mask: four digits 0 or 1, element 0 first",
                         a->words[7]);
        }
    }
    if (status != TLY_OK) {
        return status;
    }
    while (physical < columns && physical < 65536) {
        physical *= 2; /* columns in storage are a power of two */
    }
    shape.capacity_bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    shape.pe_mask = (uint32_t)mask;
    shape.layout = (uint32_t)layout;
    shape.rows = rows > UINT32_MAX ? UINT32_MAX : (uint32_t)rows;
    shape.columns = physical;
    shape.valid_rows = shape.rows;
    shape.valid_columns = columns > UINT32_MAX ? UINT32_MAX : (uint32_t)columns;
    if (!tly_pto_tile_allocate(s->machine, index, &shape, &why)) {
        show_refusal(s, &why);
    }
    return TLY_OK;
}

static tly_status do_free(tly_script *s, const action *a, tly_error *error) {
    tly_pto_refusal why = {.size = sizeof why};
    uint32_t index = 0;
    tly_status status = tile(a, 1, &index, error);
    if (status == TLY_OK && !tly_pto_tile_release(s->machine, index, &why)) {
        show_refusal(s, &why);
    }
    return status;
}

static tly_status do_copy(tly_script *s, const action *a, tly_error *error) {
    tly_pto_refusal why = {.size = sizeof why};
    uint32_t from = 0, to = 0;
    tly_status status = tile(a, 1, &from, error);
    if (status == TLY_OK) {
        status = tile(a, 2, &to, error);
    }
    if (status == TLY_OK && !tly_pto_tile_copy(s->machine, to, from, &why)) {
        show_refusal(s, &why);
    }
    return status;
}

static tly_status print_memory(tly_script *s, const action *a, tly_error *error) {
    uint64_t address = 0, len = ROW;
    uint8_t bytes[ROW];
    tly_status status = a->num > 2 ? number(s, a, 2, &address, error)
                                   : bad(error, a, "%s", "print mem ADDRESS [LEN]");
    if (status == TLY_OK && a->num > 3) {
        status = number(s, a, 3, &len, error);
    }
    if (status == TLY_OK && len > MAX_PRINTED) {
        return bad(error, a, "%s bytes are too many to print", a->words[3]);
    }
    for (uint64_t at = 0; at < len && status == TLY_OK; at += ROW) {
        uint64_t part = len - at < ROW ? len - at : ROW;
        status = tly_pto_memory_read(s->machine, address + at, bytes, part, error);
        for (uint64_t i = 0; i < part && status == TLY_OK; i++) {
            if (i == 0) {
                fprintf(s->out, "%08" PRIx64 " ", address + at);
            }
            fprintf(s->out, " %02x%s", bytes[i], i + 1 == part ? "\n" : "");
        }
    }
    return status;
}

static tly_status do_print(tly_script *s, const action *a, tly_error *error) {
    tly_pto_place place;
    uint32_t index = 0;
    if (strcmp(a->words[1], "tiles") == 0) {
        tly_run_tiles_print(s->out, s->machine);
        return TLY_OK;
    }
    if (strcmp(a->words[1], "mem") == 0) {
        return print_memory(s, a, error);
    }
    if (strcmp(a->words[1], "tile") == 0) {
        tly_status status =
            a->num > 2 ? tile(a, 2, &index, error) : bad(error, a, "%s", "print tile TILE");
        if (status == TLY_OK) {
            tly_run_tile_print(s->out, s->machine, false, index);
        }
        return status;
    }
    tly_status status = place_of(s, a, 1, &place, error);
    if (status == TLY_OK) {
        uint64_t value = tly_pto_place_read(s->machine, &place);
        const char *name = tly_pto_field_value_name(place.field, value);
        fprintf(s->out, "%s = ", a->words[1]);
        if (name != NULL) {
            fprintf(s->out, "%s\n", name);
        } else {
            fprintf(s->out,
                    place.field->kind == TLY_PTO_FIELD_WORD ? "0x%" PRIx64 "\n" : "%" PRIu64 "\n",
                    value);
        }
    }
    return status;
}

static const verb verbs[] = {
    {"run", 1, 2, do_run, "run [STEPS]"},
    {"step", 1, 2, do_step, "step [STEPS]"},
    {"until", 2, 2, do_until, "until ADDRESS"},
    {"set", 3, 3, do_set, "set NAME VALUE"},
    {"alloc", 6, 8, do_alloc, "alloc TILE BYTES TYPE ROWS COLUMNS [LAYOUT [MASK]]"},
    {"free", 2, 2, do_free, "free TILE"},
    {"copy", 3, 3, do_copy, "copy FROM TO"},
    {"print", 2, 4, do_print, "print NAME, print tiles, print tile TILE or print mem ADDRESS LEN"},
};

static void cut(action *a) {
    char *at = a->text, *comment = strchr(a->text, ';');
    if (comment != NULL) {
        *comment = '\0';
    }
    a->num = 0;
    while (a->num < MAX_WORDS) {
        at += strspn(at, " \t\r");
        if (*at == '\0') {
            break;
        }
        a->words[a->num++] = at;
        at += strcspn(at, " \t\r");
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
}

static tly_status play(tly_script *s, const action *a, tly_error *error) {
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        const verb *v = &verbs[i];
        if (strcmp(a->words[0], v->name) != 0) {
            continue;
        }
        return a->num >= v->min_words && a->num <= v->max_words
                   ? v->run(s, a, error)
                   : bad(error, a, "expected: %.150s", v->usage);
    }
    return bad(error, a,
               "\"%.60s\" is no action; there are run, step, until, set, alloc, free, copy, print",
               a->words[0]);
}

tly_status tly_script_run(tly_script *s, const char *path, tly_error *error) {
    tly_lines lines;
    action a;
    tly_status status = tly_lines_init(&lines, strcmp(path, "-") == 0 ? "/dev/stdin" : path, error);
    while (status == TLY_OK) {
        const char *line = NULL;
        size_t len = 0;
        status = tly_lines_next(&lines, &line, &len, error);
        if (status != TLY_OK || line == NULL) {
            break;
        }
        a.line = lines.number;
        if (len >= LINE_LEN) {
            status = bad(error, &a, "%s", "the line is too long");
            break;
        }
        memcpy(a.text, line, len + 1);
        cut(&a);
        if (a.num > 0) {
            status = play(s, &a, error);
        }
    }
    tly_lines_cleanup(&lines);
    return status;
}
