/* SPDX-License-Identifier: Apache-2.0 */
#include "host/types.h"

#include "isa/table.h"
#include "pto/tile/dtype.h"

enum { NUM_CODES = 32 };

/* 0: not in the format. TF32 and HF32 stand behind FP32, whose storage they share. */
static const tly_dtype dtypes[NUM_CODES] = {
    [TLY_PTO_FP64] = TLY_F64,    [TLY_PTO_FP32] = TLY_F32,    [TLY_PTO_TF32] = TLY_F32,
    [TLY_PTO_HF32] = TLY_F32,    [TLY_PTO_FP16] = TLY_F16,    [TLY_PTO_BF16] = TLY_BF16,
    [TLY_PTO_E4M3] = TLY_F8E4M3, [TLY_PTO_E5M2] = TLY_F8E5M2, [TLY_PTO_E2M1X2] = TLY_F4E2M1,
    [TLY_PTO_E8M0] = TLY_F8E8M0, [TLY_PTO_S64] = TLY_I64,     [TLY_PTO_S32] = TLY_I32,
    [TLY_PTO_S16] = TLY_I16,     [TLY_PTO_S8] = TLY_I8,       [TLY_PTO_S4X2] = TLY_I4,
    [TLY_PTO_U64] = TLY_U64,     [TLY_PTO_U32] = TLY_U32,     [TLY_PTO_U16] = TLY_U16,
    [TLY_PTO_U8] = TLY_U8,       [TLY_PTO_U4X2] = TLY_U4};

tly_dtype tly_host_dtype(uint32_t code) {
    return dtypes[code] != 0 ? dtypes[code] : tly_isa_dtype_bits(code) == 4 ? TLY_U4 : TLY_U8;
}

bool tly_host_code(tly_dtype dtype, uint32_t *out_code) {
    for (uint32_t code = 0; code < NUM_CODES && dtype != 0; code++) {
        if (dtypes[code] == dtype && code != TLY_PTO_TF32 && code != TLY_PTO_HF32) {
            *out_code = code;
            return true;
        }
    }
    return false;
}
