/* SPDX-License-Identifier: Apache-2.0 */
/* BLIS as an adapter: its micro-kernel for this processor, with loops of our own around it. BLIS
 * packs the operand that the micro-kernel streams into panels as wide as its register block; the
 * width, the block of K and the kernel come from its context.
 *
 * A micro-kernel is made for C in rows or in columns. Where it is made for rows, B is its right
 * operand (panels of NR). Where it is made for columns, the transposed product is computed, B is
 * its left operand (panels of MR), and C in rows is again what the kernel likes. */
#include <blis.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <tilery/gemm_module.h>

#include "gemm/form.h"

/* The releases whose context and micro-kernels look as this file expects. */
#define MADE_FOR "0.9."

#define ALIGNMENT 64 /* of both packed operands: kernels load them aligned */

typedef struct library {
    const tly_gemm_host *host;
    cntx_t *context; /* BLIS owns it */
} library;

/* What the context says about one element type. */
typedef struct kernel {
    void_fp call;
    int swapped;      /* B is the left operand */
    uint64_t b_width; /* register block along N */
    uint64_t a_width; /* register block along M */
    uint64_t k_block;
} kernel;

typedef struct product {
    const library *library;
    tly_gemm_problem problem;
    kernel kernel;
    num_t type;
    uint64_t panel_stride; /* elements */
    uint64_t len;          /* bytes of an element */
    uint8_t *packed_a;     /* [M / a_width][block of K][a_width] */
    uint64_t packed_a_len;
} product;

static const char *path_of_library(void) {
    Dl_info info;
    union {
        char *(*function)(void);
        void *object;
    } known = {.function = bli_info_get_version_str};
    return dladdr(known.object, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "?";
}

/* Several libraries can stand behind the name libblis.so.4. The accessors of the context are inline
 * functions of the header, so the library must be of the release that the header came with. */
static tly_status blis_open(const tly_gemm_host *host, void **out_library, char *version,
                            tly_error *error) {
    library *opened;
    char text[400];
    if (strncmp(bli_info_get_version_str(), MADE_FOR, strlen(MADE_FOR)) != 0 ||
        bli_info_get_int_type_size() != (gint_t)sizeof(gint_t) * 8) {
        snprintf(text, sizeof text,
                 "%s is BLIS %s with %d-bit integers; this module was made for %s with %d-bit ones",
                 path_of_library(), bli_info_get_version_str(), (int)bli_info_get_int_type_size(),
                 MADE_FOR, (int)sizeof(gint_t) * 8);
        return host->fail(error, TLY_MODULE, "library-version", text);
    }
    opened = host->alloc(host->user, sizeof *opened, _Alignof(library));
    if (opened == NULL) {
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for the adapter");
    }
    bli_init();
    opened->host = host;
    opened->context = bli_gks_query_cntx();
    snprintf(version, TLY_GEMM_VERSION_LEN, "BLIS %s (%s) from %s", bli_info_get_version_str(),
             bli_arch_string(bli_arch_query_id()), path_of_library());
    *out_library = opened;
    return TLY_OK;
}

/* BLIS is not finalised: the program may use it as well. */
static void blis_close(void *opened) {
    library *lib = opened;
    const tly_gemm_host *host = lib->host;
    host->free(host->user, lib, sizeof *lib, _Alignof(library));
}

static tly_status find_kernel(const library *lib, const tly_gemm_problem *p, num_t *out_type,
                              kernel *out, tly_error *error) {
    cntx_t *context = lib->context;
    uint64_t mr, nr;
    num_t type;
    memset(out, 0, sizeof *out);
    if (p->a_dtype == TLY_F32 && p->b_dtype == TLY_F32 && p->c_dtype == TLY_F32) {
        type = BLIS_FLOAT;
    } else if (p->a_dtype == TLY_F64 && p->b_dtype == TLY_F64 && p->c_dtype == TLY_F64) {
        type = BLIS_DOUBLE;
    } else {
        return lib->host->fail(error, TLY_UNSUPPORTED, "element-type",
                               "the BLIS adapter multiplies f32 and f64");
    }
    mr = (uint64_t)bli_cntx_get_blksz_def_dt(type, BLIS_MR, context);
    nr = (uint64_t)bli_cntx_get_blksz_def_dt(type, BLIS_NR, context);
    out->call = bli_cntx_get_l3_vir_ukr_dt(type, BLIS_GEMM_UKR, context);
    out->k_block = (uint64_t)bli_cntx_get_blksz_def_dt(type, BLIS_KC, context);
    out->swapped = !bli_cntx_l3_vir_ukr_prefers_rows_dt(type, BLIS_GEMM_UKR, context);
    out->b_width = out->swapped ? mr : nr;
    out->a_width = out->swapped ? nr : mr;
    /* packmr and packnr: the distance between rows of a packed panel. */
    if ((uint64_t)bli_cntx_get_blksz_max_dt(type, BLIS_MR, context) != mr ||
        (uint64_t)bli_cntx_get_blksz_max_dt(type, BLIS_NR, context) != nr) {
        return lib->host->fail(error, TLY_UNSUPPORTED, "panel-gaps",
                               "BLIS leaves gaps between the rows of its panels on this processor; "
                               "a profile cannot say that");
    }
    *out_type = type;
    return TLY_OK;
}

static tly_gemm_form form_of(const kernel *k) {
    const tly_gemm_form form = {
        .width = (uint32_t)k->b_width, .group = 1, .k_round = 1, .n_round = (uint32_t)k->b_width};
    return form;
}

static tly_status blis_query(void *opened, const tly_gemm_problem *problem,
                             tly_panel_profile *out_profile, tly_error *error) {
    const library *lib = opened;
    kernel k;
    num_t type;
    tly_status status = find_kernel(lib, problem, &type, &k, error);
    if (status == TLY_OK) {
        const tly_gemm_form form = form_of(&k);
        char name[TLY_PANEL_NAME_LEN];
        int major = 0, minor = 0, patch = 0;
        sscanf(bli_info_get_version_str(), "%d.%d.%d", &major, &minor, &patch);
        snprintf(name, sizeof name, "blis/%s", bli_arch_string(bli_arch_query_id()));
        tly_gemm_form_profile(&form, problem, name, (uint32_t)(major * 10000 + minor * 100 + patch),
                              out_profile);
    }
    return status;
}

static void blis_release(void *made) {
    product *p = made;
    const tly_gemm_host *host = p->library->host;
    host->free(host->user, p->packed_a, p->packed_a_len, ALIGNMENT);
    host->free(host->user, p, sizeof *p, _Alignof(product));
}

static tly_status blis_prepare(void *opened, const tly_gemm_problem *problem,
                               const tly_panel_profile *profile, void **out_product,
                               uint32_t *out_alignment, tly_error *error) {
    const library *lib = opened;
    const tly_gemm_host *host = lib->host;
    product made = {.library = lib, .problem = *problem};
    const kernel *k = &made.kernel;
    tly_gemm_form form;
    uint64_t rows;
    product *p;
    tly_status status = find_kernel(lib, problem, &made.type, &made.kernel, error);
    if (status != TLY_OK) {
        return status;
    }
    form = form_of(k);
    if (profile != NULL &&
        (!tly_gemm_form_find(profile, &form) || form.group != 1 || form.width != k->b_width)) {
        char text[160];
        snprintf(text, sizeof text,
                 "the micro-kernel of BLIS reads panels [N/%u][K][N:%u]; this is another layout",
                 (unsigned)k->b_width, (unsigned)k->b_width);
        return host->fail(error, TLY_NO_PANEL, "panel-form", text);
    }
    made.panel_stride = tly_gemm_form_stride(&form, problem->k);
    made.len = problem->a_dtype == TLY_F32 ? 4 : 8;
    rows = (problem->m + k->a_width - 1) / k->a_width * k->a_width;
    made.packed_a_len = rows * (problem->k < k->k_block ? problem->k : k->k_block) * made.len;
    made.packed_a = host->alloc(host->user, made.packed_a_len, ALIGNMENT);
    p = host->alloc(host->user, sizeof *p, _Alignof(product));
    if (p == NULL || made.packed_a == NULL) {
        host->free(host->user, made.packed_a, made.packed_a_len, ALIGNMENT);
        host->free(host->user, p, sizeof *p, _Alignof(product));
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for the scratch of a product");
    }
    *p = made;
    *out_alignment = profile != NULL ? ALIGNMENT : 1;
    *out_product = p;
    return TLY_OK;
}

/* Columns [k, k + depth) of A as panels of a_width rows; rows that do not exist are zero. */
static void pack_a(const product *p, const uint8_t *a, uint64_t lda, uint64_t k, uint64_t depth) {
    const uint64_t width = p->kernel.a_width, len = p->len;
    uint8_t *out = p->packed_a;
    for (uint64_t m = 0; m < p->problem.m; m += width) {
        const uint64_t rows = p->problem.m - m < width ? p->problem.m - m : width;
        if (rows < width) {
            memset(out, 0, depth * width * len);
        }
        tly_gemm_copy((uint32_t)len, depth, rows, a + (m * lda + k) * len, 1, lda, out, width, 1);
        out += depth * width * len;
    }
}

/* One tile of C through the micro-kernel; `b_next` is what it will read after this one. */
static void tile(const product *p, uint64_t rows, uint64_t columns, uint64_t depth, uint8_t *a,
                 uint8_t *b, uint8_t *b_next, uint8_t *c, uint64_t ldc, int first) {
    const int swapped = p->kernel.swapped;
    const dim_t m = (dim_t)(swapped ? columns : rows), n = (dim_t)(swapped ? rows : columns);
    uint8_t *left = swapped ? b : a, *right = swapped ? a : b;
    const inc_t row_step = swapped ? 1 : (inc_t)ldc, column_step = swapped ? (inc_t)ldc : 1;
    auxinfo_t hints;
    memset(&hints, 0, sizeof hints);
    bli_auxinfo_set_next_a(swapped ? b_next : a, &hints);
    bli_auxinfo_set_next_b(swapped ? a : b_next, &hints);
    if (p->len == 4) {
        float one = 1, beta = first ? 0 : 1;
        ((sgemm_ukr_ft)p->kernel.call)(m, n, (dim_t)depth, &one, (float *)left, (float *)right,
                                       &beta, (float *)c, row_step, column_step, &hints,
                                       p->library->context);
    } else {
        double one = 1, beta = first ? 0 : 1;
        ((dgemm_ukr_ft)p->kernel.call)(m, n, (dim_t)depth, &one, (double *)left, (double *)right,
                                       &beta, (double *)c, row_step, column_step, &hints,
                                       p->library->context);
    }
}

/* BLIS takes operands as writable; a micro-kernel only reads them. */
static uint8_t *writable(const void *p) {
    union {
        const void *in;
        uint8_t *out;
    } u = {.in = p};
    return u.out;
}

static tly_status blis_run(void *made, const void *a, uint64_t lda, const void *panel, void *c,
                           uint64_t ldc, tly_error *error) {
    product *p = made;
    const kernel *k = &p->kernel;
    const tly_gemm_problem *problem = &p->problem;
    (void)error;
    for (uint64_t k0 = 0; k0 < problem->k; k0 += k->k_block) {
        const uint64_t depth = problem->k - k0 < k->k_block ? problem->k - k0 : k->k_block;
        pack_a(p, a, lda, k0, depth);
        for (uint64_t n = 0; n < problem->n; n += k->b_width) {
            const uint64_t columns = problem->n - n < k->b_width ? problem->n - n : k->b_width;
            uint8_t *b =
                writable(panel) + (n / k->b_width * p->panel_stride + k0 * k->b_width) * p->len;
            for (uint64_t m = 0; m < problem->m; m += k->a_width) {
                const uint64_t rows = problem->m - m < k->a_width ? problem->m - m : k->a_width;
                const int last = m + rows == problem->m && n + columns < problem->n;
                tile(p, rows, columns, depth, p->packed_a + m * depth * p->len, b,
                     last ? b + p->panel_stride * p->len : b, (uint8_t *)c + (m * ldc + n) * p->len,
                     ldc, k0 == 0);
            }
        }
    }
    return TLY_OK;
}

/* BLIS's ordinary product, without the kernels for small matrices ("sup"): those of release 0.9.0
 * read up to eight bytes behind the end of C, which ends the program where C ends at the end of a
 * page. */
static tly_status blis_plain(void *made, const void *a, uint64_t lda, const void *b, uint64_t ldb,
                             void *c, uint64_t ldc, tly_error *error) {
    product *p = made;
    const dim_t m = (dim_t)p->problem.m, n = (dim_t)p->problem.n, k = (dim_t)p->problem.k;
    const inc_t b_row = p->problem.stored_nk ? 1 : (inc_t)ldb;
    const inc_t b_column = p->problem.stored_nk ? (inc_t)ldb : 1;
    rntm_t runtime;
    (void)error;
    bli_rntm_init_from_global(&runtime);
    bli_rntm_disable_l3_sup(&runtime);
    if (p->len == 4) {
        float one = 1, zero = 0;
        bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, (float *)writable(a),
                     (inc_t)lda, 1, (float *)writable(b), b_row, b_column, &zero, c, (inc_t)ldc, 1,
                     NULL, &runtime);
    } else {
        double one = 1, zero = 0;
        bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, (double *)writable(a),
                     (inc_t)lda, 1, (double *)writable(b), b_row, b_column, &zero, c, (inc_t)ldc, 1,
                     NULL, &runtime);
    }
    return TLY_OK;
}

TLY_API const tly_gemm_module *tly_gemm_module_get(void);

const tly_gemm_module *tly_gemm_module_get(void) {
    static const tly_gemm_module module = {
        .abi = TLY_GEMM_MODULE_ABI,
        .size = sizeof(tly_gemm_module),
        .name = "blis",
        .open = blis_open,
        .close = blis_close,
        .query = blis_query,
        .prepare = blis_prepare,
        .release = blis_release,
        .run = blis_run,
        .plain = blis_plain,
        .pack = NULL,
    };
    return &module;
}
