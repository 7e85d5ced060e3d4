/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/reason.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/table.h"

typedef struct rule_row {
    const char *name;
    const char *sentence;
} rule_row;

static const rule_row rules[TLY_PTO_NUM_RULES] = {
    {"", ""},
#define TLY_PTO_RULE(id, name, sentence) {name, sentence},
#include "pto/rules.def"
#undef TLY_PTO_RULE
};

const char *tly_pto_rule_name(uint32_t rule) {
    return rule < TLY_PTO_NUM_RULES ? rules[rule].name : "";
}

const char *tly_pto_rule_sentence(uint32_t rule) {
    return rule < TLY_PTO_NUM_RULES ? rules[rule].sentence : "";
}

static const char *const layout_names[] = {
    "row-major", "column-major", "ZN", "NZ", "CUBE_M16", "CUBE_M32", "CUBE_N8", "implementation"};

static void put_mask(uint64_t mask, char *out_text, size_t capacity) {
    snprintf(out_text, capacity, "%u%u%u%u", (unsigned)(mask >> 3 & 1), (unsigned)(mask >> 2 & 1),
             (unsigned)(mask >> 1 & 1), (unsigned)(mask & 1));
}

static void put_register(uint64_t selector, char *out_text, size_t capacity) {
    if (selector < 24) {
        snprintf(out_text, capacity, "%s", tly_isa_register_name((uint32_t)selector));
    } else if (selector < 28) {
        snprintf(out_text, capacity, "t#%u", (unsigned)(selector - 23));
    } else {
        snprintf(out_text, capacity, "u#%u", (unsigned)(selector - 27));
    }
}

/* One value as its place asks for it. */
static void put_value(uint64_t value, const char *how, size_t how_len, char *out_text,
                      size_t capacity) {
    const char *name = NULL;
    if (how_len == 0) {
        snprintf(out_text, capacity, "%" PRIu64, value);
    } else if (strncmp(how, "x", how_len) == 0) {
        snprintf(out_text, capacity, "0x%" PRIx64, value);
    } else if (strncmp(how, "s", how_len) == 0) {
        snprintf(out_text, capacity, "%" PRId64, (int64_t)value);
    } else if (strncmp(how, "mask", how_len) == 0) {
        put_mask(value, out_text, capacity);
    } else if (strncmp(how, "reg", how_len) == 0) {
        put_register(value & 31, out_text, capacity);
    } else {
        if (strncmp(how, "dtype", how_len) == 0) {
            name = tly_isa_name_of(TLY_NAMES_DTYPE, (uint32_t)value);
        } else if (strncmp(how, "layout", how_len) == 0) {
            name =
                value < sizeof(layout_names) / sizeof(layout_names[0]) ? layout_names[value] : NULL;
        } else if (strncmp(how, "op", how_len) == 0) {
            const tly_isa_tileop *op = tly_isa_tileop_at((uint32_t)value);
            name = op != NULL ? op->name : NULL;
        } else if (strncmp(how, "form", how_len) == 0 && value < tly_isa_num_forms()) {
            name = tly_isa_mnemonic_of((uint32_t)value);
        }
        if (name != NULL) {
            snprintf(out_text, capacity, "%s", name);
        } else {
            snprintf(out_text, capacity, "%" PRIu64, value);
        }
    }
}

size_t tly_pto_reason_text(const tly_pto_reason *reason, char *out_text, size_t capacity) {
    const char *at = tly_pto_rule_sentence(reason->rule);
    size_t len = 0;
    char value[64];
    if (capacity == 0) {
        return 0;
    }
    while (*at != '\0' && len + 1 < capacity) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        if (end == NULL || at[1] < '0' || at[1] >= '0' + TLY_PTO_NUM_REASON_VALUES) {
            out_text[len++] = *at++;
            continue;
        }
        const char *how = at[2] == ':' ? at + 3 : end;
        put_value(reason->values[at[1] - '0'], how, (size_t)(end - how), value, sizeof(value));
        for (const char *from = value; *from != '\0' && len + 1 < capacity; from++) {
            out_text[len++] = *from;
        }
        at = end + 1;
    }
    out_text[len] = '\0';
    return len;
}
