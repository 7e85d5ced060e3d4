/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as text and as JSON, the same way in every command. */
#ifndef TLY_CLI_DESCRIBE_H
#define TLY_CLI_DESCRIBE_H

#include <stddef.h>

#include <tilery/panel.h>
#include <tilery/tensor.h>

#include "cli/json.h"

/* "[512, 128]", "[]"; a dimension that is not known is "?". Returns `out`. */
const char *tly_describe_shape(char *out, size_t capacity, const uint64_t *shape, uint32_t rank);

/* "f32" or the tag as "0x47". Returns `out`. */
const char *tly_describe_dtype(char *out, size_t capacity, tly_dtype dtype);

/* "row-major"; for a panel what tly_panel_describe says; for another private layout its number.
 * Returns `out`; 320 bytes are always enough. */
const char *tly_describe_layout(char *out, size_t capacity, const tly_descriptor *descriptor);

/* 1 and the profile if the descriptor's layout is a panel that this library knows. */
int tly_describe_panel(const tly_descriptor *descriptor, tly_panel_profile *out_profile);

/* The members "dtype", "shape" and "layout" of an object that is open. */
void tly_describe_json(tly_json *json, const tly_descriptor *descriptor);

#endif
