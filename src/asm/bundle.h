/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle as a whole: what was bound and set between its start and its end, against what its
 * operation takes. The machine refuses these at run time; the assembler warns. */
#ifndef TLY_ASM_BUNDLE_H
#define TLY_ASM_BUNDLE_H

#include <stdint.h>

#include <tilery/isa.h>

typedef struct tly_bundle {
    int open;
    const tly_isa_tileop *op; /* NULL: a scalar block, or a start without a known operation */
    uint32_t line;            /* of the start */
    uint32_t dtype;
    uint32_t sources;
    uint32_t destinations;
    uint32_t binders; /* B.IOT and B.IOS */
    uint32_t last;    /* a binder said so */
} tly_bundle;

/* Receives a warning: rule and sentence. */
typedef void (*tly_bundle_warn_fn)(void *user, const char *rule, const char *message);

/* The next instruction of a section. */
void tly_bundle_step(tly_bundle *bundle, const tly_isa_insn *insn, uint32_t line,
                     tly_bundle_warn_fn warn, void *user);

/* The section ends. */
void tly_bundle_end(tly_bundle *bundle, tly_bundle_warn_fn warn, void *user);

#endif
