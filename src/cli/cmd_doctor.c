/* SPDX-License-Identifier: Apache-2.0 */
/* tilery doctor: for which release was this built, and what does a release refuse in it? */
#include <string.h>

#include "asm/elf.h"
#include "asm/object.h"
#include "base/bytes.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/handlers.h"
#include "cli/options_table.h"
#include "cli/program.h"
#include "cli/text.h"

typedef struct verdict {
    const char *file;
    int32_t noted;  /* release of a good note, -1 */
    tly_error note; /* what is wrong with the note, if anything */
    int has_note_error;
    int32_t target; /* release that was asked about */
    tly_asm_diagnosis words;
    int is_elf;
} verdict;

static void diagnose(const tly_program *program, tly_asm_diagnosis *words) {
    const tly_asm_object *o = program->object;
    words->legal = (1u << TLY_ISA_NUM_RELEASES) - 1;
    if (o == NULL) {
        tly_asm_diagnose(program->bytes, program->len, program->address, words);
        return;
    }
    for (uint32_t i = 1; i <= o->num_sections; i++) {
        const tly_obj_section *s = tly_object_section(o, i);
        if ((s->flags & TLY_SECTION_EXEC) != 0 && s->type != TLY_SECTION_NOBITS) {
            tly_asm_diagnose(s->bytes, s->size, s->address, words);
        }
    }
}

/* Names of the releases in a set, as in "0.58.1, 0.58.2 or 0.58.3". */
static const char *releases(char *out, size_t capacity, uint32_t set) {
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t r = 0; r < TLY_ISA_NUM_RELEASES; r++) {
        if ((set >> r & 1) != 0) {
            int last = set >> (r + 1) == 0;
            used += (size_t)snprintf(out + used, capacity - used, "%s%s",
                                     used == 0 ? ""
                                     : last    ? " or "
                                               : ", ",
                                     tly_isa_release_name((tly_isa_release)r));
        }
    }
    return out;
}

static void print_refusal(FILE *out, const verdict *v, uint32_t r) {
    fprintf(out, "  %s refuses the word at 0x%llx: %s [%s]\n",
            tly_isa_release_name((tly_isa_release)r),
            (unsigned long long)v->words.refused[r].address, v->words.refused[r].error.message,
            v->words.refused[r].error.rule);
}

static void print(FILE *out, const verdict *v) {
    char names[100], file[300];
    uint32_t legal = v->words.legal;
    fprintf(out, "%s\n", tly_text_safe(file, sizeof file, v->file, strlen(v->file)));
    if (v->is_elf && v->noted >= 0) {
        fprintf(out, "note: built for %s\n", tly_isa_release_name((tly_isa_release)v->noted));
    } else if (v->is_elf) {
        fprintf(out, "note: %s [%s]\n", v->note.message, v->note.rule);
    }
    if (v->words.num_words == 0) {
        fprintf(out, "words: there is no code\n");
    } else if (legal == 0) {
        fprintf(out, "words: %u words, legal in no release that is known\n", v->words.num_words);
    } else {
        fprintf(out, "words: %u words, legal in %s%s\n", v->words.num_words,
                releases(names, sizeof names, legal),
                (legal & (legal - 1)) != 0 ? "; the words alone cannot decide" : " only");
    }
    for (uint32_t r = 0; r < TLY_ISA_NUM_RELEASES; r++) {
        if ((legal >> r & 1) == 0) {
            print_refusal(out, v, r);
        }
    }
}

static void print_json(FILE *out, const verdict *v) {
    tly_json json;
    tly_json_init(&json, out);
    tly_json_object(&json, NULL);
    tly_json_string(&json, "file", v->file);
    tly_json_string(&json, "target", tly_isa_release_name((tly_isa_release)v->target));
    if (v->noted >= 0) {
        tly_json_string(&json, "note", tly_isa_release_name((tly_isa_release)v->noted));
    } else if (v->is_elf) {
        tly_json_string(&json, "note_rule", v->note.rule);
        tly_json_string(&json, "note_message", v->note.message);
    }
    tly_json_u64(&json, "words", v->words.num_words);
    tly_json_row(&json, "legal");
    for (uint32_t r = 0; r < TLY_ISA_NUM_RELEASES; r++) {
        if ((v->words.legal >> r & 1) != 0) {
            tly_json_string(&json, NULL, tly_isa_release_name((tly_isa_release)r));
        }
    }
    tly_json_end_array(&json);
    tly_json_bool(&json, "decided",
                  v->words.legal != 0 && (v->words.legal & (v->words.legal - 1)) == 0);
    tly_json_array(&json, "refused");
    for (uint32_t r = 0; r < TLY_ISA_NUM_RELEASES; r++) {
        if ((v->words.legal >> r & 1) == 0) {
            char word[32];
            tly_json_object(&json, NULL);
            tly_json_string(&json, "release", tly_isa_release_name((tly_isa_release)r));
            tly_json_u64(&json, "address", v->words.refused[r].address);
            snprintf(word, sizeof word, "0x%0*llx", (int)v->words.refused[r].len * 2,
                     (unsigned long long)v->words.refused[r].word);
            tly_json_string(&json, "word", word);
            tly_json_string(&json, "rule", v->words.refused[r].error.rule);
            tly_json_string(&json, "message", v->words.refused[r].error.message);
            tly_json_end_object(&json);
        }
    }
    tly_json_end_array(&json);
    tly_json_end_object(&json);
    tly_json_finish(&json);
}

tly_status tly_cli_run_doctor(tly_cli *cli, tly_error *error) {
    const tly_context *context;
    tly_program program;
    verdict v = {.file = cli->args[0], .noted = -1};
    tly_status status = tly_cli_context(cli, &context, error);
    if (status == TLY_OK) {
        status =
            tly_program_read(context, cli->args[0],
                             tly_cli_value(cli, TLY_CLI_DOCTOR_FORMAT, "auto"), 0, &program, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    v.target = tly_cli_release(cli, TLY_CLI_DOCTOR_ISA, TLY_ISA_0_58_3);
    v.is_elf = program.object != NULL;
    if (program.object != NULL) {
        v.noted = tly_asm_object_release(program.object);
        v.has_note_error = tly_asm_check_identity(program.object, -1, &v.note) != TLY_OK;
    }
    diagnose(&program, &v.words);
    (tly_cli_given(cli, TLY_CLI_DOCTOR_JSON) ? print_json : print)(cli->out, &v);
    tly_program_cleanup(&program);
    if (v.noted >= 0 && (v.words.legal >> v.noted & 1) == 0) {
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "doctor-note",
                             "the note says %s, but that release refuses the code",
                             tly_isa_release_name((tly_isa_release)v.noted));
    }
    if (v.has_note_error && strcmp(v.note.rule, "identity-missing") != 0) {
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, v.note.rule, "%s", v.note.message);
    }
    if ((v.words.legal >> v.target & 1) == 0 || (v.noted >= 0 && v.noted != v.target)) {
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "doctor-target",
                             "this is not for %s", tly_isa_release_name((tly_isa_release)v.target));
    }
    return TLY_OK;
}
