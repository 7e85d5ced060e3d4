/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/offer.h"

#include "base/context.h"

serve_offer *tly_offer_new(const tly_context *context, const tly_catalogue *catalogue,
                           const tly_access *access) {
    serve_offer *offer = tly_base_calloc(context, sizeof *offer, _Alignof(serve_offer));
    if (offer != NULL) {
        offer->context = context;
        offer->refs = 1;
        offer->catalogue = catalogue;
        offer->access = access;
    }
    return offer;
}

serve_offer *tly_offer_hold(serve_offer *offer) {
    offer->refs++;
    return offer;
}

void tly_offer_drop(serve_offer *offer) {
    if (offer != NULL && --offer->refs == 0) {
        tly_catalogue_free(offer->own_catalogue);
        tly_access_free(offer->own_access);
        tly_base_free(offer->context, offer, sizeof *offer, _Alignof(serve_offer));
    }
}
