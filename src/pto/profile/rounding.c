/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings of rounding modes (asl/scalar/model/fsu/arithmetic). */
#include "pto/profile/profile.h"

tly_pto_rounding tly_pto_scalar_rounding(uint32_t code) {
    static const uint8_t modes[8] = {TLY_PTO_ROUND_NEAREST_EVEN, TLY_PTO_ROUND_DOWN,
                                     TLY_PTO_ROUND_UP,           TLY_PTO_ROUND_ZERO,
                                     TLY_PTO_ROUND_NEAREST_EVEN, TLY_PTO_ROUND_NEAREST_EVEN,
                                     TLY_PTO_ROUND_NEAREST_EVEN, TLY_PTO_ROUND_NEAREST_EVEN};
    return (tly_pto_rounding)modes[code & 7];
}

tly_pto_rounding tly_pto_bundle_rounding(uint32_t code) {
    static const uint8_t modes[8] = {TLY_PTO_ROUND_NEAREST_EVEN, TLY_PTO_ROUND_NEAREST_EVEN,
                                     TLY_PTO_ROUND_ZERO,         TLY_PTO_ROUND_DOWN,
                                     TLY_PTO_ROUND_UP,           TLY_PTO_ROUND_NEAREST_AWAY,
                                     TLY_PTO_ROUND_ODD,          TLY_PTO_ROUND_HALF_UP};
    return (tly_pto_rounding)modes[code & 7];
}

bool tly_pto_conversion_rounding(uint32_t code, tly_pto_rounding *out_rounding) {
    static const uint8_t bundle_codes[7] = {0, 1, 5, 3, 4, 2, 6};
    bool known = code < sizeof(bundle_codes);
    *out_rounding = tly_pto_bundle_rounding(known ? bundle_codes[code] : 0);
    return known;
}
