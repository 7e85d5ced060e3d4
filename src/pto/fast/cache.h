/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of predecoded code, its index, and which lines of memory code was made from. */
#ifndef TLY_PTO_FAST_CACHE_H
#define TLY_PTO_FAST_CACHE_H

#include "pto/fast/code.h"

enum {
    TLY_PTO_CODE_ARENA = 16 << 20, /* bytes */
    TLY_PTO_CODE_BUCKETS = 1 << 14,
    TLY_PTO_CODE_MARKS = 1 << 16, /* lines that hold code */
    TLY_PTO_CODE_KEPT = 1 << 12   /* decoded instructions */
};

/* A line that holds code, and how often code in it was written over: after so many times no more
 * code is made from it, for it is data as well. */
enum { TLY_PTO_LINE_CODE = -128, TLY_PTO_LINE_COUNT = 127, TLY_PTO_LINE_MAX_LOST = 8 };

/* An instruction that the plain path executed, for the next time. */
typedef struct tly_pto_kept {
    uint64_t pc;
    uint64_t generation; /* of the code; another one: forgotten */
    tly_pto_decoded decoded;
} tly_pto_kept;

struct tly_pto_code {
    uint8_t *arena;
    size_t used;
    int8_t *lines; /* one for each TLY_PTO_GRANULE bytes of memory */
    uint64_t num_lines;
    uint64_t *marks; /* lines with TLY_PTO_LINE_CODE */
    uint32_t num_marks;
    bool lost_some; /* a line's count is not 0 */
    uint64_t generation;
    uint64_t stop_pc;
    tly_isa_release release;
    tly_pto_unit **buckets;
    tly_pto_kept *kept; /* by address, each place for one */
};

/* Room in the arena, aligned to 16 bytes; NULL when it is full. */
void *tly_pto_code_room(tly_pto_code *code, size_t len);

/* Whether code may be made from these bytes of memory. */
bool tly_pto_code_stable(const tly_pto_code *code, uint64_t address, uint64_t len);

/* Notes that code was made from them. Returns false when there is no room for the note. */
bool tly_pto_code_mark(tly_pto_code *code, uint64_t address, uint64_t len);

/* fast/translate.c: makes a unit and its parts in the arena; NULL as tly_pto_code_find, or when the
 * arena is full (*out_full). */
tly_pto_unit *tly_pto_translate(tly_pto_machine *machine, uint64_t pc, uint32_t mode,
                                bool *out_full);

#endif
