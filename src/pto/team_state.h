/* SPDX-License-Identifier: Apache-2.0 */
/* What a team keeps: its machines, and what each of them has to know of the others. */
#ifndef TLY_PTO_TEAM_STATE_H
#define TLY_PTO_TEAM_STATE_H

#include "pto/crew.h"
#include "pto/machine.h"
#include "pto/team.h"
#include "pto/turn.h"

/* One element. The others read the first part while they run, and set the flags of the second; all
 * else is for when nobody runs. */
typedef struct tly_pto_member {
    tly_pto_reservation reserved;
    uint64_t code_first; /* bytes that its code was made from lie in this range */
    uint64_t code_end;

    bool lost_reservation; /* by __atomic operations */
    bool code_written;

    tly_pto_machine *m;
    uint64_t watched_line; /* line of `reserved` that the others watch; UINT64_MAX: none */

    /* of a run */
    uint64_t left;           /* steps */
    tly_pto_run_result part; /* of the round */
    tly_pto_turn turn;
    uint32_t turn_mask;
    int32_t end;
    bool running;
    bool waits; /* stands at a turn */
} tly_pto_member;

struct tly_pto_team {
    const tly_context *context;
    uint32_t num_members;
    tly_pto_member members[TLY_PTO_TEAM_MAX];
    tly_pto_crew crew;
};

/* Gives the other elements what this one's machine knows of what all share. */
void tly_pto_team_share_tiles(tly_pto_team *team, const tly_pto_member *from);
void tly_pto_team_share_queues(tly_pto_team *team, const tly_pto_member *from);

/* The code of one element, as the others left it. On one thread that is done before each part of a
 * round, so that even code that they race for is what memory has. */
void tly_pto_team_settle_code(tly_pto_team *team, tly_pto_member *member);

/* The reservation of one element, as the others left it, and for them to see. */
void tly_pto_team_settle_reservation(tly_pto_member *member);

#endif
