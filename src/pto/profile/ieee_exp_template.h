/* SPDX-License-Identifier: Apache-2.0 */
/* e^x of FP32, rounded correctly, as pairs of floats: a part of ieee_functions_template.h.
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

/* Powers 2^(j/8). scale() adds k times 2^20 to their bits, 2^(k >> 3) and j times 2^20, which is
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

static inline vector exp_ends(vector x, vector *out_far) {
    const vector shift = v_set(0x1.8p23f);
    vector shifted = v_fma(x, v_set(0x1.715476p3f), shift); /* k in the low bits */
    vector k = shifted - shift;
    vector power = scale(v_pick(exp_powers, shifted), shifted);
    vector r = v_fnma(k, v_set(0x1.62e43p-4f), x);
    vector d = v_fnma(k, v_set(-0x1.05c61p-32f), v_pick(exp_rests, shifted));
    /* e^r = 1 + r + r^2 p */
    vector p = v_fma(r, v_set(0x1.111112p-7f), v_set(0x1.555accp-5f));
    p = v_fma(p, r, v_set(0x1.555556p-3f));
    p = v_fma(p, r, v_set(0.5f));
    vector square = r * r;
    vector sum = v_fma(square, p, r);
    vector rest = v_fma(square, p, r - sum); /* what the line above rounds off */
    vector high = v_fma(power, sum, power);
    vector low = v_fma(power, sum, power - high);
    rest = rest + v_fma(d, sum, d); /* d e^r */
    low = v_fma(power, rest, low);
    *out_far = v_fma(low, v_set(1.0f + LOW_ERROR), high);
    return v_fma(low, v_set(1.0f - LOW_ERROR), high);
}

enum { EXP_BLOCK = 128 }; /* vectors */

/* Vectors that are left come last, all of a block together: a branch for each would be guessed
 * wrong, and nothing would run beside it. */
static inline void exp_block(const float *value, float *out, size_t num_vectors, uint8_t *flags) {
    float left[EXP_BLOCK][LANES];
    size_t place[EXP_BLOCK], num_left = 0;
    for (size_t i = 0; i < num_vectors; i++) {
        vector x = v_load(value + i * LANES);
        vector far, near = exp_ends(x, &far);
        if (__builtin_expect(decided(x, EASY_LIMIT, near, far), 1)) {
            v_store(out + i * LANES, near);
        } else {
            v_store(left[num_left], x);
            place[num_left++] = i * LANES;
        }
    }
    for (size_t i = 0; i < num_left; i++) {
        exp_vector(left[i], out + place[i], flags);
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
