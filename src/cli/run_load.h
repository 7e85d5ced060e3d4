/* SPDX-License-Identifier: Apache-2.0 */
/* A program in the memory of a machine: from assembly text, ELF, flat bytes or hex. */
#ifndef TLY_CLI_RUN_LOAD_H
#define TLY_CLI_RUN_LOAD_H

#include "cli/program.h"
#include "pto/machine.h"

/* What was loaded; keeps the symbols. */
typedef struct tly_loaded {
    tly_asm_object *program; /* NULL for flat and hex */
    tly_symbols symbols;
    uint64_t entry;
    uint64_t end; /* behind the highest byte */
} tly_loaded;

typedef struct tly_load_options {
    const char *path;   /* "-": standard input */
    const char *format; /* auto, asm, elf, flat, hex */
    const char *entry;  /* symbol or address; NULL: the program's own */
    uint64_t address;   /* where text, flat and hex begin */
    int32_t release;    /* tly_isa_release; -1: what the program's note says, else 0.58.3 */
    int ignore_identity;
    tly_asm_diagnostic_fn diagnostic;
    void *diagnostic_user;
} tly_load_options;

/* Reads the program and says for which release it is; memory is not touched. Errors: IO, MALFORMED,
 * UNSUPPORTED. */
tly_status tly_load_read(const tly_context *context, const tly_load_options *options,
                         tly_program *out_program, tly_isa_release *out_release, tly_error *error);

/* Copies it to memory and sets TPC. `program` keeps its object. Errors: INVALID_ARGUMENT (it does
 * not lie in memory; nothing is copied), NOT_FOUND (no such entry). */
tly_status tly_load_place(tly_pto_machine *machine, const tly_load_options *options,
                          tly_program *program, tly_loaded *out_loaded, tly_error *error);
void tly_loaded_cleanup(tly_loaded *loaded);

/* Value of a symbol, or of a number in C's notation. Errors: NOT_FOUND. `out_size` (nullable) gets
 * the symbol's size, 0 where it has none. */
tly_status tly_loaded_address(const tly_loaded *loaded, const char *text, uint64_t *out_address,
                              uint64_t *out_size, tly_error *error);

#endif
