/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers for benchmarks, and how much memory a process used. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/error.h"
#include "cli/bench.h"

tly_status tly_bench_ring_init(tly_bench_ring *ring, size_t slot_len, uint64_t total_len,
                               void (*fill)(void *slot, size_t len, uint32_t number),
                               tly_error *error) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), step, slots, len;
    void *base;

    memset(ring, 0, sizeof *ring);
    if (slot_len == 0 || tly_base_round_up_u64(slot_len, page, &step)) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "bench-range",
                             "a slot of %zu bytes cannot be mapped", slot_len);
    }
    slots = total_len / step + 1;
    slots = slots < 2 ? 2 : slots;
    if (slots > UINT32_MAX || tly_base_mul_u64(slots, step, &len) || len > SIZE_MAX) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "bench-range",
                             "%zu bytes per slot do not divide %llu bytes sensibly", slot_len,
                             (unsigned long long)total_len);
    }
    base = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for %llu bytes of buffers", (unsigned long long)len);
    }
#ifdef MADV_HUGEPAGE
    madvise(base, (size_t)len, MADV_HUGEPAGE); /* only a wish: both sides profit alike */
#endif
    ring->base = base;
    ring->slot_len = slot_len;
    ring->slot_step = (size_t)step;
    ring->num_slots = (uint32_t)slots;
    for (uint32_t i = 0; i < ring->num_slots; i++) {
        void *slot = tly_bench_ring_at(ring, i);
        if (fill != NULL) {
            fill(slot, slot_len, i);
        } else {
            memset(slot, 1, slot_len);
        }
    }
    return TLY_OK;
}

void tly_bench_ring_cleanup(tly_bench_ring *ring) {
    if (ring->base != NULL) {
        munmap(ring->base, ring->slot_step * ring->num_slots);
        ring->base = NULL;
    }
}

void *tly_bench_ring_at(const tly_bench_ring *ring, uint64_t turn) {
    return ring->base + (size_t)(turn % ring->num_slots) * ring->slot_step;
}

/* A cheap generator; each slot has its own stream. */
static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state;
}

void tly_bench_fill_f32(void *slot, size_t len, uint32_t number) {
    uint32_t state = number * 2654435761u + 1;
    float *out = slot;
    for (size_t i = 0; i < len / sizeof *out; i++) {
        out[i] = (float)((int32_t)next(&state) >> 8) * 0x1p-23f;
    }
}

void tly_bench_fill_bf16(void *slot, size_t len, uint32_t number) {
    uint32_t state = number * 2654435761u + 1;
    uint8_t *out = slot;
    for (size_t i = 0; i + 1 < len; i += 2) {
        float value = (float)((int32_t)next(&state) >> 24) * 0x1p-7f; /* exact in bfloat16 */
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits >>= 16;
        memcpy(out + i, &(uint16_t){(uint16_t)bits}, 2);
    }
}

void tly_bench_fill_bytes(void *slot, size_t len, uint32_t number) {
    uint32_t state = number * 2654435761u + 1;
    uint8_t *out = slot;
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)(next(&state) >> 24);
    }
}

uint64_t tly_bench_peak_memory(void) {
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long kib = 0;
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "VmHWM: %llu kB", &kib) == 1) {
            break;
        }
    }
    fclose(file);
    return kib * 1024;
}
