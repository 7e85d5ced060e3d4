/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels_template.h asks for, in AVX2. Also the 16-byte halves of the AVX-512 level. */

typedef __m128i half;

static inline half h_load(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)p);
}
static inline half h_load8(const uint8_t *p) {
    return _mm_loadl_epi64((const __m128i *)p);
}
static inline void h_store(uint8_t *p, half v) {
    _mm_storeu_si128((__m128i *)p, v);
}
static inline void h_stream(uint8_t *p, half v) {
    _mm_stream_si128((__m128i *)p, v);
}

#define h_lo8  _mm_unpacklo_epi8
#define h_hi8  _mm_unpackhi_epi8
#define h_lo16 _mm_unpacklo_epi16
#define h_hi16 _mm_unpackhi_epi16
#define h_lo32 _mm_unpacklo_epi32
#define h_hi32 _mm_unpackhi_epi32
#define h_lo64 _mm_unpacklo_epi64
#define h_hi64 _mm_unpackhi_epi64

#define v_fence()     _mm_sfence()
#define v_prefetch(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)

#if LANES == 2
typedef __m256i vec;

static inline vec v_load(const uint8_t *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}
static inline void v_store(uint8_t *p, vec v) {
    _mm256_storeu_si256((__m256i *)p, v);
}
static inline void v_stream(uint8_t *p, vec v) {
    _mm256_stream_si256((__m256i *)p, v);
}

static inline vec v_load_lanes(const uint8_t *p, int64_t stride) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(h_load(p)), h_load(p + stride), 1);
}

static inline vec v_spread2(vec v) {
    return _mm256_permute4x64_epi64(v, 0xD8);
}

static inline vec v_spread4(vec v) {
    return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
}

#define v_lo8  _mm256_unpacklo_epi8
#define v_hi8  _mm256_unpackhi_epi8
#define v_lo16 _mm256_unpacklo_epi16
#define v_hi16 _mm256_unpackhi_epi16
#define v_lo32 _mm256_unpacklo_epi32
#define v_hi32 _mm256_unpackhi_epi32
#define v_lo64 _mm256_unpacklo_epi64
#define v_hi64 _mm256_unpackhi_epi64
#endif
