/* SPDX-License-Identifier: Apache-2.0 */
#include "import_test.h"

/* Fields and numbers of onnx.proto, as far as they are used here. */
enum {
    FLOAT = 1,
    UINT8 = 2,
    INT8 = 3,
    UINT16 = 4,
    INT16 = 5,
    INT32 = 6,
    INT64 = 7,
    STRING = 8,
    BOOL = 9,
    FLOAT16 = 10,
    DOUBLE = 11,
    UINT32 = 12,
    UINT64 = 13,
    COMPLEX64 = 14,
    COMPLEX128 = 15,
    BFLOAT16 = 16,
    F8E4M3FN = 17,
    F8E4M3FNUZ = 18,
    F8E5M2 = 19,
    F8E5M2FNUZ = 20,
    UINT4 = 21,
    INT4 = 22,
    F4E2M1 = 23,
    F8E8M0 = 24,
    UINT2 = 25,
    INT2 = 26
};

/* --- building --- */

/* The head of a TensorProto; `dims` ends in -1 (a dimension itself may be -2 and less). */
static blob tensor_head(const char *name, uint64_t type, const int64_t *dims) {
    blob t = {NULL, 0};
    for (; *dims != -1; dims++) {
        pb_int(&t, 1, (uint64_t)*dims);
    }
    pb_int(&t, 2, type);
    if (name != NULL) {
        pb_text(&t, 8, name);
    }
    return t;
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__, -1})
#define SCALAR    ((const int64_t[]){-1})

static blob raw_tensor(const char *name, uint64_t type, const int64_t *dims, const void *data,
                       size_t len) {
    blob t = tensor_head(name, type, dims);
    pb_bytes(&t, 9, data, len);
    return t;
}

/* A graph, and a model around it. */
static void add_initializer(blob *graph, blob tensor) {
    pb_message(graph, 5, &tensor);
}

static blob node_of(const char *op, const char *name, const char *output) {
    blob n = {NULL, 0};
    if (output != NULL) {
        pb_text(&n, 2, output);
    }
    if (name != NULL) {
        pb_text(&n, 3, name);
    }
    pb_text(&n, 4, op);
    return n;
}

static blob attribute_of(const char *name) {
    blob a = {NULL, 0};
    pb_text(&a, 1, name);
    return a;
}

static void add_constant(blob *graph, const char *name, const char *output, blob tensor) {
    blob n = node_of("Constant", name, output);
    blob a = attribute_of("value");
    pb_message(&a, 5, &tensor);
    pb_int(&a, 20, 4);
    pb_message(&n, 5, &a);
    pb_message(graph, 1, &n);
}

static blob model_of(blob *graph) {
    blob m = {NULL, 0};
    pb_int(&m, 1, 8);
    pb_text(&m, 2, "tests");
    pb_message(&m, 7, graph);
    return m;
}

static blob model_of_tensor(blob tensor) {
    blob g = {NULL, 0};
    add_initializer(&g, tensor);
    return model_of(&g);
}

static void refuse_tensor(blob tensor, tly_status status, const char *rule) {
    tly_context *context = plain_context();
    blob m = model_of_tensor(tensor);
    must_refuse(context, &m, NULL, status, rule);
    tly_context_free(context);
}

static void take_tensor(blob tensor, tly_dtype dtype, const char *shape, const void *bytes,
                        size_t len) {
    tly_context *context = plain_context();
    blob m = model_of_tensor(tensor);
    tly_import *import = must_open(context, &m, NULL, NULL);
    assert_int_equal(tly_import_format_of(import), TLY_IMPORT_ONNX);
    assert_int_equal(tly_import_num_tensors(import), 1);
    must_hold(import, "t", dtype, shape, bytes, len);
    tly_import_free(import);
    blob_free(&m);
    tly_context_free(context);
}

static const uint8_t counting[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                     11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                     22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* --- values --- */

static void raw_data_of_every_type(void **state) {
    static const struct {
        uint64_t type;
        tly_dtype dtype;
        size_t len;
    } types[] = {{FLOAT, TLY_F32, 4},        {UINT8, TLY_U8, 1},      {INT8, TLY_I8, 1},
                 {UINT16, TLY_U16, 2},       {INT16, TLY_I16, 2},     {INT32, TLY_I32, 4},
                 {INT64, TLY_I64, 8},        {FLOAT16, TLY_F16, 2},   {DOUBLE, TLY_F64, 8},
                 {UINT32, TLY_U32, 4},       {UINT64, TLY_U64, 8},    {COMPLEX64, TLY_C64, 8},
                 {COMPLEX128, TLY_C128, 16}, {BFLOAT16, TLY_BF16, 2}, {F8E4M3FN, TLY_F8E4M3, 1},
                 {F8E5M2, TLY_F8E5M2, 1}};
    static const uint8_t five = 0x15;
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t len = types[i].len;
        take_tensor(raw_tensor("t", types[i].type, DIMS(2, 1), counting, len * 2), types[i].dtype,
                    "2,1", counting, len * 2);
        take_tensor(raw_tensor("t", types[i].type, SCALAR, counting, len), types[i].dtype, "",
                    counting, len);
        take_tensor(raw_tensor("t", types[i].type, DIMS(7, 0), "", 0), types[i].dtype, "7,0",
                    counting, 0);
        take_tensor(tensor_head("t", types[i].type, DIMS(0)), types[i].dtype, "0", counting, 0);
        refuse_tensor(raw_tensor("t", types[i].type, DIMS(2), counting, len * 2 - 1), TLY_MALFORMED,
                      "data-len");
        refuse_tensor(raw_tensor("t", types[i].type, DIMS(1), counting, len + 1), TLY_MALFORMED,
                      "data-len");
    }
    take_tensor(raw_tensor("t", BOOL, DIMS(5), "\1\0\1\0\1", 5), TLY_BOOL, "5", &five, 1);
}

static void typed_fields_of_every_type(void **state) {
    static const float floats[3] = {1.5f, -0.0f, 3e38f};
    static const double doubles[2] = {-1e300, 0.1};
    uint8_t wanted[32];
    (void)state;
    for (int packed = 0; packed <= 1; packed++) {
        blob t = tensor_head("t", FLOAT, DIMS(3)), p = {NULL, 0};
        for (int i = 0; i < 3; i++) {
            uint32_t bits;
            memcpy(&bits, &floats[i], 4);
            tly_base_store_u32(wanted + 4 * i, bits);
            if (!packed) {
                pb_fixed32(&t, 4, bits);
            }
        }
        if (packed) {
            pb_bytes(&t, 4, wanted, 4); /* in two pieces, as is allowed */
            pb_bytes(&t, 4, wanted + 4, 8);
        }
        take_tensor(t, TLY_F32, "3", wanted, 12);

        t = tensor_head("t", COMPLEX128, DIMS(1));
        for (int i = 0; i < 2; i++) {
            uint64_t bits;
            memcpy(&bits, &doubles[i], 8);
            tly_base_store_u64(wanted + 8 * i, bits);
            if (!packed) {
                pb_fixed64(&t, 10, bits);
            }
        }
        if (packed) {
            pb_bytes(&t, 10, wanted, 16);
        }
        take_tensor(t, TLY_C128, "1", wanted, 16);

        t = tensor_head("t", INT64, DIMS(2));
        if (packed) {
            pb_varint(&p, (uint64_t)-2);
            pb_varint(&p, INT64_MAX);
            pb_message(&t, 7, &p);
        } else {
            pb_int(&t, 7, (uint64_t)-2);
            pb_int(&t, 7, INT64_MAX);
        }
        take_tensor(t, TLY_I64, "2",
                    "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 16);

        t = tensor_head("t", INT8, DIMS(3));
        if (packed) {
            pb_varint(&p, (uint64_t)-128);
            pb_varint(&p, 127);
            pb_varint(&p, UINT32_MAX); /* -1 from a writer that does not extend the sign */
            pb_message(&t, 5, &p);
        } else {
            pb_int(&t, 5, (uint64_t)-128);
            pb_int(&t, 5, 127);
            pb_int(&t, 5, UINT32_MAX);
        }
        take_tensor(t, TLY_I8, "3", "\x80\x7F\xFF", 3);
    }
    {
        static const struct {
            uint64_t type, value;
            uint32_t field;
            tly_dtype dtype;
            size_t len;
            const char *bytes;
        } cases[] = {
            {UINT8, 255, 5, TLY_U8, 1, "\xFF"},
            {INT16, (uint64_t)-32768, 5, TLY_I16, 2, "\x00\x80"},
            {UINT16, 65535, 5, TLY_U16, 2, "\xFF\xFF"},
            {INT32, (uint64_t)-2147483647 - 1, 5, TLY_I32, 4, "\x00\x00\x00\x80"},
            {FLOAT16, 0x3C01, 5, TLY_F16, 2, "\x01\x3C"},
            {BFLOAT16, 0xFF80, 5, TLY_BF16, 2, "\x80\xFF"},
            {F8E4M3FN, 0x7F, 5, TLY_F8E4M3, 1, "\x7F"},
            {F8E5M2, 0xFC, 5, TLY_F8E5M2, 1, "\xFC"},
            {BOOL, 1, 5, TLY_BOOL, 1, "\x01"},
            {UINT32, UINT32_MAX, 11, TLY_U32, 4, "\xFF\xFF\xFF\xFF"},
            {UINT64, UINT64_MAX, 11, TLY_U64, 8, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"},
        };
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            blob t = tensor_head("t", cases[i].type, SCALAR);
            pb_int(&t, cases[i].field, cases[i].value);
            take_tensor(t, cases[i].dtype, "", cases[i].bytes, cases[i].len);
        }
    }
}

/* The first element lies in the low bits; what is behind the last one is zero. */
static void elements_of_less_than_a_byte(void **state) {
    static const struct {
        uint64_t type;
        tly_dtype dtype;
        uint32_t bits;
    } types[] = {{UINT4, TLY_U4, 4}, {INT4, TLY_I4, 4}, {F4E2M1, TLY_F4E2M1, 4},
                 {UINT2, TLY_U2, 2}, {INT2, TLY_I2, 2}, {F8E8M0, TLY_F8E8M0, 8}};
    tly_context *context = plain_context();
    (void)state;
    take_tensor(raw_tensor("t", UINT4, DIMS(2), "\x21", 1), TLY_U4, "2", "\x21", 1);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int64_t count = 0; count <= 9; count++) {
            static const uint8_t bytes[9] = {0xB1, 0xC2, 0xD3, 0xE4, 0xF5, 0xA6, 0x97, 0x88, 0x79};
            size_t used = (size_t)count * types[i].bits, len = (used + 7) / 8;
            char shape[24];
            uint8_t good[9];
            blob t;
            memcpy(good, bytes, 9);
            if (used % 8 != 0) {
                good[len - 1] &= (uint8_t)((1u << used % 8) - 1);
            }
            snprintf(shape, sizeof shape, "%lld", (long long)count);
            take_tensor(raw_tensor("t", types[i].type, DIMS(count), good, len), types[i].dtype,
                        shape, good, len);
            t = tensor_head("t", types[i].type, DIMS(count));
            for (size_t k = 0; k < len; k++) {
                pb_int(&t, 5, good[k]);
            }
            take_tensor(t, types[i].dtype, shape, good, len);
            refuse_tensor(raw_tensor("t", types[i].type, DIMS(count), counting, len + 1),
                          TLY_MALFORMED, "data-len");
            if (used % 8 != 0) {
                blob m = model_of_tensor(
                    raw_tensor("t", types[i].type, DIMS(count), "\xFF\xFF\xFF\xFF\xFF", len));
                tly_import *import = must_open(context, &m, NULL, NULL);
                uint8_t got[9];
                tly_error error;
                CHECK_RULE(tly_import_read(import, 0, got, len, &error), &error, TLY_MALFORMED,
                           "padding-bits");
                tly_import_free(import);
                blob_free(&m);
            }
        }
    }
    tly_context_free(context);
}

static void values_must_fit_their_type(void **state) {
    static const struct {
        uint64_t type, value;
        uint32_t field;
    } cases[] = {{UINT8, 256, 5},
                 {UINT8, (uint64_t)-1, 5},
                 {INT8, 128, 5},
                 {INT8, (uint64_t)-129, 5},
                 {INT16, 32768, 5},
                 {UINT16, 65536, 5},
                 {FLOAT16, 65536, 5},
                 {BFLOAT16, (uint64_t)-1, 5},
                 {BOOL, 2, 5},
                 {F8E4M3FN, 256, 5},
                 {UINT4, 256, 5},
                 {INT32, UINT64_C(1) << 32, 5},
                 {INT32, UINT64_C(1) << 63, 5},
                 {UINT32, UINT64_C(1) << 32, 11}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        blob t = tensor_head("t", cases[i].type, SCALAR);
        pb_int(&t, cases[i].field, cases[i].value);
        refuse_tensor(t, TLY_MALFORMED, "value-range");
    }
}

static void counts_must_be_those_of_the_shape(void **state) {
    blob t = tensor_head("t", FLOAT, DIMS(1000000));
    (void)state;
    pb_bytes(&t, 4, counting, 4);
    refuse_tensor(t, TLY_MALFORMED, "data-len");
    refuse_tensor(raw_tensor("t", FLOAT, DIMS(1000000), counting, 4), TLY_MALFORMED, "data-len");
    {
        uint8_t *large = calloc(1, 4096);
        refuse_tensor(raw_tensor("t", INT64, DIMS(1), large, 4096), TLY_MALFORMED, "data-len");
        free(large);
    }
    t = tensor_head("t", INT64, SCALAR);
    pb_int(&t, 7, 1);
    pb_int(&t, 7, 2);
    refuse_tensor(t, TLY_MALFORMED, "data-len");
    refuse_tensor(tensor_head("t", FLOAT, DIMS(2)), TLY_MALFORMED, "data-len");
    refuse_tensor(raw_tensor("t", FLOAT, DIMS(-2), "", 0), TLY_MALFORMED, "negative-dim");
    refuse_tensor(raw_tensor("t", FLOAT, DIMS(INT64_MIN, 0), "", 0), TLY_MALFORMED, "negative-dim");
    refuse_tensor(raw_tensor("t", FLOAT, DIMS(INT64_C(1) << 40, INT64_C(1) << 40), "", 0),
                  TLY_OVERFLOW, "shape-overflow");
    refuse_tensor(raw_tensor("t", FLOAT, DIMS(INT64_MAX), "", 0), TLY_OVERFLOW, "size-overflow");
    t = tensor_head("t", FLOAT, DIMS(1));
    pb_bytes(&t, 4, counting, 6);
    refuse_tensor(t, TLY_MALFORMED, "packed-len");
}

static void data_stands_in_one_place(void **state) {
    blob t = raw_tensor("t", FLOAT, DIMS(1), counting, 4);
    (void)state;
    pb_fixed32(&t, 4, 1);
    refuse_tensor(t, TLY_MALFORMED, "two-data");
    t = raw_tensor("t", FLOAT, DIMS(1), counting, 4);
    pb_bytes(&t, 9, counting, 4);
    refuse_tensor(t, TLY_MALFORMED, "repeated-field");
    t = tensor_head("t", FLOAT, DIMS(1));
    pb_int(&t, 5, 1);
    refuse_tensor(t, TLY_MALFORMED, "typed-field");
    t = tensor_head("t", FLOAT, DIMS(1));
    pb_int(&t, 4, 1); /* a varint where there are floats */
    refuse_tensor(t, TLY_MALFORMED, "protobuf-wire-type");
    /* An empty raw_data beside values is what some writers leave behind. */
    t = raw_tensor("t", FLOAT, DIMS(1), "", 0);
    pb_bytes(&t, 4, counting, 4);
    take_tensor(t, TLY_F32, "1", counting, 4);
}

static void forms_that_are_not_carried_are_named(void **state) {
    static const uint64_t types[] = {STRING, F8E4M3FNUZ, F8E5M2FNUZ, 27, 99};
    tly_context *context = plain_context();
    tly_import_options options = skipping();
    tly_import *import;
    tly_import_skip skip;
    blob g = {NULL, 0}, m, s = {NULL, 0}, n, a;
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        refuse_tensor(raw_tensor("t", types[i], DIMS(2), counting, 1), TLY_UNSUPPORTED, "dtype");
    }
    refuse_tensor(raw_tensor("t", 0, DIMS(1), counting, 1), TLY_MALFORMED, "data-type");
    {
        blob segment = raw_tensor("t", FLOAT, DIMS(1), counting, 4);
        pb_bytes(&segment, 3, "\x08\x01", 2);
        refuse_tensor(segment, TLY_UNSUPPORTED, "segment");
    }
    add_initializer(&g, raw_tensor("words", STRING, DIMS(1), "", 0));
    add_initializer(&g, raw_tensor("kept", UINT8, DIMS(3), counting, 3));
    m = raw_tensor("thin", FLOAT, DIMS(1), counting, 4);
    pb_message(&s, 1, &m);
    pb_message(&g, 15, &s);
    n = node_of("Constant", NULL, "text");
    a = attribute_of("value_string");
    pb_text(&a, 4, "hello");
    pb_message(&n, 5, &a);
    pb_message(&g, 1, &n);
    m = model_of(&g);
    import = must_open(context, &m, NULL, &options);
    assert_int_equal(tly_import_num_tensors(import), 1);
    must_hold(import, "kept", TLY_U8, "3", counting, 3);
    assert_int_equal(tly_import_num_skipped(import), 3);
    assert_int_equal(tly_import_skipped(import, 0, &skip), TLY_OK);
    assert_string_equal(skip.name, "words");
    assert_int_equal(tly_import_skipped(import, 1, &skip), TLY_OK);
    assert_string_equal(skip.name, "thin");
    assert_int_equal(tly_import_skipped(import, 2, &skip), TLY_OK);
    assert_string_equal(skip.name, "text");
    tly_import_free(import);
    blob_free(&m);
    tly_context_free(context);
}

/* --- graphs --- */

static void add_value(blob *graph, const char *output, const char *attribute, uint32_t field,
                      uint32_t wire, uint64_t first, uint64_t second, int num) {
    blob n = node_of("Constant", NULL, output);
    blob a = {NULL, 0};
    for (int i = 0; i < num; i++) {
        uint64_t value = i == 0 ? first : second;
        if (wire == 5) {
            pb_fixed32(&a, field, (uint32_t)value);
        } else {
            pb_int(&a, field, value);
        }
    }
    pb_text(&a, 1, attribute); /* the name behind the value: fields have no order */
    pb_message(&n, 5, &a);
    pb_message(graph, 1, &n);
}

static void constants_have_values_in_attributes_too(void **state) {
    tly_context *context = plain_context();
    blob g = {NULL, 0}, m;
    tly_import *import;
    (void)state;
    add_value(&g, "f", "value_float", 2, 5, 0x3F800000, 0, 1);
    add_value(&g, "i", "value_int", 3, 0, (uint64_t)-1, 0, 1);
    add_value(&g, "fs", "value_floats", 7, 5, 0x3F800000, 0x40000000, 2);
    add_value(&g, "is", "value_ints", 8, 0, 5, (uint64_t)-5, 2);
    add_value(&g, "zero", "value_int", 3, 0, 0, 0, 0); /* proto3 leaves zeroes out */
    add_value(&g, "none", "value_ints", 8, 0, 0, 0, 0);
    m = model_of(&g);
    import = must_open(context, &m, NULL, NULL);
    assert_int_equal(tly_import_num_tensors(import), 6);
    must_hold(import, "f", TLY_F32, "", "\x00\x00\x80\x3F", 4);
    must_hold(import, "i", TLY_I64, "", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8);
    must_hold(import, "fs", TLY_F32, "2", "\x00\x00\x80\x3F\x00\x00\x00\x40", 8);
    must_hold(import, "is", TLY_I64, "2", "\x05\0\0\0\0\0\0\0\xFB\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 16);
    must_hold(import, "zero", TLY_I64, "", "\0\0\0\0\0\0\0\0", 8);
    must_hold(import, "none", TLY_I64, "0", "", 0);
    tly_import_free(import);
    blob_free(&m);
    tly_context_free(context);
}

static blob tiny(const char *name, uint8_t value) {
    return raw_tensor(name, UINT8, SCALAR, &value, 1);
}

static void subgraphs_functions_and_training_are_searched(void **state) {
    tly_context *context = plain_context();
    blob inner = {NULL, 0}, then = {NULL, 0}, otherwise = {NULL, 0}, g = {NULL, 0}, m, n, a, f;
    tly_import *import;
    (void)state;
    add_constant(&inner, NULL, "c", tiny(NULL, 1));
    n = node_of("Loop", "loop", "out");
    a = attribute_of("body");
    pb_message(&a, 6, &inner);
    pb_message(&n, 5, &a);
    pb_message(&then, 1, &n);
    add_initializer(&then, tiny("c", 2));
    add_initializer(&otherwise, tiny("c", 3));

    add_initializer(&g, tiny("c", 4));
    /* The attributes first, then who they belong to. */
    n = (blob){NULL, 0};
    a = (blob){NULL, 0};
    pb_message(&a, 6, &then);
    pb_text(&a, 1, "then_branch");
    pb_message(&n, 5, &a);
    a = attribute_of("else_branch");
    pb_message(&a, 6, &otherwise);
    pb_message(&n, 5, &a);
    pb_text(&n, 2, "y");
    pb_text(&n, 4, "If");
    pb_message(&g, 1, &n);
    /* Several graphs in one attribute, on a node without a name or an output. */
    n = node_of("Custom", NULL, NULL);
    a = attribute_of("bodies");
    for (uint8_t i = 5; i <= 6; i++) {
        blob body = {NULL, 0};
        add_initializer(&body, tiny("c", i));
        pb_message(&a, 11, &body);
    }
    pb_message(&n, 5, &a);
    pb_message(&g, 1, &n);
    m = model_of(&g);
    {
        blob body = {NULL, 0};
        add_constant(&body, NULL, "eps", tiny(NULL, 7));
        /* A FunctionProto has its nodes in field 7, a graph in field 1. */
        f = (blob){NULL, 0};
        body.bytes[0] = 7 << 3 | 2;
        blob_put(&f, body.bytes, body.len);
        blob_free(&body);
        pb_text(&f, 1, "Norm");
        pb_text(&f, 10, "my.ops");
        pb_message(&m, 25, &f);
    }
    {
        blob training = {NULL, 0}, algorithm = {NULL, 0};
        add_initializer(&algorithm, tiny("rate", 8));
        pb_message(&training, 2, &algorithm);
        pb_message(&m, 20, &training);
    }
    {
        blob property = {NULL, 0};
        pb_text(&property, 1, "author");
        pb_text(&property, 2, "somebody");
        pb_message(&m, 14, &property);
    }
    import = must_open(context, &m, NULL, NULL);
    must_hold(import, "y.then_branch/loop.body/c", TLY_U8, "", "\1", 1);
    must_hold(import, "y.then_branch/c", TLY_U8, "", "\2", 1);
    must_hold(import, "y.else_branch/c", TLY_U8, "", "\3", 1);
    must_hold(import, "c", TLY_U8, "", "\4", 1);
    must_hold(import, "Custom@1.bodies[0]/c", TLY_U8, "", "\5", 1);
    must_hold(import, "Custom@1.bodies[1]/c", TLY_U8, "", "\6", 1);
    must_hold(import, "my.ops.Norm()/eps", TLY_U8, "", "\7", 1);
    must_hold(import, "training[0].algorithm/rate", TLY_U8, "", "\x08", 1);
    assert_int_equal(tly_import_num_tensors(import), 8);
    {
        tly_kv kv;
        assert_int_equal(tly_import_metadata(import, 0, &kv), TLY_OK);
        assert_string_equal(kv.key, "author");
        assert_int_equal(kv.data_len, 8);
        assert_memory_equal(kv.data, "somebody", 8);
    }
    tly_import_free(import);
    blob_free(&m);
    tly_context_free(context);
}

static void names_become_unique(void **state) {
    tly_context *context = plain_context();
    blob g = {NULL, 0}, m;
    tly_import *import;
    (void)state;
    add_initializer(&g, tiny("w", 1));
    add_initializer(&g, tiny("w#2", 2));
    add_constant(&g, NULL, "w", tiny("other", 3));
    add_constant(&g, NULL, "w", tiny("other", 4));
    add_constant(&g, NULL, NULL, tiny("own", 5));
    add_constant(&g, NULL, NULL, tiny(NULL, 6));
    add_initializer(&g, tiny(NULL, 7));
    m = model_of(&g);
    import = must_open(context, &m, NULL, NULL);
    must_hold(import, "w", TLY_U8, "", "\1", 1);
    must_hold(import, "w#2", TLY_U8, "", "\2", 1);
    must_hold(import, "w#3", TLY_U8, "", "\3", 1);
    must_hold(import, "w#4", TLY_U8, "", "\4", 1);
    must_hold(import, "own", TLY_U8, "", "\5", 1);
    must_hold(import, "Constant", TLY_U8, "", "\6", 1);
    must_hold(import, "initializer", TLY_U8, "", "\7", 1);
    tly_import_free(import);
    blob_free(&m);
    /* Twice in one graph, whatever stands between. */
    for (int between = 0; between <= 1; between++) {
        add_initializer(&g, tiny("w", 1));
        if (between) {
            add_constant(&g, NULL, "w", tiny(NULL, 3));
        }
        add_initializer(&g, tiny("w", 2));
        m = model_of(&g);
        must_refuse(context, &m, NULL, TLY_MALFORMED, "duplicate-name");
    }
    tly_context_free(context);
}

static void a_single_tensor_is_a_file_too(void **state) {
    tly_context *context = plain_context();
    blob t = raw_tensor("input_0", FLOAT, DIMS(2), counting, 8);
    tly_import *import = must_open(context, &t, NULL, NULL);
    (void)state;
    must_hold(import, "input_0", TLY_F32, "2", counting, 8);
    tly_import_free(import);
    blob_free(&t);
    t = raw_tensor(NULL, INT64, SCALAR, counting, 8);
    import = must_open(context, &t, NULL, NULL);
    must_hold(import, "tensor", TLY_I64, "", counting, 8);
    tly_import_free(import);
    blob_free(&t);
    tly_context_free(context);
}

static blob nested(int depth) {
    blob graph = {NULL, 0};
    add_initializer(&graph, tiny("deep", 1));
    for (int i = 1; i < depth; i++) {
        blob outer = {NULL, 0};
        blob n = node_of("If", "n", "o");
        blob a = attribute_of("g");
        pb_message(&a, 6, &graph);
        pb_message(&n, 5, &a);
        pb_message(&outer, 1, &n);
        graph = outer;
    }
    return model_of(&graph);
}

static void limits_hold(void **state) {
    tly_context *context = plain_context();
    tly_import_options options = {.size = sizeof options};
    blob m = nested(32);
    tly_import *import = must_open(context, &m, NULL, NULL);
    (void)state;
    assert_int_equal(tly_import_num_tensors(import), 1);
    tly_import_free(import);
    blob_free(&m);
    m = nested(33);
    must_refuse(context, &m, NULL, TLY_LIMIT, "graph-depth");
    m = nested(3000);
    options.graph_depth = 128;
    must_refuse(context, &m, &options, TLY_LIMIT, "graph-depth");
    m = nested(3);
    options.name_len = 11; /* "n.g/n.g/deep" has 12 */
    must_refuse(context, &m, &options, TLY_LIMIT, "name-len");
    m = model_of_tensor(raw_tensor("t", UINT8, DIMS(1, 1, 1), counting, 1));
    options.rank = 2;
    must_refuse(context, &m, &options, TLY_LIMIT, "rank");
    {
        /* 60,000 dimensions packed into one field, one of them 0 */
        blob dims = {NULL, 0}, t = {NULL, 0};
        dims.bytes = calloc(1, 60001);
        dims.len = 60000;
        pb_message(&t, 1, &dims);
        pb_int(&t, 2, FLOAT);
        m = model_of_tensor(t);
        must_refuse(context, &m, NULL, TLY_LIMIT, "rank");
    }
    tly_context_free(context);
}

/* Thousands of tiny tensors below a long path must not turn a small file into much memory. */
static void long_names_do_not_multiply(void **state) {
    failing f;
    tly_context *context = failing_context(&f);
    blob inner = {NULL, 0}, g = {NULL, 0}, n, a, m;
    char name[4001];
    (void)state;
    memset(name, 'n', 4000);
    name[4000] = '\0';
    for (int i = 0; i < 5000; i++) {
        add_initializer(&inner, tiny(NULL, 1));
    }
    n = node_of("If", name, NULL);
    a = attribute_of("g");
    pb_message(&a, 6, &inner);
    pb_message(&n, 5, &a);
    pb_message(&g, 1, &n);
    m = model_of(&g);
    must_refuse(context, &m, NULL, TLY_LIMIT, "text-len");
    assert_true(f.largest < 2000000);
    tly_context_free(context);
}

static void broken_protobuf_is_refused(void **state) {
    static const struct {
        const char *bytes;
        size_t len;
        tly_status status;
        const char *rule;
    } cases[] = {
        {"\x08\x08", 2, TLY_MALFORMED, "no-graph"},
        {"\x08\x08\x3A\x05\x0A", 5, TLY_TRUNCATED, "protobuf-length"},
        {"\x08\x08\x3A\x00\x3A\x00", 6, TLY_MALFORMED, "repeated-field"},
        {"\x08\x08\x38\x01", 4, TLY_MALFORMED, "protobuf-wire-type"},
        {"\x08\x08\x3B\x3C", 4, TLY_MALFORMED, "protobuf-wire-type"},
        {"\x08\x08\x07", 3, TLY_MALFORMED, "protobuf-tag"},
        {"\x08\x08\x3A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 13, TLY_TRUNCATED,
         "protobuf-length"},
        {"\x08\x08\x3A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 13, TLY_MALFORMED,
         "protobuf-varint"},
        {"\x08\x08\x3A\xFF", 4, TLY_TRUNCATED, "protobuf-varint"},
        {"\x08\x08\x3D\x01\x02", 5, TLY_TRUNCATED, "protobuf-length"},
        {"\x08\x08\x3A\x04\x2A\x05\x08\x01", 8, TLY_TRUNCATED, "protobuf-length"},
    };
    tly_context *context = plain_context();
    tly_import_options options = {.size = sizeof options, .format = TLY_IMPORT_ONNX};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        blob b = {NULL, 0};
        blob_put(&b, cases[i].bytes, cases[i].len);
        must_refuse(context, &b, &options, cases[i].status, cases[i].rule);
    }
    tly_context_free(context);
}

/* A model with every form of tensor, small enough for a mutation at each byte. */
static blob rich_model(void) {
    blob g = {NULL, 0}, then = {NULL, 0}, t, n, a;
    add_initializer(&g, raw_tensor("raw", FLOAT, DIMS(2), counting, 8));
    t = tensor_head("typed", INT16, DIMS(3));
    pb_bytes(&t, 5, "\x01\x02\x7F", 3);
    add_initializer(&g, t);
    add_initializer(&g, raw_tensor("flags", BOOL, DIMS(3), "\1\0\1", 3));
    add_initializer(&g, raw_tensor("words", UINT8, DIMS(0), "", 0));
    add_constant(&then, "k", "c", raw_tensor(NULL, FLOAT, SCALAR, counting, 4));
    add_value(&then, "is", "value_ints", 8, 0, 5, 500, 2);
    add_value(&then, "c", "value_float", 2, 5, 5, 0, 1);
    n = node_of("If", "if", "o");
    a = attribute_of("then_branch");
    pb_message(&a, 6, &then);
    pb_message(&n, 5, &a);
    pb_message(&g, 1, &n);
    t = model_of(&g);
    a = (blob){NULL, 0};
    pb_text(&a, 1, "k");
    pb_text(&a, 2, "v");
    pb_message(&t, 14, &a);
    return t;
}

static void mutations_and_failing_memory_are_survived(void **state) {
    blob b = rich_model();
    (void)state;
    must_survive_mutations(&b, 14, 20000);
    must_survive_failing_memory(&b);
    blob_free(&b);
}

/* Flips every single bit: the smallest changes find the most. */
static void every_bit_may_be_wrong(void **state) {
    tly_context *context = plain_context();
    tly_import_options options = skipping();
    blob b = rich_model();
    (void)state;
    for (size_t bit = 0; bit < b.len * 8; bit++) {
        b.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        survives(context, b.bytes, b.len, &options);
        b.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(survives(context, b.bytes, b.len, NULL));
    blob_free(&b);
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_data_of_every_type),
        cmocka_unit_test(typed_fields_of_every_type),
        cmocka_unit_test(elements_of_less_than_a_byte),
        cmocka_unit_test(values_must_fit_their_type),
        cmocka_unit_test(counts_must_be_those_of_the_shape),
        cmocka_unit_test(data_stands_in_one_place),
        cmocka_unit_test(forms_that_are_not_carried_are_named),
        cmocka_unit_test(constants_have_values_in_attributes_too),
        cmocka_unit_test(subgraphs_functions_and_training_are_searched),
        cmocka_unit_test(names_become_unique),
        cmocka_unit_test(a_single_tensor_is_a_file_too),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(long_names_do_not_multiply),
        cmocka_unit_test(broken_protobuf_is_refused),
        cmocka_unit_test(mutations_and_failing_memory_are_survived),
        cmocka_unit_test(every_bit_may_be_wrong),
    };
    return cmocka_run_group_tests_name("import/onnx", tests, NULL, NULL);
}
