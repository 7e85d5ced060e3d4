/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF, versions 2 and 3, little- and big-endian: metadata, a table of tensors, and their data, one
 * behind the other on an alignment. */
#include "store/import/gguf.h"

#include <string.h>

#include <tilery/tensor.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "store/import/gguf_blocks.h"

#define DEFAULT_ALIGNMENT 32
#define MAX_DIMS          4
#define MIN_KV_LEN        13 /* bytes: an empty key, a type, one byte */
#define MIN_TENSOR_LEN    24 /* bytes: an empty name, no axis, type, offset */

/* Types of the format: so many bytes hold so many elements. */
static const struct row {
    const char *name;
    uint16_t elements;
    uint16_t bytes;
    tly_dtype dtype; /* 0: blocks (gguf_blocks.h) */
} rows[] = {
    [0] = {"F32", 1, 4, TLY_F32},   [1] = {"F16", 1, 2, TLY_F16},    [2] = {"Q4_0", 32, 18, 0},
    [3] = {"Q4_1", 32, 20, 0},      [6] = {"Q5_0", 32, 22, 0},       [7] = {"Q5_1", 32, 24, 0},
    [8] = {"Q8_0", 32, 34, 0},      [9] = {"Q8_1", 32, 36, 0},       [10] = {"Q2_K", 256, 84, 0},
    [11] = {"Q3_K", 256, 110, 0},   [12] = {"Q4_K", 256, 144, 0},    [13] = {"Q5_K", 256, 176, 0},
    [14] = {"Q6_K", 256, 210, 0},   [15] = {"Q8_K", 256, 292, 0},    [16] = {"IQ2_XXS", 256, 66, 0},
    [17] = {"IQ2_XS", 256, 74, 0},  [18] = {"IQ3_XXS", 256, 98, 0},  [19] = {"IQ1_S", 256, 50, 0},
    [20] = {"IQ4_NL", 32, 18, 0},   [21] = {"IQ3_S", 256, 110, 0},   [22] = {"IQ2_S", 256, 82, 0},
    [23] = {"IQ4_XS", 256, 136, 0}, [24] = {"I8", 1, 1, TLY_I8},     [25] = {"I16", 1, 2, TLY_I16},
    [26] = {"I32", 1, 4, TLY_I32},  [27] = {"I64", 1, 8, TLY_I64},   [28] = {"F64", 1, 8, TLY_F64},
    [29] = {"IQ1_M", 256, 56, 0},   [30] = {"BF16", 1, 2, TLY_BF16}, [34] = {"TQ1_0", 256, 54, 0},
    [35] = {"TQ2_0", 256, 66, 0},   [39] = {"MXFP4", 32, 17, 0},
};

/* A row of the table of tensors. */
typedef struct declared {
    tly_gguf_string name;
    uint64_t shape[MAX_DIMS]; /* slowest axis first; the file has the fastest first */
    uint64_t offset;          /* in the data section */
    uint64_t at;              /* of the row */
    uint32_t rank;
    uint32_t type;
} declared;

/* Where the data section is, and how much of it the tensors so far have used. */
typedef struct section {
    uint64_t start;
    uint64_t used;
    int sure; /* no tensor of unknown size yet */
} section;

tly_status tly_gguf_int(tly_gguf *g, uint32_t width, uint64_t *out_value) {
    const uint8_t *p;
    uint64_t value = 0;
    tly_status status = tly_window_load(&g->window, g->at, width, &p);
    if (status != TLY_OK) {
        return status;
    }
    for (uint32_t i = 0; i < width; i++) {
        value |= (uint64_t)p[i] << 8 * (g->big_endian ? width - 1 - i : i);
    }
    g->at += width;
    *out_value = value;
    return TLY_OK;
}

tly_status tly_gguf_skip_string(tly_gguf *g, tly_gguf_string *out_string) {
    uint64_t start = g->at;
    tly_status status = tly_gguf_int(g, 8, &out_string->len);
    if (status == TLY_OK && out_string->len > g->import->files[0].len - g->at) {
        return tly_base_fail(g->error, TLY_TRUNCATED, start, "gguf-length",
                             "a string has %llu bytes, but only %llu follow",
                             (unsigned long long)out_string->len,
                             (unsigned long long)(g->import->files[0].len - g->at));
    }
    out_string->at = g->at;
    g->at += status == TLY_OK ? out_string->len : 0;
    return status;
}

tly_status tly_gguf_name(tly_gguf *g, const tly_gguf_string *string, const char **out_name) {
    char *copy;
    tly_status status;
    if (string->len > g->import->options.name_len) {
        return tly_base_fail(g->error, TLY_LIMIT, string->at, "name-len",
                             "a name has %llu bytes, the limit is %u",
                             (unsigned long long)string->len, g->import->options.name_len);
    }
    copy = tly_base_alloc(g->import->context, (size_t)string->len + 1, 1);
    if (copy == NULL) {
        return tly_base_fail(g->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a name");
    }
    status = tly_window_copy(&g->window, string->at, copy, string->len);
    if (status == TLY_OK) {
        status = tly_import_name(g->import, copy, string->len, string->at, out_name, g->error);
    }
    tly_base_free(g->import->context, copy, (size_t)string->len + 1, 1);
    return status;
}

static tly_status read_row(tly_gguf *g, declared *d) {
    uint64_t value, start;
    tly_status status;
    d->at = g->at;
    status = tly_gguf_skip_string(g, &d->name);
    start = g->at;
    if (status == TLY_OK) {
        status = tly_gguf_int(g, 4, &value);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (value > MAX_DIMS || value > g->import->options.rank) {
        return tly_base_fail(g->error, TLY_LIMIT, start, "rank",
                             "a tensor has %llu axes; GGUF has at most %u, and the limit is %u",
                             (unsigned long long)value, MAX_DIMS, g->import->options.rank);
    }
    d->rank = (uint32_t)value;
    for (uint32_t axis = d->rank; axis-- > 0 && status == TLY_OK;) {
        start = g->at;
        status = tly_gguf_int(g, 8, &d->shape[axis]);
        if (status == TLY_OK && d->shape[axis] > INT64_MAX) {
            return tly_base_fail(g->error, TLY_MALFORMED, start, "negative-dim",
                                 "axis %u of a tensor has a negative size", axis);
        }
    }
    status = status == TLY_OK ? tly_gguf_int(g, 4, &value) : status;
    d->type = (uint32_t)value;
    return status == TLY_OK ? tly_gguf_int(g, 8, &d->offset) : status;
}

static const struct row *find_row(uint32_t type) {
    return type < sizeof rows / sizeof rows[0] && rows[type].name != NULL ? &rows[type] : NULL;
}

/* Bytes of a tensor whose type is known. */
static tly_status find_len(tly_gguf *g, const declared *d, const struct row *row,
                           uint64_t *out_len) {
    uint64_t count;
    tly_status status = tly_import_count(d->rank, d->shape, d->at, &count, g->error);
    if (status != TLY_OK) {
        return status;
    }
    if (row->elements > 1 && (d->rank == 0 || d->shape[d->rank - 1] % row->elements != 0)) {
        return tly_base_fail(g->error, TLY_MALFORMED, d->at, "gguf-block",
                             "the rows of a tensor of type %s are not whole blocks of %u",
                             row->name, row->elements);
    }
    if (tly_base_mul_u64(count / row->elements, row->bytes, out_len)) {
        return tly_base_fail(g->error, TLY_OVERFLOW, d->at, "size-overflow",
                             "the size of a tensor does not fit in 64 bits");
    }
    return TLY_OK;
}

/* Tensors stand in the order of the table, each on the alignment, with nothing but padding between.
 */
static tly_status place(tly_gguf *g, const declared *d, section *s, uint64_t len) {
    uint64_t expected, begin, end;
    if (tly_base_round_up_u64(s->used, g->alignment, &expected) ||
        tly_base_add_u64(s->start, d->offset, &begin) || tly_base_add_u64(begin, len, &end)) {
        return tly_base_fail(g->error, TLY_OVERFLOW, d->at, "gguf-offset",
                             "the place of a tensor does not fit in 64 bits");
    }
    if (d->offset % g->alignment != 0 || d->offset < expected ||
        (s->sure && d->offset != expected)) {
        return tly_base_fail(g->error, TLY_MALFORMED, d->at, "gguf-offset",
                             "a tensor lies at %llu of the data, expected %llu",
                             (unsigned long long)d->offset, (unsigned long long)expected);
    }
    if (len != 0 && end > g->import->files[0].len) {
        return tly_base_fail(g->error, TLY_TRUNCATED, d->at, "gguf-data",
                             "a tensor ends at byte %llu, but the file has %llu",
                             (unsigned long long)end, (unsigned long long)g->import->files[0].len);
    }
    s->used = d->offset + len;
    return TLY_OK;
}

/* "its elements are blocks of type Q4_1, ...", kept with the import. */
static tly_status refuse_type(tly_gguf *g, const declared *d, const char *name,
                              const struct row *row) {
    static const char text[] = "its elements are blocks of type ";
    static const char why[] = ", which no quantization of a tensor can describe";
    char copy[128];
    const char *reason = "its type is newer than this importer";
    if (row != NULL) {
        size_t len = strlen(row->name);
        tly_status status;
        memcpy(copy, text, sizeof text - 1);
        memcpy(copy + sizeof text - 1, row->name, len);
        memcpy(copy + sizeof text - 1 + len, why, sizeof why - 1);
        len += sizeof text - 1 + sizeof why - 1;
        status = tly_import_text(g->import, copy, len, d->at, &reason, g->error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return tly_import_refuse(g->import, name, d->at, "dtype", reason, g->error);
}

static tly_status take_tensor(tly_gguf *g, const declared *d, section *s) {
    const struct row *row = find_row(d->type);
    tly_import_entry entry = {
        .rank = d->rank, .layout = TLY_LAYOUT_ROW_MAJOR, .fixed_name = 1, .name = NULL};
    uint64_t len = 0;
    uint64_t *shape;
    tly_status status;
    if (d->name.len == 0) {
        return tly_base_fail(g->error, TLY_MALFORMED, d->at, "empty-name",
                             "a tensor has an empty name");
    }
    status = tly_gguf_name(g, &d->name, &entry.name);
    if (status == TLY_OK && row != NULL) {
        status = find_len(g, d, row, &len);
    }
    if (status == TLY_OK) {
        status = place(g, d, s, len);
    }
    s->sure &= row != NULL;
    if (status != TLY_OK || row == NULL ||
        (row->dtype == 0 && (!tly_gguf_blocks_known(d->type) || len == 0))) {
        return status != TLY_OK ? status : refuse_type(g, d, entry.name, row);
    }
    shape = tly_arena_alloc(&g->import->arena, d->rank * sizeof *shape, sizeof *shape);
    if (shape == NULL) {
        return tly_base_fail(g->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a shape");
    }
    memcpy(shape, d->shape, d->rank * sizeof *shape);
    entry.shape = shape;
    entry.dtype = row->dtype;
    entry.offset = s->start + d->offset;
    entry.extent = entry.byte_len = len;
    entry.unit = (uint8_t)row->bytes;
    entry.coding = g->big_endian && row->bytes > 1 ? TLY_CODING_SWAP : TLY_CODING_PLAIN;
    if (row->dtype == 0) {
        entry.block_type = (uint8_t)d->type;
        entry.big_endian = (uint8_t)g->big_endian;
        status = tly_gguf_blocks_entry(g->import, &entry, g->error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return tly_import_add(g->import, &entry, g->error);
}

/* The data begin behind the table, so the table is read once to find its end, and once for the
 * tensors. */
static tly_status read_tensors(tly_gguf *g, uint64_t num) {
    uint64_t table = g->at, end;
    const uint64_t file_len = g->import->files[0].len;
    section s = {0, 0, 1};
    tly_status status = TLY_OK;
    declared d;
    for (uint64_t i = 0; i < num && status == TLY_OK; i++) {
        status = read_row(g, &d);
    }
    if (status != TLY_OK || num == 0) {
        return status;
    }
    if (tly_base_round_up_u64(g->at, g->alignment, &s.start)) {
        return tly_base_fail(g->error, TLY_OVERFLOW, g->at, "gguf-offset",
                             "the data begin beyond 64 bits");
    }
    g->at = table;
    for (uint64_t i = 0; i < num && status == TLY_OK; i++) {
        status = read_row(g, &d);
        if (status == TLY_OK) {
            status = take_tensor(g, &d, &s);
        }
    }
    if (status == TLY_OK && s.sure &&
        !tly_base_round_up_u64(s.start + s.used, g->alignment, &end) && file_len > end) {
        return tly_base_fail(g->error, TLY_MALFORMED, end, "trailing-bytes",
                             "%llu bytes behind the last tensor belong to none",
                             (unsigned long long)(file_len - end));
    }
    return status;
}

static tly_status read_version(tly_gguf *g) {
    uint8_t head[8];
    uint32_t version;
    tly_status status = tly_window_copy(&g->window, 0, head, sizeof head);
    if (status != TLY_OK) {
        return status;
    }
    if (memcmp(head, "GGUF", 4) != 0) {
        return tly_base_fail(g->error, TLY_MALFORMED, 0, "gguf-magic",
                             "the file does not begin with \"GGUF\"");
    }
    version = tly_base_load_u32(head + 4);
    if (version != 0 && (version & 0xFFFF) == 0) {
        g->big_endian = 1;
        version = __builtin_bswap32(version);
    }
    if (version < 2 || version > 3) {
        return tly_base_fail(g->error, TLY_UNSUPPORTED, 4, "gguf-version",
                             "version %u of GGUF is not known; 2 and 3 are", version);
    }
    g->at = sizeof head;
    return TLY_OK;
}

static tly_status check_count(tly_gguf *g, uint64_t num, uint64_t min_len, const char *what) {
    uint64_t left = g->import->files[0].len - g->at;
    if (num > left / min_len) {
        return tly_base_fail(g->error, TLY_TRUNCATED, g->at, "gguf-count",
                             "the file announces %llu %s, but only %llu bytes follow",
                             (unsigned long long)num, what, (unsigned long long)left);
    }
    return TLY_OK;
}

static tly_status read_file(tly_gguf *g) {
    uint64_t num_tensors = 0, num_kv = 0;
    tly_status status = read_version(g);
    status = status == TLY_OK ? tly_gguf_int(g, 8, &num_tensors) : status;
    status = status == TLY_OK ? tly_gguf_int(g, 8, &num_kv) : status;
    status = status == TLY_OK ? check_count(g, num_kv, MIN_KV_LEN, "entries of metadata") : status;
    for (uint64_t i = 0; i < num_kv && status == TLY_OK; i++) {
        status = tly_gguf_read_kv(g);
    }
    status = status == TLY_OK ? check_count(g, num_tensors, MIN_TENSOR_LEN, "tensors") : status;
    return status == TLY_OK ? read_tensors(g, num_tensors) : status;
}

tly_status tly_import_read_gguf(tly_import *import, tly_error *error) {
    tly_gguf g = {.import = import, .error = error, .alignment = DEFAULT_ALIGNMENT};
    tly_status status = tly_window_init(&g.window, import->context, &import->files[0], error);
    if (status == TLY_OK) {
        status = read_file(&g);
        tly_window_cleanup(&g.window);
    }
    return status;
}
