/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/layouts.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include <tilery/dtype.h>
#include <tilery/gemm.h>

#include "base/error.h"
#include "cli/json.h"
#include "cli/operand.h"
#include "cli/text.h"

static const struct core_layout {
    uint8_t tag;      /* tly_layout_name has its name */
    const char *also; /* the same in short */
    const char *summary;
} core_layouts[] = {
    {TLY_LAYOUT_ROW_MAJOR, "row-major", "the last index runs fastest"},
    {TLY_LAYOUT_COL_MAJOR, "col-major", "the first index runs fastest"},
    {TLY_LAYOUT_STRIDED, "strided", "row-major, with its strides"},
    {TLY_LAYOUT_TILED, "tiled", "tiles of the last axes"},
    {TLY_LAYOUT_MORTON, "morton", "along a Z-order curve"},
    {TLY_LAYOUT_HILBERT, "hilbert", "along a Hilbert curve"},
    {TLY_LAYOUT_BLOCK_PAGED, "block-paged", "pages of the first axis"},
    {TLY_LAYOUT_COO, "coo", "sparse: coordinates and values"},
    {TLY_LAYOUT_CSR, "csr", "sparse: compressed rows"},
    {TLY_LAYOUT_CSC, "csc", "sparse: compressed columns"},
    {TLY_LAYOUT_CSF, "csf", "sparse: fibres"},
};

#define NUM_CORE  (sizeof core_layouts / sizeof core_layouts[0])
#define NUM_PLAIN 2 /* of these, a tag says everything */

/* Among the first `num`; 0: not there. */
static uint8_t find_core(const char *text, uint32_t num) {
    for (uint32_t i = 0; i < num; i++) {
        if (strcasecmp(text, tly_layout_name(core_layouts[i].tag)) == 0 ||
            strcasecmp(text, core_layouts[i].also) == 0) {
            return core_layouts[i].tag;
        }
    }
    return 0;
}

uint8_t tly_layouts_core_tag(const char *text) {
    return find_core(text, NUM_PLAIN);
}

void tly_layouts_init(tly_layouts *layouts) {
    memset(layouts, 0, sizeof *layouts);
}

int tly_layouts_takes_native(const tly_layouts *layouts) {
    return layouts->native || !layouts->asked;
}

static tly_status add(tly_layouts *layouts, uint8_t tag, const tly_panel_profile *profile,
                      tly_error *error) {
    uint32_t i = layouts->num;
    layouts->asked = 1;
    if (layouts->native) {
        return TLY_OK; /* what stands behind "native" is never reached */
    }
    if (i == TLY_LAYOUTS_MAX) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "usage-layouts",
                             "the layouts asked for come to more than %d entries; name fewer",
                             TLY_LAYOUTS_MAX);
    }
    layouts->entries[i].tag = tag;
    if (profile != NULL) {
        layouts->profiles[i] = *profile;
        layouts->entries[i].profile = &layouts->profiles[i];
    }
    layouts->num++;
    return TLY_OK;
}

/* The panel in every element type that it has. */
static tly_status add_panel(tly_layouts *layouts, const char *name, int transposed,
                            tly_error *error) {
    for (uint32_t tag = 1; tag < 256; tag++) {
        tly_panel_profile profile;
        tly_status status;
        if (tly_dtype_find((tly_dtype)tag) == NULL ||
            tly_panel_by_name(name, (tly_dtype)tag, transposed, &profile, NULL) != TLY_OK) {
            continue;
        }
        status = add(layouts, TLY_PANEL_LAYOUT_TAG, &profile, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static tly_status add_file(tly_layouts *layouts, const char *path, tly_error *error) {
    uint8_t bytes[TLY_PANEL_MAX_LEN + 1];
    char text[96];
    tly_panel_profile profile;
    tly_status status;
    FILE *file = fopen(path, "rbe");
    size_t len;
    int failed;
    tly_base_printable(text, sizeof text, path, strlen(path));
    if (file == NULL) {
        return tly_base_fail_errno(error, errno, "cannot open the profile %s", text);
    }
    len = fread(bytes, 1, sizeof bytes, file);
    failed = ferror(file);
    fclose(file);
    if (failed) {
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot read the profile %s", text);
    }
    status = tly_panel_decode(bytes, len, &profile, error);
    if (status != TLY_OK && error != NULL) {
        tly_error inner = *error;
        return tly_base_fail(error, status, inner.offset, inner.rule, "profile %s: %s", text,
                             inner.message);
    }
    return status == TLY_OK ? add(layouts, TLY_PANEL_LAYOUT_TAG, &profile, error) : status;
}

/* "name" or "name:arguments" of a plug-in. Returns 0 if no plug-in has this name. */
static int add_family(tly_layouts *layouts, const char *text, tly_status *out_status,
                      tly_error *error) {
    size_t len = strcspn(text, ":");
    const tly_family *family = tly_families_find(layouts->families, text, len);
    uint32_t i = layouts->num;
    char why[160] = "", shown[160];
    uint32_t metadata_len;
    if (family == NULL) {
        return 0;
    }
    *out_status = add(layouts, (uint8_t)family->tag, NULL, error);
    if (*out_status != TLY_OK || layouts->num == i) {
        return 1;
    }
    *out_status =
        (tly_status)family->write(text[len] == ':' ? text + len + 1 : "", layouts->metadata[i],
                                  TLY_LAYOUTS_METADATA_LEN, &metadata_len, why, sizeof why);
    if (*out_status != TLY_OK) {
        *out_status = tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-layout",
                                    "layout %s: %s", family->name,
                                    tly_base_printable(shown, sizeof shown, why, strlen(why)));
        return 1;
    }
    layouts->entries[i].family = family;
    layouts->entries[i].metadata = layouts->metadata[i];
    layouts->entries[i].metadata_len = metadata_len;
    return 1;
}

static void nearer(const char *text, const char *name, const char **nearest, uint32_t *least) {
    uint32_t distance = tly_text_distance(text, name);
    if (distance < *least) {
        *least = distance;
        *nearest = name;
    }
}

static tly_status unknown(const char *text, tly_error *error) {
    const char *nearest = NULL, *name;
    uint32_t least = 3;
    char shown[96];
    nearer(text, "native", &nearest, &least);
    for (uint32_t i = 0; i < NUM_CORE; i++) {
        nearer(text, tly_layout_name(core_layouts[i].tag), &nearest, &least);
        nearer(text, core_layouts[i].also, &nearest, &least);
    }
    for (uint32_t i = 0; (name = tly_panel_name(i)) != NULL; i++) {
        nearer(text, name, &nearest, &least);
    }
    tly_base_printable(shown, sizeof shown, text, strlen(text));
    if (nearest != NULL) {
        return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "layout-name",
                             "there is no layout and no file \"%s\"; did you mean \"%s\"?", shown,
                             nearest);
    }
    return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "layout-name",
                         "there is no layout and no file \"%s\"; `tilery get --list-layouts` shows "
                         "the layouts",
                         shown);
}

tly_status tly_layouts_add(tly_layouts *layouts, const char *text, int transposed,
                           tly_error *error) {
    const char *name;
    FILE *file;
    tly_status status;
    if (strcasecmp(text, "native") == 0) {
        layouts->asked = layouts->native = 1;
        return TLY_OK;
    }
    uint8_t core = find_core(text, NUM_CORE);
    if (core != 0) {
        return add(layouts, core, NULL, error);
    }
    for (uint32_t i = 0; (name = tly_panel_name(i)) != NULL; i++) {
        if (strcasecmp(text, name) == 0) {
            return add_panel(layouts, name, transposed, error);
        }
    }
    if (add_family(layouts, text, &status, error)) {
        return status;
    }
    file = fopen(text, "re");
    if (file == NULL && errno == ENOENT) {
        return unknown(text, error);
    }
    if (file != NULL) {
        fclose(file);
    }
    return add_file(layouts, text, error);
}

/* One library's wish. */
static tly_status add_wish(tly_layouts *layouts, const tly_context *context,
                           const tly_gemm_problem *problem, const char *kernel, tly_error *error) {
    tly_panel_profile profile;
    tly_gemm_adapter *adapter;
    tly_status status = tly_gemm_open(context, kernel, &adapter, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_gemm_query(adapter, problem, &profile, error);
    if (status == TLY_OK) {
        /* Where the library has a packer of its own, the server shall prove that its packer agrees.
         */
        status = tly_gemm_probe(adapter, problem, &profile, error);
        status = status == TLY_UNSUPPORTED ? TLY_OK : status;
    }
    tly_gemm_close(adapter);
    return status == TLY_OK ? add(layouts, TLY_PANEL_LAYOUT_TAG, &profile, error) : status;
}

tly_status tly_layouts_add_auto(tly_layouts *layouts, const tly_context *context,
                                const tly_tensor_facts *facts, int stored_nk, uint64_t m,
                                const char *kernel, tly_error *error) {
    tly_gemm_problem problem = {.size = sizeof problem, .m = m, .b_dtype = facts->dtype};
    uint32_t before = layouts->num;
    tly_gemm_list *list;
    tly_status status;
    if (facts->rank != 2 || !tly_operand_types(facts->dtype, &problem.a_dtype, &problem.c_dtype)) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "layout-auto",
                             "--layout auto is for matrices of f32, f64, bf16 or i8; this tensor "
                             "is none");
    }
    layouts->asked = 1;
    problem.n = facts->shape[stored_nk ? 0 : 1];
    problem.k = facts->shape[stored_nk ? 1 : 0];
    problem.stored_nk = (uint8_t)stored_nk;
    if (kernel != NULL) {
        return add_wish(layouts, context, &problem, kernel, error);
    }
    status = tly_gemm_list_new(context, &list, error);
    if (status != TLY_OK) {
        return status;
    }
    for (uint32_t i = 1; i <= tly_gemm_list_num(list) && status != TLY_LIMIT; i++) {
        status = add_wish(layouts, context, &problem,
                          tly_gemm_list_name(list, i % tly_gemm_list_num(list)), error);
    }
    tly_gemm_list_free(list);
    if (status == TLY_LIMIT || layouts->num != before || layouts->native) {
        return status == TLY_LIMIT ? status : TLY_OK;
    }
    return tly_base_fail(error, TLY_NO_PANEL, TLY_NO_OFFSET, "layout-auto",
                         "no kernel library on this machine wants a panel for this product");
}

/* The next name of the list; `position` begins with 0. Returns 0 at the end. */
static int next_name(uint32_t *position, const char **out_name, const char **out_summary) {
    uint32_t i = (*position)++;
    if (i == 0) {
        *out_name = "native";
        *out_summary = "as the server keeps it";
    } else if (i <= NUM_CORE) {
        *out_name = tly_layout_name(core_layouts[i - 1].tag);
        *out_summary = core_layouts[i - 1].summary;
    } else {
        *out_name = tly_panel_name(i - 1 - (uint32_t)NUM_CORE);
        *out_summary = tly_panel_summary(i - 1 - (uint32_t)NUM_CORE);
    }
    return *out_name != NULL;
}

void tly_layouts_print(FILE *out, int as_json) {
    const char *name, *summary;
    uint32_t position = 0;
    tly_json json;
    tly_json_init(&json, out);
    if (as_json) {
        tly_json_array(&json, NULL);
    }
    while (next_name(&position, &name, &summary)) {
        if (as_json) {
            tly_json_object(&json, NULL);
            tly_json_string(&json, "layout", name);
            tly_json_string(&json, "summary", summary);
            tly_json_end_object(&json);
        } else {
            fprintf(out, "%-12s %s\n", name, summary);
        }
    }
    if (as_json) {
        tly_json_end_array(&json);
        tly_json_finish(&json);
    }
}
