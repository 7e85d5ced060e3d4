/* SPDX-License-Identifier: Apache-2.0 */
/* libxsmm as an adapter. Its kernels are made at run time for one size, in column-major terms: read
 * so, a panel [K][width] is a matrix of width x K, A is K x M, C is N x M, and C = panel * A needs
 * no rearranging of B at all. libxsmm has no packed layout of its own to ask for; the width is what
 * its kernels are fastest with: three vectors.
 *
 * K is cut into short blocks, so that between two calls the panel can be fetched ahead: the kernels
 * read a panel twice for eight rows, and while they do so the second time memory would be idle. A
 * is copied into blocks of the same depth, which keeps it in few lines of the cache. */
#include <libxsmm.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <tilery/gemm_module.h>

#include "gemm/form.h"

/* Measured: see docs/internals/performance.md. */
#define FEW_ROWS          32
#define SHORT_K_BLOCK     16
#define LONG_K_BLOCK      256
#define PLAIN_K_BLOCK     64
#define PREFETCH_BYTES    8192
#define WIDTH_BYTES_AVX   96
#define WIDTH_BYTES_512   192
#define MAX_WIDTH         1024 /* of panels that are taken */
#define SCRATCH_ALIGNMENT 64

/* f32 or f64: a kernel is called alike. */
typedef libxsmm_xmmfunction kernel;

typedef struct library {
    const tly_gemm_host *host;
    uint32_t width_bytes; /* of the panels that it asks for */
} library;

/* Kernels for one way to run through B: full and last panel, full and last block of K, first block
 * or a later one. Made when the leading dimensions are known, and kept while they stay. */
typedef struct kernels {
    uint64_t width, k_block;
    uint64_t ldb, ldc; /* 0: none made yet */
    kernel made[2][2][2];
} kernels;

typedef struct product {
    const library *library;
    tly_gemm_problem problem;
    uint64_t panel_stride; /* elements */
    uint32_t len;          /* bytes of an element */
    kernels panel, plain;
    uint8_t *packed_a; /* [K / k_block][M][k_block] */
    uint64_t packed_a_len;
    uint8_t *block; /* one block of transposed B, for plain products stored N x K */
    uint64_t block_len;
} product;

static tly_status xsmm_open(const tly_gemm_host *host, void **out_library, char *version,
                            tly_error *error) {
    library *opened;
    libxsmm_init();
    if (libxsmm_get_target_archid() < LIBXSMM_X86_AVX) {
        return host->fail(error, TLY_UNSUPPORTED, "processor",
                          "libxsmm makes kernels for AVX and later only");
    }
    opened = host->alloc(host->user, sizeof *opened, _Alignof(library));
    if (opened == NULL) {
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for the adapter");
    }
    opened->host = host;
    opened->width_bytes =
        libxsmm_get_target_archid() >= LIBXSMM_X86_AVX512 ? WIDTH_BYTES_512 : WIDTH_BYTES_AVX;
    snprintf(version, TLY_GEMM_VERSION_LEN, "libxsmm %s (%s)", LIBXSMM_VERSION,
             libxsmm_get_target_arch());
    *out_library = opened;
    return TLY_OK;
}

/* libxsmm_finalize is left to its own exit handler: another adapter may still be open. */
static void xsmm_close(void *opened) {
    library *lib = opened;
    const tly_gemm_host *host = lib->host;
    host->free(host->user, lib, sizeof *lib, _Alignof(library));
}

static tly_status check_problem(const library *lib, const tly_gemm_problem *p, tly_error *error) {
    const int f32 = p->a_dtype == TLY_F32 && p->b_dtype == TLY_F32 && p->c_dtype == TLY_F32;
    const int f64 = p->a_dtype == TLY_F64 && p->b_dtype == TLY_F64 && p->c_dtype == TLY_F64;
    if (!f32 && !f64) {
        return lib->host->fail(error, TLY_UNSUPPORTED, "element-type",
                               "the libxsmm adapter multiplies f32 and f64");
    }
    if (p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX) {
        return lib->host->fail(error, TLY_UNSUPPORTED, "product-size",
                               "libxsmm counts in 32 bits: this product is too large");
    }
    return TLY_OK;
}

static tly_gemm_form form_of(const library *lib, const tly_gemm_problem *p) {
    const uint32_t width = lib->width_bytes / (tly_dtype_bits(p->b_dtype) / 8);
    const tly_gemm_form form = {.width = width, .group = 1, .k_round = 1, .n_round = width};
    return form;
}

static tly_status xsmm_query(void *opened, const tly_gemm_problem *problem,
                             tly_panel_profile *out_profile, tly_error *error) {
    const library *lib = opened;
    const tly_gemm_form form = form_of(lib, problem);
    char name[TLY_PANEL_NAME_LEN];
    tly_status status = check_problem(lib, problem, error);
    if (status == TLY_OK) {
        snprintf(name, sizeof name, "libxsmm/%s", libxsmm_get_target_arch());
        tly_gemm_form_profile(&form, problem, name,
                              LIBXSMM_VERSION_MAJOR * 10000 + LIBXSMM_VERSION_MINOR * 100 +
                                  LIBXSMM_VERSION_UPDATE,
                              out_profile);
    }
    return status;
}

static void xsmm_release(void *made) {
    product *p = made;
    const tly_gemm_host *host = p->library->host;
    host->free(host->user, p->packed_a, p->packed_a_len, SCRATCH_ALIGNMENT);
    host->free(host->user, p->block, p->block_len, SCRATCH_ALIGNMENT);
    host->free(host->user, p, sizeof *p, _Alignof(product));
}

static tly_status xsmm_prepare(void *opened, const tly_gemm_problem *problem,
                               const tly_panel_profile *profile, void **out_product,
                               uint32_t *out_alignment, tly_error *error) {
    const library *lib = opened;
    const tly_gemm_host *host = lib->host;
    tly_gemm_form form;
    product *p;
    tly_status status = check_problem(lib, problem, error);
    if (status != TLY_OK) {
        return status;
    }
    form = form_of(lib, problem);
    if (profile != NULL &&
        (!tly_gemm_form_find(profile, &form) || form.group != 1 || form.width > MAX_WIDTH)) {
        return host->fail(error, TLY_NO_PANEL, "panel-form",
                          "the libxsmm adapter multiplies from panels [N/w][K][N:w] with w up to "
                          "1024; this is another layout");
    }
    p = host->alloc(host->user, sizeof *p, _Alignof(product));
    if (p == NULL) {
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for a product");
    }
    memset(p, 0, sizeof *p);
    p->library = lib;
    p->problem = *problem;
    p->panel_stride = tly_gemm_form_stride(&form, problem->k);
    p->len = tly_dtype_bits(problem->b_dtype) / 8;
    p->panel.width = form.width;
    p->panel.k_block = problem->m <= FEW_ROWS ? SHORT_K_BLOCK : LONG_K_BLOCK;
    p->plain.width = form_of(lib, problem).width;
    p->plain.k_block = PLAIN_K_BLOCK;
    p->packed_a_len = problem->m * problem->k * p->len;
    p->packed_a = host->alloc(host->user, p->packed_a_len, SCRATCH_ALIGNMENT);
    if (problem->stored_nk) {
        p->block_len = p->plain.width * PLAIN_K_BLOCK * p->len;
        p->block = host->alloc(host->user, p->block_len, SCRATCH_ALIGNMENT);
    }
    if (p->packed_a == NULL || (problem->stored_nk && p->block == NULL)) {
        xsmm_release(p);
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for the scratch of a product");
    }
    *out_alignment = p->len; /* its kernels load unaligned */
    *out_product = p;
    return TLY_OK;
}

/* C (columns x M) = B (columns x depth) * A (depth x M), column-major; rows of A are `a_step`
 * apart. */
static kernel dispatch(const product *p, uint64_t columns, uint64_t depth, uint64_t a_step,
                       uint64_t ldb, uint64_t ldc, int first) {
    const libxsmm_blasint m = (libxsmm_blasint)columns, n = (libxsmm_blasint)p->problem.m;
    const libxsmm_blasint k = (libxsmm_blasint)depth;
    const libxsmm_blasint left_step = (libxsmm_blasint)ldb, right_step = (libxsmm_blasint)a_step;
    const libxsmm_blasint c_step = (libxsmm_blasint)ldc;
    const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    kernel made = {NULL};
    if (p->len == 4) {
        const float one = 1, beta = first ? 0 : 1;
        made.smm = libxsmm_smmdispatch(m, n, k, &left_step, &right_step, &c_step, &one, &beta,
                                       &flags, &prefetch);
    } else {
        const double one = 1, beta = first ? 0 : 1;
        made.dmm = libxsmm_dmmdispatch(m, n, k, &left_step, &right_step, &c_step, &one, &beta,
                                       &flags, &prefetch);
    }
    return made;
}

/* The kernels for rows of B `ldb` apart and rows of C `ldc` apart. */
static tly_status make_kernels(const product *p, kernels *k, uint64_t ldb, uint64_t ldc,
                               tly_error *error) {
    const uint64_t n_last = p->problem.n % k->width, k_last = p->problem.k % k->k_block;
    if (k->ldb == ldb && k->ldc == ldc) {
        return TLY_OK;
    }
    if (ldb > INT_MAX || ldc > INT_MAX) {
        return p->library->host->fail(
            error, TLY_UNSUPPORTED, "product-size",
            "libxsmm counts in 32 bits: a leading dimension is too large");
    }
    k->ldb = 0;
    for (int i = 0; i < 8; i++) {
        const int last_n = i & 1, last_k = i >> 1 & 1, later = i >> 2;
        const uint64_t columns = last_n ? n_last : k->width, depth = last_k ? k_last : k->k_block;
        if (columns == 0 || columns > p->problem.n || depth == 0 || depth > p->problem.k) {
            continue; /* no such block in this product; libxsmm would refuse it */
        }
        k->made[last_n][last_k][later] = dispatch(p, columns, depth, depth, ldb, ldc, !later);
        if (k->made[last_n][last_k][later].xmm == NULL) {
            return p->library->host->fail(error, TLY_UNSUPPORTED, "no-kernel",
                                          "libxsmm made no kernel for a product of this size");
        }
    }
    k->ldb = ldb;
    k->ldc = ldc;
    return TLY_OK;
}

static void call(const product *p, kernel k, const void *b, const void *a, void *c) {
    if (p->len == 4) {
        k.smm(b, a, c);
    } else {
        k.dmm(b, a, c);
    }
}

static void pack_a(const product *p, const uint8_t *a, uint64_t lda, uint64_t k_block) {
    uint8_t *out = p->packed_a;
    for (uint64_t k = 0; k < p->problem.k; k += k_block) {
        const uint64_t depth = p->problem.k - k < k_block ? p->problem.k - k : k_block;
        for (uint64_t m = 0; m < p->problem.m; m++, out += depth * p->len) {
            memcpy(out, a + (m * lda + k) * p->len, depth * p->len);
        }
    }
}

static tly_status xsmm_run(void *made, const void *a, uint64_t lda, const void *panel, void *c,
                           uint64_t ldc, tly_error *error) {
    product *p = made;
    const uint64_t width = p->panel.width, len = p->len, m = p->problem.m;
    const uint64_t k_block = p->panel.k_block;
    const uint64_t ahead = m <= FEW_ROWS ? k_block * width * len : 0;
    tly_status status = make_kernels(p, &p->panel, width, ldc, error);
    if (status != TLY_OK) {
        return status;
    }
    pack_a(p, a, lda, k_block);
    for (uint64_t n = 0; n < p->problem.n; n += width) {
        const uint8_t *b = (const uint8_t *)panel + n / width * p->panel_stride * len;
        for (uint64_t k = 0; k < p->problem.k; k += k_block, b += k_block * width * len) {
            const kernel use =
                p->panel.made[p->problem.n - n < width][p->problem.k - k < k_block][k != 0];
            for (uint64_t line = 0; line < ahead; line += 64) {
                __builtin_prefetch(b + PREFETCH_BYTES + line);
            }
            call(p, use, b, p->packed_a + k * m * len, (uint8_t *)c + n * len);
        }
    }
    return TLY_OK;
}

/* A plain K x N matrix is to the kernels one panel as wide as its rows. One stored N x K is
 * transposed block by block. */
static tly_status xsmm_plain(void *made, const void *a, uint64_t lda, const void *b, uint64_t ldb,
                             void *c, uint64_t ldc, tly_error *error) {
    product *p = made;
    const uint64_t width = p->plain.width, len = p->len, m = p->problem.m;
    const int nk = p->problem.stored_nk;
    tly_status status = make_kernels(p, &p->plain, nk ? width : ldb, ldc, error);
    if (status != TLY_OK) {
        return status;
    }
    pack_a(p, a, lda, PLAIN_K_BLOCK);
    for (uint64_t n = 0; n < p->problem.n; n += width) {
        const uint64_t columns = p->problem.n - n < width ? p->problem.n - n : width;
        for (uint64_t k = 0; k < p->problem.k; k += PLAIN_K_BLOCK) {
            const uint64_t left = p->problem.k - k;
            const kernel use = p->plain.made[columns < width][left < PLAIN_K_BLOCK][k != 0];
            const uint8_t *block = (const uint8_t *)b + (nk ? n * ldb + k : k * ldb + n) * len;
            if (nk) {
                tly_gemm_copy(p->len, left < PLAIN_K_BLOCK ? left : PLAIN_K_BLOCK, columns, block,
                              1, ldb, p->block, width, 1);
                block = p->block;
            }
            call(p, use, block, p->packed_a + k * m * len, (uint8_t *)c + n * len);
        }
    }
    return TLY_OK;
}

TLY_API const tly_gemm_module *tly_gemm_module_get(void);

const tly_gemm_module *tly_gemm_module_get(void) {
    static const tly_gemm_module module = {
        .abi = TLY_GEMM_MODULE_ABI,
        .size = sizeof(tly_gemm_module),
        .name = "libxsmm",
        .open = xsmm_open,
        .close = xsmm_close,
        .query = xsmm_query,
        .prepare = xsmm_prepare,
        .release = xsmm_release,
        .run = xsmm_run,
        .plain = xsmm_plain,
        .pack = NULL,
    };
    return &module;
}
