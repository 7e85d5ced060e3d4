/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilery/gemm.h>

static int beside_executable(char path[TLY_GEMM_PATH_LEN]) {
    static const char tail[] = "/modules";
    ssize_t len = readlink("/proc/self/exe", path, TLY_GEMM_PATH_LEN);
    while (len > 0 && path[len - 1] != '/') {
        len--;
    }
    if (len <= 1 || (size_t)len - 1 + sizeof tail > TLY_GEMM_PATH_LEN) {
        return 0;
    }
    memcpy(path + len - 1, tail, sizeof tail);
    return 1;
}

int tly_gemm_find_directory(unsigned index, char path[TLY_GEMM_PATH_LEN]) {
    const char *at = secure_getenv("TILERY_MODULE_PATH");
    while (at != NULL && *at != '\0') {
        const size_t len = strcspn(at, ":");
        if (len > 0 && len < TLY_GEMM_PATH_LEN) {
            if (index == 0) {
                memcpy(path, at, len);
                path[len] = '\0';
                return 1;
            }
            index--;
        }
        at += len + (at[len] == ':');
    }
    if (beside_executable(path)) {
        if (index == 0) {
            return 1;
        }
        index--;
    }
    if (index == 0) {
        snprintf(path, TLY_GEMM_PATH_LEN, "%s", TLY_MODULE_DIR);
        return 1;
    }
    return 0;
}

int tly_gemm_find_name_ok(const char *name, size_t len) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    return len >= 1 && len < TLY_GEMM_NAME_LEN && strspn(name, allowed) >= len;
}
