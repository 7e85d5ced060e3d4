/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a recorded case: names, values, memory. */
#include "cli/pto_case.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/pto_case_tiles.h"

enum { NAME_MAX_LEN = 128 };

size_t tly_pto_case_name(const char *path, char *out_name, size_t capacity) {
    size_t len = 0;
    const char *p = path + (*path == '_');
    for (const char *start = p; *p != '\0' && len + 2 < capacity; p++) {
        bool upper = isupper((unsigned char)*p) != 0;
        bool after_lower =
            p > start && (islower((unsigned char)p[-1]) || isdigit((unsigned char)p[-1]));
        bool ends_acronym =
            p > start && isupper((unsigned char)p[-1]) && islower((unsigned char)p[1]);
        if (upper && (after_lower || ends_acronym)) {
            out_name[len++] = '_';
        }
        out_name[len++] = (char)tolower((unsigned char)*p);
    }
    out_name[len] = '\0';
    return len;
}

static tly_status bad(tly_error *error, const char *what, const char *name) {
    return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "vector-state", "%s: %s", name, what);
}

/* A JSON value as the field takes it: a flag, a number, "0x..", or "Enumeration_Name". */
static bool value_of(const tly_pto_field *field, const json_t *value, uint64_t *out_value) {
    if (json_is_boolean(value)) {
        *out_value = json_is_true(value);
        return true;
    }
    if (json_is_integer(value)) {
        *out_value = (uint64_t)json_integer_value(value);
        return true;
    }
    const char *text = json_string_value(value);
    if (text == NULL) {
        return false;
    }
    if (field->kind == TLY_PTO_FIELD_NAMED) {
        const char *name = strchr(text, '_');
        return name != NULL &&
               tly_pto_field_value_find(field, name + 1, strlen(name + 1), out_value);
    }
    char *end = NULL;
    *out_value = strtoull(text, &end, 0);
    return end != text && *end == '\0';
}

static tly_status set(tly_pto_machine *m, const char *name, const json_t *value, tly_error *error) {
    tly_pto_place place;
    uint64_t number = 0;
    if (!tly_pto_place_find(m, name, strlen(name), &place)) {
        return bad(error, "the machine has no such state", name);
    }
    if (!value_of(place.field, value, &number) || !tly_pto_place_admits(&place, number)) {
        return bad(error, "this is no value of that state", name);
    }
    tly_pto_place_write(m, &place, number);
    return TLY_OK;
}

/* Each member of an object, under `format` with the member's name in it. */
static tly_status set_members(tly_pto_machine *m, json_t *object, const char *format,
                              tly_error *error) {
    const char *key = NULL;
    json_t *value = NULL;
    char name[NAME_MAX_LEN], path[NAME_MAX_LEN];
    tly_status status = TLY_OK;
    json_object_foreach(object, key, value) {
        tly_pto_case_name(key, path, sizeof path);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(name, sizeof name, format, path);
#pragma GCC diagnostic pop
        status = set(m, name, value, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return status;
}

/* Members of the members, as in {"1": {"tpc": ..}}, under PREFIX[1].tpc. */
static tly_status set_banks(tly_pto_machine *m, json_t *banks, const char *prefix,
                            tly_error *error) {
    const char *bank = NULL;
    json_t *object = NULL;
    char format[NAME_MAX_LEN];
    json_object_foreach(banks, bank, object) {
        snprintf(format, sizeof format, "%s[%.8s].%%s", prefix, bank);
        tly_status status = set_members(m, object, format, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

/* {"1.5": ..} is register 5 of element 1. */
static tly_status set_gprs(tly_pto_machine *m, json_t *gprs, tly_error *error) {
    const char *key = NULL;
    json_t *value = NULL;
    char name[NAME_MAX_LEN];
    json_object_foreach(gprs, key, value) {
        const char *dot = strchr(key, '.');
        if (dot == NULL) {
            return bad(error, "no element", key);
        }
        snprintf(name, sizeof name, "gpr[%.*s][%s]", (int)(dot - key), key, dot + 1);
        tly_status status = set(m, name, value, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

/* {"0xRLLL": ..} is context register 0xLLL of ring R. */
static tly_status set_context(tly_pto_machine *m, json_t *registers, tly_error *error) {
    const char *key = NULL;
    json_t *value = NULL;
    char name[NAME_MAX_LEN];
    json_object_foreach(registers, key, value) {
        unsigned long index = strtoul(key, NULL, 16);
        if ((index & 0xFFF) < TLY_PTO_CONTEXT_BASE) {
            return bad(error, "not a context register", key);
        }
        snprintf(name, sizeof name, "context_register[%lu][%lu]", index >> 12,
                 (index & 0xFFF) - TLY_PTO_CONTEXT_BASE);
        tly_status status = set(m, name, value, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static tly_status set_memory(tly_pto_machine *m, json_t *pieces, tly_error *error) {
    size_t i = 0;
    json_t *piece = NULL;
    json_array_foreach(pieces, i, piece) {
        uint64_t address = (uint64_t)json_integer_value(json_array_get(piece, 0));
        const char *hex = json_string_value(json_array_get(piece, 1));
        size_t len = hex != NULL ? strlen(hex) / 2 : 0;
        if (hex == NULL || address > m->memory.size || len > m->memory.size - address) {
            return bad(error, "outside memory", "mem");
        }
        for (size_t k = 0; k < len; k++) {
            int high = digit(hex[2 * k]), low = digit(hex[2 * k + 1]);
            if (high < 0 || low < 0) {
                return bad(error, "no hexadecimal bytes", "mem");
            }
            m->memory.bytes[address + k] = (uint8_t)(high << 4 | low);
        }
    }
    return TLY_OK;
}

/* Keys whose value is one field. */
static const struct {
    const char *key;
    const char *name;
} scalars[] = {{"tpc", "tpc"},
               {"bpc", "bpc"},
               {"return_addr", "return_address"},
               {"commit_arg", "commit_argument"},
               {"fault_addr", "fault_address"},
               {"fault", "last_fault"},
               {"acr", "current_acr"}};

/* Keys whose value is an object of fields. */
static const struct {
    const char *key;
    const char *format;
} groups[] = {{"tq", "t_queue[%s]"},
              {"uq", "u_queue[%s]"},
              {"tqv", "t_queue_valid[%s]"},
              {"uqv", "u_queue_valid[%s]"},
              {"pred", "predicates[%s]"},
              {"barg", "barg.%s"},
              {"sysreg", "%s"},
              {"other", "%s"}};

static tly_status apply_member(tly_pto_machine *m, const char *key, json_t *value,
                               tly_error *error) {
    for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++) {
        if (strcmp(key, scalars[i].key) == 0) {
            return set(m, scalars[i].name, value, error);
        }
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (strcmp(key, groups[i].key) == 0) {
            return set_members(m, value, groups[i].format, error);
        }
    }
    if (strcmp(key, "gpr") == 0) {
        return set_gprs(m, value, error);
    }
    if (strcmp(key, "xsr") == 0) {
        return set_context(m, value, error);
    }
    if (strcmp(key, "mem") == 0) {
        return set_memory(m, value, error);
    }
    if (strcmp(key, "trap") == 0 || strcmp(key, "trapctx") == 0) {
        return set_banks(m, value, strcmp(key, "trap") == 0 ? "trap" : "trap_context", error);
    }
    if (strcmp(key, "tiles") == 0 || strcmp(key, "shared") == 0) {
        return tly_pto_case_set_tiles(m, value, strcmp(key, "shared") == 0, error);
    }
    return bad(error, "unknown part of a state", key);
}

tly_status tly_pto_case_set(tly_pto_machine *m, const char *name, const json_t *value,
                            tly_error *error) {
    return set(m, name, value, error);
}

tly_status tly_pto_case_apply(tly_pto_machine *m, json_t *state, tly_error *error) {
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(state, key, value) {
        tly_status status = apply_member(m, key, value, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

void tly_pto_case_memory(json_t *recorded, uint64_t *out_bytes, uint64_t *out_app_limit) {
    json_t *config = json_object_get(recorded, "config");
    json_t *bytes = json_object_get(config, "memory_bytes");
    json_t *limit = json_object_get(config, "app_limit");
    *out_bytes = bytes != NULL ? (uint64_t)json_integer_value(bytes) : 4096;
    *out_app_limit = limit != NULL ? (uint64_t)json_integer_value(limit) : 3072;
}
