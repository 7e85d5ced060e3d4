/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_PTO_TEAM_H
#define TILERY_PTO_TEAM_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/pto.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* Several processing elements of a core that run programs side by side. Each is a machine of its
 * own (tilery/pto.h) with its registers, blocks, traps, system registers and local tiles. Memory,
 * general queues and shared tiles are the same for all. THREAD_ID tells a program where it runs.
 *
 * They run in rounds: each for itself up to a number of steps, or up to an instruction that reaches
 * what they share and that the architecture orders (a turn: atomic accesses, reservations, fences,
 * blocks with B.CATR's order, general queues, shared tiles, GMOV). Then the turns are executed, one
 * behind the other, by number of element. A turn of shared tiles or GMOV waits until every running
 * element of its mask stands at such a turn too. So the order does not depend on threads, and
 * a program whose elements reach common bytes only with turns in between gives the same bits with
 * any number of them. Elements that race for bytes get what a race gives, but with one thread the
 * same every time. */
typedef struct tly_pto_team tly_pto_team;

enum { TLY_PTO_TEAM_MAX = 4 };

typedef struct tly_pto_team_options {
    size_t size;                    /* sizeof(tly_pto_team_options) */
    uint32_t num_elements;          /* 1 to 4, from element 0 on; 0: 4 */
    uint32_t reserved;              /* 0 */
    const tly_pto_options *machine; /* of every element; NULL: as for tly_pto_new */
} tly_pto_team_options;

/* A team in its reset state. `options` may be NULL. Errors: those of tly_pto_new. Single-owner. */
TLY_API tly_status tly_pto_team_new(const tly_context *context, const tly_pto_team_options *options,
                                    tly_pto_team **out_team, tly_error *error);
TLY_API void tly_pto_team_free(tly_pto_team *team); /* takes NULL; its elements go with it */

/* All elements as after tly_pto_team_new, memory zero. */
TLY_API void tly_pto_team_reset(tly_pto_team *team);

/* The machine of an element; NULL if there is none. It belongs to the team and is good as long. All
 * functions of tilery/pto.h take it while the team does not run, except that tly_pto_free must not
 * have it. tly_pto_reset and tly_pto_restore change the memory of all. Shared tiles and the epochs
 * of queues are read and written by name at element 0; a run gives them to the others. */
TLY_API tly_pto_machine *tly_pto_team_element(tly_pto_team *team, uint32_t element);

typedef struct tly_pto_team_run_options {
    size_t size;               /* sizeof(tly_pto_team_run_options) */
    uint32_t threads;          /* threads that run elements, the caller's with them; 0: 1 */
    uint32_t plain;            /* as in tly_pto_run_options */
    uint64_t stop_pc;          /* where an element is done */
    uint64_t max_steps;        /* of each element */
    uint64_t round_steps;      /* longest part of a round; 0: 65536. It is a part of the order */
    tly_pto_observer observer; /* NULL: nobody. It gets the element's machine */
    void *user;
    uint32_t observe_apart; /* 1: several threads at once may call the observer, each with another
                               machine. 0: with an observer, and always with a watcher on an
                               element, they run on the caller's thread, by number */
    uint32_t reserved;      /* 0 */
} tly_pto_team_run_options;

typedef struct tly_pto_team_run_result {
    size_t size; /* sizeof(tly_pto_team_run_result), set by the caller */
    uint32_t num_elements;
    int32_t first; /* the element that ended the run for all, -1 if none did */
    uint64_t num_rounds;
    tly_pto_run_result elements[TLY_PTO_TEAM_MAX];
} tly_pto_team_run_result;

/* Runs the elements until each has ended. One that ends with FAULT, FETCH or ASKED ends the run for
 * all, when the round is over: the others have TLY_PTO_END_OTHER then, and `first` is the one with
 * the lowest number in that round. Threads are made when a run first asks for them, and
 * wait in between; where the system gives fewer than asked for, fewer run. Errors: INVALID_ARGUMENT
 * (sizes; threads above 4), nothing is run. */
TLY_API tly_status tly_pto_team_run(tly_pto_team *team, const tly_pto_team_run_options *options,
                                    tly_pto_team_run_result *out_result, tly_error *error);

TLY_END_DECLS

#endif
