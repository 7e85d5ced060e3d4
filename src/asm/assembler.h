/* SPDX-License-Identifier: Apache-2.0 */
/* State of the two passes of the assembler. The first pass finds the sizes, so the place of every
 * label; the second makes the bytes. */
#ifndef TLY_ASM_ASSEMBLER_H
#define TLY_ASM_ASSEMBLER_H

#include "asm/bundle.h"
#include "asm/expr.h"
#include "asm/object.h"

typedef struct tly_local_label {
    uint32_t number;
    uint32_t section;
    uint64_t offset;
} tly_local_label;

/* A statement that the first pass has finished: an instruction alone, whose word waits for nothing.
 */
typedef struct tly_finished {
    uint64_t word;
    uint32_t next; /* where the text goes on */
    uint16_t len;  /* bytes of the word; 0: the second pass reads the statement again */
    uint16_t form;
} tly_finished;

typedef struct tly_assembler {
    tly_object *object;
    const tly_asm_options *options;
    tly_error *error; /* of the caller; has the first error */
    const char *file;
    const char *line; /* the whole physical line */
    size_t line_len;
    uint32_t line_number;
    uint32_t num_errors;
    int pass; /* 1 or 2 */
    tly_isa_release release;
    uint32_t section; /* current */
    uint64_t *at;     /* of each section: next offset in this pass */
    uint32_t max_at;
    tly_local_label *labels; /* numeric, in the order of the text */
    uint32_t num_labels;
    uint32_t max_labels;
    uint32_t passed_labels; /* numeric labels that this pass has seen */
    tly_bundle bundle;
    tly_finished *finished; /* one for each statement, in the order of the text */
    uint32_t num_statements;
    uint32_t max_finished;
    tly_finished now; /* of the statement that is being read */
} tly_assembler;

/* Reports at a byte of the current line (`column` from 0, SIZE_MAX for the whole line). */
void tly_assembler_say(tly_assembler *a, int32_t severity, size_t column, const char *rule,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* What an operand sees: release, address, symbols. */
tly_asm_env tly_assembler_env(tly_assembler *a);

/* Adds bytes to the current section (only counted in the first pass). `bytes` NULL: zeros. */
tly_status tly_assembler_emit(tly_assembler *a, const void *bytes, uint64_t len);

/* Makes a section current; creates it if it is new. */
tly_status tly_assembler_section(tly_assembler *a, const char *name, size_t len, uint32_t type,
                                 uint32_t flags);

/* Gives a symbol its place or value. Reports a second definition. */
tly_status tly_assembler_define(tly_assembler *a, const char *name, size_t len, uint32_t section,
                                uint64_t value, size_t column, int may_change);

/* A directive; the reader stands behind its name. Errors are in `error`, offsets in the line. */
tly_status tly_assembler_directive(tly_assembler *a, const char *name, size_t name_len,
                                   tly_asm_reader *r, tly_error *error);

#endif
