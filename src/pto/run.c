/* SPDX-License-Identifier: Apache-2.0 */
/* The fetch loop: predecoded units where they can be made and nobody watches, one instruction at a
 * time where not. */
#include "pto/run.h"

#include "base/bytes.h"
#include "isa/decode.h"
#include "pto/exec.h"
#include "pto/fast/code.h"
#include "pto/sysreg.h"
#include "pto/team.h"
#include "pto/turn.h"

/* The loop stands here twice: for machines that run for themselves, and for elements of a team,
 * which look whether their next instruction is a turn. */
#define BOTH static inline __attribute__((always_inline))

uint32_t tly_pto_fetch(const tly_pto_machine *m, uint64_t pc, uint64_t *out_word) {
    const tly_pto_memory *memory = &m->memory;
    uint64_t available = pc < memory->size ? memory->size - pc : 0;
    if ((pc & 1) != 0 || available < 2) {
        return 0;
    }
    const uint8_t *at = memory->bytes + pc;
    uint32_t len =
        tly_isa_length(tly_base_load_u16(at), available >= 4 ? tly_base_load_u16(at + 2) : 0);
    if (available < len) {
        return 0;
    }
    *out_word = 0;
    for (uint32_t i = 0; i < len; i += 2) {
        *out_word |= (uint64_t)tly_base_load_u16(at + i) << 8 * i;
    }
    return len * 8;
}

/* The instruction at an address, decoded; NULL where none can be fetched. */
static const tly_pto_decoded *decode_at(const tly_pto_machine *m, uint64_t pc,
                                        tly_pto_decoded *out_decoded) {
    uint64_t word;
    uint32_t bits = tly_pto_fetch(m, pc, &word);
    if (bits == 0) {
        return NULL;
    }
    tly_pto_decode(m, word, bits, out_decoded);
    return out_decoded;
}

/* A body begins at the first instruction of a STD, FP or SYS block that is no command. */
static bool begins_body(const tly_pto_machine *m, const tly_pto_decoded *decoded) {
    const tly_pto_context *c = &m->core.context;
    return c->bundle_active && !c->bundle_body_active &&
           c->barg.block_type <= TLY_PTO_KIND_SYSTEM && !decoded->is_command;
}

/* Whether a refused step ends the run: the ring that its trap entered has no vector. */
static bool unhandled(const tly_pto_machine *m) {
    return m->core.context_registers[m->core.current_acr][TLY_PTO_EVBASE] == 0;
}

/* How the run ends before the next step, if it does. */
static bool ends(const tly_pto_machine *m, const tly_pto_run_options *options, uint64_t left,
                 int32_t *out_end) {
    if (m->core.context.tpc == options->stop_pc) {
        *out_end = TLY_PTO_END_STOP;
        return true;
    }
    *out_end = TLY_PTO_END_LIMIT;
    return left == 0;
}

/* Predecoded units from TPC on. Returns whether a step of the plain path has to follow. */
BOTH bool run_units(tly_pto_machine *m, uint64_t *left, bool *out_refused, bool in_team) {
    tly_pto_fast_result result;
    uint32_t mode;
    *out_refused = false;
    if (tly_pto_in_tile_header(m) || tly_pto_code_starts_tile(m->code, m->core.context.tpc)) {
        return in_team ? tly_pto_run_tile_blocks_apart(m, left, out_refused)
                       : tly_pto_run_tile_blocks(m, left, out_refused);
    }
    if (!tly_pto_mode_of(m, &mode)) {
        return true;
    }
    tly_pto_unit *unit = tly_pto_code_find(m, m->core.context.tpc, mode);
    if (unit == NULL || unit->num_steps > *left) {
        return true;
    }
    tly_pto_fast_run(m, unit, left, &result);
    *out_refused = result.refused;
    return result.must_step;
}

/* One step of the plain path; `remember`: from the decoded instruction that is kept for its
 * address. Returns whether the run goes on. */
BOTH bool step_once(tly_pto_machine *m, const tly_pto_run_options *options, bool remember,
                    uint64_t *left, int32_t *out_end) {
    tly_pto_step step = {.pc = m->core.context.tpc};
    tly_pto_decoded fresh;
    const tly_pto_decoded *decoded =
        remember ? tly_pto_code_instruction(m, step.pc, &fresh) : decode_at(m, step.pc, &fresh);
    if (decoded == NULL) {
        *out_end = TLY_PTO_END_FETCH;
        return false;
    }
    step.word = decoded->word;
    step.bits = decoded->bits;
    step.entered_body = begins_body(m, decoded) && tly_pto_enter_body(m);
    step.executed = tly_pto_execute_decoded(m, decoded);
    --*left;
    if (options->observer != NULL && !options->observer(options->user, m, &step)) {
        *out_end = TLY_PTO_END_ASKED;
        return false;
    }
    *out_end = TLY_PTO_END_FAULT;
    return step.executed || !unhandled(m);
}

BOTH void run(tly_pto_machine *m, const tly_pto_run_options *options,
              tly_pto_run_result *out_result, bool in_team) {
    const bool plain = options->plain || options->observer != NULL || m->watch_memory != NULL ||
                       m->capture_enabled;
    uint64_t left = options->max_steps;
    if (!plain) {
        tly_pto_code_set_stop(m->code, options->stop_pc);
    }
    while (!ends(m, options, left, &out_result->end)) {
        bool refused = false;
        if (!plain && !run_units(m, &left, &refused, in_team)) {
            if (refused && unhandled(m)) {
                out_result->end = TLY_PTO_END_FAULT;
                break;
            }
            continue;
        }
        if (!plain && ends(m, options, left, &out_result->end)) {
            break;
        }
        if (in_team) {
            tly_pto_decoded fresh;
            uint64_t pc = m->core.context.tpc;
            const tly_pto_decoded *next =
                plain ? decode_at(m, pc, &fresh) : tly_pto_code_instruction(m, pc, &fresh);
            if (next != NULL && tly_pto_is_turn(m, next)) {
                out_result->end = TLY_PTO_END_TURN;
                break;
            }
        }
        if (!step_once(m, options, !plain, &left, &out_result->end)) {
            break;
        }
    }
    out_result->num_steps = options->max_steps - left;
}

void tly_pto_run(tly_pto_machine *m, const tly_pto_run_options *options,
                 tly_pto_run_result *out_result) {
    if (m->team != NULL) {
        tly_pto_team_settle(m->team);
    }
    run(m, options, out_result, false);
}

void tly_pto_run_apart(tly_pto_machine *m, const tly_pto_run_options *options,
                       tly_pto_run_result *out_result) {
    run(m, options, out_result, true);
}

tly_pto_turn tly_pto_next_turn(const tly_pto_machine *m, uint32_t *out_mask) {
    tly_pto_decoded fresh;
    const tly_pto_decoded *decoded = decode_at(m, m->core.context.tpc, &fresh);
    *out_mask = 0;
    return decoded != NULL ? tly_pto_turn_of(m, decoded, out_mask) : TLY_PTO_TURN_NONE;
}

bool tly_pto_run_turn(tly_pto_machine *m, const tly_pto_run_options *options, int32_t *out_end) {
    uint64_t left = 1;
    return step_once(m, options, false, &left, out_end);
}
