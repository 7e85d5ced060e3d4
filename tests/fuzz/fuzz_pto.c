/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile programs: any bytes as code, with handlers in it or without, in any ring. Predecoded code
 * and one instruction at a time end alike, and neither ever runs longer than it may. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/context.h>
#include <tilery/isa.h>

#include "fuzz/same_state.h"
#include "pto/create.h"
#include "pto/run.h"

enum { MEMORY_LEN = 1 << 16, CODE = 0x1000, MAX_CODE = 4096, MAX_STEPS = 600, HEAD_LEN = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The head says what the registers hold, which ring runs and where handlers stand. */
static void load(tly_pto_machine *m, const uint8_t *data, size_t len) {
    tly_pto_core *core = &m->core;
    tly_pto_machine_reset(m);
    memcpy(m->memory.bytes + CODE, data + HEAD_LEN, len - HEAD_LEN);
    for (uint32_t i = 1; i < TLY_PTO_NUM_GPRS; i++) {
        uint64_t base = (data[0] >> (i % 8) & 1) != 0 ? CODE : 0x8000;
        core->gprs[0][i] = base + (uint64_t)data[1 + i % 3] * i;
    }
    core->current_acr = data[4] & 15;
    core->base.core_state = core->current_acr;
    if ((data[5] & 1) != 0) {
        core->context_registers[0][1] = CODE + 2u * data[6];
        core->context_registers[1][1] = CODE + 2u * data[7];
    }
    core->context.tpc = CODE;
}

/* Two machines that serve all inputs. */
static tly_pto_machine **both(void) {
    static tly_pto_machine *machines[2];
    static tly_context *context;
    tly_pto_config config = {.memory_bytes = MEMORY_LEN,
                             .app_limit = MEMORY_LEN / 2,
                             .num_queues = 2,
                             .release = TLY_ISA_0_58_3};
    if (context == NULL && (tly_context_new(NULL, &context, NULL) != TLY_OK ||
                            tly_pto_machine_new(context, &config, &machines[0], NULL) != TLY_OK ||
                            tly_pto_machine_new(context, &config, &machines[1], NULL) != TLY_OK)) {
        abort();
    }
    return machines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    tly_pto_machine **machines = both();
    tly_pto_run_result results[2];
    if (len < HEAD_LEN + 2 || len > HEAD_LEN + MAX_CODE) {
        return 0;
    }
    for (uint32_t i = 0; i < 2; i++) {
        tly_pto_run_options options = {.size = sizeof(options),
                                       .stop_pc = CODE + (len - HEAD_LEN),
                                       .max_steps = MAX_STEPS,
                                       .plain = i};
        load(machines[i], data, len);
        tly_pto_run(machines[i], &options, &results[i]);
        if (results[i].num_steps > MAX_STEPS) {
            abort();
        }
    }
    if (results[0].end != results[1].end || results[0].num_steps != results[1].num_steps ||
        memcmp(machines[0]->memory.bytes, machines[1]->memory.bytes, MEMORY_LEN) != 0 ||
        !same_state(machines[0], machines[1])) {
        abort();
    }
    return 0;
}
