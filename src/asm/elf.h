/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of ELF64, little-endian, machine 0xE9, and where its fields lie. */
#ifndef TLY_ASM_ELF_H
#define TLY_ASM_ELF_H

enum {
    ELF_HEADER_LEN = 64,
    ELF_SECTION_LEN = 64,
    ELF_SEGMENT_LEN = 56,
    ELF_SYMBOL_LEN = 24,
    ELF_RELA_LEN = 24,

    ELF_TYPE_REL = 1,
    ELF_TYPE_EXEC = 2,
    ELF_MACHINE_PTO = 0xE9,
    ELF_MACHINE_RETIRED = 0x105,

    ELF_SHT_NULL = 0,
    ELF_SHT_PROGBITS = 1,
    ELF_SHT_SYMTAB = 2,
    ELF_SHT_STRTAB = 3,
    ELF_SHT_RELA = 4,
    ELF_SHT_NOTE = 7,
    ELF_SHT_NOBITS = 8,

    ELF_SHN_UNDEF = 0,
    ELF_SHN_LORESERVE = 0xFF00,
    ELF_SHN_ABS = 0xFFF1,
    ELF_SHN_COMMON = 0xFFF2,

    ELF_PT_LOAD = 1,
    ELF_PT_NOTE = 4
};

#define ELF_NOTE_SECTION ".note.pto.isa"
#define ELF_NOTE_OWNER   "PTO"
#define ELF_NOTE_TYPE    1

#endif
