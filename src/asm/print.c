/* SPDX-License-Identifier: Apache-2.0 */
/* Printing: runs the syntax program of a form (isa/table.h) over its fields. Everything that
 * parse.c reads stands here in the same order of kinds. */
#include <tilery/asm.h>

#include <string.h>

#include "asm/operand.h"
#include "base/text.h"
#include "isa/table.h"

typedef struct printer {
    char *buffer;
    size_t capacity;
    size_t len; /* of the whole text, also where it does not fit */
    uint64_t address;
    const tly_asm_symbols *symbols;
} printer;

static void put(printer *p, const char *text, size_t len) {
    if (p->len + len < p->capacity) {
        for (size_t i = 0; i < len; i++) { /* texts are short */
            p->buffer[p->len + i] = text[i];
        }
        p->len += len;
        return;
    }
    for (size_t i = 0; i < len; i++, p->len++) {
        if (p->len + 1 < p->capacity) {
            p->buffer[p->len] = text[i];
        }
    }
}

static void puts_text(printer *p, const char *text) {
    put(p, text, strlen(text));
}

static void put_lower(printer *p, const char *text) {
    for (; *text != '\0'; text++) {
        char ch = tly_text_lower(*text);
        put(p, &ch, 1);
    }
}

static void put_number(printer *p, uint64_t value, unsigned base) {
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    put(p, digits + at, sizeof digits - at);
}

static void put_signed(printer *p, int64_t value) {
    if (value < 0) {
        put(p, "-", 1);
    }
    put_number(p, value < 0 ? -(uint64_t)value : (uint64_t)value, 10);
}

static void put_hex(printer *p, uint64_t value) {
    put(p, "0x", 2);
    put_number(p, value, 16);
}

/* A text and the number behind it. */
static void put_numbered(printer *p, const char *text, uint64_t value) {
    puts_text(p, text);
    put_number(p, value, 10);
}

static void put_source(printer *p, uint32_t code) {
    if (code < 24) {
        puts_text(p, tly_isa_register_name(code));
    } else {
        put_numbered(p, code < 28 ? "t#" : "u#", code % 4 + 1);
    }
}

static void put_destination(printer *p, uint32_t code) {
    if (code < 24) {
        puts_text(p, tly_isa_register_name(code));
    } else if (code >= 30) {
        puts_text(p, code == 31 ? "t" : "u");
    } else {
        put_numbered(p, "_", code); /* the codes 24 to 29 discard */
    }
}

static void put_target(printer *p, uint64_t target) {
    uint64_t offset = 0;
    const char *name = NULL;
    put_hex(p, target);
    if (p->symbols != NULL) {
        name = p->symbols->find(p->symbols->user, target, &offset);
    }
    if (name != NULL) {
        puts_text(p, " <");
        puts_text(p, name);
        if (offset != 0) {
            puts_text(p, "+");
            put_hex(p, offset);
        }
        puts_text(p, ">");
    }
}

static void put_name(printer *p, tly_isa_names table, uint32_t code) {
    const char *name = tly_isa_name_of(table, code);
    if (name != NULL) {
        puts_text(p, name);
    } else {
        put_number(p, code, 10);
    }
}

static void put_system_register(printer *p, uint32_t address) {
    const char *name = tly_isa_name_of(TLY_NAMES_SYSTEM_REGISTER, address);
    if (name == NULL && address >= 0xF00 && address <= 0xFFFF) {
        name = tly_isa_name_of(TLY_NAMES_CONTEXT_REGISTER, address & 0xFFF);
        if (name != NULL) {
            puts_text(p, name);
            put_numbered(p, "_ACR", address >> 12);
            return;
        }
    }
    if (name != NULL) {
        puts_text(p, name);
    } else {
        put_hex(p, address);
    }
}

static void put_mask(printer *p, uint32_t mask) {
    for (int pe = 3; pe >= 0; pe--) {
        puts_text(p, (mask >> pe & 1) != 0 ? "1" : "0");
    }
}

/* Items of an attribute list: the first stands alone, the others follow a comma. */
static void put_item(printer *p, int *first, const char *text) {
    puts_text(p, *first ? "" : ", ");
    puts_text(p, text);
    *first = 0;
}

static void put_control(printer *p, const int64_t *v) {
    static const char *const order[] = {NULL, "rl", "aq", "aqrl"};
    int first = 1;
    if (v[0] != 0) {
        put_item(p, &first, "trap");
    }
    if (v[1] != 0) {
        put_item(p, &first, "atomic");
    }
    if (order[v[2] * 2 + v[3]] != NULL) {
        put_item(p, &first, order[v[2] * 2 + v[3]]);
    }
    if (v[4] != 0) {
        put_item(p, &first, "far");
    }
    if (v[5] != 0) {
        put_item(p, &first, "dr");
    }
    if (first) {
        puts_text(p, "none");
    }
}

static void put_data(printer *p, const int64_t *v) {
    put_name(p, TLY_NAMES_LAYOUT, (uint32_t)v[0]);
    puts_text(p, ", ");
    put_name(p, TLY_NAMES_DTYPE, (uint32_t)v[1]);
    puts_text(p, ", ");
    put_name(p, TLY_NAMES_PAD, (uint32_t)v[2]);
    if (v[3] != 0) {
        put_numbered(p, ", cmode", (uint64_t)v[3]);
    }
    if (v[4] != 0) {
        put_numbered(p, ", rmode", (uint64_t)v[4]);
    }
    puts_text(p, v[5] != 0 ? ", sat" : "");
    puts_text(p, v[6] != 0 ? ", canonicalize" : "");
}

static void put_hint(printer *p, const int64_t *v) {
    static const char *const temperature[] = {"none", "cool", "warm", "hot"};
    int first = 1;
    if (v[0] != 0 || v[1] != 0) {
        /* Without the valid bit, a set direction has no meaning but is kept. */
        put_item(p, &first, v[0] == 0 ? "BR.invalid" : v[1] != 0 ? "BR.likely" : "BR.unlikely");
    }
    if (v[2] != 0 || first) {
        put_item(p, &first, "TEMP.");
        puts_text(p, temperature[v[2]]);
    }
    if (v[3] != 0) {
        put_numbered(p, ", ", (uint64_t)v[3]);
    }
}

static void put_tile_start(printer *p, const int64_t *v) {
    const tly_isa_tileop *op = tly_isa_tileop_find((uint32_t)v[0], (uint32_t)v[1]);
    if (op != NULL) {
        puts_text(p, op->name);
    } else {
        put_number(p, (uint64_t)v[0], 10);
        put_numbered(p, ", ", (uint64_t)v[1]);
    }
    puts_text(p, ", ");
    put_name(p, TLY_NAMES_DTYPE, (uint32_t)v[2]);
}

static void put_flags(printer *p, const tly_isa_form_row *form, const uint8_t *fields,
                      uint32_t count, const int64_t *v) {
    int dot = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (v[i] != 0) {
            puts_text(p, dot ? "" : ".");
            dot = 1;
            put(p, tly_isa_field_name(form, fields[i]), 1);
        }
    }
}

static void put_operand(printer *p, const tly_isa_insn *insn, const tly_isa_form_row *form,
                        uint32_t kind, const uint8_t *fields, uint32_t count) {
    static const char *const modifiers[][4] = {
        [TLY_KIND_MOD_ADD - TLY_KIND_MOD_ADD] = {".sw", ".uw", ".neg", ""},
        [TLY_KIND_MOD_LOGIC - TLY_KIND_MOD_ADD] = {".sw", ".uw", ".not", ""},
        [TLY_KIND_MOD_ADDRESS - TLY_KIND_MOD_ADD] = {"", ".sw", ".uw", ".neg"},
        [TLY_KIND_MOD_COMPARE - TLY_KIND_MOD_ADD] = {"", ".sw", ".uw", ".not"},
        [TLY_KIND_MOD_SELECT - TLY_KIND_MOD_ADD] = {"", ".none1", ".none2", ".neg"},
    };
    static const char *const caches[] = {".l1", ".l2", ".l3"};
    int64_t v[TLY_ISA_MAX_FIELDS] = {0};
    uint32_t first;

    for (uint32_t i = 0; i < count; i++) {
        v[i] = insn->fields[fields[i]];
    }
    first = (uint32_t)v[0];
    switch (kind) {
    case TLY_KIND_SRC:
        put_source(p, first);
        break;
    case TLY_KIND_DST:
        put_destination(p, first);
        break;
    case TLY_KIND_GPR:
        puts_text(p, tly_isa_register_name(first));
        break;
    case TLY_KIND_MOD_ADD:
    case TLY_KIND_MOD_LOGIC:
    case TLY_KIND_MOD_ADDRESS:
    case TLY_KIND_MOD_COMPARE:
    case TLY_KIND_MOD_SELECT:
        puts_text(p, modifiers[kind - TLY_KIND_MOD_ADD][first]);
        break;
    case TLY_KIND_SHL:
        if (first != 0) {
            put_numbered(p, "<<", first);
        }
        break;
    case TLY_KIND_IMM_S:
    case TLY_KIND_IMM_U:
        put_signed(p, v[0]);
        break;
    case TLY_KIND_WIDTH:
        put_number(p, first + 1, 10);
        break;
    case TLY_KIND_DISP0:
    case TLY_KIND_DISP1:
    case TLY_KIND_DISP2:
    case TLY_KIND_DISP3:
        put_signed(p, v[0] * (INT64_C(1) << (kind - TLY_KIND_DISP0)));
        break;
    case TLY_KIND_PAGE:
        put_signed(p, tly_asm_page_value(form, fields[0], v[0]));
        break;
    case TLY_KIND_BRANCH:
    case TLY_KIND_BRANCH1:
    case TLY_KIND_RET5:
    case TLY_KIND_RET5H:
    case TLY_KIND_RET20:
    case TLY_KIND_RET32:
    case TLY_KIND_PCREL4:
        put_target(p, tly_asm_target(kind, p->address, v[0]));
        break;
    case TLY_KIND_ORDER:
        if (v[0] != 0 || v[1] != 0 || v[2] != 0) {
            /* fields are aq, rl, far, or rl, far */
            puts_text(p, ".");
            for (uint32_t i = 0; i < count; i++) {
                const char *name = tly_isa_field_name(form, fields[i]);
                puts_text(p, v[i] == 0 ? "" : name[0] == 'f' ? "f" : name);
            }
        }
        break;
    case TLY_KIND_QFLAGS:
        put_flags(p, form, fields, count, v);
        break;
    case TLY_KIND_FTYPE:
        put_name(p, TLY_NAMES_FLOAT_TYPE, first);
        break;
    case TLY_KIND_CONVERT:
    case TLY_KIND_CONVERT_INT:
    case TLY_KIND_CONVERT_FROM_S:
    case TLY_KIND_CONVERT_FROM_U:
        put_name(p, tly_asm_source_type(kind), tly_asm_source_type_code(kind, first));
        puts_text(p, "2");
        put_name(p, kind == TLY_KIND_CONVERT_INT ? TLY_NAMES_INTEGER_TYPE : TLY_NAMES_FLOAT_TYPE,
                 (uint32_t)v[1]);
        break;
    case TLY_KIND_CACHE:
        puts_text(p, caches[first]);
        break;
    case TLY_KIND_FENCE:
        put_number(p, first, 10);
        break;
    case TLY_KIND_SSR:
        put_system_register(p, first);
        break;
    case TLY_KIND_LSR:
        put_number(p, first, 10);
        break;
    case TLY_KIND_TAG:
        if (first != 0) {
            puts_text(p, ", ");
            puts_text(p, tly_isa_field_name(form, fields[0]));
            put_numbered(p, "=", first);
        }
        break;
    case TLY_KIND_LAST:
        puts_text(p, first != 0 ? ", last" : "");
        break;
    case TLY_KIND_TILE:
        put(p, &"tumn"[first >> 4], 1);
        put_numbered(p, "#", (first & 15) + 1);
        break;
    case TLY_KIND_HAND:
        put(p, &"tumn"[first], 1);
        break;
    case TLY_KIND_SIZE:
        put_name(p, TLY_NAMES_SIZE, first);
        break;
    case TLY_KIND_PE_MODE:
        put_name(p, TLY_NAMES_PE_MODE, first);
        break;
    case TLY_KIND_PE_MASK:
        put_mask(p, first);
        break;
    case TLY_KIND_SHARED: {
        int by_mode = tly_isa_field_name(form, fields[1])[2] == 'M' &&
                      tly_isa_field_name(form, fields[1])[3] == 'o';
        if (v[2] == 0) {
            put_numbered(p, "S", first);
            puts_text(p, ", ");
        }
        puts_text(p, "mask=");
        if (by_mode) {
            put_name(p, TLY_NAMES_PE_MODE, (uint32_t)v[1]);
        } else {
            put_mask(p, (uint32_t)v[1]);
        }
        if (v[2] != 0) {
            put_numbered(p, ", ->S", first);
            puts_text(p, "<");
            put_name(p, TLY_NAMES_SIZE, (uint32_t)v[2]);
            puts_text(p, ">");
        }
        break;
    }
    case TLY_KIND_LB:
        put_numbered(p, "lb", first);
        break;
    case TLY_KIND_DTYPE:
        put_name(p, TLY_NAMES_DTYPE, first);
        break;
    case TLY_KIND_TEPL:
        put_tile_start(p, v);
        break;
    case TLY_KIND_BRTYPE:
        put_name(p, TLY_NAMES_TRANSFER, first);
        break;
    case TLY_KIND_CATR:
        put_control(p, v);
        break;
    case TLY_KIND_DATR:
        put_data(p, v);
        break;
    case TLY_KIND_HINT:
        put_hint(p, v);
        break;
    case TLY_KIND_TRACE:
        puts_text(p, first != 0 ? "TRACE.end" : "TRACE.begin");
        break;
    case TLY_KIND_OPTSRC:
        if (v[0] != 0 || v[1] != 0) {
            puts_text(p, ", ");
            put_source(p, (uint32_t)v[1]);
        }
        break;
    }
}

static void put_mnemonic(printer *p, const tly_isa_insn *insn, const tly_isa_form_row *form) {
    const char *mnemonic = tly_isa_mnemonic_of(insn->form);
    if (insn->form == TLY_FORM_BSTART_TEPL) {
        const tly_isa_tileop *op =
            tly_isa_tileop_find((uint32_t)tly_asm_field(insn, form, "Mode"),
                                (uint32_t)tly_asm_field(insn, form, "Function"));
        if (op != NULL) { /* printed by engine and name */
            puts_text(p, "BSTART.");
            puts_text(p, op->engine);
            return;
        }
    }
    if (strncmp(mnemonic, "HL.Q", 4) == 0) {
        puts_text(p, mnemonic);
    } else if (form->surface == TLY_ISA_COMMAND) {
        puts_text(p, mnemonic);
    } else {
        put_lower(p, mnemonic);
    }
}

tly_status tly_asm_format(const tly_isa_insn *insn, uint64_t address,
                          const tly_asm_symbols *symbols, char *buffer, size_t capacity,
                          size_t *out_len) {
    printer p = {buffer, capacity, 0, address, symbols};
    const tly_isa_form_row *form;
    const uint8_t *program;

    if (insn == NULL || (form = tly_isa_form_at(insn->form)) == NULL ||
        (capacity != 0 && buffer == NULL)) {
        return TLY_INVALID_ARGUMENT;
    }
    put_mnemonic(&p, insn, form);
    program = tly_isa_syntax_of(insn->form);
    while (*program != 0) {
        if (*program < 0x80) {
            put(&p, (const char *)program, 1);
            program++;
        } else {
            put_operand(&p, insn, form, *program - 0x80u, program + 2, program[1]);
            program += 2 + program[1];
        }
    }
    if (capacity != 0) {
        buffer[p.len < capacity ? p.len : capacity - 1] = '\0';
    }
    if (out_len != NULL) {
        *out_len = p.len;
    }
    return p.len < capacity || capacity == 0 ? TLY_OK : TLY_LIMIT;
}
