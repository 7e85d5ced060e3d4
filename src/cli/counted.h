/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that counts, to say how much memory a kernel takes beside its operands. */
#ifndef TLY_CLI_COUNTED_H
#define TLY_CLI_COUNTED_H

#include <stdatomic.h>
#include <stdint.h>

#include <tilery/context.h>

/* Must outlive every context that uses it. Thread-safe. */
typedef struct tly_counted {
    _Atomic uint64_t now;  /* bytes in use */
    _Atomic uint64_t peak; /* most bytes in use at a time */
} tly_counted;

void tly_counted_init(tly_counted *counted);

/* The C library's memory, counted in `counted`. */
tly_allocator tly_counted_allocator(tly_counted *counted);

#endif
