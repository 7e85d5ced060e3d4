/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels in plain C: 16-byte vectors of the compiler, which every processor can do. Elements
 * keep their order in memory, whatever the byte order of the machine. */
#include "pack/kernels.h"

#include <string.h>

#define LANES   1
#define KERNELS pack_kernels_portable

typedef uint8_t vec __attribute__((vector_size(16)));
typedef vec half;
typedef uint16_t words __attribute__((vector_size(16)));
typedef uint32_t doubles __attribute__((vector_size(16)));
typedef uint64_t quads __attribute__((vector_size(16)));

static inline vec v_load(const uint8_t *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline vec h_load8(const uint8_t *p) {
    vec v = {0};
    memcpy(&v, p, 8);
    return v;
}

static inline void v_store(uint8_t *p, vec v) {
    memcpy(p, &v, sizeof v);
}

#define v_lo8(a, b)                                                                                \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define v_hi8(a, b)                                                                                \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define v_lo16(a, b)                                                                               \
    ((vec)__builtin_shufflevector((words)(a), (words)(b), 0, 8, 1, 9, 2, 10, 3, 11))
#define v_hi16(a, b)                                                                               \
    ((vec)__builtin_shufflevector((words)(a), (words)(b), 4, 12, 5, 13, 6, 14, 7, 15))
#define v_lo32(a, b) ((vec)__builtin_shufflevector((doubles)(a), (doubles)(b), 0, 4, 1, 5))
#define v_hi32(a, b) ((vec)__builtin_shufflevector((doubles)(a), (doubles)(b), 2, 6, 3, 7))
#define v_lo64(a, b) ((vec)__builtin_shufflevector((quads)(a), (quads)(b), 0, 2))
#define v_hi64(a, b) ((vec)__builtin_shufflevector((quads)(a), (quads)(b), 1, 3))

#define h_load   v_load
#define h_store  v_store
#define h_stream v_store
#define h_lo8    v_lo8
#define h_hi8    v_hi8
#define h_lo16   v_lo16
#define h_hi16   v_hi16
#define h_lo32   v_lo32
#define h_hi32   v_hi32
#define h_lo64   v_lo64
#define h_hi64   v_hi64

#define v_stream                v_store
#define v_load_lanes(p, stride) v_load(p)
#define v_spread2(v)            (v)
#define v_spread4(v)            (v)
#define v_fence()               ((void)0)
#define v_prefetch(p)           ((void)(p))

#include "pack/kernels_template.h"
