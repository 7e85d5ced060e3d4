/* SPDX-License-Identifier: Apache-2.0 */
/* e^x of FP32, rounded correctly, as pairs of floats: one text for every width of vectors. The
 * including file defines, as macros of one operation each,
 *
 *   VECTOR, LANES
 *   LOAD(p), STORE(p, v), SET(number), ADD(a, b), SUB(a, b), MUL(a, b)
 *   FMA(a, b, c)             a * b + c, rounded once
 *   FNMA(a, b, c)            c - a * b, rounded once
 *   PICK(table, v)           the words of an aligned table of 8 that the lowest 3 bits of v choose
 *   SCALE(v, w)              the bits of v plus those of w, moved up by 20
 *   DECIDED(x, limit, a, b)  whether |x| < limit and a = b in every lane; not where there is a NaN
 *   CAREFULLY(value, out, flags)   LANES exponentials of any operands; may work in place
 *
 * x = k ln2 / 8 + r + d, where k is an integer, |r| < 0.0434 and |d| < 2^-21. r is exact: the
 * constant that k is multiplied with has 20 bits, its last one 2^-24. 2^(k/8) is a power of 24 bits
 * times e^q, and q joins d. So the result is power * e^(r + d), which is computed as high + low;
 * low is at most a little over half a unit of high, and wrong by less than LOW_ERROR times that.
 * Where this could turn the rounding, the two ends differ. */

/* Every operand is tried by tests/pto/test_ieee_all.c; 0x1.1f3p-9 would do. */
#define LOW_ERROR 0x1.2p-9f

/* Far beyond it low would be subnormal, and lose bits. */
#define EASY_LIMIT 75.0f

/* Powers 2^(j/8). SCALE adds k times 2^20 to their bits, 2^(k >> 3) and j times 2^20, which is
 * therefore missing here. */
static const _Alignas(32) uint32_t exp_powers[8] = {0x3F800000, 0x3F7B95C2, 0x3F7837F0, 0x3F75FED7,
                                                    0x3F7504F3, 0x3F75672A, 0x3F7744FD, 0x3F7AC0C7};
/* ln(2^(j/8) / power). */
static const _Alignas(32) float exp_rests[8] = {0.0f,
                                                -0x1.9c0c22p-27f,
                                                0x1.125002p-25f,
                                                -0x1.0a3552p-25f,
                                                0x1.26055cp-26f,
                                                0x1.67a1cap-28f,
                                                -0x1.f9c306p-27f,
                                                -0x1.a5217cp-28f};

static inline VECTOR exp_ends(VECTOR x, VECTOR *out_far) {
    const VECTOR shift = SET(0x1.8p23f);
    VECTOR shifted = FMA(x, SET(0x1.715476p3f), shift); /* k in the low bits */
    VECTOR k = SUB(shifted, shift);
    VECTOR power = SCALE(PICK(exp_powers, shifted), shifted);
    VECTOR r = FNMA(k, SET(0x1.62e43p-4f), x);
    VECTOR d = FNMA(k, SET(-0x1.05c61p-32f), PICK(exp_rests, shifted));
    /* e^r = 1 + r + r^2 p */
    VECTOR p = FMA(r, SET(0x1.111112p-7f), SET(0x1.555accp-5f));
    p = FMA(p, r, SET(0x1.555556p-3f));
    p = FMA(p, r, SET(0.5f));
    VECTOR square = MUL(r, r);
    VECTOR sum = FMA(square, p, r);
    VECTOR rest = FMA(square, p, SUB(r, sum)); /* what the line above rounds off */
    VECTOR high = FMA(power, sum, power);
    VECTOR low = FMA(power, sum, SUB(power, high));
    rest = ADD(rest, FMA(d, sum, d)); /* d e^r */
    low = FMA(power, rest, low);
    *out_far = FMA(low, SET(1.0f + LOW_ERROR), high);
    return FMA(low, SET(1.0f - LOW_ERROR), high);
}

enum { EXP_BLOCK = 128 }; /* vectors */

/* Vectors that are left come last, all of a block together: a branch for each would be guessed
 * wrong, and nothing would run beside it. */
static inline void exp_block(const float *value, float *out, size_t num_vectors, uint8_t *flags) {
    float left[EXP_BLOCK][LANES];
    size_t place[EXP_BLOCK], num_left = 0;
    for (size_t i = 0; i < num_vectors; i++) {
        VECTOR x = LOAD(value + i * LANES);
        VECTOR far, near = exp_ends(x, &far);
        if (__builtin_expect(DECIDED(x, EASY_LIMIT, near, far), 1)) {
            STORE(out + i * LANES, near);
        } else {
            STORE(left[num_left], x);
            place[num_left++] = i * LANES;
        }
    }
    for (size_t i = 0; i < num_left; i++) {
        CAREFULLY(left[i], out + place[i], flags);
    }
}

/* Without the flag INEXACT, which every finite operand but 0 raises. */
static void exp_loop(const float *value, float *out, size_t count, uint8_t *flags) {
    size_t at = 0;
    while (at + LANES <= count) {
        size_t num_vectors = (count - at) / LANES;
        num_vectors = num_vectors < EXP_BLOCK ? num_vectors : EXP_BLOCK;
        exp_block(value + at, out + at, num_vectors, flags);
        at += num_vectors * LANES;
    }
    if (at < count) {
        float rest[LANES] = {0};
        memcpy(rest, value + at, (count - at) * sizeof(float));
        exp_block(rest, rest, 1, flags);
        memcpy(out + at, rest, (count - at) * sizeof(float));
    }
}
