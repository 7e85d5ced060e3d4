/* SPDX-License-Identifier: Apache-2.0 */
/* tilery isa: the pages of the instruction set in the terminal. */
#include <string.h>

#include "asm/suggest.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/handlers.h"
#include "cli/options_table.h"
#include "cli/text.h"
#include "isa/table.h"
#include "isa/words.h"

/* The bits of a form, most significant first, as a row of fields over their bit numbers. */
static void diagram(FILE *out, uint32_t number) {
    const tly_isa_form_row *form = tly_isa_form_at(number);
    char fixed[65];
    uint8_t owner[64];
    memset(owner, 0xFF, sizeof owner);
    for (uint32_t f = 0; f < form->num_fields; f++) {
        const tly_isa_field_row *field = tly_isa_field_at(form, f);
        for (uint32_t k = 0; k < field->num_pieces; k++) {
            const tly_isa_piece *p = tly_isa_piece_at(field, k);
            for (uint32_t b = 0; b < p->width; b++) {
                owner[p->insn_lsb + b] = (uint8_t)f;
            }
        }
    }
    for (int bit = form->bits - 1; bit >= 0;) {
        int high = bit, len = 0;
        uint8_t f = owner[bit];
        while (bit >= 0 && owner[bit] == f &&
               (f != 0xFF || (form->mask >> bit & 1) == (form->mask >> high & 1))) {
            if (f == 0xFF) {
                fixed[len++] = (form->mask >> bit & 1) == 0    ? '-'
                               : (form->match >> bit & 1) != 0 ? '1'
                                                               : '0';
            }
            bit--;
            if (f != 0xFF && bit >= 0 && owner[bit] == f) { /* pieces of one field that touch */
                const tly_isa_field_row *field = tly_isa_field_at(form, f);
                int starts = 0;
                for (uint32_t k = 0; k < field->num_pieces; k++) {
                    starts |= tly_isa_piece_at(field, k)->insn_lsb == bit + 1;
                }
                if (starts) {
                    break;
                }
            }
        }
        fixed[len] = '\0';
        if (f == 0xFF) {
            fprintf(out, "    %2d:%-2d  %s\n", high, bit + 1, fixed);
        } else {
            const tly_isa_field_row *field = tly_isa_field_at(form, f);
            for (uint32_t k = 0; k < field->num_pieces; k++) {
                const tly_isa_piece *p = tly_isa_piece_at(field, k);
                if (p->insn_lsb == bit + 1) {
                    fprintf(out, "    %2d:%-2d  %s", high, bit + 1, tly_isa_field_name(form, f));
                    if (field->num_pieces > 1 || p->value_lsb != 0) {
                        fprintf(out, "[%u:%u]", p->value_lsb + p->width - 1u, p->value_lsb);
                    }
                    fputc('\n', out);
                }
            }
        }
    }
}

static void releases(char *out, size_t capacity, uint32_t set) {
    uint32_t first = (uint32_t)__builtin_ctz(set), last = 31u - (uint32_t)__builtin_clz(set);
    snprintf(out, capacity, first == last ? "%s" : "%s to %s",
             tly_isa_release_name((tly_isa_release)first),
             tly_isa_release_name((tly_isa_release)last));
}

static void lower_if_scalar(char *out, size_t capacity, const tly_isa_form *form) {
    size_t i = 0;
    for (; form->mnemonic[i] != '\0' && i + 1 < capacity; i++) {
        out[i] = form->is_command ? form->mnemonic[i] : tly_text_lower(form->mnemonic[i]);
    }
    out[i] = '\0';
}

static void form_text(FILE *out, uint32_t number) {
    tly_isa_form form = {.size = sizeof form};
    char set[64], mnemonic[48];
    const tly_isa_form_row *row = tly_isa_form_at(number);
    const tly_isa_rule *rules = tly_isa_rules_of(row);
    tly_isa_form_info(number, &form);
    releases(set, sizeof set, form.releases);
    lower_if_scalar(mnemonic, sizeof mnemonic, &form);
    fprintf(out, "  %s%s%s\n", mnemonic, form.syntax[0] == '\0' || form.syntax[0] == '.' ? "" : " ",
            form.syntax);
    fprintf(out, "  %u bits, mask 0x%0*llx, match 0x%0*llx, releases %s\n", form.bits,
            form.bits / 4, (unsigned long long)form.mask, form.bits / 4,
            (unsigned long long)form.match, set);
    diagram(out, number);
    for (uint32_t i = 0; i < row->num_rules; i++) {
        int first = 1;
        fprintf(out, "    %s is one of ", tly_isa_field_name(row, rules[i].field));
        for (uint32_t v = 0; v < 1u << rules[i].width; v++) {
            uint32_t end = v;
            if ((rules[i].allowed >> v & 1) == 0) {
                continue;
            }
            while (end + 1 < 1u << rules[i].width && (rules[i].allowed >> (end + 1) & 1) != 0) {
                end++;
            }
            fprintf(out, end > v ? "%s%u..%u" : "%s%u", first ? "" : ", ", v, end);
            first = 0;
            v = end;
        }
        fputc('\n', out);
    }
    fputc('\n', out);
}

static void paragraph(FILE *out, const char *text) {
    size_t column = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        if (column != 0 && column + 1 + len > 76) {
            fputc('\n', out);
            column = 0;
        }
        fprintf(out, column == 0 ? "  %.*s" : " %.*s", (int)len, text);
        column += column == 0 ? 2 + len : 1 + len;
        text += len + (text[len] == ' ');
    }
    fprintf(out, "\n\n");
}

static void page(FILE *out, const char *mnemonic, const uint16_t *forms, uint32_t count) {
    fprintf(out, "%s\n\n", mnemonic);
    paragraph(out, tly_isa_words_of(forms[0]));
    for (uint32_t i = 0; i < count; i++) {
        form_text(out, forms[i]);
    }
    fprintf(out, "  example: %s\n", tly_isa_example_of(forms[0]));
}

static void types(char *out, size_t capacity, uint32_t set) {
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; tly_isa_name_at(TLY_NAMES_DTYPE, i) != NULL; i++) {
        const tly_isa_name *name = tly_isa_name_at(TLY_NAMES_DTYPE, i);
        if ((set >> name->code & 1) != 0 && used < capacity) {
            used += (size_t)snprintf(out + used, capacity - used, "%s%s", used != 0 ? " " : "",
                                     name->name);
        }
    }
}

static void tileop_page(FILE *out, const tly_isa_tileop *op) {
    char set[256];
    types(set, sizeof set, op->dtypes);
    fprintf(out, "%s\n\n", op->name);
    paragraph(out, tly_isa_tileop_words(op));
    fprintf(out, "  engine      %s\n  start       ", op->engine);
    if (op->mode != 0xFF) {
        fprintf(out, "BSTART.%s %s, TYPE (mode %u, function %u)\n", op->engine, op->name, op->mode,
                op->function);
    } else {
        fprintf(out, "%s TYPE\n", op->carrier);
    }
    fprintf(out, "  types       %s\n  operands    %s\n  attributes  %s\n", set, op->operands,
            op->attributes);
}

static const tly_isa_tileop *find_tileop(const char *name) {
    for (uint32_t i = 0; i < tly_isa_num_tileops(); i++) {
        if (tly_text_equal(name, strlen(name), tly_isa_tileop_at(i)->name)) {
            return tly_isa_tileop_at(i);
        }
    }
    return NULL;
}

static tly_status all(tly_cli *cli) {
    if (tly_cli_given(cli, TLY_CLI_ISA_JSON)) {
        tly_json json;
        tly_json_init(&json, cli->out);
        tly_json_object(&json, NULL);
        tly_json_array(&json, "forms");
        for (uint32_t i = 0; i < tly_isa_num_forms(); i++) {
            tly_isa_form form = {.size = sizeof form};
            char number[32], set[64];
            tly_isa_form_info(i, &form);
            tly_json_object(&json, NULL);
            tly_json_string(&json, "mnemonic", form.mnemonic);
            tly_json_u64(&json, "bits", form.bits);
            snprintf(number, sizeof number, "0x%llx", (unsigned long long)form.mask);
            tly_json_string(&json, "mask", number);
            snprintf(number, sizeof number, "0x%llx", (unsigned long long)form.match);
            tly_json_string(&json, "match", number);
            tly_json_string(&json, "syntax", form.syntax);
            releases(set, sizeof set, form.releases);
            tly_json_string(&json, "releases", set);
            tly_json_string(&json, "reference", form.reference);
            tly_json_end_object(&json);
        }
        tly_json_end_array(&json);
        tly_json_end_object(&json);
        tly_json_finish(&json);
        return TLY_OK;
    }
    for (uint32_t i = 0; i < tly_isa_num_mnemonics(); i++) {
        const char *name = tly_isa_mnemonic_at(i);
        const uint16_t *forms;
        size_t used;
        tly_isa_find_mnemonic(name, strlen(name), &forms, &used);
        fprintf(cli->out, "%-24s %.54s%s\n", name, tly_isa_words_of(forms[0]),
                strlen(tly_isa_words_of(forms[0])) > 54 ? "..." : "");
    }
    for (uint32_t i = 0; i < tly_isa_num_tileops(); i++) {
        const tly_isa_tileop *op = tly_isa_tileop_at(i);
        fprintf(cli->out, "%-24s %.54s%s\n", op->name, tly_isa_tileop_words(op),
                strlen(tly_isa_tileop_words(op)) > 54 ? "..." : "");
    }
    return TLY_OK;
}

tly_status tly_cli_run_isa(tly_cli *cli, tly_error *error) {
    const uint16_t *forms;
    const tly_isa_tileop *op;
    const char *name, *close;
    size_t used = 0;
    uint32_t count;
    if (cli->num_args == 0) {
        return all(cli);
    }
    name = cli->args[0];
    op = find_tileop(name);
    if (op != NULL) {
        tileop_page(cli->out, op);
        return TLY_OK;
    }
    count = tly_isa_find_mnemonic(name, strlen(name), &forms, &used);
    if (count != 0 && used == strlen(name)) {
        page(cli->out, tly_isa_mnemonic_of(forms[0]), forms, count);
        return TLY_OK;
    }
    close = tly_asm_suggest_mnemonic(name, strlen(name));
    return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "isa-mnemonic",
                         close != NULL
                             ? "no instruction is called \"%.60s\"; did you mean %s?"
                             : "no instruction is called \"%.60s\"; tilery isa lists them",
                         name, close);
}
