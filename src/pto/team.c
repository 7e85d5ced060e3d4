/* SPDX-License-Identifier: Apache-2.0 */
/* The machines of a team, and what they tell each other of reservations, code and shared state. */
#include "pto/team.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "pto/fast/code.h"
#include "pto/memory.h"
#include "pto/team_state.h"
#include "pto/tile/allocate.h"

static const uint64_t no_line = UINT64_MAX;

void tly_pto_team_free(tly_pto_team *team) {
    if (team == NULL) {
        return;
    }
    tly_pto_crew_cleanup(&team->crew);
    for (uint32_t i = team->num_members; i-- > 0;) { /* element 0 lends to the others */
        tly_pto_machine_free(team->members[i].m);
    }
    tly_base_free(team->context, team, sizeof(*team), _Alignof(tly_pto_team));
}

static tly_status add_member(tly_pto_team *team, const tly_pto_config *config, tly_error *error) {
    tly_pto_member *member = &team->members[team->num_members];
    tly_pto_config of_member = *config;
    of_member.lender = team->num_members == 0 ? NULL : team->members[0].m;
    tly_status status = tly_pto_machine_new(team->context, &of_member, &member->m, error);
    if (status != TLY_OK) {
        return status;
    }
    member->m->team = team;
    member->m->element = (uint8_t)team->num_members++;
    member->watched_line = no_line;
    tly_pto_identify(member->m);
    return tly_pto_code_take_notes(member->m->code, error);
}

tly_status tly_pto_team_make(const tly_context *context, const tly_pto_config *config,
                             uint32_t num_elements, tly_pto_team **out_team, tly_error *error) {
    if (num_elements < 1 || num_elements > TLY_PTO_TEAM_MAX) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "pto-team",
                             "a team has 1 to %d elements, not %u", TLY_PTO_TEAM_MAX, num_elements);
    }
    tly_pto_team *team = tly_base_calloc(context, sizeof(*team), _Alignof(tly_pto_team));
    if (team == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "out of memory");
    }
    team->context = context;
    tly_pto_crew_init(&team->crew);
    tly_status status = TLY_OK;
    while (status == TLY_OK && team->num_members < num_elements) {
        status = add_member(team, config, error);
    }
    if (status != TLY_OK) {
        tly_pto_team_free(team);
        return status;
    }
    *out_team = team;
    return TLY_OK;
}

tly_status tly_pto_team_new(const tly_context *context, const tly_pto_team_options *options,
                            tly_pto_team **out_team, tly_error *error) {
    tly_pto_config config;
    if (context == NULL || out_team == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "argument",
                             "a context and a place for the team are needed");
    }
    if (options != NULL && options->size != sizeof(*options)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "options of another version");
    }
    tly_status status =
        tly_pto_config_of(options != NULL ? options->machine : NULL, &config, error);
    uint32_t num_elements =
        options != NULL && options->num_elements != 0 ? options->num_elements : TLY_PTO_TEAM_MAX;
    return status == TLY_OK ? tly_pto_team_make(context, &config, num_elements, out_team, error)
                            : status;
}

void tly_pto_team_reset(tly_pto_team *team) {
    for (uint32_t i = 0; i < team->num_members; i++) {
        tly_pto_machine_reset(team->members[i].m);
    }
}

uint32_t tly_pto_team_size(const tly_pto_team *team) {
    return team->num_members;
}

tly_pto_machine *tly_pto_team_machine(const tly_pto_team *team, uint64_t element) {
    return element < team->num_members ? team->members[element].m : NULL;
}

tly_pto_machine *tly_pto_team_element(tly_pto_team *team, uint32_t element) {
    return tly_pto_team_machine(team, element);
}

/* ------------------------------------------------------------------------------------------ */

void tly_pto_team_wrote(tly_pto_team *team, const tly_pto_machine *writer, uint64_t address,
                        uint64_t len) {
    for (uint32_t i = 0; i < team->num_members; i++) {
        tly_pto_member *other = &team->members[i];
        if (other->m == writer) {
            continue;
        }
        if (other->reserved.valid && tly_pto_reservation_overlaps(&other->reserved, address, len)) {
            __atomic_store_n(&other->lost_reservation, true, __ATOMIC_RELAXED);
        }
        if (address < other->code_end && other->code_first < address + len) {
            __atomic_store_n(&other->code_written, true, __ATOMIC_RELAXED);
        }
    }
}

static bool take(bool *flag) {
    return __atomic_exchange_n(flag, false, __ATOMIC_RELAXED);
}

void tly_pto_team_settle_reservation(tly_pto_member *member) {
    tly_pto_reservation *reservation = &member->m->core.reservation;
    if (take(&member->lost_reservation)) {
        reservation->valid = false;
    }
    member->reserved = *reservation;
}

static void watch(tly_pto_team *team, const tly_pto_member *whose, uint64_t line, bool on) {
    for (uint32_t i = 0; i < team->num_members; i++) {
        if (&team->members[i] != whose && line != no_line) {
            tly_pto_code_reserve_line(team->members[i].m->code, line, on);
        }
    }
}

/* Lines of several elements may be the same: all that are left are left before any is entered. */
static void watch_reservations(tly_pto_team *team) {
    bool changed = false;
    for (uint32_t i = 0; i < team->num_members; i++) {
        const tly_pto_member *member = &team->members[i];
        changed |= member->reserved.valid || member->watched_line != no_line;
    }
    for (uint32_t i = 0; changed && i < team->num_members; i++) {
        watch(team, &team->members[i], team->members[i].watched_line, false);
    }
    for (uint32_t i = 0; changed && i < team->num_members; i++) {
        tly_pto_member *member = &team->members[i];
        uint64_t line = member->reserved.address / TLY_PTO_GRANULE;
        bool inside = line <= (member->m->memory.size - 1) / TLY_PTO_GRANULE;
        member->watched_line = member->reserved.valid && inside ? line : no_line;
        watch(team, member, member->watched_line, true);
    }
}

void tly_pto_team_settle_code(tly_pto_team *team, tly_pto_member *member) {
    uint32_t first;
    bool same =
        tly_pto_code_confirm(member->m, take(&member->code_written), &first); /* or forgotten */
    for (uint32_t i = 0; same && i < team->num_members; i++) {
        if (&team->members[i] != member) {
            tly_pto_code_see(team->members[i].m->code, member->m->code, first);
        }
    }
    tly_pto_code_noted(member->m->code, &member->code_first, &member->code_end);
}

void tly_pto_team_settle(tly_pto_team *team) {
    for (uint32_t i = 0; i < team->num_members; i++) {
        tly_pto_team_settle_reservation(&team->members[i]);
        tly_pto_team_settle_code(team, &team->members[i]);
    }
    watch_reservations(team);
}

void tly_pto_team_share_tiles(tly_pto_team *team, const tly_pto_member *from) {
    for (uint32_t i = 0; i < team->num_members; i++) {
        tly_pto_machine *m = team->members[i].m;
        if (m != from->m) {
            memcpy(m->core.shared_tiles, from->m->core.shared_tiles, sizeof(m->core.shared_tiles));
            tly_pto_capacity_changed(m);
        }
    }
}

void tly_pto_team_share_queues(tly_pto_team *team, const tly_pto_member *from) {
    for (uint32_t i = 0; i < team->num_members; i++) {
        team->members[i].m->core.gqm = from->m->core.gqm;
    }
}
