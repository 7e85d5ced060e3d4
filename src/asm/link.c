/* SPDX-License-Identifier: Apache-2.0 */
/* Joining objects into a static program, and programs without a header. */
#include <string.h>

#include "asm/object.h"
#include "asm/reloc.h"
#include "base/context.h"
#include "base/error.h"

#define DEFAULT_ADDRESS UINT64_C(0x10000)
#define PAGE            UINT64_C(0x1000)

typedef struct linker {
    const tly_context *context;
    tly_object *out;
    tly_error *error;
    uint32_t **sections; /* of each object: number in the program */
    uint64_t **offsets;  /* of each object: where its sections begin there */
    uint32_t **symbols;
} linker;

static tly_status memory(linker *l) {
    return tly_base_fail(l->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
}

static tly_status join_sections(linker *l, uint32_t index, const tly_object *o) {
    for (uint32_t i = 1; i <= o->num_sections; i++) {
        const tly_obj_section *s = tly_object_section(o, i);
        uint32_t number = tly_object_find_section(l->out, s->name, strlen(s->name));
        tly_obj_section *d;
        uint64_t rest;
        if (number == 0) {
            number = tly_object_add_section(l->out, s->name, strlen(s->name), s->type, s->flags,
                                            s->alignment);
            if (number == 0) {
                return memory(l);
            }
        }
        d = tly_object_section(l->out, number);
        if (d->type != s->type || d->flags != s->flags) {
            return tly_base_fail(l->error, TLY_MALFORMED, TLY_NO_OFFSET, "link-section",
                                 "section %.60s has other flags in object %u than before it",
                                 s->name, index + 1);
        }
        if (s->alignment > d->alignment) {
            d->alignment = s->alignment;
        }
        rest = (uint64_t)-d->size & (s->alignment - 1);
        if (tly_object_append(l->out, number, NULL, rest) != TLY_OK) {
            return memory(l);
        }
        l->sections[index][i] = number;
        l->offsets[index][i] = tly_object_section(l->out, number)->size;
        if (tly_object_append(l->out, number, s->bytes, s->size) != TLY_OK) {
            return memory(l);
        }
    }
    return TLY_OK;
}

static tly_status join_symbol(linker *l, uint32_t index, const tly_object *o, uint32_t i) {
    const tly_obj_symbol *s = tly_object_symbol(o, i);
    int global = s->binding != TLY_SYMBOL_LOCAL && s->type != 3;
    uint32_t number = global ? tly_object_find_symbol(l->out, s->name, s->name_len) : 0;
    tly_obj_symbol *d;
    int defined = s->section != TLY_IN_NOTHING;
    if (s->type == 3) {
        number = tly_object_section_symbol(l->out, l->sections[index][s->section]);
        l->symbols[index][i] = number;
        return number != 0 ? TLY_OK : memory(l);
    }
    /* A local name may occur in several objects; a global one that is found was global before. */
    if (number != 0 && tly_object_symbol(l->out, number)->binding == TLY_SYMBOL_LOCAL) {
        number = 0;
    }
    if (number == 0) {
        number = tly_object_add_symbol(l->out, s->name, s->name_len);
        if (number == 0) {
            return memory(l);
        }
        tly_object_symbol(l->out, number)->binding = s->binding;
    }
    l->symbols[index][i] = number;
    d = tly_object_symbol(l->out, number);
    if (!defined) {
        return TLY_OK;
    }
    if (d->section != TLY_IN_NOTHING) {
        if (s->binding == TLY_SYMBOL_WEAK) {
            return TLY_OK;
        }
        if (d->binding != TLY_SYMBOL_WEAK) {
            char shown[96];
            tly_base_printable(shown, sizeof shown, s->name, s->name_len);
            return tly_base_fail(l->error, TLY_MALFORMED, TLY_NO_OFFSET, "link-duplicate",
                                 "%s is defined in two objects", shown);
        }
    }
    d->binding = s->binding;
    d->type = s->type;
    d->size = s->size;
    d->value = s->value;
    d->section = s->section;
    if (s->section != TLY_IN_ABSOLUTE) {
        d->section = l->sections[index][s->section];
        d->value += l->offsets[index][s->section];
    }
    return TLY_OK;
}

static uint64_t symbol_address(const tly_object *o, const tly_obj_symbol *s) {
    uint64_t base = s->section == TLY_IN_ABSOLUTE || s->section == TLY_IN_NOTHING
                        ? 0
                        : tly_object_section(o, s->section)->address;
    return base + s->value;
}

/* .text first, then what is read, then what is written; each kind begins on a page. */
static tly_status place(linker *l, uint64_t address) {
    static const uint32_t kinds[] = {TLY_SECTION_EXEC, 0, TLY_SECTION_WRITE};
    for (size_t k = 0; k < 3; k++) {
        for (int nobits = 0; nobits < 2; nobits++) {
            for (uint32_t i = 1; i <= l->out->num_sections; i++) {
                tly_obj_section *s = tly_object_section(l->out, i);
                uint32_t kind = s->flags & (TLY_SECTION_EXEC | TLY_SECTION_WRITE);
                if ((s->flags & TLY_SECTION_ALLOC) == 0 ||
                    (kind & kinds[k] ? 0 : kind != kinds[k]) ||
                    (k == 2 && (kind & TLY_SECTION_EXEC) != 0) ||
                    (s->type == TLY_SECTION_NOBITS) != nobits) {
                    continue;
                }
                address = (address + s->alignment - 1) & ~(s->alignment - 1);
                s->address = address;
                if (s->size > UINT64_MAX / 2 - address) {
                    return tly_base_fail(l->error, TLY_LIMIT, TLY_NO_OFFSET, "link-size",
                                         "the program does not fit in the address space");
                }
                address += s->size;
            }
        }
        address = (address + PAGE - 1) & ~(PAGE - 1);
    }
    return TLY_OK;
}

static tly_status patch(linker *l, uint32_t index, const tly_object *o) {
    for (uint32_t i = 1; i <= o->num_sections; i++) {
        const tly_obj_section *s = tly_object_section(o, i);
        tly_obj_section *d = tly_object_section(l->out, l->sections[index][i]);
        uint64_t base = l->offsets[index][i];
        for (uint32_t k = 0; k < s->num_relocs; k++) {
            const tly_obj_reloc *reloc = &s->relocs[k];
            const tly_reloc_row *row = tly_reloc_find(reloc->type);
            const tly_obj_symbol *symbol =
                tly_object_symbol(l->out, l->symbols[index][reloc->symbol]);
            uint64_t target = symbol_address(l->out, symbol) + (uint64_t)reloc->addend;
            tly_status status;
            char shown[96];
            tly_base_printable(shown, sizeof shown, symbol->name, symbol->name_len);
            if (symbol->section == TLY_IN_NOTHING && symbol->binding != TLY_SYMBOL_WEAK) {
                return tly_base_fail(l->error, TLY_MALFORMED, TLY_NO_OFFSET, "link-undefined",
                                     "%s is used in object %u and defined in none", shown,
                                     index + 1);
            }
            if (tly_object_symbol(o, reloc->symbol)->type == 3) {
                target += l->offsets[index][tly_object_symbol(o, reloc->symbol)->section];
            }
            status = tly_reloc_apply(row, d->bytes + base + reloc->offset, target,
                                     d->address + base + reloc->offset, l->error);
            if (status != TLY_OK) {
                if (l->error != NULL) {
                    tly_error first = *l->error;
                    tly_base_fail(l->error, status, TLY_NO_OFFSET, first.rule,
                                  "object %u, %.60s+0x%llx: %.300s", index + 1, s->name,
                                  (unsigned long long)reloc->offset, first.message);
                }
                return status;
            }
        }
    }
    return TLY_OK;
}

tly_status tly_asm_check_identity(const tly_asm_object *object, int32_t release, tly_error *error) {
    const char *wanted = release >= 0 ? tly_isa_release_name((tly_isa_release)release) : NULL;
    if (release >= 0 && wanted == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "identity-argument",
                             "there is no release %d", release);
    }
    switch (object->identity) {
    case TLY_IDENTITY_MISSING:
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "identity-missing",
                             "no identity note says for which release the object was built");
    case TLY_IDENTITY_MALFORMED:
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "identity-malformed",
                             "the identity note cannot be read");
    case TLY_IDENTITY_RELEASE:
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "identity-release",
                             "the object was built for release %s; 0.58.0 to 0.58.3 are known",
                             object->named);
    case TLY_IDENTITY_ABI:
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "identity-abi",
                             "the object says release %s, but not with its encoding ABI",
                             object->named);
    case TLY_IDENTITY_HASH:
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "identity-hash",
                             "the object says release %s, but its encoding projection differs",
                             object->named);
    default:
        break;
    }
    if (release >= 0 && object->release != (tly_isa_release)release) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "identity-release",
                             "the object was built for release %s, not for %s",
                             tly_isa_release_name(object->release), wanted);
    }
    return TLY_OK;
}

static tly_status check_objects(linker *l, tly_asm_object *const *objects, size_t count,
                                int ignore) {
    for (size_t i = 0; i < count; i++) {
        tly_error inner;
        if (objects[i]->is_executable) {
            return tly_base_fail(l->error, TLY_MALFORMED, TLY_NO_OFFSET, "link-program",
                                 "object %zu is a program already", i + 1);
        }
        if (!ignore &&
            tly_asm_check_identity(objects[i], (int32_t)objects[0]->release, &inner) != TLY_OK) {
            return tly_base_fail(l->error, TLY_MALFORMED, TLY_NO_OFFSET, inner.rule,
                                 "object %zu: %.400s", i + 1, inner.message);
        }
    }
    return TLY_OK;
}

static tly_status find_entry(linker *l, const char *name) {
    const char *wanted = name != NULL ? name : "_start";
    uint32_t number = tly_object_find_symbol(l->out, wanted, strlen(wanted));
    uint32_t text = tly_object_find_section(l->out, ".text", 5);
    if (number != 0 && tly_object_symbol(l->out, number)->section != TLY_IN_NOTHING) {
        l->out->entry = symbol_address(l->out, tly_object_symbol(l->out, number));
        return TLY_OK;
    }
    if (name != NULL) {
        return tly_base_fail(l->error, TLY_MALFORMED, TLY_NO_OFFSET, "link-undefined",
                             "the entry %s is not defined", name);
    }
    l->out->entry = text != 0 ? tly_object_section(l->out, text)->address : 0;
    return TLY_OK;
}

static void free_maps(linker *l, tly_asm_object *const *objects, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (l->sections != NULL) {
            tly_base_free(l->context, l->sections[i], (objects[i]->num_sections + 1) * 4, 4);
        }
        if (l->offsets != NULL) {
            tly_base_free(l->context, l->offsets[i], (objects[i]->num_sections + 1) * 8, 8);
        }
        if (l->symbols != NULL) {
            tly_base_free(l->context, l->symbols[i], (objects[i]->num_symbols + 1) * 4, 4);
        }
    }
    tly_base_free(l->context, l->sections, count * sizeof *l->sections, sizeof(void *));
    tly_base_free(l->context, l->offsets, count * sizeof *l->offsets, sizeof(void *));
    tly_base_free(l->context, l->symbols, count * sizeof *l->symbols, sizeof(void *));
}

static tly_status make_maps(linker *l, tly_asm_object *const *objects, size_t count) {
    l->sections = tly_base_calloc(l->context, count * sizeof *l->sections, sizeof(void *));
    l->offsets = tly_base_calloc(l->context, count * sizeof *l->offsets, sizeof(void *));
    l->symbols = tly_base_calloc(l->context, count * sizeof *l->symbols, sizeof(void *));
    if (l->sections == NULL || l->offsets == NULL || l->symbols == NULL) {
        return memory(l);
    }
    for (size_t i = 0; i < count; i++) {
        l->sections[i] = tly_base_calloc(l->context, (objects[i]->num_sections + 1) * 4, 4);
        l->offsets[i] = tly_base_calloc(l->context, (objects[i]->num_sections + 1) * 8, 8);
        l->symbols[i] = tly_base_calloc(l->context, (objects[i]->num_symbols + 1) * 4, 4);
        if (l->sections[i] == NULL || l->offsets[i] == NULL || l->symbols[i] == NULL) {
            return memory(l);
        }
    }
    return TLY_OK;
}

tly_status tly_asm_link(const tly_context *context, tly_asm_object *const *objects,
                        size_t num_objects, const tly_asm_link_options *options,
                        tly_asm_object **out_program, tly_error *error) {
    static const tly_asm_link_options defaults = {.size = sizeof defaults};
    linker l = {.context = context, .error = error};
    tly_status status;

    *out_program = NULL;
    if (options == NULL) {
        options = &defaults;
    }
    if (options->size != sizeof *options || num_objects == 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "wrong size of tly_asm_link_options, or nothing to link");
    }
    l.out = tly_base_alloc(context, sizeof *l.out, _Alignof(tly_object));
    if (l.out == NULL) {
        return memory(&l);
    }
    tly_object_init(l.out, context);
    l.out->release = objects[0]->release;
    l.out->identity = TLY_IDENTITY_GOOD;
    l.out->is_executable = 1;
    status = check_objects(&l, objects, num_objects, options->ignore_identity);
    if (status == TLY_OK) {
        status = make_maps(&l, objects, num_objects);
    }
    for (size_t i = 0; i < num_objects && status == TLY_OK; i++) {
        status = join_sections(&l, (uint32_t)i, objects[i]);
        for (uint32_t k = 1; k <= objects[i]->num_symbols && status == TLY_OK; k++) {
            status = join_symbol(&l, (uint32_t)i, objects[i], k);
        }
    }
    if (status == TLY_OK) {
        status = place(&l, options->has_text_address ? options->text_address : DEFAULT_ADDRESS);
    }
    for (size_t i = 0; i < num_objects && status == TLY_OK; i++) {
        status = patch(&l, (uint32_t)i, objects[i]);
    }
    if (status == TLY_OK) {
        status = find_entry(&l, options->entry);
    }
    free_maps(&l, objects, num_objects);
    if (status != TLY_OK) {
        tly_asm_object_free(l.out);
        return status;
    }
    *out_program = l.out;
    return TLY_OK;
}

tly_status tly_asm_write_flat(const tly_asm_object *program, uint64_t max_len, uint8_t **out_bytes,
                              size_t *out_len, uint64_t *out_address, tly_error *error) {
    uint64_t low = UINT64_MAX, high = 0;
    *out_bytes = NULL;
    for (uint32_t i = 1; i <= program->num_sections; i++) {
        const tly_obj_section *s = tly_object_section(program, i);
        if ((s->flags & TLY_SECTION_ALLOC) != 0 && s->size != 0 && s->type != TLY_SECTION_NOBITS) {
            low = s->address < low ? s->address : low;
            high = s->address + s->size > high ? s->address + s->size : high;
        }
    }
    *out_address = low < high ? low : 0;
    *out_len = low < high ? high - low : 0;
    if (*out_len == 0) {
        return TLY_OK;
    }
    if (*out_len > max_len) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "flat-size",
                             "the program spans %zu bytes, from 0x%llx on; the limit is %llu",
                             *out_len, (unsigned long long)low, (unsigned long long)max_len);
    }
    *out_bytes = tly_base_calloc(program->context, *out_len, 1);
    if (*out_bytes == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    for (uint32_t i = 1; i <= program->num_sections; i++) {
        const tly_obj_section *s = tly_object_section(program, i);
        if ((s->flags & TLY_SECTION_ALLOC) != 0 && s->size != 0 && s->type != TLY_SECTION_NOBITS) {
            memcpy(*out_bytes + (s->address - low), s->bytes, s->size);
        }
    }
    return TLY_OK;
}

tly_status tly_asm_assemble_flat(const tly_context *context, const char *text, size_t len,
                                 uint64_t address, tly_isa_release release, void *buffer,
                                 size_t capacity, size_t *out_len, tly_error *error) {
    tly_asm_options options = {.size = sizeof options,
                               .release = (int32_t)release,
                               .has_text_address = 1,
                               .text_address = address,
                               .no_bundle_checks = 1};
    tly_asm_link_options link = {
        .size = sizeof link, .text_address = address, .has_text_address = 1};
    tly_asm_object *object = NULL, *program = NULL;
    tly_status status = tly_asm_assemble(context, "text", text, len, &options, &object, error);
    uint32_t number;
    if (status == TLY_OK) {
        status = tly_asm_link(context, &object, 1, &link, &program, error);
    }
    if (status == TLY_OK) {
        number = tly_object_find_section(program, ".text", 5);
        for (uint32_t i = 1; i <= program->num_sections && status == TLY_OK; i++) {
            if (i != number && tly_object_section(program, i)->size != 0) {
                status = tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "asm-section",
                                       "only .text can be assembled to memory, not %.60s",
                                       tly_object_section(program, i)->name);
            }
        }
        if (status == TLY_OK) {
            const tly_obj_section *s = tly_object_section(program, number);
            *out_len = s->size;
            if (s->size > capacity) {
                status = tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "asm-buffer",
                                       "the code takes %llu bytes, the buffer has %zu",
                                       (unsigned long long)s->size, capacity);
            } else if (s->size != 0) {
                memcpy(buffer, s->bytes, s->size);
            }
        }
    }
    tly_asm_object_free(program);
    tly_asm_object_free(object);
    return status;
}
