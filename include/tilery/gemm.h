/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_GEMM_H
#define TILERY_GEMM_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/dtype.h>
#include <tilery/export.h>
#include <tilery/panel.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* Matrix products on packed panels: C = A * B, where A (M x K) and C (M x N) are plain row-major
 * matrices and B, the large one, lies in the panel layout that the kernel library itself asked for.
 *
 *     open an adapter -> query: which panel does this library want for this product?
 *     fetch B in that layout (the profile travels to the server)
 *     prepare -> accepts: are the bytes of the answer the layout that was asked for?
 *     run: multiply straight from the fetched buffer
 *
 * B, packed or plain, holds little-endian elements, as stored tensors do; A and C are arrays of the
 * host.
 *
 * "own" is Tilery's own kernel and always there. The others stand in modules that are loaded when
 * they are opened: tilery-gemm-NAME.so, looked for in the directories of the environment variable
 * TILERY_MODULE_PATH (separated by colons), then in `modules` beside the executable, then in the
 * directory where Tilery was installed. A module links its library; Tilery itself links none. */

#define TLY_GEMM_NAME_LEN    32
#define TLY_GEMM_VERSION_LEN 128

/* One product. All leading dimensions come later, with the matrices. */
typedef struct tly_gemm_problem {
    size_t size;      /* sizeof(tly_gemm_problem) */
    uint64_t m, n, k; /* any of them may be 0 */
    tly_dtype a_dtype;
    tly_dtype b_dtype; /* of the stored tensor and of the panel */
    tly_dtype c_dtype;
    uint8_t stored_nk; /* 0: B is stored K x N; 1: N x K */
    uint32_t reserved; /* 0 */
} tly_gemm_problem;

/* Which adapters this machine has: "own" first, then the modules found, by name. Immutable, so
 * thread-safe. Nothing is loaded. Errors: OUT_OF_MEMORY. */
typedef struct tly_gemm_list tly_gemm_list;
TLY_API tly_status tly_gemm_list_new(const tly_context *context, tly_gemm_list **out_list,
                                     tly_error *error);
TLY_API void tly_gemm_list_free(tly_gemm_list *list);
TLY_API uint32_t tly_gemm_list_num(const tly_gemm_list *list);
/* Name to open it by, and the file of its module ("" for "own"). They live as long as the list;
 * NULL beyond the end. */
TLY_API const char *tly_gemm_list_name(const tly_gemm_list *list, uint32_t index);
TLY_API const char *tly_gemm_list_path(const tly_gemm_list *list, uint32_t index);

/* A kernel library, opened. Thread-safe. Outlives every product prepared with it; the context
 * outlives both. */
typedef struct tly_gemm_adapter tly_gemm_adapter;

/* Opens an adapter by name; loads its module. Errors: INVALID_ARGUMENT (a name with characters
 * other than a-z, 0-9, - and _), MODULE (not found; does not load; made for another version of this
 * interface: the message names the file and the reason), UNSUPPORTED (the library does not run on
 * this machine), OUT_OF_MEMORY. */
TLY_API tly_status tly_gemm_open(const tly_context *context, const char *name,
                                 tly_gemm_adapter **out_adapter, tly_error *error);
TLY_API void tly_gemm_close(tly_gemm_adapter *adapter);

/* Name of the adapter, and library, version and instruction set that really run, as in
 * "oneDNN 2.6.3 (avx2)". They live as long as the adapter. Thread-safe. */
TLY_API const char *tly_gemm_adapter_name(const tly_gemm_adapter *adapter);
TLY_API const char *tly_gemm_adapter_version(const tly_gemm_adapter *adapter);

/* Asks the library which layout of B it wants for this product. Errors: NO_PANEL (it wants B plain;
 * the message says so and tly_gemm_plain multiplies), UNSUPPORTED (it does not take these element
 * types here), INVALID_ARGUMENT, OUT_OF_MEMORY. Thread-safe. */
TLY_API tly_status tly_gemm_query(const tly_gemm_adapter *adapter, const tly_gemm_problem *problem,
                                  tly_panel_profile *out_profile, tly_error *error);

/* Packs the probe matrices of `profile` (which came from tly_gemm_query for `problem`) by the
 * library's own packer and sets its probe_hash, so that a server can prove that its packer agrees
 * (docs/spec/panel-profile.md, Probing). Leaves the profile alone on failure. Errors: UNSUPPORTED
 * (the library has no packer to call, or packs matrices as small as those of the probe otherwise),
 * OUT_OF_MEMORY, and those of tly_gemm_prepare. Thread-safe. */
TLY_API tly_status tly_gemm_probe(const tly_gemm_adapter *adapter, const tly_gemm_problem *problem,
                                  tly_panel_profile *profile, tly_error *error);

/* A product, ready to run. Holds scratch memory, so single-owner: one thread at a time. */
typedef struct tly_gemm tly_gemm;

/* Prepares a product on panels of `profile`, which need not come from tly_gemm_query of the same
 * adapter, or on plain matrices only (`profile` NULL). Errors: NO_PANEL (this kernel does not
 * multiply from that panel: the message says why), UNSUPPORTED (element types), INVALID_ARGUMENT
 * (profile and problem disagree on element type or axes), OVERFLOW, OUT_OF_MEMORY. */
TLY_API tly_status tly_gemm_prepare(const tly_gemm_adapter *adapter,
                                    const tly_gemm_problem *problem,
                                    const tly_panel_profile *profile, tly_gemm **out_gemm,
                                    tly_error *error);
TLY_API void tly_gemm_free(tly_gemm *gemm);

/* Bytes of the panel of this product (0 for plain only), and the alignment in bytes below which
 * tly_gemm_run refuses it. The profile's own `alignment` is the one to ask the server for. */
TLY_API uint64_t tly_gemm_panel_len(const tly_gemm *gemm);
TLY_API uint32_t tly_gemm_panel_alignment(const tly_gemm *gemm);

/* Is what the server sent what was asked for? `layout_data` is the extension_data of the private
 * layout in the descriptor of the answer. Call it before the first tly_gemm_run on a fetched
 * buffer. Errors: MISMATCH (another layout; the plain product was prepared), and those of
 * tly_panel_decode. Thread-safe. */
TLY_API tly_status tly_gemm_accepts(const tly_gemm *gemm, const void *layout_data, size_t len,
                                    tly_error *error);

/* C = A * B from the panel: nothing of B is copied or rearranged. `a`: M rows of K elements, `lda`
 * elements apart (lda >= K); `c`: M rows of N elements, `ldc` elements apart (ldc >= N),
 * overwritten; elements between N and ldc are left alone. A leading dimension may be anything where
 * there are fewer than two rows. `panel_len` is the bytes that are really there. The operands do
 * not overlap. With K = 0 C becomes zero; with M = 0 or N = 0 nothing happens, and pointers may be
 * NULL. Errors: INVALID_ARGUMENT (leading dimension, alignment, no panel prepared), MISMATCH
 * (panel_len), INTERNAL (the library failed: the message has its code). */
TLY_API tly_status tly_gemm_run(tly_gemm *gemm, const void *a, uint64_t lda, const void *panel,
                                uint64_t panel_len, void *c, uint64_t ldc, tly_error *error);

/* The same product by the library's ordinary call on the plain matrix B: K rows of N elements, or N
 * rows of K where the problem says stored_nk, `ldb` elements apart. For comparison, and for a
 * server that sends B plain. Errors as above; UNSUPPORTED where the library has no such call. */
TLY_API tly_status tly_gemm_plain(tly_gemm *gemm, const void *a, uint64_t lda, const void *b,
                                  uint64_t ldb, void *c, uint64_t ldc, tly_error *error);

/* Packs a plain B by the library's own packer (not Tilery's) into `panel`. Exists to compare the
 * two and to measure. Errors: UNSUPPORTED (the library has no packer to call), and as above. */
TLY_API tly_status tly_gemm_pack(tly_gemm *gemm, const void *b, uint64_t ldb, void *panel,
                                 uint64_t panel_len, tly_error *error);

TLY_END_DECLS

#endif
