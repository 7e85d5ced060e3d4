/* SPDX-License-Identifier: Apache-2.0 */
/* tilery disasm: programs and objects as text that assembles back to them. */
#include <stdlib.h>
#include <string.h>

#include "asm/object.h"
#include "asm/reloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/handlers.h"
#include "cli/options_table.h"
#include "cli/program.h"
#include "cli/text.h"

typedef struct listing {
    tly_cli *cli;
    tly_json json;
    int as_json;
    int bare;                       /* text for the assembler: no addresses, no bytes */
    const tly_obj_section *section; /* NULL for flat */
    const tly_symbols *symbols;
    const tly_asm_object *object;
    const tly_obj_reloc **relocs; /* of the section, by offset */
    uint32_t next_reloc;
} listing;

static void json_line(listing *l, const tly_asm_line *line) {
    char hex[32];
    tly_json_object(&l->json, NULL);
    tly_json_u64(&l->json, "address", line->address);
    snprintf(hex, sizeof hex, "0x%0*llx", (int)line->len * 2, (unsigned long long)line->word);
    tly_json_string(&l->json, "word", hex);
    tly_json_u64(&l->json, "bits", line->len * 8);
    tly_json_string(&l->json, "text", line->text);
    if (line->insn != NULL) {
        tly_isa_form form = {.size = sizeof form};
        tly_isa_form_info(line->insn->form, &form);
        tly_json_string(&l->json, "mnemonic", form.mnemonic);
        tly_json_string(&l->json, "form", form.reference);
        tly_json_object(&l->json, "fields");
        for (uint32_t i = 0; i < form.num_fields; i++) {
            tly_json_i64(&l->json, form.fields[i].name, line->insn->fields[i]);
        }
        tly_json_end_object(&l->json);
    } else {
        tly_json_string(&l->json, "rule", line->rule);
    }
    if (line->comment[0] != '\0') {
        tly_json_string(&l->json, "comment", line->comment);
    }
    tly_json_end_object(&l->json);
}

static int by_offset(const void *a, const void *b) {
    const tly_obj_reloc *x = *(const tly_obj_reloc *const *)a,
                        *y = *(const tly_obj_reloc *const *)b;
    if (x->offset != y->offset) {
        return x->offset < y->offset ? -1 : 1;
    }
    return x < y ? -1 : x > y; /* as they stand in the table */
}

/* Sorted once a section: lines come by address, so each relocation is looked at once. */
static tly_status sort_relocations(listing *l, tly_error *error) {
    uint32_t count = l->section->num_relocs;
    free(l->relocs);
    l->next_reloc = 0;
    l->relocs = calloc(count != 0 ? count : 1, sizeof(const tly_obj_reloc *));
    if (l->relocs == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        l->relocs[i] = &l->section->relocs[i];
    }
    qsort(l->relocs, count, sizeof(const tly_obj_reloc *), by_offset);
    return TLY_OK;
}

/* Relocations that lie in the instruction. */
static void relocations(listing *l, const tly_asm_line *line) {
    const tly_obj_section *s = l->section;
    uint64_t end = s != NULL ? line->address + line->len - s->address : 0;
    for (; s != NULL && l->next_reloc < s->num_relocs && l->relocs[l->next_reloc]->offset < end;
         l->next_reloc++) {
        const tly_obj_reloc *reloc = l->relocs[l->next_reloc];
        const tly_obj_symbol *symbol = tly_object_symbol(l->object, reloc->symbol);
        char name[200];
        const char *shown =
            symbol->type == 3 ? tly_object_section(l->object, symbol->section)->name : symbol->name;
        fprintf(l->cli->out, "%38s# %s %s%+lld\n", "", tly_reloc_find(reloc->type)->name,
                tly_text_safe(name, sizeof name, shown, strlen(shown)), (long long)reloc->addend);
    }
}

static char *hex_digits(char *at, uint64_t value, int digits) {
    for (int i = digits - 1; i >= 0; i--) {
        *at++ = "0123456789abcdef"[value >> 4 * i & 15];
    }
    return at;
}

/* Address and word in columns, then the text: put together by hand, this runs for every word. */
static void text_line(const listing *l, const tly_asm_line *line) {
    char head[48], *at = head;
    int digits = line->address >> 40 != 0 ? 16 : 10, width = (int)line->len * 2;
    memset(head, ' ', sizeof head);
    if (l->bare) {
        at += 4;
    } else {
        int lead = 0;
        while (lead < digits - 1 && (line->address >> 4 * (digits - 1 - lead)) == 0) {
            lead++;
        }
        at = hex_digits(at + lead, line->address, digits - lead);
        *at++ = ':';
        at = hex_digits(at + 2 + (16 - width), line->word, width) + 2;
    }
    fwrite_unlocked(head, 1, (size_t)(at - head), l->cli->out);
    fwrite_unlocked(line->text, 1, strlen(line->text), l->cli->out);
    if (line->comment[0] != '\0') {
        fputs("  # ", l->cli->out);
        fputs(line->comment, l->cli->out);
    }
    putc_unlocked('\n', l->cli->out);
}

static tly_status print(void *user, const tly_asm_line *line) {
    listing *l = user;
    uint64_t offset = 1;
    const char *name = l->symbols != NULL
                           ? tly_symbols_find((void *)(uintptr_t)l->symbols, line->address, &offset)
                           : NULL;
    char safe[300];
    if (l->as_json) {
        json_line(l, line);
        return TLY_OK;
    }
    if (name != NULL && offset == 0) {
        fprintf(l->cli->out, "%s%s:\n", l->bare ? "" : "\n",
                tly_text_safe(safe, sizeof safe, name, strlen(name)));
    }
    text_line(l, line);
    if (!l->bare) {
        relocations(l, line);
    }
    return TLY_OK;
}

static tly_status sections(listing *l, tly_isa_release release, tly_error *error) {
    tly_asm_symbols names = {tly_symbols_find, (void *)(uintptr_t)l->symbols};
    tly_status status = TLY_OK;
    for (uint32_t i = 1; i <= l->object->num_sections && status == TLY_OK; i++) {
        const tly_obj_section *s = tly_object_section(l->object, i);
        if ((s->flags & TLY_SECTION_EXEC) == 0 || s->type == TLY_SECTION_NOBITS || s->size == 0) {
            continue;
        }
        l->section = s;
        status = sort_relocations(l, error);
        if (status != TLY_OK) {
            break;
        }
        if (!l->as_json) {
            char name[200];
            fprintf(l->cli->out, l->bare ? ".section %s, \"ax\"\n" : "section %s\n",
                    tly_text_safe(name, sizeof name, s->name, strlen(s->name)));
        }
        status =
            tly_asm_disassemble(s->bytes, s->size, s->address, release, &names, print, l, error);
    }
    return status;
}

tly_status tly_cli_run_disasm(tly_cli *cli, tly_error *error) {
    const tly_context *context;
    tly_program program = {0};
    tly_symbols symbols = {0};
    listing l = {.cli = cli,
                 .as_json = tly_cli_given(cli, TLY_CLI_DISASM_JSON),
                 .bare = tly_cli_given(cli, TLY_CLI_DISASM_SOURCE)};
    uint64_t address;
    int32_t release;
    tly_status status = tly_cli_context(cli, &context, error);
    if (status == TLY_OK) {
        status = tly_cli_address(cli, TLY_CLI_DISASM_ADDRESS, "address", 0x10000, &address, error);
    }
    if (status == TLY_OK) {
        status = tly_program_read(context, cli->args[0],
                                  tly_cli_value(cli, TLY_CLI_DISASM_FORMAT, "auto"), address,
                                  &program, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    release = tly_cli_release(cli, TLY_CLI_DISASM_ISA,
                              program.object != NULL && tly_asm_object_release(program.object) >= 0
                                  ? tly_asm_object_release(program.object)
                                  : TLY_ISA_0_58_3);
    status = tly_symbols_init(&symbols, program.object, error);
    l.object = program.object;
    l.symbols = program.object != NULL ? &symbols : NULL;
    if (status == TLY_OK && l.as_json) {
        tly_json_init(&l.json, cli->out);
        tly_json_object(&l.json, NULL);
        tly_json_string(&l.json, "file", cli->args[0]);
        tly_json_string(&l.json, "isa", tly_isa_release_name((tly_isa_release)release));
        tly_json_array(&l.json, "instructions");
    }
    if (status == TLY_OK && program.object != NULL) {
        status = sections(&l, (tly_isa_release)release, error);
    } else if (status == TLY_OK) {
        status = tly_asm_disassemble(program.bytes, program.len, program.address,
                                     (tly_isa_release)release, NULL, print, &l, error);
    }
    if (status == TLY_OK && l.as_json) {
        tly_json_end_array(&l.json);
        tly_json_end_object(&l.json);
        tly_json_finish(&l.json);
    }
    free(l.relocs);
    tly_symbols_cleanup(&symbols);
    tly_program_cleanup(&program);
    return status;
}
