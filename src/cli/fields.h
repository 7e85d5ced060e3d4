/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a descriptor, every one with its name: for people who look at a file that some
 * program got wrong. So nothing is checked here, and what cannot be read is still labelled. */
#ifndef TLY_CLI_FIELDS_H
#define TLY_CLI_FIELDS_H

#include <stddef.h>
#include <stdint.h>

/* `value` is the field as people read it; "" for bytes without a meaning. */
typedef void (*tly_fields_fn)(void *user, size_t offset, size_t len, const char *label,
                              const char *value);

/* Tells every field of the descriptor in `bytes`, in order and without a gap, until `len` bytes are
 * told. Errors: none; what does not make sense is called "not understood". */
void tly_fields_walk(const uint8_t *bytes, size_t len, tly_fields_fn tell, void *user);

#endif
