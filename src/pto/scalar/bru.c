/* SPDX-License-Identifier: Apache-2.0 */
/* Jumps, return addresses and targets of blocks (asl/scalar/model/bru/semantics). */
#include "pto/fault.h"
#include "pto/scalar/scalar.h"
#include "pto/scalar/values.h"

bool tly_pto_bru_jump(tly_pto_machine *m, const tly_pto_operands *o) {
    m->core.context.tpc += (uint64_t)o->immediate << 1;
    return true;
}

bool tly_pto_bru_jump_register(tly_pto_machine *m, const tly_pto_operands *o) {
    uint64_t target = tly_pto_read_source(m, o->left) + ((uint64_t)o->immediate << 1);
    if ((target & 1) != 0) {
        return tly_pto_raise(m, TLY_PTO_FAULT_INSTRUCTION_PC, target, TLY_PTO_RULE_ODD_TARGET,
                             target, 0, 0, 0);
    }
    m->core.context.tpc = target;
    return true;
}

bool tly_pto_bru_set_return(tly_pto_machine *m, const tly_pto_operands *o) {
    uint64_t target = m->core.context.tpc + ((uint64_t)o->immediate << 1);
    tly_pto_write_gpr(m, TLY_PTO_RA, target);
    m->core.context.return_address = target;
    return true;
}

bool tly_pto_bru_set_target(tly_pto_machine *m, const tly_pto_operands *o) {
    m->core.context.barg.bpcn = tly_pto_read_source(m, o->left);
    if (o->form == TLY_FORM_C_SETC_TGT) {
        m->core.context.header.commit_target_set = true;
    }
    return true;
}
