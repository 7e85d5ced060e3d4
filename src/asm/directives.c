/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "asm/assembler.h"
#include "asm/reloc.h"
#include "asm/suggest.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"

typedef tly_status (*directive_fn)(tly_assembler *a, tly_asm_reader *r, uint32_t value,
                                   tly_error *error);

static tly_status memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
}

static tly_status constant(tly_assembler *a, tly_asm_reader *r, int64_t *out, tly_error *error) {
    tly_asm_env env = tly_assembler_env(a);
    return tly_asm_constant(r, &env, out, error);
}

static tly_status symbol_name(tly_asm_reader *r, const char **out_name, size_t *out_len,
                              tly_error *error) {
    *out_len = tly_asm_word(r, out_name);
    return *out_len != 0 ? TLY_OK : tly_asm_expected(r, "a symbol", error);
}

/* A string in quotes; `out` may be NULL to pass over it. Escapes: \n \t \r \0 \\ \" \xHH \ooo. */
static tly_status quoted(tly_asm_reader *r, tly_assembler *a, uint64_t *out_len, tly_error *error) {
    uint64_t count = 0;
    if (tly_asm_peek(r) != '"') {
        return tly_asm_expected(r, "a string in quotes", error);
    }
    r->at++;
    while (tly_asm_next(r) != '"') {
        uint8_t byte = (uint8_t)tly_asm_next(r);
        if (r->at >= r->len) {
            return tly_base_fail(error, TLY_MALFORMED, r->at, "asm-string",
                                 "the closing quote is missing");
        }
        r->at++;
        if (byte == '\\') {
            static const char from[] = "ntr\\\"'abfv", to[] = "\n\t\r\\\"'\a\b\f\v";
            char kind = tly_asm_next(r);
            const char *found = kind != '\0' ? strchr(from, kind) : NULL;
            if (found != NULL) {
                byte = (uint8_t)to[found - from];
                r->at++;
            } else if (kind >= '0' && kind <= '7') {
                unsigned value = 0;
                for (int i = 0; i < 3 && tly_asm_next(r) >= '0' && tly_asm_next(r) <= '7'; i++) {
                    value = value * 8 + (unsigned)(r->text[r->at++] - '0');
                }
                byte = (uint8_t)value;
            } else if (kind == 'x') {
                unsigned value = 0;
                size_t start = ++r->at;
                while (r->at - start < 2 && tly_asm_next(r) != '\0' &&
                       strchr("0123456789abcdefABCDEF", tly_asm_next(r)) != NULL) {
                    char digit = tly_text_lower(r->text[r->at++]);
                    value = value * 16 + (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
                }
                if (r->at == start) {
                    return tly_asm_expected(r, "a hexadecimal digit", error);
                }
                byte = (uint8_t)value;
            } else {
                return tly_base_fail(error, TLY_MALFORMED, r->at - 1, "asm-string",
                                     "unknown escape in a string");
            }
        }
        if (a != NULL) {
            tly_status status = tly_assembler_emit(a, &byte, 1);
            if (status != TLY_OK) {
                return status;
            }
        }
        count++;
    }
    r->at++;
    if (out_len != NULL) {
        *out_len = count;
    }
    return TLY_OK;
}

static tly_status known_section(tly_assembler *a, tly_asm_reader *r, uint32_t value,
                                tly_error *error) {
    static const struct {
        const char *name;
        uint32_t type, flags;
    } sections[] = {
        {".text", TLY_SECTION_PROGBITS, TLY_SECTION_ALLOC | TLY_SECTION_EXEC},
        {".data", TLY_SECTION_PROGBITS, TLY_SECTION_ALLOC | TLY_SECTION_WRITE},
        {".bss", TLY_SECTION_NOBITS, TLY_SECTION_ALLOC | TLY_SECTION_WRITE},
        {".rodata", TLY_SECTION_PROGBITS, TLY_SECTION_ALLOC},
    };
    (void)r;
    if (a->pass == 2) {
        a->bundle.open = 0;
    }
    return tly_assembler_section(a, sections[value].name, strlen(sections[value].name),
                                 sections[value].type, sections[value].flags) == TLY_OK
               ? TLY_OK
               : memory(error);
}

static tly_status section(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    const char *name;
    size_t len, quoted_at;
    uint32_t type = TLY_SECTION_PROGBITS, flags = 0;
    (void)value;
    if (tly_asm_peek(r) == '"') {
        tly_status status;
        quoted_at = r->at + 1;
        status = quoted(r, NULL, NULL, error);
        if (status != TLY_OK) {
            return status;
        }
        name = r->text + quoted_at;
        len = r->at - 1 - quoted_at;
    } else if ((len = tly_asm_word(r, &name)) == 0) {
        return tly_asm_expected(r, "the name of a section", error);
    }
    /* What a name alone says. */
    if (len >= 5 && memcmp(name, ".text", 5) == 0) {
        flags = TLY_SECTION_ALLOC | TLY_SECTION_EXEC;
    } else if (len >= 5 && memcmp(name, ".data", 5) == 0) {
        flags = TLY_SECTION_ALLOC | TLY_SECTION_WRITE;
    } else if (len >= 7 && memcmp(name, ".rodata", 7) == 0) {
        flags = TLY_SECTION_ALLOC;
    } else if (len >= 4 && memcmp(name, ".bss", 4) == 0) {
        flags = TLY_SECTION_ALLOC | TLY_SECTION_WRITE;
        type = TLY_SECTION_NOBITS;
    }
    if (tly_asm_accept(r, ",")) {
        size_t start = (tly_asm_peek(r), r->at + 1);
        tly_status status = quoted(r, NULL, NULL, error);
        if (status != TLY_OK) {
            return status;
        }
        flags = 0;
        for (size_t i = start; i + 1 < r->at; i++) {
            static const char letters[] = "wax";
            const char *found = strchr(letters, r->text[i]);
            if (found == NULL) {
                r->at = i;
                return tly_asm_expected(r, "the flags a, w and x", error);
            }
            flags |= 1u << (found - letters);
        }
        if (tly_asm_accept(r, ",")) {
            if (!tly_asm_accept(r, "@") && !tly_asm_accept(r, "%")) {
                return tly_asm_expected(r, "@progbits, @nobits or @note", error);
            }
            type = tly_asm_accept(r, "progbits") ? TLY_SECTION_PROGBITS
                   : tly_asm_accept(r, "nobits") ? TLY_SECTION_NOBITS
                   : tly_asm_accept(r, "note")   ? TLY_SECTION_NOTE
                                                 : 0;
            if (type == 0) {
                return tly_asm_expected(r, "progbits, nobits or note", error);
            }
        }
    }
    if (a->pass == 2) {
        a->bundle.open = 0;
    }
    return tly_assembler_section(a, name, len, type, flags) == TLY_OK ? TLY_OK : memory(error);
}

static tly_status binding(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    do {
        const char *name;
        size_t len;
        uint32_t number;
        tly_status status = symbol_name(r, &name, &len, error);
        if (status != TLY_OK) {
            return status;
        }
        number = tly_object_find_symbol(a->object, name, len);
        if (number == 0 && (number = tly_object_add_symbol(a->object, name, len)) == 0) {
            return memory(error);
        }
        tly_object_symbol(a->object, number)->binding = (uint8_t)value;
    } while (tly_asm_accept(r, ","));
    return TLY_OK;
}

static tly_status type(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    const char *name;
    size_t len;
    uint32_t number, kind;
    tly_status status = symbol_name(r, &name, &len, error);
    (void)value;
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_asm_accept(r, ",") || (!tly_asm_accept(r, "@") && !tly_asm_accept(r, "%"))) {
        return tly_asm_expected(r, "\", @function\" or \", @object\"", error);
    }
    if (tly_asm_accept(r, "function")) {
        kind = 2;
    } else if (tly_asm_accept(r, "object")) {
        kind = 1;
    } else if (tly_asm_accept(r, "notype")) {
        kind = 0;
    } else {
        return tly_asm_expected(r, "function, object or notype", error);
    }
    number = tly_object_find_symbol(a->object, name, len);
    if (number == 0 && (number = tly_object_add_symbol(a->object, name, len)) == 0) {
        return memory(error);
    }
    tly_object_symbol(a->object, number)->type = (uint8_t)kind;
    return TLY_OK;
}

static tly_status size(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    const char *name;
    size_t len, start;
    uint32_t number;
    tly_asm_env env = tly_assembler_env(a);
    tly_asm_value bytes;
    tly_status status = symbol_name(r, &name, &len, error);
    (void)value;
    if (status == TLY_OK && !tly_asm_accept(r, ",")) {
        status = tly_asm_expected(r, "a comma", error);
    }
    start = (tly_asm_peek(r), r->at);
    if (status == TLY_OK) {
        status = tly_asm_expr(r, &env, &bytes, error);
    }
    if (status != TLY_OK || bytes.unknown) {
        return status;
    }
    if (bytes.symbol != 0) {
        return tly_base_fail(error, TLY_MALFORMED, start, "asm-expression",
                             "a size is a number, as in .-name");
    }
    number = tly_object_find_symbol(a->object, name, len);
    if (number != 0) {
        tly_object_symbol(a->object, number)->size = (uint64_t)bytes.number;
    }
    return TLY_OK;
}

static tly_status set(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    const char *name;
    size_t len, column = (tly_asm_peek(r), r->at);
    tly_asm_env env = tly_assembler_env(a);
    tly_asm_value number;
    tly_status status = symbol_name(r, &name, &len, error);
    (void)value;
    if (status == TLY_OK && !tly_asm_accept(r, ",")) {
        status = tly_asm_expected(r, "a comma", error);
    }
    if (status == TLY_OK) {
        status = tly_asm_expr(r, &env, &number, error);
    }
    if (status != TLY_OK || number.unknown) {
        return status;
    }
    status = tly_assembler_define(
        a, name, len,
        number.symbol == 0 ? TLY_IN_ABSOLUTE : tly_object_symbol(a->object, number.symbol)->section,
        (uint64_t)number.number, column, 1);
    return status == TLY_OK ? TLY_OK : memory(error);
}

/* value 0: the argument is bytes; 1: it is a power of two. */
static tly_status align(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    int64_t unit = 0, fill = 0, limit = INT64_MAX;
    size_t start = (tly_asm_peek(r), r->at);
    uint64_t rest;
    tly_obj_section *s = tly_object_section(a->object, a->section);
    tly_status status = constant(a, r, &unit, error);
    if (status == TLY_OK && tly_asm_accept(r, ",") && tly_asm_peek(r) != ',') {
        status = constant(a, r, &fill, error);
    }
    if (status == TLY_OK && tly_asm_accept(r, ",")) {
        status = constant(a, r, &limit, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (value == 1) {
        unit = unit >= 0 && unit <= 16 ? INT64_C(1) << unit : 0;
    }
    if (unit <= 0 || unit > 65536 || (unit & (unit - 1)) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, start, "asm-align",
                             "an alignment is a power of two up to 65536 bytes");
    }
    rest = (uint64_t)-a->at[a->section] & ((uint64_t)unit - 1);
    if (rest > (uint64_t)limit) {
        return TLY_OK;
    }
    if ((uint64_t)unit > s->alignment) {
        s->alignment = (uint64_t)unit;
    }
    for (; rest != 0 && status == TLY_OK; rest--) {
        uint8_t byte = (uint8_t)fill;
        status = tly_assembler_emit(a, &byte, 1);
    }
    return status;
}

static tly_status data(tly_assembler *a, tly_asm_reader *r, uint32_t len, tly_error *error) {
    do {
        tly_asm_env env = tly_assembler_env(a);
        tly_asm_value value;
        uint8_t bytes[8];
        size_t start = (tly_asm_peek(r), r->at);
        tly_status status = tly_asm_expr(r, &env, &value, error);
        if (status != TLY_OK) {
            return status;
        }
        if (value.symbol != 0 && !value.unknown && a->pass == 2) {
            const tly_reloc_row *row = tly_reloc_for_data(len, 0);
            tly_obj_reloc reloc;
            if (row == NULL) {
                return tly_base_fail(error, TLY_MALFORMED, start, "asm-operand",
                                     "an address takes .word or .quad");
            }
            reloc = (tly_obj_reloc){env.address, row->type, value.symbol, value.number};
            if (tly_object_add_reloc(a->object, a->section, &reloc) != TLY_OK) {
                return memory(error);
            }
            value.number = 0;
        }
        if (len < 8 && !value.unknown && value.symbol == 0 &&
            (value.number < -(INT64_C(1) << (8 * len - 1)) || value.number >= INT64_C(1)
                                                                                  << 8 * len)) {
            return tly_base_fail(error, TLY_MALFORMED, start, "asm-range",
                                 "%lld does not fit in %u byte%s", (long long)value.number, len,
                                 len == 1 ? "" : "s");
        }
        tly_base_store_u64(bytes, (uint64_t)value.number);
        status = tly_assembler_emit(a, bytes, len);
        if (status != TLY_OK) {
            return status;
        }
    } while (tly_asm_accept(r, ","));
    return TLY_OK;
}

static tly_status zero(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    int64_t count = 0, fill = 0;
    size_t start = (tly_asm_peek(r), r->at);
    tly_status status = constant(a, r, &count, error);
    (void)value;
    if (status == TLY_OK && tly_asm_accept(r, ",")) {
        status = constant(a, r, &fill, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (count < 0) {
        return tly_base_fail(error, TLY_MALFORMED, start, "asm-range", "%lld bytes are no length",
                             (long long)count);
    }
    if (fill == 0) {
        return tly_assembler_emit(a, NULL, (uint64_t)count);
    }
    for (int64_t i = 0; i < count && status == TLY_OK; i++) {
        uint8_t byte = (uint8_t)fill;
        status = tly_assembler_emit(a, &byte, 1);
    }
    return status;
}

static tly_status fill(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    int64_t repeat = 0, len = 1, item = 0;
    size_t start = (tly_asm_peek(r), r->at);
    uint8_t bytes[8];
    tly_status status = constant(a, r, &repeat, error);
    (void)value;
    if (status == TLY_OK && tly_asm_accept(r, ",")) {
        status = constant(a, r, &len, error);
        if (status == TLY_OK && tly_asm_accept(r, ",")) {
            status = constant(a, r, &item, error);
        }
    }
    if (status == TLY_OK && (repeat < 0 || len < 0 || len > 8)) {
        status = tly_base_fail(error, TLY_MALFORMED, start, "asm-range",
                               ".fill takes a count, a length up to 8 and a value");
    }
    tly_base_store_u64(bytes, (uint64_t)item);
    for (int64_t i = 0; i < repeat && status == TLY_OK && len != 0; i++) {
        status = tly_assembler_emit(a, bytes, (uint64_t)len);
    }
    return status;
}

static tly_status org(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    int64_t offset = 0;
    size_t start = (tly_asm_peek(r), r->at);
    tly_status status = constant(a, r, &offset, error);
    (void)value;
    if (status != TLY_OK) {
        return status;
    }
    if (offset < 0 || (uint64_t)offset < a->at[a->section]) {
        return tly_base_fail(error, TLY_MALFORMED, start, "asm-range",
                             ".org goes back: the section has %llu bytes already",
                             (unsigned long long)a->at[a->section]);
    }
    return tly_assembler_emit(a, NULL, (uint64_t)offset - a->at[a->section]);
}

/* value 1: with a zero byte behind each string. */
static tly_status ascii(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    do {
        tly_status status = quoted(r, a, NULL, error);
        if (status == TLY_OK && value != 0) {
            status = tly_assembler_emit(a, NULL, 1);
        }
        if (status != TLY_OK) {
            return status;
        }
    } while (tly_asm_accept(r, ","));
    return TLY_OK;
}

static tly_status isa(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    (void)value;
    for (uint32_t release = 0; release < TLY_ISA_NUM_RELEASES; release++) {
        const char *name = tly_isa_release_name((tly_isa_release)release);
        tly_asm_peek(r);
        if (r->len - r->at >= strlen(name) && memcmp(r->text + r->at, name, strlen(name)) == 0) {
            r->at += strlen(name);
            a->release = a->object->release = (tly_isa_release)release;
            return TLY_OK;
        }
    }
    return tly_asm_expected(r, "a release: 0.58.0, 0.58.1, 0.58.2 or 0.58.3", error);
}

/* Debug and compiler directives that do not change the bytes. */
static tly_status ignored(tly_assembler *a, tly_asm_reader *r, uint32_t value, tly_error *error) {
    (void)a, (void)value, (void)error;
    r->at = r->len;
    return TLY_OK;
}

static const struct directive {
    const char *name;
    directive_fn run;
    uint32_t value;
} directives[] = {
    {".text", known_section, 0},
    {".data", known_section, 1},
    {".bss", known_section, 2},
    {".rodata", known_section, 3},
    {".section", section, 0},
    {".globl", binding, TLY_SYMBOL_GLOBAL},
    {".global", binding, TLY_SYMBOL_GLOBAL},
    {".weak", binding, TLY_SYMBOL_WEAK},
    {".local", binding, TLY_SYMBOL_LOCAL},
    {".type", type, 0},
    {".size", size, 0},
    {".set", set, 0},
    {".equ", set, 0},
    {".balign", align, 0},
    {".align", align, 1},
    {".p2align", align, 1},
    {".byte", data, 1},
    {".half", data, 2},
    {".hword", data, 2},
    {".short", data, 2},
    {".2byte", data, 2},
    {".word", data, 4},
    {".long", data, 4},
    {".int", data, 4},
    {".4byte", data, 4},
    {".quad", data, 8},
    {".dword", data, 8},
    {".8byte", data, 8},
    {".zero", zero, 0},
    {".space", zero, 0},
    {".skip", zero, 0},
    {".fill", fill, 0},
    {".org", org, 0},
    {".ascii", ascii, 0},
    {".asciz", ascii, 1},
    {".string", ascii, 1},
    {".isa", isa, 0},
    {".file", ignored, 0},
    {".loc", ignored, 0},
    {".ident", ignored, 0},
    {".addrsig", ignored, 0},
    {".addrsig_sym", ignored, 0},
};

tly_status tly_assembler_directive(tly_assembler *a, const char *name, size_t name_len,
                                   tly_asm_reader *r, tly_error *error) {
    const char *close = NULL;
    unsigned best = 3;
    char shown[40];
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++) {
        if (tly_text_equal(name, name_len, directives[i].name)) {
            return directives[i].run(a, r, directives[i].value, error);
        }
    }
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++) {
        const char *other = directives[i].name;
        unsigned distance = tly_asm_distance(name, name_len, other, strlen(other), best - 1);
        if (distance < best) {
            best = distance;
            close = other;
        }
    }
    if (name_len > 5 && tly_text_compare(name, 5, ".cfi_", 5) == 0) {
        return ignored(a, r, 0, error);
    }
    tly_base_printable(shown, sizeof shown, name, name_len);
    return tly_base_fail(error, TLY_MALFORMED, (uint64_t)(name - r->text), "asm-directive",
                         close != NULL ? "there is no directive %s; did you mean %s?"
                                       : "there is no directive %s",
                         shown, close);
}
