/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_LAYOUT_NEST_H
#define TLY_LAYOUT_NEST_H

#include <tilery/nest.h>

/* Does any loop of the nest turn zero times (the nest then has no places at all)? Thread-safe. */
int tly_layout_is_empty(const tly_nest *nest);

/* Loops with count > 1 of one axis, in ascending order of their steps. `out` has room for
 * TLY_NEST_MAX_LOOPS entries; returns their number. Thread-safe. */
uint32_t tly_layout_axis_loops(const tly_nest *nest, uint32_t axis, tly_loop *out);

#endif
