/* SPDX-License-Identifier: Apache-2.0 */
/* Objects and programs as ELF64. The same object gives the same bytes. */
#include <string.h>

#include "asm/elf.h"
#include "asm/note.h"
#include "asm/object.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"

typedef struct writer {
    const tly_object *object;
    uint8_t *bytes; /* NULL while sizes are counted */
    uint64_t at;
    uint64_t num_headers;
    uint64_t headers_at; /* section headers */
    uint8_t note[TLY_NOTE_MAX_LEN];
    size_t note_len;
} writer;

static void align(writer *w, uint64_t unit) {
    uint64_t next = (w->at + unit - 1) & ~(unit - 1);
    if (w->bytes != NULL) {
        memset(w->bytes + w->at, 0, next - w->at);
    }
    w->at = next;
}

static void put(writer *w, const void *bytes, uint64_t len) {
    if (w->bytes != NULL && len != 0) {
        memcpy(w->bytes + w->at, bytes, len);
    }
    w->at += len;
}

static void put_u16(writer *w, uint32_t v) {
    uint8_t b[2];
    tly_base_store_u16(b, (uint16_t)v);
    put(w, b, 2);
}

static void put_u32(writer *w, uint32_t v) {
    uint8_t b[4];
    tly_base_store_u32(b, v);
    put(w, b, 4);
}

static void put_u64(writer *w, uint64_t v) {
    uint8_t b[8];
    tly_base_store_u64(b, v);
    put(w, b, 8);
}

typedef struct header {
    uint32_t name, type, link, info;
    uint64_t flags, address, offset, size, alignment, entry_len;
} header;

static void put_header(writer *w, const header *h) {
    put_u32(w, h->name);
    put_u32(w, h->type);
    put_u64(w, h->flags);
    put_u64(w, h->address);
    put_u64(w, h->offset);
    put_u64(w, h->size);
    put_u32(w, h->link);
    put_u32(w, h->info);
    put_u64(w, h->alignment);
    put_u64(w, h->entry_len);
}

/* Symbols in the order of ELF: local ones first. Unnamed, unused section symbols are left out. */
static int listed(const tly_obj_symbol *s, int local) {
    int is_local = s->type == 3 || s->binding == TLY_SYMBOL_LOCAL;
    if (is_local != local) {
        return 0;
    }
    return s->type != 3 ? s->section != TLY_IN_NOTHING || s->used || s->binding != 0 : s->used;
}

static uint32_t place_symbols(const tly_object *o, uint32_t *places, uint32_t *out_locals) {
    uint32_t next = 1;
    for (int local = 1; local >= 0; local--) {
        for (uint32_t i = 1; i <= o->num_symbols; i++) {
            if (listed(tly_object_symbol(o, i), local)) {
                places[i] = next++;
            }
        }
        if (local) {
            *out_locals = next;
        }
    }
    return next;
}

static void put_symbols(writer *w, const uint32_t *places) {
    const tly_object *o = w->object;
    uint32_t name = 1;
    uint8_t zero[ELF_SYMBOL_LEN] = {0};
    (void)places;
    put(w, zero, sizeof zero);
    for (int local = 1; local >= 0; local--) {
        for (uint32_t i = 1; i <= o->num_symbols; i++) {
            const tly_obj_symbol *s = tly_object_symbol(o, i);
            uint8_t info[2];
            uint64_t value = s->value;
            if (!listed(s, local)) {
                continue;
            }
            info[0] = (uint8_t)((s->type == 3 ? 0 : s->binding) << 4 | s->type);
            info[1] = 0;
            if (o->is_executable && s->section != TLY_IN_NOTHING && s->section != TLY_IN_ABSOLUTE) {
                value += tly_object_section(o, s->section)->address;
            }
            put_u32(w, s->name_len != 0 ? name : 0);
            put(w, info, 2);
            put_u16(w, s->section == TLY_IN_NOTHING    ? ELF_SHN_UNDEF
                       : s->section == TLY_IN_ABSOLUTE ? ELF_SHN_ABS
                                                       : s->section);
            put_u64(w, value);
            put_u64(w, s->size);
            name += s->name_len != 0 ? (uint32_t)s->name_len + 1 : 0;
        }
    }
}

static void put_names(writer *w) {
    const tly_object *o = w->object;
    put(w, "", 1);
    for (int local = 1; local >= 0; local--) {
        for (uint32_t i = 1; i <= o->num_symbols; i++) {
            const tly_obj_symbol *s = tly_object_symbol(o, i);
            if (listed(s, local) && s->name_len != 0) {
                put(w, s->name, s->name_len + 1);
            }
        }
    }
}

static uint64_t file_align(const tly_object *o, const tly_obj_section *s) {
    (void)o;
    return s->alignment;
}

static void put_file_header(writer *w, uint32_t num_segments) {
    static const uint8_t ident[16] = {0x7F, 'E', 'L', 'F', 2, 1, 1};
    const tly_object *o = w->object;
    put(w, ident, sizeof ident);
    put_u16(w, o->is_executable ? ELF_TYPE_EXEC : ELF_TYPE_REL);
    put_u16(w, ELF_MACHINE_PTO);
    put_u32(w, 1);
    put_u64(w, o->is_executable ? o->entry : 0);
    put_u64(w, num_segments != 0 ? ELF_HEADER_LEN : 0);
    put_u64(w, w->headers_at);
    put_u32(w, 0);
    put_u16(w, ELF_HEADER_LEN);
    put_u16(w, ELF_SEGMENT_LEN);
    put_u16(w, num_segments);
    put_u16(w, ELF_SECTION_LEN);
    put_u16(w, (uint32_t)w->num_headers);
    put_u16(w, (uint32_t)w->num_headers - 1);
}

/* A segment for each section that is loaded: programs have few sections. */
static void put_segment(writer *w, uint32_t type, uint32_t flags, uint64_t offset, uint64_t address,
                        uint64_t file_len, uint64_t len, uint64_t alignment) {
    put_u32(w, type);
    put_u32(w, flags);
    put_u64(w, offset);
    put_u64(w, address);
    put_u64(w, address);
    put_u64(w, file_len);
    put_u64(w, len);
    put_u64(w, alignment);
}

static uint32_t count_segments(const tly_object *o) {
    uint32_t count = 1; /* the note */
    for (uint32_t i = 1; i <= o->num_sections; i++) {
        count += (tly_object_section(o, i)->flags & TLY_SECTION_ALLOC) != 0 &&
                 tly_object_section(o, i)->size != 0;
    }
    return count;
}

/* Runs twice: first to count, then to write. `offsets` gets where each section's bytes lie. */
static void write_all(writer *w, uint64_t *offsets, const uint32_t *places, uint32_t num_symbols,
                      uint32_t num_locals) {
    const tly_object *o = w->object;
    uint32_t num_segments = o->is_executable ? count_segments(o) : 0;
    uint32_t relas = 0, name = 1, note_name, symtab_name, strtab_name;
    uint64_t symtab_at, strtab_at, names_at, note_at, strtab_len;
    uint64_t rela_at;
    header h = {0};

    w->at = 0;
    put_file_header(w, num_segments);
    if (num_segments != 0) {
        for (uint32_t i = 1; i <= o->num_sections; i++) {
            const tly_obj_section *s = tly_object_section(o, i);
            if ((s->flags & TLY_SECTION_ALLOC) != 0 && s->size != 0) {
                uint32_t flags = 4u | ((s->flags & TLY_SECTION_WRITE) != 0 ? 2u : 0u) |
                                 ((s->flags & TLY_SECTION_EXEC) != 0 ? 1u : 0u);
                put_segment(w, ELF_PT_LOAD, flags, offsets[i], s->address,
                            s->type == TLY_SECTION_NOBITS ? 0 : s->size, s->size, s->alignment);
            }
        }
        put_segment(w, ELF_PT_NOTE, 4, offsets[0], 0, w->note_len, w->note_len, 4);
    }
    for (uint32_t i = 1; i <= o->num_sections; i++) {
        const tly_obj_section *s = tly_object_section(o, i);
        align(w, file_align(o, s));
        offsets[i] = w->at;
        if (s->type != TLY_SECTION_NOBITS) {
            put(w, s->bytes, s->size);
        }
    }
    align(w, 4);
    offsets[0] = note_at = w->at;
    put(w, w->note, w->note_len);
    align(w, 8);
    rela_at = w->at;
    for (uint32_t i = 1; i <= o->num_sections; i++) {
        const tly_obj_section *s = tly_object_section(o, i);
        relas += s->num_relocs != 0;
        for (uint32_t k = 0; k < s->num_relocs; k++) {
            put_u64(w, s->relocs[k].offset);
            put_u64(w, (uint64_t)places[s->relocs[k].symbol] << 32 | s->relocs[k].type);
            put_u64(w, (uint64_t)s->relocs[k].addend);
        }
    }
    symtab_at = w->at;
    put_symbols(w, places);
    strtab_at = w->at;
    put_names(w);
    strtab_len = w->at - strtab_at;
    names_at = w->at;
    put(w, "", 1);
    for (uint32_t i = 1; i <= o->num_sections; i++) {
        const tly_obj_section *s = tly_object_section(o, i);
        if (s->num_relocs != 0) {
            put(w, ".rela", 5); /* the name of the section stands behind it */
        }
        put(w, s->name, strlen(s->name) + 1);
    }
    note_name = (uint32_t)(w->at - names_at);
    put(w, ELF_NOTE_SECTION, sizeof ELF_NOTE_SECTION);
    symtab_name = (uint32_t)(w->at - names_at);
    put(w, ".symtab", 8);
    strtab_name = (uint32_t)(w->at - names_at);
    put(w, ".strtab", 8);
    put(w, ".shstrtab", 10);
    h.size = w->at - names_at;
    {
        uint64_t names_len = h.size;
        uint32_t base = o->num_sections + 1; /* the note's header */
        align(w, 8);
        w->headers_at = w->at;
        w->num_headers = 1 + o->num_sections + 1 + relas + 3;
        memset(&h, 0, sizeof h);
        put_header(w, &h);
        for (uint32_t i = 1; i <= o->num_sections; i++) {
            const tly_obj_section *s = tly_object_section(o, i);
            h = (header){name + (s->num_relocs != 0 ? 5 : 0),
                         s->type,
                         0,
                         0,
                         s->flags,
                         s->address,
                         offsets[i],
                         s->size,
                         s->alignment,
                         0};
            put_header(w, &h);
            name += (uint32_t)strlen(s->name) + 1 + (s->num_relocs != 0 ? 5 : 0);
        }
        h = (header){note_name, ELF_SHT_NOTE, 0, 0, 0, 0, note_at, w->note_len, 4, 0};
        put_header(w, &h);
        name = 1;
        for (uint32_t i = 1; i <= o->num_sections; i++) {
            const tly_obj_section *s = tly_object_section(o, i);
            if (s->num_relocs != 0) {
                uint64_t len = (uint64_t)s->num_relocs * ELF_RELA_LEN;
                h = (header){name, ELF_SHT_RELA, base + relas + 1, i, 0x40, 0, rela_at, len,
                             8,    ELF_RELA_LEN};
                put_header(w, &h);
                rela_at += len;
            }
            name += (uint32_t)strlen(s->name) + 1 + (s->num_relocs != 0 ? 5 : 0);
        }
        h = (header){symtab_name,
                     ELF_SHT_SYMTAB,
                     base + relas + 2,
                     num_locals,
                     0,
                     0,
                     symtab_at,
                     (uint64_t)num_symbols * ELF_SYMBOL_LEN,
                     8,
                     ELF_SYMBOL_LEN};
        put_header(w, &h);
        h = (header){strtab_name, ELF_SHT_STRTAB, 0, 0, 0, 0, strtab_at, strtab_len, 1, 0};
        put_header(w, &h);
        h = (header){strtab_name + 8, ELF_SHT_STRTAB, 0, 0, 0, 0, names_at, names_len, 1, 0};
        put_header(w, &h);
    }
}

tly_status tly_asm_write_elf(const tly_asm_object *object, uint8_t **out_bytes, size_t *out_len,
                             tly_error *error) {
    const tly_context *context = object->context;
    writer w = {.object = object};
    size_t offsets_len = (object->num_sections + 1) * sizeof(uint64_t);
    size_t places_len = (object->num_symbols + 1) * sizeof(uint32_t);
    uint64_t *offsets = tly_base_calloc(context, offsets_len, _Alignof(uint64_t));
    uint32_t *places = tly_base_calloc(context, places_len, _Alignof(uint32_t));
    uint32_t num_symbols = 0, num_locals = 0;

    *out_bytes = NULL;
    if (offsets != NULL && places != NULL) {
        num_symbols = place_symbols(object, places, &num_locals);
        w.note_len = tly_note_write(object->release, w.note);
        write_all(&w, offsets, places, num_symbols, num_locals);
        *out_len = w.at;
        *out_bytes = tly_base_alloc(context, w.at, 1);
        w.bytes = *out_bytes;
        if (w.bytes != NULL) {
            write_all(&w, offsets, places, num_symbols, num_locals);
        }
    }
    tly_base_free(context, offsets, offsets_len, _Alignof(uint64_t));
    tly_base_free(context, places, places_len, _Alignof(uint32_t));
    return *out_bytes != NULL ? TLY_OK
                              : tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                              "no memory for the file");
}

void tly_asm_bytes_free(const tly_context *context, uint8_t *bytes, size_t len) {
    tly_base_free(context, bytes, len, 1);
}
