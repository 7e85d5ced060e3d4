/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX: walks a model and takes the initialisers and Constant nodes of its graph, of all subgraphs
 * and of its functions. Names: docs/internals/import.md. */
#include "store/import/onnx.h"

#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"

/* Fields by message. */
enum { MODEL_GRAPH = 7, MODEL_METADATA = 14, MODEL_TRAINING = 20, MODEL_FUNCTIONS = 25 };
enum { TRAINING_INITIALIZATION = 1, TRAINING_ALGORITHM = 2 };
enum { FUNCTION_NAME = 1, FUNCTION_NODE = 7, FUNCTION_DOMAIN = 10, FUNCTION_OVERLOAD = 13 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_SPARSE = 15 };
enum { NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum {
    ATTR_NAME = 1,
    ATTR_F = 2,
    ATTR_I = 3,
    ATTR_T = 5,
    ATTR_G = 6,
    ATTR_FLOATS = 7,
    ATTR_INTS = 8,
    ATTR_GRAPHS = 11,
    ATTR_REF = 21
};

/* A NodeProto without its attributes. */
typedef struct node {
    tly_proto_range message;
    tly_proto_range output, name, op_type, domain;
    uint32_t index; /* in its graph */
    uint32_t scope;
    uint8_t has_output;
    uint8_t is_constant;
} node;

static tly_status walk_graph(tly_onnx *o, const tly_proto_range *message);
static tly_status walk_node(tly_onnx *o, const tly_proto_range *message, uint32_t index,
                            uint32_t scope);

tly_status tly_onnx_push(tly_onnx *o, const void *bytes, size_t len, uint64_t offset) {
    if (len > o->cap_path - o->path_len) {
        return tly_base_fail(o->error, TLY_LIMIT, offset, "name-len",
                             "the name of a tensor or subgraph has more than %u bytes, the limit",
                             o->import->options.name_len);
    }
    memcpy(o->path + o->path_len, bytes, len);
    o->path_len += len;
    return TLY_OK;
}

tly_status tly_onnx_push_range(tly_onnx *o, const tly_proto_range *range) {
    tly_status status;
    if (range->len > o->cap_path - o->path_len) {
        return tly_onnx_push(o, "", SIZE_MAX, range->at); /* says the limit */
    }
    status = tly_window_copy(&o->window, range->at, o->path + o->path_len, range->len);
    o->path_len += status == TLY_OK ? (size_t)range->len : 0;
    return status;
}

static tly_status push_text(tly_onnx *o, const char *text, uint64_t offset) {
    return tly_onnx_push(o, text, strlen(text), offset);
}

tly_status tly_onnx_full_name(tly_onnx *o, const tly_onnx_leaf *leaf, const char **out_name) {
    size_t kept = o->path_len;
    tly_status status = leaf->name.len != 0 ? tly_onnx_push_range(o, &leaf->name)
                                            : push_text(o, leaf->fallback, leaf->name.at);
    if (status == TLY_OK) {
        status =
            tly_import_name(o->import, o->path, o->path_len, leaf->name.at, out_name, o->error);
    }
    o->path_len = kept;
    return status;
}

static int is_text(tly_onnx *o, const tly_proto_range *range, const char *text) {
    char copy[32];
    size_t len = strlen(text);
    return range->len == len && len <= sizeof copy &&
           tly_window_copy(&o->window, range->at, copy, len) == TLY_OK &&
           memcmp(copy, text, len) == 0;
}

static tly_status too_deep(tly_onnx *o, uint64_t offset) {
    return tly_base_fail(o->error, TLY_LIMIT, offset, "graph-depth",
                         "the subgraphs are nested more than %u deep, the limit",
                         o->import->options.graph_depth);
}

/* A value that Constant has in an attribute, by the attribute's name. */
static const struct constant_row {
    const char *name;
    uint8_t field;
    uint8_t single;
    tly_dtype dtype;     /* 0: a tensor, or cannot be carried */
    const char *refusal; /* why not */
} constant_rows[] = {
    {"value", ATTR_T, 1, 0, NULL},
    {"value_float", ATTR_F, 1, TLY_F32, NULL},
    {"value_floats", ATTR_FLOATS, 0, TLY_F32, NULL},
    {"value_int", ATTR_I, 1, TLY_I64, NULL},
    {"value_ints", ATTR_INTS, 0, TLY_I64, NULL},
    {"value_string", 0, 1, 0, "it is a string (value_string)"},
    {"value_strings", 0, 0, 0, "its elements are strings (value_strings)"},
    {"sparse_value", 0, 0, 0, "it is a sparse tensor (sparse_value)"},
};

static tly_status take_constant(tly_onnx *o, const node *n, const tly_proto_range *attribute,
                                const tly_proto_range *name, const tly_proto_range *tensor,
                                int has_tensor) {
    tly_onnx_leaf leaf = {n->output, "Constant", n->scope, 0};
    for (size_t i = 0; i < sizeof constant_rows / sizeof constant_rows[0]; i++) {
        const struct constant_row *row = &constant_rows[i];
        const char *full;
        tly_status status;
        if (!is_text(o, name, row->name)) {
            continue;
        }
        if (row->dtype != 0) {
            return tly_onnx_take_attribute(o, attribute, &leaf, row->field, row->dtype,
                                           row->single);
        }
        if (row->refusal == NULL) {
            return has_tensor
                       ? tly_onnx_take_tensor(o, tensor, &leaf)
                       : tly_base_fail(o->error, TLY_MALFORMED, attribute->at, "constant-value",
                                       "a Constant has an attribute \"value\" without a "
                                       "tensor");
        }
        status = tly_onnx_full_name(o, &leaf, &full);
        return status == TLY_OK ? tly_import_refuse(o->import, full, attribute->at,
                                                    "constant-value", row->refusal, o->error)
                                : status;
    }
    return TLY_OK;
}

/* Extends the path by "<node>.<attribute>/", or "<node>.<attribute>[3]/" for one graph of several.
 */
static tly_status push_subgraph(tly_onnx *o, const node *n, const tly_proto_range *name,
                                int64_t number) {
    char text[32];
    tly_status status;
    if (n->name.len != 0 || n->output.len != 0) {
        status = tly_onnx_push_range(o, n->name.len != 0 ? &n->name : &n->output);
    } else {
        status = tly_onnx_push_range(o, &n->op_type);
        snprintf(text, sizeof text, "@%u", n->index);
        if (status == TLY_OK) {
            status = push_text(o, text, n->message.at);
        }
    }
    if (status == TLY_OK) {
        status = push_text(o, ".", n->message.at);
    }
    if (status == TLY_OK) {
        status = tly_onnx_push_range(o, name);
    }
    if (number >= 0) {
        snprintf(text, sizeof text, "[%lld]/", (long long)number);
    } else {
        snprintf(text, sizeof text, "/");
    }
    return status == TLY_OK ? push_text(o, text, n->message.at) : status;
}

static tly_status walk_subgraph(tly_onnx *o, const node *n, const tly_proto_range *name,
                                const tly_proto_range *graph, int64_t number) {
    size_t kept = o->path_len;
    tly_status status = push_subgraph(o, n, name, number);
    if (status == TLY_OK) {
        status = walk_graph(o, graph);
    }
    o->path_len = kept;
    return status;
}

/* What one look over an attribute finds. */
typedef struct attribute {
    tly_proto_range name, tensor, graph;
    uint8_t has_tensor, has_graph, has_graphs, is_reference;
} attribute;

static tly_status look_at_attribute(tly_onnx *o, const tly_proto_range *message, attribute *a) {
    uint64_t at = message->at, end = at + message->len;
    while (at < end) {
        tly_proto_field field;
        uint64_t start = at;
        uint8_t *seen;
        tly_proto_range *range;
        tly_status status = tly_proto_next(&o->window, &at, end, &field);
        if (status != TLY_OK) {
            return status;
        }
        switch (field.number) {
        case ATTR_NAME:
            range = &a->name;
            seen = NULL;
            break;
        case ATTR_T:
            range = &a->tensor;
            seen = &a->has_tensor;
            break;
        case ATTR_G:
            range = &a->graph;
            seen = &a->has_graph;
            break;
        case ATTR_GRAPHS:
            a->has_graphs = 1;
            continue;
        case ATTR_REF:
            a->is_reference = field.range.len != 0;
            continue;
        default:
            continue;
        }
        status = tly_proto_expect(&o->window, &field, TLY_WIRE_LEN, "an attribute's field");
        if (status != TLY_OK) {
            return status;
        }
        if (seen != NULL && *seen) {
            return tly_base_fail(o->error, TLY_MALFORMED, start, "repeated-field",
                                 "an attribute has a tensor or a graph twice");
        }
        if (seen != NULL) {
            *seen = 1;
        }
        *range = field.range;
    }
    return TLY_OK;
}

static tly_status walk_graphs(tly_onnx *o, const node *n, const tly_proto_range *message,
                              const tly_proto_range *name) {
    uint64_t at = message->at, end = at + message->len;
    int64_t number = 0;
    while (at < end) {
        tly_proto_field field;
        tly_status status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK && field.number == ATTR_GRAPHS) {
            status = tly_proto_expect(&o->window, &field, TLY_WIRE_LEN, "graphs");
            if (status == TLY_OK) {
                status = walk_subgraph(o, n, name, &field.range, number++);
            }
        }
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static tly_status walk_attribute(tly_onnx *o, const node *n, const tly_proto_range *message) {
    attribute a = {0};
    tly_status status = look_at_attribute(o, message, &a);
    if (status == TLY_OK && n->is_constant && !a.is_reference) {
        status = take_constant(o, n, message, &a.name, &a.tensor, a.has_tensor);
    }
    if (status == TLY_OK && a.has_graph) {
        status = walk_subgraph(o, n, &a.name, &a.graph, -1);
    }
    if (status == TLY_OK && a.has_graphs) {
        status = walk_graphs(o, n, message, &a.name);
    }
    return status;
}

/* Fields of a message in any order mean two looks: what the node is, then its attributes. */
static tly_status look_at_node(tly_onnx *o, node *n) {
    uint64_t at = n->message.at, end = at + n->message.len;
    while (at < end) {
        tly_proto_field field;
        tly_proto_range *range;
        tly_status status = tly_proto_next(&o->window, &at, end, &field);
        if (status != TLY_OK) {
            return status;
        }
        switch (field.number) {
        case NODE_OUTPUT:
            range = n->has_output ? NULL : &n->output;
            n->has_output = 1;
            break;
        case NODE_NAME:
            range = &n->name;
            break;
        case NODE_OP_TYPE:
            range = &n->op_type;
            break;
        case NODE_DOMAIN:
            range = &n->domain;
            break;
        case NODE_ATTRIBUTE:
            range = NULL;
            break;
        default:
            continue;
        }
        status = tly_proto_expect(&o->window, &field, TLY_WIRE_LEN, "a node's field");
        if (status != TLY_OK) {
            return status;
        }
        if (range != NULL) {
            *range = field.range;
        }
    }
    n->is_constant = is_text(o, &n->op_type, "Constant") &&
                     (n->domain.len == 0 || is_text(o, &n->domain, "ai.onnx"));
    return TLY_OK;
}

static tly_status walk_node(tly_onnx *o, const tly_proto_range *message, uint32_t index,
                            uint32_t scope) {
    node n = {.message = *message, .index = index, .scope = scope};
    uint64_t at = message->at, end = at + message->len;
    tly_status status;
    n.output.at = n.name.at = message->at;
    status = look_at_node(o, &n);
    while (status == TLY_OK && at < end) {
        tly_proto_field field;
        status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK && field.number == NODE_ATTRIBUTE) {
            status = walk_attribute(o, &n, &field.range);
        }
    }
    return status;
}

/* A SparseTensorProto is named by its values (field 1, a tensor with a name in field 8). */
static tly_status refuse_sparse(tly_onnx *o, const tly_proto_range *message, uint32_t scope) {
    tly_onnx_leaf leaf = {{message->at, 0}, "sparse", scope, 0};
    tly_proto_range values = {message->at, 0};
    const char *full;
    uint64_t at = message->at, end = at + message->len;
    tly_status status = TLY_OK;
    while (status == TLY_OK && at < end) {
        tly_proto_field field;
        status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK && field.number == 1 && field.wire == TLY_WIRE_LEN) {
            values = field.range;
        }
    }
    at = values.at;
    end = at + values.len;
    while (status == TLY_OK && at < end) {
        tly_proto_field field;
        status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK && field.number == 8 && field.wire == TLY_WIRE_LEN) {
            leaf.name = field.range;
        }
    }
    if (status == TLY_OK) {
        status = tly_onnx_full_name(o, &leaf, &full);
    }
    return status == TLY_OK ? tly_import_refuse(o->import, full, message->at, "sparse",
                                                "it is a sparse initialiser", o->error)
                            : status;
}

static tly_status walk_graph(tly_onnx *o, const tly_proto_range *message) {
    uint64_t at = message->at, end = at + message->len;
    uint32_t scope = o->num_scopes++;
    uint32_t num_nodes = 0;
    tly_status status = TLY_OK;
    if (++o->depth > o->import->options.graph_depth) {
        return too_deep(o, message->at);
    }
    while (status == TLY_OK && at < end) {
        tly_proto_field field;
        tly_onnx_leaf leaf = {{message->at, 0}, "initializer", scope, 1};
        status = tly_proto_next(&o->window, &at, end, &field);
        if (status != TLY_OK || (field.number != GRAPH_NODE && field.number != GRAPH_INITIALIZER &&
                                 field.number != GRAPH_SPARSE)) {
            continue;
        }
        status = tly_proto_expect(&o->window, &field, TLY_WIRE_LEN, "a graph's field");
        if (status == TLY_OK) {
            status = field.number == GRAPH_NODE ? walk_node(o, &field.range, num_nodes++, scope)
                     : field.number == GRAPH_INITIALIZER
                         ? tly_onnx_take_tensor(o, &field.range, &leaf)
                         : refuse_sparse(o, &field.range, scope);
        }
    }
    o->depth--;
    return status;
}

/* The path of a function is "<domain>.<name>()/", with ":<overload>" behind the name if it has one.
 */
static tly_status push_function(tly_onnx *o, const tly_proto_range *message) {
    tly_proto_range name = {0, 0}, domain = {0, 0}, overload = {0, 0};
    uint64_t at = message->at, end = at + message->len;
    tly_status status = TLY_OK;
    while (status == TLY_OK && at < end) {
        tly_proto_field field;
        status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK && field.wire == TLY_WIRE_LEN) {
            if (field.number == FUNCTION_NAME) {
                name = field.range;
            } else if (field.number == FUNCTION_DOMAIN) {
                domain = field.range;
            } else if (field.number == FUNCTION_OVERLOAD) {
                overload = field.range;
            }
        }
    }
    if (status == TLY_OK && domain.len != 0) {
        status = tly_onnx_push_range(o, &domain);
        status = status == TLY_OK ? push_text(o, ".", message->at) : status;
    }
    status = status == TLY_OK ? tly_onnx_push_range(o, &name) : status;
    if (status == TLY_OK && overload.len != 0) {
        status = push_text(o, ":", message->at);
        status = status == TLY_OK ? tly_onnx_push_range(o, &overload) : status;
    }
    return status == TLY_OK ? push_text(o, "()/", message->at) : status;
}

static tly_status walk_function(tly_onnx *o, const tly_proto_range *message) {
    uint64_t at = message->at, end = at + message->len;
    uint32_t scope = o->num_scopes++;
    uint32_t num_nodes = 0;
    tly_status status = push_function(o, message);
    while (status == TLY_OK && at < end) {
        tly_proto_field field;
        status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK && field.number == FUNCTION_NODE) {
            status = tly_proto_expect(&o->window, &field, TLY_WIRE_LEN, "node");
            if (status == TLY_OK) {
                status = walk_node(o, &field.range, num_nodes++, scope);
            }
        }
    }
    o->path_len = 0;
    return status;
}

static tly_status walk_training(tly_onnx *o, const tly_proto_range *message, uint32_t number) {
    uint64_t at = message->at, end = at + message->len;
    tly_status status = TLY_OK;
    while (status == TLY_OK && at < end) {
        tly_proto_field field;
        status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK &&
            (field.number == TRAINING_INITIALIZATION || field.number == TRAINING_ALGORITHM)) {
            char text[48];
            snprintf(text, sizeof text, "training[%u].%s/", number,
                     field.number == TRAINING_ALGORITHM ? "algorithm" : "initialization");
            status = tly_proto_expect(&o->window, &field, TLY_WIRE_LEN, "a training graph");
            status = status == TLY_OK ? push_text(o, text, message->at) : status;
            status = status == TLY_OK ? walk_graph(o, &field.range) : status;
            o->path_len = 0;
        }
    }
    return status;
}

/* Text of the file, limited like everything that is kept. */
static tly_status keep_text(tly_onnx *o, const tly_proto_range *range, const char **out_text) {
    tly_status status = TLY_OK;
    char *copy;
    if (range->len > o->import->options.header_len) {
        return tly_base_fail(o->error, TLY_LIMIT, range->at, "text-len",
                             "a text of the model has %llu bytes, the limit is %llu",
                             (unsigned long long)range->len,
                             (unsigned long long)o->import->options.header_len);
    }
    if (range->len == 0) {
        return tly_import_text(o->import, "", 0, range->at, out_text, o->error);
    }
    copy = tly_base_alloc(o->import->context, (size_t)range->len, 1);
    if (copy == NULL) {
        return tly_base_fail(o->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a text");
    }
    status = tly_window_copy(&o->window, range->at, copy, range->len);
    if (status == TLY_OK) {
        status = tly_import_text(o->import, copy, range->len, range->at, out_text, o->error);
    }
    tly_base_free(o->import->context, copy, (size_t)range->len, 1);
    return status;
}

static tly_status take_metadata(tly_onnx *o, const tly_proto_range *message) {
    tly_proto_range texts[2] = {{message->at, 0}, {message->at, 0}};
    const char *key, *value;
    uint64_t at = message->at, end = at + message->len;
    tly_status status = TLY_OK;
    while (status == TLY_OK && at < end) {
        tly_proto_field field;
        status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK && (field.number == 1 || field.number == 2)) {
            status = tly_proto_expect(&o->window, &field, TLY_WIRE_LEN, "metadata_props");
            texts[field.number - 1] = field.range;
        }
    }
    status = status == TLY_OK ? keep_text(o, &texts[0], &key) : status;
    status = status == TLY_OK ? keep_text(o, &texts[1], &value) : status;
    return status == TLY_OK ? tly_import_add_pair(o->import, key, value, texts[0].at, o->error)
                            : status;
}

static tly_status walk_model(tly_onnx *o) {
    uint64_t at = 0, end = o->window.file->len;
    uint32_t num_training = 0;
    int has_graph = 0;
    tly_status status = TLY_OK;
    while (status == TLY_OK && at < end) {
        tly_proto_field field;
        uint64_t start = at;
        status = tly_proto_next(&o->window, &at, end, &field);
        if (status != TLY_OK ||
            (field.number != MODEL_GRAPH && field.number != MODEL_METADATA &&
             field.number != MODEL_TRAINING && field.number != MODEL_FUNCTIONS)) {
            continue;
        }
        status = tly_proto_expect(&o->window, &field, TLY_WIRE_LEN, "a model's field");
        if (status != TLY_OK) {
            break;
        }
        switch (field.number) {
        case MODEL_GRAPH:
            if (has_graph) {
                return tly_base_fail(o->error, TLY_MALFORMED, start, "repeated-field",
                                     "the model has two graphs");
            }
            has_graph = 1;
            status = walk_graph(o, &field.range);
            break;
        case MODEL_METADATA:
            status = take_metadata(o, &field.range);
            break;
        case MODEL_TRAINING:
            status = walk_training(o, &field.range, num_training++);
            break;
        default:
            status = walk_function(o, &field.range);
            break;
        }
    }
    if (status == TLY_OK && !has_graph) {
        return tly_base_fail(o->error, TLY_MALFORMED, end, "no-graph", "the model has no graph");
    }
    return status;
}

/* ONNX has no magic number. A model and a single TensorProto differ in field 2: the producer's name
 * there, the element type here. */
enum kind { KIND_NONE, KIND_MODEL, KIND_TENSOR };

static enum kind find_kind(tly_window *window) {
    uint64_t at = 0, end = window->file->len;
    int seen_graph = 0;
    tly_proto_field field;
    if (end == 0) {
        return KIND_NONE;
    }
    while (at < end) {
        uint64_t start = at;
        if (tly_proto_next(window, &at, end, &field) != TLY_OK) {
            /* A model that breaks off is still a model, if it begins as nearly all do: with
             * ir_version, a small number. */
            const uint8_t *p;
            uint64_t got;
            return start > 0 && tly_window_peek(window, 0, 2, &p, &got) == TLY_OK && got == 2 &&
                           p[0] == 0x08 && p[1] < 0x80
                       ? KIND_MODEL
                       : KIND_NONE;
        }
        if (field.number == 2 && field.wire == TLY_WIRE_VARINT) {
            return KIND_TENSOR;
        }
        seen_graph |= field.number == MODEL_GRAPH && field.wire == TLY_WIRE_LEN;
    }
    return seen_graph ? KIND_MODEL : KIND_NONE;
}

int tly_import_looks_like_onnx(const tly_import *import) {
    tly_window window;
    enum kind kind = KIND_NONE;
    if (tly_window_init(&window, import->context, &import->files[0], NULL) == TLY_OK) {
        kind = find_kind(&window);
        tly_window_cleanup(&window);
    }
    return kind != KIND_NONE;
}

tly_status tly_import_read_onnx(tly_import *import, tly_error *error) {
    tly_onnx o = {.import = import, .error = error};
    tly_status status;
    o.cap_path = import->options.name_len;
    o.path = tly_base_alloc(import->context, o.cap_path, 1);
    if (o.path == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the names of subgraphs");
    }
    status = tly_window_init(&o.window, import->context, &import->files[0], NULL);
    if (status == TLY_OK) {
        enum kind kind = find_kind(&o.window);
        o.window.error = error;
        if (kind == KIND_TENSOR) {
            tly_proto_range whole = {0, import->files[0].len};
            tly_onnx_leaf leaf = {{0, 0}, "tensor", 0, 0};
            status = tly_onnx_take_tensor(&o, &whole, &leaf);
        } else {
            status = walk_model(&o);
        }
        tly_window_cleanup(&o.window);
    } else {
        status = tly_base_fail(error, status, TLY_NO_OFFSET, "", "no memory for a read window");
    }
    tly_base_free(import->context, o.path, o.cap_path, 1);
    return status;
}
