/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN as an adapter. The library is asked which weights it wants (format_tag_any), first for a
 * matrix product, then for an inner product, then for a 1 x 1 convolution over M pixels, which is
 * the same product: with AVX2 only the last one has kernels that read packed weights. The first
 * answer that is a panel is taken; if all are plain, so is ours.
 *
 * The convolution may also want the small matrices in blocks of channels; those are copied in and
 * out of scratch memory. The weights never are. */
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/gemm_module.h>

#include "gemm/onednn_layout.h"

#define SCRATCH_ALIGNMENT 64

typedef enum route { ROUTE_MATMUL, ROUTE_INNER_PRODUCT, ROUTE_CONVOLUTION, NUM_ROUTES } route;

typedef struct library {
    const tly_gemm_host *host;
    dnnl_engine_t engine;
} library;

/* One way to multiply, and the layouts that it wants. */
typedef struct plan {
    dnnl_primitive_desc_t desc;
    const dnnl_memory_desc_t *src, *weights, *dst; /* owned by desc */
    int k_dim, n_dim;                              /* of the weights */
    int src_block, dst_block;                      /* channels per block; 0: plain rows */
    tly_panel_profile profile;
} plan;

/* A small matrix on its way in or out: the caller's memory where the library takes it as it is,
 * scratch memory otherwise. */
typedef struct side {
    dnnl_memory_t memory;
    uint8_t *scratch;
    uint64_t scratch_len;
    uint64_t rows, columns;
    uint32_t element_len;
    int block;
} side;

typedef struct plain_product {
    dnnl_primitive_t primitive; /* NULL: none made yet */
    dnnl_memory_t src, weights, dst;
    uint64_t lda, ldb, ldc; /* that it was made for */
} plain_product;

typedef struct product {
    const library *library;
    tly_gemm_problem problem;
    dnnl_stream_t stream;
    plan plan;                  /* plan.desc NULL: plain only */
    dnnl_primitive_t primitive; /* as plan.desc */
    dnnl_memory_t weights;
    side src, dst;
    plain_product plain;
} product;

static tly_status fail_dnnl(const tly_gemm_host *host, tly_error *error, dnnl_status_t code,
                            const char *what) {
    char text[160];
    const tly_status status = code == dnnl_out_of_memory   ? TLY_OUT_OF_MEMORY
                              : code == dnnl_unimplemented ? TLY_UNSUPPORTED
                                                           : TLY_INTERNAL;
    snprintf(text, sizeof text, "oneDNN: %s failed with status %d%s", what, (int)code,
             code == dnnl_unimplemented ? " (not implemented for these types on this machine)"
                                        : "");
    return host->fail(error, status, "onednn-status", text);
}

static const char *isa_name(void) {
    switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41:
        return "sse4.1";
    case dnnl_cpu_isa_avx:
        return "avx";
    case dnnl_cpu_isa_avx2:
        return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
        return "avx2 vnni";
    case dnnl_cpu_isa_avx512_core:
        return "avx512";
    case dnnl_cpu_isa_avx512_core_vnni:
        return "avx512 vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
        return "avx512 bf16";
    case dnnl_cpu_isa_avx512_core_amx:
        return "avx512 amx";
    default:
        return "generic";
    }
}

static tly_status onednn_open(const tly_gemm_host *host, void **out_library, char *version,
                              tly_error *error) {
    const dnnl_version_t *v = dnnl_version();
    library *opened = host->alloc(host->user, sizeof *opened, _Alignof(library));
    dnnl_status_t code;
    if (opened == NULL) {
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for the adapter");
    }
    opened->host = host;
    code = dnnl_engine_create(&opened->engine, dnnl_cpu, 0);
    if (code != dnnl_success) {
        host->free(host->user, opened, sizeof *opened, _Alignof(library));
        return fail_dnnl(host, error, code, "creating an engine");
    }
    snprintf(version, TLY_GEMM_VERSION_LEN, "oneDNN %d.%d.%d (%s)", v->major, v->minor, v->patch,
             isa_name());
    *out_library = opened;
    return TLY_OK;
}

static void onednn_close(void *opened) {
    library *lib = opened;
    const tly_gemm_host *host = lib->host;
    dnnl_engine_destroy(lib->engine);
    host->free(host->user, lib, sizeof *lib, _Alignof(library));
}

/* Element types in oneDNN's words. */
typedef struct types {
    dnnl_data_type_t a, b, c; /* undef where this adapter does not multiply such */
} types;

static types types_of(const tly_gemm_problem *problem) {
    static const struct {
        tly_dtype a, b, c;
        types words;
    } rows[] = {
        {TLY_F32, TLY_F32, TLY_F32, {dnnl_f32, dnnl_f32, dnnl_f32}},
        {TLY_BF16, TLY_BF16, TLY_F32, {dnnl_bf16, dnnl_bf16, dnnl_f32}},
        {TLY_U8, TLY_I8, TLY_I32, {dnnl_u8, dnnl_s8, dnnl_s32}},
    };
    const types none = {dnnl_data_type_undef, dnnl_data_type_undef, dnnl_data_type_undef};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].a == problem->a_dtype && rows[i].b == problem->b_dtype &&
            rows[i].c == problem->c_dtype) {
            return rows[i].words;
        }
    }
    return none;
}

/* Without VNNI, oneDNN adds pairs of 8-bit products in 16 bits, which saturates: 255 * 127 twice is
 * beyond it. Tilery does not hand out wrong numbers; who knows that his are small enough, as a
 * benchmark does, says so in the environment variable TILERY_ONEDNN_INT8. */
static int has_exact_int8(void) {
    const unsigned vnni = (dnnl_cpu_isa_avx512_core_vnni & ~dnnl_cpu_isa_avx512_core) |
                          (dnnl_cpu_isa_avx2_vnni & ~dnnl_cpu_isa_avx2);
    return ((unsigned)dnnl_get_effective_cpu_isa() & vnni) != 0;
}

static tly_status check_types(const library *lib, const tly_gemm_problem *problem,
                              tly_error *error) {
    const types type = types_of(problem);
    if (type.a == dnnl_data_type_undef) {
        return lib->host->fail(error, TLY_UNSUPPORTED, "element-type",
                               "the oneDNN adapter multiplies f32 by f32 to f32, bf16 by bf16 to "
                               "f32 and u8 by i8 to i32");
    }
    if (type.b == dnnl_s8 && !has_exact_int8() && getenv("TILERY_ONEDNN_INT8") == NULL) {
        return lib->host->fail(error, TLY_UNSUPPORTED, "saturating-int8",
                               "oneDNN's 8-bit kernels for this processor (no VNNI) saturate at 16 "
                               "bits, so their results can be wrong");
    }
    return TLY_OK;
}

static dnnl_status_t describe_matmul(const library *lib, const tly_gemm_problem *p, plan *out) {
    const dnnl_dims_t src_dims = {(dnnl_dim_t)p->m, (dnnl_dim_t)p->k};
    const dnnl_dims_t weights_dims = {(dnnl_dim_t)p->k, (dnnl_dim_t)p->n};
    const dnnl_dims_t dst_dims = {(dnnl_dim_t)p->m, (dnnl_dim_t)p->n};
    dnnl_memory_desc_t src, weights, dst;
    const types type = types_of(p);
    dnnl_matmul_desc_t desc;
    dnnl_status_t code;
    out->k_dim = 0;
    out->n_dim = 1;
    dnnl_memory_desc_init_by_tag(&src, 2, src_dims, type.a, dnnl_ab);
    dnnl_memory_desc_init_by_tag(&weights, 2, weights_dims, type.b, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&dst, 2, dst_dims, type.c, dnnl_ab);
    code = dnnl_matmul_desc_init(&desc, &src, &weights, NULL, &dst);
    return code != dnnl_success
               ? code
               : dnnl_primitive_desc_create(&out->desc, &desc, NULL, lib->engine, NULL);
}

static dnnl_status_t describe_inner_product(const library *lib, const tly_gemm_problem *p,
                                            plan *out) {
    const dnnl_dims_t src_dims = {(dnnl_dim_t)p->m, (dnnl_dim_t)p->k};
    const dnnl_dims_t weights_dims = {(dnnl_dim_t)p->n, (dnnl_dim_t)p->k};
    const dnnl_dims_t dst_dims = {(dnnl_dim_t)p->m, (dnnl_dim_t)p->n};
    dnnl_memory_desc_t src, weights, dst;
    const types type = types_of(p);
    dnnl_inner_product_desc_t desc;
    dnnl_status_t code;
    out->k_dim = 1;
    out->n_dim = 0;
    dnnl_memory_desc_init_by_tag(&src, 2, src_dims, type.a, dnnl_ab);
    dnnl_memory_desc_init_by_tag(&weights, 2, weights_dims, type.b, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&dst, 2, dst_dims, type.c, dnnl_ab);
    code = dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_inference, &src, &weights, NULL,
                                                &dst);
    return code != dnnl_success
               ? code
               : dnnl_primitive_desc_create(&out->desc, &desc, NULL, lib->engine, NULL);
}

/* `tag` is what the small matrices look like: any (the library's choice) or acdb (plain rows). */
static dnnl_status_t describe_convolution(const library *lib, const tly_gemm_problem *p,
                                          dnnl_format_tag_t tag, plan *out) {
    const dnnl_dims_t src_dims = {1, (dnnl_dim_t)p->k, 1, (dnnl_dim_t)p->m};
    const dnnl_dims_t weights_dims = {(dnnl_dim_t)p->n, (dnnl_dim_t)p->k, 1, 1};
    const dnnl_dims_t dst_dims = {1, (dnnl_dim_t)p->n, 1, (dnnl_dim_t)p->m};
    const dnnl_dims_t strides = {1, 1}, padding = {0, 0};
    dnnl_memory_desc_t src, weights, dst;
    const types type = types_of(p);
    dnnl_convolution_desc_t desc;
    dnnl_status_t code;
    out->k_dim = 1;
    out->n_dim = 0;
    dnnl_memory_desc_init_by_tag(&src, 4, src_dims, type.a, tag);
    dnnl_memory_desc_init_by_tag(&weights, 4, weights_dims, type.b, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&dst, 4, dst_dims, type.c, tag);
    code =
        dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_direct,
                                           &src, &weights, NULL, &dst, strides, padding, padding);
    return code != dnnl_success
               ? code
               : dnnl_primitive_desc_create(&out->desc, &desc, NULL, lib->engine, NULL);
}

static void drop_plan(plan *made) {
    if (made->desc != NULL) {
        dnnl_primitive_desc_destroy(made->desc);
        made->desc = NULL;
    }
}

/* One route as a plan with a panel. NO_PANEL and UNSUPPORTED leave nothing behind; *out_why says
 * why. */
static tly_status try_route(const library *lib, const tly_gemm_problem *problem, route way,
                            dnnl_format_tag_t tag, plan *out, const char **out_why) {
    dnnl_status_t code;
    tly_status status;
    memset(out, 0, sizeof *out);
    code = way == ROUTE_MATMUL          ? describe_matmul(lib, problem, out)
           : way == ROUTE_INNER_PRODUCT ? describe_inner_product(lib, problem, out)
                                        : describe_convolution(lib, problem, tag, out);
    if (code != dnnl_success) {
        out->desc = NULL;
        *out_why = "oneDNN has no kernel for these element types on this machine";
        return TLY_UNSUPPORTED;
    }
    out->src = dnnl_primitive_desc_query_md(out->desc, dnnl_query_src_md, 0);
    out->weights = dnnl_primitive_desc_query_md(out->desc, dnnl_query_weights_md, 0);
    out->dst = dnnl_primitive_desc_query_md(out->desc, dnnl_query_dst_md, 0);
    status = tly_gemm_onednn_profile(out->weights, out->k_dim, out->n_dim, problem, &out->profile,
                                     out_why);
    if (status == TLY_OK && way == ROUTE_CONVOLUTION) {
        out->src_block = tly_gemm_onednn_channel_block(out->src);
        out->dst_block = tly_gemm_onednn_channel_block(out->dst);
        if (out->src_block < 0 || out->dst_block < 0) {
            *out_why = "oneDNN wants the small matrices in a layout that this adapter cannot give";
            status = TLY_UNSUPPORTED;
        }
    }
    if (status != TLY_OK) {
        drop_plan(out);
    }
    return status;
}

static tly_status find_plan(const library *lib, const tly_gemm_problem *problem, plan *out,
                            tly_error *error) {
    static const struct {
        route way;
        dnnl_format_tag_t tag;
    } tries[] = {
        {ROUTE_MATMUL, dnnl_format_tag_any},
        {ROUTE_INNER_PRODUCT, dnnl_format_tag_any},
        {ROUTE_CONVOLUTION, dnnl_format_tag_any},
        {ROUTE_CONVOLUTION, dnnl_acdb},
    };
    const char *why = "";
    tly_status worst = TLY_UNSUPPORTED;
    tly_status status = check_types(lib, problem, error);
    if (status != TLY_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        const char *reason;
        status = try_route(lib, problem, tries[i].way, tries[i].tag, out, &reason);
        if (status == TLY_OK) {
            return TLY_OK;
        }
        if (status == TLY_NO_PANEL || worst != TLY_NO_PANEL) {
            worst = status;
            why = reason;
        }
    }
    return lib->host->fail(error, worst, worst == TLY_NO_PANEL ? "no-panel-wanted" : "", why);
}

static tly_status onednn_query(void *opened, const tly_gemm_problem *problem,
                               tly_panel_profile *out_profile, tly_error *error) {
    plan made;
    tly_status status = find_plan(opened, problem, &made, error);
    if (status == TLY_OK) {
        *out_profile = made.profile;
        drop_plan(&made);
    }
    return status;
}

static void drop_side(const tly_gemm_host *host, side *s) {
    if (s->memory != NULL) {
        dnnl_memory_destroy(s->memory);
    }
    host->free(host->user, s->scratch, s->scratch_len, SCRATCH_ALIGNMENT);
}

static void drop_plain(plain_product *plain) {
    if (plain->primitive != NULL) {
        dnnl_primitive_destroy(plain->primitive);
        dnnl_memory_destroy(plain->src);
        dnnl_memory_destroy(plain->weights);
        dnnl_memory_destroy(plain->dst);
    }
    memset(plain, 0, sizeof *plain);
}

static void onednn_release(void *made) {
    product *p = made;
    const tly_gemm_host *host = p->library->host;
    drop_plain(&p->plain);
    drop_side(host, &p->src);
    drop_side(host, &p->dst);
    if (p->weights != NULL) {
        dnnl_memory_destroy(p->weights);
    }
    if (p->primitive != NULL) {
        dnnl_primitive_destroy(p->primitive);
    }
    drop_plan(&p->plan);
    if (p->stream != NULL) {
        dnnl_stream_destroy(p->stream);
    }
    host->free(host->user, p, sizeof *p, _Alignof(product));
}

/* Scratch is always there: the caller's leading dimension, known only later, may call for it. */
static tly_status make_side(const product *p, side *s, const dnnl_memory_desc_t *md, uint64_t rows,
                            uint64_t columns, tly_dtype dtype, int block, tly_error *error) {
    const tly_gemm_host *host = p->library->host;
    dnnl_status_t code;
    s->rows = rows;
    s->columns = columns;
    s->element_len = tly_dtype_bits(dtype) / 8;
    s->block = block;
    s->scratch_len = dnnl_memory_desc_get_size(md);
    s->scratch = host->alloc(host->user, s->scratch_len, SCRATCH_ALIGNMENT);
    if (s->scratch == NULL) {
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for the scratch of a product");
    }
    memset(s->scratch, 0, s->scratch_len); /* padding channels are multiplied */
    code = dnnl_memory_create(&s->memory, md, p->library->engine, s->scratch);
    return code == dnnl_success ? TLY_OK : fail_dnnl(host, error, code, "creating a memory");
}

/* Is the caller's matrix already what the library reads or writes? */
static int as_it_is(const side *s, uint64_t ld) {
    return s->block == 0 && ld == s->columns;
}

/* Copies between rows `ld` elements apart and scratch. */
static void copy_side(const side *s, uint8_t *matrix, uint64_t ld, int into_scratch) {
    const uint64_t block = s->block == 0 ? s->columns : (uint64_t)s->block;
    for (uint64_t c = 0; c < s->columns; c += block) {
        const uint64_t len = (s->columns - c < block ? s->columns - c : block) * s->element_len;
        for (uint64_t r = 0; r < s->rows; r++) {
            uint8_t *inside = s->scratch + (c * s->rows + r * block) * s->element_len;
            uint8_t *outside = matrix + (r * ld + c) * s->element_len;
            memcpy(into_scratch ? inside : outside, into_scratch ? outside : inside, len);
        }
    }
}

/* oneDNN takes all memory as writable; it does not write to what it only reads. */
static void *writable(const void *p) {
    union {
        const void *in;
        void *out;
    } u = {.in = p};
    return u.out;
}

/* The memory object of the weights says that there is no padding: setting the address of one with
 * padding would write zeros there, into a buffer that is not ours to write to. Zeros they are
 * already: the packer wrote them. */
static dnnl_status_t make_weights(product *p) {
    dnnl_memory_desc_t whole = *p->plan.weights;
    for (int d = 0; d < whole.ndims; d++) {
        whole.dims[d] = whole.padded_dims[d];
    }
    return dnnl_memory_create(&p->weights, &whole, p->library->engine, DNNL_MEMORY_NONE);
}

static tly_status make_panel_product(product *p, const tly_panel_profile *profile,
                                     tly_error *error) {
    const library *lib = p->library;
    const tly_gemm_problem *problem = &p->problem;
    dnnl_status_t code;
    tly_status status = find_plan(lib, problem, &p->plan, error);
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_panel_same_layout(&p->plan.profile, profile)) {
        char wanted[256], text[320];
        snprintf(text, sizeof text, "oneDNN wants %s for this product, and was given another panel",
                 tly_panel_describe(&p->plan.profile, wanted, sizeof wanted));
        return lib->host->fail(error, TLY_NO_PANEL, "panel-form", text);
    }
    code = dnnl_primitive_create(&p->primitive, p->plan.desc);
    if (code == dnnl_success) {
        code = make_weights(p);
    }
    if (code != dnnl_success) {
        return fail_dnnl(lib->host, error, code, "creating a primitive");
    }
    status = make_side(p, &p->src, p->plan.src, problem->m, problem->k, problem->a_dtype,
                       p->plan.src_block, error);
    if (status == TLY_OK) {
        status = make_side(p, &p->dst, p->plan.dst, problem->m, problem->n, problem->c_dtype,
                           p->plan.dst_block, error);
    }
    return status;
}

static tly_status onednn_prepare(void *opened, const tly_gemm_problem *problem,
                                 const tly_panel_profile *profile, void **out_product,
                                 uint32_t *out_alignment, tly_error *error) {
    const library *lib = opened;
    const tly_gemm_host *host = lib->host;
    dnnl_status_t code;
    product *p;
    tly_status status = check_types(lib, problem, error);
    if (status != TLY_OK) {
        return status;
    }
    p = host->alloc(host->user, sizeof *p, _Alignof(product));
    if (p == NULL) {
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for a product");
    }
    memset(p, 0, sizeof *p);
    p->library = lib;
    p->problem = *problem;
    code = dnnl_stream_create(&p->stream, lib->engine, dnnl_stream_default_flags);
    status = code == dnnl_success ? TLY_OK : fail_dnnl(host, error, code, "creating a stream");
    if (status == TLY_OK && profile != NULL) {
        status = make_panel_product(p, profile, error);
    }
    if (status != TLY_OK) {
        onednn_release(p);
        return status;
    }
    *out_alignment = tly_dtype_bits(problem->b_dtype) / 8; /* its kernels load unaligned */
    *out_product = p;
    return TLY_OK;
}

static tly_status execute(const product *p, dnnl_primitive_t primitive, dnnl_memory_t src,
                          dnnl_memory_t weights, dnnl_memory_t dst, tly_error *error) {
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, dst}};
    dnnl_status_t code = dnnl_primitive_execute(primitive, p->stream, 3, args);
    if (code == dnnl_success) {
        code = dnnl_stream_wait(p->stream);
    }
    return code == dnnl_success ? TLY_OK : fail_dnnl(p->library->host, error, code, "multiplying");
}

static tly_status onednn_run(void *made, const void *a, uint64_t lda, const void *panel, void *c,
                             uint64_t ldc, tly_error *error) {
    product *p = made;
    const int a_as_it_is = as_it_is(&p->src, lda), c_as_it_is = as_it_is(&p->dst, ldc);
    dnnl_status_t code;
    tly_status status;
    if (!a_as_it_is) {
        copy_side(&p->src, writable(a), lda, 1);
    }
    code = dnnl_memory_set_data_handle(p->src.memory, a_as_it_is ? writable(a) : p->src.scratch);
    if (code == dnnl_success) {
        code = dnnl_memory_set_data_handle(p->weights, writable(panel));
    }
    if (code == dnnl_success) {
        code = dnnl_memory_set_data_handle(p->dst.memory, c_as_it_is ? c : p->dst.scratch);
    }
    if (code != dnnl_success) {
        return fail_dnnl(p->library->host, error, code, "setting an address");
    }
    status = execute(p, p->primitive, p->src.memory, p->weights, p->dst.memory, error);
    if (status == TLY_OK && !c_as_it_is) {
        copy_side(&p->dst, c, ldc, 0);
    }
    return status;
}

/* A plain matrix of rows x columns, elements of columns `column_step` and of rows `row_step` apart.
 */
static dnnl_status_t plain_memory_desc(dnnl_memory_desc_t *out, uint64_t rows, uint64_t columns,
                                       uint64_t row_step, uint64_t column_step,
                                       dnnl_data_type_t type) {
    const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    const dnnl_dims_t strides = {(dnnl_dim_t)row_step, (dnnl_dim_t)column_step};
    return dnnl_memory_desc_init_by_strides(out, 2, dims, type, strides);
}

static dnnl_status_t make_plain(product *p, uint64_t lda, uint64_t ldb, uint64_t ldc) {
    const tly_gemm_problem *problem = &p->problem;
    plain_product made = {.lda = lda, .ldb = ldb, .ldc = ldc};
    dnnl_memory_desc_t src, weights, dst;
    const types type = types_of(problem);
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t primitive_desc;
    dnnl_engine_t engine = p->library->engine;
    dnnl_status_t code;
    plain_memory_desc(&src, problem->m, problem->k, lda, 1, type.a);
    plain_memory_desc(&weights, problem->k, problem->n, problem->stored_nk ? 1 : ldb,
                      problem->stored_nk ? ldb : 1, type.b);
    plain_memory_desc(&dst, problem->m, problem->n, ldc, 1, type.c);
    code = dnnl_matmul_desc_init(&desc, &src, &weights, NULL, &dst);
    if (code == dnnl_success) {
        code = dnnl_primitive_desc_create(&primitive_desc, &desc, NULL, engine, NULL);
    }
    if (code != dnnl_success) {
        return code;
    }
    code = dnnl_primitive_create(&made.primitive, primitive_desc);
    dnnl_primitive_desc_destroy(primitive_desc);
    if (code != dnnl_success) {
        return code;
    }
    drop_plain(&p->plain);
    p->plain = made;
    code = dnnl_memory_create(&p->plain.src, &src, engine, DNNL_MEMORY_NONE);
    if (code == dnnl_success) {
        code = dnnl_memory_create(&p->plain.weights, &weights, engine, DNNL_MEMORY_NONE);
    }
    if (code == dnnl_success) {
        code = dnnl_memory_create(&p->plain.dst, &dst, engine, DNNL_MEMORY_NONE);
    }
    if (code != dnnl_success) {
        drop_plain(&p->plain);
    }
    return code;
}

/* The primitive is made for leading dimensions, and kept for the next call with the same. */
static tly_status onednn_plain(void *made, const void *a, uint64_t lda, const void *b, uint64_t ldb,
                               void *c, uint64_t ldc, tly_error *error) {
    product *p = made;
    plain_product *plain = &p->plain;
    dnnl_status_t code = dnnl_success;
    if (plain->primitive == NULL || plain->lda != lda || plain->ldb != ldb || plain->ldc != ldc) {
        code = make_plain(p, lda, ldb, ldc);
    }
    if (code == dnnl_success) {
        code = dnnl_memory_set_data_handle(plain->src, writable(a));
    }
    if (code == dnnl_success) {
        code = dnnl_memory_set_data_handle(plain->weights, writable(b));
    }
    if (code == dnnl_success) {
        code = dnnl_memory_set_data_handle(plain->dst, c);
    }
    if (code != dnnl_success) {
        return fail_dnnl(p->library->host, error, code, "preparing the plain product");
    }
    return execute(p, plain->primitive, plain->src, plain->weights, plain->dst, error);
}

/* oneDNN's reorder from plain weights to those of the plan. */
static tly_status onednn_pack(void *made, const void *b, uint64_t ldb, void *panel,
                              tly_error *error) {
    product *p = made;
    const plan *to = &p->plan;
    const tly_gemm_host *host = p->library->host;
    dnnl_engine_t engine = p->library->engine;
    dnnl_memory_desc_t from = *to->weights;
    dnnl_dims_t strides = {1, 1, 1, 1};
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_memory_t source = NULL, target = NULL;
    dnnl_exec_arg_t args[2];
    dnnl_status_t code;
    strides[to->k_dim] = p->problem.stored_nk ? 1 : (dnnl_dim_t)ldb;
    strides[to->n_dim] = p->problem.stored_nk ? (dnnl_dim_t)ldb : 1;
    code = dnnl_memory_desc_init_by_strides(&from, to->weights->ndims, to->weights->dims,
                                            to->weights->data_type, strides);
    if (code == dnnl_success) {
        code = dnnl_reorder_primitive_desc_create(&desc, &from, engine, to->weights, engine, NULL);
    }
    if (code == dnnl_success) {
        code = dnnl_primitive_create(&reorder, desc);
    }
    if (code == dnnl_success) {
        code = dnnl_memory_create(&source, &from, engine, writable(b));
    }
    if (code == dnnl_success) {
        code = dnnl_memory_create(&target, to->weights, engine, panel);
    }
    if (code == dnnl_success) {
        args[0] = (dnnl_exec_arg_t){DNNL_ARG_FROM, source};
        args[1] = (dnnl_exec_arg_t){DNNL_ARG_TO, target};
        code = dnnl_primitive_execute(reorder, p->stream, 2, args);
    }
    if (code == dnnl_success) {
        code = dnnl_stream_wait(p->stream);
    }
    if (source != NULL) {
        dnnl_memory_destroy(source);
    }
    if (target != NULL) {
        dnnl_memory_destroy(target);
    }
    if (reorder != NULL) {
        dnnl_primitive_destroy(reorder);
    }
    if (desc != NULL) {
        dnnl_primitive_desc_destroy(desc);
    }
    return code == dnnl_success ? TLY_OK : fail_dnnl(host, error, code, "packing the weights");
}

TLY_API const tly_gemm_module *tly_gemm_module_get(void);

const tly_gemm_module *tly_gemm_module_get(void) {
    static const tly_gemm_module module = {
        .abi = TLY_GEMM_MODULE_ABI,
        .size = sizeof(tly_gemm_module),
        .name = "onednn",
        .open = onednn_open,
        .close = onednn_close,
        .query = onednn_query,
        .prepare = onednn_prepare,
        .release = onednn_release,
        .run = onednn_run,
        .plain = onednn_plain,
        .pack = onednn_pack,
    };
    return &module;
}
