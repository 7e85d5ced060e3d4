/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm/find.h"

#include <string.h>

#include <tilery/gemm.h>

int tly_gemm_find_name_ok(const char *name, size_t len) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    return len >= 1 && len < TLY_GEMM_NAME_LEN && strspn(name, allowed) >= len;
}
