/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a descriptor says, for people and as JSON. */
#ifndef TLY_CLI_DETAILS_H
#define TLY_CLI_DETAILS_H

#include <stdio.h>

#include <tilery/tensor.h>

#include "cli/json.h"

/* Lines behind `indent` spaces: layout with its fields, buffers, sections. */
void tly_details_text(FILE *out, int indent, const tly_descriptor *descriptor);

/* Members of an object that is open. */
void tly_details_json(tly_json *json, const tly_descriptor *descriptor);

#endif
