/* SPDX-License-Identifier: Apache-2.0 */
/* A TensorProto of ONNX: type, shape, and where its elements are. */
#include <string.h>

#include <tilery/tensor.h>

#include "base/checked.h"
#include "base/error.h"
#include "store/import/onnx.h"
#include "store/import/onnx_values.h"

/* Fields of TensorProto. */
enum {
    DIMS = 1,
    DATA_TYPE = 2,
    SEGMENT = 3,
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    STRING_DATA = 6,
    INT64_DATA = 7,
    NAME = 8,
    RAW_DATA = 9,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11,
    EXTERNAL_DATA = 13,
    DATA_LOCATION = 14
};

/* Element types, by TensorProto.DataType. Elements of less than a byte are packed from the low
 * bits, and a value of int32_data is such a byte. */
static const struct row {
    const char
        *refusal; /* a sentence that lives as long as the program: why it cannot be carried */
    tly_dtype dtype;
    uint8_t field;  /* where typed values stand */
    uint8_t wire;   /* and how */
    uint8_t unit;   /* bytes of one value; 0: one bit */
    uint8_t values; /* in one element, if it has at least a byte */
} rows[] = {
    [1] = {NULL, TLY_F32, FLOAT_DATA, TLY_WIRE_FIXED32, 4, 1},
    [2] = {NULL, TLY_U8, INT32_DATA, TLY_WIRE_VARINT, 1, 1},
    [3] = {NULL, TLY_I8, INT32_DATA, TLY_WIRE_VARINT, 1, 1},
    [4] = {NULL, TLY_U16, INT32_DATA, TLY_WIRE_VARINT, 2, 1},
    [5] = {NULL, TLY_I16, INT32_DATA, TLY_WIRE_VARINT, 2, 1},
    [6] = {NULL, TLY_I32, INT32_DATA, TLY_WIRE_VARINT, 4, 1},
    [7] = {NULL, TLY_I64, INT64_DATA, TLY_WIRE_VARINT, 8, 1},
    [8] = {.refusal = "its elements are strings (STRING)"},
    [9] = {NULL, TLY_BOOL, INT32_DATA, TLY_WIRE_VARINT, 0, 1},
    [10] = {NULL, TLY_F16, INT32_DATA, TLY_WIRE_VARINT, 2, 1},
    [11] = {NULL, TLY_F64, DOUBLE_DATA, TLY_WIRE_FIXED64, 8, 1},
    [12] = {NULL, TLY_U32, UINT64_DATA, TLY_WIRE_VARINT, 4, 1},
    [13] = {NULL, TLY_U64, UINT64_DATA, TLY_WIRE_VARINT, 8, 1},
    [14] = {NULL, TLY_C64, FLOAT_DATA, TLY_WIRE_FIXED32, 4, 2},
    [15] = {NULL, TLY_C128, DOUBLE_DATA, TLY_WIRE_FIXED64, 8, 2},
    [16] = {NULL, TLY_BF16, INT32_DATA, TLY_WIRE_VARINT, 2, 1},
    [17] = {NULL, TLY_F8E4M3, INT32_DATA, TLY_WIRE_VARINT, 1, 1},
    [18] = {.refusal = "its element type is FLOAT8E4M3FNUZ"},
    [19] = {NULL, TLY_F8E5M2, INT32_DATA, TLY_WIRE_VARINT, 1, 1},
    [20] = {.refusal = "its element type is FLOAT8E5M2FNUZ"},
    [21] = {NULL, TLY_U4, INT32_DATA, TLY_WIRE_VARINT, 1, 1},
    [22] = {NULL, TLY_I4, INT32_DATA, TLY_WIRE_VARINT, 1, 1},
    [23] = {NULL, TLY_F4E2M1, INT32_DATA, TLY_WIRE_VARINT, 1, 1},
    [24] = {NULL, TLY_F8E8M0, INT32_DATA, TLY_WIRE_VARINT, 1, 1},
    [25] = {NULL, TLY_U2, INT32_DATA, TLY_WIRE_VARINT, 1, 1},
    [26] = {NULL, TLY_I2, INT32_DATA, TLY_WIRE_VARINT, 1, 1},
};

#define NUM_ROWS (sizeof rows / sizeof rows[0])

/* A TensorProto as it stands. */
typedef struct declared {
    tly_proto_range message;
    tly_proto_range name;
    tly_proto_range raw;
    tly_proto_range first_external; /* from the first entry of external_data to the end */
    uint64_t shape[TLY_MAX_RANK];
    uint64_t type;
    uint32_t rank;
    uint32_t typed; /* bit n: field n has values */
    uint8_t external, has_raw, has_type, has_segment;
} declared;

/* Where the elements are, by external_data. */
typedef struct place {
    char location[4097];
    uint64_t offset, len;
    uint64_t location_offset; /* in the model */
    uint8_t has_location, has_offset, has_len;
} place;

static tly_status bad(tly_onnx *o, const char *name, tly_status status, uint64_t offset,
                      const char *rule, const char *problem) {
    char shown[160];
    return tly_base_fail(o->error, status, offset, rule, "tensor \"%s\": %s",
                         tly_base_printable(shown, sizeof shown, name, strlen(name)), problem);
}

static tly_status bad_len(tly_onnx *o, const char *name, uint64_t offset, const char *rule,
                          uint64_t wanted, uint64_t got, const char *what) {
    char shown[160];
    return tly_base_fail(o->error, TLY_MALFORMED, offset, rule,
                         "tensor \"%s\" needs %llu %s by its shape, but has %llu",
                         tly_base_printable(shown, sizeof shown, name, strlen(name)),
                         (unsigned long long)wanted, what, (unsigned long long)got);
}

static tly_status add_dim(tly_onnx *o, declared *d, uint64_t value, uint64_t at) {
    if ((int64_t)value < 0) {
        return tly_base_fail(o->error, TLY_MALFORMED, at, "negative-dim",
                             "axis %u of a tensor has the size %lld", d->rank,
                             (long long)(int64_t)value);
    }
    if (d->rank == o->import->options.rank) {
        return tly_base_fail(o->error, TLY_LIMIT, at, "rank",
                             "a tensor has more than %u axes, the limit", d->rank);
    }
    d->shape[d->rank++] = value;
    return TLY_OK;
}

static tly_status add_dims(tly_onnx *o, declared *d, const tly_proto_field *field) {
    uint64_t at = field->range.at, end = at + field->range.len;
    if (field->wire != TLY_WIRE_LEN) {
        tly_status status = tly_proto_expect(&o->window, field, TLY_WIRE_VARINT, "dims");
        return status == TLY_OK ? add_dim(o, d, field->value, at) : status;
    }
    while (at < end) {
        uint64_t value, start = at;
        tly_status status = tly_proto_varint(&o->window, &at, end, &value);
        if (status == TLY_OK) {
            status = add_dim(o, d, value, start);
        }
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static tly_status take_field(tly_onnx *o, declared *d, const tly_proto_field *field,
                             uint64_t start) {
    tly_status status = TLY_OK;
    switch (field->number) {
    case DIMS:
        return add_dims(o, d, field);
    case DATA_TYPE:
        d->type = field->value;
        d->has_type = 1;
        return tly_proto_expect(&o->window, field, TLY_WIRE_VARINT, "data_type");
    case SEGMENT:
        d->has_segment = 1;
        return TLY_OK;
    case NAME:
        d->name = field->range;
        return tly_proto_expect(&o->window, field, TLY_WIRE_LEN, "name");
    case RAW_DATA:
        status = tly_proto_expect(&o->window, field, TLY_WIRE_LEN, "raw_data");
        if (status == TLY_OK && d->has_raw) {
            return tly_base_fail(o->error, TLY_MALFORMED, start, "repeated-field",
                                 "a tensor has raw_data twice");
        }
        d->raw = field->range;
        d->has_raw = 1;
        return status;
    case FLOAT_DATA:
    case INT32_DATA:
    case STRING_DATA:
    case INT64_DATA:
    case DOUBLE_DATA:
    case UINT64_DATA:
        if (field->wire != TLY_WIRE_LEN || field->range.len != 0 || field->number == STRING_DATA) {
            d->typed |= 1u << field->number;
        }
        return TLY_OK;
    case EXTERNAL_DATA:
        if (d->first_external.len == 0) {
            d->first_external.at = start;
            d->first_external.len = d->message.at + d->message.len - start;
        }
        return tly_proto_expect(&o->window, field, TLY_WIRE_LEN, "external_data");
    case DATA_LOCATION:
        d->external = field->value == 1;
        if (field->value > 1) {
            return tly_base_fail(o->error, TLY_MALFORMED, start, "data-location",
                                 "a tensor's data_location is %llu; 0 and 1 are known",
                                 (unsigned long long)field->value);
        }
        return tly_proto_expect(&o->window, field, TLY_WIRE_VARINT, "data_location");
    default:
        return TLY_OK;
    }
}

static tly_status read_fields(tly_onnx *o, declared *d) {
    uint64_t at = d->message.at, end = at + d->message.len;
    while (at < end) {
        uint64_t start = at;
        tly_proto_field field;
        tly_status status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK) {
            status = take_field(o, d, &field, start);
        }
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static tly_status parse_decimal(tly_onnx *o, const tly_proto_range *range, uint64_t *out_value) {
    char digits[24];
    uint64_t value = 0;
    tly_status status;
    if (range->len == 0 || range->len >= sizeof digits) {
        return tly_base_fail(o->error, TLY_MALFORMED, range->at, "external-number",
                             "an offset or length of external data is no number of 64 bits");
    }
    status = tly_window_copy(&o->window, range->at, digits, range->len);
    for (uint64_t i = 0; i < range->len && status == TLY_OK; i++) {
        if (digits[i] < '0' || digits[i] > '9' || tly_base_mul_u64(value, 10, &value) ||
            tly_base_add_u64(value, (uint64_t)(digits[i] - '0'), &value)) {
            return tly_base_fail(o->error, TLY_MALFORMED, range->at, "external-number",
                                 "an offset or length of external data is no number of 64 bits");
        }
    }
    *out_value = value;
    return status;
}

static int is_text(tly_onnx *o, const tly_proto_range *range, const char *text) {
    char copy[16];
    size_t len = strlen(text);
    return range->len == len && len <= sizeof copy &&
           tly_window_copy(&o->window, range->at, copy, len) == TLY_OK &&
           memcmp(copy, text, len) == 0;
}

/* One key and value of external_data. Keys other than location, offset and length (checksum, ...)
 * say nothing about where the bytes are. */
static tly_status take_place(tly_onnx *o, const tly_proto_range *message, place *p) {
    tly_proto_range key = {0, 0}, value = {message->at, 0};
    uint64_t at = message->at, end = at + message->len;
    uint8_t *seen;
    while (at < end) {
        tly_proto_field field;
        tly_status status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK && (field.number == 1 || field.number == 2)) {
            status = tly_proto_expect(&o->window, &field, TLY_WIRE_LEN, "external_data");
            *(field.number == 1 ? &key : &value) = field.range;
        }
        if (status != TLY_OK) {
            return status;
        }
    }
    seen = is_text(o, &key, "location") ? &p->has_location
           : is_text(o, &key, "offset") ? &p->has_offset
           : is_text(o, &key, "length") ? &p->has_len
                                        : NULL;
    if (seen == NULL) {
        return TLY_OK;
    }
    if (*seen) {
        return tly_base_fail(o->error, TLY_MALFORMED, message->at, "repeated-field",
                             "external data names its place twice");
    }
    *seen = 1;
    if (seen != &p->has_location) {
        return parse_decimal(o, &value, seen == &p->has_offset ? &p->offset : &p->len);
    }
    p->location_offset = value.at;
    if (value.len >= sizeof p->location) {
        return tly_base_fail(o->error, TLY_MALFORMED, value.at, "external-location",
                             "the location of external data has %llu bytes; at most 4096 are taken",
                             (unsigned long long)value.len);
    }
    p->location[value.len] = '\0';
    {
        tly_status status = tly_window_copy(&o->window, value.at, p->location, value.len);
        if (status == TLY_OK && value.len != 0 &&
            memchr(p->location, '\0', (size_t)value.len) != NULL) {
            return tly_base_fail(o->error, TLY_MALFORMED, value.at, "external-location",
                                 "the location of external data contains a zero byte");
        }
        return status;
    }
}

static tly_status read_place(tly_onnx *o, const declared *d, place *p) {
    uint64_t at = d->first_external.at, end = at + d->first_external.len;
    while (at < end) {
        tly_proto_field field;
        tly_status status = tly_proto_next(&o->window, &at, end, &field);
        if (status == TLY_OK && field.number == EXTERNAL_DATA) {
            status = take_place(o, &field.range, p);
        }
        if (status != TLY_OK) {
            return status;
        }
    }
    if (!p->has_location) {
        return tly_base_fail(o->error, TLY_MALFORMED, d->message.at, "external-location",
                             "a tensor has external data without a location");
    }
    return TLY_OK;
}

/* Finds or opens a file of external data. */
static tly_status open_external(tly_onnx *o, const place *p, uint32_t *out_file) {
    tly_import *import = o->import;
    tly_status status;
    if (o->last_file != 0 && strcmp(import->files[o->last_file].name, p->location) == 0) {
        *out_file = o->last_file;
        return TLY_OK;
    }
    status = tly_import_open_below(import, p->location, p->location_offset, out_file, o->error);
    o->window.file = &import->files[0]; /* may just have moved */
    o->last_file = status == TLY_OK ? *out_file : 0;
    return status;
}

/* External data: `need` bytes that must be inside of their file. */
static tly_status find_external(tly_onnx *o, const declared *d, tly_import_entry *entry,
                                uint64_t need) {
    place p;
    uint64_t end;
    tly_status status;
    p.offset = p.len = 0;
    p.has_location = p.has_offset = p.has_len = 0;
    status = read_place(o, d, &p);
    if (status != TLY_OK) {
        return status;
    }
    if (p.has_len && p.len != need) {
        return bad_len(o, entry->name, p.location_offset, "data-len", need, p.len,
                       "bytes of external data");
    }
    if (tly_base_add_u64(p.offset, need, &end)) {
        return bad(o, entry->name, TLY_OVERFLOW, p.location_offset, "external-range",
                   "offset plus length of its external data do not fit in 64 bits");
    }
    status = open_external(o, &p, &entry->file);
    if (status != TLY_OK) {
        return status;
    }
    if (end > o->import->files[entry->file].len) {
        char shown[120];
        return tly_base_fail(
            o->error, TLY_TRUNCATED, p.location_offset, "external-range",
            "tensor \"%s\" needs the bytes up to %llu of its external data, which has %llu",
            tly_base_printable(shown, sizeof shown, entry->name, entry->name_len),
            (unsigned long long)end, (unsigned long long)o->import->files[entry->file].len);
    }
    entry->offset = p.offset;
    entry->extent = need;
    return TLY_OK;
}

/* Where the elements are: exactly as many as the shape says, or it is refused. */
static tly_status find_data(tly_onnx *o, const declared *d, const struct row *row,
                            tly_import_entry *entry, uint64_t count) {
    uint32_t file_bits = row->dtype == TLY_BOOL ? 8 : tly_dtype_bits(row->dtype);
    uint64_t need, wanted, got;
    tly_status status = tly_import_packed_len(count, file_bits, d->message.at, &need, o->error);
    if (status != TLY_OK) {
        return status;
    }
    entry->coding = row->dtype == TLY_BOOL ? TLY_CODING_BOOL_BYTES : TLY_CODING_PLAIN;
    if (count % 8 * file_bits % 8 != 0) {
        entry->pad_mask = (uint8_t)(0xFFu << (count % 8 * file_bits % 8));
    }
    if ((d->typed != 0) + (d->raw.len != 0) + d->external > 1) {
        return bad(o, entry->name, TLY_MALFORMED, d->message.at, "two-data",
                   "its elements stand in more than one place");
    }
    if ((d->typed & ~(1u << row->field)) != 0) {
        return bad(o, entry->name, TLY_MALFORMED, d->message.at, "typed-field",
                   "its elements stand in a field of another type");
    }
    if (d->external) {
        return find_external(o, d, entry, need);
    }
    if (d->typed == 0) {
        entry->offset = d->has_raw ? d->raw.at : d->message.at;
        entry->extent = d->raw.len;
        return d->raw.len == need
                   ? TLY_OK
                   : bad_len(o, entry->name, entry->offset, "data-len", need, d->raw.len, "bytes");
    }
    entry->coding = TLY_CODING_TYPED;
    entry->offset = d->message.at;
    entry->extent = d->message.len;
    entry->field = row->field;
    entry->wire = row->wire;
    entry->unit = row->unit;
    wanted = need; /* less than a byte each: as many values as bytes */
    if (file_bits >= 8 && tly_base_mul_u64(count, row->values, &wanted)) {
        return bad(o, entry->name, TLY_OVERFLOW, d->message.at, "size-overflow",
                   "its size does not fit in 64 bits");
    }
    status = tly_import_count_values(&o->window, entry, &got);
    return status != TLY_OK || got == wanted
               ? status
               : bad_len(o, entry->name, d->message.at, "data-len", wanted, got, "values");
}

static tly_status keep_shape(tly_onnx *o, tly_import_entry *entry, const uint64_t *shape) {
    uint64_t *copy = tly_arena_alloc(&o->import->arena, entry->rank * sizeof *shape, sizeof *shape);
    if (copy == NULL) {
        return tly_base_fail(o->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a shape");
    }
    memcpy(copy, shape, entry->rank * sizeof *shape);
    entry->shape = copy;
    return TLY_OK;
}

/* Shape and size are known: adds the tensor. */
static tly_status add(tly_onnx *o, tly_import_entry *entry, const uint64_t *shape, uint64_t count) {
    tly_status status = tly_import_packed_len(count, tly_dtype_bits(entry->dtype), entry->offset,
                                              &entry->byte_len, o->error);
    if (status == TLY_OK) {
        status = keep_shape(o, entry, shape);
    }
    return status == TLY_OK ? tly_import_add(o->import, entry, o->error) : status;
}

tly_status tly_onnx_take_tensor(tly_onnx *o, const tly_proto_range *message,
                                const tly_onnx_leaf *leaf) {
    declared d = {.message = *message};
    tly_onnx_leaf named = *leaf;
    tly_import_entry entry = {
        .layout = TLY_LAYOUT_ROW_MAJOR, .scope = leaf->scope, .fixed_name = leaf->fixed};
    uint64_t count;
    tly_status status = read_fields(o, &d);
    if (status != TLY_OK) {
        return status;
    }
    if (named.name.len == 0) {
        named.name = d.name;
    }
    status = tly_onnx_full_name(o, &named, &entry.name);
    if (status != TLY_OK) {
        return status;
    }
    entry.name_len = (uint32_t)strlen(entry.name);
    if (!d.has_type || d.type == 0 || d.type >= NUM_ROWS) {
        return !d.has_type || d.type == 0
                   ? bad(o, entry.name, TLY_MALFORMED, message->at, "data-type",
                         "it has no element type")
                   : tly_import_refuse(o->import, entry.name, message->at, "dtype",
                                       "its element type is newer than this importer", o->error);
    }
    if (rows[d.type].refusal != NULL) {
        return tly_import_refuse(o->import, entry.name, message->at, "dtype", rows[d.type].refusal,
                                 o->error);
    }
    if (d.has_segment) {
        return tly_import_refuse(o->import, entry.name, message->at, "segment",
                                 "it is one segment of a larger tensor", o->error);
    }
    entry.dtype = rows[d.type].dtype;
    entry.rank = d.rank;
    status = tly_import_count(d.rank, d.shape, message->at, &count, o->error);
    if (status == TLY_OK) {
        status = find_data(o, &d, &rows[d.type], &entry, count);
    }
    return status == TLY_OK ? add(o, &entry, d.shape, count) : status;
}

tly_status tly_onnx_take_attribute(tly_onnx *o, const tly_proto_range *message,
                                   const tly_onnx_leaf *leaf, uint8_t field, tly_dtype dtype,
                                   int single) {
    tly_import_entry entry = {.layout = TLY_LAYOUT_ROW_MAJOR,
                              .scope = leaf->scope,
                              .fixed_name = leaf->fixed,
                              .offset = message->at,
                              .extent = message->len,
                              .dtype = dtype,
                              .rank = single ? 0 : 1,
                              .coding = TLY_CODING_TYPED,
                              .field = field,
                              .wire = dtype == TLY_F32 ? TLY_WIRE_FIXED32 : TLY_WIRE_VARINT,
                              .unit = (uint8_t)(tly_dtype_bits(dtype) / 8),
                              .single = single != 0};
    uint64_t count;
    tly_status status = tly_onnx_full_name(o, leaf, &entry.name);
    if (status == TLY_OK) {
        status = tly_import_count_values(&o->window, &entry, &count);
    }
    return status == TLY_OK ? add(o, &entry, &count, count) : status;
}
