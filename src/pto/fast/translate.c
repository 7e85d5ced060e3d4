/* SPDX-License-Identifier: Apache-2.0 */
/* Makes units. An abstract state (where the block stands, what the queues hold) goes through the
 * instructions; what it decides leaves no operation behind, and a start or a stop usually none at
 * all. Whatever is not certain to be executed is left to the plain path. */
#include <stddef.h>
#include <string.h>

#include "isa/decode.h"
#include "pto/block/command.h"
#include "pto/block/transfer.h"
#include "pto/fast/cache.h"
#include "pto/fast/ops.h"
#include "pto/registers.h"
#include "pto/run.h"
#include "pto/scalar/values.h"
#include "pto/turn.h"

enum {
    MAX_STEPS = 96,
    MAX_OPS = 4 * MAX_STEPS + 16,
    MAX_SNAPSHOTS = 2 * MAX_STEPS + 2,
    MAX_CALLS = MAX_STEPS
};

/* A unit in the making. */
typedef struct draft {
    tly_pto_machine *m;
    const void *const *labels;
    uint64_t pc;
    uint32_t step;
    bool known; /* the block began or ended in this unit: `block` is its state, a snapshot */
    tly_pto_block_state block;
    uint16_t snapshot;
    uint32_t t_valid;
    uint32_t u_valid;
    uint32_t t_pushes; /* of this unit, not yet in the queues */
    uint32_t u_pushes;
    bool done;
    uint32_t num_ops;
    uint32_t num_snapshots;
    uint32_t num_calls;
    uint32_t num_targets;
    tly_pto_op ops[MAX_OPS];
    tly_pto_where where[MAX_OPS];
    tly_pto_block_state snapshots[MAX_SNAPSHOTS];
    tly_pto_call calls[MAX_CALLS];
    tly_pto_target targets[2];
} draft;

#define PLACE(member) ((uint16_t)offsetof(tly_pto_machine, member))
_Static_assert(offsetof(tly_pto_machine, core.context) < 32768 &&
                   offsetof(tly_pto_machine, core.gprs) + sizeof(((tly_pto_core *)0)->gprs) < 65536,
               "places have 16 bits");

static uint16_t scratch(uint32_t index) {
    return (uint16_t)(PLACE(scratch) + 8 * index);
}

static uint16_t gpr(const draft *d, uint32_t index) {
    return (uint16_t)(PLACE(core.gprs) + 8 * (TLY_PTO_NUM_GPRS * d->m->core.current_pe + index));
}

/* Where a source stands now: a push of this unit, or an entry that was there before. */
static uint16_t source(const draft *d, uint32_t selector) {
    bool t = selector < TLY_PTO_SELECTOR_U;
    if (selector < TLY_PTO_SELECTOR_T) {
        return gpr(d, selector);
    }
    uint32_t age = selector - (t ? TLY_PTO_SELECTOR_T : TLY_PTO_SELECTOR_U);
    uint32_t pushes = t ? d->t_pushes : d->u_pushes;
    if (age < pushes) {
        return scratch((t ? TLY_PTO_SCRATCH_T : TLY_PTO_SCRATCH_U) + pushes - 1 - age);
    }
    return (uint16_t)((t ? PLACE(core.context.t_queue) : PLACE(core.context.u_queue)) +
                      8 * (age - pushes));
}

static bool source_valid(const draft *d, uint32_t selector) {
    if (selector < TLY_PTO_SELECTOR_T) {
        return true;
    }
    return selector < TLY_PTO_SELECTOR_U ? (d->t_valid >> (selector - TLY_PTO_SELECTOR_T) & 1) != 0
                                         : (d->u_valid >> (selector - TLY_PTO_SELECTOR_U) & 1) != 0;
}

/* The place that a destination is written to; a push takes the next one. */
static uint16_t destination(draft *d, uint32_t selector) {
    if (selector == TLY_PTO_PUSH_T) {
        d->t_valid = (d->t_valid << 1 | 1) & 15;
        return scratch(TLY_PTO_SCRATCH_T + d->t_pushes++);
    }
    if (selector == TLY_PTO_PUSH_U) {
        d->u_valid = (d->u_valid << 1 | 1) & 15;
        return scratch(TLY_PTO_SCRATCH_U + d->u_pushes++);
    }
    return selector == 0 || selector >= TLY_PTO_SELECTOR_T ? scratch(TLY_PTO_SCRATCH_SINK)
                                                           : gpr(d, selector);
}

static tly_pto_op *emit(draft *d, uint32_t number) {
    uint32_t at = d->num_ops++;
    d->ops[at] = (tly_pto_op){.label = d->labels[number]};
    d->where[at] = (tly_pto_where){.pc = d->pc,
                                   .snapshot = d->known ? d->snapshot : TLY_PTO_NO_SNAPSHOT,
                                   .step = (uint8_t)d->step,
                                   .t_pushes = (uint8_t)d->t_pushes,
                                   .u_pushes = (uint8_t)d->u_pushes};
    return &d->ops[at];
}

/* The block has changed: what follows is in another state. */
static void take_snapshot(draft *d) {
    d->known = true;
    d->snapshot = (uint16_t)d->num_snapshots;
    d->snapshots[d->num_snapshots++] = d->block;
}

static uint32_t mode_of(const draft *d) {
    const tly_pto_block_state *b = &d->block;
    uint32_t mode = d->t_valid << TLY_PTO_MODE_T_VALID | d->u_valid << TLY_PTO_MODE_U_VALID |
                    (uint32_t)d->m->core.current_pe << TLY_PTO_MODE_ELEMENT;
    if (!b->active) {
        return mode;
    }
    return mode | TLY_PTO_MODE_ACTIVE | (b->body ? TLY_PTO_MODE_BODY : 0) |
           (b->condition_set ? TLY_PTO_MODE_CONDITION_SET : 0) |
           (b->target_set ? TLY_PTO_MODE_TARGET_SET : 0) | (uint32_t)b->kind << TLY_PTO_MODE_KIND |
           (uint32_t)b->transfer << TLY_PTO_MODE_TRANSFER;
}

static void from_mode(draft *d, uint32_t mode) {
    d->t_valid = mode >> TLY_PTO_MODE_T_VALID & 15;
    d->u_valid = mode >> TLY_PTO_MODE_U_VALID & 15;
    d->block = (tly_pto_block_state){
        .active = (mode & TLY_PTO_MODE_ACTIVE) != 0,
        .body = (mode & TLY_PTO_MODE_BODY) != 0,
        .condition_set = (mode & TLY_PTO_MODE_CONDITION_SET) != 0,
        .target_set = (mode & TLY_PTO_MODE_TARGET_SET) != 0,
        .taken_in_state = true,
        .bpcn_in_state = true,
        .kind = mode >> TLY_PTO_MODE_KIND & 3,
        .transfer = mode >> TLY_PTO_MODE_TRANSFER & 7,
    };
}

/* Pushes go into the queues: before a routine reads them, and at exits. */
static void flush(draft *d, bool t) {
    uint32_t pushes = t ? d->t_pushes : d->u_pushes;
    uint32_t first = t ? TLY_PTO_SCRATCH_T : TLY_PTO_SCRATCH_U;
    uint32_t valid = t ? d->t_valid : d->u_valid;
    uint32_t count = pushes < TLY_PTO_QUEUE_DEPTH ? pushes : TLY_PTO_QUEUE_DEPTH;
    bool entries[TLY_PTO_QUEUE_DEPTH];
    if (pushes == 0) {
        return;
    }
    tly_pto_op *op = emit(d, (t ? TLY_PTO_OP_FLUSH_T1 : TLY_PTO_OP_FLUSH_U1) + count - 1);
    uint16_t *places[] = {&op->a, &op->b, &op->c, &op->d};
    for (uint32_t i = 0; i < count; i++) {
        *places[i] = scratch(first + pushes - count + i);
    }
    for (uint32_t i = 0; i < TLY_PTO_QUEUE_DEPTH; i++) {
        entries[i] = (valid >> i & 1) != 0;
    }
    _Static_assert(sizeof(entries) == sizeof(op->extra), "four flags");
    memcpy(&op->extra, entries, sizeof(entries));
    *(t ? &d->t_pushes : &d->u_pushes) = 0;
}

static void flush_queues(draft *d) {
    flush(d, true);
    flush(d, false);
}

static void add_target(draft *d, uint64_t pc) {
    d->targets[d->num_targets++] = (tly_pto_target){pc, mode_of(d)};
}

/* The unit ends; what follows begins at d->pc. */
static void end_at(draft *d) {
    flush_queues(d);
    emit(d, !d->known         ? TLY_PTO_OP_EXIT
            : d->block.active ? TLY_PTO_OP_EXIT_ACTIVE
                              : TLY_PTO_OP_EXIT_STOPPED);
    add_target(d, d->pc);
    d->done = true;
}

static void leave_to_plain(draft *d) {
    emit(d, TLY_PTO_OP_STEP);
    d->done = true;
}

/* scalar instructions */

/* A row of values.def with nothing but numbers for sources. */
static uint64_t fold(uint32_t form, uint64_t I, uint64_t P) {
    const uint64_t L = 0, R = 0, T = 0;
    const uint32_t M = 0, S = 0, X = 0;
    (void)L, (void)R, (void)T, (void)M, (void)S, (void)X;
#define W(v) tly_pto_sext32(v)
    switch (form) {
#define VALUE(form, expression)                                                                    \
    case TLY_FORM_##form:                                                                          \
        return (uint64_t)(expression);
#define PAIR(form, expression, second)
#define COMMIT(form, expression)
#include "pto/scalar/values.def"
#undef VALUE
#undef PAIR
#undef COMMIT
    default:
        return 0;
    }
#undef W
}

/* Number of the operation of a row; the shorter ways where its operands allow them. */
static uint32_t value_number(const tly_pto_operands *o) {
    const uint32_t M = o->modifier;
    uint32_t number = TLY_PTO_NUM_OPS;
    switch (o->form) {
#define VALUE(form, expression)                                                                    \
    case TLY_FORM_##form:                                                                          \
        number = TLY_PTO_OP_##form;                                                                \
        break;
#define PAIR(form, expression, second) VALUE(form, expression)
#define COMMIT(form, expression)       VALUE(form, expression)
#include "pto/scalar/values.def"
#undef VALUE
#undef PAIR
#undef COMMIT
    default:
        return number;
    }
    switch (o->form) {
#define SHIFTED(form, neutral, expression)                                                         \
    case TLY_FORM_##form:                                                                          \
        number = (neutral) ? TLY_PTO_OP_SHIFTED_##form : number;                                   \
        break;
#include "pto/fast/ops.def"
#undef SHIFTED
    default:
        break;
    }
    switch (o->form) {
#define PLAIN(form, neutral, expression)                                                           \
    case TLY_FORM_##form:                                                                          \
        number = (neutral) && o->shift == 0 ? TLY_PTO_OP_PLAIN_##form : number;                    \
        break;
#define CONDITION(form, neutral, expression) PLAIN(form, neutral, expression)
#include "pto/fast/ops.def"
#undef PLAIN
#undef CONDITION
    default:
        break;
    }
    return number;
}

static bool is_constant(const tly_isa_form_row *form) {
    return form->handler == TLY_HANDLER_ADD_TO_PC || form->handler == TLY_HANDLER_MATERIALIZE_LUI ||
           form->handler == TLY_HANDLER_MATERIALIZE_LONG_SIGNED ||
           form->handler == TLY_HANDLER_MATERIALIZE_LONG_UNSIGNED ||
           form->handler == TLY_HANDLER_MATERIALIZE_LONG_UPPER;
}

static bool is_pair(uint32_t form) {
    switch (form) {
#define VALUE(form, expression)
#define COMMIT(form, expression)
#define PAIR(form, expression, second) case TLY_FORM_##form:
#include "pto/scalar/values.def"
#undef VALUE
#undef PAIR
#undef COMMIT
        return true;
    default:
        return false;
    }
}

static void put_value(draft *d, const tly_pto_operands *o, const tly_isa_form_row *form,
                      bool condition) {
    tly_pto_op *op;
    if (is_constant(form)) {
        op = emit(d, TLY_PTO_OP_C_MOVI);
        op->imm = fold(o->form, (uint64_t)o->immediate, d->pc);
        op->d = destination(d, o->destination);
        return;
    }
    op = emit(d, value_number(o));
    op->a = source(d, o->left);
    op->b = source(d, o->right);
    op->c = source(d, o->third);
    op->imm = (uint64_t)o->immediate;
    op->modifier = o->modifier;
    op->shift = o->shift;
    op->extra = o->extra;
    if (condition) {
        d->block.condition_set = true;
        d->block.taken_in_state = true;
        if (d->known) {
            take_snapshot(d);
        }
        return;
    }
    op->d = destination(d, o->destination);
    if (is_pair(o->form)) {
        op->d2 = destination(d, o->second_destination);
    }
}

/* Numbers of the eight ways of an access follow each other (fast/ops.h). */
enum { WAY_PRE = 1, WAY_POST = 2, WAY_INDEXED = 3, WAY_PAIR = 6, WAY_INDEXED_PAIR = 7 };

static uint32_t access_number(const tly_isa_access *access, bool store, bool indexed, bool pair) {
    static const uint16_t loads[][2] = {
        {TLY_PTO_OP_LOAD_U8, TLY_PTO_OP_LOAD_S8},
        {TLY_PTO_OP_LOAD_U16, TLY_PTO_OP_LOAD_S16},
        {TLY_PTO_OP_LOAD_U32, TLY_PTO_OP_LOAD_S32},
        {TLY_PTO_OP_LOAD_U64, TLY_PTO_OP_LOAD_U64},
    };
    static const uint16_t stores[] = {TLY_PTO_OP_STORE_8, TLY_PTO_OP_STORE_16, TLY_PTO_OP_STORE_32,
                                      TLY_PTO_OP_STORE_64};
    uint32_t log = (uint32_t)__builtin_ctz(access->size);
    uint32_t number = store ? stores[log] : loads[log][access->is_signed];
    if (pair) {
        return number + (indexed ? WAY_INDEXED_PAIR : WAY_PAIR);
    }
    return number + (indexed ? WAY_INDEXED : 0) +
           (access->update == TLY_UPDATE_PRE    ? WAY_PRE
            : access->update == TLY_UPDATE_POST ? WAY_POST
                                                : 0);
}

static void put_access(draft *d, const tly_pto_operands *o, const tly_isa_access *access) {
    bool pair = access->action == TLY_ACCESS_LOAD_PAIR || access->action == TLY_ACCESS_STORE_PAIR;
    bool store = access->action == TLY_ACCESS_STORE || access->action == TLY_ACCESS_STORE_PAIR;
    bool indexed = access->address == TLY_ADDRESS_REGISTER;
    uint32_t shift = o->has_shift ? o->shift : access->scale;
    uint16_t base = source(d, o->left);
    uint16_t index = source(d, o->right);
    uint64_t offset = (uint64_t)o->immediate << access->scale;
    if (access->address == TLY_ADDRESS_PC) {
        base = gpr(d, 0); /* reads zero */
        offset += d->pc & ~UINT64_C(3);
    } else if (access->address == TLY_ADDRESS_IMMEDIATE && store) {
        base = index;
    }
    if (indexed && o->modifier != 0) {
        tly_pto_op *prepare = emit(d, TLY_PTO_OP_INDEX);
        prepare->b = index;
        prepare->modifier = o->modifier;
        prepare->shift = (uint8_t)shift;
        prepare->d = index = scratch(TLY_PTO_SCRATCH_INDEX);
        shift = 0;
    }
    tly_pto_op *op = emit(d, access_number(access, store, indexed, pair));
    op->a = base;
    op->b = index;
    op->imm = offset;
    op->shift = (uint8_t)shift;
    if (store) {
        op->c = source(d, o->has_third ? o->third : o->left);
        op->d2 = source(d, o->fourth);
    }
    if (!store || access->update != TLY_UPDATE_NONE) {
        op->d = destination(d, o->destination);
    }
    if (!store && (pair || access->update != TLY_UPDATE_NONE)) {
        op->d2 = destination(d, o->second_destination);
    }
}

static void put_prefetch(draft *d, const tly_pto_operands *o, const tly_isa_access *access) {
    if (!access->gives_address) {
        return;
    }
    tly_pto_op *op;
    if (access->address == TLY_ADDRESS_REGISTER) {
        tly_pto_op *prepare = emit(d, TLY_PTO_OP_INDEX);
        prepare->b = source(d, o->right);
        prepare->modifier = o->modifier;
        prepare->shift = (uint8_t)(o->has_shift ? o->shift : access->scale);
        prepare->d = scratch(TLY_PTO_SCRATCH_INDEX);
        op = emit(d, TLY_PTO_OP_C_ADD);
        op->b = scratch(TLY_PTO_SCRATCH_INDEX);
    } else {
        op = emit(d, TLY_PTO_OP_C_ADDI);
        op->imm = (uint64_t)o->immediate << access->scale;
    }
    op->a = source(d, o->left);
    op->d = destination(d, o->destination);
}

/* The routine reads and writes registers and queues of the machine's state. */
static void put_call(draft *d, const tly_pto_operands *o, bool safe) {
    flush_queues(d);
    tly_pto_call *call = &d->calls[d->num_calls++];
    tly_pto_op *op = emit(d, safe ? TLY_PTO_OP_CALL_SAFE : TLY_PTO_OP_CALL);
    *call = (tly_pto_call){tly_pto_scalar_routine_of(o->form), *o};
    op->call = call;
    if (o->destination == TLY_PTO_PUSH_T) {
        d->t_valid = (d->t_valid << 1 | 1) & 15;
    } else if (o->destination == TLY_PTO_PUSH_U) {
        d->u_valid = (d->u_valid << 1 | 1) & 15;
    }
}

static void put_target(draft *d, const tly_pto_operands *o) {
    tly_pto_op *op = emit(d, TLY_PTO_OP_SET_TARGET);
    op->a = source(d, o->left);
    op->extra = o->form == TLY_FORM_C_SETC_TGT;
    d->block.bpcn_in_state = true;
    d->block.target_set = d->block.target_set || op->extra != 0;
    if (d->known) {
        take_snapshot(d);
    }
}

/* Whether a form may stand here (tly_pto_execute_scalar decides the same from the state). */
static bool may_stand(const tly_pto_block_state *b, bool enters_body, uint32_t form) {
    bool body = b->body || enters_body;
    bool target = b->active && b->kind <= TLY_PTO_KIND_FLOATING;
    switch (tly_pto_standing_of(form)) {
    case TLY_PTO_ANYWHERE:
        return tly_pto_scalar_routine_of(form) != NULL;
    case TLY_PTO_AS_CONDITION:
        return body && b->transfer == TLY_PTO_TRANSFER_CONDITIONAL && !b->condition_set;
    case TLY_PTO_AS_TARGET:
        return target;
    case TLY_PTO_AS_ONLY_TARGET:
        return target && !b->target_set;
    default:
        return false; /* system instructions are the plain path's */
    }
}

/* What is empty goes to the plain path, which may fault. */
static bool sources_valid(const draft *d, const tly_pto_operands *o) {
    return source_valid(d, o->left) && source_valid(d, o->right) && source_valid(d, o->third) &&
           source_valid(d, o->fourth);
}

static void put_scalar(draft *d, const tly_isa_insn *insn) {
    const tly_isa_form_row *form = tly_isa_form_at(insn->form);
    tly_pto_operands o;
    tly_pto_operands_of(insn, &o);
    bool enters = d->block.active && !d->block.body;
    if (!may_stand(&d->block, enters, insn->form) || !sources_valid(d, &o) ||
        (d->m->team != NULL && tly_pto_takes_turn(form))) {
        leave_to_plain(d);
        return;
    }
    if (enters) {
        d->block.body = true;
        if (d->known) {
            take_snapshot(d);
        } else {
            emit(d, TLY_PTO_OP_ENTER_BODY);
        }
    }
    switch (form->handler) {
    case TLY_HANDLER_EXECUTE_SCALAR_LOAD:
    case TLY_HANDLER_EXECUTE_SCALAR_LOAD_PAIR:
    case TLY_HANDLER_EXECUTE_SCALAR_STORE:
    case TLY_HANDLER_EXECUTE_SCALAR_STORE_PAIR:
        put_access(d, &o, &form->access);
        break;
    case TLY_HANDLER_SCALAR_PREFETCH:
        put_prefetch(d, &o, &form->access);
        break;
    case TLY_HANDLER_FLOATING_UNARY:
    case TLY_HANDLER_FLOATING_BINARY:
    case TLY_HANDLER_FLOATING_FUSED:
    case TLY_HANDLER_FLOATING_COMPARE:
    case TLY_HANDLER_CONVERT_FLOATING_ENCODING:
        put_call(d, &o, true);
        break;
    case TLY_HANDLER_LOAD_RESERVED:
    case TLY_HANDLER_STORE_CONDITIONAL:
    case TLY_HANDLER_ATOMIC_READ_MODIFY_WRITE:
    case TLY_HANDLER_COMPARE_AND_SWAP:
    case TLY_HANDLER_EXECUTE_SCALAR_DMACOPY64:
        put_call(d, &o, false);
        break;
    case TLY_HANDLER_SET_COMMIT_TARGET:
        put_target(d, &o);
        break;
    case TLY_HANDLER_SET_RETURN_ADDRESS: {
        tly_pto_op *op = emit(d, TLY_PTO_OP_SET_RETURN);
        op->d = gpr(d, TLY_PTO_RA);
        op->imm = d->pc + ((uint64_t)o.immediate << 1);
        break;
    }
    case TLY_HANDLER_JUMP_RELATIVE:
        d->step++;
        d->pc += (uint64_t)o.immediate << 1;
        return;
    case TLY_HANDLER_JUMP_REGISTER: {
        flush_queues(d);
        tly_pto_op *op = emit(d, TLY_PTO_OP_EXIT_JUMP);
        op->a = source(d, o.left);
        op->imm = (uint64_t)o.immediate << 1;
        add_target(d, 0);
        d->step++;
        d->done = true;
        return;
    }
    default:
        put_value(d, &o, form, tly_pto_standing_of(insn->form) == TLY_PTO_AS_CONDITION);
        break;
    }
    d->step++;
    d->pc += insn->len;
}

/* starts and stops */

/* The rest of an exit that a stop makes. */
static void stopped_at(draft *d, uint64_t pc) {
    d->block = (tly_pto_block_state){0};
    take_snapshot(d);
    d->step++;
    d->pc = pc;
}

static void put_stop(draft *d, const tly_isa_insn *insn) {
    const tly_pto_block_state b = d->block;
    uint64_t sequential = d->pc + insn->len;
    if (!b.active) {
        leave_to_plain(d);
        return;
    }
    if (b.transfer == TLY_PTO_TRANSFER_CONDITIONAL) {
        if (!b.taken_in_state) { /* no condition was set: not taken */
            stopped_at(d, sequential);
        } else if (b.bpcn_in_state) { /* two ways, and one that only the state knows */
            leave_to_plain(d);
        } else {
            flush_queues(d);
            emit(d, TLY_PTO_OP_EXIT_COND);
            stopped_at(d, sequential);
            add_target(d, b.bpcn);
            add_target(d, sequential);
            d->done = true;
        }
        return;
    }
    if (b.transfer == TLY_PTO_TRANSFER_FALLTHROUGH) {
        stopped_at(d, sequential);
        return;
    }
    if (b.bpcn_in_state) {
        flush_queues(d);
        emit(d, TLY_PTO_OP_EXIT_INDIRECT);
        stopped_at(d, sequential);
        add_target(d, 0);
        d->done = true;
        return;
    }
    stopped_at(d, b.bpcn);
}

/* A start that only transfers. Commits the block before it, whose target is not followed. */
static void put_start(draft *d, const tly_isa_insn *insn, const tly_pto_command *command) {
    const tly_pto_block_state before = d->block;
    tly_pto_opening opening;
    tly_pto_operation operation;
    tly_pto_describe_start(insn, command, d->pc, &opening, &operation);
    bool indirect = opening.transfer == TLY_PTO_TRANSFER_INDIRECT ||
                    opening.transfer == TLY_PTO_TRANSFER_INDIRECT_CALL;
    bool returns = opening.transfer == TLY_PTO_TRANSFER_RETURN;
    bool target_from_state = returns || (indirect && before.bpcn_in_state);
    if (operation.operation_class != TLY_PTO_CLASS_CONTROL ||
        (indirect && (!before.active || before.kind > TLY_PTO_KIND_FLOATING)) ||
        /* the commit would look at a target that only the state knows */
        (before.active && before.bpcn_in_state && !indirect &&
         before.transfer != TLY_PTO_TRANSFER_FALLTHROUGH)) {
        leave_to_plain(d);
        return;
    }
    if (indirect && !before.bpcn_in_state) {
        opening.target = before.bpcn;
    }
    if (!target_from_state && (opening.target & 1) != 0) {
        leave_to_plain(d);
        return;
    }
    if (indirect && before.bpcn_in_state) {
        emit(d, TLY_PTO_OP_CHECK_TARGET);
    }
    if (returns) {
        emit(d, TLY_PTO_OP_TAKE_RETURN);
    }
    if (opening.transfer == TLY_PTO_TRANSFER_CALL ||
        opening.transfer == TLY_PTO_TRANSFER_INDIRECT_CALL) {
        tly_pto_op *op = emit(d, TLY_PTO_OP_SET_RETURN);
        op->d = gpr(d, TLY_PTO_RA);
        op->imm = opening.return_target;
    }
    bool system = opening.kind == TLY_PTO_KIND_SYSTEM;
    d->block = (tly_pto_block_state){
        .active = true,
        .kind = opening.kind,
        .transfer = system ? TLY_PTO_TRANSFER_FALLTHROUGH : opening.transfer,
        .taken = !system && opening.taken,
        .bpcn = system ? 0 : opening.target,
        .bpcn_in_state = target_from_state && !system,
        .bpc = d->pc,
        .sequential = opening.sequential,
        .return_target = opening.return_target,
        .operation = operation,
    };
    take_snapshot(d);
    d->step++;
    d->pc = opening.sequential;
}

static void put_command(draft *d, const tly_isa_insn *insn) {
    const tly_isa_form_row *form = tly_isa_form_at(insn->form);
    if (form->handler == TLY_HANDLER_EXECUTE_BUNDLE_STOP) {
        put_stop(d, insn);
    } else if (form->handler == TLY_HANDLER_EXECUTE_BUNDLE_START) {
        put_start(d, insn, tly_pto_command_of(insn->form));
    } else {
        leave_to_plain(d);
    }
}

/* Reads and decodes the instruction at d->pc; its length is 0 where none can be fetched, or where
 * code is not to be kept. Returns whether it is a legal one. */
static bool read_instruction(const draft *d, tly_isa_insn *out_insn, uint32_t *out_len) {
    uint64_t word;
    uint32_t bits = tly_pto_fetch(d->m, d->pc, &word);
    if (bits == 0 || !tly_pto_code_stable(d->m->code, d->pc, bits / 8)) {
        return false;
    }
    *out_len = bits / 8;
    return tly_isa_decode(word, bits / 8, d->m->release, out_insn, NULL) == TLY_OK;
}

/* Room for one more instruction, whatever it is. */
static bool has_room(const draft *d) {
    enum { PUSHES_OF_ONE = 2, OPS_OF_ONE = 8 };
    return d->step < MAX_STEPS && d->num_ops + OPS_OF_ONE < MAX_OPS &&
           d->num_snapshots + 3 < MAX_SNAPSHOTS &&
           d->t_pushes + PUSHES_OF_ONE <= TLY_PTO_SCRATCH_PUSHES &&
           d->u_pushes + PUSHES_OF_ONE <= TLY_PTO_SCRATCH_PUSHES;
}

/* Copies the draft into the arena. */
static tly_pto_unit *finish(const draft *d, uint64_t pc, uint32_t mode, bool *out_full) {
    tly_pto_code *code = d->m->code;
    size_t unit_len = sizeof(tly_pto_unit) + sizeof(tly_pto_op) * d->num_ops;
    tly_pto_unit *unit = tly_pto_code_room(code, unit_len);
    tly_pto_where *where = tly_pto_code_room(code, sizeof(*where) * d->num_ops);
    tly_pto_block_state *snapshots = tly_pto_code_room(code, sizeof(*snapshots) * d->num_snapshots);
    tly_pto_call *calls = tly_pto_code_room(code, sizeof(*calls) * d->num_calls);
    tly_pto_target *targets = tly_pto_code_room(code, sizeof(*targets) * d->num_targets);
    if (unit == NULL || where == NULL || snapshots == NULL || calls == NULL || targets == NULL) {
        *out_full = true;
        return NULL;
    }
    memcpy(where, d->where, sizeof(*where) * d->num_ops);
    memcpy(snapshots, d->snapshots, sizeof(*snapshots) * d->num_snapshots);
    memcpy(calls, d->calls, sizeof(*calls) * d->num_calls);
    memcpy(targets, d->targets, sizeof(*targets) * d->num_targets);
    *unit = (tly_pto_unit){.pc = pc,
                           .mode = mode,
                           .num_steps = d->step,
                           .where = where,
                           .snapshots = snapshots,
                           .targets = targets};
    memcpy(unit->ops, d->ops, sizeof(tly_pto_op) * d->num_ops);
    for (uint32_t i = 0; i < d->num_ops; i++) {
        if (unit->ops[i].label == d->labels[TLY_PTO_OP_CALL] ||
            unit->ops[i].label == d->labels[TLY_PTO_OP_CALL_SAFE]) {
            unit->ops[i].call = calls + (d->ops[i].call - d->calls);
        }
    }
    return unit;
}

tly_pto_unit *tly_pto_translate(tly_pto_machine *m, uint64_t pc, uint32_t mode, bool *out_full) {
    draft d = {.m = m, .labels = tly_pto_fast_labels(), .pc = pc};
    *out_full = false;
    from_mode(&d, mode);
    while (!d.done) {
        tly_isa_insn insn;
        uint32_t len = 0;
        bool around = d.step > 0 && d.pc == pc && mode_of(&d) == mode; /* a loop */
        bool here = d.pc != m->code->stop_pc && !around && has_room(&d);
        bool legal = here && read_instruction(&d, &insn, &len);
        if (len == 0) {
            if (d.step == 0) {
                return NULL;
            }
            end_at(&d);
        } else if (!legal) {
            leave_to_plain(&d);
        } else if (!tly_pto_code_mark(m->code, d.pc, len, insn.word)) {
            *out_full = true;
            return NULL;
        } else if (tly_isa_form_at(insn.form)->surface == TLY_ISA_COMMAND) {
            put_command(&d, &insn);
        } else {
            put_scalar(&d, &insn);
        }
    }
    return finish(&d, pc, mode, out_full);
}
