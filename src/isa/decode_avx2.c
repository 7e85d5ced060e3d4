/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder with PEXT for the look-ups and shifts by vector for the fields. */
#include <immintrin.h>

#include "isa/decode.h"

static inline uint64_t look_up(uint64_t word, const tly_isa_node *node) {
    return node->first + _pext_u64(word, node->bits);
}

static inline const tly_isa_node *node_at(uint64_t scaled) {
    _Static_assert(sizeof(tly_isa_node) == TLY_ISA_SCALE, "no multiplication");
    return (const tly_isa_node *)((const char *)tly_isa_nodes + scaled);
}

static inline const tly_isa_quick *quick_at(uint64_t scaled) {
    return (const tly_isa_quick *)((const char *)tly_isa_quicks +
                                   scaled * (sizeof(tly_isa_quick) / TLY_ISA_SCALE));
}

static inline __m256i bytes_to_words(const uint8_t *bytes) {
    return _mm256_cvtepu8_epi64(_mm_loadu_si32(bytes));
}

/* All field rules at once: bit 0 of each lane says whether one is kept. */
static inline int keeps_rules(__m256i words, const tly_isa_quick *quick) {
    __m256i values = _mm256_and_si256(_mm256_srlv_epi64(words, bytes_to_words(quick->check_shifts)),
                                      bytes_to_words(quick->check_masks));
    __m256i kept = _mm256_srlv_epi64(_mm256_loadu_si256((const __m256i *)quick->allowed), values);
    return _mm256_testc_si256(kept, _mm256_set1_epi64x(1));
}

/* Four fields: one shift and one mask each. */
static inline void put_fields(__m256i words, const tly_isa_quick *quick, int first,
                              tly_isa_insn *out_insn) {
    __m256i shifts = bytes_to_words(quick->field_shifts + first);
    __m256i masks = _mm256_cvtepu16_epi64(_mm_loadu_si64(quick->field_masks + first));
    _mm256_storeu_si256((__m256i *)(out_insn->fields + first),
                        _mm256_and_si256(_mm256_srlv_epi64(words, shifts), masks));
}

tly_status tly_isa_decode_avx2(uint64_t word, uint32_t len, tly_isa_release release,
                               tly_isa_insn *out_insn, tly_error *error) {
    const tly_isa_node *node = node_at(tly_isa_buckets[look_up(word, &tly_isa_roots[len])]);
    const tly_isa_quick *quick = quick_at(tly_isa_children[look_up(word, node)]);
    __m256i words = _mm256_set1_epi64x((long long)word);
    uint64_t value;

    if ((word & quick->mask) != quick->match || (quick->pext_releases >> release & 1) == 0 ||
        !keeps_rules(words, quick)) {
        return tly_isa_decode_portable(word, len, release, out_insn, error);
    }
    tly_isa_put_head(word, quick, out_insn);
    put_fields(words, quick, 0, out_insn);
    put_fields(words, quick, 4, out_insn);
    _mm_storeu_si128((__m128i *)(out_insn->fields + 8), _mm_setzero_si128());
    value = _pext_u64(word, quick->runs[0]) | _pext_u64(word, quick->runs[1]) << quick->run_width;
    out_insn->fields[quick->special] = (int64_t)(value << quick->up) >> quick->down;
    return TLY_OK;
}

_Static_assert(TLY_ISA_NUM_SLOTS == 8 && TLY_ISA_NUM_CHECKS == 4 && TLY_ISA_MAX_FIELDS == 10,
               "vectors of four, and one of two");
