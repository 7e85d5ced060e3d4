/* SPDX-License-Identifier: Apache-2.0 */
/* Included once for each width: NAME(op) is a function, BITS and SIGNED integers of that width, and
 * WIDTH their bits. */

/* A number's bits, whose order as signed integers is that of the numbers, -0 below +0: negative
 * ones have all bits but the sign turned over. The same again gives the bits back. */
static inline SIGNED NAME(order)(BITS bits) {
    return (SIGNED)(bits ^ (BITS)((BITS)((SIGNED)bits >> (WIDTH - 1)) >> 1));
}

static inline int NAME(is_nan)(BITS bits, BITS largest) {
    return (BITS)(bits & (BITS)((BITS) ~(BITS)0 >> 1)) > largest;
}

/* Where one is NaN the other, where both are the canonical one. */
static inline BITS NAME(choose)(bool maximum, BITS a, BITS b, BITS largest, BITS nan) {
    int a_nan = NAME(is_nan)(a, largest), b_nan = NAME(is_nan)(b, largest);
    bool first = maximum ? NAME(order)(a) >= NAME(order)(b) : NAME(order)(a) <= NAME(order)(b);
    BITS chosen = first ? a : b;
    chosen = b_nan ? a : chosen;
    chosen = a_nan ? b : chosen;
    return (a_nan & b_nan) ? nan : chosen;
}

static inline BITS NAME(signals)(BITS bits, BITS largest, BITS quiet) {
    return NAME(is_nan)(bits, largest) ? (BITS)(~bits & quiet) : 0;
}

/* `maximum` and `broadcast` are constants where this is inlined. */
static inline __attribute__((always_inline)) bool NAME(extremes)(bool maximum, bool broadcast,
                                                                 const special_bits *s,
                                                                 const BITS *a, const BITS *b,
                                                                 BITS *out, size_t count) {
    const BITS largest = (BITS)s->largest, nan = (BITS)s->nan, quiet = (BITS)s->quiet;
    const BITS one = b[0];
    BITS raised = 0;
    for (size_t i = 0; i < count; i++) {
        BITS x = a[i], y = broadcast ? one : b[i];
        raised |= NAME(signals)(x, largest, quiet) | NAME(signals)(y, largest, quiet);
        out[i] = NAME(choose)(maximum, x, y, largest, nan);
    }
    return raised != 0;
}

static bool NAME(binary)(bool maximum, const special_bits *s, const tly_pto_binary_rows *rows) {
    bool raised = false;
    for (size_t i = 0; i < rows->num_rows; i++) {
        const BITS *a = (const BITS *)(const void *)((const char *)rows->left + //
                                                     i * rows->left_stride);
        const BITS *b =
            (const BITS *)(const void *)((const char *)rows->right + i * rows->right_stride);
        BITS *out = (BITS *)(void *)((char *)rows->out + i * rows->out_stride);
        size_t count = rows->count;
        if (rows->broadcast) {
            raised |= maximum ? NAME(extremes)(true, true, s, a, b, out, count)
                              : NAME(extremes)(false, true, s, a, b, out, count);
        } else {
            raised |= maximum ? NAME(extremes)(true, false, s, a, b, out, count)
                              : NAME(extremes)(false, false, s, a, b, out, count);
        }
    }
    return raised;
}

static bool NAME(unary)(tly_pto_tile_unary op, const special_bits *s, const BITS *value, BITS *out,
                        size_t count) {
    const BITS largest = (BITS)s->largest, nan = (BITS)s->nan, quiet = (BITS)s->quiet;
    const BITS sign = (BITS)((BITS)1 << (WIDTH - 1));
    BITS raised = 0;
    switch (op) {
    case TLY_PTO_TILE_ABS:
        for (size_t i = 0; i < count; i++) {
            out[i] = (BITS)(value[i] & (BITS)~sign);
        }
        break;
    case TLY_PTO_TILE_NEG:
        for (size_t i = 0; i < count; i++) {
            out[i] = (BITS)(value[i] ^ sign);
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            BITS x = value[i];
            raised |= NAME(signals)(x, largest, quiet);
            x = (x & sign) != 0 && !NAME(is_nan)(x, largest) ? 0 : x;
            out[i] = NAME(is_nan)(x, largest) ? nan : x;
        }
        break;
    }
    return raised != 0;
}

static bool NAME(extreme)(bool maximum, const special_bits *s, const BITS *value, size_t count,
                          uint64_t *out_value) {
    const BITS largest = (BITS)s->largest;
    const SIGNED turn = maximum ? 0 : (SIGNED)-1; /* the smallest is the largest turned over */
    SIGNED best = (SIGNED)(NAME(order)(value[0]) ^ turn), top = 0;
    for (size_t i = 0; i < count; i++) {
        SIGNED x = (SIGNED)(NAME(order)(value[i]) ^ turn);
        SIGNED magnitude = (SIGNED)(value[i] & (BITS)((BITS) ~(BITS)0 >> 1));
        best = x > best ? x : best;
        top = magnitude > top ? magnitude : top;
    }
    *out_value = (BITS)NAME(order)((BITS)(best ^ turn));
    return (BITS)top <= largest;
}

/* Which of less, equal and greater it is, as bits 0, 1 and 2 of a byte; bit 3 if one is NaN. */
static bool NAME(compare)(const special_bits *s, const BITS *a, const BITS *b, bool broadcast,
                          uint8_t *out, size_t count) {
    const BITS largest = (BITS)s->largest, quiet = (BITS)s->quiet, one = b[0];
    BITS raised = 0;
    for (size_t i = 0; i < count; i++) {
        BITS x = a[i], y = broadcast ? one : b[i];
        int nan = NAME(is_nan)(x, largest) | NAME(is_nan)(y, largest);
        bool equal = (x == y) | ((BITS)((BITS)(x | y) << 1) == 0);
        bool less = NAME(order)(x) < NAME(order)(y);
        raised |= NAME(signals)(x, largest, quiet) | NAME(signals)(y, largest, quiet);
        out[i] = nan ? TLY_PTO_ORDER_NONE
                     : (equal ? TLY_PTO_ORDER_EQUAL
                              : (less ? TLY_PTO_ORDER_LESS : TLY_PTO_ORDER_GREATER));
    }
    return raised != 0;
}
