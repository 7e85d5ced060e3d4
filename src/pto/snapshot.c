/* SPDX-License-Identifier: Apache-2.0 */
/* Save and restore. Memory is kept by pages, and only those that hold something. */
#include <string.h>
#include <sys/mman.h>

#include <tilery/pto.h>

#include "base/context.h"
#include "base/error.h"
#include "pto/machine.h"
#include "pto/memory.h"
#include "pto/tile/store.h"

enum { PAGE = 4096, PAGES_AT_ONCE = 4096 };

struct tly_pto_snapshot {
    const tly_context *context;
    tly_pto_core core;
    bool capture_enabled;
    uint32_t num_events;
    tly_pto_event events[TLY_PTO_NUM_EVENTS];
    tly_pto_reason reason;
    uint32_t num_queues;
    tly_pto_gqm_queue *queues;
    tly_pto_gqm_entry *queue_entries;
    tly_pto_tile_store *tiles;
    uint8_t *memory; /* reserved like the machine's */
    uint64_t memory_len;
    uint8_t *present; /* a bit for each page that holds something */
};

static size_t entries_len(uint32_t num_queues) {
    return sizeof(tly_pto_gqm_entry) * TLY_PTO_GQM_MAX_CAPACITY * num_queues;
}

static uint64_t num_pages(uint64_t len) {
    return (len + PAGE - 1) / PAGE;
}

static size_t present_len(const tly_pto_snapshot *s) {
    return (size_t)(num_pages(s->memory_len) + 7) / 8;
}

static size_t page_len(const tly_pto_snapshot *s, uint64_t page) {
    uint64_t left = s->memory_len - page * PAGE;
    return left < PAGE ? (size_t)left : PAGE;
}

void tly_pto_snapshot_free(tly_pto_snapshot *s) {
    if (s == NULL) {
        return;
    }
    const tly_context *context = s->context;
    if (s->memory != NULL) {
        munmap(s->memory, (size_t)s->memory_len);
    }
    tly_pto_tile_store_free(context, s->tiles);
    tly_base_free(context, s->present, present_len(s), 1);
    tly_base_free(context, s->queues, sizeof(*s->queues) * s->num_queues,
                  _Alignof(tly_pto_gqm_queue));
    tly_base_free(context, s->queue_entries, entries_len(s->num_queues),
                  _Alignof(tly_pto_gqm_entry));
    tly_base_free(context, s, sizeof(*s), _Alignof(tly_pto_snapshot));
}

static bool is_zero(const uint8_t *bytes, size_t len) {
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

/* Pages that the system has not given to the machine hold zeros, and are not looked at. */
static void save_memory(tly_pto_snapshot *s, const uint8_t *bytes) {
    uint8_t resident[PAGES_AT_ONCE];
    for (uint64_t first = 0; first < num_pages(s->memory_len); first += PAGES_AT_ONCE) {
        uint64_t count = num_pages(s->memory_len) - first;
        count = count < PAGES_AT_ONCE ? count : PAGES_AT_ONCE;
        if (mincore((void *)(uintptr_t)(bytes + first * PAGE), (size_t)count * PAGE, resident) !=
            0) {
            memset(resident, 1, sizeof resident);
        }
        for (uint64_t i = 0; i < count; i++) {
            uint64_t page = first + i;
            size_t len = page_len(s, page);
            if ((resident[i] & 1) != 0 && !is_zero(bytes + page * PAGE, len)) {
                memcpy(s->memory + page * PAGE, bytes + page * PAGE, len);
                s->present[page / 8] |= (uint8_t)(1 << page % 8);
            }
        }
    }
}

/* Elements of the allocated tiles; others hold nothing that can be seen. */
static void copy_tiles(tly_pto_tile_store *to, const tly_pto_tile_store *from,
                       const tly_pto_core *core) {
    tly_pto_tile_store_reset(to);
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        if (core->tiles[i].allocated) {
            tly_pto_elements_copy(&to->local[i], &from->local[i], &core->tiles[i]);
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        if (core->shared_tiles[i].tile.allocated) {
            tly_pto_elements_copy(&to->shared[i], &from->shared[i], &core->shared_tiles[i].tile);
        }
    }
}

tly_status tly_pto_save(const tly_pto_machine *m, tly_pto_snapshot **out_snapshot,
                        tly_error *error) {
    const tly_context *context = m->context;
    tly_pto_snapshot *s = tly_base_calloc(context, sizeof(*s), _Alignof(tly_pto_snapshot));
    if (s == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "out of memory");
    }
    s->context = context;
    s->num_queues = m->num_queues;
    s->queues =
        tly_base_calloc(context, sizeof(*s->queues) * s->num_queues, _Alignof(tly_pto_gqm_queue));
    s->queue_entries =
        tly_base_calloc(context, entries_len(s->num_queues), _Alignof(tly_pto_gqm_entry));
    s->memory_len = m->memory.size;
    s->present = tly_base_calloc(context, present_len(s), 1);
    void *memory = mmap(NULL, (size_t)s->memory_len, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    s->memory = memory != MAP_FAILED ? memory : NULL;
    if (s->queues == NULL || s->queue_entries == NULL || s->present == NULL || s->memory == NULL ||
        tly_pto_tile_store_new(context, &s->tiles, NULL) != TLY_OK) {
        tly_pto_snapshot_free(s);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "out of memory");
    }
    s->core = m->core;
    s->capture_enabled = m->capture_enabled;
    s->num_events = m->num_events;
    memcpy(s->events, m->events, sizeof(s->events));
    s->reason = m->reason;
    memcpy(s->queues, m->queues, sizeof(*s->queues) * s->num_queues);
    memcpy(s->queue_entries, m->queue_entries, entries_len(s->num_queues));
    copy_tiles(s->tiles, m->tiles, &m->core);
    save_memory(s, m->memory.bytes);
    *out_snapshot = s;
    return TLY_OK;
}

tly_status tly_pto_restore(tly_pto_machine *m, const tly_pto_snapshot *s, tly_error *error) {
    if (m->memory.size != s->memory_len || m->num_queues != s->num_queues) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "pto-snapshot",
                             "the snapshot is of a machine with %llu bytes of memory and %u "
                             "queues, this one has %llu and %u",
                             (unsigned long long)s->memory_len, s->num_queues,
                             (unsigned long long)m->memory.size, m->num_queues);
    }
    madvise(m->memory.bytes, (size_t)m->memory.size, MADV_DONTNEED);
    for (uint64_t page = 0; page < num_pages(s->memory_len); page++) {
        if (s->present[page / 8] == 0) {
            page |= 7;
        } else if ((s->present[page / 8] >> page % 8 & 1) != 0) {
            memcpy(m->memory.bytes + page * PAGE, s->memory + page * PAGE, page_len(s, page));
        }
    }
    tly_pto_memory_changed(m, 0, m->memory.size);
    m->core = s->core;
    m->capture_enabled = s->capture_enabled;
    m->num_events = s->num_events;
    memcpy(m->events, s->events, sizeof(m->events));
    m->reason = s->reason;
    memcpy(m->queues, s->queues, sizeof(*m->queues) * m->num_queues);
    memcpy(m->queue_entries, s->queue_entries, entries_len(m->num_queues));
    copy_tiles(m->tiles, s->tiles, &m->core);
    return TLY_OK;
}
