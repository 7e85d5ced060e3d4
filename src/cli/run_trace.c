/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_trace.h"

#include <inttypes.h>
#include <string.h>

#include "cli/json.h"
#include "isa/table.h"
#include "pto/fields.h"

static void remember(tly_tracer *t, const tly_pto_machine *m) {
    memcpy(t->gprs, m->core.gprs, sizeof(t->gprs));
    memcpy(t->t_queue, m->core.context.t_queue, sizeof(t->t_queue));
    memcpy(t->u_queue, m->core.context.u_queue, sizeof(t->u_queue));
    t->num_accesses = 0;
}

static void note_access(void *user, const tly_pto_access *access) {
    tly_tracer *t = user;
    if (t->num_accesses < TLY_TRACE_MAX_ACCESSES) {
        t->accesses[t->num_accesses] = *access;
    }
    t->num_accesses++;
}

void tly_tracer_start(tly_tracer *t, tly_pto_machine *m) {
    remember(t, m);
    if (t->form != TLY_TRACE_NONE) {
        tly_pto_watch_memory(m, note_access, t);
    }
}

static bool decode(const tly_tracer *t, const tly_pto_step *step, tly_isa_insn *out_insn) {
    return tly_isa_decode(step->word, step->bits / 8, t->release, out_insn, NULL) == TLY_OK;
}

const char *tly_tracer_insn(const tly_tracer *t, const tly_pto_step *step, char *out_text,
                            size_t capacity) {
    tly_isa_insn insn;
    tly_asm_symbols symbols = {.find = tly_symbols_find,
                               .user = (void *)(uintptr_t)&t->loaded->symbols};
    out_text[0] = '\0';
    if (decode(t, step, &insn)) {
        tly_asm_format(&insn, step->pc, &symbols, out_text, capacity, NULL);
    }
    return out_text;
}

/* Calls `put` for each register and queue that the step wrote. A queue that was pushed shows its
 * newest entry; a push of what stood there already is not seen. */
static void each_write(const tly_tracer *t, const tly_pto_machine *m,
                       void (*put)(void *user, const char *name, uint64_t value), void *user) {
    char name[32];
    for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES; pe++) {
        for (uint32_t r = 0; r < TLY_PTO_NUM_GPRS; r++) {
            if (t->gprs[pe][r] != m->core.gprs[pe][r]) {
                if (pe == m->core.current_pe) {
                    snprintf(name, sizeof name, "%s", tly_isa_register_name(r));
                } else {
                    snprintf(name, sizeof name, "pe%u.%s", pe, tly_isa_register_name(r));
                }
                put(user, name, m->core.gprs[pe][r]);
            }
        }
    }
    if (memcmp(t->t_queue, m->core.context.t_queue, sizeof(t->t_queue)) != 0) {
        put(user, "t", m->core.context.t_queue[0]);
    }
    if (memcmp(t->u_queue, m->core.context.u_queue, sizeof(t->u_queue)) != 0) {
        put(user, "u", m->core.context.u_queue[0]);
    }
}

static void put_text(void *user, const char *name, uint64_t value) {
    fprintf(user, "  %s=0x%" PRIx64, name, value);
}

static void trace_text(const tly_tracer *t, const tly_pto_machine *m, const tly_pto_step *step) {
    char insn[TLY_ASM_MAX_TEXT], reason[256];
    if (t->of_team) {
        fprintf(t->out, "%u", m->core.current_pe);
    }
    fprintf(t->out, "%s%08" PRIx64 "  %0*" PRIx64 "%*s  %-40s", step->entered_body ? "+" : " ",
            step->pc, step->bits / 4, step->word, 16 - step->bits / 4, "",
            tly_tracer_insn(t, step, insn, sizeof insn));
    each_write(t, m, put_text, t->out);
    for (uint32_t i = 0; i < t->num_accesses && i < TLY_TRACE_MAX_ACCESSES; i++) {
        const tly_pto_access *a = &t->accesses[i];
        fprintf(t->out, "  %s%" PRIu64 "[0x%" PRIx64 "]", a->is_write ? "w" : "r", a->len,
                a->address);
        if (a->len <= 8) {
            fprintf(t->out, "=0x%" PRIx64, a->value);
        }
    }
    if (t->num_accesses > TLY_TRACE_MAX_ACCESSES) {
        fprintf(t->out, "  and %u accesses more", t->num_accesses - TLY_TRACE_MAX_ACCESSES);
    }
    if (!step->executed) {
        tly_pto_reason_text(&m->reason, reason, sizeof reason);
        fprintf(t->out, "  %s at 0x%" PRIx64 " [%s] %s", tly_pto_fault_name(m->core.last_fault),
                m->core.fault_address, tly_pto_rule_name(m->reason.rule), reason);
    }
    if (m->core.context.tpc != step->pc + step->bits / 8) {
        fprintf(t->out, "  -> %08" PRIx64, m->core.context.tpc);
    }
    fputc('\n', t->out);
}

static void put_json(void *user, const char *name, uint64_t value) {
    char hex[24];
    snprintf(hex, sizeof hex, "0x%" PRIx64, value);
    tly_json_string(user, name, hex);
}

static void trace_jsonl(const tly_tracer *t, const tly_pto_machine *m, const tly_pto_step *step) {
    char insn[TLY_ASM_MAX_TEXT], reason[256];
    tly_json json;
    tly_json_init_line(&json, t->out);
    tly_json_object(&json, NULL);
    put_json(&json, "pc", step->pc);
    put_json(&json, "word", step->word);
    tly_json_u64(&json, "bits", step->bits);
    tly_json_string(&json, "text", tly_tracer_insn(t, step, insn, sizeof insn));
    tly_json_bool(&json, "entered_body", step->entered_body);
    tly_json_u64(&json, "pe", m->core.current_pe);
    tly_json_object(&json, "writes");
    each_write(t, m, put_json, &json);
    tly_json_end_object(&json);
    tly_json_array(&json, "memory");
    for (uint32_t i = 0; i < t->num_accesses && i < TLY_TRACE_MAX_ACCESSES; i++) {
        const tly_pto_access *a = &t->accesses[i];
        tly_json_object(&json, NULL);
        tly_json_string(&json, "kind", a->is_write ? "write" : "read");
        put_json(&json, "address", a->address);
        tly_json_u64(&json, "len", a->len);
        if (a->len <= 8) {
            put_json(&json, "value", a->value);
        }
        tly_json_end_object(&json);
    }
    tly_json_end_array(&json);
    if (t->num_accesses > TLY_TRACE_MAX_ACCESSES) {
        tly_json_u64(&json, "more_accesses", t->num_accesses - TLY_TRACE_MAX_ACCESSES);
    }
    if (!step->executed) {
        tly_pto_reason_text(&m->reason, reason, sizeof reason);
        tly_json_object(&json, "trap");
        tly_json_string(&json, "fault", tly_pto_fault_name(m->core.last_fault));
        put_json(&json, "address", m->core.fault_address);
        tly_json_u64(&json, "ring", m->core.current_acr);
        tly_json_string(&json, "rule", tly_pto_rule_name(m->reason.rule));
        tly_json_string(&json, "reason", reason);
        tly_json_end_object(&json);
    }
    put_json(&json, "next_pc", m->core.context.tpc);
    tly_json_end_object(&json);
    tly_json_finish(&json);
}

static void count(tly_run_stats *s, const tly_tracer *t, const tly_pto_machine *m,
                  const tly_pto_step *step) {
    tly_isa_insn insn;
    s->num_instructions += step->executed;
    s->num_refused += !step->executed;
    s->num_bodies += step->entered_body;
    if (!step->executed) {
        s->by_fault[m->core.last_fault]++;
    }
    if (decode(t, step, &insn)) {
        const tly_isa_form_row *form = tly_isa_form_at(insn.form);
        s->by_group[form->group & 63] += step->executed;
        s->num_blocks += step->executed && form->bundle == TLY_BUNDLE_START;
    }
}

int tly_tracer_observe(void *user, tly_pto_machine *m, const tly_pto_step *step) {
    tly_tracer *t = user;
    if (t->stats != NULL) {
        count(t->stats, t, m, step);
    }
    if (t->form == TLY_TRACE_TEXT) {
        trace_text(t, m, step);
    } else if (t->form == TLY_TRACE_JSONL) {
        trace_jsonl(t, m, step);
    }
    if (t->form != TLY_TRACE_NONE) {
        remember(t, m);
    }
    return true;
}

void tly_run_stats_print(FILE *out, const tly_run_stats *s) {
    fprintf(out, "instructions %12" PRIu64 "\n", s->num_instructions);
    fprintf(out, "blocks       %12" PRIu64 "\n", s->num_blocks);
    fprintf(out, "bodies       %12" PRIu64 "\n", s->num_bodies);
    fprintf(out, "refused      %12" PRIu64 "\n", s->num_refused);
    for (uint32_t i = 0; i < TLY_PTO_NUM_FAULTS; i++) {
        if (s->by_fault[i] != 0) {
            fprintf(out, "  %-20s %12" PRIu64 "\n", tly_pto_fault_name(i), s->by_fault[i]);
        }
    }
    fprintf(out, "by group\n");
    for (uint32_t i = 0; i < 64; i++) {
        if (s->by_group[i] != 0) {
            fprintf(out, "  %-20s %12" PRIu64 "\n", tly_isa_group_name(i), s->by_group[i]);
        }
    }
}
