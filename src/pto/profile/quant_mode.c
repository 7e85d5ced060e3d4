/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/quant_mode.h"

#define MODE(code, parameter_, output_, s32, offset, shift, fixed)                                 \
    [code] = {true, TLY_PTO_QUANT_##parameter_, TLY_PTO_##output_, s32, offset, shift, fixed}

const tly_pto_quant_mode tly_pto_quant_modes[TLY_PTO_NUM_QUANT_MODES] = {
    /*   code parameter output S32 offset shift fixed */
    MODE(0, NONE, FP32, 0, 0, 0, 0),    MODE(1, NONE, FP16, 0, 0, 0, 1),
    MODE(2, VECTOR, S8, 1, 9, 0, 0),    MODE(3, SCALAR, S8, 1, 9, 0, 0),
    MODE(4, VECTOR, FP16, 1, 0, 0, 0),  MODE(5, SCALAR, FP16, 1, 0, 0, 0),
    MODE(12, VECTOR, S16, 1, 0, 1, 0),  MODE(13, SCALAR, S16, 1, 0, 1, 0),
    MODE(16, NONE, BF16, 0, 0, 0, 1),   MODE(17, SCALAR, S4X2, 1, 5, 0, 0),
    MODE(18, VECTOR, S4X2, 1, 5, 0, 0), MODE(19, SCALAR, S16, 1, 17, 0, 0),
    MODE(20, VECTOR, S16, 1, 17, 0, 0), MODE(23, VECTOR, S8, 0, 9, 0, 0),
    MODE(24, SCALAR, S8, 0, 9, 0, 0),   MODE(25, SCALAR, HIF8, 0, 0, 0, 1),
    MODE(26, SCALAR, E4M3, 0, 0, 0, 1), MODE(27, SCALAR, FP32, 0, 0, 0, 0),
    MODE(28, VECTOR, HIF8, 0, 0, 0, 1), MODE(32, SCALAR, FP16, 0, 0, 0, 1),
    MODE(33, VECTOR, FP16, 0, 0, 0, 1), MODE(34, SCALAR, BF16, 0, 0, 0, 1),
    MODE(35, SCALAR, BF16, 1, 0, 0, 0), MODE(36, VECTOR, BF16, 0, 0, 0, 1),
    MODE(37, VECTOR, E4M3, 0, 0, 0, 1), MODE(38, VECTOR, FP32, 0, 0, 0, 0),
    MODE(39, VECTOR, BF16, 1, 0, 0, 0),
};

const uint8_t tly_pto_group_columns[TLY_PTO_NUM_GROUPS] = {0, 8, 16, 32, 48, 64, 80, 96, 112, 128};

bool tly_pto_quant_accumulator_legal(uint32_t mode, uint32_t accumulator) {
    const tly_pto_quant_mode *row = &tly_pto_quant_modes[mode & 63];
    if (!row->legal) {
        return false;
    }
    if (mode == 0) {
        return accumulator == TLY_PTO_FP32 || accumulator == TLY_PTO_S32 ||
               accumulator == TLY_PTO_U32;
    }
    return accumulator == (row->from_s32 ? TLY_PTO_S32 : TLY_PTO_FP32);
}

/* Bits of a parameter word: a shift less one at 35:32, or an FP19 scale at 31:13 and an offset
 * from bit 37 upwards. */
bool tly_pto_quant_parameter_legal(uint32_t mode, uint64_t parameter) {
    const tly_pto_quant_mode *row = &tly_pto_quant_modes[mode & 63];
    if (row->is_shift) {
        return (parameter & ~(UINT64_C(15) << 32)) == 0;
    }
    uint64_t used = UINT64_C(0x7ffff) << 13 | tly_pto_low_bits(UINT64_MAX, row->offset_width) << 37;
    return row->parameter != TLY_PTO_QUANT_NONE && (parameter & ~used) == 0 &&
           tly_pto_fp19_scale_legal((uint32_t)(parameter >> 13) & 0x7ffff);
}

bool tly_pto_relu_parameter_legal(uint64_t parameter) {
    return parameter >> 19 == 0 && tly_pto_fp19_activation_legal((uint32_t)parameter);
}
