/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of predecoded code, its index, and which lines of memory code was made from. */
#ifndef TLY_PTO_FAST_CACHE_H
#define TLY_PTO_FAST_CACHE_H

#include "pto/fast/code.h"

enum {
    TLY_PTO_CODE_ARENA = 16 << 20, /* bytes */
    TLY_PTO_CODE_BUCKETS = 1 << 14,
    TLY_PTO_CODE_MARKS = 1 << 16, /* lines that hold code */
    TLY_PTO_CODE_NOTES = 1 << 16,
    TLY_PTO_CODE_KEPT = 1 << 12 /* decoded instructions */
};

/* What a line holds, and how often code in it was written over: after so many times no more code is
 * made from it, for it is data as well. LEAVE stands wherever one of the three below it does. */
enum {
    TLY_PTO_LINE_LEAVE = 0x80,    /* predecoded stores go to the plain path */
    TLY_PTO_LINE_CODE = 0x40,     /* code was made from it */
    TLY_PTO_LINE_SEEN = 0x20,     /* another element's code was (pto/team.h) */
    TLY_PTO_LINE_RESERVED = 0x10, /* another element has a reservation there */
    TLY_PTO_LINE_COUNT = 0x0F,
    TLY_PTO_LINE_MAX_LOST = 8
};

/* An instruction that the plain path executed, for the next time. */
typedef struct tly_pto_kept {
    uint64_t pc;
    uint64_t generation; /* of the code; another one: forgotten */
    tly_pto_decoded decoded;
} tly_pto_kept;

/* An instruction that code was made from: elements of a team may write to each other's code while
 * they run, so each compares what it read with memory when they have stopped. */
typedef struct tly_pto_note {
    uint64_t pc;
    uint64_t word;
} tly_pto_note;

struct tly_pto_code {
    uint8_t *arena;
    size_t used;
    int8_t *lines; /* one for each TLY_PTO_GRANULE bytes of memory */
    uint64_t num_lines;
    uint64_t *marks; /* lines with TLY_PTO_LINE_CODE */
    uint32_t num_marks;
    uint32_t num_notes;
    uint32_t num_confirmed; /* notes that were compared */
    tly_pto_note *notes;    /* NULL: nobody else writes */
    uint64_t noted_first;   /* bytes that the notes are of, and no more than a few others */
    uint64_t noted_end;
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

/* Notes that code was made from them: from the instruction `word`. Returns false when there is no
 * room for the note. */
bool tly_pto_code_mark(tly_pto_code *code, uint64_t address, uint64_t len, uint64_t word);

/* fast/translate.c: makes a unit and its parts in the arena; NULL as tly_pto_code_find, or when the
 * arena is full (*out_full). */
tly_pto_unit *tly_pto_translate(tly_pto_machine *machine, uint64_t pc, uint32_t mode,
                                bool *out_full);

#endif
