/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of single FP32 elements, exact integer arithmetic that is rounded once: every operand.
 */
#include "every_operand.h"

static bool check_block(worker *w, const uint32_t *operands, const answer *wanted) {
    for (uint32_t i = 0; i < BLOCK; i++) {
        answer got = {0, 0};
        got.bits = (uint32_t)tly_pto_element_unary(ieee, w->run->op, TLY_PTO_FP32, operands[i],
                                                   &got.flags);
        if (!agrees(w, "by itself", operands[i], got, wanted[i])) {
            return false;
        }
    }
    return true;
}

int main(void) {
    return run_every_operand();
}
