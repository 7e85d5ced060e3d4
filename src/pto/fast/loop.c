/* SPDX-License-Identifier: Apache-2.0 */
/* Executes predecoded code. Each operation ends with a jump to the next one's label; nothing is
 * decided here but what depends on values. An operation that cannot go on leaves for the plain path
 * with nothing of its instruction done. */
#include <stddef.h>
#include <string.h>

#include "base/bytes.h"
#include "pto/fast/code.h"
#include "pto/fast/ops.h"
#include "pto/memory.h"
#include "pto/scalar/values.h"

/* A register, a queue entry or a value kept in between, by its place. */
#define AT(place) (*(uint64_t *)(void *)((char *)m + (place)))

/* The names that expressions use; most use few of them. P is folded when code is made. */
#define OPERANDS                                                                                   \
    uint64_t L __attribute__((unused)) = AT(op->a);                                                \
    uint64_t R __attribute__((unused)) = AT(op->b);                                                \
    uint64_t T __attribute__((unused)) = AT(op->c);                                                \
    uint64_t I __attribute__((unused)) = op->imm;                                                  \
    uint64_t P __attribute__((unused)) = 0;                                                        \
    uint32_t S __attribute__((unused)) = op->shift;                                                \
    uint32_t X __attribute__((unused)) = op->extra;                                                \
    uint32_t M __attribute__((unused)) = op->modifier
#define W(v) tly_pto_sext32(v)

#define NEXT                                                                                       \
    do {                                                                                           \
        op++;                                                                                      \
        goto * op->label;                                                                          \
    } while (0)

/* Turned right by the bits that have to be zero, an address that is not aligned is larger than any
 * that is, and one comparison checks both. `limit` is a multiple of 8. */
static inline bool reachable(uint64_t address, uint32_t bytes, uint64_t limit) {
    uint32_t bits = (uint32_t)__builtin_ctz(bytes);
    return (address >> bits | address << (-bits & 63)) < limit >> bits;
}

static inline bool pair_reachable(uint64_t address, uint32_t bytes, uint64_t limit) {
    return reachable(address, bytes, limit) && address + bytes < limit;
}

#define READ(type, at)                                                                             \
    ((uint64_t)(int64_t)(type)(sizeof(type) == 1   ? *(at)                                         \
                               : sizeof(type) == 2 ? tly_base_load_u16(at)                         \
                               : sizeof(type) == 4 ? tly_base_load_u32(at)                         \
                                                   : tly_base_load_u64(at)))

/* Memory as the current ring sees it; read anew behind every routine that may change it. */
typedef struct window {
    uint8_t *bytes;
    const int8_t *lines;
    uint64_t limit;
    uint64_t reserved; /* line of the reservation, or none */
} window;

static inline window look(const tly_pto_machine *m) {
    const tly_pto_reservation *reservation = &m->core.reservation;
    return (window){m->memory.bytes, tly_pto_code_lines(m->code),
                    tly_pto_memory_limit(m) & ~UINT64_C(7),
                    reservation->valid ? reservation->address / TLY_PTO_GRANULE : UINT64_MAX};
}

/* Whether a store may be done here: no code was made from the line, and it is not reserved. */
static inline bool quiet(const window *w, uint64_t address) {
    uint64_t line = address / TLY_PTO_GRANULE;
    return w->lines[line] >= 0 && line != w->reserved;
}

enum {
    T_QUEUE = offsetof(tly_pto_machine, core.context.t_queue),
    U_QUEUE = offsetof(tly_pto_machine, core.context.u_queue),
    T_VALID = offsetof(tly_pto_machine, core.context.t_queue_valid),
    U_VALID = offsetof(tly_pto_machine, core.context.u_queue_valid)
};

/* Queues with 1 to 4 pushes whose places are a, b, c, d, oldest first; imm is the validity behind
 * them as the machine stores it. */
#define QUEUE(queue, i) AT((queue) + 8 * (i))
#define FLUSH1(queue, valid)                                                                       \
    QUEUE(queue, 3) = QUEUE(queue, 2);                                                             \
    QUEUE(queue, 2) = QUEUE(queue, 1);                                                             \
    QUEUE(queue, 1) = QUEUE(queue, 0);                                                             \
    QUEUE(queue, 0) = AT(op->a);                                                                   \
    memcpy((char *)m + (valid), &op->extra, sizeof(op->extra))
#define FLUSH2(queue, valid)                                                                       \
    QUEUE(queue, 3) = QUEUE(queue, 1);                                                             \
    QUEUE(queue, 2) = QUEUE(queue, 0);                                                             \
    QUEUE(queue, 1) = AT(op->a);                                                                   \
    QUEUE(queue, 0) = AT(op->b);                                                                   \
    memcpy((char *)m + (valid), &op->extra, sizeof(op->extra))
#define FLUSH3(queue, valid)                                                                       \
    QUEUE(queue, 3) = QUEUE(queue, 0);                                                             \
    QUEUE(queue, 2) = AT(op->a);                                                                   \
    QUEUE(queue, 1) = AT(op->b);                                                                   \
    QUEUE(queue, 0) = AT(op->c);                                                                   \
    memcpy((char *)m + (valid), &op->extra, sizeof(op->extra))
#define FLUSH4(queue, valid)                                                                       \
    QUEUE(queue, 3) = AT(op->a);                                                                   \
    QUEUE(queue, 2) = AT(op->b);                                                                   \
    QUEUE(queue, 1) = AT(op->c);                                                                   \
    QUEUE(queue, 0) = AT(op->d);                                                                   \
    memcpy((char *)m + (valid), &op->extra, sizeof(op->extra))

/* Where the block stands if it is not in the machine's state: behind a stop, nothing is open. */
static const tly_pto_block_state nothing_open;

static void restore(tly_pto_machine *m, const tly_pto_unit *unit, uint32_t snapshot,
                    bool *stopped) {
    if (snapshot != TLY_PTO_NO_SNAPSHOT) {
        tly_pto_restore_block(m, &unit->snapshots[snapshot]);
    } else if (*stopped) {
        tly_pto_restore_block(m, &nothing_open);
    }
    *stopped = false;
}

/* The instructions before `pc` were executed. */
static void finish(tly_pto_machine *m, uint64_t pc, uint64_t first_cycle, uint64_t left,
                   uint64_t *steps) {
    if (left != *steps) {
        m->core.last_fault = TLY_PTO_FAULT_NONE;
        m->core.fault_address = 0;
    }
    m->core.context.tpc = pc;
    m->core.base.cycle = first_cycle - left;
    *steps = left;
}

/* The whole loop: `m` NULL only asks for the labels. Places are offsets that were checked when the
 * code was made; checks of every pointer would take compilers minutes in a function with so many
 * jumps. */
__attribute__((no_sanitize("null", "alignment", "object-size",
                           "pointer-overflow"))) static const void *const *
run(tly_pto_machine *m, tly_pto_unit *unit, uint64_t *steps, tly_pto_fast_result *out_result) {
    static const void *const labels[TLY_PTO_NUM_OPS] = {
#define VALUE(form, expression)              [TLY_PTO_OP_##form] = &&L_##form,
#define PAIR(form, expression, second)       [TLY_PTO_OP_##form] = &&L_##form,
#define COMMIT(form, expression)             [TLY_PTO_OP_##form] = &&L_##form,
#define PLAIN(form, neutral, expression)     [TLY_PTO_OP_PLAIN_##form] = &&L_PLAIN_##form,
#define SHIFTED(form, neutral, expression)   [TLY_PTO_OP_SHIFTED_##form] = &&L_SHIFTED_##form,
#define CONDITION(form, neutral, expression) [TLY_PTO_OP_PLAIN_##form] = &&L_PLAIN_##form,
#define LOAD(name, bytes, type)                                                                    \
    [TLY_PTO_OP_LOAD_##name] = &&L_LOAD_##name,                                                    \
    [TLY_PTO_OP_LOAD_PRE_##name] = &&L_LOAD_PRE_##name,                                            \
    [TLY_PTO_OP_LOAD_POST_##name] = &&L_LOAD_POST_##name,                                          \
    [TLY_PTO_OP_LOADX_##name] = &&L_LOADX_##name,                                                  \
    [TLY_PTO_OP_LOADX_PRE_##name] = &&L_LOADX_PRE_##name,                                          \
    [TLY_PTO_OP_LOADX_POST_##name] = &&L_LOADX_POST_##name,                                        \
    [TLY_PTO_OP_LOAD_PAIR_##name] = &&L_LOAD_PAIR_##name,                                          \
    [TLY_PTO_OP_LOADX_PAIR_##name] = &&L_LOADX_PAIR_##name,
#define STORE(name, bytes, type)                                                                   \
    [TLY_PTO_OP_STORE_##name] = &&L_STORE_##name,                                                  \
    [TLY_PTO_OP_STORE_PRE_##name] = &&L_STORE_PRE_##name,                                          \
    [TLY_PTO_OP_STORE_POST_##name] = &&L_STORE_POST_##name,                                        \
    [TLY_PTO_OP_STOREX_##name] = &&L_STOREX_##name,                                                \
    [TLY_PTO_OP_STOREX_PRE_##name] = &&L_STOREX_PRE_##name,                                        \
    [TLY_PTO_OP_STOREX_POST_##name] = &&L_STOREX_POST_##name,                                      \
    [TLY_PTO_OP_STORE_PAIR_##name] = &&L_STORE_PAIR_##name,                                        \
    [TLY_PTO_OP_STOREX_PAIR_##name] = &&L_STOREX_PAIR_##name,
#define CONTROL(name) [TLY_PTO_OP_##name] = &&L_##name,
#include "pto/fast/ops.def"
#include "pto/scalar/values.def"
#undef VALUE
#undef PAIR
#undef COMMIT
#undef PLAIN
#undef SHIFTED
#undef CONDITION
#undef LOAD
#undef STORE
#undef CONTROL
    };
    if (m == NULL) {
        return labels;
    }

    const tly_pto_op *op = unit->ops;
    window w = look(m);
    const uint64_t first_cycle = m->core.base.cycle + *steps;
    uint64_t left = *steps - unit->num_steps; /* as if the unit were done */
    uint64_t generation = tly_pto_code_generation(m->code);
    bool stopped = false; /* a stop was executed that the machine's state does not show */
    tly_pto_unit *next;
    uint64_t target;
    uint32_t mode;
    *out_result = (tly_pto_fast_result){false, false};
    goto * op->label;

    /* values */
#define VALUE(form, expression)                                                                    \
    L_##form : {                                                                                   \
        OPERANDS;                                                                                  \
        AT(op->d) = (uint64_t)(expression);                                                        \
        NEXT;                                                                                      \
    }
#define PAIR(form, expression, second)                                                             \
    L_##form : {                                                                                   \
        OPERANDS;                                                                                  \
        uint64_t first_value = (expression);                                                       \
        uint64_t second_value = (second);                                                          \
        AT(op->d) = first_value;                                                                   \
        AT(op->d2) = second_value;                                                                 \
        NEXT;                                                                                      \
    }
#define SET_CONDITION(expression)                                                                  \
    bool holds = (expression);                                                                     \
    m->core.context.commit_argument = holds;                                                       \
    m->core.context.barg.taken = holds;                                                            \
    m->core.context.header.condition_set = true
#define COMMIT(form, expression)                                                                   \
    L_##form : {                                                                                   \
        OPERANDS;                                                                                  \
        SET_CONDITION(expression);                                                                 \
        NEXT;                                                                                      \
    }
#define PLAIN(form, neutral, expression)     VALUE(PLAIN_##form, expression)
#define SHIFTED(form, neutral, expression)   VALUE(SHIFTED_##form, expression)
#define CONDITION(form, neutral, expression) COMMIT(PLAIN_##form, expression)
#include "pto/scalar/values.def"

    /* memory */
#define MOVED_LOAD(label, len_, type, address_, updated_)                                          \
    L_##label : {                                                                                  \
        uint64_t base __attribute__((unused)) = AT(op->a);                                         \
        uint64_t updated = updated_;                                                               \
        uint64_t address = address_;                                                               \
        if (__builtin_expect(!reachable(address, len_, w.limit), 0)) {                             \
            goto leave;                                                                            \
        }                                                                                          \
        AT(op->d) = READ(type, w.bytes + address);                                                 \
        AT(op->d2) = updated;                                                                      \
        NEXT;                                                                                      \
    }
#define ONE_LOAD(label, len_, type, address_)                                                      \
    L_##label : {                                                                                  \
        uint64_t address = address_;                                                               \
        if (__builtin_expect(!reachable(address, len_, w.limit), 0)) {                             \
            goto leave;                                                                            \
        }                                                                                          \
        AT(op->d) = READ(type, w.bytes + address);                                                 \
        NEXT;                                                                                      \
    }
#define TWO_LOADS(label, len_, type, address_)                                                     \
    L_##label : {                                                                                  \
        uint64_t address = address_;                                                               \
        if (__builtin_expect(!pair_reachable(address, len_, w.limit), 0)) {                        \
            goto leave;                                                                            \
        }                                                                                          \
        uint64_t first_value = READ(type, w.bytes + address);                                      \
        uint64_t second_value = READ(type, w.bytes + address + (len_));                            \
        AT(op->d) = first_value;                                                                   \
        AT(op->d2) = second_value;                                                                 \
        NEXT;                                                                                      \
    }
#define OFFSET  AT(op->a) + op->imm
#define INDEXED AT(op->a) + (AT(op->b) << op->shift)
#define LOAD(name, len_, type)                                                                     \
    ONE_LOAD(LOAD_##name, len_, type, OFFSET)                                                      \
    ONE_LOAD(LOADX_##name, len_, type, INDEXED)                                                    \
    MOVED_LOAD(LOAD_PRE_##name, len_, type, updated, OFFSET)                                       \
    MOVED_LOAD(LOADX_PRE_##name, len_, type, updated, INDEXED)                                     \
    MOVED_LOAD(LOAD_POST_##name, len_, type, base, OFFSET)                                         \
    MOVED_LOAD(LOADX_POST_##name, len_, type, base, INDEXED)                                       \
    TWO_LOADS(LOAD_PAIR_##name, len_, type, OFFSET)                                                \
    TWO_LOADS(LOADX_PAIR_##name, len_, type, INDEXED)

#define ONE_STORE(label, len_, address_)                                                           \
    L_##label : {                                                                                  \
        uint64_t address = address_;                                                               \
        if (__builtin_expect(!reachable(address, len_, w.limit), 0) ||                             \
            __builtin_expect(!quiet(&w, address), 0)) {                                            \
            goto leave;                                                                            \
        }                                                                                          \
        tly_base_store_uint(w.bytes + address, len_, AT(op->c));                                   \
        NEXT;                                                                                      \
    }
#define MOVED_STORE(label, len_, address_, updated_)                                               \
    L_##label : {                                                                                  \
        uint64_t base __attribute__((unused)) = AT(op->a);                                         \
        uint64_t updated = updated_;                                                               \
        uint64_t address = address_;                                                               \
        if (__builtin_expect(!reachable(address, len_, w.limit), 0) ||                             \
            __builtin_expect(!quiet(&w, address), 0)) {                                            \
            goto leave;                                                                            \
        }                                                                                          \
        tly_base_store_uint(w.bytes + address, len_, AT(op->c));                                   \
        AT(op->d) = updated;                                                                       \
        NEXT;                                                                                      \
    }
#define TWO_STORES(label, len_, address_)                                                          \
    L_##label : {                                                                                  \
        uint64_t address = address_;                                                               \
        if (__builtin_expect(!pair_reachable(address, len_, w.limit), 0) ||                        \
            __builtin_expect(!quiet(&w, address) || !quiet(&w, address + (len_)), 0)) {            \
            goto leave;                                                                            \
        }                                                                                          \
        uint64_t first_value = AT(op->c);                                                          \
        uint64_t second_value = AT(op->d2);                                                        \
        tly_base_store_uint(w.bytes + address, len_, first_value);                                 \
        tly_base_store_uint(w.bytes + address + (len_), len_, second_value);                       \
        NEXT;                                                                                      \
    }
#define STORE(name, len_, type)                                                                    \
    ONE_STORE(STORE_##name, len_, OFFSET)                                                          \
    ONE_STORE(STOREX_##name, len_, INDEXED)                                                        \
    MOVED_STORE(STORE_PRE_##name, len_, updated, OFFSET)                                           \
    MOVED_STORE(STOREX_PRE_##name, len_, updated, INDEXED)                                         \
    MOVED_STORE(STORE_POST_##name, len_, base, OFFSET)                                             \
    MOVED_STORE(STOREX_POST_##name, len_, base, INDEXED)                                           \
    TWO_STORES(STORE_PAIR_##name, len_, OFFSET)                                                    \
    TWO_STORES(STOREX_PAIR_##name, len_, INDEXED)
#include "pto/fast/ops.def"

L_INDEX:
    AT(op->d) = tly_pto_right_indexed(AT(op->b), op->modifier, op->shift);
    NEXT;

    /* queues */
L_FLUSH_T1:
    FLUSH1(T_QUEUE, T_VALID);
    NEXT;
L_FLUSH_T2:
    FLUSH2(T_QUEUE, T_VALID);
    NEXT;
L_FLUSH_T3:
    FLUSH3(T_QUEUE, T_VALID);
    NEXT;
L_FLUSH_T4:
    FLUSH4(T_QUEUE, T_VALID);
    NEXT;
L_FLUSH_U1:
    FLUSH1(U_QUEUE, U_VALID);
    NEXT;
L_FLUSH_U2:
    FLUSH2(U_QUEUE, U_VALID);
    NEXT;
L_FLUSH_U3:
    FLUSH3(U_QUEUE, U_VALID);
    NEXT;
L_FLUSH_U4:
    FLUSH4(U_QUEUE, U_VALID);
    NEXT;

    /* blocks */
L_ENTER_BODY:
    m->core.context.bundle_body_active = true;
    NEXT;
L_SET_TARGET:
    m->core.context.barg.bpcn = AT(op->a);
    if (op->extra != 0) {
        m->core.context.header.commit_target_set = true;
    }
    NEXT;
L_SET_RETURN:
    AT(op->d) = op->imm;
    m->core.context.return_address = op->imm;
    NEXT;
L_TAKE_RETURN:
    if ((m->core.context.return_address & 1) != 0) {
        goto leave;
    }
    m->core.context.barg.bpcn = m->core.context.return_address;
    NEXT;
L_CHECK_TARGET:
    if ((m->core.context.barg.bpcn & 1) != 0) {
        goto leave;
    }
    NEXT;

    /* routines of the plain path */
L_CALL_SAFE:
    op->call->routine(m, &op->call->operands);
    NEXT;
L_CALL : {
    const tly_pto_where *where = &unit->where[op - unit->ops];
    const tly_pto_call *call = op->call;
    uint64_t pc = where->pc;
    uint64_t done = unit->num_steps - where->step - 1; /* instructions behind this one */
    restore(m, unit, where->snapshot, &stopped);
    m->core.context.tpc = pc;
    m->core.last_fault = TLY_PTO_FAULT_NONE;
    m->core.fault_address = 0;
    m->core.base.cycle = first_cycle - left - done;
    if (!call->routine(m, &call->operands)) {
        *steps = left + done;
        out_result->refused = true;
        return labels;
    }
    if (tly_pto_code_generation(m->code) != generation) { /* it wrote over code */
        finish(m, pc + call->operands.len, first_cycle, left + done, steps);
        return labels;
    }
    w = look(m);
    NEXT;
}

    /* exits; `left` already counts the unit as done */
L_EXIT_COND:
    next = op->link;
    if (!m->core.context.barg.taken) {
        next = op->other_link;
    }
    stopped = true;
    if (__builtin_expect(next == NULL, 0)) {
        const tly_pto_target *to = &unit->targets[m->core.context.barg.taken ? 0 : 1];
        target = to->pc;
        mode = to->mode;
        goto resolve;
    }
    goto enter;
L_EXIT_STOPPED:
    stopped = true;
L_EXIT:
    next = op->link;
    if (__builtin_expect(next == NULL, 0)) {
        target = unit->targets[0].pc;
        mode = unit->targets[0].mode;
        goto resolve;
    }
enter:
    if (__builtin_expect(left < next->num_steps, 0)) {
        target = next->pc;
        goto out_of_steps;
    }
    left -= next->num_steps;
    unit = next;
    op = unit->ops;
    goto * op->label;
L_EXIT_ACTIVE:
    restore(m, unit, unit->where[op - unit->ops].snapshot, &stopped);
    goto L_EXIT;
L_EXIT_INDIRECT:
    target = m->core.context.barg.bpcn;
    if ((target & 1) != 0) {
        goto leave;
    }
    stopped = true;
    mode = unit->targets[0].mode;
    next = tly_pto_code_find(m, target, mode);
    if (next == NULL || tly_pto_code_generation(m->code) != generation) {
        goto out_of_steps;
    }
    goto enter;
L_EXIT_JUMP:
    target = AT(op->a) + op->imm;
    if ((target & 1) != 0) {
        goto leave;
    }
    restore(m, unit, unit->where[op - unit->ops].snapshot, &stopped);
    mode = unit->targets[0].mode;
    next = tly_pto_code_find(m, target, mode);
    if (next == NULL || tly_pto_code_generation(m->code) != generation) {
        goto out_of_steps;
    }
    goto enter;

resolve:
    next = tly_pto_code_find(m, target, mode);
    if (next == NULL || tly_pto_code_generation(m->code) != generation) {
        goto out_of_steps;
    }
    {
        tly_pto_op *exit_op = &unit->ops[op - unit->ops];
        if (exit_op->label == labels[TLY_PTO_OP_EXIT_COND] && !m->core.context.barg.taken) {
            exit_op->other_link = next;
        } else {
            exit_op->link = next;
        }
    }
    goto enter;

out_of_steps: /* or no unit: the caller goes on at the target */
    restore(m, unit, TLY_PTO_NO_SNAPSHOT, &stopped);
    finish(m, target, first_cycle, left, steps);
    return labels;

L_STEP:
leave : { /* the plain path executes this instruction */
    const tly_pto_where *where = &unit->where[op - unit->ops];
    left += unit->num_steps - where->step;
    restore(m, unit, where->snapshot, &stopped);
    tly_pto_flush_queues(m, where->t_pushes, where->u_pushes);
    finish(m, where->pc, first_cycle, left, steps);
    out_result->must_step = true;
    return labels;
}
}

void tly_pto_fast_run(tly_pto_machine *m, tly_pto_unit *unit, uint64_t *steps,
                      tly_pto_fast_result *out_result) {
    run(m, unit, steps, out_result);
}

const void *const *tly_pto_fast_labels(void) {
    return run(NULL, NULL, NULL, NULL);
}
