/* SPDX-License-Identifier: Apache-2.0 */
#include "asm/lists.h"

#include <string.h>

#include "asm/operand.h"
#include "asm/suggest.h"
#include "base/error.h"
#include "base/text.h"

/* A word that may begin with a digit, as sizes and masks do. */
static size_t word_here(tly_asm_reader *r, const char **out_word) {
    size_t end;
    tly_asm_peek(r);
    end = r->at;
    while (end < r->len && tly_asm_is_word(r->text[end]) && r->text[end] != '.' &&
           r->text[end] != '$') {
        end++;
    }
    *out_word = r->text + r->at;
    return end - r->at;
}

int tly_asm_name(tly_asm_reader *r, tly_isa_names table, uint32_t *out_code) {
    const char *word;
    size_t len = word_here(r, &word);
    if (len == 0 || !tly_isa_code_of(table, word, len, out_code)) {
        return 0;
    }
    r->at += len;
    return 1;
}

/* #n behind a letter: 1 .. limit. */
static int distance_behind(tly_asm_reader *r, size_t at, uint32_t limit, uint32_t *out_n) {
    uint32_t n = 0;
    size_t start;
    if (at >= r->len || r->text[at] != '#') {
        return 0;
    }
    start = ++at;
    while (at < r->len && r->text[at] >= '0' && r->text[at] <= '9' && n <= limit) {
        n = n * 10 + (uint32_t)(r->text[at++] - '0');
    }
    if (at == start || n == 0 || n > limit) {
        return 0;
    }
    *out_n = n;
    r->at = at;
    return 1;
}

int tly_asm_register(tly_asm_reader *r, int destination, uint32_t *out_code) {
    const char *word;
    size_t len = word_here(r, &word);
    if (len == 0) {
        return 0;
    }
    if (len == 1 && ((word[0] | 32) == 't' || (word[0] | 32) == 'u')) {
        uint32_t is_u = (word[0] | 32) == 'u', n;
        if (destination) {
            if (r->at + 1 < r->len && r->text[r->at + 1] == '#') {
                return 0;
            }
            r->at++;
            *out_code = 31 - is_u;
            return 1;
        }
        if (!distance_behind(r, r->at + 1, 4, &n)) {
            return 0;
        }
        *out_code = 24 + 4 * is_u + n - 1;
        return 1;
    }
    if (len == 2) { /* all names but zero */
        uint32_t code = tly_isa_register_code(word[0], word[1]);
        if (code < 24) {
            r->at += 2;
            *out_code = code;
            return 1;
        }
    } else if (tly_text_equal(word, len, tly_isa_register_name(0))) {
        r->at += len;
        *out_code = 0;
        return 1;
    }
    if (len <= 3 && ((word[0] | 32) == 'r' || (destination && word[0] == '_'))) {
        uint32_t n = 0;
        for (size_t i = 1; i < len; i++) {
            if (word[i] < '0' || word[i] > '9') {
                return 0;
            }
            n = n * 10 + (uint32_t)(word[i] - '0');
        }
        if (len > 1 && (word[0] == '_' ? n >= 24 && n <= 29 : n < 24) &&
            !(len == 3 && word[1] == '0')) {
            r->at += len;
            *out_code = n;
            return 1;
        }
    }
    return 0;
}

int tly_asm_tile(tly_asm_reader *r, uint32_t *out_code) {
    static const char hands[] = "tumn";
    const char *word, *hand;
    uint32_t n;
    if (word_here(r, &word) != 1 || (hand = strchr(hands, word[0] | 32)) == NULL ||
        !distance_behind(r, r->at + 1, 16, &n)) {
        return 0;
    }
    *out_code = (uint32_t)(hand - hands) * 16 + n - 1;
    return 1;
}

int tly_asm_mask(tly_asm_reader *r, uint32_t *out_mask) {
    const char *word;
    uint32_t mask = 0;
    if (word_here(r, &word) != 4) {
        return 0;
    }
    for (int i = 0; i < 4; i++) {
        if (word[i] != '0' && word[i] != '1') {
            return 0;
        }
        mask = mask << 1 | (uint32_t)(word[i] - '0');
    }
    r->at += 4;
    *out_mask = mask;
    return 1;
}

int tly_asm_system_register(tly_asm_reader *r, uint32_t *out_address) {
    const char *word;
    size_t len = word_here(r, &word), base = len;
    uint32_t ring = 0;
    if (len == 0) {
        return 0;
    }
    if (tly_isa_code_of(TLY_NAMES_SYSTEM_REGISTER, word, len, out_address)) {
        r->at += len;
        return 1;
    }
    while (base > 0 && word[base - 1] >= '0' && word[base - 1] <= '9') {
        base--;
    }
    if (base < 5 || len - base == 0 || len - base > 2 ||
        tly_text_compare(word + base - 4, 4, "_ACR", 4) != 0) {
        return 0;
    }
    for (size_t i = base; i < len; i++) {
        ring = ring * 10 + (uint32_t)(word[i] - '0');
    }
    if (ring > 15 || !tly_isa_code_of(TLY_NAMES_CONTEXT_REGISTER, word, base - 4, out_address)) {
        return 0;
    }
    *out_address |= ring << 12;
    r->at += len;
    return 1;
}

/* Letters or short words behind one dot, in any order, each at most once. */
static tly_status suffix(tly_asm_reader *r, const tly_isa_form_row *form, const uint8_t *fields,
                         uint32_t count, int by_letter, int64_t *values, tly_error *error) {
    if (tly_asm_next(r) != '.') {
        return TLY_OK;
    }
    r->at++;
    for (int any = 0;; any = 1) {
        uint32_t i = 0;
        for (; i < count; i++) {
            const char *name = tly_isa_field_name(form, fields[i]);
            size_t len = by_letter || name[0] == 'f' ? 1 : strlen(name);
            if (values[i] == 0 && r->len - r->at >= len &&
                tly_text_compare(r->text + r->at, len, name, len) == 0) {
                values[i] = 1;
                r->at += len;
                break;
            }
        }
        if (i == count) {
            char next = tly_asm_next(r);
            if (any && (next == ' ' || next == '\t' || next == '\0' || next == '[')) {
                return TLY_OK;
            }
            return tly_asm_expected(r, by_letter ? "a queue flag" : "aq, rl or f", error);
        }
    }
}

static tly_status conversion(tly_asm_reader *r, uint32_t kind, int64_t *values, tly_error *error) {
    tly_isa_names source = tly_asm_source_type(kind);
    tly_isa_names target =
        kind == TLY_KIND_CONVERT_INT ? TLY_NAMES_INTEGER_TYPE : TLY_NAMES_FLOAT_TYPE;
    const char *word;
    size_t len = word_here(r, &word);
    for (uint32_t selector = 0; selector < 2; selector++) {
        const char *name = tly_isa_name_of(source, tly_asm_source_type_code(kind, selector));
        size_t name_len = strlen(name);
        uint32_t code;
        if (len > name_len + 1 && tly_text_compare(word, name_len, name, name_len) == 0 &&
            word[name_len] == '2' &&
            tly_isa_code_of(target, word + name_len + 1, len - name_len - 1, &code)) {
            values[0] = selector;
            values[1] = code;
            r->at += len;
            return TLY_OK;
        }
    }
    return tly_asm_expected(r, "a conversion, as in fd2sw", error);
}

static tly_status shared(tly_asm_reader *r, const tly_isa_form_row *form, const uint8_t *fields,
                         int64_t *values, tly_error *error) {
    int by_mode = strcmp(tly_isa_field_name(form, fields[1]), "PEMode") == 0;
    int source = 0;
    uint32_t code;
    for (int part = 0; part < 2; part++) {
        if ((part == 0 && (tly_asm_peek(r) | 32) == 's') || (part == 1 && !source)) {
            uint64_t number;
            if (part == 1 && (!tly_asm_accept(r, ",") || !tly_asm_accept(r, "->"))) {
                return tly_asm_expected(r, "\", ->S<n>\" with its size", error);
            }
            if ((tly_asm_peek(r) | 32) != 's') {
                return tly_asm_expected(r, "a shared tile: S0..S255", error);
            }
            r->at++;
            if (tly_asm_number(r, &number) != 1 || number > 255) {
                return tly_asm_expected(r, "a shared tile: S0..S255", error);
            }
            values[0] = (int64_t)number;
            if (part == 0) {
                source = 1;
                if (!tly_asm_accept(r, ",")) {
                    return tly_asm_expected(r, "a comma", error);
                }
            } else {
                if (!tly_asm_accept(r, "<") || !tly_asm_name(r, TLY_NAMES_SIZE, &code) ||
                    !tly_asm_accept(r, ">")) {
                    return tly_asm_expected(r, "a size in angle brackets, as in <8KB>", error);
                }
                values[2] = code;
            }
        }
        if (part == 0) {
            if (!tly_asm_accept(r, "mask") || !tly_asm_accept(r, "=") ||
                !(by_mode ? tly_asm_name(r, TLY_NAMES_PE_MODE, &code) : tly_asm_mask(r, &code))) {
                return tly_asm_expected(r, "mask= and four binary digits, PE0 first", error);
            }
            values[1] = code;
        }
    }
    return TLY_OK;
}

static tly_status unknown_operation(const tly_asm_reader *r, const char *word, size_t len,
                                    tly_error *error) {
    const char *close = NULL;
    unsigned best = 3;
    char shown[32];
    for (uint32_t i = 0; i < tly_isa_num_tileops(); i++) {
        const char *name = tly_isa_tileop_at(i)->name;
        unsigned distance = tly_asm_distance(word, len, name, strlen(name), best - 1);
        if (distance < best) {
            best = distance;
            close = name;
        }
    }
    tly_base_printable(shown, sizeof shown, word, len);
    return tly_base_fail(error, TLY_MALFORMED, r->at, "asm-operation",
                         close != NULL ? "no tile operation is called \"%s\"; did you mean %s?"
                                       : "no tile operation is called \"%s\"",
                         shown, close);
}

static tly_status tile_start(tly_asm_reader *r, const char *engine, const tly_asm_env *env,
                             int64_t *values, tly_error *error) {
    const char *word;
    size_t len = word_here(r, &word);
    uint32_t code, count = tly_isa_num_tileops();
    if (len != 0 && (word[0] | 32) >= 'a') {
        const tly_isa_tileop *op = NULL;
        for (uint32_t i = 0; i < count && op == NULL; i++) {
            if (tly_text_equal(word, len, tly_isa_tileop_at(i)->name)) {
                op = tly_isa_tileop_at(i);
            }
        }
        if (op == NULL) {
            return unknown_operation(r, word, len, error);
        }
        if (op->mode == 0xFF || (engine != NULL && strcmp(op->engine, engine) != 0)) {
            return tly_base_fail(error, TLY_MALFORMED, r->at, "asm-operation",
                                 op->mode == 0xFF ? "%s has a start of its own: %s"
                                                  : "%s runs on the other engine: BSTART.%s",
                                 op->name, op->mode == 0xFF ? op->carrier : op->engine);
        }
        values[0] = op->mode;
        values[1] = op->function;
        r->at += len;
    } else {
        tly_status status = tly_asm_constant(r, env, &values[0], error);
        if (status == TLY_OK && !tly_asm_accept(r, ",")) {
            status = tly_asm_expected(r, "a comma", error);
        }
        if (status == TLY_OK) {
            status = tly_asm_constant(r, env, &values[1], error);
        }
        if (status != TLY_OK) {
            return status;
        }
    }
    if (!tly_asm_accept(r, ",") || !tly_asm_name(r, TLY_NAMES_DTYPE, &code)) {
        return tly_asm_expected(r, "a comma and an element type", error);
    }
    values[2] = code;
    return TLY_OK;
}

static tly_status control(tly_asm_reader *r, int64_t *values, tly_error *error) {
    static const struct {
        const char *name;
        uint8_t first, second;
    } items[] = {{"trap", 0, 0}, {"atomic", 1, 1}, {"aqrl", 2, 3}, {"aq", 2, 2},
                 {"rl", 3, 3},   {"far", 4, 4},    {"dr", 5, 5}};
    if (tly_asm_accept(r, "none")) {
        return TLY_OK;
    }
    do {
        size_t i = 0;
        while (i < sizeof items / sizeof items[0] && !tly_asm_accept(r, items[i].name)) {
            i++;
        }
        if (i == sizeof items / sizeof items[0]) {
            return tly_asm_expected(r, "trap, atomic, aq, rl, aqrl, far, dr or none", error);
        }
        values[items[i].first] = values[items[i].second] = 1;
    } while (tly_asm_accept(r, ","));
    return TLY_OK;
}

/* cmode5, rmode6: a word with its number. */
static int numbered(tly_asm_reader *r, const char *prefix, int64_t limit, int64_t *out_value) {
    const char *word;
    size_t len = word_here(r, &word), prefix_len = strlen(prefix);
    if (len != prefix_len + 1 || tly_text_compare(word, prefix_len, prefix, prefix_len) != 0 ||
        word[prefix_len] < '0' || word[prefix_len] > '0' + limit) {
        return 0;
    }
    *out_value = word[prefix_len] - '0';
    r->at += len;
    return 1;
}

static tly_status data(tly_asm_reader *r, int64_t *values, tly_error *error) {
    uint32_t code;
    if (!tly_asm_name(r, TLY_NAMES_LAYOUT, &code)) {
        return tly_asm_expected(r, "a layout (NORM, ND2NZ, ND2M16, ...)", error);
    }
    values[0] = code;
    if (tly_asm_accept(r, ".normal")) {
        /* printed behind a layout by older tools; says nothing */
    }
    if (!tly_asm_accept(r, ",") || !tly_asm_name(r, TLY_NAMES_DTYPE, &code)) {
        return tly_asm_expected(r, "a comma and an element type or DTYPE_NONE", error);
    }
    values[1] = code;
    if (!tly_asm_accept(r, ",") || !tly_asm_name(r, TLY_NAMES_PAD, &code)) {
        return tly_asm_expected(r, "a comma and a pad value: Zero, Max, Min or Null", error);
    }
    values[2] = code;
    while (tly_asm_accept(r, ",")) {
        if (tly_asm_accept(r, "sat")) {
            values[5] = 1;
        } else if (tly_asm_accept(r, "canonicalize")) {
            values[6] = 1;
        } else if (!numbered(r, "cmode", 7, &values[3]) && !numbered(r, "rmode", 7, &values[4])) {
            return tly_asm_expected(r, "cmode0..7, rmode0..7, sat or canonicalize", error);
        }
    }
    return TLY_OK;
}

static tly_status hint(tly_asm_reader *r, const tly_asm_env *env, int64_t *values,
                       tly_error *error) {
    static const char *const temperatures[] = {"TEMP.none", "TEMP.cool", "TEMP.warm", "TEMP.hot"};
    do {
        uint32_t t = 0;
        if (tly_asm_accept(r, "BR.likely")) {
            values[0] = values[1] = 1;
            continue;
        }
        if (tly_asm_accept(r, "BR.unlikely")) {
            values[0] = 1;
            continue;
        }
        if (tly_asm_accept(r, "BR.invalid")) {
            values[1] = 1;
            continue;
        }
        while (t < 4 && !tly_asm_accept(r, temperatures[t])) {
            t++;
        }
        if (t < 4) {
            values[2] = t;
        } else {
            tly_status status = tly_asm_constant(r, env, &values[3], error);
            if (status != TLY_OK) {
                return status;
            }
        }
    } while (tly_asm_accept(r, ","));
    return TLY_OK;
}

tly_status tly_asm_list(tly_asm_reader *r, const tly_isa_form_row *form, uint32_t kind,
                        const uint8_t *fields, uint32_t count, const char *engine,
                        const tly_asm_env *env, int64_t *values, tly_error *error) {
    switch (kind) {
    case TLY_KIND_ORDER:
        return suffix(r, form, fields, count, 0, values, error);
    case TLY_KIND_QFLAGS:
        return suffix(r, form, fields, count, 1, values, error);
    case TLY_KIND_CONVERT:
    case TLY_KIND_CONVERT_INT:
    case TLY_KIND_CONVERT_FROM_S:
    case TLY_KIND_CONVERT_FROM_U:
        return conversion(r, kind, values, error);
    case TLY_KIND_SHARED:
        return shared(r, form, fields, values, error);
    case TLY_KIND_TEPL:
        return tile_start(r, engine, env, values, error);
    case TLY_KIND_CATR:
        return control(r, values, error);
    case TLY_KIND_DATR:
        return data(r, values, error);
    default:
        return hint(r, env, values, error);
    }
}
