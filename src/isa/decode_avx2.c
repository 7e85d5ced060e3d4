/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder with PEXT for the look-ups and shifts by vector for the fields. */
#include <immintrin.h>

#include "isa/decode.h"

static inline uint32_t look_up(uint64_t word, const tly_isa_node *node) {
    return node->first + (uint32_t)_pext_u64(word, node->bits);
}

/* Four fields, or two: one shift and one mask each. */
static inline void put_fields(__m256i words, const tly_isa_quick *quick, int first,
                              tly_isa_insn *out_insn) {
    __m256i shifts = _mm256_cvtepu8_epi64(_mm_loadu_si32(quick->field_shifts + first));
    __m256i masks = _mm256_cvtepu16_epi64(_mm_loadu_si64(quick->field_masks + first));
    _mm256_storeu_si256((__m256i *)(out_insn->fields + first),
                        _mm256_and_si256(_mm256_srlv_epi64(words, shifts), masks));
}

static inline void put_last_fields(__m256i words, const tly_isa_quick *quick,
                                   tly_isa_insn *out_insn) {
    __m128i shifts = _mm_cvtepu8_epi64(_mm_loadu_si16(quick->field_shifts + 8));
    __m128i masks = _mm_cvtepu16_epi64(_mm_loadu_si32(quick->field_masks + 8));
    _mm_storeu_si128((__m128i *)(out_insn->fields + 8),
                     _mm_and_si128(_mm_srlv_epi64(_mm256_castsi256_si128(words), shifts), masks));
}

tly_status tly_isa_decode_avx2(uint64_t word, uint32_t len, tly_isa_release release,
                               tly_isa_insn *out_insn, tly_error *error) {
    const tly_isa_node *node =
        &tly_isa_nodes[tly_isa_buckets[look_up(word, &tly_isa_roots[len / 2 - 1])]];
    const tly_isa_quick *quick = &tly_isa_quicks[tly_isa_children[look_up(word, node)]];
    __m256i words = _mm256_set1_epi64x((long long)word);

    if (__builtin_expect(!tly_isa_fits(word, quick, (uint32_t)release), 0)) {
        return tly_isa_decode_slowly(word, len, release, out_insn, error);
    }
    tly_isa_put_head(word, quick, out_insn);
    put_fields(words, quick, 0, out_insn);
    put_fields(words, quick, 4, out_insn);
    put_last_fields(words, quick, out_insn);
    tly_isa_put_special(word, quick, out_insn);
    return TLY_OK;
}

_Static_assert(TLY_ISA_NUM_SLOTS == 10, "two vectors and a half");
