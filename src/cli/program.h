/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the PTO instruction set as the commands read and write them: ELF, flat binary, hex.
 */
#ifndef TLY_CLI_PROGRAM_H
#define TLY_CLI_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/asm.h>

#include "cli/cli.h"

/* A whole file in memory. Freed by tly_file_free. */
typedef struct tly_file {
    uint8_t *bytes; /* with a NUL behind them */
    size_t len;
} tly_file;

/* Reads a file, or standard input for "-". Errors: IO, LIMIT (over 1 GiB), OUT_OF_MEMORY. */
tly_status tly_file_read(const char *path, tly_file *out_file, tly_error *error);
void tly_file_free(tly_file *file);

/* What was read: an object (ELF), or bytes at an address. */
typedef struct tly_program {
    tly_asm_object *object; /* NULL for flat and hex */
    tly_file file;
    uint8_t *bytes; /* flat and hex: in `file` or of its own */
    size_t len;
    uint64_t address;
} tly_program;

/* Reads a program. `format` is "auto", "elf", "flat" or "hex"; `address` is where a flat one
 * begins, and a hex one that does not say. Errors: IO, MALFORMED, UNSUPPORTED. */
tly_status tly_program_read(const tly_context *context, const char *path, const char *format,
                            uint64_t address, tly_program *out_program, tly_error *error);
void tly_program_cleanup(tly_program *program);

/* Hex text: pairs of digits, `@ADDRESS` before the bytes of an address, `#` comments. Decodes in
 * place. Errors: MALFORMED. */
tly_status tly_hex_decode(uint8_t *text, size_t len, uint64_t *out_address, size_t *out_len,
                          tly_error *error);

/* The same as text, 16 bytes a line. Calls `put` with each line. */
tly_status tly_hex_encode(const uint8_t *bytes, size_t len, uint64_t address,
                          tly_status (*put)(void *user, const char *line, size_t line_len),
                          void *user);

/* An option with an address: decimal or 0x. Errors: INVALID_ARGUMENT. */
tly_status tly_cli_address(const tly_cli *cli, uint32_t option, const char *name,
                           uint64_t otherwise, uint64_t *out_address, tly_error *error);

/* An option with a release of the instruction set; `otherwise` where it is not given. */
int32_t tly_cli_release(const tly_cli *cli, uint32_t option, int32_t otherwise);

/* Symbols of an object for the disassembler. `sorted` is freed by tly_symbols_cleanup. */
typedef struct tly_symbols {
    const tly_asm_object *object;
    uint32_t *sorted; /* named symbols by address */
    uint32_t count;
} tly_symbols;

tly_status tly_symbols_init(tly_symbols *symbols, const tly_asm_object *object, tly_error *error);
void tly_symbols_cleanup(tly_symbols *symbols);
const char *tly_symbols_find(void *user, uint64_t address, uint64_t *out_offset);

#endif
