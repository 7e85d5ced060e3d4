/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_ASM_H
#define TILERY_ASM_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/isa.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* PTO assembly text: print instructions, and assemble text to memory. */

#define TLY_ASM_MAX_TEXT 160 /* bytes of one printed instruction, with the final NUL */

/* Names for addresses. `find` returns the name of the symbol at or before `address` and writes how
 * far behind it the address lies, or returns NULL. */
typedef struct tly_asm_symbols {
    const char *(*find)(void *user, uint64_t address, uint64_t *out_offset);
    void *user;
} tly_asm_symbols;

/* Prints an instruction that stands at `address`; targets are absolute addresses, followed by their
 * symbol in angle brackets where `symbols` (nullable) knows one. The text without the brackets
 * assembles back to the same word. Writes at most `capacity` bytes with the NUL; `out_len`
 * (nullable) gets the length that the whole text has. Errors: INVALID_ARGUMENT, LIMIT (cut).
 * Thread-safe. */
TLY_API tly_status tly_asm_format(const tly_isa_insn *insn, uint64_t address,
                                  const tly_asm_symbols *symbols, char *buffer, size_t capacity,
                                  size_t *out_len);

/* Assembles one instruction that stands at `address`, without symbols. `text` need not end with
 * NUL. Errors: MALFORMED with the byte offset into the text, a rule ("asm-mnemonic", "asm-operand",
 * "asm-range", ...) and, where there is one, a suggestion. Thread-safe. */
TLY_API tly_status tly_asm_parse_insn(const char *text, size_t len, uint64_t address,
                                      tly_isa_release release, tly_isa_insn *out_insn,
                                      tly_error *error);

/* One thing that the assembler has to say. */
typedef enum tly_asm_severity { TLY_ASM_ERROR = 1, TLY_ASM_WARNING = 2 } tly_asm_severity;

typedef struct tly_asm_diagnostic {
    int32_t severity;    /* tly_asm_severity */
    uint32_t line;       /* from 1 */
    uint32_t column;     /* from 1, in bytes; 0: the whole line */
    uint32_t reserved;   /* 0 */
    const char *file;    /* as given */
    const char *rule;    /* stable name, as in "asm-operand" */
    const char *message; /* one sentence */
    const char *text;    /* the line, not NUL-terminated */
    size_t text_len;
} tly_asm_diagnostic;

/* Strings live only during the call. */
typedef void (*tly_asm_diagnostic_fn)(void *user, const tly_asm_diagnostic *diagnostic);

/* One line of a listing: where a statement went and what it became. */
typedef void (*tly_asm_listing_fn)(void *user, const char *section, uint64_t offset,
                                   const uint8_t *bytes, size_t num_bytes, uint32_t line,
                                   const char *text, size_t text_len);

typedef struct tly_asm_options {
    size_t size;     /* sizeof(tly_asm_options) */
    int32_t release; /* tly_isa_release */
    uint32_t warnings_as_errors;
    uint32_t no_bundle_checks;
    uint32_t has_text_address; /* .text will stand at text_address: absolute targets can be
                                  assembled */
    uint64_t text_address;
    tly_asm_diagnostic_fn diagnostic; /* NULL: only the first error is reported, in tly_error */
    void *diagnostic_user;
    tly_asm_listing_fn listing; /* NULL: none */
    void *listing_user;
} tly_asm_options;

/* An object: what assembling gives, what an ELF file holds, what linking makes. Single-owner. */
typedef struct tly_asm_object tly_asm_object;

TLY_API void tly_asm_object_free(tly_asm_object *object); /* takes NULL */

/* Assembles a text (one file). `options` may be NULL: 0.58.3. Errors: MALFORMED (the first error is
 * in `error`, all go to the callback), OUT_OF_MEMORY, LIMIT. */
TLY_API tly_status tly_asm_assemble(const tly_context *context, const char *file, const char *text,
                                    size_t len, const tly_asm_options *options,
                                    tly_asm_object **out_object, tly_error *error);

/* Reads an ELF object or program. Checks every offset, size and index against the file; refuses
 * other machines, classes and byte orders by name. A missing identity note is reported by
 * tly_asm_object_release. Errors: MALFORMED with rule and offset, UNSUPPORTED, LIMIT. */
TLY_API tly_status tly_asm_read_elf(const tly_context *context, const void *bytes, size_t len,
                                    tly_asm_object **out_object, tly_error *error);

/* Release that a good identity note names; -1 without one. */
TLY_API int32_t tly_asm_object_release(const tly_asm_object *object);

/* Is the object built for `release` (a tly_isa_release; -1: for any that is known)? Release,
 * encoding ABI and projection must all agree. Errors: MALFORMED with the rule "identity-missing",
 * "identity-malformed", "identity-release", "identity-abi" or "identity-hash". */
TLY_API tly_status tly_asm_check_identity(const tly_asm_object *object, int32_t release,
                                          tly_error *error);

typedef struct tly_asm_link_options {
    size_t size;           /* sizeof(tly_asm_link_options) */
    uint64_t text_address; /* where the program begins, if has_text_address; else 0x10000 */
    const char *entry;     /* symbol; NULL: _start, or the start of .text if there is none */
    int32_t has_text_address;
    int32_t ignore_identity; /* accept objects without a note, or of different releases */
} tly_asm_link_options;

/* Joins objects into a static program. Errors: MALFORMED with the rule "link-undefined",
 * "link-duplicate", "reloc-range", or one of tly_asm_check_identity */
TLY_API tly_status tly_asm_link(const tly_context *context, tly_asm_object *const *objects,
                                size_t num_objects, const tly_asm_link_options *options,
                                tly_asm_object **out_program, tly_error *error);

/* Writes an object (relocatable) or a program (from tly_asm_link) as ELF64, with the identity note.
 * The caller frees with tly_asm_bytes_free(context, ...). Same input, same bytes. */
TLY_API tly_status tly_asm_write_elf(const tly_asm_object *object, uint8_t **out_bytes,
                                     size_t *out_len, tly_error *error);

/* The bytes of a program from its lowest to its highest address, without a header. `out_address`
 * gets the address of the first. Errors: LIMIT (over `max_len` bytes). */
TLY_API tly_status tly_asm_write_flat(const tly_asm_object *program, uint64_t max_len,
                                      uint8_t **out_bytes, size_t *out_len, uint64_t *out_address,
                                      tly_error *error);
TLY_API void tly_asm_bytes_free(const tly_context *context, uint8_t *bytes, size_t len);

/* Assembles a text for one address into the caller's buffer: no sections but .text, no undefined
 * symbols. Errors: as tly_asm_assemble, and LIMIT (the buffer is too small; out_len says how much
 * it takes). */
TLY_API tly_status tly_asm_assemble_flat(const tly_context *context, const char *text, size_t len,
                                         uint64_t address, tly_isa_release release, void *buffer,
                                         size_t capacity, size_t *out_len, tly_error *error);

/* One line of a disassembly. Texts live only during the call. */
typedef struct tly_asm_line {
    uint64_t address;
    uint64_t word;            /* right-aligned */
    uint32_t len;             /* bytes */
    uint32_t reserved;        /* 0 */
    const tly_isa_insn *insn; /* NULL: no instruction of this release; `text` is data then */
    const char *text;    /* assembles back to the same bytes, without the symbols in brackets */
    const char *comment; /* "" or what the operands mean to the operation, or why the word was
                            refused */
    const char *rule;    /* of the refusal, "" otherwise */
} tly_asm_line;

/* Anything but TLY_OK ends the disassembly with that status. */
typedef tly_status (*tly_asm_line_fn)(void *user, const tly_asm_line *line);

/* Disassembles bytes that stand at `address`. What is no instruction becomes data. The operands of
 * B.IOR are explained by the operation of their bundle. Errors: INVALID_ARGUMENT, or what `line`
 * returns. Thread-safe. */
TLY_API tly_status tly_asm_disassemble(const void *bytes, size_t len, uint64_t address,
                                       tly_isa_release release, const tly_asm_symbols *symbols,
                                       tly_asm_line_fn line, void *user, tly_error *error);

/* For which releases code can have been built. */
typedef struct tly_asm_diagnosis {
    uint32_t legal; /* bit r: every word is legal in tly_isa_release r */
    uint32_t num_words;
    struct {
        uint64_t address; /* of the first word that this release refuses */
        uint64_t word;
        uint32_t len;
        uint32_t reserved;
        tly_error error;
    } refused[TLY_ISA_NUM_RELEASES];
} tly_asm_diagnosis;

/* Reads code under every release. May be called for several pieces of one object: start with zeroed
 * memory and `legal` of (1 << TLY_ISA_NUM_RELEASES) - 1. Thread-safe. */
TLY_API void tly_asm_diagnose(const void *bytes, size_t len, uint64_t address,
                              tly_asm_diagnosis *diagnosis);

TLY_END_DECLS

#endif
