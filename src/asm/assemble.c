/* SPDX-License-Identifier: Apache-2.0 */
#include "asm/assembler.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "asm/parse.h"
#include "asm/reloc.h"
#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"
#include "base/text.h"

#define MAX_ERRORS   100               /* more are not shown */
#define MAX_TEXT_LEN ((size_t)1 << 31) /* places in the text have 32 bits */

void tly_assembler_say(tly_assembler *a, int32_t severity, size_t column, const char *rule,
                       const char *format, ...) {
    char message[512];
    va_list args;
    if (severity == TLY_ASM_WARNING && a->options->warnings_as_errors) {
        severity = TLY_ASM_ERROR;
    }
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (severity == TLY_ASM_ERROR && a->num_errors++ == 0) {
        tly_base_fail(a->error, TLY_MALFORMED, a->line_number, rule, "%s:%u: %s", a->file,
                      a->line_number, message);
    }
    if (a->options->diagnostic != NULL && a->num_errors <= MAX_ERRORS) {
        tly_asm_diagnostic d = {
            severity, a->line_number, column == SIZE_MAX ? 0 : (uint32_t)column + 1,
            0,        a->file,        rule,
            message,  a->line,        a->line_len};
        a->options->diagnostic(a->options->diagnostic_user, &d);
    }
}

static void say_error(tly_assembler *a, const tly_error *error) {
    tly_assembler_say(a, TLY_ASM_ERROR,
                      error->offset == TLY_NO_OFFSET ? SIZE_MAX : (size_t)error->offset,
                      error->rule, "%s", error->message);
}

/* Numeric labels: `1b` is the nearest before, `1f` the nearest behind the statement. */
static tly_status local_label(tly_assembler *a, const char *name, size_t len,
                              tly_asm_value *out_value, tly_error *error) {
    uint32_t number = 0, i;
    int forward = tly_text_lower(name[len - 1]) == 'f';
    for (size_t k = 0; k + 1 < len; k++) {
        number = number * 10 + (uint32_t)(name[k] - '0');
    }
    *out_value = (tly_asm_value){0, 0, 0};
    if (forward && a->pass == 1) {
        out_value->unknown = 1;
        return TLY_OK;
    }
    for (uint32_t step = 0;; step++) {
        i = forward ? a->passed_labels + step : a->passed_labels - 1 - step;
        if (forward ? i >= a->num_labels : step >= a->passed_labels) {
            return tly_base_fail(error, TLY_MALFORMED, 0, "asm-symbol", "there is no label %u %s",
                                 number, forward ? "below" : "above");
        }
        if (a->labels[i].number == number) {
            break;
        }
    }
    out_value->number = (int64_t)a->labels[i].offset;
    out_value->symbol = tly_object_section_symbol(a->object, a->labels[i].section);
    return out_value->symbol != 0 ? TLY_OK
                                  : tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "", "no memory");
}

static tly_status resolve(void *user, const char *name, size_t len, tly_asm_value *out_value,
                          tly_error *error) {
    tly_assembler *a = user;
    uint32_t number;
    const tly_obj_symbol *s;
    if (name[0] >= '0' && name[0] <= '9') {
        return local_label(a, name, len, out_value, error);
    }
    number = tly_object_find_symbol(a->object, name, len);
    *out_value = (tly_asm_value){0, 0, 0};
    if (a->pass == 1 &&
        (number == 0 || tly_object_symbol(a->object, number)->section == TLY_IN_NOTHING)) {
        out_value->unknown = 1;
        return TLY_OK;
    }
    if (number == 0) {
        number = tly_object_add_symbol(a->object, name, len);
        if (number == 0) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "", "no memory for a symbol");
        }
        tly_object_symbol(a->object, number)->binding = TLY_SYMBOL_GLOBAL;
    }
    s = tly_object_symbol(a->object, number);
    if (s->section == TLY_IN_ABSOLUTE) {
        out_value->number = (int64_t)s->value;
    } else if (s->section != TLY_IN_NOTHING &&
               (s->section == a->section || s->binding == TLY_SYMBOL_LOCAL)) {
        out_value->number = (int64_t)s->value;
        out_value->symbol = tly_object_section_symbol(a->object, s->section);
    } else {
        out_value->symbol = number;
    }
    return TLY_OK;
}

static int difference(void *user, uint32_t first, uint32_t second, int64_t *out_value) {
    tly_assembler *a = user;
    const tly_obj_symbol *x = tly_object_symbol(a->object, first);
    const tly_obj_symbol *y = tly_object_symbol(a->object, second);
    if (x->section != y->section || x->section == TLY_IN_NOTHING) {
        return 0;
    }
    *out_value = (int64_t)((x->type == 3 ? 0 : x->value) - (y->type == 3 ? 0 : y->value));
    return 1;
}

tly_asm_env tly_assembler_env(tly_assembler *a) {
    tly_asm_env env = {.release = a->release,
                       .address = a->at[a->section],
                       .here = tly_object_section_symbol(a->object, a->section),
                       .resolve = resolve,
                       .difference = difference,
                       .user = a};
    const tly_obj_section *s = tly_object_section(a->object, a->section);
    if (a->options->has_text_address && strcmp(s->name, ".text") == 0) {
        env.has_absolute = 1;
        env.absolute = a->options->text_address + env.address;
    }
    return env;
}

tly_status tly_assembler_emit(tly_assembler *a, const void *bytes, uint64_t len) {
    a->at[a->section] += len;
    return a->pass == 1 ? TLY_OK : tly_object_append(a->object, a->section, bytes, len);
}

tly_status tly_assembler_section(tly_assembler *a, const char *name, size_t len, uint32_t type,
                                 uint32_t flags) {
    uint32_t number = tly_object_find_section(a->object, name, len);
    if (number == 0) {
        number = tly_object_add_section(a->object, name, len, type, flags,
                                        (flags & TLY_SECTION_EXEC) != 0 ? 4 : 1);
    }
    if (number != 0 && number >= a->max_at) {
        uint32_t more = a->max_at * 2 > number ? a->max_at * 2 : number + 16;
        uint64_t *grown = tly_base_grow(a->object->context, a->at, a->max_at * sizeof *a->at,
                                        more * sizeof *a->at, _Alignof(uint64_t));
        if (grown == NULL) {
            return TLY_OUT_OF_MEMORY;
        }
        memset(grown + a->max_at, 0, (more - a->max_at) * sizeof *grown);
        a->at = grown;
        a->max_at = more;
    }
    if (number == 0) {
        return TLY_OUT_OF_MEMORY;
    }
    a->section = number;
    return TLY_OK;
}

tly_status tly_assembler_define(tly_assembler *a, const char *name, size_t len, uint32_t section,
                                uint64_t value, size_t column, int may_change) {
    uint32_t number = tly_object_find_symbol(a->object, name, len);
    tly_obj_symbol *s;
    if (number == 0) {
        number = tly_object_add_symbol(a->object, name, len);
        if (number == 0) {
            return TLY_OUT_OF_MEMORY;
        }
    }
    s = tly_object_symbol(a->object, number);
    if (a->pass == 1 && s->section != TLY_IN_NOTHING && !may_change) {
        char shown[64];
        tly_base_printable(shown, sizeof shown, name, len);
        tly_assembler_say(a, TLY_ASM_ERROR, column, "asm-duplicate", "%s is defined a second time",
                          shown);
        return TLY_OK;
    }
    s->section = section;
    s->value = value;
    return TLY_OK;
}

static tly_status numeric_label(tly_assembler *a, uint32_t number) {
    if (a->pass == 1) {
        if (a->num_labels == a->max_labels) {
            uint32_t more = a->max_labels != 0 ? a->max_labels * 2 : 32;
            tly_local_label *grown =
                tly_base_grow(a->object->context, a->labels, a->max_labels * sizeof *a->labels,
                              more * sizeof *a->labels, _Alignof(tly_local_label));
            if (grown == NULL) {
                return TLY_OUT_OF_MEMORY;
            }
            a->labels = grown;
            a->max_labels = more;
        }
        a->labels[a->num_labels++] = (tly_local_label){number, a->section, a->at[a->section]};
    }
    a->passed_labels++;
    return TLY_OK;
}

static void warn(void *user, const char *rule, const char *message) {
    tly_assembler_say(user, TLY_ASM_WARNING, SIZE_MAX, rule, "%s", message);
}

static tly_status add_fixups(tly_assembler *a, const tly_asm_parsed *parsed, uint64_t offset,
                             tly_error *error) {
    const tly_isa_form_row *form = tly_isa_form_at(parsed->insn.form);
    for (uint32_t i = 0; i < parsed->num_fixups; i++) {
        const tly_asm_fixup *f = &parsed->fixups[i];
        uint32_t within = 0;
        const tly_reloc_row *row = tly_reloc_for(form, f->field, f->kind, &within);
        tly_obj_reloc reloc;
        if (row == NULL) {
            return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "asm-operand",
                                 "%s of %s cannot wait for the linker: no relocation places it",
                                 tly_isa_field_name(form, f->field),
                                 tly_isa_mnemonic_of(parsed->insn.form));
        }
        reloc = (tly_obj_reloc){offset + within, row->type, f->symbol, f->addend};
        if (tly_object_add_reloc(a->object, a->section, &reloc) != TLY_OK) {
            return TLY_OUT_OF_MEMORY;
        }
    }
    return TLY_OK;
}

static tly_status instruction(tly_assembler *a, tly_asm_reader *r, tly_error *error) {
    tly_asm_env env = tly_assembler_env(a);
    tly_asm_parsed parsed;
    uint8_t bytes[TLY_ISA_MAX_LEN];
    int named = 0; /* a symbol took part: the second pass reads the statement again */
    tly_status status;
    env.guessed = &named;
    status = tly_asm_parse(r, &env, &parsed, error);
    if (status != TLY_OK) {
        return status;
    }
    a->now.word = parsed.insn.word;
    a->now.form = parsed.insn.form;
    a->now.len = parsed.num_fixups == 0 && !named &&
                         tly_object_section(a->object, a->section)->type != TLY_SECTION_NOBITS
                     ? parsed.insn.len
                     : 0;
    if (a->pass == 2) {
        if (tly_object_section(a->object, a->section)->type == TLY_SECTION_NOBITS) {
            return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "asm-section",
                                 "an instruction cannot stand in a section without bytes");
        }
        status = add_fixups(a, &parsed, env.address, error);
        if (!a->options->no_bundle_checks) {
            tly_bundle_step(&a->bundle, &parsed.insn, a->line_number, warn, a);
        }
    }
    for (uint32_t i = 0; i < parsed.insn.len; i++) {
        bytes[i] = (uint8_t)(parsed.insn.word >> 8 * i);
    }
    return status == TLY_OK ? tly_assembler_emit(a, bytes, parsed.insn.len) : status;
}

/* Labels at the start of a statement. Returns with the reader behind them; `out_len` is the length
 * of the word that comes next, 0 if none does. */
static tly_status labels(tly_assembler *a, tly_asm_reader *r, size_t *out_len) {
    for (;;) {
        tly_asm_reader ahead = *r;
        const char *name;
        uint64_t number;
        size_t len, column = (tly_asm_peek(&ahead), ahead.at);
        tly_status status;
        *out_len = 0;
        if (tly_asm_number(&ahead, &number) == 1) {
            if (!tly_asm_accept(&ahead, ":") || number > UINT32_MAX) {
                return TLY_OK;
            }
            status = numeric_label(a, (uint32_t)number);
        } else {
            *out_len = len = tly_asm_word(&ahead, &name);
            if (len == 0 || !tly_asm_accept(&ahead, ":")) {
                return TLY_OK;
            }
            status = tly_assembler_define(a, name, len, a->section, a->at[a->section], column, 0);
        }
        if (status != TLY_OK) {
            return status;
        }
        *r = ahead;
    }
}

static tly_status statement(tly_assembler *a, tly_asm_reader *r, tly_error *error) {
    size_t len, start = (tly_asm_peek(r), r->at);
    tly_status status = labels(a, r, &len);
    int alone = r->at == start;
    tly_asm_reader ahead = *r;
    const char *name;
    size_t column = (tly_asm_peek(&ahead), ahead.at);
    if (status != TLY_OK || tly_asm_at_end(r)) {
        return status;
    }
    name = ahead.text + ahead.at;
    ahead.at += len;
    if (len != 0 && name[0] == '.') {
        *r = ahead;
        status = tly_assembler_directive(a, name, len, r, error);
        if (status == TLY_OK && !tly_asm_at_end(r)) {
            status = tly_asm_expected(r, "the end of the statement", error);
        }
        return status;
    }
    if (len != 0 && tly_asm_peek(&ahead) == '=' && ahead.at + 1 < ahead.len &&
        ahead.text[ahead.at + 1] != '=') { /* symbol = expression */
        tly_asm_env env = tly_assembler_env(a);
        tly_asm_value value;
        ahead.at++;
        *r = ahead;
        status = tly_asm_expr(r, &env, &value, error);
        if (status == TLY_OK && !value.unknown) {
            uint32_t section = value.symbol == 0
                                   ? TLY_IN_ABSOLUTE
                                   : tly_object_symbol(a->object, value.symbol)->section;
            status = tly_assembler_define(a, name, len, section, (uint64_t)value.number, column, 1);
        }
        if (status == TLY_OK && !tly_asm_at_end(r)) {
            status = tly_asm_expected(r, "the end of the statement", error);
        }
        return status;
    }
    status = instruction(a, r, error);
    if (!alone) {
        a->now.len = 0; /* its label counts in the second pass too */
    }
    return status;
}

/* Notes what the first pass found out about a statement. */
static tly_status remember(tly_assembler *a, size_t next) {
    if (a->num_statements == a->max_finished) {
        uint32_t more = a->max_finished != 0 ? a->max_finished * 2 : 256;
        tly_finished *grown =
            more > a->max_finished
                ? tly_base_grow(a->object->context, a->finished,
                                a->max_finished * sizeof *a->finished, more * sizeof *a->finished,
                                _Alignof(tly_finished))
                : NULL;
        if (grown == NULL) {
            return TLY_OUT_OF_MEMORY;
        }
        a->finished = grown;
        a->max_finished = more;
    }
    a->now.next = (uint32_t)next;
    a->finished[a->num_statements] = a->now;
    return TLY_OK;
}

/* Emits a statement that the first pass has finished. */
static tly_status emit_finished(tly_assembler *a, const tly_finished *f) {
    uint8_t bytes[TLY_ISA_MAX_LEN];
    tly_base_store_u64(bytes, f->word);
    if (!a->options->no_bundle_checks &&
        tly_isa_form_at(f->form)->bundle !=
            TLY_BUNDLE_NONE) { /* scalars are no matter of bundles */
        tly_isa_insn insn;
        if (tly_isa_decode(f->word, f->len, a->release, &insn, NULL) == TLY_OK) {
            tly_bundle_step(&a->bundle, &insn, a->line_number, warn, a);
        }
    }
    return tly_assembler_emit(a, bytes, f->len);
}

/* End of the statement that begins at `at`: a newline, a semicolon or a comment ends it, but not
 * inside quotes. `#` begins a comment unless it hangs on a letter, as in t#1. */
static size_t statement_end(const char *text, size_t at, size_t end, size_t *out_next) {
    static const uint8_t special[256] = {['"'] = 1, ['\''] = 1, [';'] = 1, ['#'] = 1, ['/'] = 1};
    char quote = '\0';
    for (size_t i = at; i < end; i++) {
        char ch;
        if (quote == '\0') {
            while (i < end && !special[(unsigned char)text[i]]) {
                i++;
            }
            if (i == end) {
                break;
            }
        }
        ch = text[i];
        if (quote != '\0') {
            if (ch == '\\' && i + 1 < end) {
                i++;
            } else if (ch == quote) {
                quote = '\0';
            }
            continue;
        }
        if (ch == '"' ||
            (ch == '\'' && i + 2 < end && (text[i + 2] == '\'' || text[i + 1] == '\\'))) {
            quote = ch;
        } else if (ch == ';') {
            *out_next = i + 1;
            return i;
        } else if ((ch == '#' && (i == at || !tly_asm_is_hand(text[i - 1]))) ||
                   (ch == '/' && i + 1 < end && text[i + 1] == '/')) {
            *out_next = end;
            return i;
        }
    }
    *out_next = end;
    return end;
}

static void list(tly_assembler *a, uint32_t section, uint64_t from) {
    const tly_obj_section *s = tly_object_section(a->object, section);
    if (a->pass == 2 && a->options->listing != NULL) {
        uint64_t to = section == a->section ? a->at[section] : from;
        int has_bytes = s->type != TLY_SECTION_NOBITS && to > from && to <= s->size;
        a->options->listing(a->options->listing_user, s->name, from,
                            has_bytes ? s->bytes + from : NULL, has_bytes ? to - from : 0,
                            a->line_number, a->line, a->line_len);
    }
}

static tly_status one_pass(tly_assembler *a, const char *text, size_t len) {
    size_t at = 0;
    a->line_number = 0;
    a->passed_labels = 0;
    a->num_statements = 0;
    if (a->at != NULL) {
        memset(a->at, 0, a->max_at * sizeof *a->at);
    }
    memset(&a->bundle, 0, sizeof a->bundle);
    if (tly_assembler_section(a, ".text", 5, TLY_SECTION_PROGBITS,
                              TLY_SECTION_ALLOC | TLY_SECTION_EXEC) != TLY_OK) {
        return TLY_OUT_OF_MEMORY;
    }
    while (at < len) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t end = newline != NULL ? (size_t)(newline - text) : len, stop = end;
        uint32_t section = a->section;
        uint64_t from = a->at[section];
        if (stop > at && text[stop - 1] == '\r') {
            stop--;
        }
        a->line = text + at;
        a->line_len = stop - at;
        a->line_number++;
        for (size_t begin = at; begin < stop || begin == at;) {
            size_t next, finish;
            tly_status status;
            if (a->pass == 2 && a->finished[a->num_statements].len != 0) {
                const tly_finished *f = &a->finished[a->num_statements];
                next = f->next;
                status = emit_finished(a, f);
            } else {
                tly_error error;
                tly_asm_reader r;
                finish = statement_end(text, begin, stop, &next);
                r = (tly_asm_reader){text + at, finish - at, begin - at};
                error.offset = TLY_NO_OFFSET;
                a->now.len = 0;
                status = statement(a, &r, &error);
                if (status == TLY_MALFORMED) {
                    say_error(a, &error);
                    status = TLY_OK;
                }
                if (status == TLY_OK && a->pass == 1) {
                    status = remember(a, next);
                }
            }
            if (status != TLY_OK) {
                return status;
            }
            a->num_statements++;
            if (next >= stop) {
                break;
            }
            begin = next;
        }
        list(a, section, from);
        at = end + 1;
    }
    a->line = "";
    a->line_len = 0;
    if (a->pass == 2 && !a->options->no_bundle_checks) {
        tly_bundle_end(&a->bundle, warn, a);
    }
    return TLY_OK;
}

tly_status tly_asm_assemble(const tly_context *context, const char *file, const char *text,
                            size_t len, const tly_asm_options *options, tly_asm_object **out_object,
                            tly_error *error) {
    static const tly_asm_options defaults = {.size = sizeof defaults, .release = TLY_ISA_0_58_3};
    tly_assembler a = {.options = options != NULL ? options : &defaults, .file = file};
    tly_status status;

    *out_object = NULL;
    if (a.options->size != sizeof *options ||
        (uint32_t)a.options->release >= TLY_ISA_NUM_RELEASES) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "wrong size of tly_asm_options, or no such release");
    }
    if (len > MAX_TEXT_LEN) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "asm-limit",
                             "%s: a text of more than 2 GiB", file);
    }
    a.error = error;
    a.release = (tly_isa_release)a.options->release;
    a.object = tly_base_alloc(context, sizeof *a.object, _Alignof(tly_object));
    if (a.object == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    tly_object_init(a.object, context);
    a.object->release = a.release;
    a.object->identity = TLY_IDENTITY_GOOD;
    status = TLY_OK;
    for (a.pass = 1; a.pass <= 2 && status == TLY_OK && a.num_errors == 0; a.pass++) {
        status = one_pass(&a, text, len);
    }
    tly_base_free(context, a.at, a.max_at * sizeof *a.at, _Alignof(uint64_t));
    tly_base_free(context, a.labels, a.max_labels * sizeof *a.labels, _Alignof(tly_local_label));
    tly_base_free(context, a.finished, a.max_finished * sizeof *a.finished, _Alignof(tly_finished));
    if (status == TLY_OK && a.num_errors != 0) {
        status = TLY_MALFORMED;
    } else if (status != TLY_OK) {
        tly_base_fail(
            error, status, TLY_NO_OFFSET, "asm-limit",
            status == TLY_LIMIT ? "%s: a section grows beyond 4 GiB" : "%s: no memory left", file);
    }
    if (status != TLY_OK) {
        tly_asm_object_free(a.object);
        return status;
    }
    *out_object = a.object;
    return TLY_OK;
}

void tly_asm_object_free(tly_asm_object *object) {
    if (object != NULL) {
        const tly_context *context = object->context;
        tly_object_cleanup(object);
        tly_base_free(context, object, sizeof *object, _Alignof(tly_object));
    }
}

int32_t tly_asm_object_release(const tly_asm_object *object) {
    return object->identity == TLY_IDENTITY_GOOD ? (int32_t)object->release : -1;
}
