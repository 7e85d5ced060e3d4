/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar operands: 0..23 are general registers of the current processing element, 24..27 are
 * t#1..t#4 and 28..31 u#1..u#4 as sources; as destinations 30 pushes u, 31 pushes t, 24..29
 * discard (asl/scalar/model/types/operands). */
#ifndef TLY_PTO_REGISTERS_H
#define TLY_PTO_REGISTERS_H

#include "pto/machine.h"

enum { TLY_PTO_SELECTOR_T = 24, TLY_PTO_SELECTOR_U = 28, TLY_PTO_PUSH_U = 30, TLY_PTO_PUSH_T = 31 };

/* R0 is never written, so that reading it needs no test. */
static inline uint64_t tly_pto_read_gpr(const tly_pto_machine *m, uint32_t index) {
    return m->core.gprs[m->core.current_pe][index];
}

static inline void tly_pto_write_gpr(tly_pto_machine *m, uint32_t index, uint64_t value) {
    if (index != 0) {
        m->core.gprs[m->core.current_pe][index] = value;
    }
}

static inline void tly_pto_push_queue(uint64_t *queue, bool *valid, uint64_t value) {
    for (uint32_t i = TLY_PTO_QUEUE_DEPTH - 1; i > 0; i--) {
        queue[i] = queue[i - 1];
        valid[i] = valid[i - 1];
    }
    queue[0] = value;
    valid[0] = true;
}

static inline void tly_pto_push_t(tly_pto_machine *m, uint64_t value) {
    tly_pto_push_queue(m->core.context.t_queue, m->core.context.t_queue_valid, value);
}

static inline void tly_pto_push_u(tly_pto_machine *m, uint64_t value) {
    tly_pto_push_queue(m->core.context.u_queue, m->core.context.u_queue_valid, value);
}

/* Whether a source holds a value: general registers always do. */
static inline bool tly_pto_source_available(const tly_pto_machine *m, uint32_t selector) {
    if (selector < TLY_PTO_SELECTOR_T) {
        return true;
    }
    return selector < TLY_PTO_SELECTOR_U
               ? m->core.context.t_queue_valid[selector - TLY_PTO_SELECTOR_T]
               : m->core.context.u_queue_valid[selector - TLY_PTO_SELECTOR_U];
}

static inline uint64_t tly_pto_read_source(const tly_pto_machine *m, uint32_t selector) {
    if (selector < TLY_PTO_SELECTOR_T) {
        return tly_pto_read_gpr(m, selector);
    }
    return selector < TLY_PTO_SELECTOR_U ? m->core.context.t_queue[selector - TLY_PTO_SELECTOR_T]
                                         : m->core.context.u_queue[selector - TLY_PTO_SELECTOR_U];
}

static inline void tly_pto_write_destination(tly_pto_machine *m, uint32_t selector,
                                             uint64_t value) {
    if (selector < TLY_PTO_SELECTOR_T) {
        tly_pto_write_gpr(m, selector, value);
    } else if (selector == TLY_PTO_PUSH_T) {
        tly_pto_push_t(m, value);
    } else if (selector == TLY_PTO_PUSH_U) {
        tly_pto_push_u(m, value);
    }
}

#endif
