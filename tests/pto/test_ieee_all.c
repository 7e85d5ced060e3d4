/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of functions of FP32, as tiles go through them: every operand at every level of vector code.
 */
#include "every_operand.h"

enum { ALONE = 16 };

static tly_simd best; /* level of this processor */

/* Rows of one level: the whole block, whose flags are those of all its operands, and single
 * operands: some of all, and those whose neighbour raises other flags. A level without the row is
 * done. */
static bool check_rows(worker *w, tly_simd level, const uint32_t *operands, const answer *wanted) {
    const run *r = w->run;
    uint32_t out[BLOCK];
    uint8_t flags = 0, all = 0;
    if (!ieee->unary_row(level, r->op, TLY_PTO_FP32, operands, out, BLOCK, &flags)) {
        return true;
    }
    for (uint32_t i = 0; i < BLOCK; i++) {
        all |= wanted[i].flags;
        if (out[i] != wanted[i].bits &&
            !agrees(w, "in a row", operands[i], (answer){out[i], wanted[i].flags}, wanted[i])) {
            return false;
        }
    }
    if (!agrees(w, "flags of a row from it on", operands[0], (answer){out[0], flags},
                (answer){wanted[0].bits, all})) {
        return false;
    }
    for (uint32_t i = 0; i < BLOCK; i++) {
        bool turns = (i > 0 && wanted[i].flags != wanted[i - 1].flags) ||
                     (i + 1 < BLOCK && wanted[i].flags != wanted[i + 1].flags);
        if (turns || i % ALONE == r->any % ALONE) {
            answer got = {0, 0};
            ieee->unary_row(level, r->op, TLY_PTO_FP32, &operands[i], &got.bits, 1, &got.flags);
            if (!agrees(w, "alone", operands[i], got, wanted[i])) {
                return false;
            }
        }
    }
    return true;
}

static bool check_block(worker *w, const uint32_t *operands, const answer *wanted) {
    for (int level = TLY_SIMD_PORTABLE; level <= (int)best; level++) {
        if (!check_rows(w, (tly_simd)level, operands, wanted)) {
            return false;
        }
    }
    return true;
}

int main(void) {
    tly_context *context = NULL;
    if (tly_context_new(NULL, &context, NULL) != TLY_OK) {
        return 1;
    }
    best = tly_context_simd(context);
    tly_context_free(context);
    return run_every_operand();
}
