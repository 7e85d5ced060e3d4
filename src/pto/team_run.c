/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds: the elements run for themselves, on as many threads as there are; then, when all stand,
 * those that need a turn get one, by number. Whatever decides the order is counted in steps. */
#include "base/error.h"
#include "pto/run.h"
#include "pto/team_state.h"

enum { ROUND_STEPS = 65536 };

/* A run, and the elements that run in its present round. */
typedef struct team_run {
    tly_pto_team *team;
    const tly_pto_team_run_options *options;
    uint64_t round_steps;
    uint32_t threads;
    bool by_number; /* an observer sees one element after the other */
    uint32_t num_apart;
    tly_pto_member *apart[TLY_PTO_TEAM_MAX];
} team_run;

static tly_pto_run_options options_of(const tly_pto_team_run_options *options) {
    return (tly_pto_run_options){.size = sizeof(tly_pto_run_options),
                                 .stop_pc = options->stop_pc,
                                 .observer = options->observer,
                                 .user = options->user,
                                 .plain = options->plain};
}

/* An element's part of the round. A job of the crew. */
static void run_part(void *user, uint32_t number) {
    const team_run *r = user;
    tly_pto_member *member = r->apart[number];
    tly_pto_run_options options = options_of(r->options);
    options.max_steps = member->left < r->round_steps ? member->left : r->round_steps;
    if (r->threads <= 1 || r->by_number) {
        tly_pto_team_settle_code(r->team, member);
    }
    tly_pto_run_apart(member->m, &options, &member->part);
}

static void end_member(tly_pto_member *member, int32_t end) {
    member->running = false;
    member->waits = false;
    member->end = end;
}

static bool ends_all(const tly_pto_member *member) {
    return !member->running &&
           (member->end == TLY_PTO_END_FAULT || member->end == TLY_PTO_END_FETCH ||
            member->end == TLY_PTO_END_ASKED);
}

/* All that run and do not wait. An observer that ends the run ends it at once. */
static void run_apart(team_run *r) {
    tly_pto_team *team = r->team;
    r->num_apart = 0;
    for (uint32_t i = 0; i < team->num_members; i++) {
        if (team->members[i].running && !team->members[i].waits) {
            r->apart[r->num_apart++] = &team->members[i];
        }
    }
    if (!r->by_number) {
        tly_pto_crew_run(&team->crew, r->threads, r->num_apart, run_part, r);
    }
    for (uint32_t i = 0; r->by_number && i < r->num_apart; i++) {
        run_part(r, i);
        r->num_apart = r->apart[i]->part.end == TLY_PTO_END_ASKED ? i + 1 : r->num_apart;
    }
    for (uint32_t i = 0; i < r->num_apart; i++) {
        tly_pto_member *member = r->apart[i];
        member->left -= member->part.num_steps;
        if (member->part.end == TLY_PTO_END_TURN) {
            member->waits = true;
        } else if (member->part.end != TLY_PTO_END_LIMIT || member->left == 0) {
            end_member(member, member->part.end);
        }
    }
}

/* A turn of tiles is for all elements of the mask at once. */
static bool may_go(const tly_pto_team *team, const tly_pto_member *member) {
    if (member->turn != TLY_PTO_TURN_TILES) {
        return true;
    }
    for (uint32_t i = 0; i < team->num_members; i++) {
        const tly_pto_member *other = &team->members[i];
        if ((member->turn_mask << i & 8) != 0 && other->running &&
            !(other->waits && other->turn == TLY_PTO_TURN_TILES)) {
            return false;
        }
    }
    return true;
}

static void take_turn(const team_run *r, tly_pto_member *member) {
    tly_pto_run_options options = options_of(r->options);
    int32_t end;
    tly_pto_team_settle_reservation(member);
    bool goes_on = tly_pto_run_turn(member->m, &options, &end);
    tly_pto_team_settle_reservation(member);
    member->waits = false;
    member->left--;
    if (!goes_on) {
        end_member(member, end);
    }
    if (member->turn == TLY_PTO_TURN_TILES) {
        tly_pto_team_share_tiles(r->team, member);
    } else if (member->turn == TLY_PTO_TURN_QUEUES) {
        tly_pto_team_share_queues(r->team, member);
    }
}

static void take_turns(const team_run *r) {
    tly_pto_team *team = r->team;
    bool goes[TLY_PTO_TEAM_MAX] = {false};
    for (uint32_t i = 0; i < team->num_members; i++) {
        tly_pto_member *member = &team->members[i];
        if (member->waits) {
            member->turn = tly_pto_next_turn(member->m, &member->turn_mask);
        }
    }
    for (uint32_t i = 0; i < team->num_members; i++) {
        goes[i] = team->members[i].waits && may_go(team, &team->members[i]);
    }
    for (uint32_t i = 0; i < team->num_members; i++) {
        if (goes[i]) {
            take_turn(r, &team->members[i]);
        }
        if (goes[i] && team->members[i].end == TLY_PTO_END_ASKED && ends_all(&team->members[i])) {
            return;
        }
    }
}

static bool any_runs(const tly_pto_team *team) {
    bool any = false;
    for (uint32_t i = 0; i < team->num_members; i++) {
        any |= team->members[i].running;
    }
    return any;
}

/* The first element that ends the run for all; -1 if none does. */
static int32_t first_to_end(const tly_pto_team *team) {
    for (uint32_t i = 0; i < team->num_members; i++) {
        if (ends_all(&team->members[i])) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* Watchers are called in the order of the elements. */
static bool watched(const tly_pto_team *team) {
    bool any = false;
    for (uint32_t i = 0; i < team->num_members; i++) {
        const tly_pto_machine *m = team->members[i].m;
        any |= m->watch_memory != NULL || m->watch_traps != NULL;
    }
    return any;
}

static int32_t run_rounds(team_run *r, uint64_t *out_rounds) {
    tly_pto_team *team = r->team;
    int32_t first = -1;
    *out_rounds = 0;
    while (first < 0 && any_runs(team)) {
        tly_pto_team_settle(team);
        run_apart(r);
        first = first_to_end(team);
        if (first < 0 || team->members[first].end != TLY_PTO_END_ASKED) {
            take_turns(r);
            first = first_to_end(team);
        }
        ++*out_rounds;
    }
    tly_pto_team_settle(team);
    return first;
}

tly_status tly_pto_team_run(tly_pto_team *team, const tly_pto_team_run_options *options,
                            tly_pto_team_run_result *out_result, tly_error *error) {
    team_run r = {.team = team,
                  .options = options,
                  .threads = options->threads,
                  .by_number = options->observer != NULL && options->observe_apart == 0};
    if (options->size != sizeof(*options) || out_result->size != sizeof(*out_result)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "options or result of another version");
    }
    if (options->threads > TLY_PTO_TEAM_MAX) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "pto-threads",
                             "a team runs on 1 to %d threads, not %u", TLY_PTO_TEAM_MAX,
                             options->threads);
    }
    for (uint32_t i = 0; i < team->num_members; i++) {
        tly_pto_member *member = &team->members[i];
        member->left = options->max_steps;
        member->end = TLY_PTO_END_OTHER;
        member->running = true;
        member->waits = false;
    }
    tly_pto_team_share_tiles(team, &team->members[0]);
    tly_pto_team_share_queues(team, &team->members[0]);
    r.round_steps = options->round_steps != 0 ? options->round_steps : ROUND_STEPS;
    r.threads = watched(team) ? 1 : r.threads;
    tly_pto_crew_begin(&team->crew);
    *out_result =
        (tly_pto_team_run_result){.size = sizeof(*out_result), .num_elements = team->num_members};
    out_result->first = run_rounds(&r, &out_result->num_rounds);
    for (uint32_t i = 0; i < team->num_members; i++) {
        const tly_pto_member *member = &team->members[i];
        out_result->elements[i] = (tly_pto_run_result){
            .end = member->end, .num_steps = options->max_steps - member->left};
    }
    return TLY_OK;
}
