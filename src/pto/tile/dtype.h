/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of element types: one bit for each code of pto/profile/format.h. */
#ifndef TLY_PTO_TILE_DTYPE_H
#define TLY_PTO_TILE_DTYPE_H

#include "pto/profile/format.h"

#define TLY_PTO_TYPE(code)     (1u << (code))
#define TLY_PTO_TYPES_FLOATING 0x7fffu
#define TLY_PTO_TYPES_SIGNED   (0x1fu << TLY_PTO_S64)
#define TLY_PTO_TYPES_UNSIGNED (0x1fu << TLY_PTO_U64)
#define TLY_PTO_TYPES_INTEGER  (TLY_PTO_TYPES_SIGNED | TLY_PTO_TYPES_UNSIGNED)
#define TLY_PTO_TYPES_FOUR_BIT                                                                     \
    (TLY_PTO_TYPE(TLY_PTO_E2M1X2) | TLY_PTO_TYPE(TLY_PTO_E1M2X2) | TLY_PTO_TYPE(TLY_PTO_HIF4X2) |  \
     TLY_PTO_TYPE(TLY_PTO_S4X2) | TLY_PTO_TYPE(TLY_PTO_U4X2))
#define TLY_PTO_TYPES_ALL (TLY_PTO_TYPES_FLOATING | TLY_PTO_TYPES_INTEGER)

/* `code` is below 32. */
static inline bool tly_pto_dtype_in(uint32_t code, uint32_t types) {
    return (types >> code & 1) != 0;
}

#endif
