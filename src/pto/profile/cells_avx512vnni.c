/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#define LEVEL(name)     name##_avx512vnni
#define DOT(sums, a, b) _mm512_dpwssd_epi32(sums, a, b) /* the one that does not saturate */
#include "pto/profile/cells_512_template.h"
