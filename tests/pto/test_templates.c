/* SPDX-License-Identifier: Apache-2.0 */
/* Frame templates, MCOPY and MSET against models that do one byte or one register after the other,
 * over random operands, limits of memory, interruptions and restarts. */
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <tilery/context.h>
#include <tilery/isa.h>

#include "isa/forms.h"
#include "pto/create.h"
#include "pto/exec.h"

enum { MEMORY_LEN = 16384, APP_LEN = 3072, NUM_REGISTERS = 24, PC = 0x100 };
enum { ROUNDS = 4000 };

static tly_context *context;
static tly_pto_machine *m;

static int set_up(void **state) {
    (void)state;
    tly_error err = {0};
    const tly_pto_config config = {.memory_bytes = MEMORY_LEN,
                                   .app_limit = APP_LEN,
                                   .num_queues = 1,
                                   .release = TLY_ISA_0_58_3};
    if (tly_context_new(NULL, &context, &err) != TLY_OK) {
        return 1;
    }
    return tly_pto_machine_new(context, &config, &m, &err) == TLY_OK ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    tly_pto_machine_free(m);
    tly_context_free(context);
    return 0;
}

static bool run(uint32_t form, int64_t first, int64_t second, int64_t third) {
    const int64_t fields[TLY_ISA_MAX_FIELDS] = {first, second, third};
    uint64_t word = 0;
    tly_error err = {0};
    CHECK_OK(tly_isa_encode(form, fields, &word, &err), &err);
    return tly_pto_execute(m, word, 32);
}

static void fill(check_rng *rng, uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)check_random(rng);
    }
}

/* What a frame template should have done. */
typedef struct frame_model {
    uint64_t registers[NUM_REGISTERS];
    uint8_t memory[MEMORY_LEN];
    uint64_t return_address;
    uint64_t target;
    bool finished;
    uint64_t fault_address;
} frame_model;

static uint64_t load(const uint8_t *memory, uint64_t address) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < 8; i++) {
        value |= (uint64_t)memory[address + i] << (8 * i);
    }
    return value;
}

static void store(uint8_t *memory, uint64_t address, uint64_t value) {
    for (uint32_t i = 0; i < 8; i++) {
        memory[address + i] = (uint8_t)(value >> (8 * i));
    }
}

/* One register after the other; R2 is the stack pointer, R10 the return address, and R23 is
 * followed by R2. Stops where an access is refused. */
static void model_frame(frame_model *model, uint32_t form, uint32_t begin, uint32_t end,
                        uint64_t size, uint64_t limit) {
    const bool entry = form == TLY_FORM_FENTRY;
    uint64_t copies[NUM_REGISTERS];
    uint64_t caller = entry ? model->registers[2] : model->registers[2] + size;
    memcpy(copies, model->registers, sizeof(copies));
    model->target = form == TLY_FORM_FRET_RA ? model->return_address : 0;
    model->registers[2] = entry ? caller - size : caller;
    model->finished = false;
    for (uint32_t slot = 1, r = begin;; slot++) {
        uint64_t address = caller - 8 * (uint64_t)slot;
        model->fault_address = address;
        if (address % 8 != 0 || address > limit || limit - address < 8) {
            return;
        }
        if (entry) {
            store(model->memory, address, copies[r]);
        } else {
            uint64_t value = load(model->memory, address);
            if (form == TLY_FORM_FRET_STK && slot == 1) {
                model->fault_address = value;
                if (value % 2 != 0) {
                    return;
                }
                model->target = value;
            }
            model->registers[r] = value;
            model->return_address = r == 10 ? value : model->return_address;
        }
        if (r == end) {
            break;
        }
        r = r == 23 ? 2 : r + 1;
    }
    model->finished = true;
}

static void compare_frame(const frame_model *model, uint64_t seed) {
    for (uint32_t r = 0; r < NUM_REGISTERS; r++) {
        if (m->core.gprs[0][r] != model->registers[r]) {
            fail_msg("seed %llu: R%u is 0x%llx, wanted 0x%llx", (unsigned long long)seed, r,
                     (unsigned long long)m->core.gprs[0][r],
                     (unsigned long long)model->registers[r]);
        }
    }
    assert_memory_equal(m->memory.bytes, model->memory, MEMORY_LEN);
    assert_true(m->core.context.return_address == model->return_address);
}

static void frames_are_moved_register_by_register(void **state) {
    (void)state;
    static const uint32_t forms[] = {TLY_FORM_FENTRY, TLY_FORM_FEXIT, TLY_FORM_FRET_RA,
                                     TLY_FORM_FRET_STK};
    static frame_model model;
    const uint64_t seed = check_seed(7);
    const uint64_t rounds = check_rounds(ROUNDS);
    check_rng rng = {seed};
    uint32_t num_finished = 0;
    uint32_t num_faults = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t round = 0; round < rounds; round++) {
        const uint32_t form = forms[check_below(&rng, 4)];
        const uint32_t begin = form == TLY_FORM_FRET_STK ? 10 : 2 + (uint32_t)check_below(&rng, 22);
        const uint32_t end = 2 + (uint32_t)check_below(&rng, 22);
        const uint32_t count = end >= begin ? end - begin + 1 : 22 - begin + end + 1;
        const uint64_t size = 8 * (count + check_below(&rng, 8));
        tly_pto_machine_reset(m);
        m->core.current_acr = check_below(&rng, 2) != 0 ? 2 : 0;
        const uint64_t limit = m->core.current_acr == 2 ? APP_LEN : MEMORY_LEN;
        for (uint32_t r = 1; r < NUM_REGISTERS; r++) {
            m->core.gprs[0][r] = check_random(&rng);
        }
        /* near the limit, near zero, or anywhere; mostly aligned */
        const uint64_t places[] = {limit, 0, check_below(&rng, MEMORY_LEN)};
        m->core.gprs[0][2] =
            (places[check_below(&rng, 3)] + 8 * check_below(&rng, 40) - 160) & ~UINT64_C(7);
        m->core.gprs[0][2] += check_below(&rng, 16) == 0 ? 4 : 0;
        fill(&rng, m->memory.bytes, MEMORY_LEN);
        m->core.context.return_address = check_random(&rng) & ~UINT64_C(1);
        m->core.context.tpc = PC;
        memcpy(model.registers, m->core.gprs[0], sizeof(model.registers));
        memcpy(model.memory, m->memory.bytes, MEMORY_LEN);
        model.return_address = m->core.context.return_address;
        model_frame(&model, form, begin, end, size, limit);
        const bool finished = run(form, (int64_t)size, end, begin);
        assert_int_equal(finished, model.finished);
        compare_frame(&model, seed);
        assert_int_equal(m->core.context.frame_template.active, !finished);
        if (!finished) {
            num_faults++;
            assert_true(m->core.fault_address == model.fault_address);
        } else {
            num_finished++;
            const bool returns = form == TLY_FORM_FRET_RA || form == TLY_FORM_FRET_STK;
            assert_true(m->core.context.tpc == (returns ? model.target : PC + 4));
            assert_int_equal(m->core.requests.frame_depth, form == TLY_FORM_FENTRY);
        }
    }
    assert_true(num_finished > rounds / 10 && num_faults > rounds / 10);
}

/* A template that was interrupted by the limit of its ring, and goes on in ring 0, ends like one
 * that was never interrupted. What the registers hold meanwhile does not matter to an entry. */
static void an_interrupted_frame_is_finished(void **state) {
    (void)state;
    static frame_model model;
    check_rng rng = {check_seed(8)};
    uint32_t num_resumed = 0;
    for (uint32_t round = 0; round < 400; round++) {
        const bool entry = (round & 1) != 0;
        const uint32_t form = entry ? TLY_FORM_FENTRY : TLY_FORM_FEXIT;
        const uint32_t begin = 3 + (uint32_t)check_below(&rng, 10);
        const uint32_t end = begin + (uint32_t)check_below(&rng, 10);
        tly_pto_machine_reset(m);
        for (uint32_t r = 1; r < NUM_REGISTERS; r++) {
            m->core.gprs[0][r] = check_random(&rng);
        }
        const uint64_t size = 8 * (end - begin + 1);
        m->core.gprs[0][2] = APP_LEN + 8 * check_below(&rng, 10) - (entry ? 0 : size);
        fill(&rng, m->memory.bytes, MEMORY_LEN);
        m->core.context.tpc = PC;
        m->core.current_acr = 5;
        memcpy(model.registers, m->core.gprs[0], sizeof(model.registers));
        memcpy(model.memory, m->memory.bytes, MEMORY_LEN);
        model.return_address = 0;
        model_frame(&model, form, begin, end, size, MEMORY_LEN);
        assert_true(model.finished);
        if (!run(form, (int64_t)size, end, begin)) {
            num_resumed++;
            assert_true(m->core.context.frame_template.active);
            assert_int_equal(m->core.current_acr, 1);
            for (uint32_t r = begin; entry && r <= end; r++) {
                m->core.gprs[0][r] = model.registers[r]; /* the same, by another way */
            }
            m->core.context.tpc = PC;
            assert_true(run(form, (int64_t)size, end, begin));
        }
        compare_frame(&model, 8);
    }
    assert_true(num_resumed > 50);
}

/* MCOPY as the specification has it: steps of 8, 4, 2 and 1 bytes, each checked first. */
static bool model_copy(uint8_t *memory, uint64_t to, uint64_t from, uint64_t len, uint64_t limit,
                       uint64_t *inout_progress, uint64_t *out_fault) {
    while (*inout_progress < len) {
        uint64_t size = 8;
        while (size > len - *inout_progress) {
            size /= 2;
        }
        for (uint32_t side = 0; side < 2; side++) {
            uint64_t at = (side == 0 ? from : to) + *inout_progress;
            if (at > limit || limit - at < size) {
                *out_fault = at;
                return false;
            }
        }
        for (uint64_t i = 0; i < size; i++) {
            memory[to + *inout_progress + i] = memory[from + *inout_progress + i];
        }
        *inout_progress += size;
    }
    return true;
}

static void copies_stop_and_go_on(void **state) {
    (void)state;
    static uint8_t memory[MEMORY_LEN];
    const uint64_t seed = check_seed(9);
    check_rng rng = {seed};
    uint32_t num_finished = 0;
    uint32_t num_resumed = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        const uint64_t len = check_below(&rng, check_below(&rng, 2) != 0 ? 40 : 3000);
        const uint64_t ends[] = {APP_LEN, MEMORY_LEN, check_below(&rng, MEMORY_LEN)};
        const uint64_t to = ends[check_below(&rng, 3)] - check_below(&rng, 3100);
        const uint64_t from = ends[check_below(&rng, 3)] - check_below(&rng, 3100);
        const bool overlap = len != 0 && to < from + len && from < to + len;
        const bool wraps = len != 0 && (to + len < to || from + len < from);
        uint64_t progress = 0;
        uint64_t fault = 0;
        tly_pto_machine_reset(m);
        fill(&rng, m->memory.bytes, MEMORY_LEN);
        memcpy(memory, m->memory.bytes, MEMORY_LEN);
        m->core.gprs[0][5] = to;
        m->core.gprs[0][6] = from;
        m->core.gprs[0][7] = len;
        m->core.context.tpc = PC;
        m->core.current_acr = 3;
        m->core.reservation = (tly_pto_reservation){true, 8, check_below(&rng, MEMORY_LEN) & ~7ull};
        m->capture_enabled = check_below(&rng, 8) == 0; /* another way through the same copy */
        bool finished = run(TLY_FORM_MCOPY, 7, 6, 5);
        if (overlap || wraps) {
            assert_false(finished);
            assert_false(m->core.context.memory_copy_template.active);
            assert_memory_equal(m->memory.bytes, memory, MEMORY_LEN);
            continue;
        }
        assert_int_equal(finished, model_copy(memory, to, from, len, APP_LEN, &progress, &fault));
        assert_true(m->core.context.memory_copy_template.progress == progress);
        if (!finished) {
            num_resumed++;
            assert_true(m->core.fault_address == fault);
            assert_memory_equal(m->memory.bytes, memory, MEMORY_LEN);
            m->core.gprs[0][7] = 1; /* the operands are in the state, not in the registers */
            m->core.context.tpc = PC;
            m->core.current_acr = 0;
            finished = run(TLY_FORM_MCOPY, 7, 6, 5);
            assert_int_equal(finished,
                             model_copy(memory, to, from, len, MEMORY_LEN, &progress, &fault));
        }
        assert_memory_equal(m->memory.bytes, memory, MEMORY_LEN);
        if (finished) {
            num_finished++;
            assert_false(m->core.context.memory_copy_template.active);
            assert_true(m->core.requests.memory_command_address == to);
            assert_true(m->core.requests.memory_command_size == len);
        }
        const uint64_t granule = m->core.reservation.address & ~63ull;
        assert_int_equal(m->core.reservation.valid,
                         !(progress != 0 && to < granule + 64 && granule < to + progress));
    }
    assert_true(num_finished > ROUNDS / 10 && num_resumed > ROUNDS / 10);
}

static void fills_are_all_or_nothing(void **state) {
    (void)state;
    static uint8_t memory[MEMORY_LEN];
    check_rng rng = {check_seed(10)};
    for (uint32_t round = 0; round < 2000; round++) {
        const uint64_t len = check_below(&rng, 70);
        const uint64_t to =
            (check_below(&rng, 2) != 0 ? APP_LEN : MEMORY_LEN) - check_below(&rng, 140) + 40;
        const uint32_t ring = check_below(&rng, 2) != 0 ? 15 : 1;
        const uint64_t limit = ring > 1 ? APP_LEN : MEMORY_LEN;
        tly_pto_machine_reset(m);
        fill(&rng, m->memory.bytes, MEMORY_LEN);
        memcpy(memory, m->memory.bytes, MEMORY_LEN);
        m->core.gprs[0][5] = to;
        m->core.gprs[0][6] = check_random(&rng);
        m->core.gprs[0][7] = len;
        m->core.current_acr = (uint8_t)ring;
        const bool fits = len == 0 || (to <= limit && limit - to >= len);
        assert_int_equal(run(TLY_FORM_MSET, 7, 6, 5), fits && len <= 63);
        if (fits && len <= 63) {
            for (uint64_t i = 0; i < len; i++) {
                memory[to + i] = (uint8_t)m->core.gprs[0][6];
            }
        }
        assert_memory_equal(m->memory.bytes, memory, MEMORY_LEN);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_moved_register_by_register),
        cmocka_unit_test(an_interrupted_frame_is_finished),
        cmocka_unit_test(copies_stop_and_go_on),
        cmocka_unit_test(fills_are_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
