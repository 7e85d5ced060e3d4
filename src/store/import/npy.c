/* SPDX-License-Identifier: Apache-2.0 */
/* npy: a magic number with a version, a Python dictionary as text, and the bytes of one array. */
#include <string.h>

#include <tilery/tensor.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"
#include "store/import/npy.h"
#include "store/import/npy_types.h"

#define FIXED_LEN     8     /* magic number and version */
#define MEMBER_HEADER 65535 /* bytes of a header in an archive, whose packed bytes prove little */

/* What the dictionary says. */
typedef struct header {
    const char *descr; /* in the text */
    size_t descr_len;
    uint64_t descr_offset;
    uint64_t shape[TLY_MAX_RANK];
    uint32_t rank;
    uint8_t fortran;
    uint8_t has_descr, has_fortran, has_shape;
} header;

/* The text being read. It ends in a NUL that is not part of it. */
typedef struct reader {
    const tly_import *import;
    tly_error *error;
    const char *base, *at, *end;
    uint64_t origin; /* offset of `base` in the file */
} reader;

static uint64_t offset_of(const reader *r, const char *at) {
    return r->origin + (uint64_t)(at - r->base);
}

static tly_status syntax(const reader *r, const char *wanted) {
    char shown[16];
    return tly_base_fail(
        r->error, TLY_MALFORMED, offset_of(r, r->at), "npy-header",
        "the header has \"%s\" where %s should be",
        r->at < r->end ? tly_base_printable(shown, sizeof shown, r->at, 1) : "its end", wanted);
}

static void skip_space(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r' ||
                              *r->at == '\f')) {
        r->at++;
    }
}

static int take(reader *r, char c) {
    skip_space(r);
    if (r->at < r->end && *r->at == c) {
        r->at++;
        return 1;
    }
    return 0;
}

static int take_word(reader *r, const char *word) {
    size_t len = strlen(word);
    skip_space(r);
    if ((size_t)(r->end - r->at) >= len && memcmp(r->at, word, len) == 0) {
        r->at += len;
        return 1;
    }
    return 0;
}

/* A string in single or double quotes. Escapes do not occur in what is taken here. */
static tly_status read_string(reader *r, const char **out_text, size_t *out_len) {
    char quote;
    const char *start;
    skip_space(r);
    if (r->at == r->end || (*r->at != '\'' && *r->at != '"')) {
        return syntax(r, "a string");
    }
    quote = *r->at;
    start = r->at + 1;
    r->at = start;
    while (r->at < r->end && *r->at != quote) {
        if (*r->at == '\\' || *r->at == '\n') {
            return syntax(r, "a plain character");
        }
        r->at++;
    }
    if (r->at == r->end) {
        return syntax(r, "the end of a string");
    }
    *out_text = start;
    *out_len = (size_t)(r->at - start);
    r->at++;
    return TLY_OK;
}

/* An element type that is no string: a list of fields (structured), or something else. Steps over
 * it, so that it can be named as a whole; brackets are counted, strings are stepped over. */
static tly_status skip_structured(reader *r) {
    uint32_t depth = 0;
    do {
        skip_space(r);
        if (r->at == r->end) {
            return syntax(r, "the rest of the element type");
        }
        if (*r->at == '\'' || *r->at == '"') {
            const char *text;
            size_t len;
            tly_status status = read_string(r, &text, &len);
            if (status != TLY_OK) {
                return status;
            }
            continue;
        }
        if (*r->at == '[' || *r->at == '(') {
            depth++;
        } else if (*r->at == ']' || *r->at == ')') {
            depth--;
        }
        r->at++;
    } while (depth != 0);
    return TLY_OK;
}

static tly_status read_descr(reader *r, header *h) {
    tly_status status;
    skip_space(r);
    h->descr_offset = offset_of(r, r->at);
    if (r->at < r->end && (*r->at == '[' || *r->at == '(')) {
        h->descr = r->at;
        status = skip_structured(r);
        h->descr_len = (size_t)(r->at - h->descr);
        return status;
    }
    return read_string(r, &h->descr, &h->descr_len);
}

static tly_status read_dim(reader *r, header *h) {
    const char *start = r->at;
    uint64_t value = 0;
    if (h->rank == r->import->options.rank) {
        return tly_base_fail(r->error, TLY_LIMIT, offset_of(r, r->at), "rank",
                             "the array has more than %u axes, the limit", r->import->options.rank);
    }
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*r->at - '0'), &value)) {
            return tly_base_fail(r->error, TLY_OVERFLOW, offset_of(r, start), "shape-overflow",
                                 "an axis of the array does not fit in 64 bits");
        }
        r->at++;
    }
    if (r->at == start) {
        return syntax(r, "an integer that is not negative");
    }
    if (r->at < r->end && *r->at == 'L') { /* a long integer of Python 2 */
        r->at++;
    }
    h->shape[h->rank++] = value;
    return TLY_OK;
}

static tly_status read_shape(reader *r, header *h) {
    if (!take(r, '(')) {
        return syntax(r, "\"(\"");
    }
    for (;;) {
        tly_status status;
        if (take(r, ')')) {
            return TLY_OK;
        }
        status = read_dim(r, h);
        if (status != TLY_OK) {
            return status;
        }
        if (!take(r, ',')) {
            /* "(5)" is an integer in Python, not a tuple. */
            if (h->rank == 1 || !take(r, ')')) {
                return syntax(r, "\",\"");
            }
            return TLY_OK;
        }
        skip_space(r);
    }
}

static tly_status read_fortran(reader *r, header *h) {
    if (take_word(r, "True")) {
        h->fortran = 1;
        return TLY_OK;
    }
    return take_word(r, "False") ? TLY_OK : syntax(r, "True or False");
}

static tly_status read_member(reader *r, header *h) {
    const char *key;
    size_t len;
    uint8_t *seen;
    tly_status status = read_string(r, &key, &len);
    if (status != TLY_OK) {
        return status;
    }
    seen = len == 5 && memcmp(key, "descr", 5) == 0             ? &h->has_descr
           : len == 13 && memcmp(key, "fortran_order", 13) == 0 ? &h->has_fortran
           : len == 5 && memcmp(key, "shape", 5) == 0           ? &h->has_shape
                                                                : NULL;
    if (seen == NULL || *seen) {
        char shown[48];
        return tly_base_fail(
            r->error, TLY_MALFORMED, offset_of(r, key), "npy-key", "the header's key \"%s\" is %s",
            tly_base_printable(shown, sizeof shown, key, len),
            seen == NULL ? "not one of descr, fortran_order and shape" : "there twice");
    }
    *seen = 1;
    if (!take(r, ':')) {
        return syntax(r, "\":\"");
    }
    return seen == &h->has_descr     ? read_descr(r, h)
           : seen == &h->has_fortran ? read_fortran(r, h)
                                     : read_shape(r, h);
}

static tly_status read_dictionary(reader *r, header *h) {
    if (!take(r, '{')) {
        return syntax(r, "\"{\"");
    }
    while (!take(r, '}')) {
        tly_status status = read_member(r, h);
        if (status != TLY_OK) {
            return status;
        }
        if (!take(r, ',')) {
            if (!take(r, '}')) {
                return syntax(r, "\",\" or \"}\"");
            }
            break;
        }
    }
    skip_space(r);
    if (r->at != r->end) {
        return syntax(r, "the end");
    }
    if (!(h->has_descr && h->has_fortran && h->has_shape)) {
        return tly_base_fail(r->error, TLY_MALFORMED, r->origin, "npy-key",
                             "the header must have descr, fortran_order and shape");
    }
    return TLY_OK;
}

/* The row of a descr such as "<f4", or NULL. "=" would be the byte order of whoever wrote the file,
 * which nobody can know; "|" is right only where there is no order. */
static const tly_npy_type *find_row(const header *h, int *out_big_endian) {
    char order = h->descr_len > 0 ? h->descr[0] : '\0';
    const tly_npy_type *row;
    *out_big_endian = order == '>';
    if (order != '<' && order != '>' && order != '|') {
        return NULL;
    }
    row = tly_npy_type_find(h->descr + 1, h->descr_len - 1);
    return row != NULL && (order != '|' || row->unit == 1) ? row : NULL;
}

/* "O" anywhere outside of a structured type means pickled Python objects. */
static tly_status refuse_dtype(tly_import *import, const char *name, const header *h,
                               tly_error *error) {
    char text[200], shown[100];
    const char *why = "";
    const char *reason;
    char kind = h->descr_len >= 2 ? h->descr[1] : '\0';
    tly_status status;
    if (h->descr_len != 0 && (h->descr[0] == '[' || h->descr[0] == '(')) {
        why = ", a structure of fields";
    } else if (kind == 'O') {
        why = ", pickled Python objects";
    } else if (kind == 'U' || kind == 'S' || kind == 'a') {
        why = ", text";
    } else if (kind == 'M' || kind == 'm') {
        why = ", a time";
    } else if (kind == 'V') {
        why = ", raw bytes without a type";
    } else if (h->descr_len != 0 && h->descr[0] == '=') {
        why = ", whose byte order is that of an unknown machine";
    }
    tly_base_printable(shown, sizeof shown, h->descr, h->descr_len);
    memcpy(text, "its element type is \"", 21);
    memcpy(text + 21, shown, strlen(shown));
    text[21 + strlen(shown)] = '"';
    memcpy(text + 22 + strlen(shown), why, strlen(why));
    status = tly_import_text(import, text, 22 + strlen(shown) + strlen(why), h->descr_offset,
                             &reason, error);
    return status == TLY_OK
               ? tly_import_refuse(import, name, h->descr_offset, "dtype", reason, error)
               : status;
}

static tly_status take_array(tly_import *import, const header *h, uint64_t data_start, uint64_t len,
                             const char *name, tly_import_member *member, tly_error *error) {
    tly_import_entry entry = {
        .offset = data_start, .rank = h->rank, .fixed_name = 1, .name = name, .member = member};
    int big_endian;
    const tly_npy_type *row = find_row(h, &big_endian);
    uint64_t count;
    uint64_t *shape;
    tly_status status;
    if (row == NULL) {
        return refuse_dtype(import, name, h, error);
    }
    status = tly_import_count(h->rank, h->shape, data_start, &count, error);
    if (status == TLY_OK) {
        status = tly_import_packed_len(count, row->bytes * 8u, data_start, &entry.extent, error);
    }
    if (status == TLY_OK) {
        status = tly_import_packed_len(count, tly_dtype_bits(row->dtype), data_start,
                                       &entry.byte_len, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (entry.extent != len - data_start) {
        int more = len - data_start > entry.extent;
        return tly_base_fail(
            error, more ? TLY_MALFORMED : TLY_TRUNCATED, more ? data_start + entry.extent : len,
            more ? "trailing-bytes" : "data-len",
            "the array has %llu bytes by its shape, but %llu follow the header",
            (unsigned long long)entry.extent, (unsigned long long)(len - data_start));
    }
    if (member != NULL) {
        member->skip = data_start;
        entry.offset = member->packed_at + (member->method == 0 ? data_start : 0);
    }
    shape = tly_arena_alloc(&import->arena, h->rank * sizeof *shape, sizeof *shape);
    if (shape == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a shape");
    }
    memcpy(shape, h->shape, h->rank * sizeof *shape);
    entry.shape = shape;
    entry.dtype = row->dtype;
    /* One axis has one order. */
    entry.layout = h->fortran && h->rank > 1 ? TLY_LAYOUT_COL_MAJOR : TLY_LAYOUT_ROW_MAJOR;
    entry.coding = row->dtype == TLY_BOOL        ? TLY_CODING_BOOL_BYTES
                   : big_endian && row->unit > 1 ? TLY_CODING_SWAP
                                                 : TLY_CODING_PLAIN;
    entry.unit = row->unit;
    return tly_import_add(import, &entry, error);
}

/* Length of the dictionary: 2 bytes in version 1, 4 in versions 2 and 3. */
static tly_status read_prefix(const tly_import *import, tly_import_pull *pull, uint64_t file_len,
                              uint64_t *out_at, uint64_t *out_len, tly_error *error) {
    uint8_t head[FIXED_LEN + 4] = {0};
    uint32_t len_len;
    uint64_t limit = import->options.header_len;
    tly_status status = tly_import_pull_read(pull, head, FIXED_LEN, error);
    if (status != TLY_OK) {
        return status;
    }
    if (memcmp(head, "\223NUMPY", 6) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, 0, "npy-magic",
                             "the array does not begin with the magic number of npy");
    }
    if (head[6] < 1 || head[6] > 3 || head[7] != 0) {
        return tly_base_fail(error, TLY_UNSUPPORTED, 6, "npy-version",
                             "version %u.%u of npy is not known; 1.0, 2.0 and 3.0 are", head[6],
                             head[7]);
    }
    len_len = head[6] == 1 ? 2 : 4;
    status = tly_import_pull_read(pull, head + FIXED_LEN, len_len, error);
    if (status != TLY_OK) {
        return status;
    }
    limit = pull->member != NULL && limit > MEMBER_HEADER ? MEMBER_HEADER : limit;
    *out_at = FIXED_LEN + len_len;
    *out_len = tly_base_load_u32(head + FIXED_LEN); /* the bytes behind 2 are 0 */
    if (*out_len > limit) {
        return tly_base_fail(error, TLY_LIMIT, FIXED_LEN, "header-len",
                             "the header has %llu bytes, the limit is %llu",
                             (unsigned long long)*out_len, (unsigned long long)limit);
    }
    if (*out_len > file_len - *out_at) {
        return tly_base_fail(error, TLY_TRUNCATED, FIXED_LEN, "header-len",
                             "the header has %llu bytes, but only %llu follow",
                             (unsigned long long)*out_len,
                             (unsigned long long)(file_len - *out_at));
    }
    return TLY_OK;
}

tly_status tly_import_npy_array(tly_import *import, tly_import_pull *pull, uint64_t len,
                                const char *name, tly_import_member *member, tly_error *error) {
    reader r = {.import = import, .error = error};
    header h = {0};
    uint64_t at = 0, text_len = 0;
    char *text;
    tly_status status = read_prefix(import, pull, len, &at, &text_len, error);
    if (status != TLY_OK) {
        return status;
    }
    text = tly_base_alloc(import->context, (size_t)text_len + 1, 1);
    if (text == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the header");
    }
    status = tly_import_pull_read(pull, text, (size_t)text_len, error);
    if (status == TLY_OK) {
        text[text_len] = '\0';
        r.base = r.at = text;
        r.end = text + text_len;
        r.origin = at;
        status = read_dictionary(&r, &h);
    }
    if (status == TLY_OK) {
        status = take_array(import, &h, at + text_len, len, name, member, error);
    }
    tly_base_free(import->context, text, (size_t)text_len + 1, 1);
    return status;
}

tly_status tly_import_read_npy(tly_import *import, tly_error *error) {
    tly_import_pull pull;
    const char *name;
    tly_status status = tly_import_stem(import, ".npy", &name, error);
    if (status == TLY_OK) {
        status = tly_import_pull_init(&pull, import->context, &import->files[0], NULL, 0, error);
    }
    return status == TLY_OK
               ? tly_import_npy_array(import, &pull, import->files[0].len, name, NULL, error)
               : status;
}
