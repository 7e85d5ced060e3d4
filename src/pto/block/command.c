/* SPDX-License-Identifier: Apache-2.0 */
/* The row of every bundle and command form, and their common entry
 * (asl/block/model/dispatch/top-level, commands). */
#include "pto/block/command.h"

#include "isa/fields.h"
#include "isa/table.h"
#include "pto/exec.h"
#include "pto/fault.h"

#define NONE TLY_PTO_NO_FIELD

/* Starts that only transfer. */
#define TRANSFER(form, id, kind_, transfer_, offset, back)                                         \
    [TLY_FORM_##form] = {                                                                          \
        .execute = tly_pto_start_block,                                                            \
        .ends_block = true,                                                                        \
        .start = {TLY_PTO_KIND_##kind_, TLY_PTO_CLASS_CONTROL, TLY_PTO_TRANSFER_##transfer_, 0,    \
                  id, offset, back, NONE, NONE, NONE},                                             \
    }
/* Starts whose transfer is a field. */
#define BRANCHING(form, id, kind_, branch)                                                         \
    [TLY_FORM_##form] = {                                                                          \
        .execute = tly_pto_start_block,                                                            \
        .ends_block = true,                                                                        \
        .start = {TLY_PTO_KIND_##kind_, TLY_PTO_CLASS_CONTROL, TLY_PTO_TRANSFER_FALLTHROUGH, 0,    \
                  id, NONE, NONE, branch, NONE, NONE},                                             \
    }
/* Starts of one tile operation. */
#define TILES(form, id, kind_, class_, selector_)                                                  \
    [TLY_FORM_##form] = {                                                                          \
        .execute = tly_pto_start_block,                                                            \
        .ends_block = true,                                                                        \
        .start = {TLY_PTO_KIND_##kind_, TLY_PTO_CLASS_##class_, TLY_PTO_TRANSFER_FALLTHROUGH,      \
                  selector_, id, NONE, NONE, NONE, TLY_FIELD_##form##_DATA_TYPE, NONE},            \
    }
#define TLSU(form, id, selector) TILES(form, id, TILE_MEMORY, TILE_MEMORY, selector)
#define CUBE(form, id, selector) TILES(form, id, TILE_MATRIX, TILE_MATRIX, selector)
/* Header and template commands. */
#define COMMAND(form, routine) [TLY_FORM_##form] = {.execute = routine}
#define STOP(form)             [TLY_FORM_##form] = {.execute = tly_pto_stop_block, .ends_block = true}
#define DIMENSION(form, index)                                                                     \
    [TLY_FORM_##form] = {.execute = tly_pto_set_dimension_sum, .dimension = index}
#define FRAME(form, kind)                                                                          \
    [TLY_FORM_##form] = {.execute = tly_pto_run_frame, .frame_kind = TLY_PTO_FRAME_##kind}
#define BIND(form, routine, ...) [TLY_FORM_##form] = {.execute = routine, .tiles = {__VA_ARGS__}}
#define PLACE(form, field)       TLY_FIELD_##form##_##field
/* B.IOT in both encodings of binders: without and with a destination. */
#define SOURCES(form, suffix, elements, is_mask, first, second)                                    \
    BIND(form##suffix, tly_pto_bind_tiles, {first, second}, PLACE(form##suffix, L), NONE,          \
         PLACE(form##suffix, elements), NONE, is_mask)
#define WITH_TARGET(form, suffix, elements, is_mask, size, first, second)                          \
    BIND(form##suffix, tly_pto_bind_tiles, {first, second}, PLACE(form##suffix, L),                \
         PLACE(form##suffix, size), PLACE(form##suffix, elements), PLACE(form##suffix, DST_TILE),  \
         is_mask)

static const tly_pto_command commands[TLY_NUM_FORMS] = {
    COMMAND(B_CATR, tly_pto_set_control_attributes),
    COMMAND(B_DATR, tly_pto_set_data_attributes),
    COMMAND(B_FPATR, tly_pto_set_fixed_point),
    COMMAND(B_FPATR_R0581, tly_pto_set_fixed_point),
    DIMENSION(B_DIM_LB0, 0),
    DIMENSION(B_DIM_LB1, 1),
    DIMENSION(B_DIM_LB2, 2),
    COMMAND(C_B_DIMI, tly_pto_set_dimension_immediate),
    COMMAND(B_HINT, tly_pto_set_hint),
    COMMAND(B_HINT_TRACE, tly_pto_start_trace),
    COMMAND(B_IOR, tly_pto_bind_scalars),

    SOURCES(B_IOT_1S, , PEMODE, false, PLACE(B_IOT_1S, SRC_TILE0), NONE),
    SOURCES(B_IOT_2S, , PEMODE, false, PLACE(B_IOT_2S, SRC_TILE0), PLACE(B_IOT_2S, SRC_TILE1)),
    WITH_TARGET(B_IOT_D, , PEMODE, false, SIZE_CODE, NONE, NONE),
    WITH_TARGET(B_IOT_1S_D, , PEMODE, false, SIZE_CODE, PLACE(B_IOT_1S_D, SRC_TILE0), NONE),
    WITH_TARGET(B_IOT_2S_D, , PEMODE, false, SIZE_CODE, PLACE(B_IOT_2S_D, SRC_TILE0),
                PLACE(B_IOT_2S_D, SRC_TILE1)),
    BIND(B_IOS, tly_pto_bind_shared, {NONE, NONE}, NONE, PLACE(B_IOS, SIZE_CODE),
         PLACE(B_IOS, PEMODE), NONE, false),
    SOURCES(B_IOT_1S, _R0580, PE_MASK, true, PLACE(B_IOT_1S_R0580, SRC_TILE0), NONE),
    SOURCES(B_IOT_2S, _R0580, PE_MASK, true, PLACE(B_IOT_2S_R0580, SRC_TILE0),
            PLACE(B_IOT_2S_R0580, SRC_TILE1)),
    WITH_TARGET(B_IOT_D, _R0580, PE_MASK, true, TSIZE, NONE, NONE),
    WITH_TARGET(B_IOT_1S_D, _R0580, PE_MASK, true, TSIZE, PLACE(B_IOT_1S_D_R0580, SRC_TILE0), NONE),
    WITH_TARGET(B_IOT_2S_D, _R0580, PE_MASK, true, TSIZE, PLACE(B_IOT_2S_D_R0580, SRC_TILE0),
                PLACE(B_IOT_2S_D_R0580, SRC_TILE1)),
    BIND(B_IOS_R0580, tly_pto_bind_shared, {NONE, NONE}, NONE, PLACE(B_IOS_R0580, TSIZE),
         PLACE(B_IOS_R0580, PE_MASK), NONE, true),

    TRANSFER(BSTART_DIRECT, 13, STANDARD, DIRECT, PLACE(BSTART_DIRECT, SIMM25), NONE),
    TRANSFER(BSTART_COND, 14, STANDARD, CONDITIONAL, PLACE(BSTART_COND, SIMM25), NONE),
    TRANSFER(BSTART_CALL, 15, STANDARD, CALL, PLACE(BSTART_CALL, SIMM12),
             PLACE(BSTART_CALL, UIMM5)),
    TRANSFER(BSTART_ICALL, 16, STANDARD, INDIRECT_CALL, NONE, PLACE(BSTART_ICALL, UIMM5)),
    TRANSFER(BSTART_FP_RET, 17, FLOATING, RETURN, NONE, NONE),
    TRANSFER(BSTART_FP_COND, 18, FLOATING, CONDITIONAL, PLACE(BSTART_FP_COND, SIMM17), NONE),
    TRANSFER(BSTART_FP_IND, 19, FLOATING, INDIRECT, NONE, NONE),
    TRANSFER(BSTART_FP_DIRECT, 20, FLOATING, DIRECT, PLACE(BSTART_FP_DIRECT, SIMM17), NONE),
    TRANSFER(BSTART_FP_FALL, 21, FLOATING, FALLTHROUGH, NONE, NONE),
    TRANSFER(BSTART_STD_COND, 27, STANDARD, CONDITIONAL, PLACE(BSTART_STD_COND, SIMM17), NONE),
    TRANSFER(BSTART_STD_FALL, 28, STANDARD, FALLTHROUGH, NONE, NONE),
    TRANSFER(BSTART_STD_RET, 29, STANDARD, RETURN, NONE, NONE),
    TRANSFER(BSTART_STD_IND, 30, STANDARD, INDIRECT, NONE, NONE),
    TRANSFER(BSTART_STD_DIRECT, 31, STANDARD, DIRECT, PLACE(BSTART_STD_DIRECT, SIMM17), NONE),
    TRANSFER(BSTART_SYS, 32, SYSTEM, FALLTHROUGH, NONE, NONE),
    TRANSFER(C_BSTART_COND, 54, STANDARD, CONDITIONAL, PLACE(C_BSTART_COND, SIMM12), NONE),
    TRANSFER(C_BSTART_DIRECT, 55, STANDARD, DIRECT, PLACE(C_BSTART_DIRECT, SIMM12), NONE),
    BRANCHING(C_BSTART_FP, 56, FLOATING, PLACE(C_BSTART_FP, BR_TYPE)),
    BRANCHING(C_BSTART_STD, 57, STANDARD, PLACE(C_BSTART_STD, BR_TYPE)),
    TRANSFER(C_BSTART_SYS, 58, SYSTEM, FALLTHROUGH, NONE, NONE),

    TLSU(BSTART_MGATHER, 22, 4),
    TLSU(BSTART_MGATHER_CAS, 23, 8),
    TLSU(BSTART_MGATHER_MASK, 24, 6),
    TLSU(BSTART_MSCATTER_MASK, 25, 7),
    TLSU(BSTART_MSCATTER, 26, 5),
    [TLY_FORM_BSTART_TEPL] = {.execute = tly_pto_start_block,
                              .ends_block = true,
                              .start = {TLY_PTO_KIND_TILE_ELEMENT, TLY_PTO_CLASS_TILE_ELEMENT,
                                        TLY_PTO_TRANSFER_FALLTHROUGH, 0, 33, NONE, NONE, NONE,
                                        PLACE(BSTART_TEPL, DATA_TYPE), PLACE(BSTART_TEPL, MODE)}},
    CUBE(BSTART_TGEMV, 34, 16),
    CUBE(BSTART_TGEMV_ACC, 35, 18),
    CUBE(BSTART_TGEMV_BIAS, 36, 17),
    CUBE(BSTART_TGEMVMX, 37, 20),
    CUBE(BSTART_TGEMVMX_ACC, 38, 22),
    CUBE(BSTART_TGEMVMX_BIAS, 39, 21),
    TLSU(BSTART_TLOAD, 40, 0),
    CUBE(BSTART_TMATMUL, 41, 0),
    CUBE(BSTART_TMATMUL_ACC, 42, 2),
    CUBE(BSTART_TMATMUL_BIAS, 43, 1),
    CUBE(BSTART_TMATMULMX, 44, 4),
    CUBE(BSTART_TMATMULMX_ACC, 45, 6),
    CUBE(BSTART_TMATMULMX_BIAS, 46, 5),
    /* the specification gives these two kinds of their own */
    TILES(BSTART_TMOV, 47, TILE_ELEMENT, TILE_MEMORY, 2),
    TILES(BSTART_TMOV_L2S_INSERT, 47, TILE_ELEMENT, TILE_MEMORY, 9),
    TILES(BSTART_TMOV_L2S_PUBLISH, 47, TILE_ELEMENT, TILE_MEMORY, 10),
    TILES(BSTART_TMOV_S2L_BROADCAST, 47, TILE_ELEMENT, TILE_MEMORY, 11),
    TILES(BSTART_TMOV_S2L_EXTRACT, 47, TILE_ELEMENT, TILE_MEMORY, 12),
    TILES(BSTART_GMOV, 48, STANDARD, TILE_MEMORY, 13),
    TLSU(BSTART_TPREFETCH, 49, 3),
    TLSU(BSTART_TSTORE, 50, 1),
    TLSU(BSTART_TSTORE_SPART, 50, 14),

    STOP(BSTOP),
    STOP(C_BSTOP),
    STOP(L_BSTOP),
    FRAME(FENTRY, ENTRY),
    FRAME(FEXIT, EXIT),
    FRAME(FRET_RA, RETURN_ADDRESS),
    FRAME(FRET_STK, RETURN_STACK),
    COMMAND(MCOPY, tly_pto_copy_memory),
    COMMAND(MSET, tly_pto_set_memory),
    COMMAND(HL_QMT, tly_pto_move_queue),
    COMMAND(HL_QPOP, tly_pto_pop_queue),
    COMMAND(HL_QPUSH, tly_pto_push_queue_entry),
    COMMAND(ESAVE, tly_pto_refuse_command),
    COMMAND(ERCOV, tly_pto_refuse_command),
    COMMAND(XB, tly_pto_refuse_command),
};

_Static_assert(PLACE(B_FPATR_R0581, MAX_ABS_EN) == PLACE(B_FPATR, MAX_ABS_EN) &&
                   PLACE(B_DIM_LB0, REG_SRC) == PLACE(B_DIM_LB2, REG_SRC) &&
                   PLACE(B_IOS_R0580, SHARED_TID) == PLACE(B_IOS, SHARED_TID) &&
                   PLACE(BSTART_TEPL, MODE) + 1 == PLACE(BSTART_TEPL, FUNCTION),
               "routines shared by forms need the same places in them");

const tly_pto_command *tly_pto_command_of(uint32_t form) {
    return &commands[form];
}

/* These decode, and are always illegal (asl/block/model/dispatch/decode). */
bool tly_pto_refuse_command(tly_pto_machine *m, const tly_isa_insn *insn,
                            const tly_pto_command *command) {
    (void)command;
    return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_COMMAND_UNSUPPORTED,
                          insn->form, 0, 0, 0);
}

bool tly_pto_execute_command_checked(tly_pto_machine *m, const tly_isa_insn *insn,
                                     const tly_pto_command *command) {
    if (m->core.context.header.system_terminal_pending && !command->ends_block) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_AFTER_SERVICE_REQUEST,
                              insn->form, 0, 0, 0);
    }
    if (command->execute == NULL) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_COMMAND_RETIRED,
                              insn->form, 0, 0, 0);
    }
    return command->execute(m, insn, command);
}
