/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_ASM_H
#define TILERY_ASM_H

#include <stddef.h>
#include <stdint.h>

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

TLY_END_DECLS

#endif
