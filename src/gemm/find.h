/* SPDX-License-Identifier: Apache-2.0 */
/* Which names an adapter's module may have. */
#ifndef TLY_GEMM_FIND_H
#define TLY_GEMM_FIND_H

#include <stddef.h>

/* 1 if `name` can be the name of an adapter: 1 .. TLY_GEMM_NAME_LEN - 1 of a-z, 0-9, - and _. */
int tly_gemm_find_name_ok(const char *name, size_t len);

#endif
