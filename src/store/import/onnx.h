/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the ONNX importer share: onnx.c walks models, graphs and nodes;
 * onnx_tensor.c takes single tensors. */
#ifndef TLY_IMPORT_ONNX_H
#define TLY_IMPORT_ONNX_H

#include "store/import/importer.h"
#include "store/import/onnx_proto.h"

typedef struct tly_onnx {
    tly_import *import;
    tly_error *error;
    tly_window window; /* over files[0] */
    char *path;        /* name of the subgraph so far, not NUL-terminated; cap_path bytes */
    size_t path_len, cap_path;
    uint32_t depth;
    uint32_t num_scopes;
    uint32_t last_file; /* where the last external data was */
} tly_onnx;

/* What a tensor is called inside of its graph. */
typedef struct tly_onnx_leaf {
    tly_proto_range name; /* in the file; len 0: take `fallback` */
    const char *fallback;
    uint32_t scope;
    uint8_t fixed; /* two tensors of one scope must not share the name */
} tly_onnx_leaf;

/* Copies path + leaf into the arena. */
tly_status tly_onnx_full_name(tly_onnx *o, const tly_onnx_leaf *leaf, const char **out_name);

/* Appends to the path; the caller sets path_len back. Errors: LIMIT. */
tly_status tly_onnx_push(tly_onnx *o, const void *bytes, size_t len, uint64_t offset);
tly_status tly_onnx_push_range(tly_onnx *o, const tly_proto_range *range);

/* Takes a TensorProto. Where `leaf->name` is empty, the tensor's own name comes before the
 * fallback. */
tly_status tly_onnx_take_tensor(tly_onnx *o, const tly_proto_range *message,
                                const tly_onnx_leaf *leaf);

/* Takes a field of an AttributeProto as a tensor: `single` makes a scalar, otherwise there is one
 * axis with as many elements as there are values. */
tly_status tly_onnx_take_attribute(tly_onnx *o, const tly_proto_range *message,
                                   const tly_onnx_leaf *leaf, uint8_t field, tly_dtype dtype,
                                   int single);

#endif
