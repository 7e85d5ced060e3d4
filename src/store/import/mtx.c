/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix Market: a banner, comments, a line of sizes, and one entry a line. All of it is text, so
 * opening reads the whole file and keeps the matrix: entries by coordinates as sorted COO, arrays
 * in the order of columns that they have in the file. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/tensor.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/text.h"
#include "store/import/importer.h"
#include "store/import/window.h"

#define MAX_TOKEN 1100 /* bytes: more digits than any number needs */
#define BANNER    "%%MatrixMarket"

typedef enum field {
    FIELD_REAL,
    FIELD_INTEGER,
    FIELD_UNSIGNED,
    FIELD_COMPLEX,
    FIELD_PATTERN
} field;
typedef enum symmetry { GENERAL, SYMMETRIC, SKEW, HERMITIAN } symmetry;

/* What the words of a banner can be. */
typedef struct word {
    const char *text;
    uint8_t value;
} word;

static const word objects[] = {{"matrix", 2}, {"vector", 1}};
static const word formats[] = {{"coordinate", 1}, {"array", 0}};
static const word fields[] = {{"real", FIELD_REAL},       {"double", FIELD_REAL},
                              {"integer", FIELD_INTEGER}, {"unsigned-integer", FIELD_UNSIGNED},
                              {"complex", FIELD_COMPLEX}, {"pattern", FIELD_PATTERN}};
static const word symmetries[] = {{"general", GENERAL},
                                  {"symmetric", SYMMETRIC},
                                  {"skew-symmetric", SKEW},
                                  {"hermitian", HERMITIAN}};

/* Per kind of value: element type, and 64-bit words of a value. */
static const struct {
    tly_dtype dtype;
    uint8_t words;
} kinds[] = {[FIELD_REAL] = {TLY_F64, 1},
             [FIELD_INTEGER] = {TLY_I64, 1},
             [FIELD_UNSIGNED] = {TLY_U64, 1},
             [FIELD_COMPLEX] = {TLY_C128, 2},
             [FIELD_PATTERN] = {TLY_BOOL, 0}};

typedef struct item {
    uint64_t place[2]; /* row and column, from 0 */
    uint64_t value[2]; /* bits */
} item;

typedef struct mtx {
    tly_import *import;
    tly_error *error;
    tly_window window;
    uint64_t at; /* next byte */
    const uint8_t *have;
    uint64_t have_len;
    locale_t plain; /* numbers with a point, whatever the program's locale */
    uint8_t rank, coordinate, field, symmetry;
    uint64_t extent[2]; /* rows, columns (1 for a vector) */
    uint64_t count;     /* entries in the file */
    item *items;
    size_t num_items, cap_items;
    char token[MAX_TOKEN + 1];
    size_t token_len; /* 0: the line is at its end */
    uint64_t token_at;
} mtx;

/* The next byte, or -1 at the end of the file; -2: `*out_status` says why there is none. */
static int peek(mtx *m, tly_status *out_status) {
    if (m->have_len == 0) {
        if (m->at >= m->window.file->len) {
            return -1;
        }
        *out_status = tly_window_peek(&m->window, m->at, UINT64_MAX, &m->have, &m->have_len);
        if (*out_status != TLY_OK) {
            return -2;
        }
    }
    return *m->have;
}

static void step(mtx *m) {
    m->have++;
    m->have_len--;
    m->at++;
}

static int is_blank(int c) {
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

/* Lines end as they do on any system; "\r\n" is one end and an empty line, which does not count. */
static int is_end(int c) {
    return c == '\n' || c == '\r';
}

/* The next word of this line. */
static tly_status next_token(mtx *m) {
    tly_status status = TLY_OK;
    int c = peek(m, &status);
    while (is_blank(c)) {
        step(m);
        c = peek(m, &status);
    }
    m->token_at = m->at;
    m->token_len = 0;
    while (c >= 0 && !is_blank(c) && !is_end(c)) {
        if (m->token_len == MAX_TOKEN) {
            return tly_base_fail(m->error, TLY_LIMIT, m->token_at, "mtx-token",
                                 "a word of more than %d bytes", MAX_TOKEN);
        }
        m->token[m->token_len++] = (char)c;
        step(m);
        c = peek(m, &status);
    }
    m->token[m->token_len] = '\0';
    return status;
}

static tly_status wrong_token(const mtx *m, const char *rule, const char *wanted) {
    char shown[80];
    return tly_base_fail(m->error, m->token_len != 0 ? TLY_MALFORMED : TLY_TRUNCATED, m->token_at,
                         rule, "there is %s%s%s where %s should be", m->token_len != 0 ? "\"" : "",
                         m->token_len != 0
                             ? tly_base_printable(shown, sizeof shown, m->token, m->token_len)
                             : "nothing",
                         m->token_len != 0 ? "\"" : "", wanted);
}

/* Goes behind the end of this line, which may have nothing more. */
static tly_status end_line(mtx *m) {
    tly_status status = next_token(m);
    int c;
    if (status != TLY_OK) {
        return status;
    }
    if (m->token_len != 0) {
        return wrong_token(m, "mtx-line", "the end of the line");
    }
    c = peek(m, &status);
    if (is_end(c)) {
        step(m);
    }
    return status;
}

/* Goes to the first word of the next line that has any, over comments if there may be some here. */
static tly_status next_line(mtx *m, int comments) {
    for (;;) {
        tly_status status = next_token(m);
        int c;
        if (status != TLY_OK || (m->token_len != 0 && !(comments && m->token[0] == '%'))) {
            return status;
        }
        for (c = peek(m, &status); c >= 0 && !is_end(c); c = peek(m, &status)) {
            step(m);
        }
        if (c < 0) { /* the end of the file, or an error */
            m->token_len = 0;
            m->token_at = m->at;
            return status;
        }
        step(m);
    }
}

static tly_status read_word(mtx *m, const word *words, size_t num, const char *what,
                            uint8_t *out_value) {
    tly_status status = next_token(m);
    if (status != TLY_OK) {
        return status;
    }
    for (size_t i = 0; i < num; i++) {
        if (tly_text_equal(m->token, m->token_len, words[i].text)) {
            *out_value = words[i].value;
            return TLY_OK;
        }
    }
    return wrong_token(m, "mtx-banner", what);
}

#define READ_WORD(m, words, what, out)                                                             \
    read_word(m, words, sizeof(words) / sizeof(words)[0], what, out)

static tly_status read_banner(mtx *m) {
    tly_status status = next_token(m);
    if (status == TLY_OK && strcmp(m->token, BANNER) != 0) {
        status = wrong_token(m, "mtx-banner", BANNER);
    }
    status = status == TLY_OK ? READ_WORD(m, objects, "matrix or vector", &m->rank) : status;
    status =
        status == TLY_OK ? READ_WORD(m, formats, "coordinate or array", &m->coordinate) : status;
    status = status == TLY_OK ? READ_WORD(m, fields, "real, integer, complex or pattern", &m->field)
                              : status;
    status = status == TLY_OK
                 ? READ_WORD(m, symmetries, "general, symmetric, skew-symmetric or hermitian",
                             &m->symmetry)
                 : status;
    if (status != TLY_OK) {
        return status;
    }
    if ((m->field == FIELD_PATTERN && (!m->coordinate || m->symmetry == SKEW)) ||
        (m->symmetry == HERMITIAN && m->field != FIELD_COMPLEX) ||
        (m->symmetry == SKEW && m->field == FIELD_UNSIGNED) ||
        (m->symmetry != GENERAL && m->rank == 1)) {
        return tly_base_fail(m->error, TLY_MALFORMED, m->token_at, "mtx-banner",
                             "the words of the banner do not go together");
    }
    return end_line(m);
}

/* The word as an integer; `*out_negative` NULL: a sign is wrong. */
static tly_status take_integer(const mtx *m, const char *rule, uint64_t *out_value,
                               int *out_negative) {
    const char *at = m->token;
    uint64_t value = 0;
    int negative = *at == '-';
    if (out_negative != NULL && (*at == '-' || *at == '+')) {
        at++;
    }
    if (*at == '\0') {
        return wrong_token(m, rule, "an integer");
    }
    for (; *at != '\0'; at++) {
        if (*at < '0' || *at > '9') {
            return wrong_token(m, rule,
                               out_negative != NULL ? "an integer" : "an integer without sign");
        }
        if (tly_base_mul_u64(value, 10, &value) ||
            tly_base_add_u64(value, (uint64_t)(*at - '0'), &value)) {
            return tly_base_fail(m->error, TLY_OVERFLOW, m->token_at, "mtx-range",
                                 "an integer does not fit in 64 bits");
        }
    }
    *out_value = value;
    if (out_negative != NULL) {
        *out_negative = negative;
    }
    return TLY_OK;
}

static tly_status next_u64(mtx *m, const char *rule, uint64_t *out_value) {
    tly_status status = next_token(m);
    return status == TLY_OK ? take_integer(m, rule, out_value, NULL) : status;
}

static tly_status read_sizes(mtx *m) {
    uint64_t left;
    tly_status status = next_line(m, 1);
    m->extent[1] = 1;
    if (status == TLY_OK) {
        status = take_integer(m, "mtx-sizes", &m->extent[0], NULL);
    }
    if (status == TLY_OK && m->rank == 2) {
        status = next_u64(m, "mtx-sizes", &m->extent[1]);
    }
    if (status == TLY_OK && m->coordinate) {
        status = next_u64(m, "mtx-sizes", &m->count);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (m->symmetry != GENERAL && m->extent[0] != m->extent[1]) {
        return tly_base_fail(m->error, TLY_MALFORMED, m->token_at, "mtx-sizes",
                             "a symmetric matrix has as many rows as columns");
    }
    if (!m->coordinate) {
        uint64_t n = m->extent[0];
        uint64_t twice;
        int over = m->symmetry == GENERAL
                       ? tly_base_mul_u64(n, m->extent[1], &m->count)
                       : tly_base_add_u64(n, 1, &twice) || tly_base_mul_u64(n, twice, &twice);
        if (over) {
            return tly_base_fail(m->error, TLY_OVERFLOW, m->token_at, "mtx-sizes",
                                 "the number of values does not fit in 64 bits");
        }
        if (m->symmetry != GENERAL) { /* the triangle, of a skew one without its diagonal */
            m->count = m->symmetry == SKEW ? (n == 0 ? 0 : n * (n - 1) / 2) : twice / 2;
        }
    }
    status = end_line(m);
    left = m->window.file->len - m->at;
    if (status == TLY_OK && m->count > left / 2 + 1) { /* an entry takes two bytes at least */
        return tly_base_fail(m->error, TLY_TRUNCATED, m->at, "mtx-count",
                             "the matrix has %llu entries, but only %llu bytes follow",
                             (unsigned long long)m->count, (unsigned long long)left);
    }
    return status;
}

/* Digits with a point and an exponent, or a word for what is no number. */
static int looks_like_real(const char *at) {
    size_t digits = 0;
    at += *at == '+' || *at == '-';
    if (tly_text_equal(at, strlen(at), "nan") || tly_text_equal(at, strlen(at), "inf") ||
        tly_text_equal(at, strlen(at), "infinity")) {
        return 1;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        digits++;
    }
    at += *at == '.';
    for (; *at >= '0' && *at <= '9'; at++) {
        digits++;
    }
    if (digits != 0 && (*at == 'e' || *at == 'E')) {
        at++;
        at += *at == '+' || *at == '-';
        if (*at == '\0') {
            return 0;
        }
        at += strspn(at, "0123456789");
    }
    return digits != 0 && *at == '\0';
}

static tly_status take_real(const mtx *m, uint64_t *out_bits) {
    double value;
    if (!looks_like_real(m->token)) {
        return wrong_token(m, "mtx-value", "a number");
    }
    errno = 0;
    value = strtod_l(m->token, NULL, m->plain);
    if (errno == ERANGE && (value > 1 || value < -1)) {
        return tly_base_fail(m->error, TLY_OVERFLOW, m->token_at, "mtx-range",
                             "a number is too large for 64-bit floating point");
    }
    memcpy(out_bits, &value, sizeof value);
    return TLY_OK;
}

/* The value at the place of this token; a second part follows in the line. */
static tly_status take_value(mtx *m, item *out) {
    uint64_t magnitude = 0;
    int negative = 0;
    tly_status status;
    if (m->field == FIELD_REAL) {
        return take_real(m, &out->value[0]);
    }
    if (m->field == FIELD_COMPLEX) {
        status = take_real(m, &out->value[0]);
        status = status == TLY_OK ? next_token(m) : status;
        return status == TLY_OK ? take_real(m, &out->value[1]) : status;
    }
    status = take_integer(m, "mtx-value", &magnitude, &negative);
    if (status == TLY_OK &&
        (m->field == FIELD_UNSIGNED ? negative && magnitude != 0
                                    : magnitude > (uint64_t)INT64_MAX + (uint64_t)negative)) {
        return tly_base_fail(m->error, TLY_OVERFLOW, m->token_at, "mtx-range",
                             "an integer does not fit in the element type");
    }
    out->value[0] = negative ? 0 - magnitude : magnitude;
    return status;
}

static tly_status keep(mtx *m, const item *it) {
    void *array = m->items;
    tly_status status = tly_import_reserve(m->import, &array, m->num_items, &m->cap_items,
                                           sizeof *m->items, m->error);
    m->items = array;
    if (status == TLY_OK) {
        m->items[m->num_items++] = *it;
    }
    return status;
}

#define SIGN (UINT64_C(1) << 63)

/* The entry on the other side of the diagonal. */
static tly_status mirror(mtx *m, const item *it) {
    item other = {{it->place[1], it->place[0]}, {it->value[0], it->value[1]}};
    if (it->place[0] == it->place[1]) {
        return m->symmetry == SKEW
                   ? tly_base_fail(m->error, TLY_MALFORMED, m->token_at, "mtx-symmetry",
                                   "a skew-symmetric matrix has an entry on its diagonal")
                   : TLY_OK;
    }
    if (m->symmetry == HERMITIAN) {
        other.value[1] ^= SIGN;
    } else if (m->symmetry == SKEW && m->field == FIELD_INTEGER) {
        if (it->value[0] == SIGN) {
            return tly_base_fail(m->error, TLY_OVERFLOW, m->token_at, "mtx-range",
                                 "an integer does not fit in the element type");
        }
        other.value[0] = 0 - it->value[0];
    } else if (m->symmetry == SKEW) {
        other.value[0] ^= SIGN;
        other.value[1] ^= m->field == FIELD_COMPLEX ? SIGN : 0;
    }
    return keep(m, &other);
}

/* One line of a matrix given by coordinates. */
static tly_status read_coordinates(mtx *m, item *it) {
    tly_status status = TLY_OK;
    for (uint32_t axis = 0; axis < m->rank && status == TLY_OK; axis++) {
        status = axis != 0 ? next_token(m) : TLY_OK;
        status = status == TLY_OK ? take_integer(m, "mtx-index", &it->place[axis], NULL) : status;
        if (status == TLY_OK && (it->place[axis] == 0 || it->place[axis] > m->extent[axis])) {
            return tly_base_fail(m->error, TLY_MALFORMED, m->token_at, "mtx-index",
                                 "index %llu is outside of 1 to %llu",
                                 (unsigned long long)it->place[axis],
                                 (unsigned long long)m->extent[axis]);
        }
        it->place[axis]--;
    }
    if (status == TLY_OK && m->field != FIELD_PATTERN) {
        status = next_token(m);
        status = status == TLY_OK ? take_value(m, it) : status;
    }
    return status;
}

static tly_status read_items(mtx *m) {
    uint64_t row = m->symmetry == SKEW, column = 0; /* of arrays */
    for (uint64_t i = 0; i < m->count; i++) {
        item it = {{0, 0}, {0, 0}};
        tly_status status = next_line(m, 0);
        if (status == TLY_OK && m->token_len == 0) {
            return tly_base_fail(m->error, TLY_TRUNCATED, m->at, "mtx-count",
                                 "the matrix has %llu entries, but the file ends behind %llu",
                                 (unsigned long long)m->count, (unsigned long long)i);
        }
        if (status == TLY_OK && m->coordinate) {
            status = read_coordinates(m, &it);
        } else if (status == TLY_OK) {
            it.place[0] = row;
            it.place[1] = column;
            status = take_value(m, &it);
            if (++row == m->extent[0]) {
                column++;
                row = m->symmetry == GENERAL ? 0 : column + (m->symmetry == SKEW);
            }
        }
        status = status == TLY_OK ? keep(m, &it) : status;
        if (status == TLY_OK && m->symmetry != GENERAL) {
            status = mirror(m, &it);
        }
        status = status == TLY_OK ? end_line(m) : status;
        if (status != TLY_OK) {
            return status;
        }
    }
    {
        tly_status status = next_line(m, 0);
        if (status == TLY_OK && m->token_len != 0) {
            status = tly_base_fail(m->error, TLY_MALFORMED, m->token_at, "trailing-bytes",
                                   "something follows behind the last entry");
        }
        return status;
    }
}

static int by_place(const void *user, uint32_t a, uint32_t b) {
    const item *items = user;
    for (int axis = 0; axis < 2; axis++) {
        uint64_t x = items[a].place[axis], y = items[b].place[axis];
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return (a > b) - (a < b);
}

/* A sparse layout has one value for a place. */
static int has_duplicates(const mtx *m, const uint32_t *order) {
    for (size_t i = 1; i < m->num_items; i++) {
        const item *a = &m->items[order[i - 1]], *b = &m->items[order[i]];
        if (memcmp(a->place, b->place, sizeof a->place) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Values and indexes, little-endian, in the order of the places. */
static void encode_coordinates(const mtx *m, const uint32_t *order, uint8_t *values,
                               uint8_t *indexes) {
    const uint32_t words = kinds[m->field].words;
    for (size_t i = 0; i < m->num_items; i++) {
        const item *it = &m->items[order[i]];
        for (uint32_t w = 0; w < words; w++) {
            tly_base_store_u64(values + 8 * (i * words + w), it->value[w]);
        }
        if (words == 0) {
            values[i / 8] |= (uint8_t)(1u << i % 8);
        }
        for (uint32_t axis = 0; axis < m->rank; axis++) {
            tly_base_store_u64(indexes + 8 * (i * m->rank + axis), it->place[axis]);
        }
    }
}

static void *zeroed(mtx *m, uint64_t len) {
    void *block = len <= SIZE_MAX ? tly_arena_alloc(&m->import->arena, (size_t)len, 8) : NULL;
    if (block != NULL && len != 0) {
        memset(block, 0, (size_t)len);
    }
    return block;
}

static tly_status no_memory(const mtx *m) {
    return tly_base_fail(m->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a matrix");
}

/* What the container's descriptor of a sparse matrix needs, in one piece. */
typedef struct sparse {
    tly_descriptor descriptor;
    tly_buffer_info buffers[2];
} sparse;

static tly_status add_coordinates(mtx *m, tly_import_entry *entry, const uint64_t *shape) {
    int refused = 0;
    const uint64_t num = m->num_items;
    const uint64_t values_len =
        m->field == FIELD_PATTERN ? (num + 7) / 8 : num * kinds[m->field].words * 8;
    sparse *s = zeroed(m, sizeof *s);
    uint32_t *order = tly_base_alloc(m->import->context, (size_t)num * sizeof *order, 8);
    uint8_t *bytes = zeroed(m, values_len + num * m->rank * 8);
    tly_status status = TLY_OK;
    if (s == NULL || bytes == NULL || (order == NULL && num != 0) || num > UINT32_MAX) {
        status = no_memory(m);
    }
    if (status == TLY_OK) {
        for (uint32_t i = 0; i < num; i++) {
            order[i] = i;
        }
        tly_import_sort(order, (size_t)num, by_place, m->items);
        if (has_duplicates(m, order)) {
            status = tly_import_refuse(m->import, entry->name, 0, "mtx-duplicate",
                                       "it has several entries at one place, and a sparse tensor "
                                       "has one; sum them up first",
                                       m->error);
            refused = 1;
        }
        encode_coordinates(m, order, bytes, bytes + values_len);
    }
    tly_base_free(m->import->context, order, (size_t)num * sizeof *order, 8);
    if (status != TLY_OK || refused) {
        return status;
    }
    s->buffers[0] = (tly_buffer_info){.byte_size = values_len, .alignment = 64};
    s->buffers[1] = (tly_buffer_info){.byte_size = num * m->rank * 8, .alignment = 64};
    s->descriptor = (tly_descriptor){.dtype = entry->dtype,
                                     .layout = TLY_LAYOUT_COO,
                                     .num_buffers = 2,
                                     .rank = m->rank,
                                     .shape = shape,
                                     .buffers = s->buffers,
                                     .nnz = num,
                                     .is_sorted = 1};
    entry->descriptor = &s->descriptor;
    entry->layout = TLY_LAYOUT_COO;
    entry->byte_len = values_len + s->buffers[1].byte_size;
    entry->kept = bytes;
    return tly_import_add(m->import, entry, m->error);
}

static tly_status add_array(mtx *m, tly_import_entry *entry) {
    const uint32_t words = kinds[m->field].words;
    uint64_t len;
    uint8_t *bytes;
    if (tly_base_mul_u64(m->extent[0], m->extent[1], &len) ||
        tly_base_mul_u64(len, 8 * words, &len)) {
        return tly_base_fail(m->error, TLY_OVERFLOW, TLY_NO_OFFSET, "size-overflow",
                             "the size of the matrix does not fit in 64 bits");
    }
    bytes = zeroed(m, len);
    if (bytes == NULL) {
        return no_memory(m);
    }
    for (size_t i = 0; i < m->num_items; i++) {
        const item *it = &m->items[i];
        uint64_t number = it->place[1] * m->extent[0] + it->place[0];
        for (uint32_t w = 0; w < words; w++) {
            tly_base_store_u64(bytes + 8 * (number * words + w), it->value[w]);
        }
    }
    entry->layout = m->rank == 2 ? TLY_LAYOUT_COL_MAJOR : TLY_LAYOUT_ROW_MAJOR;
    entry->byte_len = len;
    entry->kept = bytes;
    return tly_import_add(m->import, entry, m->error);
}

static tly_status read_file(mtx *m) {
    tly_import_entry entry = {.fixed_name = 1, .coding = TLY_CODING_KEPT};
    uint64_t *shape;
    tly_status status = read_banner(m);
    status = status == TLY_OK ? read_sizes(m) : status;
    status = status == TLY_OK ? read_items(m) : status;
    status = status == TLY_OK ? tly_import_stem(m->import, ".mtx", &entry.name, m->error) : status;
    if (status != TLY_OK) {
        return status;
    }
    shape = zeroed(m, 2 * sizeof *shape);
    if (shape == NULL) {
        return no_memory(m);
    }
    memcpy(shape, m->extent, 2 * sizeof *shape);
    entry.shape = shape;
    entry.rank = m->rank;
    entry.dtype = kinds[m->field].dtype;
    return m->coordinate ? add_coordinates(m, &entry, shape) : add_array(m, &entry);
}

tly_status tly_import_read_mtx(tly_import *import, tly_error *error) {
    mtx m = {.import = import, .error = error};
    tly_status status = tly_window_init(&m.window, import->context, &import->files[0], error);
    if (status != TLY_OK) {
        return status;
    }
    m.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (m.plain == (locale_t)0) {
        status = no_memory(&m);
    } else {
        status = read_file(&m);
        freelocale(m.plain);
    }
    tly_base_free(import->context, m.items, m.cap_items * sizeof *m.items, 16);
    tly_window_cleanup(&m.window);
    return status;
}
