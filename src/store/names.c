/* SPDX-License-Identifier: Apache-2.0 */
#include "store/names.h"

#include <string.h>
#include <sys/auxv.h>

#include "base/bytes.h"
#include "base/context.h"

/* SipHash-1-3 (Aumasson and Bernstein): short, and safe against chosen names. */
static inline uint64_t rotate(uint64_t v, int by) {
    return v << by | v >> (64 - by);
}

static inline void sip_round(uint64_t v[4]) {
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static uint32_t hash_of(const uint64_t key[2], const void *name, size_t len) {
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736F6D6570736575), key[1] ^ UINT64_C(0x646F72616E646F6D),
                     key[0] ^ UINT64_C(0x6C7967656E657261), key[1] ^ UINT64_C(0x7465646279746573)};
    const uint8_t *p = name;
    uint8_t tail[8] = {0};
    uint64_t word;
    size_t left = len;
    for (; left >= 8; p += 8, left -= 8) {
        word = tly_base_load_u64(p);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    memcpy(tail, p, left);
    word = tly_base_load_u64(tail) | (uint64_t)len << 56;
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xFF;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    word = v[0] ^ v[1] ^ v[2] ^ v[3];
    return (uint32_t)(word ^ word >> 32);
}

static size_t slots_len(uint64_t num_slots) {
    return (size_t)num_slots * sizeof(tly_store_names_slot);
}

static int resize(tly_store_names *names, uint64_t num_slots) {
    tly_store_names_slot *slots = NULL;
    if (num_slots <= SIZE_MAX / sizeof *slots) {
        slots =
            tly_base_calloc(names->context, slots_len(num_slots), _Alignof(tly_store_names_slot));
    }
    if (slots == NULL) {
        return 0;
    }
    for (uint64_t i = 0; i < names->num_slots; i++) {
        if (names->slots[i].number_plus_1 != 0) {
            uint64_t at = names->slots[i].hash & (num_slots - 1);
            while (slots[at].number_plus_1 != 0) {
                at = (at + 1) & (num_slots - 1);
            }
            slots[at] = names->slots[i];
        }
    }
    tly_base_free(names->context, names->slots, slots_len(names->num_slots),
                  _Alignof(tly_store_names_slot));
    names->slots = slots;
    names->num_slots = num_slots;
    return 1;
}

int tly_store_names_init(tly_store_names *names, const tly_context *context, uint64_t expected) {
    uint64_t num_slots = 16;
    const void *secret = (const void *)getauxval(AT_RANDOM); /* 16 bytes from the kernel */
    memset(names, 0, sizeof *names);
    names->context = context;
    if (secret != NULL) {
        memcpy(names->key, secret, sizeof names->key);
    }
    while (num_slots / 3 * 2 < expected) {
        num_slots *= 2;
    }
    return resize(names, num_slots);
}

void tly_store_names_cleanup(tly_store_names *names) {
    tly_base_free(names->context, names->slots, slots_len(names->num_slots),
                  _Alignof(tly_store_names_slot));
    names->slots = NULL;
    names->num_slots = 0;
}

/* The slot of a name, or the free slot where it belongs. */
static tly_store_names_slot *locate(const tly_store_names *names, uint32_t hash, const void *name,
                                    size_t len, tly_store_name_of name_of, const void *owner) {
    uint64_t at = hash & (names->num_slots - 1);
    for (;; at = (at + 1) & (names->num_slots - 1)) {
        tly_store_names_slot *slot = &names->slots[at];
        size_t other_len;
        const void *other;
        if (slot->number_plus_1 == 0) {
            return slot;
        }
        if (slot->hash != hash) {
            continue;
        }
        other = name_of(owner, slot->number_plus_1 - 1, &other_len);
        if (other_len == len && memcmp(other, name, len) == 0) {
            return slot;
        }
    }
}

uint32_t tly_store_names_find(const tly_store_names *names, const void *name, size_t len,
                              tly_store_name_of name_of, const void *owner) {
    uint32_t hash = hash_of(names->key, name, len);
    const tly_store_names_slot *slot = locate(names, hash, name, len, name_of, owner);
    return slot->number_plus_1 - 1; /* UINT32_MAX for a free slot */
}

tly_store_names_result tly_store_names_add(tly_store_names *names, const void *name, size_t len,
                                           uint32_t number, tly_store_name_of name_of,
                                           const void *owner) {
    uint32_t hash = hash_of(names->key, name, len);
    tly_store_names_slot *slot = locate(names, hash, name, len, name_of, owner);
    if (slot->number_plus_1 != 0) {
        return TLY_STORE_NAMES_TAKEN;
    }
    if ((names->used + 1) * 3 > names->num_slots * 2) {
        if (!resize(names, names->num_slots * 2)) {
            return TLY_STORE_NAMES_NO_MEMORY;
        }
        slot = locate(names, hash, name, len, name_of, owner);
    }
    slot->hash = hash;
    slot->number_plus_1 = number + 1;
    names->used++;
    return TLY_STORE_NAMES_ADDED;
}
