/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of packed elements to one element a word, and back. */
#include "num/packed.h"

#define LOAD(TYPE, SWAP)                                                                           \
    for (uint32_t i = 0; i < count; i++) {                                                         \
        TYPE v;                                                                                    \
        memcpy(&v, src + i * sizeof v, sizeof v);                                                  \
        low[i] = SWAP(v);                                                                          \
    }

#define STORE(TYPE, SWAP)                                                                          \
    for (uint32_t i = 0; i < count; i++) {                                                         \
        TYPE v = SWAP((TYPE)low[i]);                                                               \
        memcpy(dst + i * sizeof v, &v, sizeof v);                                                  \
    }

#define SAME(v) (v)

void tly_num_load_codes(const uint8_t *src, uint64_t first, uint32_t count, uint32_t bits,
                        uint64_t *low, uint64_t *high) {
    if (bits < 8) {
        int64_t bit = (int64_t)(first * bits & 7);
        src += first / 8 * bits + first % 8 * bits / 8; /* first * bits might not fit */
        for (uint32_t i = 0; i < count; i++, bit += bits) {
            low[i] = tly_num_get_bits(src, bit, bits);
        }
        return;
    }
    src += first * (bits / 8);
    switch (bits) {
    case 8:
        LOAD(uint8_t, SAME)
        break;
    case 16:
        LOAD(uint16_t, TLY_BASE_LE16)
        break;
    case 32:
        LOAD(uint32_t, TLY_BASE_LE32)
        break;
    case 64:
        LOAD(uint64_t, TLY_BASE_LE64)
        break;
    default:
        for (uint32_t i = 0; i < count; i++) {
            low[i] = tly_base_load_u64(src + (size_t)i * 16);
            high[i] = tly_base_load_u64(src + (size_t)i * 16 + 8);
        }
        break;
    }
}

void tly_num_store_codes(uint8_t *dst, uint64_t first, uint32_t count, uint32_t bits,
                         const uint64_t *low, const uint64_t *high) {
    if (bits < 8) {
        int64_t bit = (int64_t)(first * bits & 7);
        dst += first / 8 * bits + first % 8 * bits / 8;
        for (uint32_t i = 0; i < count; i++, bit += bits) {
            tly_num_put_bits(dst, bit, bits, (uint32_t)low[i]);
        }
        return;
    }
    dst += first * (bits / 8);
    switch (bits) {
    case 8:
        STORE(uint8_t, SAME)
        break;
    case 16:
        STORE(uint16_t, TLY_BASE_LE16)
        break;
    case 32:
        STORE(uint32_t, TLY_BASE_LE32)
        break;
    case 64:
        STORE(uint64_t, TLY_BASE_LE64)
        break;
    default:
        for (uint32_t i = 0; i < count; i++) {
            tly_base_store_u64(dst + (size_t)i * 16, low[i]);
            tly_base_store_u64(dst + (size_t)i * 16 + 8, high[i]);
        }
        break;
    }
}
