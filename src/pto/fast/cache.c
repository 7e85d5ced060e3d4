/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/fast/cache.h"

#include <string.h>
#include <sys/mman.h>

#include "base/context.h"
#include "base/error.h"
#include "pto/block/command.h"
#include "pto/fault.h"
#include "pto/run.h"

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

void tly_pto_code_free(const tly_context *context, tly_pto_code *code) {
    if (code == NULL) {
        return;
    }
    release(code->arena, TLY_PTO_CODE_ARENA);
    release(code->lines, (size_t)code->num_lines);
    release(code->marks, marks_len);
    release(code->buckets, buckets_len);
    release(code->kept, kept_len);
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

void tly_pto_code_flush(tly_pto_code *code) {
    for (uint32_t i = 0; i < code->num_marks; i++) {
        code->lines[code->marks[i]] &= TLY_PTO_LINE_COUNT;
    }
    forget_units(code);
    code->num_marks = 0;
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
        if (code->lines[line] < 0) {
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
            *line = (int8_t)(TLY_PTO_LINE_CODE | (count + 1));
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

bool tly_pto_code_mark(tly_pto_code *code, uint64_t address, uint64_t len) {
    for (uint64_t line = address / TLY_PTO_GRANULE; line <= (address + len - 1) / TLY_PTO_GRANULE;
         line++) {
        if (code->lines[line] >= 0) {
            if (code->num_marks == TLY_PTO_CODE_MARKS) {
                return false;
            }
            code->marks[code->num_marks++] = line;
            code->lines[line] = (int8_t)(code->lines[line] | TLY_PTO_LINE_CODE);
        }
    }
    return true;
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
    if (!tly_pto_code_stable(code, pc, bits / 8) || !tly_pto_code_mark(code, pc, bits / 8)) {
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
    return tly_pto_execute_command(m, &decoded->insn, decoded->command);
}

bool tly_pto_run_tile_blocks(tly_pto_machine *m, uint64_t *left, bool *out_refused) {
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
