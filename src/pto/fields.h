/* SPDX-License-Identifier: Apache-2.0 */
/* Every field of the architectural state by name: what the vector runner, the dump of a state and
 * the public access by name read. */
#ifndef TLY_PTO_FIELDS_H
#define TLY_PTO_FIELDS_H

#include "pto/machine.h"

typedef enum tly_pto_field_kind {
    TLY_PTO_FIELD_FLAG,  /* 0 or 1 */
    TLY_PTO_FIELD_COUNT, /* shown in decimal */
    TLY_PTO_FIELD_WORD,  /* shown in hexadecimal */
    TLY_PTO_FIELD_NAMED  /* a code with a name for each value */
} tly_pto_field_kind;

enum { TLY_PTO_FIELD_MAX_INDEXES = 2 };

/* One row. "[]" in a name is the place of an index; the first index of a field of a saved context
 * is the ring. */
typedef struct tly_pto_field {
    const char *name;
    uint8_t kind;
    uint8_t len; /* bytes: 1, 2, 4 or 8 */
    uint8_t num_indexes;
    uint8_t home; /* where the offset counts from */
    uint32_t offset;
    uint32_t counts[TLY_PTO_FIELD_MAX_INDEXES + 1];
    uint32_t strides[TLY_PTO_FIELD_MAX_INDEXES + 1];
    const char *const *names; /* of TLY_PTO_FIELD_NAMED: num_names, NULL for values without one */
    uint32_t num_names;
    uint32_t in_saved; /* also a field of each saved context, "trap_context[].NAME" */
} tly_pto_field;

uint32_t tly_pto_num_fields(void);
const tly_pto_field *tly_pto_field_at(uint32_t index);

/* How many values index `i` of a field may have in this machine. */
uint32_t tly_pto_field_count(const tly_pto_machine *machine, const tly_pto_field *field,
                             uint32_t i);

/* "DataPage"; "None" for no fault, "" for a number that is none. Static. */
const char *tly_pto_fault_name(uint32_t fault);

/* A place in a machine: a field with its indexes. */
typedef struct tly_pto_place {
    const tly_pto_field *field;
    int32_t saved_ring; /* -1: the live state, else the bank of saved context */
    uint32_t indexes[TLY_PTO_FIELD_MAX_INDEXES];
} tly_pto_place;

/* Finds "bundle_tile_bindings[3].pe_mask", "trap_context[1].tpc", "gpr[0][4]". Returns false when
 * there is no such field, or an index is missing, too many or too large. */
bool tly_pto_place_find(const tly_pto_machine *machine, const char *name, size_t len,
                        tly_pto_place *out_place);

uint64_t tly_pto_place_read(const tly_pto_machine *machine, const tly_pto_place *place);

/* Whether a field can have a value: one with a name where values have names, and an index, register
 * or count that the machine can follow. */
bool tly_pto_place_admits(const tly_pto_place *place, uint64_t value);

/* The value must be admitted. Bits above the field's width are lost; a flag becomes value != 0. */
void tly_pto_place_write(tly_pto_machine *machine, const tly_pto_place *place, uint64_t value);

/* Name of a value of a named field, or NULL. */
const char *tly_pto_field_value_name(const tly_pto_field *field, uint64_t value);

/* Code of a name; returns false if the field has no such value. */
bool tly_pto_field_value_find(const tly_pto_field *field, const char *name, size_t len,
                              uint64_t *out_value);

/* Writes the full name of a place; returns its length. */
size_t tly_pto_place_name(const tly_pto_place *place, char *out_name, size_t capacity);

/* The next place of the whole state in a fixed order; start with a zeroed `place`. Returns false
 * at the end. */
bool tly_pto_place_next(const tly_pto_machine *machine, tly_pto_place *place);

#endif
