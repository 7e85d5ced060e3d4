/* SPDX-License-Identifier: Apache-2.0 */
/* tilery diff: two files of tensors, element by element. Layouts do not count: what is compared is
 * the element at each index. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/convert.h>
#include <tilery/quantize.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/describe.h"
#include "cli/handlers.h"
#include "cli/json.h"
#include "cli/options_table.h"
#include "cli/source.h"
#include "cli/text.h"
#include "cli/whole.h"

#define PIECE 4096 /* elements compared at once */

typedef struct settings {
    double relative, absolute; /* both negative: bit for bit */
    int ignore_type;
    int as_json;
    FILE *out;
    tly_json json;
} settings;

/* What was found about one pair. */
typedef struct finding {
    const char *what; /* NULL: the tensors are the same */
    char detail[200];
    uint64_t num_different; /* elements */
    uint64_t first;         /* row-major number of the first of them */
    double a, b;            /* the values there */
    double largest;         /* difference of any two values that were compared as numbers */
    int as_numbers;
} finding;

static int is_exact(const settings *s) {
    return s->relative < 0 && s->absolute < 0;
}

/* Are two values near enough? Infinities must be equal; NaN is like NaN. */
static int near(const settings *s, double a, double b) {
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    if (a == b) {
        return 1;
    }
    if (isinf(a) || isinf(b)) {
        return 0;
    }
    return fabs(a - b) <=
           (s->absolute > 0 ? s->absolute : 0) + (s->relative > 0 ? s->relative : 0) * fabs(b);
}

static void note(finding *f, uint64_t number, double a, double b) {
    if (f->num_different++ == 0) {
        f->first = number;
        f->a = a;
        f->b = b;
    }
}

/* Element `number` as a number, for messages and tolerances; NaN where its type is none. */
static tly_status values(const tly_context *context, const tly_format *format, const void *bytes,
                         uint64_t first, uint64_t count, double *out) {
    return tly_convert(context, tly_format_find(TLY_F64), out, 0, format, bytes, first, count, NULL,
                       NULL);
}

/* Row-major elements of the same number, as numbers. */
static tly_status compare_numbers(const tly_context *context, const settings *s,
                                  const tly_format *a_format, const void *a,
                                  const tly_format *b_format, const void *b, uint64_t count,
                                  finding *f, tly_error *error) {
    double x[PIECE], y[PIECE];
    f->as_numbers = 1;
    for (uint64_t at = 0; at < count; at += PIECE) {
        uint64_t num = count - at < PIECE ? count - at : PIECE;
        if (values(context, a_format, a, at, num, x) != TLY_OK ||
            values(context, b_format, b, at, num, y) != TLY_OK) {
            return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "",
                                 "elements of this type cannot be compared as numbers");
        }
        for (uint64_t i = 0; i < num; i++) {
            double difference = fabs(x[i] - y[i]);
            if (difference > f->largest) {
                f->largest = difference;
            }
            if (!near(s, x[i], y[i])) {
                note(f, at + i, x[i], y[i]);
            }
        }
    }
    return TLY_OK;
}

/* The same bit for bit; elements of less than a byte too. */
static void compare_bits(const tly_context *context, tly_dtype dtype, uint32_t bits, const void *a,
                         const void *b, uint64_t count, finding *f) {
    const uint8_t *x = a, *y = b;
    const tly_format *format = tly_format_find(dtype);
    uint64_t group = bits >= 8 ? 1 : bits == 6 ? 4 : 8 / bits; /* elements in `unit` bytes */
    uint64_t unit = bits >= 8 ? bits / 8 : bits == 6 ? 3 : 1;
    for (uint64_t at = 0; at < count; at += group) {
        uint64_t place = at / group * unit;
        if (memcmp(x + place, y + place, (size_t)unit) != 0) {
            for (uint64_t i = at; i < at + group && i < count; i++) {
                uint64_t first_bit = (i - at) * bits;
                int same = 1;
                double p = NAN, q = NAN;
                for (uint64_t k = first_bit; k < first_bit + bits; k++) {
                    same &= ((x[place + k / 8] ^ y[place + k / 8]) >> k % 8 & 1) == 0;
                }
                if (!same) {
                    if (f->num_different == 0 && format != NULL &&
                        values(context, format, a, i, 1, &p) == TLY_OK &&
                        values(context, format, b, i, 1, &q) == TLY_OK) {
                        f->as_numbers = 1;
                    }
                    note(f, i, p, q);
                }
            }
        }
    }
}

static tly_status to_row_major(tly_whole *w, const tly_context *context, tly_error *error) {
    tly_descriptor layout = {.layout = TLY_LAYOUT_ROW_MAJOR};
    return tly_whole_transcode(w, context, &layout, error);
}

static int same_quantization(const tly_quantization *a, const tly_quantization *b) {
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return a->scheme == b->scheme && a->flags == b->flags && a->axis == b->axis &&
           a->block_size == b->block_size && a->scale_type == b->scale_type &&
           a->zero_point == b->zero_point && memcmp(&a->scale, &b->scale, sizeof a->scale) == 0;
}

/* Two quantized tensors of one scheme: codes and parameters; otherwise the values that they stand
 * for. */
static tly_status compare_quantized(const tly_context *context, const settings *s, tly_whole *a,
                                    tly_whole *b, uint64_t count, finding *f, tly_error *error) {
    const tly_whole *sides[2] = {a, b};
    float *out[2] = {NULL, NULL};
    tly_status status = TLY_OK;
    for (int i = 0; i < 2 && status == TLY_OK; i++) {
        const tly_descriptor *d = sides[i]->tensor.descriptor;
        out[i] =
            count < SIZE_MAX / sizeof *out[i] ? malloc((size_t)count * sizeof *out[i] + 1) : NULL;
        if (out[i] == NULL) {
            status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                   "no memory for the values of a tensor");
        } else if (d->quantization != NULL) {
            status = tly_dequantize(context, &sides[i]->tensor, TLY_F32, out[i], NULL, error);
        } else {
            status =
                tly_convert(context, tly_format_find(TLY_F32), out[i], 0, tly_format_find(d->dtype),
                            sides[i]->tensor.buffers[0], 0, count, NULL, NULL);
            if (status != TLY_OK) {
                status = tly_base_fail(error, status, TLY_NO_OFFSET, "",
                                       "elements of this type cannot be compared as numbers");
            }
        }
    }
    if (status == TLY_OK) {
        settings numbers = *s;
        if (is_exact(s)) { /* values that are equal, NaN like NaN */
            numbers.relative = numbers.absolute = 0;
        }
        status = compare_numbers(context, &numbers, tly_format_find(TLY_F32), out[0],
                                 tly_format_find(TLY_F32), out[1], count, f, error);
    }
    free(out[0]);
    free(out[1]);
    return status;
}

static int same_parameters(const tly_tensor *a, const tly_tensor *b) {
    const tly_descriptor *d = a->descriptor;
    for (uint32_t i = 1; i < d->num_buffers; i++) {
        if (i >= b->descriptor->num_buffers ||
            d->buffers[i].byte_size != b->descriptor->buffers[i].byte_size ||
            memcmp(a->buffers[i], b->buffers[i], (size_t)d->buffers[i].byte_size) != 0) {
            return 0;
        }
    }
    return d->num_buffers == b->descriptor->num_buffers;
}

static tly_status compare_elements(const tly_context *context, const settings *s, tly_whole *a,
                                   tly_whole *b, finding *f, tly_error *error) {
    const tly_descriptor *x, *y;
    uint64_t count = 0;
    uint32_t bits;
    tly_status status = to_row_major(a, context, error);
    status = status == TLY_OK ? to_row_major(b, context, error) : status;
    if (status != TLY_OK) {
        return status;
    }
    x = a->tensor.descriptor;
    y = b->tensor.descriptor;
    bits = tly_descriptor_element_bits(x);
    if (tly_descriptor_num_elements(x, &count) != TLY_OK) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "",
                             "a tensor whose shape is not known cannot be compared");
    }
    if ((x->quantization != NULL || y->quantization != NULL) &&
        !(same_quantization(x->quantization, y->quantization) && x->dtype == y->dtype &&
          is_exact(s) && same_parameters(&a->tensor, &b->tensor))) {
        return compare_quantized(context, s, a, b, count, f, error);
    }
    if (is_exact(s) && x->dtype == y->dtype) {
        compare_bits(context, x->dtype, bits, a->tensor.buffers[0], b->tensor.buffers[0], count, f);
        return TLY_OK;
    }
    if (tly_format_find(x->dtype) == NULL || tly_format_find(y->dtype) == NULL) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "",
                             "elements of this type cannot be compared as numbers");
    }
    {
        settings numbers = *s;
        if (is_exact(s)) {
            numbers.relative = numbers.absolute = 0;
        }
        return compare_numbers(context, &numbers, tly_format_find(x->dtype), a->tensor.buffers[0],
                               tly_format_find(y->dtype), b->tensor.buffers[0], count, f, error);
    }
}

/* A group has no elements of its own, and what has a private layout only its owner can read: their
 * bytes are compared. */
static int same_bytes(const tly_tensor *a, const tly_tensor *b) {
    const tly_descriptor *x = a->descriptor, *y = b->descriptor;
    if (x->num_buffers != y->num_buffers || a->num_members != b->num_members ||
        x->layout != y->layout || x->dtype != y->dtype) {
        return 0;
    }
    for (uint32_t i = 0; i < x->num_buffers; i++) {
        if (x->buffers[i].byte_size != y->buffers[i].byte_size ||
            memcmp(a->buffers[i], b->buffers[i], (size_t)x->buffers[i].byte_size) != 0) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < a->num_members; i++) {
        if (!same_bytes(&a->members[i], &b->members[i])) {
            return 0;
        }
    }
    return 1;
}

static int is_opaque(const tly_descriptor *d) {
    return d->layout >= TLY_LAYOUT_PRIVATE_FIRST ||
           (d->layout == TLY_LAYOUT_COMPOSITE && d->composite.rule == 3);
}

static tly_status compare_pair(const tly_context *context, const settings *s, tly_whole *a,
                               tly_whole *b, finding *f, tly_error *error) {
    const tly_descriptor *x = a->tensor.descriptor, *y = b->tensor.descriptor;
    char p[96], q[96];
    tly_status status;
    if (x->rank != y->rank || memcmp(x->shape, y->shape, x->rank * sizeof *x->shape) != 0) {
        f->what = "shape";
        snprintf(f->detail, sizeof f->detail, "%s against %s",
                 tly_describe_shape(p, sizeof p, x->shape, x->rank),
                 tly_describe_shape(q, sizeof q, y->shape, y->rank));
        return TLY_OK;
    }
    if (!s->ignore_type && x->dtype != y->dtype) {
        f->what = "type";
        snprintf(f->detail, sizeof f->detail, "%s against %s",
                 tly_describe_dtype(p, sizeof p, x->dtype),
                 tly_describe_dtype(q, sizeof q, y->dtype));
        return TLY_OK;
    }
    if (is_opaque(x) || is_opaque(y)) {
        f->what = same_bytes(&a->tensor, &b->tensor) ? NULL : "bytes";
        return TLY_OK;
    }
    status = compare_elements(context, s, a, b, f, error);
    if (status == TLY_OK && f->num_different != 0) {
        f->what = "elements";
    }
    return status;
}

/* "[1, 0, 3]" for the row-major number of an element. */
static void index_text(char *out, size_t capacity, const tly_descriptor *d, uint64_t number) {
    uint64_t index[TLY_MAX_RANK];
    for (uint32_t k = d->rank; k-- > 0;) {
        index[k] = number % d->shape[k];
        number /= d->shape[k];
    }
    tly_describe_shape(out, capacity, index, d->rank);
}

static void report(settings *s, const char *name, size_t name_len, const tly_descriptor *d,
                   const finding *f) {
    char shown[300], index[200] = "";
    if (f->num_different != 0) {
        index_text(index, sizeof index, d, f->first);
    }
    if (s->as_json) {
        tly_json_object(&s->json, NULL);
        tly_json_string_len(&s->json, "name", name, name_len);
        tly_json_string(&s->json, "differs", f->what);
        if (f->detail[0] != '\0') {
            tly_json_string(&s->json, "detail", f->detail);
        }
        if (f->num_different != 0) {
            tly_json_u64(&s->json, "elements", f->num_different);
            tly_json_string(&s->json, "first", index);
            if (f->as_numbers) {
                tly_json_number(&s->json, "a", f->a);
                tly_json_number(&s->json, "b", f->b);
                tly_json_number(&s->json, "largest", f->largest);
            }
        }
        tly_json_end_object(&s->json);
        return;
    }
    fprintf(s->out, "%s: ", tly_text_safe(shown, sizeof shown, name, name_len));
    if (f->num_different == 0) {
        fprintf(s->out, "%s%s%s\n", f->what, f->detail[0] != '\0' ? ": " : "", f->detail);
        return;
    }
    fprintf(s->out, "%" PRIu64 " element%s differ%s, the first at %s", f->num_different,
            tly_text_s(f->num_different), f->num_different == 1 ? "s" : "", index);
    if (f->as_numbers) {
        fprintf(s->out, ": %.17g against %.17g", f->a, f->b);
        if (f->largest > 0) {
            fprintf(s->out, "; the largest difference is %.9g", f->largest);
        }
    }
    fputc('\n', s->out);
}

static void report_missing(settings *s, const char *name, size_t name_len, const char *where,
                           uint64_t *num_different) {
    finding f = {.what = where};
    *num_different += 1;
    report(s, name, name_len, NULL, &f);
}

/* Names of the tensors of A that were compared, to find those that only B has. Kept sorted at the
 * end. */
typedef struct names {
    char **all;
    size_t num, room;
} names;

static tly_status keep_name(names *n, const char *name, tly_error *error) {
    if (n->num == n->room) {
        size_t room = n->room == 0 ? 64 : 2 * n->room;
        char **grown = realloc(n->all, room * sizeof *grown);
        if (grown == NULL) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory for names");
        }
        n->all = grown;
        n->room = room;
    }
    n->all[n->num] = strdup(name);
    if (n->all[n->num] == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for names");
    }
    n->num++;
    return TLY_OK;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct comparison {
    const tly_context *context;
    tly_source *a, *b;
    settings *s;
    names seen;
    uint64_t num_tensors, num_different;
    double largest; /* difference of two numbers, also of those that are near enough */
} comparison;

static tly_status compare_next(comparison *c, tly_whole *a, tly_error *error) {
    finding f = {0};
    tly_whole b;
    int more = 0;
    tly_status status = tly_whole_init(&b, c->context, c->b, &more, error);
    if (status != TLY_OK) {
        return status;
    }
    if (!more) {
        report_missing(c->s, a->name, a->name_len, "only in the first file", &c->num_different);
        return TLY_OK;
    }
    status = compare_pair(c->context, c->s, a, &b, &f, error);
    c->largest = f.largest > c->largest ? f.largest : c->largest;
    if (status == TLY_OK && f.what != NULL) {
        c->num_different++;
        report(c->s, a->name, a->name_len, a->tensor.descriptor, &f);
    }
    tly_whole_cleanup(&b);
    return status;
}

/* Once they are sorted. */
static int was_seen(const names *n, const char *name) {
    return n->num != 0 && bsearch(&name, n->all, n->num, sizeof *n->all, by_text) != NULL;
}

/* Tensors that only the second file has. Members go with their head. */
static tly_status report_rest(comparison *c, int by_order, tly_error *error) {
    uint64_t members = 0; /* that are still to come */
    if (!by_order && c->seen.num != 0) {
        qsort(c->seen.all, c->seen.num, sizeof *c->seen.all, by_text);
    }
    for (;;) {
        tly_source_item item;
        int more = 0, is_member = members != 0;
        tly_status status = tly_source_next(c->b, &item, &more, error);
        if (status != TLY_OK || !more) {
            return status;
        }
        members -= is_member;
        if (item.descriptor->layout == TLY_LAYOUT_COMPOSITE) {
            members += item.descriptor->composite.member_count;
        }
        if (!is_member && (by_order || !was_seen(&c->seen, item.name))) {
            report_missing(c->s, item.name, item.name_len, "only in the second file",
                           &c->num_different);
        }
    }
}

static tly_status compare_all(comparison *c, const char *path_b, tly_error *error) {
    const int by_order = strcmp(tly_source_format(c->a), "hurray-stream") == 0 ||
                         strcmp(tly_source_format(c->b), "hurray-stream") == 0;
    tly_status status = TLY_OK;
    while (status == TLY_OK) {
        tly_whole a;
        int more = 0;
        status = tly_whole_init(&a, c->context, c->a, &more, error);
        if (status != TLY_OK || !more) {
            break;
        }
        c->num_tensors++;
        status = by_order ? TLY_OK : keep_name(&c->seen, a.name, error);
        if (status == TLY_OK && !by_order && tly_source_seek(c->b, a.name, a.name_len) != TLY_OK) {
            report_missing(c->s, a.name, a.name_len, "only in the first file", &c->num_different);
        } else if (status == TLY_OK) {
            status = compare_next(c, &a, error);
        }
        tly_whole_cleanup(&a);
    }
    if (status == TLY_OK && !by_order) { /* from its beginning once more */
        tly_source_free(c->b);
        c->b = NULL;
        status = tly_source_open(c->context, path_b, 0, &c->b, error);
    }
    return status == TLY_OK ? report_rest(c, by_order, error) : status;
}

/* A tolerance given as text. */
static tly_status take_number(const tly_cli *cli, uint32_t option, double *out, tly_error *error) {
    const char *text = tly_cli_value(cli, option, NULL);
    char *end;
    if (text == NULL) {
        return TLY_OK;
    }
    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !(*out >= 0) || isinf(*out)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-value",
                             "\"%s\" is no tolerance: give a number that is not negative", text);
    }
    return TLY_OK;
}

tly_status tly_cli_run_diff(tly_cli *cli, tly_error *error) {
    settings s = {.relative = -1,
                  .absolute = -1,
                  .ignore_type = tly_cli_given(cli, TLY_CLI_DIFF_IGNORE_TYPE),
                  .as_json = tly_cli_given(cli, TLY_CLI_DIFF_JSON),
                  .out = cli->out};
    comparison c = {.s = &s};
    tly_status status = tly_cli_context(cli, &c.context, error);
    status = status == TLY_OK ? take_number(cli, TLY_CLI_DIFF_RTOL, &s.relative, error) : status;
    status = status == TLY_OK ? take_number(cli, TLY_CLI_DIFF_ATOL, &s.absolute, error) : status;
    if (status == TLY_OK) {
        status = tly_source_open(c.context, cli->args[0], 0, &c.a, error);
    }
    if (status == TLY_OK) {
        status = tly_source_open(c.context, cli->args[1], 0, &c.b, error);
    }
    if (status == TLY_OK && s.as_json) {
        tly_json_init(&s.json, cli->out);
        tly_json_object(&s.json, NULL);
        tly_json_array(&s.json, "differences");
    }
    status = status == TLY_OK ? compare_all(&c, cli->args[1], error) : status;
    if (status == TLY_OK && s.as_json) {
        tly_json_end_array(&s.json);
        tly_json_u64(&s.json, "tensors", c.num_tensors);
        tly_json_u64(&s.json, "different", c.num_different);
        if (!is_exact(&s)) {
            tly_json_number(&s.json, "largest", c.largest);
        }
        tly_json_end_object(&s.json);
        tly_json_finish(&s.json);
    } else if (status == TLY_OK && c.num_different == 0) {
        fprintf(cli->out, "%" PRIu64 " tensor%s, no difference", c.num_tensors,
                tly_text_s(c.num_tensors));
        if (c.largest > 0) {
            fprintf(cli->out, " beyond the tolerance; the largest is %.3g", c.largest);
        }
        fputc('\n', cli->out);
    }
    tly_source_free(c.a);
    tly_source_free(c.b);
    for (size_t i = 0; i < c.seen.num; i++) {
        free(c.seen.all[i]);
    }
    free(c.seen.all);
    if (status == TLY_OK && c.num_different != 0) {
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "different",
                             "%" PRIu64 " tensor%s differ%s", c.num_different,
                             tly_text_s(c.num_different), c.num_different == 1 ? "s" : "");
    }
    return status;
}
