/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a number by its name. The names stay with their owner; the table holds numbers. The hash is
 * keyed with a secret of the process, so that a file cannot be made whose names all collide. */
#ifndef TLY_STORE_NAMES_H
#define TLY_STORE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>

/* Name of a number. Called while searching. */
typedef const void *(*tly_store_name_of)(const void *owner, uint32_t number, size_t *out_len);

typedef struct tly_store_names_slot {
    uint32_t hash;
    uint32_t number_plus_1; /* 0: free */
} tly_store_names_slot;

typedef struct tly_store_names {
    const tly_context *context;
    tly_store_names_slot *slots;
    uint64_t num_slots; /* a power of two, or 0 */
    uint64_t used;
    uint64_t key[2];
} tly_store_names;

/* Room for `expected` names without growing. 0: no memory. */
int tly_store_names_init(tly_store_names *names, const tly_context *context, uint64_t expected);
void tly_store_names_cleanup(tly_store_names *names);

/* Number of a name, or UINT32_MAX. */
uint32_t tly_store_names_find(const tly_store_names *names, const void *name, size_t len,
                              tly_store_name_of name_of, const void *owner);

typedef enum tly_store_names_result {
    TLY_STORE_NAMES_ADDED,
    TLY_STORE_NAMES_TAKEN, /* the name is there: nothing was changed */
    TLY_STORE_NAMES_NO_MEMORY
} tly_store_names_result;

/* Adds a name under `number` (< UINT32_MAX). */
tly_store_names_result tly_store_names_add(tly_store_names *names, const void *name, size_t len,
                                           uint32_t number, tly_store_name_of name_of,
                                           const void *owner);

#endif
