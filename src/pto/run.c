/* SPDX-License-Identifier: Apache-2.0 */
/* The fetch loop, one instruction at a time. */
#include "pto/run.h"

#include "base/bytes.h"
#include "isa/decode.h"
#include "pto/exec.h"
#include "pto/sysreg.h"

/* Reads the instruction at TPC; false if it is odd or does not lie in memory. */
static bool fetch(const tly_pto_machine *m, uint64_t pc, tly_pto_step *out_step) {
    const tly_pto_memory *memory = &m->memory;
    uint64_t available = pc < memory->size ? memory->size - pc : 0;
    if ((pc & 1) != 0 || available < 2) {
        return false;
    }
    const uint8_t *at = memory->bytes + pc;
    uint32_t len =
        tly_isa_length(tly_base_load_u16(at), available >= 4 ? tly_base_load_u16(at + 2) : 0);
    if (available < len) {
        return false;
    }
    out_step->word = 0;
    for (uint32_t i = 0; i < len; i += 2) {
        out_step->word |= (uint64_t)tly_base_load_u16(at + i) << 8 * i;
    }
    out_step->pc = pc;
    out_step->bits = (uint8_t)(len * 8);
    return true;
}

/* A body begins at the first instruction of a STD, FP or SYS block that is no command. */
static bool begins_body(const tly_pto_machine *m, const tly_pto_step *step) {
    const tly_pto_context *c = &m->core.context;
    tly_isa_insn insn;
    return c->bundle_active && !c->bundle_body_active &&
           c->barg.block_type <= TLY_PTO_KIND_SYSTEM &&
           (!tly_isa_decode_pattern(step->word, step->bits / 8u, m->release, &insn) ||
            tly_isa_form_at(insn.form)->surface != TLY_ISA_COMMAND);
}

void tly_pto_run(tly_pto_machine *m, const tly_pto_run_options *options,
                 tly_pto_run_result *out_result) {
    tly_pto_step step;
    out_result->num_steps = 0;
    for (;;) {
        if (m->core.context.tpc == options->stop_pc) {
            out_result->end = TLY_PTO_END_STOP;
            return;
        }
        if (out_result->num_steps == options->max_steps) {
            out_result->end = TLY_PTO_END_LIMIT;
            return;
        }
        if (!fetch(m, m->core.context.tpc, &step)) {
            out_result->end = TLY_PTO_END_FETCH;
            return;
        }
        step.entered_body = begins_body(m, &step) && tly_pto_enter_body(m);
        step.executed = tly_pto_execute(m, step.word, step.bits);
        out_result->num_steps++;
        if (options->observer != NULL && !options->observer(options->user, m, &step)) {
            out_result->end = TLY_PTO_END_ASKED;
            return;
        }
        if (!step.executed && m->core.context_registers[m->core.current_acr][TLY_PTO_EVBASE] == 0) {
            out_result->end = TLY_PTO_END_FAULT;
            return;
        }
    }
}
