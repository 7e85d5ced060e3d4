/* SPDX-License-Identifier: Apache-2.0 */
/* What is on offer and to whom: catalogue and access rules. A server has one at a time; what was
 * begun under an older one ends under it. Counted on the loop's thread only. */
#ifndef TLY_SERVE_OFFER_H
#define TLY_SERVE_OFFER_H

#include "serve/access.h"
#include "serve/catalogue.h"

typedef struct serve_offer {
    const tly_context *context;
    uint32_t refs;
    const tly_catalogue *catalogue;
    const tly_access *access;     /* NULL: everybody may do everything */
    tly_catalogue *own_catalogue; /* freed with it; NULL: the caller's */
    tly_access *own_access;
} serve_offer;

/* With one reference; NULL without memory. */
serve_offer *tly_offer_new(const tly_context *context, const tly_catalogue *catalogue,
                           const tly_access *access);
serve_offer *tly_offer_hold(serve_offer *offer);
void tly_offer_drop(serve_offer *offer); /* NULL is allowed */

#endif
