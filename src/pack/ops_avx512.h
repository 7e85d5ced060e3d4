/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels_template.h asks for, in AVX-512 (F and BW). */

typedef __m512i vec;

static inline vec v_load(const uint8_t *p) {
    return _mm512_loadu_si512((const void *)p);
}
static inline void v_store(uint8_t *p, vec v) {
    _mm512_storeu_si512((void *)p, v);
}
static inline void v_stream(uint8_t *p, vec v) {
    _mm512_stream_si512((void *)p, v);
}

static inline vec v_load_lanes(const uint8_t *p, int64_t stride) {
    vec v = _mm512_castsi128_si512(h_load(p));
    v = _mm512_inserti32x4(v, h_load(p + stride), 1);
    v = _mm512_inserti32x4(v, h_load(p + 2 * stride), 2);
    return _mm512_inserti32x4(v, h_load(p + 3 * stride), 3);
}

static inline vec v_spread2(vec v) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), v);
}

static inline vec v_spread4(vec v) {
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), v);
}

#define v_lo8  _mm512_unpacklo_epi8
#define v_hi8  _mm512_unpackhi_epi8
#define v_lo16 _mm512_unpacklo_epi16
#define v_hi16 _mm512_unpackhi_epi16
#define v_lo32 _mm512_unpacklo_epi32
#define v_hi32 _mm512_unpackhi_epi32
#define v_lo64 _mm512_unpacklo_epi64
#define v_hi64 _mm512_unpackhi_epi64
