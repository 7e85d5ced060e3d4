/* SPDX-License-Identifier: Apache-2.0 */
/* A layer and an attention head of a text recognition model by oneDNN, with weights from a server:
 *
 *     cc -O2 transformer.c $(pkg-config --cflags --libs tilery) -ldnnl -o transformer
 *     transformer ADDRESS dense y.hrry        y = swish(x W + b)
 *     transformer ADDRESS head 3 o.hrry       O = softmax(scale * Q K^T) V of head 3
 *
 * The server has the model's tensors, and the input as "x". For each product with weights oneDNN is
 * asked which layout it wants them in (tly_gemm_query), the server packs them so while it sends,
 * and the product runs on what has arrived (tly_gemm_run). Where oneDNN wants them plain, they come
 * plain. What has no weights is done by oneDNN's own interface (version 2).
 *
 * The same by a program for the PTO machine: examples/pto/dense.s and attention.s. */
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/tilery.h>

enum { HEADS = 8, MAX_ARGS = 3 };

typedef struct session {
    tly_context *context;
    tly_client *client;
    tly_gemm_adapter *adapter;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
} session;

/* A matrix of f32: rows that are `pitch` elements apart. A transposed one steps along its columns
 * by `pitch` and along its rows by one element. */
typedef struct matrix {
    float *at;
    uint64_t rows, columns, pitch;
    int transposed;
} matrix;

static void need(tly_status status, const tly_error *error, const char *what) {
    if (status != TLY_OK) {
        fprintf(stderr, "transformer: %s: %s\n", what, error->message);
        exit(1);
    }
}

static void need_dnnl(dnnl_status_t code, const char *what) {
    if (code != dnnl_success) {
        fprintf(stderr, "transformer: oneDNN: %s failed with status %d\n", what, (int)code);
        exit(1);
    }
}

static matrix matrix_new(uint64_t rows, uint64_t columns) {
    matrix m = {malloc(sizeof(float) * rows * columns), rows, columns, columns, 0};
    if (m.at == NULL) {
        fprintf(stderr, "transformer: no memory\n");
        exit(1);
    }
    return m;
}

/* Columns first .. first + num - 1. */
static matrix columns_of(matrix m, uint64_t first, uint64_t num) {
    m.at += first;
    m.columns = num;
    return m;
}

/* ---- from the server --------------------------------------------------------------------------
 */

/* `profile` NULL: row-major. Of f32, or the program ends. */
static tly_fetched *fetch(session *s, const char *key, const tly_panel_profile *profile) {
    const tly_fetch_layout layout = {.tag = TLY_LAYOUT_ROW_MAJOR, .profile = profile};
    const tly_fetch_request request = {.size = sizeof request,
                                       .key = key,
                                       .layouts = &layout,
                                       .num_layouts = 1,
                                       .min_alignment = profile != NULL ? profile->alignment : 0,
                                       .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched = NULL;
    tly_error error;
    need(tly_client_fetch(s->client, &request, &fetched, &error), &error, key);
    if (tly_fetched_descriptor(fetched)->dtype != TLY_F32) {
        fprintf(stderr, "transformer: %s has elements of another type than f32\n", key);
        exit(1);
    }
    return fetched;
}

/* A plain tensor as a matrix; a vector is one row. It lives as long as `fetched`. */
static matrix matrix_of(tly_fetched *fetched) {
    const tly_descriptor *d = tly_fetched_descriptor(fetched);
    matrix m = {.at = tly_fetched_data(fetched), .rows = 1, .columns = 1};
    if (d->rank > 0) {
        m.columns = d->shape[d->rank - 1];
    }
    if (d->rank > 1) {
        m.rows = d->shape[0];
    }
    m.pitch = m.columns;
    return m;
}

/* x times the weights of that name, which are stored K x N with `num` columns. */
static matrix times_weights(session *s, matrix x, const char *key, uint64_t num) {
    const tly_gemm_problem problem = {.size = sizeof problem,
                                      .m = x.rows,
                                      .n = num,
                                      .k = x.columns,
                                      .a_dtype = TLY_F32,
                                      .b_dtype = TLY_F32,
                                      .c_dtype = TLY_F32};
    tly_panel_profile profile = {.size = sizeof profile};
    matrix y = matrix_new(x.rows, num);
    tly_gemm *gemm = NULL;
    tly_error error;
    char text[256] = "plain, as it wants it";
    tly_status status = tly_gemm_query(s->adapter, &problem, &profile, &error);
    const int packed = status == TLY_OK;
    if (status != TLY_NO_PANEL) {
        need(status, &error, "asking oneDNN for a layout");
    }
    need(tly_gemm_prepare(s->adapter, &problem, packed ? &profile : NULL, &gemm, &error), &error,
         "preparing a product");
    tly_fetched *weights = fetch(s, key, packed ? &profile : NULL);
    const tly_descriptor *d = tly_fetched_descriptor(weights);
    if (d->rank != 2 || d->shape[0] != x.columns || d->shape[1] != num) {
        fprintf(stderr, "transformer: %s is no matrix of %llu x %llu\n", key,
                (unsigned long long)x.columns, (unsigned long long)num);
        exit(1);
    }
    if (packed) {
        need(tly_gemm_accepts(gemm, d->private_data, d->private_len, &error), &error, key);
        need(tly_gemm_run(gemm, x.at, x.pitch, tly_fetched_data(weights), tly_fetched_len(weights),
                          y.at, y.pitch, &error),
             &error, key);
        tly_panel_describe(&profile, text, sizeof text);
    } else {
        need(tly_gemm_plain(gemm, x.at, x.pitch, tly_fetched_data(weights), num, y.at, y.pitch,
                            &error),
             &error, key);
    }
    printf("%s: %llu bytes, multiplied where they arrived; %s\n", key,
           (unsigned long long)tly_fetched_len(weights), text);
    tly_gemm_free(gemm);
    tly_fetched_free(weights);
    return y;
}

/* ---- by oneDNN itself --------------------------------------------------------------------------
 */

static dnnl_memory_desc_t desc_of(matrix m) {
    dnnl_memory_desc_t desc;
    const dnnl_dims_t dims = {(dnnl_dim_t)m.rows, (dnnl_dim_t)m.columns};
    const dnnl_dims_t strides = {m.transposed ? 1 : (dnnl_dim_t)m.pitch,
                                 m.transposed ? (dnnl_dim_t)m.pitch : 1};
    need_dnnl(dnnl_memory_desc_init_by_strides(&desc, 2, dims, dnnl_f32, strides), "a matrix");
    return desc;
}

/* Runs an operation on matrices; `names` says which of its arguments each one is. */
static void run(session *s, const_dnnl_op_desc_t op, const_dnnl_primitive_attr_t attributes,
                const int *names, const matrix *matrices, int num) {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[MAX_ARGS];
    need_dnnl(dnnl_primitive_desc_create(&desc, op, attributes, s->engine, NULL), "an operation");
    need_dnnl(dnnl_primitive_create(&primitive, desc), "an operation");
    for (int i = 0; i < num; i++) {
        const dnnl_memory_desc_t memory = desc_of(matrices[i]);
        args[i].arg = names[i];
        need_dnnl(dnnl_memory_create(&args[i].memory, &memory, s->engine, matrices[i].at),
                  "a matrix");
    }
    need_dnnl(dnnl_primitive_execute(primitive, s->stream, num, args), "running");
    need_dnnl(dnnl_stream_wait(s->stream), "running");
    for (int i = 0; i < num; i++) {
        dnnl_memory_destroy(args[i].memory);
    }
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(desc);
}

/* What follows an operation at once: alpha * value for linear, value * sigmoid(alpha * value) for
 * swish. */
static dnnl_primitive_attr_t then(dnnl_alg_kind_t what, float alpha) {
    dnnl_primitive_attr_t attributes;
    dnnl_post_ops_t ops;
    need_dnnl(dnnl_primitive_attr_create(&attributes), "attributes");
    need_dnnl(dnnl_post_ops_create(&ops), "attributes");
    need_dnnl(dnnl_post_ops_append_eltwise(ops, 1, what, alpha, 0), "attributes");
    need_dnnl(dnnl_primitive_attr_set_post_ops(attributes, ops), "attributes");
    dnnl_post_ops_destroy(ops);
    return attributes;
}

/* y = y + bias in each row, and then `attributes`. */
static void add_bias(session *s, matrix y, matrix bias, const_dnnl_primitive_attr_t attributes) {
    static const int names[] = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST};
    const matrix matrices[] = {y, bias, y};
    const dnnl_memory_desc_t y_desc = desc_of(y), bias_desc = desc_of(bias);
    dnnl_binary_desc_t op;
    need_dnnl(dnnl_binary_desc_init(&op, dnnl_binary_add, &y_desc, &bias_desc, &y_desc), "a sum");
    run(s, &op, attributes, names, matrices, 3);
}

static void multiply(session *s, matrix a, matrix b, matrix c,
                     const_dnnl_primitive_attr_t attributes) {
    static const int names[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    const matrix matrices[] = {a, b, c};
    const dnnl_memory_desc_t a_desc = desc_of(a), b_desc = desc_of(b), c_desc = desc_of(c);
    dnnl_matmul_desc_t op;
    need_dnnl(dnnl_matmul_desc_init(&op, &a_desc, &b_desc, NULL, &c_desc), "a product");
    run(s, &op, attributes, names, matrices, 3);
}

static void softmax(session *s, matrix m) {
    static const int names[] = {DNNL_ARG_SRC, DNNL_ARG_DST};
    const matrix matrices[] = {m, m};
    const dnnl_memory_desc_t desc = desc_of(m);
    dnnl_softmax_desc_t op;
    need_dnnl(dnnl_softmax_forward_desc_init(&op, dnnl_forward_inference, &desc, 1), "softmax");
    run(s, &op, NULL, names, matrices, 2);
}

/* ---- the two parts -----------------------------------------------------------------------------
 */

static matrix dense(session *s, matrix x) {
    tly_fetched *bias = fetch(s, "linear_79.b_0", NULL);
    dnnl_primitive_attr_t swish = then(dnnl_eltwise_swish, 1);
    matrix y = times_weights(s, x, "linear_79.w_0", matrix_of(bias).columns);
    add_bias(s, y, matrix_of(bias), swish);
    dnnl_primitive_attr_destroy(swish);
    tly_fetched_free(bias);
    return y;
}

/* Queries, keys and values of all heads come from one product, side by side. */
static matrix attend(session *s, matrix x, uint64_t head) {
    tly_fetched *bias = fetch(s, "linear_77.b_0", NULL);
    tly_fetched *scale = fetch(s, "p2o.helper.constant.95", NULL);
    const uint64_t width = matrix_of(bias).columns / 3, size = width / HEADS;
    matrix qkv = times_weights(s, x, "linear_77.w_0", matrix_of(bias).columns);
    add_bias(s, qkv, matrix_of(bias), NULL);

    const matrix q = columns_of(qkv, head * size, size);
    const matrix k = columns_of(qkv, width + head * size, size);
    const matrix v = columns_of(qkv, 2 * width + head * size, size);
    const matrix k_transposed = {k.at, k.columns, k.rows, k.pitch, 1};
    const matrix p = matrix_new(x.rows, x.rows), o = matrix_new(x.rows, size);
    dnnl_primitive_attr_t scaled = then(dnnl_eltwise_linear, *matrix_of(scale).at);
    multiply(s, q, k_transposed, p, scaled);
    softmax(s, p);
    multiply(s, p, v, o, NULL);

    dnnl_primitive_attr_destroy(scaled);
    free(p.at);
    free(qkv.at);
    tly_fetched_free(scale);
    tly_fetched_free(bias);
    return o;
}

static void save(session *s, const char *path, const char *key, matrix m) {
    const uint64_t shape[2] = {m.rows, m.columns};
    const void *bytes = m.at;
    tly_descriptor descriptor;
    tly_buffer_info buffer;
    tly_store_writer *writer = NULL;
    tly_error error;
    need(tly_store_writer_new(s->context, path, NULL, &writer, &error), &error, path);
    if (tly_descriptor_init_row_major(&descriptor, &buffer, TLY_F32, 2, shape) != TLY_OK) {
        fprintf(stderr, "transformer: the result has no elements\n");
        exit(1);
    }
    need(tly_store_writer_add(writer, key, strlen(key), &descriptor, &bytes, &error), &error, path);
    need(tly_store_writer_commit(writer, &error), &error, path);
    tly_store_writer_free(writer);
}

int main(int argc, char **argv) {
    const int is_dense = argc == 4 && strcmp(argv[2], "dense") == 0;
    const int is_head = argc == 5 && strcmp(argv[2], "head") == 0 && strlen(argv[3]) == 1 &&
                        argv[3][0] >= '0' && argv[3][0] < '0' + HEADS;
    session s;
    tly_error error;
    if (!is_dense && !is_head) {
        fprintf(stderr,
                "usage: transformer ADDRESS dense OUT.hrry\n"
                "       transformer ADDRESS head 0..%d OUT.hrry\n",
                HEADS - 1);
        return 2;
    }
    need(tly_context_new(NULL, &s.context, &error), &error, "starting");
    need(tly_gemm_open(s.context, "onednn", &s.adapter, &error), &error, "finding oneDNN");
    need(tly_client_connect(s.context, argv[1], NULL, &s.client, &error), &error, argv[1]);
    need_dnnl(dnnl_engine_create(&s.engine, dnnl_cpu, 0), "an engine");
    need_dnnl(dnnl_stream_create(&s.stream, s.engine, dnnl_stream_default_flags), "a stream");

    tly_fetched *input = fetch(&s, "x", NULL);
    const matrix x = matrix_of(input);
    const matrix y = is_dense ? dense(&s, x) : attend(&s, x, (uint64_t)(argv[3][0] - '0'));
    save(&s, argv[argc - 1], is_dense ? "y" : "o", y);

    free(y.at);
    tly_fetched_free(input);
    dnnl_stream_destroy(s.stream);
    dnnl_engine_destroy(s.engine);
    tly_client_free(s.client);
    tly_gemm_close(s.adapter);
    tly_context_free(s.context);
    return 0;
}
