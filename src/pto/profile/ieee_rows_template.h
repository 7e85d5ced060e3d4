/* SPDX-License-Identifier: Apache-2.0 */
/* Included once for each level and type: NAME(op) is a function, NUMBER a type, BITS and SIGNED
 * integers of its size, NAN_BITS the canonical NaN. Host arithmetic rounds to nearest even and
 * keeps subnormal numbers; what it cannot be trusted with is which NaN comes out. */

static inline NUMBER NAME(quiet)(NUMBER value) {
    const BITS canonical = NAN_BITS;
    NUMBER nan;
    memcpy(&nan, &canonical, sizeof nan);
    return value != value ? nan : value;
}

/* An integer in the order of the numbers, -0 below +0: negative ones have all bits but the sign
 * turned over. */
static inline SIGNED NAME(order)(NUMBER value) {
    SIGNED bits;
    memcpy(&bits, &value, sizeof bits);
    return bits ^ (SIGNED)((BITS)(bits >> (8 * sizeof(SIGNED) - 1)) >> 1);
}

/* Where one is NaN the other; it is the comparison with itself that raises INVALID if it signals.
 */
static inline NUMBER NAME(choose)(int is_a, NUMBER a, NUMBER b) {
    NUMBER chosen = is_a ? a : b;
    chosen = b != b ? a : chosen;
    return a != a ? b : chosen;
}

static inline NUMBER NAME(larger)(NUMBER a, NUMBER b) {
    return NAME(choose)(NAME(order)(a) >= NAME(order)(b), a, b);
}

static inline NUMBER NAME(smaller)(NUMBER a, NUMBER b) {
    return NAME(choose)(NAME(order)(a) <= NAME(order)(b), a, b);
}

#define ROW(VALUE)                                                                                 \
    for (size_t i = 0; i < count; i++) {                                                           \
        c[i] = NAME(quiet)(VALUE);                                                                 \
    }                                                                                              \
    break

static inline void NAME(row)(tly_pto_tile_binary op, const NUMBER *a, const NUMBER *b, NUMBER *out,
                             size_t count) {
    NUMBER *restrict c = out;
    switch (op) {
    case TLY_PTO_TILE_ADD:
        ROW(a[i] + b[i]);
    case TLY_PTO_TILE_SUB:
        ROW(a[i] - b[i]);
    case TLY_PTO_TILE_MUL:
        ROW(a[i] * b[i]);
    case TLY_PTO_TILE_MAX:
        ROW(NAME(larger)(a[i], b[i]));
    case TLY_PTO_TILE_MIN:
        ROW(NAME(smaller)(a[i], b[i]));
    default:
        ROW(a[i] / b[i]);
    }
}

static inline void NAME(row_with_one)(tly_pto_tile_binary op, const NUMBER *a, NUMBER b,
                                      NUMBER *out, size_t count) {
    NUMBER *restrict c = out;
    switch (op) {
    case TLY_PTO_TILE_ADD:
        ROW(a[i] + b);
    case TLY_PTO_TILE_SUB:
        ROW(a[i] - b);
    case TLY_PTO_TILE_MUL:
        ROW(a[i] * b);
    case TLY_PTO_TILE_MAX:
        ROW(NAME(larger)(a[i], b));
    case TLY_PTO_TILE_MIN:
        ROW(NAME(smaller)(a[i], b));
    default:
        ROW(a[i] / b);
    }
}

void NAME(tly_pto_ieee_binary)(tly_pto_tile_binary op, const tly_pto_binary_rows *rows) {
    for (size_t i = 0; i < rows->num_rows; i++) {
        const NUMBER *a = (const NUMBER *)((const char *)rows->left + i * rows->left_stride);
        const NUMBER *b = (const NUMBER *)((const char *)rows->right + i * rows->right_stride);
        NUMBER *c = (NUMBER *)((char *)rows->out + i * rows->out_stride);
        if (rows->broadcast) {
            NAME(row_with_one)(op, a, *b, c, rows->count);
        } else {
            NAME(row)(op, a, b, c, rows->count);
        }
    }
}

#undef ROW
