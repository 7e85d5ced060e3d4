/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/fast/cache.h"

#include <string.h>
#include <sys/mman.h>

#include "base/context.h"
#include "base/error.h"
#include "pto/block/command.h"
#include "pto/block/transfer.h"
#include "pto/fault.h"
#include "pto/run.h"
#include "pto/turn.h"

/* Address space that costs nothing until it is touched. */
static void *reserve(size_t len) {
    void *bytes =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

static void release(void *bytes, size_t len) {
    if (bytes != NULL) {
        munmap(bytes, len);
    }
}

static const size_t marks_len = sizeof(uint64_t) * TLY_PTO_CODE_MARKS;
static const size_t buckets_len = sizeof(tly_pto_unit *) * TLY_PTO_CODE_BUCKETS;
static const size_t kept_len = sizeof(tly_pto_kept) * TLY_PTO_CODE_KEPT;
static const size_t notes_len = sizeof(tly_pto_note) * TLY_PTO_CODE_NOTES;

void tly_pto_code_free(const tly_context *context, tly_pto_code *code) {
    if (code == NULL) {
        return;
    }
    release(code->arena, TLY_PTO_CODE_ARENA);
    release(code->lines, (size_t)code->num_lines);
    release(code->marks, marks_len);
    release(code->buckets, buckets_len);
    release(code->kept, kept_len);
    release(code->notes, notes_len);
    tly_base_free(context, code, sizeof(*code), _Alignof(tly_pto_code));
}

tly_status tly_pto_code_new(const tly_context *context, uint64_t memory_bytes,
                            tly_pto_code **out_code, tly_error *error) {
    tly_pto_code *code = tly_base_calloc(context, sizeof(*code), _Alignof(tly_pto_code));
    if (code != NULL) {
        code->num_lines = (memory_bytes - 1) / TLY_PTO_GRANULE + 1;
        code->arena = reserve(TLY_PTO_CODE_ARENA);
        code->lines = reserve((size_t)code->num_lines);
        code->marks = reserve(marks_len);
        code->buckets = reserve(buckets_len);
        code->kept = reserve(kept_len);
        code->generation = 1; /* what was never kept has 0 */
    }
    if (code == NULL || code->arena == NULL || code->lines == NULL || code->marks == NULL ||
        code->buckets == NULL || code->kept == NULL) {
        tly_pto_code_free(context, code);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "", "out of memory");
    }
    *out_code = code;
    return TLY_OK;
}

uint64_t tly_pto_code_generation(const tly_pto_code *code) {
    return code->generation;
}

const int8_t *tly_pto_code_lines(const tly_pto_code *code) {
    return code->lines;
}

static void forget_units(tly_pto_code *code) {
    if (code->used != 0) {
        memset(code->buckets, 0, buckets_len);
        code->used = 0;
    }
}

/* Kept instructions end nowhere, and stay. */
void tly_pto_code_set_stop(tly_pto_code *code, uint64_t stop_pc) {
    if (code->stop_pc != stop_pc) {
        forget_units(code);
        code->stop_pc = stop_pc;
    }
}

static void clear_line(tly_pto_code *code, uint64_t line, uint32_t what) {
    uint32_t rest = (uint8_t)code->lines[line] & ~what & ~(uint32_t)TLY_PTO_LINE_LEAVE;
    code->lines[line] = (int8_t)(rest > TLY_PTO_LINE_COUNT ? rest | TLY_PTO_LINE_LEAVE : rest);
}

static void set_line(tly_pto_code *code, uint64_t line, uint32_t what) {
    code->lines[line] = (int8_t)((uint8_t)code->lines[line] | what | TLY_PTO_LINE_LEAVE);
}

static bool is_code(const tly_pto_code *code, uint64_t line) {
    return (code->lines[line] & TLY_PTO_LINE_CODE) != 0;
}

void tly_pto_code_flush(tly_pto_code *code) {
    for (uint32_t i = 0; i < code->num_marks; i++) {
        clear_line(code, code->marks[i], TLY_PTO_LINE_CODE);
    }
    forget_units(code);
    code->num_marks = 0;
    code->num_notes = 0;
    code->num_confirmed = 0;
    code->noted_first = UINT64_MAX;
    code->noted_end = 0;
    code->generation++;
}

void tly_pto_code_reset(tly_pto_code *code) {
    tly_pto_code_flush(code);
    if (code->lost_some) {
        madvise(code->lines, (size_t)code->num_lines, MADV_DONTNEED);
        code->lost_some = false;
    }
}

static bool holds_code(const tly_pto_code *code, uint64_t first, uint64_t last) {
    if (last - first >= code->num_marks) { /* fewer marks than lines */
        for (uint32_t i = 0; i < code->num_marks; i++) {
            if (code->marks[i] >= first && code->marks[i] <= last) {
                return true;
            }
        }
        return false;
    }
    for (uint64_t line = first; line <= last; line++) {
        if (is_code(code, line)) {
            return true;
        }
    }
    return false;
}

void tly_pto_code_wrote(tly_pto_code *code, uint64_t address, uint64_t len, bool by_guest) {
    uint64_t first = address / TLY_PTO_GRANULE;
    uint64_t last = (address + len - 1) / TLY_PTO_GRANULE;
    if (len == 0 || code->num_marks == 0 || !holds_code(code, first, last)) {
        return;
    }
    for (uint32_t i = 0; by_guest && i < code->num_marks; i++) {
        int8_t *line = &code->lines[code->marks[i]];
        uint32_t count = *line & TLY_PTO_LINE_COUNT;
        if (code->marks[i] >= first && code->marks[i] <= last && count < TLY_PTO_LINE_MAX_LOST) {
            *line = (int8_t)(*line + 1);
            code->lost_some = true;
        }
    }
    tly_pto_code_flush(code);
}

void *tly_pto_code_room(tly_pto_code *code, size_t len) {
    size_t rounded = (len + 15) & ~(size_t)15;
    if (rounded > TLY_PTO_CODE_ARENA - code->used) {
        return NULL;
    }
    void *room = code->arena + code->used;
    code->used += rounded;
    return room;
}

bool tly_pto_code_stable(const tly_pto_code *code, uint64_t address, uint64_t len) {
    for (uint64_t line = address / TLY_PTO_GRANULE; line <= (address + len - 1) / TLY_PTO_GRANULE;
         line++) {
        if ((code->lines[line] & TLY_PTO_LINE_COUNT) >= TLY_PTO_LINE_MAX_LOST) {
            return false;
        }
    }
    return true;
}

static bool note(tly_pto_code *code, uint64_t pc, uint64_t word) {
    if (code->num_notes == TLY_PTO_CODE_NOTES) {
        return false;
    }
    code->notes[code->num_notes++] = (tly_pto_note){pc, word};
    code->noted_first = pc < code->noted_first ? pc : code->noted_first;
    code->noted_end = pc + 8 > code->noted_end ? pc + 8 : code->noted_end;
    return true;
}

bool tly_pto_code_mark(tly_pto_code *code, uint64_t address, uint64_t len, uint64_t word) {
    if (code->notes != NULL && !note(code, address, word)) {
        return false;
    }
    for (uint64_t line = address / TLY_PTO_GRANULE; line <= (address + len - 1) / TLY_PTO_GRANULE;
         line++) {
        if (!is_code(code, line)) {
            if (code->num_marks == TLY_PTO_CODE_MARKS) {
                return false;
            }
            code->marks[code->num_marks++] = line;
            set_line(code, line, TLY_PTO_LINE_CODE);
        }
    }
    return true;
}

tly_status tly_pto_code_take_notes(tly_pto_code *code, tly_error *error) {
    code->notes = reserve(notes_len);
    return code->notes != NULL ? TLY_OK
                               : tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "", "out of memory");
}

bool tly_pto_code_confirm(tly_pto_machine *m, bool all, uint32_t *out_first) {
    tly_pto_code *code = m->code;
    *out_first = code->num_confirmed;
    for (uint32_t i = all ? 0 : code->num_confirmed; i < code->num_notes; i++) {
        uint64_t word = ~code->notes[i].word;
        if (tly_pto_fetch(m, code->notes[i].pc, &word) == 0 || word != code->notes[i].word) {
            tly_pto_code_flush(code);
            return false;
        }
    }
    code->num_confirmed = code->num_notes;
    return true;
}

void tly_pto_code_noted(const tly_pto_code *code, uint64_t *out_first, uint64_t *out_end) {
    *out_first = code->noted_first;
    *out_end = code->noted_end;
}

void tly_pto_code_see(tly_pto_code *code, const tly_pto_code *other, uint32_t first) {
    for (uint32_t i = first; i < other->num_notes; i++) {
        const tly_pto_note *n = &other->notes[i];
        uint64_t last = n->pc + tly_isa_length((uint16_t)n->word, (uint16_t)(n->word >> 16)) - 1;
        set_line(code, n->pc / TLY_PTO_GRANULE, TLY_PTO_LINE_SEEN);
        set_line(code, last / TLY_PTO_GRANULE, TLY_PTO_LINE_SEEN);
        code->lost_some = true; /* a reset has lines to forget */
    }
}

void tly_pto_code_reserve_line(tly_pto_code *code, uint64_t line, bool reserved) {
    if (reserved) {
        set_line(code, line, TLY_PTO_LINE_RESERVED);
        code->lost_some = true;
    } else {
        clear_line(code, line, TLY_PTO_LINE_RESERVED);
    }
}

static uint32_t bucket_of(uint64_t pc, uint32_t mode) {
    uint64_t mixed = (pc >> 1 ^ (uint64_t)mode << 24) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(mixed >> 50); /* 14 bits */
}

/* Code for another release is other code. */
static void follow_release(tly_pto_machine *m) {
    if (m->code->release != m->release) {
        tly_pto_code_flush(m->code);
        m->code->release = m->release;
    }
}

static uint32_t place_of(uint64_t pc) {
    return pc / 2 % TLY_PTO_CODE_KEPT;
}

static bool is_kept(const tly_pto_code *code, uint32_t place, uint64_t pc) {
    return code->kept[place].pc == pc && code->kept[place].generation == code->generation;
}

const tly_pto_decoded *tly_pto_code_instruction(tly_pto_machine *m, uint64_t pc,
                                                tly_pto_decoded *room) {
    tly_pto_code *code = m->code;
    tly_pto_kept *kept = &code->kept[place_of(pc)];
    uint64_t word;
    follow_release(m);
    if (is_kept(code, place_of(pc), pc)) {
        return &kept->decoded;
    }
    uint32_t bits = tly_pto_fetch(m, pc, &word);
    if (bits == 0) {
        return NULL;
    }
    if (!tly_pto_code_stable(code, pc, bits / 8) || !tly_pto_code_mark(code, pc, bits / 8, word)) {
        tly_pto_decode(m, word, bits, room);
        return room;
    }
    kept->pc = pc;
    kept->generation = code->generation;
    tly_pto_decode(m, word, bits, &kept->decoded);
    return &kept->decoded;
}

bool tly_pto_code_starts_tile(const tly_pto_code *code, uint64_t pc) {
    uint32_t place = place_of(pc);
    return is_kept(code, place, pc) && code->kept[place].decoded.starts_tile;
}

/* A command, without asking whether it is one. */
static bool execute_kept(tly_pto_machine *m, const tly_pto_decoded *decoded) {
    if (decoded->command == NULL) {
        return tly_pto_execute_decoded(m, decoded);
    }
    tly_pto_begin_attempt(m);
    if (decoded->opens_tile && !m->core.context.header.system_terminal_pending) {
        return tly_pto_start_tile_block(m, decoded->insn.len, decoded->command->start.kind,
                                        &decoded->operation);
    }
    return tly_pto_execute_command(m, &decoded->insn, decoded->command);
}

/* Twice: for machines that run for themselves, and for elements of a team, which stop before a
 * turn. */
static inline __attribute__((always_inline)) bool
run_tile_blocks(tly_pto_machine *m, uint64_t *left, bool *out_refused, bool in_team) {
    const tly_pto_code *code = m->code;
    bool inside = tly_pto_in_tile_header(m);
    uint32_t place = place_of(m->core.context.tpc);
    follow_release(m);
    while (*left != 0 && m->core.context.tpc != code->stop_pc) {
        tly_pto_decoded fresh;
        uint64_t pc = m->core.context.tpc;
        const tly_pto_decoded *decoded = &code->kept[place].decoded;
        if (!is_kept(code, place, pc)) {
            decoded = tly_pto_code_instruction(m, pc, &fresh);
            place = place_of(pc);
        }
        if (decoded == NULL || !(inside || decoded->starts_tile)) {
            return inside;
        }
        if (in_team && tly_pto_is_turn(m, decoded)) {
            return true;
        }
        --*left;
        if (!execute_kept(m, decoded)) {
            *out_refused = true;
            break;
        }
        inside = tly_pto_in_tile_header(m);
        /* most often the next one follows; waiting for TPC before looking would take longer */
        place = (place + decoded->insn.len / 2u) % TLY_PTO_CODE_KEPT;
    }
    return false;
}

bool tly_pto_run_tile_blocks(tly_pto_machine *m, uint64_t *left, bool *out_refused) {
    return run_tile_blocks(m, left, out_refused, false);
}

bool tly_pto_run_tile_blocks_apart(tly_pto_machine *m, uint64_t *left, bool *out_refused) {
    return run_tile_blocks(m, left, out_refused, true);
}

tly_pto_unit *tly_pto_code_find(tly_pto_machine *m, uint64_t pc, uint32_t mode) {
    tly_pto_code *code = m->code;
    bool full = false;
    follow_release(m);
    for (tly_pto_unit *unit = code->buckets[bucket_of(pc, mode)]; unit != NULL;
         unit = unit->next_in_bucket) {
        if (unit->pc == pc && unit->mode == mode) {
            return unit;
        }
    }
    tly_pto_unit *unit = tly_pto_translate(m, pc, mode, &full);
    if (full) {
        tly_pto_code_flush(code);
        unit = tly_pto_translate(m, pc, mode, &full);
    }
    if (unit != NULL) {
        tly_pto_unit **bucket = &code->buckets[bucket_of(pc, mode)];
        unit->next_in_bucket = *bucket;
        *bucket = unit;
    }
    return unit;
}
