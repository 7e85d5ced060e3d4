/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing: runs the syntax program of each form that the mnemonic allows until one takes the whole
 * line. The error that is shown is that of the form that came furthest. The order of kinds is that
 * of print.c. */
#include "asm/parse.h"

#include <string.h>

#include <tilery/asm.h>

#include "asm/lists.h"
#include "asm/operand.h"
#include "asm/suggest.h"
#include "base/error.h"
#include "base/text.h"

typedef struct attempt {
    tly_asm_reader r;
    const tly_asm_env *env;
    const tly_isa_form_row *form;
    tly_asm_parsed *out;
    tly_error *error;
    const char *engine; /* "VEC" or "SFU" where the mnemonic names it */
} attempt;

static tly_status set(attempt *a, uint32_t field, int64_t value) {
    const tly_isa_field_row *row = tly_isa_field_at(a->form, field);
    int64_t low = row->is_signed ? -(INT64_C(1) << (row->width - 1)) : 0;
    int64_t high = (INT64_C(1) << (row->width - row->is_signed)) - 1;
    if (value < low || value > high) {
        return tly_base_fail(a->error, TLY_MALFORMED, a->r.at, "asm-range",
                             "%lld is outside %lld .. %lld", (long long)value, (long long)low,
                             (long long)high);
    }
    a->out->insn.fields[field] = value;
    return TLY_OK;
}

/* A number, or a number that is known in the second pass. Symbols are refused. */
static tly_status number(attempt *a, int64_t *out_value) {
    tly_asm_value value;
    size_t start = (tly_asm_peek(&a->r), a->r.at);
    tly_status status = tly_asm_expr(&a->r, a->env, &value, a->error);
    if (status == TLY_OK && value.symbol != 0 && !value.unknown) {
        status = tly_base_fail(a->error, TLY_MALFORMED, start, "asm-operand",
                               "an address cannot stand here, only a number");
    }
    *out_value = status == TLY_OK && !value.unknown ? value.number : 0;
    return status;
}

static tly_status plain(attempt *a, uint32_t field, int64_t bias) {
    int64_t value = 0;
    size_t start = (tly_asm_peek(&a->r), a->r.at);
    tly_status status = number(a, &value);
    if (status != TLY_OK) {
        return status;
    }
    status = set(a, field, value - bias);
    if (status != TLY_OK && a->error != NULL) {
        a->error->offset = start;
    }
    return status;
}

static tly_status scaled(attempt *a, uint32_t field, unsigned shift) {
    int64_t value = 0;
    size_t start = (tly_asm_peek(&a->r), a->r.at);
    tly_asm_value low;
    tly_status status = tly_asm_expr(&a->r, a->env, &low, a->error);
    if (status != TLY_OK) {
        return status;
    }
    if (low.symbol != 0) { /* the low bits of an address */
        if (a->out->num_fixups == 2) {
            return tly_asm_expected(&a->r, "fewer symbols", a->error);
        }
        a->out->fixups[a->out->num_fixups++] = (tly_asm_fixup){
            low.symbol, (uint8_t)field, (uint8_t)(TLY_KIND_DISP0 + shift), low.number};
        return TLY_OK;
    }
    value = low.unknown ? 0 : low.number;
    if ((value & ((INT64_C(1) << shift) - 1)) != 0) {
        return tly_base_fail(a->error, TLY_MALFORMED, start, "asm-range",
                             "%lld is not a multiple of %u bytes", (long long)value, 1u << shift);
    }
    status = set(a, field, value >> shift);
    if (status != TLY_OK) {
        const tly_isa_field_row *row = tly_isa_field_at(a->form, field);
        int64_t unit = INT64_C(1) << shift, half = INT64_C(1) << (row->width - 1);
        if (!row->is_signed) { /* a plain number */
            if (a->error != NULL) {
                a->error->offset = start;
            }
            return status;
        }
        return tly_base_fail(a->error, TLY_MALFORMED, start, "asm-range",
                             "%lld is outside %lld .. %lld bytes", (long long)value,
                             (long long)(-half * unit), (long long)((half - 1) * unit));
    }
    return TLY_OK;
}

/* A target: an absolute address, or a symbol that the linker will know. `<name+n>` behind a number,
 * as the disassembler prints it, is passed over. */
static tly_status target(attempt *a, uint32_t field, uint32_t kind) {
    tly_asm_value value;
    int64_t distance;
    size_t start = (tly_asm_peek(&a->r), a->r.at);
    tly_status status = tly_asm_expr(&a->r, a->env, &value, a->error);
    if (status != TLY_OK) {
        return status;
    }
    if (tly_asm_peek(&a->r) == '<') {
        while (a->r.at < a->r.len && tly_asm_next(&a->r) != '>') {
            a->r.at++;
        }
        if (!tly_asm_accept(&a->r, ">")) {
            return tly_asm_expected(&a->r, ">", a->error);
        }
    }
    if (value.unknown) {
        return TLY_OK;
    }
    if (value.symbol == 0 && a->env->has_absolute) {
        value.number += (int64_t)(a->env->address - a->env->absolute);
    } else if (value.symbol != a->env->here) {
        if (value.symbol == 0 || a->out->num_fixups == 2) {
            return tly_base_fail(a->error, TLY_MALFORMED, start, "asm-operand",
                                 "an absolute target cannot be reached from a section that is "
                                 "placed later; name a symbol, or give .text its address");
        }
        a->out->fixups[a->out->num_fixups++] =
            (tly_asm_fixup){value.symbol, (uint8_t)field, (uint8_t)kind, value.number};
        return TLY_OK;
    }
    if (!tly_asm_field_for(kind, a->env->address, (uint64_t)value.number, &distance)) {
        return tly_base_fail(a->error, TLY_MALFORMED, start, "asm-range",
                             "the target 0x%llx is not a multiple of %u bytes away",
                             (unsigned long long)value.number, kind == TLY_KIND_PCREL4 ? 4u : 2u);
    }
    if (kind == TLY_KIND_RET32) { /* 32 bits of either sign */
        distance = distance >= -(INT64_C(1) << 31) && distance < 0
                       ? (int64_t)((uint64_t)distance & 0xFFFFFFFF)
                       : distance;
    }
    status = set(a, field, distance);
    if (status != TLY_OK) {
        const tly_isa_field_row *row = tly_isa_field_at(a->form, field);
        int64_t back = (int64_t)((uint64_t)value.number - a->env->address);
        return tly_base_fail(a->error, TLY_MALFORMED, start, "asm-range",
                             "the target is %lld bytes away; %u bits of %s reach it not",
                             (long long)back, row->width,
                             kind == TLY_KIND_PCREL4 ? "words" : "halfwords");
    }
    return TLY_OK;
}

static tly_status pages(attempt *a, uint32_t field) {
    tly_asm_value value;
    size_t start = (tly_asm_peek(&a->r), a->r.at);
    uint32_t width = tly_isa_field_at(a->form, field)->width;
    tly_status status = tly_asm_expr(&a->r, a->env, &value, a->error);
    if (status != TLY_OK || value.unknown) {
        return status;
    }
    if (value.symbol != 0) {
        if (a->out->num_fixups == 2) {
            return tly_asm_expected(&a->r, "fewer symbols", a->error);
        }
        a->out->fixups[a->out->num_fixups++] =
            (tly_asm_fixup){value.symbol, (uint8_t)field, TLY_KIND_PAGE, value.number};
        return TLY_OK;
    }
    if (value.number < -(INT64_C(1) << (width - 1)) || value.number >= INT64_C(1) << (width - 1)) {
        return tly_base_fail(a->error, TLY_MALFORMED, start, "asm-range",
                             "%lld pages do not fit in %u bits", (long long)value.number, width);
    }
    return set(a, field, value.number & ((INT64_C(1) << width) - 1));
}

/* Literal characters of the syntax: a word is taken whole, a blank stands for any number of blanks.
 */
static tly_status literal(attempt *a, const uint8_t **program) {
    char text[16];
    size_t len = 0;
    if ((**program | 32) < 'a' || (**program | 32) > 'z') { /* a single sign, the usual case */
        char sign = (char)*(*program)++;
        if (sign == ' ') {
            return TLY_OK;
        }
        if (tly_asm_peek(&a->r) == sign) {
            a->r.at++;
            return TLY_OK;
        }
        text[0] = sign;
        text[1] = '\0';
        return tly_asm_expected(&a->r, sign == ',' ? "a comma" : text, a->error);
    }
    do {
        text[len++] = (char)*(*program)++;
    } while (len < sizeof text - 1 &&
             (((**program | 32) >= 'a' && (**program | 32) <= 'z') ||
              (**program >= '0' && **program <= '9') || **program == '#') &&
             **program < 0x80);
    text[len] = '\0';
    return tly_asm_accept(&a->r, text) ? TLY_OK : tly_asm_expected(&a->r, text, a->error);
}

/* Registers stand alone: `t#1` and `t` are different things, and no word goes on behind them. */
static tly_status reg(attempt *a, uint32_t field, int destination, int only_gpr) {
    uint32_t code;
    if (!tly_asm_register(&a->r, destination, &code) || (only_gpr && code > 23)) {
        return tly_asm_expected(&a->r,
                                only_gpr      ? "one of R0..R23"
                                : destination ? "a destination: a register, t or u"
                                              : "a register, t#1..t#4 or u#1..u#4",
                                a->error);
    }
    return set(a, field, code);
}

static tly_status named(attempt *a, uint32_t field, tly_isa_names table, const char *what) {
    uint32_t code;
    if (!tly_asm_name(&a->r, table, &code)) {
        return tly_asm_expected(&a->r, what, a->error);
    }
    return set(a, field, code);
}

static tly_status modifier(attempt *a, uint32_t field, uint32_t kind) {
    static const struct {
        const char *text[4];
        uint32_t absent;
    } tables[] = {
        [TLY_KIND_MOD_ADD - TLY_KIND_MOD_ADD] = {{".sw", ".uw", ".neg", NULL}, 3},
        [TLY_KIND_MOD_LOGIC - TLY_KIND_MOD_ADD] = {{".sw", ".uw", ".not", NULL}, 3},
        [TLY_KIND_MOD_ADDRESS - TLY_KIND_MOD_ADD] = {{NULL, ".sw", ".uw", ".neg"}, 0},
        [TLY_KIND_MOD_COMPARE - TLY_KIND_MOD_ADD] = {{NULL, ".sw", ".uw", ".not"}, 0},
        [TLY_KIND_MOD_SELECT - TLY_KIND_MOD_ADD] = {{NULL, ".none1", ".none2", ".neg"}, 0},
    };
    uint32_t index = kind - TLY_KIND_MOD_ADD;
    if (tly_asm_next(&a->r) == '.') {
        for (uint32_t code = 0; code < 4; code++) {
            if (tables[index].text[code] != NULL &&
                tly_asm_accept(&a->r, tables[index].text[code])) {
                return set(a, field, code);
            }
        }
        return tly_asm_expected(&a->r, "a modifier that this operand takes", a->error);
    }
    return set(a, field, tables[index].absent);
}

static tly_status operand(attempt *a, uint32_t kind, const uint8_t *fields, uint32_t count) {
    switch (kind) {
    case TLY_KIND_SRC:
        return reg(a, fields[0], 0, 0);
    case TLY_KIND_DST:
        return reg(a, fields[0], 1, 0);
    case TLY_KIND_GPR:
        return reg(a, fields[0], 0, 1);
    case TLY_KIND_MOD_ADD:
    case TLY_KIND_MOD_LOGIC:
    case TLY_KIND_MOD_ADDRESS:
    case TLY_KIND_MOD_COMPARE:
    case TLY_KIND_MOD_SELECT:
        return modifier(a, fields[0], kind);
    case TLY_KIND_SHL:
        return tly_asm_accept(&a->r, "<<") ? plain(a, fields[0], 0) : TLY_OK;
    case TLY_KIND_IMM_S:
    case TLY_KIND_IMM_U:
        return kind == TLY_KIND_IMM_U && tly_isa_field_at(a->form, fields[0])->width == 12
                   ? scaled(a, fields[0], 0) /* may be the low bits of an address */
                   : plain(a, fields[0], 0);
    case TLY_KIND_FENCE:
    case TLY_KIND_LSR:
        return plain(a, fields[0], 0);
    case TLY_KIND_WIDTH:
        return plain(a, fields[0], 1);
    case TLY_KIND_DISP0:
    case TLY_KIND_DISP1:
    case TLY_KIND_DISP2:
    case TLY_KIND_DISP3:
        return scaled(a, fields[0], kind - TLY_KIND_DISP0);
    case TLY_KIND_BRANCH:
    case TLY_KIND_BRANCH1:
    case TLY_KIND_RET5:
    case TLY_KIND_RET5H:
    case TLY_KIND_RET20:
    case TLY_KIND_RET32:
    case TLY_KIND_PCREL4:
        return target(a, fields[0], kind);
    case TLY_KIND_PAGE:
        return pages(a, fields[0]);
    case TLY_KIND_FTYPE:
        return named(a, fields[0], TLY_NAMES_FLOAT_TYPE, "a type: fd or fs");
    case TLY_KIND_CACHE: {
        static const char *const levels[] = {".l1", ".l2", ".l3"};
        for (uint32_t i = 0; i < 3; i++) {
            if (tly_asm_accept(&a->r, levels[i])) {
                return set(a, fields[0], i);
            }
        }
        return tly_asm_expected(&a->r, ".l1, .l2 or .l3", a->error);
    }
    case TLY_KIND_SSR: {
        uint32_t address;
        if (tly_asm_system_register(&a->r, &address)) {
            return set(a, fields[0], address);
        }
        return plain(a, fields[0], 0);
    }
    case TLY_KIND_TAG:
        if (tly_asm_peek(&a->r) == ',') {
            size_t comma = a->r.at++;
            if (tly_asm_accept(&a->r, tly_isa_field_name(a->form, fields[0])) &&
                tly_asm_accept(&a->r, "=")) {
                return plain(a, fields[0], 0);
            }
            a->r.at = comma;
        }
        return TLY_OK;
    case TLY_KIND_LAST: {
        size_t comma = (tly_asm_peek(&a->r), a->r.at);
        if (tly_asm_accept(&a->r, ",") && tly_asm_accept(&a->r, "last")) {
            return set(a, fields[0], 1);
        }
        a->r.at = comma;
        return TLY_OK;
    }
    case TLY_KIND_TILE: {
        uint32_t code;
        if (!tly_asm_tile(&a->r, &code)) {
            return tly_asm_expected(&a->r, "a tile: t#n, u#n, m#n or n#n, n from 1 to 16",
                                    a->error);
        }
        return set(a, fields[0], code);
    }
    case TLY_KIND_HAND: {
        static const char *const hands[] = {"t", "u", "m", "n"};
        for (uint32_t i = 0; i < 4; i++) {
            if (tly_asm_accept(&a->r, hands[i])) {
                return set(a, fields[0], i);
            }
        }
        return tly_asm_expected(&a->r, "a hand: t, u, m or n", a->error);
    }
    case TLY_KIND_SIZE:
        return named(a, fields[0], TLY_NAMES_SIZE, "a size: 128B, 256B, ... 256KB");
    case TLY_KIND_PE_MODE:
        return named(a, fields[0], TLY_NAMES_PE_MODE,
                     "0000, 1000, 0100, 0010, 0001, 1100, 1110 or 1111");
    case TLY_KIND_PE_MASK: {
        uint32_t mask;
        return tly_asm_mask(&a->r, &mask)
                   ? set(a, fields[0], mask)
                   : tly_asm_expected(&a->r, "four binary digits, PE0 first", a->error);
    }
    case TLY_KIND_LB:
        for (uint32_t i = 0; i < 3; i++) {
            static const char *const names[] = {"lb0", "lb1", "lb2"};
            if (tly_asm_accept(&a->r, names[i])) {
                return set(a, fields[0], i);
            }
        }
        return tly_asm_expected(&a->r, "lb0, lb1 or lb2", a->error);
    case TLY_KIND_DTYPE:
        return named(a, fields[0], TLY_NAMES_DTYPE, "an element type (FP32, S8, U4X2, ...)");
    case TLY_KIND_BRTYPE:
        return named(a, fields[0], TLY_NAMES_TRANSFER, "FALL, IND, ICALL or RET");
    case TLY_KIND_TRACE:
        if (tly_asm_accept(&a->r, "TRACE.begin")) {
            return set(a, fields[0], 0);
        }
        return tly_asm_accept(&a->r, "TRACE.end")
                   ? set(a, fields[0], 1)
                   : tly_asm_expected(&a->r, "TRACE.begin or TRACE.end", a->error);
    case TLY_KIND_OPTSRC: {
        size_t comma = (tly_asm_peek(&a->r), a->r.at);
        if (tly_asm_accept(&a->r, ",") && tly_asm_peek(&a->r) != '-') {
            return reg(a, fields[1], 0, 0);
        }
        a->r.at = comma; /* the comma before the destination */
        return TLY_OK;
    }
    default: { /* lists, which fill several fields at once */
        int64_t values[TLY_ISA_MAX_FIELDS] = {0};
        tly_status status =
            tly_asm_list(&a->r, a->form, kind, fields, count, a->engine, a->env, values, a->error);
        for (uint32_t i = 0; status == TLY_OK && i < count; i++) {
            status = set(a, fields[i], values[i]);
        }
        return status;
    }
    }
}

static tly_status run(attempt *a, uint32_t number_of_form) {
    const uint8_t *program = tly_isa_syntax_of(number_of_form);
    tly_status status = TLY_OK;
    while (status == TLY_OK && *program != 0) {
        if (*program < 0x80) {
            status = literal(a, &program);
        } else {
            status = operand(a, *program - 0x80u, program + 2, program[1]);
            program += 2 + program[1];
        }
    }
    if (status == TLY_OK && !tly_asm_at_end(&a->r)) {
        status = tly_asm_expected(&a->r, "the end of the line", a->error);
    }
    return status;
}

/* Spellings that are no rows of the table. */
static const struct alias {
    const char *name;
    size_t len;
    const char *mnemonic;
    const char *engine;
} aliases[] = {
    {"BSTART.VEC", 10, "BSTART.TEPL", "VEC"},
    {"BSTART.SFU", 10, "BSTART.TEPL", "SFU"},
    {"C.BREAK", 7, "C.EBREAK", NULL},
};

static uint32_t forms_of(const char *name, size_t len, const uint16_t **out_forms, size_t *out_used,
                         const char **out_engine) {
    *out_engine = NULL;
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (len == aliases[i].len && tly_text_equal(name, len, aliases[i].name)) {
            size_t ignored;
            *out_engine = aliases[i].engine;
            *out_used = len;
            return tly_isa_find_mnemonic(aliases[i].mnemonic, strlen(aliases[i].mnemonic),
                                         out_forms, &ignored);
        }
    }
    return tly_isa_find_mnemonic(name, len, out_forms, out_used);
}

static tly_status unknown_mnemonic(const char *name, size_t len, size_t at, tly_error *error) {
    char shown[40];
    const char *close = tly_asm_suggest_mnemonic(name, len);
    tly_base_printable(shown, sizeof shown, name, len);
    return tly_base_fail(error, TLY_MALFORMED, at, "asm-mnemonic",
                         close != NULL ? "no instruction is called \"%s\"; did you mean %s?"
                                       : "no instruction is called \"%s\"",
                         shown, close);
}

/* Tries one form; the reader stands behind the mnemonic. */
static tly_status try_form(attempt *a, uint32_t form, size_t start) {
    uint64_t word;
    tly_status status;
    memset(a->out->insn.fields, 0, sizeof a->out->insn.fields);
    a->out->insn.reserved = 0;
    a->out->num_fixups = 0;
    status = run(a, form);
    if (status == TLY_OK) {
        a->out->insn.form = (uint16_t)form;
        a->out->insn.len = a->form->bits / 8;
        a->out->insn.num_fields = a->form->num_fields;
        status = tly_isa_encode(form, a->out->insn.fields, &word, a->error);
        if (status == TLY_OK) {
            a->out->insn.word = word;
        } else if (a->error != NULL) {
            a->error->offset = start;
        }
    }
    return status;
}

static tly_status other_release(uint32_t form, tly_isa_release release, size_t at,
                                tly_error *error) {
    const tly_isa_form_row *row = tly_isa_form_at(form);
    uint32_t last = 31u - (uint32_t)__builtin_clz(row->releases);
    uint32_t first = (uint32_t)__builtin_ctz(row->releases);
    int retired = last < (uint32_t)release;
    return tly_base_fail(
        error, TLY_MALFORMED, at, "asm-release",
        retired ? "this %s was retired after %s; this is %s" : "this %s came with %s; this is %s",
        tly_isa_mnemonic_of(form), tly_isa_release_name((tly_isa_release)(retired ? last : first)),
        tly_isa_release_name(release));
}

tly_status tly_asm_parse(tly_asm_reader *r, const tly_asm_env *env, tly_asm_parsed *out_parsed,
                         tly_error *error) {
    const char *name, *engine;
    const uint16_t *forms;
    uint32_t count;
    size_t start, len, used, furthest = 0;
    tly_error best, local;

    best.message[0] = '\0'; /* no message yet; the rest of it is only read behind one */
    tly_asm_peek(r);
    start = r->at;
    len = tly_asm_word(r, &name);
    if (len == 0) {
        return tly_asm_expected(r, "an instruction", error);
    }
    count = forms_of(name, len, &forms, &used, &engine);
    if (count == 0) {
        return unknown_mnemonic(name, len, start, error);
    }
    /* The forms of this release, quietly; then again with messages, since none takes the line;
     * then, for C.BSTART.STD COND and DIRECT, the plain compressed starts for which they are
     * written; then the forms of other releases, to name them. */
    for (int pass = 0; pass < 4; pass++) {
        if (pass == 2) {
            if (!tly_text_equal(name, len, "C.BSTART.STD")) {
                continue;
            }
            count = tly_isa_find_mnemonic("C.BSTART", 8, &forms, &used);
            used = len;
        }
        for (uint32_t i = 0; i < count; i++) {
            attempt a = {
                *r, env, tly_isa_form_at(forms[i]), out_parsed, pass == 0 ? NULL : &local, engine};
            int current = (a.form->releases >> env->release & 1) != 0;
            tly_status status;
            if (current != (pass < 3)) {
                continue;
            }
            a.r.at = start + used;
            local.offset = TLY_NO_OFFSET;
            status = try_form(&a, forms[i], start);
            if (status == TLY_OK && current) {
                r->at = a.r.at;
                return TLY_OK;
            }
            if (status == TLY_OK && best.message[0] != '\0') {
                uint32_t last = 31u - (uint32_t)__builtin_clz(a.form->releases);
                return tly_base_fail(error, TLY_MALFORMED, best.offset, "asm-release",
                                     "%.300s (%s takes this line, %s does not)", best.message,
                                     tly_isa_release_name((tly_isa_release)last),
                                     tly_isa_release_name(env->release));
            }
            if (status == TLY_OK) {
                return other_release(forms[i], env->release, start, error);
            }
            if (current && pass != 0 && local.offset != TLY_NO_OFFSET &&
                (best.message[0] == '\0' || local.offset > furthest)) {
                furthest = (size_t)local.offset;
                best = local;
            }
        }
    }
    if (best.message[0] == '\0') { /* only other releases have the mnemonic */
        return other_release(forms[0], env->release, start, error);
    }
    if (error != NULL) {
        *error = best;
    }
    return TLY_MALFORMED;
}

tly_status tly_asm_parse_insn(const char *text, size_t len, uint64_t address,
                              tly_isa_release release, tly_isa_insn *out_insn, tly_error *error) {
    tly_asm_reader r = {text, len, 0};
    tly_asm_env env = {.release = release, .address = address};
    tly_asm_parsed parsed;
    tly_status status;
    if ((uint32_t)release >= TLY_ISA_NUM_RELEASES || (text == NULL && len != 0)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "asm-argument",
                             "no such release, or no text");
    }
    status = tly_asm_parse(&r, &env, &parsed, error);
    if (status == TLY_OK) {
        *out_insn = parsed.insn;
    }
    return status;
}
