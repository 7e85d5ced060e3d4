/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ELF64 objects and programs. Nothing in the file is trusted: every offset, size, index and
 * string is checked against the bytes that are there before it is used. */
#include <string.h>

#include "asm/elf.h"
#include "asm/note.h"
#include "asm/object.h"
#include "asm/reloc.h"
#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"

#define MAX_SECTIONS 4096
#define MAX_SYMBOLS  (1u << 22)

typedef struct reader {
    const uint8_t *bytes;
    uint64_t len;
    tly_object *object;
    tly_error *error;
    uint32_t num_headers;
    uint64_t headers_at;
    uint32_t *sections; /* section number in the object of each header, 0: not kept */
    uint32_t *symbols;  /* symbol number in the object of each symbol of the file */
    uint32_t num_symbols;
    const uint8_t *names; /* of sections */
    uint64_t names_len;
} reader;

typedef struct header {
    uint32_t name, type, link, info;
    uint64_t flags, address, offset, size, alignment, entry_len;
} header;

static tly_status fail(reader *r, uint64_t offset, const char *rule, const char *message) {
    return tly_base_fail(r->error, TLY_MALFORMED, offset, rule, "%s", message);
}

static tly_status memory(reader *r) {
    return tly_base_fail(r->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
}

/* Are [offset, offset + len) in the file? */
static int inside(const reader *r, uint64_t offset, uint64_t len) {
    return offset <= r->len && len <= r->len - offset;
}

static void load_header(const reader *r, uint32_t index, header *h) {
    const uint8_t *p = r->bytes + r->headers_at + (uint64_t)index * ELF_SECTION_LEN;
    h->name = tly_base_load_u32(p);
    h->type = tly_base_load_u32(p + 4);
    h->flags = tly_base_load_u64(p + 8);
    h->address = tly_base_load_u64(p + 16);
    h->offset = tly_base_load_u64(p + 24);
    h->size = tly_base_load_u64(p + 32);
    h->link = tly_base_load_u32(p + 40);
    h->info = tly_base_load_u32(p + 44);
    h->alignment = tly_base_load_u64(p + 48);
    h->entry_len = tly_base_load_u64(p + 56);
}

static uint64_t header_offset(const reader *r, uint32_t index) {
    return r->headers_at + (uint64_t)index * ELF_SECTION_LEN;
}

/* A string of a table, which must end inside it. */
static const char *string(const uint8_t *table, uint64_t table_len, uint32_t at, size_t *out_len) {
    const uint8_t *end;
    if (at >= table_len) {
        return NULL;
    }
    end = memchr(table + at, 0, table_len - at);
    if (end == NULL) {
        return NULL;
    }
    *out_len = (size_t)(end - (table + at));
    return (const char *)table + at;
}

static tly_status file_header(reader *r) {
    static const uint8_t magic[4] = {0x7F, 'E', 'L', 'F'};
    uint16_t type, machine, entry_len, num;
    uint16_t names;
    header h;
    if (r->len < ELF_HEADER_LEN || memcmp(r->bytes, magic, 4) != 0) {
        return fail(r, 0, "elf-magic", "this is no ELF file");
    }
    if (r->bytes[4] != 2 || r->bytes[5] != 1) {
        return tly_base_fail(r->error, TLY_UNSUPPORTED, 4, "elf-class",
                             "PTO objects are 64-bit and little-endian; this file is not");
    }
    type = tly_base_load_u16(r->bytes + 16);
    machine = tly_base_load_u16(r->bytes + 18);
    if (machine == ELF_MACHINE_RETIRED) {
        return tly_base_fail(r->error, TLY_UNSUPPORTED, 18, "elf-machine",
                             "machine 0x105 is the retired number of PTO: the object is older "
                             "than release 0.57 and carries no identity");
    }
    if (machine != ELF_MACHINE_PTO) {
        return tly_base_fail(r->error, TLY_UNSUPPORTED, 18, "elf-machine",
                             "the file is for machine 0x%X, not for PTO (0xE9)", machine);
    }
    if (type != ELF_TYPE_REL && type != ELF_TYPE_EXEC) {
        return tly_base_fail(r->error, TLY_UNSUPPORTED, 16, "elf-type",
                             "only relocatable objects and static programs are read, this is ELF "
                             "type %u",
                             type);
    }
    r->object->is_executable = type == ELF_TYPE_EXEC;
    r->object->entry = tly_base_load_u64(r->bytes + 24);
    r->headers_at = tly_base_load_u64(r->bytes + 40);
    entry_len = tly_base_load_u16(r->bytes + 58);
    num = tly_base_load_u16(r->bytes + 60);
    names = tly_base_load_u16(r->bytes + 62);
    if (num == 0 || num > MAX_SECTIONS || entry_len != ELF_SECTION_LEN ||
        !inside(r, r->headers_at, (uint64_t)num * ELF_SECTION_LEN)) {
        return fail(r, 40, "elf-headers", "the section headers are not inside the file");
    }
    r->num_headers = num;
    if (names >= num) {
        return fail(r, 62, "elf-headers", "the section of names does not exist");
    }
    load_header(r, names, &h);
    if (h.type != ELF_SHT_STRTAB || !inside(r, h.offset, h.size)) {
        return fail(r, header_offset(r, names), "elf-strings",
                    "the names of sections are not a string table inside the file");
    }
    r->names = r->bytes + h.offset;
    r->names_len = h.size;
    return TLY_OK;
}

/* The note is judged here and refused, or not, by who uses the object. */
static tly_status identity(reader *r, const header *h) {
    tly_note note;
    int32_t release;
    if (r->object->identity != TLY_IDENTITY_MISSING) {
        return fail(r, h->offset, "elf-note", "the object has two identity notes");
    }
    if (tly_note_read(r->bytes + h->offset, h->size, &note, NULL) != TLY_OK) {
        r->object->identity = TLY_IDENTITY_MALFORMED;
        return TLY_OK;
    }
    r->object->identity = tly_note_identity(&note, &release);
    tly_base_printable(r->object->named, sizeof r->object->named, note.release, note.release_len);
    if (release >= 0) {
        r->object->release = (tly_isa_release)release;
    }
    return TLY_OK;
}

static tly_status sections(reader *r) {
    for (uint32_t i = 1; i < r->num_headers; i++) {
        header h;
        size_t name_len;
        const char *name;
        tly_obj_section *s;
        load_header(r, i, &h);
        name = string(r->names, r->names_len, h.name, &name_len);
        if (name == NULL) {
            return fail(r, header_offset(r, i), "elf-strings",
                        "the name of a section does not end inside the table of names");
        }
        if (h.type != ELF_SHT_NOBITS && h.type != ELF_SHT_NULL && !inside(r, h.offset, h.size)) {
            return fail(r, header_offset(r, i) + 24, "elf-section",
                        "the bytes of a section are not inside the file");
        }
        if (h.type == ELF_SHT_NOTE && name_len == sizeof ELF_NOTE_SECTION - 1 &&
            memcmp(name, ELF_NOTE_SECTION, name_len) == 0) {
            tly_status status = identity(r, &h);
            if (status != TLY_OK) {
                return status;
            }
            continue;
        }
        if (h.type != ELF_SHT_PROGBITS && h.type != ELF_SHT_NOBITS && h.type != ELF_SHT_NOTE) {
            continue;
        }
        if (h.alignment == 0) {
            h.alignment = 1;
        }
        if ((h.alignment & (h.alignment - 1)) != 0 || h.alignment > (UINT64_C(1) << 30)) {
            return fail(r, header_offset(r, i) + 48, "elf-section",
                        "the alignment of a section is no power of two");
        }
        if ((h.flags & TLY_SECTION_ALLOC) != 0 && h.address > UINT64_MAX - h.size) {
            return fail(r, header_offset(r, i) + 16, "elf-section",
                        "a section passes the end of the address space");
        }
        r->sections[i] = tly_object_add_section(r->object, name, name_len, h.type,
                                                (uint32_t)h.flags & 7, h.alignment);
        if (r->sections[i] == 0) {
            return memory(r);
        }
        s = tly_object_section(r->object, r->sections[i]);
        s->address = h.address;
        if (h.type == ELF_SHT_NOBITS) {
            s->size = h.size;
        } else {
            tly_status status =
                tly_object_append(r->object, r->sections[i], r->bytes + h.offset, h.size);
            if (status != TLY_OK) {
                return tly_base_fail(r->error, status, header_offset(r, i), "elf-section",
                                     "a section of %llu bytes is too large",
                                     (unsigned long long)h.size);
            }
        }
    }
    return TLY_OK;
}

/* Loaded sections of a program must not lie on each other. */
static tly_status overlaps(reader *r) {
    const tly_object *o = r->object;
    for (uint32_t i = 1; o->is_executable && i <= o->num_sections; i++) {
        const tly_obj_section *a = tly_object_section(o, i);
        for (uint32_t k = i + 1;
             (a->flags & TLY_SECTION_ALLOC) != 0 && a->size != 0 && k <= o->num_sections; k++) {
            const tly_obj_section *b = tly_object_section(o, k);
            if ((b->flags & TLY_SECTION_ALLOC) != 0 && b->size != 0 &&
                a->address < b->address + b->size && b->address < a->address + a->size) {
                return tly_base_fail(r->error, TLY_MALFORMED, TLY_NO_OFFSET, "elf-overlap",
                                     "the sections %.60s and %.60s lie on each other", a->name,
                                     b->name);
            }
        }
    }
    return TLY_OK;
}

static tly_status one_symbol(reader *r, uint32_t index, const uint8_t *p, uint64_t at,
                             const uint8_t *strings, uint64_t strings_len) {
    uint32_t where = tly_base_load_u16(p + 6), type = p[4] & 15, binding = p[4] >> 4, number;
    uint64_t value = tly_base_load_u64(p + 8);
    size_t name_len;
    const char *name = string(strings, strings_len, tly_base_load_u32(p), &name_len);
    tly_obj_symbol *s;
    if (name == NULL) {
        return fail(r, at, "elf-strings", "the name of a symbol does not end inside its table");
    }
    if (where == ELF_SHN_COMMON) {
        return tly_base_fail(r->error, TLY_UNSUPPORTED, at + 6, "elf-symbol",
                             "common symbols are not supported");
    }
    if (where >= r->num_headers && where != ELF_SHN_ABS) {
        return fail(r, at + 6, "elf-symbol", "a symbol lies in a section that does not exist");
    }
    if (type == 3 || name_len == 0) { /* a section, or a nameless place in one */
        uint32_t section = where < r->num_headers ? r->sections[where] : 0;
        if (section == 0) {
            return TLY_OK; /* refused when a relocation names it */
        }
        r->symbols[index] = tly_object_section_symbol(r->object, section);
        return r->symbols[index] != 0 ? TLY_OK : memory(r);
    }
    if (type > 4) {
        return TLY_OK; /* thread-local and others: refused when used */
    }
    number = binding != 0 ? tly_object_find_symbol(r->object, name, name_len) : 0;
    if (number == 0) {
        number = tly_object_add_symbol(r->object, name, name_len);
    }
    if (number == 0) {
        return memory(r);
    }
    s = tly_object_symbol(r->object, number);
    if (where != ELF_SHN_ABS && where != ELF_SHN_UNDEF && r->sections[where] == 0) {
        return TLY_OK;
    }
    s->section = where == ELF_SHN_UNDEF ? TLY_IN_NOTHING
                 : where == ELF_SHN_ABS ? TLY_IN_ABSOLUTE
                                        : r->sections[where];
    if (r->object->is_executable && s->section != TLY_IN_NOTHING && s->section != TLY_IN_ABSOLUTE) {
        value -= tly_object_section(r->object, s->section)->address;
    }
    s->value = value;
    s->size = tly_base_load_u64(p + 16);
    s->type = (uint8_t)(type > 2 ? 0 : type);
    s->binding = (uint8_t)(binding > 2 ? TLY_SYMBOL_GLOBAL : binding);
    r->symbols[index] = number;
    return TLY_OK;
}

static tly_status symbols(reader *r) {
    for (uint32_t i = 1; i < r->num_headers; i++) {
        header h, strings;
        uint64_t count;
        load_header(r, i, &h);
        if (h.type != ELF_SHT_SYMTAB) {
            continue;
        }
        count = h.size / ELF_SYMBOL_LEN;
        if (h.entry_len != ELF_SYMBOL_LEN || h.size % ELF_SYMBOL_LEN != 0 || count > MAX_SYMBOLS ||
            r->symbols != NULL) {
            return fail(r, header_offset(r, i), "elf-symbols",
                        "the symbol table is malformed, or there are two");
        }
        if (h.link >= r->num_headers) {
            return fail(r, header_offset(r, i) + 40, "elf-symbols",
                        "the names of the symbols do not exist");
        }
        load_header(r, h.link, &strings);
        if (strings.type != ELF_SHT_STRTAB || !inside(r, strings.offset, strings.size)) {
            return fail(r, header_offset(r, i) + 40, "elf-strings",
                        "the names of the symbols are not a string table inside the file");
        }
        r->num_symbols = (uint32_t)count;
        if (count == 0) {
            continue;
        }
        r->symbols =
            tly_base_calloc(r->object->context, count * sizeof *r->symbols, _Alignof(uint32_t));
        if (r->symbols == NULL) {
            return memory(r);
        }
        for (uint32_t k = 1; k < count; k++) {
            uint64_t at = h.offset + (uint64_t)k * ELF_SYMBOL_LEN;
            tly_status status =
                one_symbol(r, k, r->bytes + at, at, r->bytes + strings.offset, strings.size);
            if (status != TLY_OK) {
                return status;
            }
        }
    }
    return TLY_OK;
}

static tly_status relocations(reader *r) {
    for (uint32_t i = 1; i < r->num_headers; i++) {
        header h;
        tly_obj_section *s;
        uint64_t count;
        load_header(r, i, &h);
        if (h.type != ELF_SHT_RELA || r->object->is_executable) {
            continue;
        }
        if (h.entry_len != ELF_RELA_LEN || h.size % ELF_RELA_LEN != 0 || h.info >= r->num_headers) {
            return fail(r, header_offset(r, i), "elf-relocations",
                        "a relocation table is malformed");
        }
        if (r->sections[h.info] == 0) {
            continue; /* for a section that is not kept */
        }
        s = tly_object_section(r->object, r->sections[h.info]);
        count = h.size / ELF_RELA_LEN;
        for (uint64_t k = 0; k < count; k++) {
            uint64_t at = h.offset + k * ELF_RELA_LEN;
            const uint8_t *p = r->bytes + at;
            uint64_t info = tly_base_load_u64(p + 8);
            tly_obj_reloc reloc = {tly_base_load_u64(p), (uint32_t)info, 0,
                                   (int64_t)tly_base_load_u64(p + 16)};
            const tly_reloc_row *row = tly_reloc_find(reloc.type);
            if (row == NULL) {
                return tly_base_fail(r->error, TLY_UNSUPPORTED, at + 8, "elf-relocations",
                                     "relocation number %u is unknown", reloc.type);
            }
            if (row->value == TLY_RELOC_NONE) {
                continue;
            }
            if (s->type == TLY_SECTION_NOBITS || reloc.offset > s->size ||
                row->len > s->size - reloc.offset) {
                return fail(r, at, "elf-relocations", "a relocation lies outside its section");
            }
            if (info >> 32 >= r->num_symbols || r->symbols[info >> 32] == 0) {
                return fail(r, at + 8, "elf-relocations",
                            "a relocation names a symbol that does not exist");
            }
            reloc.symbol = r->symbols[info >> 32];
            if (tly_object_add_reloc(r->object, r->sections[h.info], &reloc) != TLY_OK) {
                return memory(r);
            }
        }
    }
    return TLY_OK;
}

tly_status tly_asm_read_elf(const tly_context *context, const void *bytes, size_t len,
                            tly_asm_object **out_object, tly_error *error) {
    reader r = {.bytes = bytes, .len = len, .error = error};
    tly_status status;
    *out_object = NULL;
    r.object = tly_base_alloc(context, sizeof *r.object, _Alignof(tly_object));
    if (r.object == NULL) {
        return memory(&r);
    }
    tly_object_init(r.object, context);
    status = file_header(&r);
    if (status == TLY_OK) {
        r.sections =
            tly_base_calloc(context, r.num_headers * sizeof *r.sections, _Alignof(uint32_t));
        status = r.sections != NULL ? TLY_OK : memory(&r);
    }
    if (status == TLY_OK) {
        status = sections(&r);
    }
    if (status == TLY_OK) {
        status = overlaps(&r);
    }
    if (status == TLY_OK) {
        status = symbols(&r);
    }
    if (status == TLY_OK) {
        status = relocations(&r);
    }
    tly_base_free(context, r.sections, r.num_headers * sizeof *r.sections, _Alignof(uint32_t));
    tly_base_free(context, r.symbols, r.num_symbols * sizeof *r.symbols, _Alignof(uint32_t));
    if (status != TLY_OK) {
        tly_asm_object_free(r.object);
        return status;
    }
    *out_object = r.object;
    return TLY_OK;
}
