/* SPDX-License-Identifier: Apache-2.0 */
/* An object in memory: sections, symbols, relocations. The assembler makes one, the ELF reader
 * makes one, the linker joins several, the ELF writer writes one. Single-owner. */
#ifndef TLY_ASM_OBJECT_H
#define TLY_ASM_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/asm.h>

#include "base/arena.h"

/* Section types and flags have the numbers of ELF. */
enum {
    TLY_SECTION_PROGBITS = 1,
    TLY_SECTION_NOTE = 7,
    TLY_SECTION_NOBITS = 8,
    TLY_SECTION_WRITE = 1,
    TLY_SECTION_ALLOC = 2,
    TLY_SECTION_EXEC = 4
};

enum { TLY_SYMBOL_LOCAL = 0, TLY_SYMBOL_GLOBAL = 1, TLY_SYMBOL_WEAK = 2 };

/* Where a symbol is defined, besides in a section (1 ..). */
enum { TLY_IN_NOTHING = 0, TLY_IN_ABSOLUTE = 0xFFFFFFFF };

/* What the identity note of an object is worth. */
enum {
    TLY_IDENTITY_MISSING = 0,
    TLY_IDENTITY_GOOD = 1,
    TLY_IDENTITY_MALFORMED = 2,
    TLY_IDENTITY_RELEASE = 3, /* names a release that is unknown */
    TLY_IDENTITY_ABI = 4,     /* the ABI is not that of its release */
    TLY_IDENTITY_HASH = 5     /* the projection is not that of its release */
};

typedef struct tly_obj_reloc {
    uint64_t offset; /* in the section */
    uint32_t type;   /* R_PTO_* number */
    uint32_t symbol;
    int64_t addend;
} tly_obj_reloc;

typedef struct tly_obj_section {
    const char *name;
    uint32_t type;
    uint32_t flags;
    uint64_t alignment; /* power of two */
    uint64_t address;   /* once placed */
    uint64_t size;      /* bytes; `bytes` has them except for NOBITS */
    uint8_t *bytes;
    size_t capacity;
    tly_obj_reloc *relocs;
    uint32_t num_relocs;
    uint32_t max_relocs;
    uint32_t symbol; /* that stands for the section, 0: none yet */
} tly_obj_section;

typedef struct tly_obj_symbol {
    const char *name;
    size_t name_len;
    uint64_t value; /* offset in the section, or the absolute value */
    uint64_t size;
    uint32_t section;
    uint8_t binding;
    uint8_t type; /* ELF: 0 none, 1 object, 2 function, 3 section */
    uint8_t used; /* something refers to it */
    uint8_t reserved;
} tly_obj_symbol;

/* Sections and symbols are numbered from 1; number 0 is none. */
typedef struct tly_asm_object tly_object;

struct tly_asm_object {
    const tly_context *context;
    tly_arena arena; /* names */
    tly_obj_section *sections;
    uint32_t num_sections;
    uint32_t max_sections;
    tly_obj_symbol *symbols;
    uint32_t num_symbols;
    uint32_t max_symbols;
    uint32_t *buckets; /* hash of names to symbols, 0 empty */
    uint32_t num_buckets;
    tly_isa_release release; /* that of the identity, where there is a good one */
    uint8_t identity;        /* TLY_IDENTITY_* */
    char named[48];          /* release that a bad identity names, printable */
    uint64_t entry;
    int is_executable;
};

void tly_object_init(tly_object *object, const tly_context *context);
void tly_object_cleanup(tly_object *object);

/* Each returns the number, 0 when there is no memory. */
uint32_t tly_object_add_section(tly_object *object, const char *name, size_t len, uint32_t type,
                                uint32_t flags, uint64_t alignment);
uint32_t tly_object_find_section(const tly_object *object, const char *name, size_t len);
uint32_t tly_object_add_symbol(tly_object *object, const char *name, size_t len);
uint32_t tly_object_find_symbol(const tly_object *object, const char *name, size_t len);

/* A section as a symbol: what relocations against local symbols name. */
uint32_t tly_object_section_symbol(tly_object *object, uint32_t section);

static inline tly_obj_section *tly_object_section(const tly_object *object, uint32_t number) {
    return &object->sections[number - 1];
}

static inline tly_obj_symbol *tly_object_symbol(const tly_object *object, uint32_t number) {
    return &object->symbols[number - 1];
}

/* Adds bytes at the end of a section (zeros where `bytes` is NULL). Errors: OUT_OF_MEMORY, LIMIT.
 */
tly_status tly_object_append(tly_object *object, uint32_t section, const void *bytes, uint64_t len);
tly_status tly_object_add_reloc(tly_object *object, uint32_t section, const tly_obj_reloc *reloc);

#endif
