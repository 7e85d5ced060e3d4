/* SPDX-License-Identifier: Apache-2.0 */
/* Modes of matrix post-processing: one row for each code of B.FPATR's PreQuantMode
 * (asl/block/attributes/B.FPATR). */
#ifndef TLY_PTO_PROFILE_QUANT_MODE_H
#define TLY_PTO_PROFILE_QUANT_MODE_H

#include "pto/profile/format.h"

typedef enum tly_pto_quant_parameter {
    TLY_PTO_QUANT_NONE,
    TLY_PTO_QUANT_SCALAR, /* one for the whole result */
    TLY_PTO_QUANT_VECTOR  /* one for each column, from a tile */
} tly_pto_quant_parameter;

typedef struct tly_pto_quant_mode {
    bool legal;
    uint8_t parameter;    /* tly_pto_quant_parameter */
    uint8_t output;       /* type of the result; of code 0, the accumulator's */
    bool from_s32;        /* else from FP32; code 0 takes any accumulator */
    uint8_t offset_width; /* bits of the offset in the parameter: 0, 5, 9, 17 */
    bool is_shift;
    bool fixed_rounding; /* B.DATR must leave the rounding at its default */
} tly_pto_quant_mode;

enum { TLY_PTO_NUM_QUANT_MODES = 64, TLY_PTO_NUM_RELU_MODES = 4, TLY_PTO_NUM_GROUPS = 10 };
enum { TLY_PTO_RELU_NONE, TLY_PTO_RELU_ZERO, TLY_PTO_RELU_SCALAR, TLY_PTO_RELU_VECTOR };

extern const tly_pto_quant_mode tly_pto_quant_modes[TLY_PTO_NUM_QUANT_MODES];

/* Columns of a group by its code, 0 for none; codes below TLY_PTO_NUM_GROUPS. */
extern const uint8_t tly_pto_group_columns[TLY_PTO_NUM_GROUPS];

/* BundleFPATRAccumulatorTypeLegal. */
bool tly_pto_quant_accumulator_legal(uint32_t mode, uint32_t accumulator);

/* Parameter words: reserved bits are zero, the scale is a positive normal FP19. */
bool tly_pto_quant_parameter_legal(uint32_t mode, uint64_t parameter);
bool tly_pto_relu_parameter_legal(uint64_t parameter);

#endif
