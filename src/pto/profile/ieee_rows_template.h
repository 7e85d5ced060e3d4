/* SPDX-License-Identifier: Apache-2.0 */
/* Included once for each level and type: NAME(op) is a function, NUMBER a type, NAN_BITS the
 * canonical NaN. Host arithmetic rounds to nearest even and keeps subnormal numbers; what it cannot
 * be trusted with is which NaN comes out. */

static inline NUMBER NAME(quiet)(NUMBER value) {
    const BITS canonical = NAN_BITS;
    NUMBER nan;
    memcpy(&nan, &canonical, sizeof nan);
    return value != value ? nan : value;
}

void NAME(tly_pto_ieee_binary)(tly_pto_tile_binary op, const void *left, const void *right,
                               void *out, size_t count) {
    const NUMBER *a = left, *b = right;
    NUMBER *restrict c = out;
    switch (op) {
    case TLY_PTO_TILE_ADD:
        for (size_t i = 0; i < count; i++) {
            c[i] = NAME(quiet)(a[i] + b[i]);
        }
        break;
    case TLY_PTO_TILE_SUB:
        for (size_t i = 0; i < count; i++) {
            c[i] = NAME(quiet)(a[i] - b[i]);
        }
        break;
    case TLY_PTO_TILE_MUL:
        for (size_t i = 0; i < count; i++) {
            c[i] = NAME(quiet)(a[i] * b[i]);
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            c[i] = NAME(quiet)(a[i] / b[i]);
        }
        break;
    }
}
