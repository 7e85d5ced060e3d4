/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#define LEVEL(name)     name##_avx512
#define DOT(sums, a, b) _mm512_add_epi32(sums, _mm512_madd_epi16(a, b))
#include "pto/profile/cells_512_template.h"
