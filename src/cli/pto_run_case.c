/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a recorded case and finds the first difference. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/pto_case.h"
#include "cli/pto_case_tiles.h"
#include "pto/create.h"
#include "pto/events.h"
#include "pto/exec.h"
#include "pto/fault.h"
#include "pto/run.h"

typedef struct running {
    tly_pto_machine *machine;
    tly_pto_verdict_text *verdict;
    json_t *recorded;
    json_t *step;  /* what the recording says of the current word */
    bool executed; /* the last word; before any word, the last entry of a body */
    bool any_word;
    const char *end;   /* of the last run, NULL: none */
    const char *trace; /* what is left of the recorded trace */
} running;

__attribute__((format(printf, 2, 3))) static bool differ(running *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(r->verdict->text, sizeof r->verdict->text, format, args);
    va_end(args);
    return false;
}

/* Names of enumerators without what stands before their first '_'. */
static const char *bare(const char *name) {
    const char *low = name != NULL ? strchr(name, '_') : NULL;
    return low != NULL ? low + 1 : "";
}

static uint64_t hex_of(const json_t *value) {
    const char *text = json_string_value(value);
    return text != NULL ? strtoull(text, NULL, 0) : (uint64_t)json_integer_value(value);
}

static bool check_step(running *r, size_t number) {
    const tly_pto_core *core = &r->machine->core;
    char reason[160];
    bool executed = json_integer_value(json_array_get(r->step, 0)) != 0;
    const char *fault = bare(json_string_value(json_array_get(r->step, 1)));
    uint64_t address = hex_of(json_array_get(r->step, 2));
    uint64_t tpc = hex_of(json_array_get(r->step, 3));
    if (executed != r->executed || strcmp(fault, tly_pto_fault_name(core->last_fault)) != 0) {
        tly_pto_reason_text(&r->machine->reason, reason, sizeof reason);
        return differ(r, "word %zu: expected %s %s, got %s %s [%s] %s", number,
                      executed ? "executed" : "rejected", fault,
                      r->executed ? "executed" : "rejected", tly_pto_fault_name(core->last_fault),
                      tly_pto_rule_name(r->machine->reason.rule), reason);
    }
    if (address != core->fault_address) {
        return differ(r, "word %zu: fault address: expected 0x%" PRIx64 ", got 0x%" PRIx64, number,
                      address, core->fault_address);
    }
    if (tpc != core->context.tpc) {
        return differ(r, "word %zu: TPC: expected 0x%" PRIx64 ", got 0x%" PRIx64, number, tpc,
                      core->context.tpc);
    }
    return true;
}

/* One token of a trace: "[+][!]PC[:Fault]". */
static int observe(void *user, tly_pto_machine *m, const tly_pto_step *step) {
    running *r = user;
    char token[64];
    snprintf(token, sizeof token, "%s%s%" PRIx64 "%s%s", step->entered_body ? "+" : "",
             step->executed ? "" : "!", step->pc, m->core.last_fault != 0 ? ":" : "",
             m->core.last_fault != 0 ? tly_pto_fault_name(m->core.last_fault) : "");
    size_t len = strcspn(r->trace, " ");
    if (len != strlen(token) || memcmp(r->trace, token, len) != 0) {
        char reason[160];
        tly_pto_reason_text(&m->reason, reason, sizeof reason);
        return differ(r, "trace: expected %.*s, got %s (cycle %" PRIu64 ") [%s] %s", (int)len,
                      r->trace, token, m->core.base.cycle, tly_pto_rule_name(m->reason.rule),
                      reason);
    }
    r->trace += len;
    r->trace += *r->trace == ' ';
    return true;
}

static bool run_program(running *r, const json_t *args) {
    static const char *const ends[] = {"stop", "fault", "limit", "fetch", "asked"};
    tly_pto_run_options options = {.stop_pc = (uint64_t)json_integer_value(json_array_get(args, 0)),
                                   .max_steps =
                                       (uint64_t)json_integer_value(json_array_get(args, 1))};
    tly_pto_run_result result;
    if (r->trace != NULL) {
        options.observer = observe;
        options.user = r;
    }
    tly_pto_run(r->machine, &options, &result);
    r->end = ends[result.end];
    if (result.end == TLY_PTO_END_ASKED) {
        return false;
    }
    const char *end = json_string_value(json_array_get(r->step, 2));
    uint64_t steps = (uint64_t)json_integer_value(json_array_get(r->step, 3));
    uint64_t tpc = hex_of(json_array_get(r->step, 4));
    if (end == NULL || strcmp(end, r->end) != 0 || steps != result.num_steps ||
        tpc != r->machine->core.context.tpc) {
        return differ(r,
                      "run: expected %s after %" PRIu64 " steps at 0x%" PRIx64
                      ", got %s after %" PRIu64 " at 0x%" PRIx64,
                      end != NULL ? end : "?", steps, tpc, r->end, result.num_steps,
                      r->machine->core.context.tpc);
    }
    return true;
}

static const char *const event_kinds[] = {"InitialWrite", "Load", "Store", "Atomic", "Fence"};
static const char *const event_orders[] = {"Relaxed", "Acquire", "Release", "AcquireRelease"};

static bool check_event(running *r, size_t number, const json_t *wanted) {
    const tly_pto_event *e = &r->machine->events[number];
    const uint64_t got[] = {e->agent,          e->address,        e->size,
                            e->read_value,     e->write_value,    e->write_performed,
                            e->read_from,      e->coherence_rank, e->fence_predecessor,
                            e->fence_successor};
    static const uint8_t at[] = {1, 2, 3, 4, 5, 6, 8, 9, 10, 11};
    static const char *const names[] = {
        "agent",           "address",    "size",           "read value",        "write value",
        "write performed", "reads from", "coherence rank", "fence predecessor", "fence successor"};
    const char *kind = json_string_value(json_array_get(wanted, 0));
    const char *order = json_string_value(json_array_get(wanted, 7));
    if (kind == NULL || order == NULL || strcmp(kind, event_kinds[e->kind]) != 0 ||
        strcmp(order, event_orders[e->order]) != 0) {
        return differ(r, "event %zu: expected %s %s, got %s %s", number, kind != NULL ? kind : "?",
                      order != NULL ? order : "?", event_kinds[e->kind], event_orders[e->order]);
    }
    for (size_t i = 0; i < sizeof(at); i++) {
        const json_t *value = json_array_get(wanted, at[i]);
        uint64_t number_wanted = json_is_boolean(value) ? json_is_true(value) : hex_of(value);
        if (number_wanted != got[i]) {
            return differ(r, "event %zu: %s: expected 0x%" PRIx64 ", got 0x%" PRIx64, number,
                          names[i], number_wanted, got[i]);
        }
    }
    return true;
}

static bool check_events(running *r) {
    json_t *wanted = json_array_get(r->step, 2);
    json_t *list = json_object_get(wanted, "events");
    tly_pto_verdict v;
    if (json_array_size(list) != r->machine->num_events) {
        return differ(r, "events: expected %zu, got %u", json_array_size(list),
                      r->machine->num_events);
    }
    for (size_t i = 0; i < r->machine->num_events; i++) {
        if (!check_event(r, i, json_array_get(list, i))) {
            return false;
        }
    }
    tly_pto_judge_events(r->machine, &v);
    const bool got[] = {v.valid, v.acyclic_uniproc, v.acyclic_tso, v.allowed};
    static const char *const names[] = {"valid", "acyclic_uniproc", "acyclic_tso", "allowed"};
    for (size_t i = 0; i < sizeof(got); i++) {
        const json_t *value = json_object_get(wanted, names[i]);
        if (value != NULL && json_is_true(value) != got[i]) {
            return differ(r, "events: %s: expected %d, got %d", names[i], json_is_true(value),
                          got[i]);
        }
    }
    return true;
}

/* An event that the host adds to a candidate execution: {init_write addr size value}, {ev_load
 * agent addr size value order}, {ev_store .. rank}, {ev_atomic agent addr size read write order
 * rank performed}, {ev_fence agent predecessor successor}. */
static bool add_event(running *r, const char *name, const uint64_t *args) {
    tly_pto_event e = {0};
    if (strcmp(name, "init_write") == 0) {
        e = (tly_pto_event){.kind = 0,
                            .address = args[0],
                            .size = (uint8_t)args[1],
                            .write_value = args[2],
                            .write_performed = true};
    } else if (strcmp(name, "ev_load") == 0) {
        e = (tly_pto_event){.kind = 1,
                            .agent = (uint8_t)args[0],
                            .address = args[1],
                            .size = (uint8_t)args[2],
                            .read_value = args[3],
                            .order = (uint8_t)args[4]};
    } else if (strcmp(name, "ev_store") == 0) {
        e = (tly_pto_event){.kind = 2,
                            .agent = (uint8_t)args[0],
                            .address = args[1],
                            .size = (uint8_t)args[2],
                            .write_value = args[3],
                            .order = (uint8_t)args[4],
                            .coherence_rank = (uint32_t)args[5],
                            .write_performed = true};
    } else if (strcmp(name, "ev_atomic") == 0) {
        e = (tly_pto_event){.kind = 3,
                            .agent = (uint8_t)args[0],
                            .address = args[1],
                            .size = (uint8_t)args[2],
                            .read_value = args[3],
                            .write_value = args[4],
                            .order = (uint8_t)args[5],
                            .coherence_rank = (uint32_t)args[6],
                            .write_performed = args[7] != 0};
    } else {
        e = (tly_pto_event){.kind = 4,
                            .agent = (uint8_t)args[0],
                            .size = 1,
                            .order = TLY_PTO_ORDER_BOTH,
                            .fence_predecessor = (uint8_t)args[1],
                            .fence_successor = (uint8_t)args[2]};
    }
    return tly_pto_add_event(r->machine, &e) || differ(r, "no room for another event");
}

static bool set_feature_map(running *r, const uint64_t *args) {
    tly_pto_feature_map *map = &r->machine->core.feature_maps[args[0]];
    *map = (tly_pto_feature_map){.valid = true,
                                 .batches = (uint16_t)args[1],
                                 .depth = (uint16_t)args[2],
                                 .channel_groups = (uint16_t)args[3],
                                 .height = (uint16_t)args[4],
                                 .width = (uint16_t)args[5],
                                 .channels_per_group = (uint16_t)args[6],
                                 .filter_height = (uint16_t)args[7],
                                 .filter_width = (uint16_t)args[8],
                                 .stride_height = (uint16_t)args[9],
                                 .stride_width = (uint16_t)args[10],
                                 .dilation_height = (uint16_t)args[11],
                                 .dilation_width = (uint16_t)args[12],
                                 .pad_left = (uint16_t)args[13],
                                 .pad_right = (uint16_t)args[14],
                                 .pad_top = (uint16_t)args[15],
                                 .pad_bottom = (uint16_t)args[16],
                                 .logical_channels = (uint16_t)args[17],
                                 .padding = args[18]};
    return true;
}

enum { MAX_ARGS = 20 };

static bool run_hook(running *r, const char *name, const json_t *list, size_t number) {
    tly_pto_machine *m = r->machine;
    uint64_t args[MAX_ARGS] = {0};
    for (size_t i = 0; i < json_array_size(list) && i < MAX_ARGS; i++) {
        args[i] = hex_of(json_array_get(list, i));
    }
    if (strcmp(name, "run") == 0) {
        return run_program(r, list);
    }
    if (strcmp(name, "enter_body") == 0 || strcmp(name, "irq") == 0) {
        if (name[0] == 'e') {
            bool entered = tly_pto_enter_body(m);
            r->executed = r->any_word ? r->executed : entered;
        } else {
            tly_pto_raise_interrupt(m, (uint32_t)args[0], (uint32_t)args[1]);
        }
        const char *fault = bare(json_string_value(json_array_get(r->step, 2)));
        const char *tpc = json_string_value(json_array_get(r->step, 3));
        if (strcmp(fault, tly_pto_fault_name(m->core.last_fault)) != 0) {
            return differ(r, "word %zu (%s): expected %s, got %s", number, name, fault,
                          tly_pto_fault_name(m->core.last_fault));
        }
        if (tpc != NULL && strtoull(tpc, NULL, 10) != m->core.context.tpc) {
            return differ(r, "word %zu (%s): TPC: expected %s, got %" PRIu64, number, name, tpc,
                          m->core.context.tpc);
        }
        return true;
    }
    if (strcmp(name, "acr") == 0) {
        m->core.current_acr = (uint8_t)(args[0] & 15);
        m->core.base.core_state = (m->core.base.core_state & ~UINT64_C(15)) | (args[0] & 15);
    } else if (strcmp(name, "pe") == 0) {
        m->core.current_pe = (uint8_t)(args[0] & 3);
    } else if (strcmp(name, "gqm_corrupt") == 0) {
        for (uint32_t i = 0; i < m->num_queues; i++) {
            if (m->queues[i].valid && m->queues[i].address == args[0]) {
                m->queues[i].corrupt = args[1] != 0;
            }
        }
    } else if (strcmp(name, "feature_map") == 0 && args[0] < TLY_PTO_NUM_TILES) {
        return set_feature_map(r, args);
    } else if (strcmp(name, "capture") == 0) {
        tly_pto_capture_start(m, (uint32_t)args[0]);
    } else if (strcmp(name, "capture_stop") == 0) {
        tly_pto_capture_stop(m);
    } else if (strcmp(name, "read_from") == 0 && args[0] < m->num_events) {
        m->events[args[0]].read_from = (uint32_t)args[1];
    } else if (strcmp(name, "events") == 0) {
        return check_events(r);
    } else if (strncmp(name, "ev_", 3) == 0 || strcmp(name, "init_write") == 0) {
        return add_event(r, name, args);
    } else {
        return differ(r, "word %zu: unknown action \"%s\"", number, name);
    }
    return true;
}

/* Every word and action that the recording has a step for. */
static bool run_words(running *r) {
    json_t *words = json_object_get(r->recorded, "words");
    json_t *steps = json_object_get(r->recorded, "steps");
    for (size_t i = 0; i < json_array_size(steps) && i < json_array_size(words); i++) {
        json_t *word = json_array_get(words, i);
        const char *hook = json_string_value(json_object_get(word, "hook"));
        r->step = json_array_get(steps, i);
        if (hook != NULL) {
            if (!run_hook(r, hook, json_object_get(word, "args"), i)) {
                return false;
            }
            continue;
        }
        r->any_word = true;
        r->executed = tly_pto_execute(r->machine, hex_of(json_object_get(word, "hex")),
                                      (uint32_t)json_integer_value(json_object_get(word, "bits")));
        if (!check_step(r, i)) {
            return false;
        }
    }
    const char *status = json_string_value(json_object_get(r->recorded, "status"));
    const char *got = r->end != NULL ? r->end : r->executed ? "executed" : "rejected";
    return (status != NULL && strcmp(status, got) == 0) ||
           differ(r, "status: expected %s, got %s", status != NULL ? status : "?", got);
}

/* Is this place one of the stale fields that the recording tells to ignore? */
static bool is_residue(json_t *residue, const tly_pto_machine *m, const tly_pto_place *place) {
    const char *key = NULL, *bank = NULL;
    json_t *value = NULL, *object = NULL;
    char name[128];
    tly_pto_place other;
    json_t *list = json_object_get(residue, "other");
    json_object_foreach(list, key, value) {
        size_t len = tly_pto_case_name(key, name, sizeof name);
        if (tly_pto_place_find(m, name, len, &other) && memcmp(&other, place, sizeof other) == 0) {
            return true;
        }
    }
    static const struct {
        const char *key, *name;
    } banks[] = {{"trapctx", "trap_context"}, {"tiles", "tile"}, {"shared", "shared"}};
    for (size_t i = 0; i < sizeof banks / sizeof *banks; i++) {
        json_object_foreach(json_object_get(residue, banks[i].key), bank, object) {
            json_object_foreach(object, key, value) {
                snprintf(name, sizeof name, "%s[%.8s].%.100s", banks[i].name, bank, key);
                if (tly_pto_place_find(m, name, strlen(name), &other) &&
                    memcmp(&other, place, sizeof other) == 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool same_state(running *r, tly_pto_machine *expected) {
    tly_pto_machine *m = r->machine;
    json_t *residue = json_object_get(r->recorded, "residue");
    tly_pto_place place = {0};
    char name[128];
    while (tly_pto_place_next(m, &place)) {
        uint64_t wanted = tly_pto_place_read(expected, &place);
        uint64_t got = tly_pto_place_read(m, &place);
        if (wanted == got || is_residue(residue, m, &place)) {
            continue;
        }
        tly_pto_place_name(&place, name, sizeof name);
        const char *wanted_name = tly_pto_field_value_name(place.field, wanted);
        const char *got_name = tly_pto_field_value_name(place.field, got);
        if (wanted_name != NULL && got_name != NULL) {
            return differ(r, "%s: expected %s, got %s", name, wanted_name, got_name);
        }
        return differ(r, "%s: expected 0x%" PRIx64 ", got 0x%" PRIx64, name, wanted, got);
    }
    for (uint64_t i = 0; i < m->memory.size; i++) {
        if (m->memory.bytes[i] != expected->memory.bytes[i]) {
            return differ(r, "memory at 0x%" PRIx64 ": expected %02x, got %02x", i,
                          expected->memory.bytes[i], m->memory.bytes[i]);
        }
    }
    return tly_pto_case_same_tiles(m, expected, r->verdict->text, sizeof r->verdict->text);
}

/* The words on a fresh machine, with the recorded trace or from predecoded code. */
static tly_status run_once(running *r, tly_pto_machine *expected, const char *trace,
                           tly_error *error) {
    r->executed = true;
    r->any_word = false;
    r->end = NULL;
    r->trace = trace;
    tly_pto_machine_reset(r->machine);
    tly_status status = tly_pto_case_apply(r->machine, json_object_get(r->recorded, "init"), error);
    if (status == TLY_OK) {
        r->verdict->passed = run_words(r) && same_state(r, expected);
        if (r->verdict->passed && r->trace != NULL && *r->trace != '\0') {
            r->verdict->passed = differ(r, "trace: ended before %.60s", r->trace);
        }
    }
    return status;
}

tly_status tly_pto_case_run(json_t *recorded, tly_pto_machine *machine, tly_pto_machine *expected,
                            tly_pto_verdict_text *out_verdict, tly_error *error) {
    const char *trace = json_string_value(json_object_get(recorded, "trace"));
    running r = {.machine = machine, .verdict = out_verdict, .recorded = recorded};
    memset(out_verdict, 0, sizeof(*out_verdict));
    tly_pto_machine_reset(expected);
    tly_status status = tly_pto_case_apply(expected, json_object_get(recorded, "init"), error);
    if (status == TLY_OK) {
        status = tly_pto_case_apply(expected, json_object_get(recorded, "final"), error);
    }
    if (status == TLY_OK) {
        status = run_once(&r, expected, trace, error);
    }
    if (status == TLY_OK && out_verdict->passed && trace != NULL) { /* programs: once more */
        status = run_once(&r, expected, NULL, error);
        if (!out_verdict->passed) {
            char text[sizeof(out_verdict->text)];
            snprintf(text, sizeof text, "from predecoded code: %.200s", out_verdict->text);
            memcpy(out_verdict->text, text, sizeof text);
        }
    }
    return status;
}
