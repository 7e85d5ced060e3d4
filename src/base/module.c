/* SPDX-License-Identifier: Apache-2.0 */
#include "base/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static int beside_executable(char path[TLY_BASE_PATH_LEN]) {
    static const char tail[] = "/modules";
    ssize_t len = readlink("/proc/self/exe", path, TLY_BASE_PATH_LEN);
    while (len > 0 && path[len - 1] != '/') {
        len--;
    }
    if (len <= 1 || (size_t)len - 1 + sizeof tail > TLY_BASE_PATH_LEN) {
        return 0;
    }
    memcpy(path + len - 1, tail, sizeof tail);
    return 1;
}

int tly_base_module_directory(unsigned index, char path[TLY_BASE_PATH_LEN]) {
    const char *at = secure_getenv("TILERY_MODULE_PATH");
    while (at != NULL && *at != '\0') {
        const size_t len = strcspn(at, ":");
        if (len > 0 && len < TLY_BASE_PATH_LEN) {
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
        snprintf(path, TLY_BASE_PATH_LEN, "%s", TLY_MODULE_DIR);
        return 1;
    }
    return 0;
}

/* RTLD_LOCAL keeps the symbols of one library (BLAS!) away from another. */
static tly_status load(const char *path, const char *symbol, tly_base_module_fn *out,
                       tly_error *error) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    union {
        void *object;
        tly_base_module_fn function;
    } found;
    if (handle == NULL) {
        return tly_base_fail(error, TLY_MODULE, TLY_NO_OFFSET, "module-load",
                             "%s does not load: %s", path, dlerror());
    }
    found.object = dlsym(handle, symbol);
    if (found.object == NULL) {
        dlclose(handle);
        return tly_base_fail(error, TLY_MODULE, TLY_NO_OFFSET, "module-symbol",
                             "%s is no module of Tilery: it has no %s", path, symbol);
    }
    *out = found.function;
    return TLY_OK;
}

/* A list of directories for people, cut where it gets long. */
static void append(char *list, size_t capacity, const char *directory) {
    const size_t used = strlen(list);
    const size_t len = strlen(directory);
    const char *between = used != 0 ? ", " : "";
    if (used + len + 8 < capacity) {
        memcpy(list + used, between, strlen(between));
        memcpy(list + used + strlen(between), directory, len + 1);
    } else if (used + 4 < capacity && used != 0 && list[used - 1] != '.') {
        memcpy(list + used, "...", 4);
    }
}

tly_status tly_base_module_load(const char *name, const char *symbol, tly_base_module_fn *out,
                                tly_error *error) {
    char directory[TLY_BASE_PATH_LEN];
    char path[TLY_BASE_PATH_LEN + 256];
    char searched[320] = "";
    for (unsigned i = 0; tly_base_module_directory(i, directory); i++) {
        snprintf(path, sizeof path, "%s/%s.so", directory, name);
        if (access(path, F_OK) == 0) {
            return load(path, symbol, out, error);
        }
        append(searched, sizeof searched, directory);
    }
    return tly_base_fail(error, TLY_MODULE, TLY_NO_OFFSET, "module-missing",
                         "there is no %s.so in %s; TILERY_MODULE_PATH adds directories", name,
                         searched);
}
