/* SPDX-License-Identifier: Apache-2.0 */
/* tilery check hurray: element types: what a code means, how it is packed, which code a number
 * gets. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/convert.h>
#include <tilery/quantize.h>

#include "base/bytes.h"
#include "cli/hurray_case.h"

#define GET(c, key) json_object_get((c)->recorded, key)

static const tly_format *format_of(const tly_hurray_case *c) {
    return tly_format_find((tly_format_id)json_integer_value(GET(c, "type_tag")));
}

/* The bits of a code in another format. */
static int converted(const tly_format *to, const tly_format *from, uint64_t code, int saturate,
                     uint64_t *out) {
    tly_convert_options options = {.size = sizeof options, .saturate = (uint32_t)saturate};
    tly_code got = {0, 0};
    uint32_t flags = 0;
    if (to == NULL || from == NULL ||
        tly_convert_code(to, from, (tly_code){code, 0}, &options, &got, &flags) != TLY_OK) {
        return 0;
    }
    *out = got.low;
    return 1;
}

static int check_value(tly_hurray_case *c, uint64_t code, const json_t *wanted) {
    const char *text = json_string_value(wanted);
    uint64_t got = 0;
    if (text != NULL && strcmp(text, "reserved") == 0) {
        return 1;
    }
    if (!converted(tly_format_find(text != NULL ? TLY_F32 : TLY_I64), format_of(c), code, 0,
                   &got)) {
        return tly_hurray_fail(c, "this type cannot be converted");
    }
    if (text == NULL               ? (int64_t)got != json_integer_value(wanted)
        : strcmp(text, "nan") == 0 ? (got & 0x7FFFFFFF) <= 0x7F800000
                                   : got != strtoul(text, NULL, 16)) {
        return tly_hurray_fail(c, "code %" PRIu64 " is %08" PRIx64 "%s%s", code, got,
                               text != NULL ? ", recorded " : "", text != NULL ? text : "");
    }
    return 1;
}

/* Code by code; those of 16 bits stand in a file of their own, 32 bits each. */
static int decode_table(tly_hurray_case *c) {
    const json_t *values = GET(c, "values");
    size_t len, num = json_array_size(values);
    uint8_t *bytes;
    int good = 1;
    for (size_t code = 0; code < num; code++) {
        if (!check_value(c, code, json_array_get(values, code))) {
            return 0;
        }
    }
    if (num != 0) {
        return 1;
    }
    bytes = tly_hurray_read_file(c, tly_hurray_text(c->recorded, "binary"), &len);
    if (bytes == NULL) {
        return 0;
    }
    for (size_t code = 0; code < len / 4 && good; code++) {
        uint32_t wanted = tly_base_load_u32(bytes + 4 * code);
        uint64_t got = 0;
        good = converted(tly_format_find(TLY_F32), format_of(c), code, 0, &got) &&
               (got == wanted ||
                ((wanted & 0x7FFFFFFF) > 0x7F800000 && (got & 0x7FFFFFFF) > 0x7F800000));
        if (!good) {
            tly_hurray_fail(c, "code %zu is %08" PRIx64 ", recorded %08" PRIx32, code, got, wanted);
        }
    }
    if (good && len != 262144) {
        good = tly_hurray_fail(c, "the table has %zu bytes", len);
    }
    free(bytes);
    return good;
}

/* Rows of a number and the codes that it gets with and without saturation; the table does not
 * saturate formats of 16 bits. */
static int encode_table(tly_hurray_case *c) {
    const json_t *rows = GET(c, "rows");
    const tly_format *format = format_of(c);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *number = json_string_value(json_array_get(row, 0));
        for (size_t column = 0; column < 2; column++) {
            const json_t *wanted = json_array_get(row, 1 + column);
            uint64_t got = 0;
            if (json_is_null(wanted)) {
                continue;
            }
            if (number == NULL || format == NULL ||
                !converted(format, tly_format_find(TLY_F32), strtoul(number, NULL, 16),
                           column == 0 && format->bits < 16, &got) ||
                got != tly_hurray_number(wanted)) {
                return tly_hurray_fail(c, "row %zu: %s becomes code %" PRIu64, i,
                                       number != NULL ? number : "?", got);
            }
        }
    }
    return 1;
}

/* The elements of a vector of these bytes are these codes, and it takes so many bytes. */
static int packing(tly_hurray_case *c) {
    const json_t *codes = GET(c, "codes");
    uint64_t shape = json_array_size(codes);
    size_t len;
    uint8_t *bytes = tly_hurray_unhex(tly_hurray_text(c->recorded, "bytes"), &len);
    const void *buffers[1] = {bytes};
    tly_buffer_info buffer;
    tly_descriptor d;
    tly_tensor tensor = {.descriptor = &d, .buffers = buffers};
    tly_error error = {0};
    tly_view *view = NULL;
    int good = bytes != NULL;
    if (!good || tly_descriptor_init_row_major(&d, &buffer,
                                               (tly_dtype)json_integer_value(GET(c, "type_tag")), 1,
                                               &shape) != TLY_OK) {
        free(bytes);
        return tly_hurray_fail(c, "this type has no storage");
    }
    if (buffer.byte_size != tly_hurray_number(GET(c, "buffer_size")) || buffer.byte_size != len) {
        good = tly_hurray_fail(c, "%" PRIu64 " bytes", buffer.byte_size);
    }
    if (good && tly_view_new(c->context, &tensor, NULL, &view, &error) != TLY_OK) {
        good = tly_hurray_fail(c, "%s", error.message);
    }
    for (uint64_t i = 0; i < shape && good; i++) {
        const char *wanted = json_string_value(json_array_get(codes, (size_t)i));
        size_t digits = wanted != NULL ? strlen(wanted) : 0;
        char text[40];
        tly_code got = {0, 0};
        snprintf(text, sizeof text, "%s",
                 digits > 16   ? wanted + digits - 16
                 : digits != 0 ? wanted
                               : "");
        good = tly_view_get(view, &i, &got) == TLY_OK && got.low == strtoull(text, NULL, 16);
        if (good && digits > 16) {
            snprintf(text, sizeof text, "%.*s", (int)(digits - 16), wanted);
            good = got.high == strtoull(text, NULL, 16);
        }
        if (!good) {
            tly_hurray_fail(c, "element %" PRIu64 " is %" PRIx64 ", recorded %s", i, got.low,
                            wanted != NULL ? wanted : "none");
        }
    }
    tly_view_free(view);
    free(bytes);
    return good;
}

/* The levels of NF4, by way of a tensor that has every code once. */
static int nf4_levels(tly_hurray_case *c) {
    static const uint8_t codes[8] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE};
    static const uint8_t one[4] = {0, 0, 0x80, 0x3F};
    const json_t *rows = GET(c, "rows");
    const void *buffers[2] = {codes, one};
    uint64_t shape = 16;
    tly_buffer_info infos[2];
    tly_quantization q = {.scheme = TLY_QUANT_NF4,
                          .version = 1,
                          .block_size = 16,
                          .scale_buffer = 1,
                          .zero_point_buffer = UINT32_MAX,
                          .scale_type = TLY_F32};
    tly_descriptor d;
    tly_tensor tensor = {.descriptor = &d, .buffers = buffers};
    tly_error error = {0};
    float out[16];
    tly_descriptor_init_row_major(&d, infos, TLY_U4, 1, &shape);
    infos[1] = (tly_buffer_info){.byte_size = 4, .alignment = 64};
    d.num_buffers = 2;
    d.quantization = &q;
    if (tly_dequantize(c->context, &tensor, TLY_F32, out, NULL, &error) != TLY_OK) {
        return tly_hurray_fail(c, "%s", error.message);
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        uint64_t level = tly_hurray_number(json_array_get(row, 0));
        const char *wanted = json_string_value(json_array_get(row, 1));
        if (level > 15 || wanted == NULL ||
            tly_base_load_u32(&out[level]) != strtoul(wanted, NULL, 16)) {
            return tly_hurray_fail(c, "level %" PRIu64 " differs", level);
        }
    }
    return 1;
}

/* Numbers of 128 bits: what they become in 64. Complex ones: the bytes of both parts. */
static int known_values(tly_hurray_case *c) {
    const json_t *rows = GET(c, "rows");
    const tly_format *format = format_of(c);
    if (strcmp(tly_hurray_text(c->recorded, "type"), "nf4_lut") == 0) {
        return nf4_levels(c);
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *name = json_string_value(json_array_get(json_array_get(rows, i), 0));
        const char *hex = json_string_value(json_array_get(json_array_get(rows, i), 1));
        size_t len = 0;
        uint8_t *bytes = tly_hurray_unhex(hex, &len);
        double wanted = name != NULL ? strtod(name, NULL) : 0, got = 0;
        int good = bytes != NULL && format != NULL;
        if (good && len == 16 && format->klass == TLY_CLASS_FLOAT) { /* the highest byte first */
            tly_code code = {0, 0}, out = {0, 0};
            uint32_t flags = 0;
            for (size_t k = 0; k < 8; k++) {
                code.high = code.high << 8 | bytes[k];
                code.low = code.low << 8 | bytes[8 + k];
            }
            good = tly_convert_code(tly_format_find(TLY_F64), format, code, NULL, &out, &flags) ==
                   TLY_OK;
            memcpy(&got, &out.low, sizeof got);
            good = good && memcmp(&got, &wanted, sizeof got) == 0;
        } else if (good) { /* "1.5-2.0i" */
            char *rest;
            double part = strtod(name, &rest), imaginary = strtod(rest, NULL);
            uint64_t first = len == 16 ? tly_base_load_u64(bytes) : tly_base_load_u32(bytes);
            uint64_t second =
                len == 16 ? tly_base_load_u64(bytes + 8) : tly_base_load_u32(bytes + 4);
            uint64_t a = 0, b = 0;
            const tly_format *half = tly_format_find(len == 16 ? TLY_F64 : TLY_F32);
            good = len * 8 == format->bits &&
                   converted(tly_format_find(TLY_F64), half, first, 0, &a) &&
                   converted(tly_format_find(TLY_F64), half, second, 0, &b) &&
                   memcmp(&a, &part, 8) == 0 && memcmp(&b, &imaginary, 8) == 0;
        }
        free(bytes);
        if (!good) {
            return tly_hurray_fail(c, "%s is something else", name != NULL ? name : "a value");
        }
    }
    return 1;
}

int tly_hurray_type(tly_hurray_case *c) {
    const char *kind = tly_hurray_text(c->recorded, "kind");
    return strcmp(kind, "decode_table") == 0               ? decode_table(c)
           : strcmp(kind, "encode_table_informative") == 0 ? encode_table(c)
           : strcmp(kind, "packing") == 0                  ? packing(c)
                                                           : known_values(c);
}
