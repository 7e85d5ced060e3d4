/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "asm/object.h"
#include "base/error.h"
#include "base/utf8.h"
#include "cli/source.h"

/* Text without control characters that is neither ELF nor hex is assembly. */
static int looks_like_text(const tly_program *program) {
    size_t len = program->file.len < 4096 ? program->file.len : 4096;
    for (size_t i = 0; i < len; i++) {
        uint8_t ch = program->file.bytes[i];
        if (ch == 0x7F || (ch < ' ' && ch != '\t' && ch != '\n' && ch != '\r')) {
            return 0;
        }
    }
    return len > 0;
}

/* Bytes that are no ELF could be flat code; a file of tensors is none. */
static tly_status refuse_tensors(const tly_context *context, const char *path, const tly_file *file,
                                 tly_error *error) {
    tly_source *source = NULL;
    const char *format = NULL;
    if (file->len >= 4 && memcmp(file->bytes, "HRRY", 4) == 0) {
        format = "hurray";
    } else if (strcmp(path, "-") != 0 &&
               tly_source_open(context, path, 1, &source, NULL) == TLY_OK) {
        format = tly_source_format(source);
    }
    tly_status status =
        format == NULL ? TLY_OK
                       : tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "run-tensors",
                                       "%.300s is a file of tensors (%s), not a program; --tensor "
                                       "and --tile bring tensors to one",
                                       path, format);
    tly_source_free(source);
    return status;
}

static tly_status assemble(const tly_context *context, const tly_load_options *options,
                           tly_program *program, tly_error *error) {
    tly_asm_options asm_options = {.size = sizeof asm_options,
                                   .release =
                                       options->release >= 0 ? options->release : TLY_ISA_0_58_3,
                                   .has_text_address = 1,
                                   .text_address = options->address,
                                   .diagnostic = options->diagnostic,
                                   .diagnostic_user = options->diagnostic_user};
    tly_asm_object *object = NULL;
    tly_status status = tly_asm_assemble(context, options->path, (const char *)program->file.bytes,
                                         program->file.len, &asm_options, &object, error);
    if (status == TLY_MALFORMED) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "asm-failed",
                             "%.200s was not assembled: see above", options->path);
    }
    program->object = object;
    program->bytes = NULL;
    program->len = 0;
    return status;
}

/* A relocatable object becomes a program. */
static tly_status link_object(const tly_context *context, const tly_load_options *options,
                              tly_program *program, tly_error *error) {
    tly_asm_link_options link = {.size = sizeof link,
                                 .has_text_address = 1,
                                 .text_address = options->address,
                                 .ignore_identity = options->ignore_identity};
    tly_asm_object *linked = NULL;
    if (program->object->is_executable) {
        return TLY_OK;
    }
    tly_status status = tly_asm_link(context, &program->object, 1, &link, &linked, error);
    if (status == TLY_OK) {
        tly_asm_object_free(program->object);
        program->object = linked;
    }
    return status;
}

tly_status tly_load_read(const tly_context *context, const tly_load_options *options,
                         tly_program *out_program, tly_isa_release *out_release, tly_error *error) {
    int is_asm = strcmp(options->format, "asm") == 0;
    tly_status status = tly_program_read(context, options->path, is_asm ? "flat" : options->format,
                                         options->address, out_program, error);
    *out_release = options->release >= 0 ? (tly_isa_release)options->release : TLY_ISA_0_58_3;
    if (status != TLY_OK) {
        return status;
    }
    int is_flat = out_program->object == NULL && out_program->bytes == out_program->file.bytes &&
                  out_program->len == out_program->file.len;
    int is_unknown = strcmp(options->format, "auto") == 0 && is_flat;
    if (is_asm || (is_unknown && looks_like_text(out_program))) {
        status = assemble(context, options, out_program, error);
    } else if (is_unknown) {
        status = refuse_tensors(context, options->path, &out_program->file, error);
    }
    if (status == TLY_OK && out_program->object != NULL && !options->ignore_identity) {
        status = tly_asm_check_identity(out_program->object, options->release, error);
    }
    if (status == TLY_OK && out_program->object != NULL) {
        status = link_object(context, options, out_program, error);
    }
    if (status == TLY_OK && out_program->object != NULL && options->release < 0 &&
        tly_asm_object_release(out_program->object) >= 0) {
        *out_release = (tly_isa_release)tly_asm_object_release(out_program->object);
    }
    if (status != TLY_OK) {
        tly_program_cleanup(out_program);
    }
    return status;
}

static tly_status check_range(const tly_pto_machine *m, const char *what, uint64_t address,
                              uint64_t len, tly_error *error) {
    if (address <= m->memory.size && len <= m->memory.size - address) {
        return TLY_OK;
    }
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "run-memory",
                         "%s takes 0x%llx to 0x%llx, but memory ends at 0x%llx; give the machine "
                         "more with --memory",
                         what, (unsigned long long)address, (unsigned long long)(address + len),
                         (unsigned long long)m->memory.size);
}

static int is_loaded(const tly_obj_section *s) {
    return (s->flags & TLY_SECTION_ALLOC) != 0 && s->size != 0;
}

static tly_status place_object(tly_pto_machine *m, const tly_asm_object *o, uint64_t *out_end,
                               tly_error *error) {
    for (uint32_t i = 1; i <= o->num_sections; i++) {
        const tly_obj_section *s = tly_object_section(o, i);
        if (is_loaded(s)) {
            tly_status status = check_range(m, s->name, s->address, s->size, error);
            if (status != TLY_OK) {
                return status;
            }
        }
    }
    for (uint32_t i = 1; i <= o->num_sections; i++) {
        const tly_obj_section *s = tly_object_section(o, i);
        if (is_loaded(s) && s->type != TLY_SECTION_NOBITS) {
            memcpy(m->memory.bytes + s->address, s->bytes, (size_t)s->size);
        }
        if (is_loaded(s) && s->address + s->size > *out_end) {
            *out_end = s->address + s->size;
        }
    }
    return TLY_OK;
}

tly_status tly_loaded_address(const tly_loaded *loaded, const char *text, uint64_t *out_address,
                              uint64_t *out_size, tly_error *error) {
    char *end = NULL;
    errno = 0;
    *out_address = strtoull(text, &end, 0);
    if (out_size != NULL) {
        *out_size = 0;
    }
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0) {
        return TLY_OK;
    }
    uint32_t number =
        loaded->program != NULL ? tly_object_find_symbol(loaded->program, text, strlen(text)) : 0;
    const tly_obj_symbol *s = number != 0 ? tly_object_symbol(loaded->program, number) : NULL;
    if (s == NULL || s->section == TLY_IN_NOTHING) {
        return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "run-symbol",
                             "\"%.100s\" is neither an address nor a symbol of the program", text);
    }
    *out_address = s->value;
    if (s->section != TLY_IN_ABSOLUTE) {
        *out_address += tly_object_section(loaded->program, s->section)->address;
    }
    if (out_size != NULL) {
        *out_size = s->size;
    }
    return TLY_OK;
}

tly_status tly_load_place(tly_pto_machine *m, const tly_load_options *options, tly_program *program,
                          tly_loaded *out_loaded, tly_error *error) {
    tly_status status = TLY_OK;
    memset(out_loaded, 0, sizeof(*out_loaded));
    if (program->object == NULL) {
        status = check_range(m, "the program", program->address, program->len, error);
        if (status == TLY_OK && program->len > 0) {
            memcpy(m->memory.bytes + program->address, program->bytes, program->len);
        }
        out_loaded->entry = program->address;
        out_loaded->end = program->address + program->len;
    } else {
        out_loaded->program = program->object;
        out_loaded->entry = program->object->entry;
        status = place_object(m, program->object, &out_loaded->end, error);
        if (status == TLY_OK) {
            status = tly_symbols_init(&out_loaded->symbols, program->object, error);
        }
    }
    if (status == TLY_OK && options->entry != NULL) {
        status = tly_loaded_address(out_loaded, options->entry, &out_loaded->entry, NULL, error);
    }
    m->core.context.tpc = out_loaded->entry;
    return status;
}

void tly_loaded_cleanup(tly_loaded *loaded) {
    if (loaded->symbols.sorted != NULL) {
        tly_symbols_cleanup(&loaded->symbols);
    }
    memset(loaded, 0, sizeof(*loaded));
}
