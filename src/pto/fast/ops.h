/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the operations of predecoded code. */
#ifndef TLY_PTO_FAST_OPS_H
#define TLY_PTO_FAST_OPS_H

typedef enum tly_pto_op_number {
#define VALUE(form, expression)        TLY_PTO_OP_##form,
#define PAIR(form, expression, second) TLY_PTO_OP_##form,
#define COMMIT(form, expression)       TLY_PTO_OP_##form,
#include "pto/scalar/values.def"
#undef VALUE
#undef PAIR
#undef COMMIT
#define PLAIN(form, neutral, expression)     TLY_PTO_OP_PLAIN_##form,
#define SHIFTED(form, neutral, expression)   TLY_PTO_OP_SHIFTED_##form,
#define CONDITION(form, neutral, expression) TLY_PTO_OP_PLAIN_##form,
/* Each access with its base alone, and with an index; then what becomes of the base. */
#define LOAD(name, bytes, type)                                                                    \
    TLY_PTO_OP_LOAD_##name, TLY_PTO_OP_LOAD_PRE_##name, TLY_PTO_OP_LOAD_POST_##name,               \
        TLY_PTO_OP_LOADX_##name, TLY_PTO_OP_LOADX_PRE_##name, TLY_PTO_OP_LOADX_POST_##name,        \
        TLY_PTO_OP_LOAD_PAIR_##name, TLY_PTO_OP_LOADX_PAIR_##name,
#define STORE(name, bytes, type)                                                                   \
    TLY_PTO_OP_STORE_##name, TLY_PTO_OP_STORE_PRE_##name, TLY_PTO_OP_STORE_POST_##name,            \
        TLY_PTO_OP_STOREX_##name, TLY_PTO_OP_STOREX_PRE_##name, TLY_PTO_OP_STOREX_POST_##name,     \
        TLY_PTO_OP_STORE_PAIR_##name, TLY_PTO_OP_STOREX_PAIR_##name,
#define CONTROL(name) TLY_PTO_OP_##name,
#include "pto/fast/ops.def"
#undef PLAIN
#undef SHIFTED
#undef CONDITION
#undef LOAD
#undef STORE
#undef CONTROL
    TLY_PTO_NUM_OPS
} tly_pto_op_number;

#endif
