/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of pto-v0 that stand in files of their own. */
#ifndef TLY_PTO_PROFILE_V0_H
#define TLY_PTO_PROFILE_V0_H

#include "pto/profile/profile.h"

/* asl/arch/profile/reference-quantization */
uint64_t tly_pto_v0_quantize(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                             uint64_t scale, uint64_t zero_point, uint64_t value, uint8_t *flags);
void tly_pto_v0_quantize_row(uint32_t to, const tly_pto_numeric_control *control, uint64_t scale,
                             uint64_t zero_point, const void *value, void *out, size_t count,
                             uint8_t *flags);
uint64_t tly_pto_v0_dequantize(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                               uint64_t scale, uint64_t zero_point, uint64_t value, uint8_t *flags);

/* asl/arch/profile/e8m0-conversion: from FP16, BF16 or FP32 to a power of two. */
uint64_t tly_pto_v0_to_e8m0(uint32_t from, const tly_pto_numeric_control *control, uint64_t value,
                            uint8_t *flags);

/* asl/arch/profile/matrix-postprocess, matrix-quantization */
uint64_t tly_pto_v0_post_process(const tly_pto_post_process *how, uint64_t value, uint8_t *flags);
uint64_t tly_pto_v0_matrix_max(bool absolute, uint32_t dtype, uint64_t current, uint64_t candidate,
                               uint8_t *flags);

#endif
