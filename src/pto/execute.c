/* SPDX-License-Identifier: Apache-2.0 */
/* One word at TPC: decoded, then executed as a command or as a scalar instruction
 * (asl/arch/dispatch/top-level). Nothing is remembered; the fast path has to give the same. */
#include "isa/decode.h"
#include "pto/block/command.h"
#include "pto/block/transfer.h"
#include "pto/exec.h"
#include "pto/fault.h"

static bool is_boundary(const tly_isa_form_row *form) {
    return form->handler == TLY_HANDLER_EXECUTE_BUNDLE_START ||
           form->handler == TLY_HANDLER_EXECUTE_BUNDLE_STOP;
}

/* A command whose form does not admit one of its fields. What is no start or stop is refused
 * earlier behind a service request. */
static bool refuse_command(tly_pto_machine *m, const tly_isa_insn *insn) {
    const tly_isa_form_row *form = tly_isa_form_at(insn->form);
    if (m->core.context.header.system_terminal_pending && !is_boundary(form)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_AFTER_SERVICE_REQUEST,
                              insn->form, 0, 0, 0);
    }
    return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_FIELD, insn->word,
                          insn->len * 8u, insn->form, 0);
}

static bool starts_tile(const tly_pto_command *command) {
    return command->execute == tly_pto_start_block && command->start.klass != TLY_PTO_CLASS_CONTROL;
}

void tly_pto_decode(const tly_pto_machine *m, uint64_t word, uint32_t bits,
                    tly_pto_decoded *out_decoded) {
    tly_pto_decoded *d = out_decoded;
    d->word = word;
    d->bits = (uint8_t)bits;
    d->legal = tly_isa_decode(word, bits / 8, m->release, &d->insn, NULL) == TLY_OK;
    d->known = d->legal || tly_isa_decode_pattern(word, bits / 8, m->release, &d->insn);
    d->is_command = d->known && tly_isa_form_at(d->insn.form)->surface == TLY_ISA_COMMAND;
    d->starts_tile = d->is_command && starts_tile(tly_pto_command_of(d->insn.form));
    d->command = d->is_command && d->legal ? tly_pto_command_of(d->insn.form) : NULL;
    d->opens_tile = d->starts_tile && d->legal &&
                    tly_pto_describe_tile_start(&d->insn, d->command, &d->operation);
    if (d->known && !d->is_command) {
        tly_pto_operands_of(&d->insn, &d->operands);
    }
}

bool tly_pto_execute_decoded(tly_pto_machine *m, const tly_pto_decoded *d) {
    tly_pto_begin_attempt(m);
    if (!d->known) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_UNKNOWN_WORD,
                              d->word, d->bits, 0, 0);
    }
    if (d->is_command) {
        return d->legal ? tly_pto_execute_command(m, &d->insn, d->command)
                        : refuse_command(m, &d->insn);
    }
    return tly_pto_execute_scalar(m, d);
}

bool tly_pto_execute(tly_pto_machine *m, uint64_t word, uint32_t bits) {
    tly_pto_decoded decoded;
    tly_pto_decode(m, word, bits, &decoded);
    return tly_pto_execute_decoded(m, &decoded);
}
