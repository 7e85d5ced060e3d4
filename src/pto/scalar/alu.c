/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that compute a value: one small routine for each row of values.def. */
#include "pto/scalar/scalar.h"
#include "pto/scalar/values.h"

/* The names that the expressions use; not every expression uses all of them. */
#define OPERANDS                                                                                   \
    uint64_t L __attribute__((unused)) = tly_pto_read_source(m, o->left);                          \
    uint64_t R __attribute__((unused)) = tly_pto_read_source(m, o->right);                         \
    uint64_t T __attribute__((unused)) = tly_pto_read_source(m, o->third);                         \
    uint64_t I __attribute__((unused)) = (uint64_t)o->immediate;                                   \
    uint64_t P __attribute__((unused)) = m->core.context.tpc;                                      \
    uint32_t S __attribute__((unused)) = o->shift;                                                 \
    uint32_t X __attribute__((unused)) = o->extra;                                                 \
    uint32_t M __attribute__((unused)) = o->modifier
#define W(v) tly_pto_sext32(v)

static bool set_condition(tly_pto_machine *m, bool holds) {
    m->core.context.commit_argument = holds;
    if (m->core.context.bundle_active) {
        m->core.context.barg.taken = holds;
    }
    m->core.context.header.condition_set = true;
    return true;
}

#define VALUE(form, expression)                                                                    \
    static bool run_##form(tly_pto_machine *m, const tly_pto_operands *o) {                        \
        OPERANDS;                                                                                  \
        tly_pto_write_destination(m, o->destination, (uint64_t)(expression));                      \
        return true;                                                                               \
    }
#define PAIR(form, expression, second)                                                             \
    static bool run_##form(tly_pto_machine *m, const tly_pto_operands *o) {                        \
        OPERANDS;                                                                                  \
        uint64_t first_value = (expression);                                                       \
        uint64_t second_value = (second);                                                          \
        tly_pto_write_destination(m, o->destination, first_value);                                 \
        tly_pto_write_destination(m, o->second_destination, second_value);                         \
        return true;                                                                               \
    }
#define COMMIT(form, expression)                                                                   \
    static bool run_##form(tly_pto_machine *m, const tly_pto_operands *o) {                        \
        OPERANDS;                                                                                  \
        return set_condition(m, (expression));                                                     \
    }
#include "pto/scalar/values.def"
#undef VALUE
#undef PAIR
#undef COMMIT

tly_pto_scalar_routine tly_pto_value_routine(uint32_t form) {
    static const tly_pto_scalar_routine routines[TLY_NUM_FORMS] = {
#define VALUE(form, expression)        [TLY_FORM_##form] = run_##form,
#define PAIR(form, expression, second) [TLY_FORM_##form] = run_##form,
#define COMMIT(form, expression)       [TLY_FORM_##form] = run_##form,
#include "pto/scalar/values.def"
#undef VALUE
#undef PAIR
#undef COMMIT
    };
    return form < TLY_NUM_FORMS ? routines[form] : NULL;
}
