/* SPDX-License-Identifier: Apache-2.0 */
/* Why an instruction was refused: a rule with a stable name, and the values that broke it. The
 * sentence is made only when somebody asks for it. */
#ifndef TLY_PTO_REASON_H
#define TLY_PTO_REASON_H

#include <stddef.h>
#include <stdint.h>

/* Rules stand in pto/rules_AREA.def, one row each: enumerator, stable name, sentence. */
typedef enum tly_pto_rule {
    TLY_PTO_RULE_NONE,
#define TLY_PTO_RULE(id, name, sentence) TLY_PTO_RULE_##id,
#include "pto/rules.def"
#undef TLY_PTO_RULE
    TLY_PTO_NUM_RULES
} tly_pto_rule;

enum { TLY_PTO_NUM_REASON_VALUES = 4 };

typedef struct tly_pto_reason {
    uint16_t rule; /* tly_pto_rule */
    uint64_t values[TLY_PTO_NUM_REASON_VALUES];
} tly_pto_reason;

/* "scalar-source-invalid"; "" for TLY_PTO_RULE_NONE and numbers that are no rule. */
const char *tly_pto_rule_name(uint32_t rule);

/* The row's sentence as it stands, with its places for values. */
const char *tly_pto_rule_sentence(uint32_t rule);

/* Writes the sentence with the values in their places, cut to `capacity` with its final zero.
 * Places: {0} decimal, {0:x} hexadecimal, {0:s} signed decimal, {0:dtype} element type,
 * {0:layout} tile layout, {0:mask} mask of processing elements, {0:op} tile operation by its
 * number, {0:form} mnemonic of a form, {0:reg} register operand. Returns the length. */
size_t tly_pto_reason_text(const tly_pto_reason *reason, char *out_text, size_t capacity);

#endif
