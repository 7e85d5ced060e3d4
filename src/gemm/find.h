/* SPDX-License-Identifier: Apache-2.0 */
/* Where modules stand: the directories of TILERY_MODULE_PATH, `modules` beside the executable, the
 * directory of the installation. */
#ifndef TLY_GEMM_FIND_H
#define TLY_GEMM_FIND_H

#include <stddef.h>

#define TLY_GEMM_PATH_LEN 4096 /* with the final NUL */

/* Directory `index` of the search, in order. 1 and the path, or 0 beyond the last. Directories
 * whose path is empty or too long are passed over. Not thread-safe against setenv, like getenv. */
int tly_gemm_find_directory(unsigned index, char path[TLY_GEMM_PATH_LEN]);

/* 1 if `name` can be the name of an adapter: 1 .. TLY_GEMM_NAME_LEN - 1 of a-z, 0-9, - and _. */
int tly_gemm_find_name_ok(const char *name, size_t len);

#endif
