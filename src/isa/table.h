/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the generated instruction tables, and access to them for the folders above. */
#ifndef TLY_ISA_TABLE_H
#define TLY_ISA_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/isa.h>

#include "isa/forms.h"

enum { TLY_ISA_SCALAR = 0, TLY_ISA_COMMAND = 1 };

/* What a form is to a bundle. */
enum {
    TLY_BUNDLE_NONE,
    TLY_BUNDLE_START,
    TLY_BUNDLE_STOP,
    TLY_BUNDLE_TILES,  /* B.IOT */
    TLY_BUNDLE_SHARED, /* B.IOS */
    TLY_BUNDLE_DATA,   /* B.DATR */
    TLY_BUNDLE_HEADER  /* any other command that belongs behind a start */
};

/* What a field of a scalar form is to execution. */
enum {
    TLY_ROLE_NONE, /* nothing: it only has to be there */
    TLY_ROLE_DESTINATION,
    TLY_ROLE_SECOND_DESTINATION,
    TLY_ROLE_LEFT,
    TLY_ROLE_RIGHT,
    TLY_ROLE_THIRD,
    TLY_ROLE_FOURTH,
    TLY_ROLE_MODIFIER, /* of the right operand; the type of floating sources */
    TLY_ROLE_SHIFT,
    TLY_ROLE_IMMEDIATE,
    TLY_ROLE_EXTRA, /* a second number */
    TLY_ROLE_ACQUIRE,
    TLY_ROLE_RELEASE
};

/* What a load, store or prefetch does. */
enum {
    TLY_ACCESS_NONE,
    TLY_ACCESS_LOAD,
    TLY_ACCESS_LOAD_PAIR,
    TLY_ACCESS_STORE,
    TLY_ACCESS_STORE_PAIR,
    TLY_ACCESS_PREFETCH
};
enum {
    TLY_ADDRESS_NONE,
    TLY_ADDRESS_IMMEDIATE,
    TLY_ADDRESS_REGISTER,
    TLY_ADDRESS_PC, /* relative to the word of TPC */
    TLY_ADDRESS_COMPRESSED
};
enum { TLY_UPDATE_NONE, TLY_UPDATE_PRE, TLY_UPDATE_POST };

typedef struct tly_isa_access {
    uint8_t action; /* TLY_ACCESS_* */
    uint8_t size;   /* bytes: 1, 2, 4 or 8 */
    uint8_t is_signed;
    uint8_t address;       /* TLY_ADDRESS_* */
    uint8_t scale;         /* the offset is shifted by it */
    uint8_t update;        /* TLY_UPDATE_* */
    uint8_t gives_address; /* a prefetch that writes its address */
} tly_isa_access;

/* Bits insn_lsb .. insn_lsb+width-1 of the word are bits value_lsb .. of the field. */
typedef struct tly_isa_piece {
    uint8_t insn_lsb;
    uint8_t width;
    uint8_t value_lsb;
} tly_isa_piece;

typedef struct tly_isa_field_row {
    uint16_t name;
    uint16_t first_piece;
    uint8_t width;
    uint8_t is_signed;
    uint8_t num_pieces;
    uint8_t role; /* TLY_ROLE_* */
} tly_isa_field_row;

/* Bit v of `allowed`: the field may have the value v. */
typedef struct tly_isa_rule {
    uint64_t allowed;
    uint8_t insn_lsb;
    uint8_t width;
    uint8_t field;
} tly_isa_rule;

typedef struct tly_isa_form_row {
    uint64_t mask;
    uint64_t match;
    uint32_t syntax; /* offset of its program in tly_isa_syntax */
    uint16_t mnemonic;
    uint16_t first_field;
    uint16_t first_rule;
    uint8_t num_fields;
    uint8_t num_rules;
    uint8_t bits;
    uint8_t surface;
    uint8_t releases;
    uint8_t group;
    uint8_t handler;
    uint8_t bundle; /* TLY_BUNDLE_* */
    uint8_t tileop; /* operation that this start carries, plus one; 0: none, or chosen by fields */
    tly_isa_access access;
    const char *reference;
    const char *memory;
    const char *syntax_text;
} tly_isa_form_row;

typedef struct tly_isa_reserved_row {
    uint64_t mask;
    uint64_t match;
    uint8_t bits;
    const char *name;
    const char *reason;
} tly_isa_reserved_row;

typedef struct tly_isa_name {
    const char *name;
    uint32_t code;
} tly_isa_name;

typedef struct tly_isa_identity {
    const char *release;
    const char *encoding_abi;
    const char *projection;
} tly_isa_identity;

/* Rows by number; NULL outside the table. */
const tly_isa_form_row *tly_isa_form_at(uint32_t form);
const char *tly_isa_mnemonic_of(uint32_t form);
/* Name of a group by its number in a row; NULL beyond the last one. */
const char *tly_isa_group_name(uint32_t group);
const tly_isa_field_row *tly_isa_field_at(const tly_isa_form_row *form, uint32_t index);
const char *tly_isa_field_name(const tly_isa_form_row *form, uint32_t index);
/* `num_rules` rules of a form. */
const tly_isa_rule *tly_isa_rules_of(const tly_isa_form_row *form);
const tly_isa_piece *tly_isa_piece_at(const tly_isa_field_row *field, uint32_t index);

/* Program of a form's operands: bytes 0x01..0x7F are literal characters; 0x80 + kind is followed by
 * a number of fields and that many indexes; 0 ends it. */
const uint8_t *tly_isa_syntax_of(uint32_t form);

/* Forms of a mnemonic given in any case; returns their number. The longest mnemonic that is `name`
 * or ends before one of its dots is taken; `out_used` gets its length. */
uint32_t tly_isa_find_mnemonic(const char *name, size_t len, const uint16_t **out_forms,
                               size_t *out_used);

uint32_t tly_isa_num_mnemonics(void);
const char *tly_isa_mnemonic_at(uint32_t index);

/* Why an extension owns a word, or NULL. */
const tly_isa_reserved_row *tly_isa_reserved_find(uint64_t word, uint32_t bits);

/* Name tables of operands. */
typedef enum tly_isa_names {
    TLY_NAMES_DTYPE,
    TLY_NAMES_LAYOUT,
    TLY_NAMES_PAD,
    TLY_NAMES_SIZE,
    TLY_NAMES_PE_MODE,
    TLY_NAMES_FLOAT_TYPE,
    TLY_NAMES_INTEGER_TYPE,
    TLY_NAMES_TRANSFER,
    TLY_NAMES_SYSTEM_REGISTER,
    TLY_NAMES_CONTEXT_REGISTER
} tly_isa_names;

/* Name of a code, NULL if it has none. */
const char *tly_isa_name_of(tly_isa_names table, uint32_t code);

/* Code of a name in any case; returns 0 if there is none. */
int tly_isa_code_of(tly_isa_names table, const char *name, size_t len, uint32_t *out_code);

/* Entry of a table in its own order, NULL at the end. */
const tly_isa_name *tly_isa_name_at(tly_isa_names table, uint32_t index);

/* ABI name of R0..R23. */
const char *tly_isa_register_name(uint32_t index);

/* The register that is called by two characters, in any case; 24 if none is. */
uint32_t tly_isa_register_code(char first, char second);

/* Bits of one element of a tile element type, 0 for none. */
uint32_t tly_isa_dtype_bits(uint32_t code);

const tly_isa_identity *tly_isa_identity_of(tly_isa_release release);

#endif
