/* SPDX-License-Identifier: Apache-2.0 */
/* Which adapters there are: the built-in one and the modules in the search path. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/gemm.h>

#include "base/context.h"
#include "base/error.h"
#include "base/module.h"
#include "gemm/find.h"

#define MAX_ENTRIES 64

typedef struct entry {
    char name[TLY_GEMM_NAME_LEN];
    char path[TLY_BASE_PATH_LEN];
} entry;

struct tly_gemm_list {
    const tly_context *context;
    uint32_t num;
    entry entries[MAX_ENTRIES];
};

static const char prefix[] = "tilery-gemm-";
static const char suffix[] = ".so";

/* Earlier directories win, as they do in tly_gemm_open. */
static void add(tly_gemm_list *list, const char *directory, const char *file) {
    const size_t len = strlen(file);
    const size_t around = sizeof prefix - 1 + sizeof suffix - 1;
    entry *made = &list->entries[list->num];
    if (len <= around || strncmp(file, prefix, sizeof prefix - 1) != 0 ||
        strcmp(file + len - (sizeof suffix - 1), suffix) != 0 ||
        !tly_gemm_find_name_ok(file + sizeof prefix - 1, len - around) ||
        list->num == MAX_ENTRIES) {
        return;
    }
    memcpy(made->name, file + sizeof prefix - 1, len - around);
    made->name[len - around] = '\0';
    for (uint32_t i = 0; i < list->num; i++) {
        if (strcmp(list->entries[i].name, made->name) == 0) {
            return;
        }
    }
    if (snprintf(made->path, sizeof made->path, "%s/%s", directory, file) <
        (int)sizeof made->path) {
        list->num++;
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

tly_status tly_gemm_list_new(const tly_context *context, tly_gemm_list **out_list,
                             tly_error *error) {
    char directory[TLY_BASE_PATH_LEN];
    tly_gemm_list *list;
    *out_list = NULL;
    list = tly_base_calloc(context, sizeof *list, _Alignof(tly_gemm_list));
    if (list == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the list of adapters");
    }
    list->context = context;
    list->num = 1;
    snprintf(list->entries[0].name, sizeof list->entries[0].name, "own");
    for (unsigned i = 0; tly_base_module_directory(i, directory); i++) {
        DIR *open = opendir(directory);
        const struct dirent *item;
        while (open != NULL && (item = readdir(open)) != NULL) {
            add(list, directory, item->d_name);
        }
        if (open != NULL) {
            closedir(open);
        }
    }
    qsort(list->entries + 1, list->num - 1, sizeof list->entries[0], by_name);
    *out_list = list;
    return TLY_OK;
}

void tly_gemm_list_free(tly_gemm_list *list) {
    if (list != NULL) {
        tly_base_free(list->context, list, sizeof *list, _Alignof(tly_gemm_list));
    }
}

uint32_t tly_gemm_list_num(const tly_gemm_list *list) {
    return list->num;
}

const char *tly_gemm_list_name(const tly_gemm_list *list, uint32_t index) {
    return index < list->num ? list->entries[index].name : NULL;
}

const char *tly_gemm_list_path(const tly_gemm_list *list, uint32_t index) {
    return index < list->num ? list->entries[index].path : NULL;
}
