/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/events.h"

#include "pto/memory.h"

#include "pto/profile/format.h"

enum { INITIAL, LOAD, STORE, ATOMIC, FENCE };

/* Classes of accesses as the masks of a fence have them. */
enum { READS = 1, WRITES = 2 };

static bool is_read(const tly_pto_event *e) {
    return e->kind == LOAD || e->kind == ATOMIC;
}

static bool is_write(const tly_pto_event *e) {
    return e->kind == INITIAL || e->kind == STORE || (e->kind == ATOMIC && e->write_performed);
}

static bool same_location(const tly_pto_event *a, const tly_pto_event *b) {
    return a->address == b->address && a->size == b->size;
}

static uint32_t class_of(const tly_pto_event *e) {
    static const uint8_t classes[] = {[INITIAL] = WRITES,
                                      [LOAD] = READS,
                                      [STORE] = WRITES,
                                      [ATOMIC] = READS | WRITES,
                                      [FENCE] = 0};
    return classes[e->kind];
}

void tly_pto_capture_start(tly_pto_machine *m, uint32_t agent) {
    m->num_events = 0;
    m->core.current_pe = (uint8_t)agent;
    m->capture_enabled = true;
}

void tly_pto_capture_stop(tly_pto_machine *m) {
    m->capture_enabled = false;
}

bool tly_pto_add_event(tly_pto_machine *m, const tly_pto_event *event) {
    if (m->num_events == TLY_PTO_NUM_EVENTS || event->kind > FENCE ||
        event->read_from >= TLY_PTO_NUM_EVENTS) {
        return false;
    }
    tly_pto_event *added = &m->events[m->num_events++];
    *added = *event;
    added->read_value = tly_pto_low_bits(event->read_value, event->size * 8u);
    added->write_value = tly_pto_low_bits(event->write_value, event->size * 8u);
    return true;
}

bool tly_pto_set_read_from(tly_pto_machine *m, uint32_t read, uint32_t source) {
    if (read >= m->num_events || source >= m->num_events) {
        return false;
    }
    m->events[read].read_from = source;
    return true;
}

/* The place behind all writes to a location so far. */
static uint32_t next_rank(const tly_pto_machine *m, uint64_t address, uint32_t size) {
    uint32_t rank = 1;
    for (uint32_t i = 0; i < m->num_events; i++) {
        const tly_pto_event *e = &m->events[i];
        if (is_write(e) && e->address == address && e->size == size && e->coherence_rank >= rank) {
            rank = e->coherence_rank + 1;
        }
    }
    return rank;
}

/* The last event is a read: it took its value from the latest write that left it. */
static void resolve_read(tly_pto_machine *m) {
    uint32_t read = m->num_events - 1;
    for (uint32_t i = 0; i < read; i++) {
        const tly_pto_event *e = &m->events[i];
        if (is_write(e) && same_location(e, &m->events[read]) &&
            e->write_value == m->events[read].read_value) {
            m->events[read].read_from = i;
        }
    }
}

void tly_pto_record_load(tly_pto_machine *m, uint64_t address, uint32_t size, uint64_t value,
                         tly_pto_order order) {
    if (m->watch_memory != NULL) {
        tly_pto_note_access(m, address, size, false);
    }
    if (m->capture_enabled) {
        tly_pto_event event = {.kind = LOAD,
                               .agent = m->core.current_pe,
                               .size = (uint8_t)size,
                               .order = (uint8_t)order,
                               .address = address,
                               .read_value = value};
        if (tly_pto_add_event(m, &event)) {
            resolve_read(m);
        }
    }
}

void tly_pto_record_store(tly_pto_machine *m, uint64_t address, uint32_t size, uint64_t value,
                          tly_pto_order order) {
    if (m->capture_enabled) {
        tly_pto_event event = {.kind = STORE,
                               .agent = m->core.current_pe,
                               .size = (uint8_t)size,
                               .order = (uint8_t)order,
                               .write_performed = true,
                               .coherence_rank = next_rank(m, address, size),
                               .address = address,
                               .write_value = value};
        tly_pto_add_event(m, &event);
    }
}

void tly_pto_record_atomic(tly_pto_machine *m, uint64_t address, uint32_t size, uint64_t read_value,
                           uint64_t write_value, bool write_performed, tly_pto_order order) {
    if (m->watch_memory != NULL) {
        tly_pto_note_access(m, address, size, false);
    }
    if (m->capture_enabled) {
        tly_pto_event event = {.kind = ATOMIC,
                               .agent = m->core.current_pe,
                               .size = (uint8_t)size,
                               .order = (uint8_t)order,
                               .write_performed = write_performed,
                               .coherence_rank = write_performed ? next_rank(m, address, size) : 0,
                               .address = address,
                               .read_value = read_value,
                               .write_value = write_value};
        if (tly_pto_add_event(m, &event)) {
            resolve_read(m);
        }
    }
}

void tly_pto_record_fence(tly_pto_machine *m, uint32_t predecessor, uint32_t successor) {
    if (m->capture_enabled) {
        tly_pto_event event = {.kind = FENCE,
                               .agent = m->core.current_pe,
                               .size = 1,
                               .order = TLY_PTO_ORDER_BOTH,
                               .fence_predecessor = (uint8_t)predecessor,
                               .fence_successor = (uint8_t)successor};
        tly_pto_add_event(m, &event);
    }
}

/* the verdict */

static bool overlap(const tly_pto_event *a, const tly_pto_event *b) {
    return (a->address >= b->address && a->address - b->address < b->size) ||
           (b->address >= a->address && b->address - a->address < a->size);
}

/* One initial write of its own location, and no access that shares only some of its bytes. */
static bool access_valid(const tly_pto_machine *m, const tly_pto_event *e) {
    uint32_t num_initial = 0;
    for (uint32_t i = 0; i < m->num_events; i++) {
        const tly_pto_event *other = &m->events[i];
        if (other->kind == FENCE) {
            continue;
        }
        if (same_location(e, other)) {
            num_initial += other->kind == INITIAL;
        } else if (overlap(e, other)) {
            return false;
        }
    }
    return num_initial == 1;
}

/* Each write but the initial one stands right behind another, and no two at the same place. */
static bool rank_valid(const tly_pto_machine *m, const tly_pto_event *e) {
    bool has_predecessor = false;
    if (e->kind == INITIAL) {
        return e->coherence_rank == 0;
    }
    for (uint32_t i = 0; i < m->num_events; i++) {
        const tly_pto_event *other = &m->events[i];
        if (other == e || !is_write(other) || !same_location(e, other)) {
            continue;
        }
        if (other->coherence_rank == e->coherence_rank) {
            return false;
        }
        has_predecessor = has_predecessor || other->coherence_rank + 1 == e->coherence_rank;
    }
    return e->coherence_rank != 0 && has_predecessor;
}

static bool source_valid(const tly_pto_machine *m, const tly_pto_event *e) {
    if (e->read_from >= m->num_events) {
        return false;
    }
    const tly_pto_event *source = &m->events[e->read_from];
    return is_write(source) && same_location(e, source) && e->read_value == source->write_value &&
           (e->kind != ATOMIC || !e->write_performed ||
            source->coherence_rank + 1 == e->coherence_rank);
}

static bool candidate_valid(const tly_pto_machine *m) {
    for (uint32_t i = 0; i < m->num_events; i++) {
        const tly_pto_event *e = &m->events[i];
        if (e->kind != FENCE && (!access_valid(m, e) || (is_write(e) && !rank_valid(m, e)) ||
                                 (is_read(e) && !source_valid(m, e)))) {
            return false;
        }
    }
    return m->num_events != 0;
}

static bool coherence_before(const tly_pto_event *a, const tly_pto_event *b) {
    return is_write(a) && is_write(b) && same_location(a, b) &&
           a->coherence_rank < b->coherence_rank;
}

/* A read stands before the writes that follow the one it read. */
static bool from_read_before(const tly_pto_machine *m, uint32_t a, uint32_t b) {
    const tly_pto_event *read = &m->events[a];
    return a != b && is_read(read) && coherence_before(&m->events[read->read_from], &m->events[b]);
}

static bool read_from_before(const tly_pto_machine *m, uint32_t a, uint32_t b) {
    return is_write(&m->events[a]) && is_read(&m->events[b]) && m->events[b].read_from == a;
}

/* Both are accesses of one agent, in this order. */
static bool program_before(const tly_pto_machine *m, uint32_t a, uint32_t b) {
    const tly_pto_event *left = &m->events[a];
    const tly_pto_event *right = &m->events[b];
    return a < b && left->agent == right->agent && left->kind != INITIAL &&
           right->kind != INITIAL && left->kind != FENCE && right->kind != FENCE;
}

static bool fence_between(const tly_pto_machine *m, uint32_t a, uint32_t b) {
    for (uint32_t i = a + 1; i < b; i++) {
        const tly_pto_event *fence = &m->events[i];
        if (fence->kind == FENCE && fence->agent == m->events[a].agent &&
            (class_of(&m->events[a]) & fence->fence_predecessor) != 0 &&
            (class_of(&m->events[b]) & fence->fence_successor) != 0) {
            return true;
        }
    }
    return false;
}

/* Program order that total store order keeps: all of it but a write before a read, and that too
 * where an atomic, the events' own order or a fence says so. */
static bool preserved_before(const tly_pto_machine *m, uint32_t a, uint32_t b) {
    const tly_pto_event *left = &m->events[a];
    const tly_pto_event *right = &m->events[b];
    if (!program_before(m, a, b)) {
        return false;
    }
    return is_read(left) || is_write(right) || left->kind == ATOMIC || right->kind == ATOMIC ||
           (left->order & TLY_PTO_ORDER_ACQUIRE) != 0 ||
           (right->order & TLY_PTO_ORDER_RELEASE) != 0 || fence_between(m, a, b);
}

static bool edge(const tly_pto_machine *m, bool uniproc, uint32_t a, uint32_t b) {
    const tly_pto_event *left = &m->events[a];
    const tly_pto_event *right = &m->events[b];
    if (coherence_before(left, right) || from_read_before(m, a, b)) {
        return true;
    }
    if (uniproc) {
        return (program_before(m, a, b) && same_location(left, right)) || read_from_before(m, a, b);
    }
    return preserved_before(m, a, b) ||
           (read_from_before(m, a, b) && (left->kind == INITIAL || left->agent != right->agent));
}

_Static_assert(TLY_PTO_NUM_EVENTS <= 64, "a row of the relation is one word");

static bool acyclic(const tly_pto_machine *m, bool uniproc) {
    uint64_t reaches[TLY_PTO_NUM_EVENTS] = {0};
    for (uint32_t a = 0; a < m->num_events; a++) {
        for (uint32_t b = 0; b < m->num_events; b++) {
            reaches[a] |= (uint64_t)edge(m, uniproc, a, b) << b;
        }
    }
    for (uint32_t via = 0; via < m->num_events; via++) {
        for (uint32_t a = 0; a < m->num_events; a++) {
            reaches[a] |= (reaches[a] >> via & 1) != 0 ? reaches[via] : 0;
        }
    }
    for (uint32_t a = 0; a < m->num_events; a++) {
        if ((reaches[a] >> a & 1) != 0) {
            return false;
        }
    }
    return true;
}

void tly_pto_judge_events(const tly_pto_machine *m, tly_pto_verdict *out_verdict) {
    out_verdict->valid = candidate_valid(m);
    out_verdict->acyclic_uniproc = acyclic(m, true);
    out_verdict->acyclic_tso = acyclic(m, false);
    out_verdict->allowed =
        out_verdict->valid && out_verdict->acyclic_uniproc && out_verdict->acyclic_tso;
}
