/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that a protobuf message holds in a field of its own type (float_data, int32_data, ...,
 * and the attributes value_ints and their like), packed or one field each. */
#ifndef TLY_IMPORT_ONNX_VALUES_H
#define TLY_IMPORT_ONNX_VALUES_H

#include <stdint.h>

#include "store/import/importer.h"
#include "store/import/onnx_proto.h"

/* Counts the values of entry->field in the message at entry->offset, and checks that each fits the
 * element type (rule "value-range"). */
tly_status tly_import_count_values(tly_window *window, const tly_import_entry *entry,
                                   uint64_t *out_count);

/* tly_import_stream for TLY_CODING_TYPED. */
tly_status tly_import_stream_values(const tly_import *import, const tly_import_entry *entry,
                                    tly_import_sink sink, void *user, tly_error *error);

#endif
