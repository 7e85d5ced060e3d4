/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions an element of a team may not execute while the others run: those that reach
 * what all of them share and the architecture orders (docs/internals/pto.md, "Several elements").
 */
#ifndef TLY_PTO_TURN_H
#define TLY_PTO_TURN_H

#include "isa/table.h"
#include "pto/exec.h"
#include "pto/machine.h"

typedef enum tly_pto_turn {
    TLY_PTO_TURN_NONE,   /* it needs nobody */
    TLY_PTO_TURN_MEMORY, /* atomic accesses, reservations, fences, ordered blocks */
    TLY_PTO_TURN_QUEUES, /* general queues */
    TLY_PTO_TURN_TILES   /* shared tiles, peers: together with the other elements of its mask */
} tly_pto_turn;

/* Scalar forms whose every execution is a turn. */
static inline bool tly_pto_takes_turn(const tly_isa_form_row *form) {
    switch (form->handler) {
    case TLY_HANDLER_LOAD_RESERVED:
    case TLY_HANDLER_STORE_CONDITIONAL:
    case TLY_HANDLER_ATOMIC_READ_MODIFY_WRITE:
    case TLY_HANDLER_COMPARE_AND_SWAP:
    case TLY_HANDLER_FENCE_DATA:
    case TLY_HANDLER_FENCE_INSTRUCTION:
        return true;
    default:
        return false;
    }
}

/* What the instruction needs in the state that the machine is in; `out_mask` gets the elements that
 * a turn of tiles is for. */
tly_pto_turn tly_pto_turn_of(const tly_pto_machine *machine, const tly_pto_decoded *decoded,
                             uint32_t *out_mask);

static inline bool tly_pto_is_turn(const tly_pto_machine *m, const tly_pto_decoded *decoded) {
    uint32_t mask;
    return tly_pto_turn_of(m, decoded, &mask) != TLY_PTO_TURN_NONE;
}

#endif
