/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile programs for several elements: any bytes as code that all of them run, from different
 * places, over the same memory. On one thread predecoded code and one instruction at a time end
 * alike, whatever they do to each other's code, reservations and data; and a team always ends. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/context.h>
#include <tilery/pto_team.h>

#include "fuzz/same_state.h"
#include "pto/team.h"

enum { MEMORY_LEN = 1 << 16, CODE = 0x1000, MAX_CODE = 4096, MAX_STEPS = 80, HEAD_LEN = 8 };
enum { NUM_ELEMENTS = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The head says what the registers hold, where the elements begin and whether there is a handler.
 */
static void load(tly_pto_team *team, const uint8_t *data, size_t len) {
    tly_pto_team_reset(team);
    memcpy(tly_pto_team_machine(team, 0)->memory.bytes + CODE, data + HEAD_LEN, len - HEAD_LEN);
    for (uint32_t element = 0; element < NUM_ELEMENTS; element++) {
        tly_pto_core *core = &tly_pto_team_machine(team, element)->core;
        for (uint32_t i = 1; i < TLY_PTO_NUM_GPRS; i++) {
            uint64_t base = (data[0] >> (i % 8) & 1) != 0 ? CODE : 0x8000;
            core->gprs[element][i] = base + (uint64_t)data[1 + i % 3] * i;
        }
        core->context_registers[0][1] = (data[5] & 1) != 0 ? CODE + 2u * data[6] : 0;
        core->context.tpc = CODE + (uint64_t)element * 2 * data[7];
    }
}

/* Two teams that serve all inputs. */
static tly_pto_team **both(void) {
    static tly_pto_team *teams[2];
    static tly_context *context;
    const tly_pto_options machine = {
        .size = sizeof(machine), .memory_bytes = MEMORY_LEN, .num_queues = 2};
    const tly_pto_team_options options = {
        .size = sizeof(options), .num_elements = NUM_ELEMENTS, .machine = &machine};
    if (context == NULL && (tly_context_new(NULL, &context, NULL) != TLY_OK ||
                            tly_pto_team_new(context, &options, &teams[0], NULL) != TLY_OK ||
                            tly_pto_team_new(context, &options, &teams[1], NULL) != TLY_OK)) {
        abort();
    }
    return teams;
}

static bool same_results(const tly_pto_team_run_result *a, const tly_pto_team_run_result *b) {
    bool same = a->first == b->first && a->num_rounds == b->num_rounds;
    for (uint32_t i = 0; i < NUM_ELEMENTS; i++) {
        same = same && a->elements[i].end == b->elements[i].end &&
               a->elements[i].num_steps == b->elements[i].num_steps;
    }
    return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    tly_pto_team **teams = both();
    tly_pto_team_run_result results[2] = {{.size = sizeof(results[0])},
                                          {.size = sizeof(results[1])}};
    if (len < HEAD_LEN + 2 || len > HEAD_LEN + MAX_CODE) {
        return 0;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const tly_pto_team_run_options options = {.size = sizeof(options),
                                                  .threads = 1,
                                                  .plain = i,
                                                  .stop_pc = CODE + (len - HEAD_LEN),
                                                  .max_steps = MAX_STEPS,
                                                  .round_steps = 16u + data[4]};
        load(teams[i], data, len);
        if (tly_pto_team_run(teams[i], &options, &results[i], NULL) != TLY_OK) {
            abort();
        }
    }
    if (!same_results(&results[0], &results[1]) ||
        memcmp(tly_pto_team_machine(teams[0], 0)->memory.bytes,
               tly_pto_team_machine(teams[1], 0)->memory.bytes, MEMORY_LEN) != 0) {
        abort();
    }
    for (uint32_t i = 0; i < NUM_ELEMENTS; i++) {
        if (!same_state(tly_pto_team_machine(teams[0], i), tly_pto_team_machine(teams[1], i))) {
            abort();
        }
    }
    return 0;
}
