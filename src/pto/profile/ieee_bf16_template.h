/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from FP32 to BF16, to nearest even, and back. Included once for each level, which NAME(op)
 * says; the loops are plain ones for the compiler to turn into vector code. BF16 is the upper half
 * of FP32. */

enum {
    NAME(INFINITE) = 0x7F800000,
    /* What rounds to BF16's precision without reaching the smallest normal number, whatever the
     * exponent: that number less a quarter of the unit in the last place below it. */
    NAME(TINY) = 0x007FC000
};

static void NAME(f32_to_bf16)(const void *value, void *out, size_t count, uint8_t *flags) {
    const uint32_t *in = value;
    uint16_t *to = out;
    uint32_t inexact = 0, over = 0, tiny = 0, signals = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = in[i], magnitude = bits & INT32_MAX;
        uint32_t nan = (int32_t)magnitude > NAME(INFINITE) ? UINT32_MAX : 0;
        uint32_t rest = bits & 0xFFFF & ~nan;
        uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
        inexact |= rest;
        over |= (rounded & 0x7FFF) == NAME(INFINITE) >> 16 ? rest : 0;
        tiny |= (int32_t)magnitude < NAME(TINY) ? rest : 0;
        signals |= nan & ~bits & 0x00400000;
        to[i] = (uint16_t)((rounded & ~nan) | (0x7FC0 & nan));
    }
    *flags |= (uint8_t)((inexact != 0 ? TLY_PTO_FLAG_INEXACT : 0) |
                        (over != 0 ? TLY_PTO_FLAG_OVERFLOW : 0) |
                        (tiny != 0 ? TLY_PTO_FLAG_UNDERFLOW : 0) |
                        (signals != 0 ? TLY_PTO_FLAG_INVALID : 0));
}

static void NAME(bf16_to_f32)(const void *value, void *out, size_t count, uint8_t *flags) {
    const uint16_t *in = value;
    uint32_t *to = out, signals = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)in[i] << 16;
        uint32_t nan = (int32_t)(bits & INT32_MAX) > NAME(INFINITE) ? UINT32_MAX : 0;
        signals |= nan & ~bits & 0x00400000;
        to[i] = (bits & ~nan) | (0x7FC00000 & nan);
    }
    *flags |= signals != 0 ? TLY_PTO_FLAG_INVALID : 0;
}
