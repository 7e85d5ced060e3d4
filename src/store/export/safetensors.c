/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: the length of a JSON header, the header, the elements of all tensors without a gap.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tilery/tensor.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/utf8.h"
#include "store/export/elements.h"
#include "store/import/importer.h"
#include "store/import/safetensors_types.h"

#define METADATA   "__metadata__"
#define MAX_HEADER 100000000u /* bytes; what readers take */
#define MAX_ADDED  256        /* bytes added at once */

/* A tensor with what its entry says. */
typedef struct placed {
    const tly_save_tensor *tensor;
    const tly_safetensors_type *type;
    uint64_t count;
    uint64_t begin, end; /* in the data section */
} placed;

typedef struct saver {
    const tly_context *context;
    tly_error *error;
    placed *all; /* in the order given */
    uint32_t *order;
    uint64_t num;
    char *text; /* the header */
    size_t len, capacity;
    int failed; /* no memory for the header */
} saver;

int tly_save_safetensors_carries(tly_dtype dtype, const char **out_reason) {
    int carries = tly_safetensors_type_of(dtype) != NULL;
    if (!carries && out_reason != NULL) {
        *out_reason = dtype == TLY_F4E2M1 || dtype == TLY_F6E2M3 || dtype == TLY_F6E3M2
                          ? "safetensors does not say in which order it packs such elements"
                          : "safetensors has no such element type";
    }
    return carries;
}

static void add_bytes(saver *s, const char *bytes, size_t len) {
    if (len == 0) {
        return;
    }
    if (s->len + len > s->capacity) {
        size_t more = (s->len + len) * 2;
        char *grown = tly_base_grow(s->context, s->text, s->capacity, more, 1);
        if (grown == NULL) {
            s->failed = 1;
            return;
        }
        s->text = grown;
        s->capacity = more;
    }
    memcpy(s->text + s->len, bytes, len);
    s->len += len;
}

__attribute__((format(printf, 2, 3))) static void add(saver *s, const char *format, ...) {
    char text[MAX_ADDED];
    va_list args;
    int len;
    va_start(args, format);
    len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add_bytes(s, text, (size_t)len);
}

/* Text that is UTF-8, in quotes. */
static void add_string(saver *s, const char *text, size_t len) {
    add_bytes(s, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7F) {
            add(s, "\\u%04x", c);
        } else {
            if (c == '"' || c == '\\') {
                add_bytes(s, "\\", 1);
            }
            add_bytes(s, text + i, 1);
        }
    }
    add_bytes(s, "\"", 1);
}

static tly_status check_tensor(saver *s, placed *p) {
    const tly_save_tensor *t = p->tensor;
    char shown[120];
    const char *name = tly_base_printable(shown, sizeof shown, t->name, t->name_len);
    const char *reason = "";
    if (t->name_len == 0 || tly_base_utf8_check(t->name, t->name_len) != t->name_len ||
        (t->name_len == strlen(METADATA) && memcmp(t->name, METADATA, t->name_len) == 0)) {
        return tly_base_fail(s->error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "name",
                             "safetensors cannot have a tensor called \"%s\"", name);
    }
    if (t->layout != TLY_LAYOUT_ROW_MAJOR) {
        return tly_base_fail(s->error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "layout",
                             "\"%s\": safetensors takes row-major tensors", name);
    }
    if (!tly_save_safetensors_carries(t->dtype, &reason)) {
        return tly_base_fail(s->error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "dtype",
                             "\"%s\" has elements of type 0x%02X: %s", name, t->dtype, reason);
    }
    p->type = tly_safetensors_type_of(t->dtype);
    return tly_export_count(t, &p->count, s->error);
}

/* The largest elements first, then as they were given. */
static int by_size(const void *user, uint32_t a, uint32_t b) {
    const placed *all = user;
    if (all[a].type->bits != all[b].type->bits) {
        return all[a].type->bits > all[b].type->bits ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static int by_name(const void *user, uint32_t a, uint32_t b) {
    const placed *all = user;
    const tly_save_tensor *x = all[a].tensor, *y = all[b].tensor;
    size_t common = x->name_len < y->name_len ? x->name_len : y->name_len;
    int order = memcmp(x->name, y->name, common);
    if (order == 0 && x->name_len != y->name_len) {
        order = x->name_len < y->name_len ? -1 : 1;
    }
    return order != 0 ? order : (a > b) - (a < b);
}

static tly_status check_names(saver *s) {
    tly_import_sort(s->order, (size_t)s->num, by_name, s->all);
    for (uint64_t i = 1; i < s->num; i++) {
        const tly_save_tensor *x = s->all[s->order[i - 1]].tensor, *y = s->all[s->order[i]].tensor;
        if (x->name_len == y->name_len && memcmp(x->name, y->name, x->name_len) == 0) {
            char shown[120];
            return tly_base_fail(s->error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "name",
                                 "two tensors are called \"%s\"",
                                 tly_base_printable(shown, sizeof shown, x->name, x->name_len));
        }
    }
    return TLY_OK;
}

static tly_status place_tensors(saver *s, const tly_save_tensor *tensors) {
    uint64_t at = 0;
    tly_status status = TLY_OK;
    for (uint64_t i = 0; i < s->num && status == TLY_OK; i++) {
        s->all[i].tensor = &tensors[i];
        s->order[i] = (uint32_t)i;
        status = check_tensor(s, &s->all[i]);
    }
    status = status == TLY_OK ? check_names(s) : status;
    if (status != TLY_OK) {
        return status;
    }
    tly_import_sort(s->order, (size_t)s->num, by_size, s->all);
    for (uint64_t i = 0; i < s->num; i++) {
        placed *p = &s->all[s->order[i]];
        uint64_t len;
        p->begin = at;
        if (tly_base_mul_u64(p->count, p->type->bits / 8, &len) || tly_base_add_u64(at, len, &at)) {
            return tly_base_fail(s->error, TLY_OVERFLOW, TLY_NO_OFFSET, "size-overflow",
                                 "the size of the tensors does not fit in 64 bits");
        }
        p->end = at;
    }
    return TLY_OK;
}

static void add_metadata(saver *s, const tly_kv *kv, size_t num_kv, uint64_t *out_left_out) {
    size_t num = 0;
    for (size_t i = 0; i < num_kv; i++) {
        if (kv[i].type != TLY_KV_STRING) {
            *out_left_out += 1;
            continue;
        }
        add(s, num++ == 0 ? "\"" METADATA "\":{" : ",");
        add_string(s, kv[i].key, kv[i].key_len);
        add(s, ":");
        add_string(s, kv[i].data, (size_t)kv[i].data_len);
    }
    if (num != 0) {
        add(s, s->num != 0 ? "}," : "}");
    }
}

static void add_entry(saver *s, const placed *p) {
    add_string(s, p->tensor->name, p->tensor->name_len);
    add(s, ":{\"dtype\":\"%s\",\"shape\":[", p->type->name);
    for (uint32_t axis = 0; axis < p->tensor->rank; axis++) {
        add(s, "%s%" PRIu64, axis != 0 ? "," : "", p->tensor->shape[axis]);
    }
    add(s, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", p->begin, p->end);
}

static tly_status make_header(saver *s, const tly_kv *kv, size_t num_kv, uint64_t *out_left_out) {
    add(s, "{");
    add_metadata(s, kv, num_kv, out_left_out);
    for (uint64_t i = 0; i < s->num; i++) {
        add(s, i != 0 ? "," : "");
        add_entry(s, &s->all[s->order[i]]);
    }
    add(s, "}");
    while (s->len % 8 != 0 && !s->failed) {
        add(s, " ");
    }
    if (s->failed) {
        return tly_base_fail(s->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the header");
    }
    if (s->len > MAX_HEADER) {
        return tly_base_fail(s->error, TLY_LIMIT, TLY_NO_OFFSET, "header-len",
                             "the header would have %zu bytes; readers take %u", s->len,
                             MAX_HEADER);
    }
    return TLY_OK;
}

static tly_status write_file(saver *s, const char *path, tly_save_data data, void *user) {
    uint8_t head[8];
    tly_atomic_file *file;
    tly_status status =
        tly_atomic_file_new(s->context, path, &tly_file_system_calls, &file, s->error);
    if (status != TLY_OK) {
        return status;
    }
    tly_base_store_u64(head, s->len);
    status = tly_atomic_file_write(file, head, sizeof head, s->error);
    status = status == TLY_OK ? tly_atomic_file_write(file, s->text, s->len, s->error) : status;
    for (uint64_t i = 0; i < s->num && status == TLY_OK; i++) {
        const placed *p = &s->all[s->order[i]];
        status = tly_export_elements(file, p->tensor, s->order[i], p->count, data, user, s->error);
    }
    status = status == TLY_OK ? tly_atomic_file_commit(file, s->error) : status;
    tly_atomic_file_free(file);
    return status;
}

tly_status tly_save_safetensors(const tly_context *context, const char *path,
                                const tly_save_tensor *tensors, uint64_t num_tensors,
                                const tly_kv *kv, size_t num_kv, tly_save_data data, void *user,
                                uint64_t *out_left_out, tly_error *error) {
    saver s = {.context = context, .error = error, .num = num_tensors};
    uint64_t left_out = 0;
    size_t all_len = (size_t)num_tensors * sizeof *s.all;
    size_t order_len = (size_t)num_tensors * sizeof *s.order;
    tly_status status = TLY_OK;
    if (num_tensors > UINT32_MAX / sizeof *s.all) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "num-tensors", "too many tensors");
    }
    s.all = tly_base_calloc(context, all_len, _Alignof(placed));
    s.order = tly_base_alloc(context, order_len, sizeof *s.order);
    if (num_tensors != 0 && (s.all == NULL || s.order == NULL)) {
        status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                               "no memory for the list of tensors");
    }
    status = status == TLY_OK ? place_tensors(&s, tensors) : status;
    status = status == TLY_OK ? make_header(&s, kv, num_kv, &left_out) : status;
    status = status == TLY_OK ? write_file(&s, path, data, user) : status;
    if (out_left_out != NULL) {
        *out_left_out = left_out;
    }
    tly_base_free(context, s.text, s.capacity, 1);
    tly_base_free(context, s.order, order_len, sizeof *s.order);
    tly_base_free(context, s.all, all_len, _Alignof(placed));
    return status;
}
