/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a scalar instruction by what they are for. Selectors of registers are those of
 * pto/registers.h. */
#ifndef TLY_PTO_SCALAR_OPERANDS_H
#define TLY_PTO_SCALAR_OPERANDS_H

#include "isa/table.h"
#include "pto/registers.h"

/* What a form has no field for is 0; compressed forms name T#1 and the push of T without a field.
 */
typedef struct tly_pto_operands {
    uint16_t form;
    uint8_t len; /* bytes */
    uint8_t destination;
    uint8_t second_destination;
    uint8_t left;
    uint8_t right;
    uint8_t third;
    uint8_t fourth;
    uint8_t modifier;
    uint8_t shift;
    uint8_t order;  /* tly_pto_order */
    bool has_shift; /* whether the form has these fields */
    bool has_third;
    uint32_t extra;
    int64_t immediate;
} tly_pto_operands;

void tly_pto_operands_of(const tly_isa_insn *insn, tly_pto_operands *out_operands);

/* Whether all sources that the form reads hold a value; *out_selector gets one that does not. T#1
 * of C.CMP is not looked at: the specification reads what is there. */
bool tly_pto_sources_valid(const tly_pto_machine *machine, const tly_pto_operands *operands,
                           uint32_t *out_selector);

#endif
