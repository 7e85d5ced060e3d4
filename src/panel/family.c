/* SPDX-License-Identifier: Apache-2.0 */
#include <tilery/family.h>

#include <dlfcn.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"

#define MAX_FAMILIES 64
#define FIRST_TAG    0xF1u
#define LAST_TAG     0xFEu

struct tly_families {
    const tly_context *context;
    uint32_t num;
    const tly_family *families[MAX_FAMILIES];
};

tly_status tly_families_new(const tly_context *context, tly_families **out_families,
                            tly_error *error) {
    tly_families *f = tly_base_calloc(context, sizeof *f, _Alignof(tly_families));
    *out_families = f;
    if (f == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for layout families");
    }
    f->context = context;
    return TLY_OK;
}

void tly_families_free(tly_families *families) {
    if (families != NULL) {
        tly_base_free(families->context, families, sizeof *families, _Alignof(tly_families));
    }
}

static int is_name(const char *name) {
    size_t len = name != NULL ? strlen(name) : 0;
    return len != 0 && len < 64 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

tly_status tly_families_add(tly_families *families, const tly_family *family, tly_error *error) {
    if (family->abi != TLY_FAMILY_ABI) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "family-abi",
                             "a layout family for interface %u, this is %d", family->abi,
                             TLY_FAMILY_ABI);
    }
    if (!is_name(family->name) || family->tag < FIRST_TAG || family->tag > LAST_TAG ||
        family->write == NULL || family->plan == NULL || family->pack == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "family-fields",
                             "a layout family needs a name of lower case letters, digits and "
                             "hyphens, a tag from 0xF1 to 0xFE, and all its functions");
    }
    for (uint32_t i = 0; i < families->num; i++) {
        const tly_family *other = families->families[i];
        if (strcmp(other->name, family->name) == 0 ||
            (other->tag == family->tag && other->layout_id == family->layout_id)) {
            return tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "family-taken",
                                 "the layout family %s is there already, as %s", family->name,
                                 other->name);
        }
    }
    if (families->num == MAX_FAMILIES) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "max-families",
                             "at most %d layout families are taken", MAX_FAMILIES);
    }
    families->families[families->num++] = family;
    return TLY_OK;
}

/* A name without a slash would be looked for in the folders of the system's libraries. */
static const char *as_path(const char *path, char *buffer, size_t capacity) {
    size_t len = strlen(path);
    if (strchr(path, '/') != NULL || len + 3 > capacity) {
        return path;
    }
    memcpy(buffer, "./", 2);
    memcpy(buffer + 2, path, len + 1);
    return buffer;
}

tly_status tly_families_load(tly_families *families, const char *path, tly_error *error) {
    char buffer[4096], shown[160];
    void *library = dlopen(as_path(path, buffer, sizeof buffer), RTLD_NOW | RTLD_LOCAL);
    tly_family_fn at;
    tly_status status = TLY_OK;
    uint32_t num = 0;
    tly_base_printable(shown, sizeof shown, path, strlen(path));
    if (library == NULL) {
        return tly_base_fail(error, TLY_MODULE, TLY_NO_OFFSET, "family-load",
                             "cannot load the layout family %s: %.200s", shown, dlerror());
    }
    *(void **)&at = dlsym(library, TLY_FAMILY_SYMBOL);
    if (at != NULL) {
        const tly_family *family;
        while (status == TLY_OK && (family = at(num)) != NULL) {
            status = tly_families_add(families, family, error);
            num++;
        }
    }
    if (num == 0) {
        dlclose(library);
        return tly_base_fail(error, TLY_MODULE, TLY_NO_OFFSET, "family-symbol",
                             "%s offers no layout family (%s)", shown, TLY_FAMILY_SYMBOL);
    }
    return status; /* the library stays: its families are in use */
}

const tly_family *tly_families_at(const tly_families *families, uint32_t index) {
    return families != NULL && index < families->num ? families->families[index] : NULL;
}

const tly_family *tly_families_find(const tly_families *families, const char *name, size_t len) {
    const tly_family *family;
    for (uint32_t i = 0; (family = tly_families_at(families, i)) != NULL; i++) {
        if (strlen(family->name) == len && memcmp(family->name, name, len) == 0) {
            return family;
        }
    }
    return NULL;
}
