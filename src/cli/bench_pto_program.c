/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_pto_program.h"

#include <string.h>

#include <tilery/asm.h>

#include "base/error.h"
#include "pto/machine.h"

enum { MAX_CODE = 8192 };

static tly_status assemble(const tly_pto_machine *m, const char *text, uint8_t *out_code,
                           size_t *out_len, tly_error *error) {
    return tly_asm_assemble_flat(m->context, text, strlen(text), TLY_BENCH_PROGRAM_START,
                                 TLY_ISA_0_58_3, out_code, MAX_CODE, out_len, error);
}

tly_status tly_bench_program_load(tly_pto_machine *m, const char *text, tly_error *error) {
    uint8_t code[MAX_CODE];
    size_t len;
    tly_status status = assemble(m, text, code, &len, error);
    if (status == TLY_OK) {
        status = tly_pto_memory_write(m, TLY_BENCH_PROGRAM_START, code, len, error);
    }
    return status == TLY_OK ? tly_pto_set(m, "tpc", TLY_BENCH_PROGRAM_START, error) : status;
}

uint64_t tly_bench_program_end(tly_pto_machine *m, const char *text) {
    uint8_t code[MAX_CODE];
    size_t len;
    return assemble(m, text, code, &len, NULL) == TLY_OK ? TLY_BENCH_PROGRAM_START + len : 0;
}

tly_status tly_bench_program_new(tly_bench *bench, const char *text, tly_pto_machine **out_machine,
                                 tly_error *error) {
    tly_status status = tly_pto_new(tly_bench_context(bench), NULL, out_machine, error);
    return status == TLY_OK ? tly_bench_program_load(*out_machine, text, error) : status;
}

tly_status tly_bench_program_run(tly_pto_machine *m, uint64_t stop_pc, uint64_t max_steps,
                                 uint32_t plain, int32_t wanted, tly_error *error) {
    tly_pto_run_options options = {
        .size = sizeof(options), .stop_pc = stop_pc, .max_steps = max_steps, .plain = plain};
    tly_pto_run_result result;
    tly_pto_refusal refusal = {.size = sizeof(refusal)};
    tly_pto_run(m, &options, &result);
    if (result.end == wanted) {
        return TLY_OK;
    }
    tly_pto_refusal_get(m, &refusal);
    return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "bench-program",
                         "the program ended in another way (%d) behind %llu instructions: %s",
                         (int)result.end, (unsigned long long)result.num_steps, refusal.text);
}
