/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_ISA_H
#define TILERY_ISA_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/export.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* The PTO tile instruction set, releases 0.58.0 to 0.58.3: decode a word, encode it, ask what it
 * is. Everything here comes from one table (tables/isa/). No function allocates; all are
 * thread-safe. */

#define TLY_ISA_MAX_FIELDS 10
#define TLY_ISA_MAX_LEN    8 /* bytes of the longest instruction */

typedef enum tly_isa_release {
    TLY_ISA_0_58_0 = 0,
    TLY_ISA_0_58_1 = 1,
    TLY_ISA_0_58_2 = 2,
    TLY_ISA_0_58_3 = 3
} tly_isa_release;

#define TLY_ISA_NUM_RELEASES 4

/* One decoded instruction. */
typedef struct tly_isa_insn {
    uint64_t word; /* right-aligned, first halfword lowest */
    uint16_t form; /* 0 .. tly_isa_num_forms() - 1 */
    uint8_t len;   /* bytes: 2, 4, 6 or 8 */
    uint8_t num_fields;
    uint32_t reserved;                  /* 0 */
    int64_t fields[TLY_ISA_MAX_FIELDS]; /* in the order of tly_isa_form.fields; sign-extended where
                                           the field is signed, zero above num_fields */
} tly_isa_insn;

typedef struct tly_isa_field {
    const char *name;
    uint8_t width; /* bits of the value; a field whose low bits are not stored has them as zero */
    uint8_t low;   /* lowest bit that is stored */
    uint8_t is_signed;
    uint8_t num_pieces;
} tly_isa_field;

/* What the table says of one form. Strings have static storage. */
typedef struct tly_isa_form {
    size_t size;          /* sizeof(tly_isa_form), set by the caller */
    const char *mnemonic; /* upper case */
    const char *group;
    const char *handler;   /* semantic routine */
    const char *reference; /* identifier of the form in the specification */
    const char *memory;    /* what a load, store or prefetch does; "-" for the others */
    const char *syntax;    /* operands as the table has them */
    uint64_t mask;
    uint64_t match;
    uint8_t bits;       /* 16, 32, 48 or 64 */
    uint8_t is_command; /* bundle command, not scalar */
    uint8_t releases;   /* bit r: tly_isa_release r has it */
    uint8_t num_fields;
    uint32_t reserved;
    tly_isa_field fields[TLY_ISA_MAX_FIELDS];
} tly_isa_form;

TLY_API uint32_t tly_isa_num_forms(void);

/* Errors: INVALID_ARGUMENT. */
TLY_API tly_status tly_isa_form_info(uint32_t form, tly_isa_form *out_form);

/* Length in bytes of an instruction from its first two halfwords (`second` matters only for the
 * fused call, whose first halfword alone is a compressed block start). */
TLY_API uint32_t tly_isa_length(uint16_t first, uint16_t second);

/* Decodes a word of `len` bytes (2, 4, 6 or 8), right-aligned. Errors: MALFORMED with one of the
 * rules "isa-unknown" (no form has this pattern), "isa-reserved" (kept free for an extension),
 * "isa-retired" (another release has it), "isa-field" (a field has a value that its form does not
 * admit); the message names the form, the field or the extension. INVALID_ARGUMENT (len, release).
 */
TLY_API tly_status tly_isa_decode(uint64_t word, uint32_t len, tly_isa_release release,
                                  tly_isa_insn *out_insn, tly_error *error);

/* Decodes the instruction at the start of `bytes` (little-endian halfwords, lowest first). Errors:
 * as tly_isa_decode, and TRUNCATED. */
TLY_API tly_status tly_isa_decode_bytes(const void *bytes, size_t available,
                                        tly_isa_release release, tly_isa_insn *out_insn,
                                        tly_error *error);

/* Builds a word from a form and its fields (`num_fields` of the form). Errors: INVALID_ARGUMENT
 * with rule "isa-field" (a value does not fit, or its form does not admit it). */
TLY_API tly_status tly_isa_encode(uint32_t form, const int64_t *fields, uint64_t *out_word,
                                  tly_error *error);

/* "0.58.3"; NULL for a number that is no release. */
TLY_API const char *tly_isa_release_name(tly_isa_release release);

/* One tile operation. Strings have static storage. */
typedef struct tly_isa_tileop {
    const char *name;    /* "TADD" */
    const char *engine;  /* "VEC", "SFU", "TLSU" or "CUBE" */
    const char *carrier; /* block start that carries it */
    uint32_t dtypes;     /* bit c: element type c is admitted */
    uint8_t mode;        /* BSTART.TEPL only, else 0xFF */
    uint8_t function;
    const char *operands;   /* field=role, in order */
    const char *attributes; /* fields of B.DATR that may be other than zero */
    const char *pad;        /* meaning of the pad field */
    const char *klass;
} tly_isa_tileop;

TLY_API uint32_t tly_isa_num_tileops(void);

/* NULL beyond the last one. */
TLY_API const tly_isa_tileop *tly_isa_tileop_at(uint32_t index);

/* Operation of BSTART.TEPL, NULL where the selector is reserved. */
TLY_API const tly_isa_tileop *tly_isa_tileop_find(uint32_t mode, uint32_t function);

TLY_END_DECLS

#endif
