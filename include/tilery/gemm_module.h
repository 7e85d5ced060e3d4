/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_GEMM_MODULE_H
#define TILERY_GEMM_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/gemm.h>

TLY_BEGIN_DECLS

/* What a module with a kernel library implements. tilery-gemm-NAME.so exports one function,
 *
 *     const tly_gemm_module *tly_gemm_module_get(void);
 *
 * A module needs the headers of Tilery, not its library. docs/internals/gemm.md walks through one.
 *
 * Tilery checks every argument before it calls: problems have m, n, k >= 1 and the right size
 * field, leading dimensions reach, profiles are valid and agree with the problem, panels are
 * aligned as asked and long enough. A function that fails fills `error` if it is not NULL. */

#define TLY_GEMM_MODULE_ABI    1
#define TLY_GEMM_MODULE_SYMBOL "tly_gemm_module_get"

/* What Tilery gives to a module: memory from the caller's allocator, and the message of an error.
 * Lives from open to close. Thread-safe. */
typedef struct tly_gemm_host {
    size_t size; /* sizeof(tly_gemm_host) */
    void *user;
    /* NULL when there is none or len is 0; alignment is a power of two. */
    void *(*alloc)(void *user, size_t len, size_t alignment);
    void (*free)(void *user, void *block, size_t len, size_t alignment);
    /* Fills `error` (may be NULL) and returns `status`. */
    tly_status (*fail)(tly_error *error, tly_status status, const char *rule, const char *message);
    int32_t simd; /* tly_simd: the widest level to use; a library with its own choice ignores it */
    uint32_t reserved;
} tly_gemm_host;

typedef struct tly_gemm_module {
    uint32_t abi;  /* TLY_GEMM_MODULE_ABI */
    uint32_t size; /* sizeof(tly_gemm_module) */
    const char *name;

    /* Opens the library. `version` (TLY_GEMM_VERSION_LEN bytes) gets one line for people. */
    tly_status (*open)(const tly_gemm_host *host, void **out_library, char *version,
                       tly_error *error);
    void (*close)(void *library);

    /* Which panel is wanted? Thread-safe. */
    tly_status (*query)(void *library, const tly_gemm_problem *problem,
                        tly_panel_profile *out_profile, tly_error *error);

    /* `profile` NULL: plain products only. `out_alignment` gets the least alignment of a panel in
     * bytes. Thread-safe; the product belongs to one thread. */
    tly_status (*prepare)(void *library, const tly_gemm_problem *problem,
                          const tly_panel_profile *profile, void **out_product,
                          uint32_t *out_alignment, tly_error *error);
    void (*release)(void *product);

    tly_status (*run)(void *product, const void *a, uint64_t lda, const void *panel, void *c,
                      uint64_t ldc, tly_error *error);
    tly_status (*plain)(void *product, const void *a, uint64_t lda, const void *b, uint64_t ldb,
                        void *c, uint64_t ldc, tly_error *error);
    /* The library's own packer; NULL where it has none. */
    tly_status (*pack)(void *product, const void *b, uint64_t ldb, void *panel, tly_error *error);
} tly_gemm_module;

typedef const tly_gemm_module *(*tly_gemm_module_get_fn)(void);

TLY_END_DECLS

#endif
