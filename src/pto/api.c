/* SPDX-License-Identifier: Apache-2.0 */
/* The public interface of the machine, where it is more than a name for what stands elsewhere. */
#include <string.h>

#include <tilery/pto.h>

#include "base/error.h"
#include "pto/create.h"
#include "pto/exec.h"
#include "pto/fault.h"
#include "pto/fields.h"
#include "pto/memory.h"
#include "pto/profile/profile.h"

enum { DEFAULT_QUEUES = 16 };
#define DEFAULT_MEMORY (UINT64_C(1) << 30)

static tly_status refuse(tly_error *error, const char *rule, const char *text) {
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, rule, "%s", text);
}

tly_status tly_pto_config_of(const tly_pto_options *options, tly_pto_config *out_config,
                             tly_error *error) {
    tly_pto_config config = {
        .memory_bytes = DEFAULT_MEMORY, .num_queues = DEFAULT_QUEUES, .release = TLY_ISA_0_58_3};
    const char *profile = NULL;
    if (options != NULL) {
        if (options->size != sizeof(*options)) {
            return refuse(error, "options-size", "options of another version");
        }
        config.memory_bytes =
            options->memory_bytes != 0 ? options->memory_bytes : config.memory_bytes;
        config.num_queues = options->num_queues != 0 ? options->num_queues : config.num_queues;
        if (options->use_release != 0) {
            config.release = (tly_isa_release)options->release;
        }
        profile = options->profile;
    }
    if (tly_isa_release_name(config.release) == NULL) {
        return refuse(error, "pto-config", "there is no such release");
    }
    config.app_limit = options != NULL && options->app_limit != 0 ? options->app_limit
                                                                  : config.memory_bytes / 4 * 3;
    if (profile != NULL) {
        config.profile = tly_pto_profile_find(profile);
        if (config.profile == NULL) {
            return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "pto-profile",
                                 "there is no numeric profile \"%.100s\"", profile);
        }
    }
    *out_config = config;
    return TLY_OK;
}

tly_status tly_pto_new(const tly_context *context, const tly_pto_options *options,
                       tly_pto_machine **out_machine, tly_error *error) {
    tly_pto_config config;
    if (context == NULL || out_machine == NULL) {
        return refuse(error, "argument", "a context and a place for the machine are needed");
    }
    tly_status status = tly_pto_config_of(options, &config, error);
    return status == TLY_OK ? tly_pto_machine_new(context, &config, out_machine, error) : status;
}

void tly_pto_free(tly_pto_machine *machine) {
    tly_pto_machine_free(machine);
}

void tly_pto_reset(tly_pto_machine *machine) {
    tly_pto_machine_reset(machine);
}

uint64_t tly_pto_memory_len(const tly_pto_machine *machine) {
    return machine->memory.size;
}

static tly_status check_range(const tly_pto_machine *m, uint64_t address, uint64_t len,
                              tly_error *error) {
    return address <= m->memory.size && len <= m->memory.size - address
               ? TLY_OK
               : refuse(error, "memory-range", "the bytes do not lie in the machine's memory");
}

tly_status tly_pto_memory_read(const tly_pto_machine *machine, uint64_t address, void *out_bytes,
                               uint64_t len, tly_error *error) {
    tly_status status = check_range(machine, address, len, error);
    if (status == TLY_OK && len != 0) {
        memcpy(out_bytes, machine->memory.bytes + address, (size_t)len);
    }
    return status;
}

tly_status tly_pto_memory_write(tly_pto_machine *machine, uint64_t address, const void *bytes,
                                uint64_t len, tly_error *error) {
    tly_status status = check_range(machine, address, len, error);
    if (status == TLY_OK && len != 0) {
        memcpy(machine->memory.bytes + address, bytes, (size_t)len);
        tly_pto_memory_changed(machine, address, len);
    }
    return status;
}

static tly_status find(const tly_pto_machine *machine, const char *name, tly_pto_place *out_place,
                       tly_error *error) {
    return tly_pto_place_find(machine, name, strlen(name), out_place)
               ? TLY_OK
               : tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "pto-field",
                               "the machine has no state \"%.100s\"", name);
}

tly_status tly_pto_get(const tly_pto_machine *machine, const char *name, uint64_t *out_value,
                       tly_error *error) {
    tly_pto_place place;
    tly_status status = find(machine, name, &place, error);
    if (status == TLY_OK) {
        *out_value = tly_pto_place_read(machine, &place);
    }
    return status;
}

tly_status tly_pto_set(tly_pto_machine *machine, const char *name, uint64_t value,
                       tly_error *error) {
    tly_pto_place place;
    tly_status status = find(machine, name, &place, error);
    if (status == TLY_OK && !tly_pto_place_admits(&place, value)) {
        status = tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "pto-value",
                               "%.100s cannot be %llu", name, (unsigned long long)value);
    }
    if (status == TLY_OK) {
        tly_pto_place_write(machine, &place, value);
    }
    return status;
}

tly_status tly_pto_field_info(const tly_pto_machine *machine, uint32_t number,
                              tly_pto_field_description *out_description) {
    const tly_pto_field *field = tly_pto_field_at(number);
    if (out_description->size != sizeof(*out_description)) {
        return TLY_INVALID_ARGUMENT;
    }
    if (field == NULL) {
        return TLY_NOT_FOUND;
    }
    *out_description = (tly_pto_field_description){.size = sizeof(*out_description),
                                                   .name = field->name,
                                                   .len = field->len,
                                                   .num_indexes = field->num_indexes,
                                                   .is_saved = field->in_saved != 0,
                                                   .num_names = field->num_names};
    for (uint32_t i = 0; i < field->num_indexes; i++) {
        out_description->counts[i] = tly_pto_field_count(machine, field, i);
    }
    return TLY_OK;
}

const char *tly_pto_value_name(uint32_t field, uint64_t value) {
    const tly_pto_field *row = tly_pto_field_at(field);
    return row != NULL ? tly_pto_field_value_name(row, value) : NULL;
}

void tly_pto_refusal_get(const tly_pto_machine *machine, tly_pto_refusal *out_refusal) {
    size_t size = out_refusal->size;
    memset(out_refusal, 0, sizeof(*out_refusal));
    out_refusal->size = size;
    out_refusal->fault = machine->core.last_fault;
    out_refusal->address = machine->core.fault_address;
    out_refusal->name = tly_pto_fault_name(machine->core.last_fault);
    out_refusal->rule = tly_pto_rule_name(TLY_PTO_RULE_NONE);
    if (out_refusal->fault != TLY_PTO_FAULT_NONE) {
        out_refusal->rule = tly_pto_rule_name(machine->reason.rule);
        tly_pto_reason_text(&machine->reason, out_refusal->text, sizeof(out_refusal->text));
    }
}

static int keep_step(void *user, tly_pto_machine *machine, const tly_pto_step *step) {
    *(tly_pto_step *)user = *step;
    return 1;
}

int32_t tly_pto_step_once(tly_pto_machine *machine, tly_pto_step *out_step) {
    tly_pto_step step;
    tly_pto_run_options options = {.size = sizeof options,
                                   .stop_pc = machine->core.context.tpc + 1,
                                   .max_steps = 1,
                                   .observer = keep_step,
                                   .user = out_step != NULL ? out_step : &step};
    tly_pto_run_result result;
    tly_pto_run(machine, &options, &result);
    return result.num_steps == 0 ? result.end : TLY_PTO_END_LIMIT;
}

int tly_pto_execute_word(tly_pto_machine *machine, uint64_t word, uint32_t bits) {
    return tly_pto_execute(machine, word, bits);
}

void tly_pto_interrupt(tly_pto_machine *machine, uint32_t id, uint32_t cause) {
    tly_pto_raise_interrupt(machine, id & 63, cause & 0xFFFFFF);
}

void tly_pto_watch_memory(tly_pto_machine *machine, tly_pto_access_fn watch, void *user) {
    machine->watch_memory = watch;
    machine->watch_memory_user = user;
}

void tly_pto_watch_traps(tly_pto_machine *machine, tly_pto_trap_fn watch, void *user) {
    machine->watch_traps = watch;
    machine->watch_traps_user = user;
}
