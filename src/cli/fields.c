/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fields.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tilery/dtype.h>
#include <tilery/tensor.h>

#include "base/bytes.h"
#include "cli/describe.h"

#define LABEL_LEN 64
#define VALUE_LEN 160

typedef struct walker {
    const uint8_t *bytes;
    size_t len;
    size_t at;
    tly_fields_fn tell;
    void *user;
    uint32_t flags;
    uint32_t rank;
    uint8_t layout;
} walker;

/* One field with its value; 0 when the bytes do not reach. */
__attribute__((format(printf, 4, 5))) static int field(walker *w, size_t len, const char *label,
                                                       const char *format, ...) {
    char value[VALUE_LEN];
    va_list args;
    if (len > w->len - w->at) {
        return 0;
    }
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    if (len != 0) {
        w->tell(w->user, w->at, len, label, value);
    }
    w->at += len;
    return 1;
}

static int has(const walker *w, size_t len) {
    return len <= w->len - w->at;
}

static uint8_t u8(const walker *w) {
    return has(w, 1) ? w->bytes[w->at] : 0;
}

static uint16_t u16(const walker *w) {
    return has(w, 2) ? tly_base_load_u16(w->bytes + w->at) : 0;
}

static uint32_t u32(const walker *w) {
    return has(w, 4) ? tly_base_load_u32(w->bytes + w->at) : 0;
}

static uint64_t u64(const walker *w) {
    return has(w, 8) ? tly_base_load_u64(w->bytes + w->at) : 0;
}

static double f64(const walker *w) {
    uint64_t bits = u64(w);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int reserved(walker *w, size_t len) {
    return field(w, len, "reserved", "%s", "");
}

/* A number of 8, 16, 32 or 64 bits. */
static int number(walker *w, size_t len, const char *label) {
    uint64_t value = len == 1 ? u8(w) : len == 2 ? u16(w) : len == 4 ? u32(w) : u64(w);
    return field(w, len, label, "%" PRIu64, value);
}

/* A number that means nothing when all its bits are set. */
static int number_or(walker *w, const char *label, const char *otherwise) {
    return u32(w) == UINT32_MAX ? field(w, 4, label, "%s", otherwise) : number(w, 4, label);
}

/* The name that stands for a small number. */
static int choice(walker *w, const char *label, const char *const *names, size_t num) {
    uint8_t value = u8(w);
    return value < num && names[value] != NULL ? field(w, 1, label, "%u (%s)", value, names[value])
                                               : field(w, 1, label, "%u (unknown)", value);
}

#define CHOICE(w, label, names) choice(w, label, names, sizeof(names) / sizeof(names)[0])

static int truth(walker *w, const char *label) {
    static const char *const names[] = {"no", "yes"};
    return CHOICE(w, label, names);
}

/* One number for each axis; `width` negative: with a sign. */
static int axes(walker *w, int width, const char *label) {
    for (uint32_t k = 0; k < w->rank; k++) {
        char text[LABEL_LEN];
        int done;
        snprintf(text, sizeof text, "%s[%u]", label, k);
        done = width == -8 ? field(w, 8, text, "%" PRId64, (int64_t)u64(w))
                           : number(w, (size_t)width, text);
        if (!done) {
            return 0;
        }
    }
    return 1;
}

static int flags(walker *w) {
    static const char *const names[] = {"quantization", "shard", "extension type", "statistics",
                                        "composite member"};
    char text[VALUE_LEN] = "";
    size_t used = 0;
    w->flags = u32(w);
    for (uint32_t i = 0; i < 32; i++) {
        if ((w->flags >> i & 1) != 0) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used != 0 ? ", " : "",
                                     i < 5 ? names[i] : "reserved");
            used = used < sizeof text ? used : sizeof text - 1;
        }
    }
    return field(w, 4, "flags", "%s", w->flags != 0 ? text : "none");
}

static int header(walker *w) {
    char text[32];
    const char *layout;
    if (!field(w, 4, "magic", "%s",
               has(w, 4) && memcmp(w->bytes, "HRRY", 4) == 0 ? "HRRY" : "not HRRY") ||
        !number(w, 1, "major version") || !number(w, 1, "minor version") ||
        !number(w, 4, "descriptor length") || !flags(w) ||
        !field(w, 1, "element type", "%s", tly_describe_dtype(text, sizeof text, u8(w)))) {
        return 0;
    }
    w->layout = u8(w);
    layout = tly_layout_name(w->layout);
    if (!field(w, 1, "layout", "0x%02X (%s)", w->layout, layout != NULL ? layout : "unknown")) {
        return 0;
    }
    w->rank = u32(w);
    if (!number(w, 4, "rank") || w->rank > TLY_MAX_RANK) {
        return 0;
    }
    for (uint32_t k = 0; k < w->rank; k++) {
        char label[LABEL_LEN];
        snprintf(label, sizeof label, "shape[%u]", k);
        if (!(u64(w) == TLY_DYNAMIC ? field(w, 8, label, "not known yet") : number(w, 8, label))) {
            return 0;
        }
    }
    return number(w, 8, "byte offset");
}

static int tiled(walker *w) {
    static const char *const orders[] = {NULL, "row-major", "column-major", "strided", "nested"};
    for (uint32_t level = 0; level < TLY_TILE_MAX_LEVELS; level++) {
        uint8_t outer, inner;
        if (!axes(w, 8, "tile shape")) {
            return 0;
        }
        outer = u8(w);
        if (!choice(w, "order of the tiles", orders, 4)) {
            return 0;
        }
        inner = u8(w);
        if (!CHOICE(w, "order inside a tile", orders) || !reserved(w, 2) ||
            (outer == TLY_TILE_STRIDED && !axes(w, -8, "stride of tiles")) ||
            (inner == TLY_TILE_STRIDED && !axes(w, -8, "stride inside"))) {
            return 0;
        }
        if (inner != TLY_TILE_NESTED) {
            return 1;
        }
    }
    return 1;
}

static int paged(walker *w) {
    static const char *const roles[] = {"key", "value", "other"};
    static const char *const types[] = {"uint32", "uint64"};
    return number(w, 4, "page size, tokens") && number(w, 8, "number of pages") &&
           number(w, 4, "paged axis") && number(w, 4, "sequences") && CHOICE(w, "role", roles) &&
           number_or(w, "layer", "none") && CHOICE(w, "type of the block table", types) &&
           reserved(w, 6);
}

static int composite(walker *w) {
    static const char *const rules[] = {NULL, "partition", "overlay", "group"};
    static const char *const operations[] = {"none", "replace", "add"};
    return CHOICE(w, "rule", rules) && CHOICE(w, "operation", operations) && reserved(w, 2) &&
           number(w, 4, "members");
}

static int layout_fields(walker *w) {
    switch (w->layout) {
    case TLY_LAYOUT_STRIDED:
        return axes(w, -8, "stride");
    case TLY_LAYOUT_TILED:
        return tiled(w);
    case TLY_LAYOUT_MORTON:
        return axes(w, 4, "Morton bits");
    case TLY_LAYOUT_COO:
        return number(w, 8, "stored elements") && truth(w, "sorted") && reserved(w, 7);
    case TLY_LAYOUT_CSR:
    case TLY_LAYOUT_CSC:
        return number(w, 8, "stored elements") && reserved(w, 8);
    case TLY_LAYOUT_CSF:
        return number(w, 8, "stored elements") && axes(w, 4, "axis of level") && reserved(w, 8);
    case TLY_LAYOUT_BLOCK_PAGED:
        return paged(w);
    case TLY_LAYOUT_COMPOSITE:
        return composite(w);
    case TLY_LAYOUT_HILBERT:
        return number(w, 4, "Hilbert order") && number(w, 4, "Hilbert rank");
    default:
        if (w->layout >= TLY_LAYOUT_PRIVATE_FIRST && w->layout <= TLY_LAYOUT_PRIVATE_LAST) {
            uint32_t len;
            int done = field(w, 8, "private layout", "0x%016" PRIX64, u64(w));
            len = u32(w);
            return done && number(w, 4, "length of private data") &&
                   field(w, len, "private data", "%s", "");
        }
        return w->layout == TLY_LAYOUT_ROW_MAJOR || w->layout == TLY_LAYOUT_COL_MAJOR;
    }
}

static int device(walker *w, const char *label) {
    static const char *const names[] = {"CPU",    "CUDA",    "ROCm",       "Metal", "Vulkan",
                                        "WebGPU", "Hexagon", "Level Zero", "OpenCL"};
    return CHOICE(w, label, names);
}

static int buffers(walker *w) {
    static const char *const syncs[] = {"ready", "event", "stream of the consumer"};
    static const char *const classes[] = {"standard", "pinned on the host", "unified", "peer"};
    uint8_t num = u8(w);
    if (!number(w, 1, "number of buffers")) {
        return 0;
    }
    for (uint32_t i = 0; i < num; i++) {
        char size[LABEL_LEN], alignment[LABEL_LEN], where[LABEL_LEN], sync[LABEL_LEN],
            class[LABEL_LEN], rest[LABEL_LEN];
        snprintf(size, sizeof size, "buffer %u: bytes", i);
        snprintf(alignment, sizeof alignment, "buffer %u: alignment", i);
        snprintf(where, sizeof where, "buffer %u: device", i);
        snprintf(sync, sizeof sync, "buffer %u: synchronisation", i);
        snprintf(class, sizeof class, "buffer %u: memory class", i);
        snprintf(rest, sizeof rest, "buffer %u: reserved", i);
        if (!number(w, 8, size) || !number(w, 4, alignment) || !device(w, where) ||
            !CHOICE(w, sync, syncs) || !CHOICE(w, class, classes) || !field(w, 1, rest, "%s", "")) {
            return 0;
        }
    }
    return 1;
}

static int quantization(walker *w) {
    static const char *const schemes[] = {NULL,        "per tensor", "per channel",
                                          "per block", "NF4",        "MXFP"};
    uint32_t len = u32(w);
    size_t end;
    uint8_t scheme;
    char type[32];
    if (!number(w, 4, "length of the quantization") || !has(w, len)) {
        return 0;
    }
    end = w->at + len;
    scheme = u8(w);
    if (!CHOICE(w, "scheme", schemes) || !number(w, 1, "version of the scheme") ||
        !field(w, 2, "flags of the scheme", "%s",
               u16(w) == 1   ? "symmetric"
               : u16(w) == 0 ? "none"
                             : "?")) {
        return 0;
    }
    if (scheme == TLY_QUANT_PER_TENSOR) {
        uint32_t bits = u32(w);
        float scale;
        memcpy(&scale, &bits, sizeof scale);
        if (!field(w, 4, "scale", "%.9g", (double)scale) ||
            !field(w, 4, "zero point", "%" PRId32, (int32_t)u32(w)) || !reserved(w, 4)) {
            return 0;
        }
    } else if (scheme >= TLY_QUANT_PER_CHANNEL && scheme <= TLY_QUANT_MXFP) {
        if (!number(w, 4, "axis") ||
            (scheme != TLY_QUANT_PER_CHANNEL && !number(w, 4, "block size")) ||
            !number(w, 4, "buffer of the scales")) {
            return 0;
        }
        if (scheme <= TLY_QUANT_PER_BLOCK &&
            (!number_or(w, "buffer of the zero points", "none") ||
             !field(w, 1, "type of the scales", "%s",
                    tly_describe_dtype(type, sizeof type, u8(w))) ||
             !reserved(w, 3))) {
            return 0;
        }
    }
    return w->at <= end && field(w, end - w->at, "behind the quantization", "%s", "");
}

static int statistics(walker *w) {
    static const char *const values[] = {"share of zeros",    "minimum", "maximum",
                                         "largest magnitude", "mean",    "standard deviation"};
    if (!field(w, 4, "statistics that are known", "0x%02X", u32(w)) || !reserved(w, 4) ||
        !number(w, 8, "elements that are not zero")) {
        return 0;
    }
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (!field(w, 8, values[i], "%.17g", f64(w))) {
            return 0;
        }
    }
    return number(w, 1, "n of every m") && number(w, 1, "m") && truth(w, "has NaN") &&
           truth(w, "has infinity") && reserved(w, 4);
}

static int extension(walker *w) {
    return number(w, 4, "bits of an element") && number(w, 1, "elements in a byte") &&
           truth(w, "is floating point") && truth(w, "is signed") && number(w, 1, "sign bits") &&
           number(w, 1, "exponent bits") && number(w, 1, "mantissa bits") && reserved(w, 2) &&
           number(w, 4, "exponent bias") && truth(w, "has NaN") && truth(w, "has infinity") &&
           reserved(w, 2);
}

static int member(walker *w) {
    static const char *const roles[] = {"correction", "base"};
    return CHOICE(w, "role in the composite", roles) && reserved(w, 15);
}

/* In the order in which the sections follow, which is not that of the flags. */
static int sections(walker *w) {
    return ((w->flags & TLY_FLAG_QUANTIZATION) == 0 || quantization(w)) &&
           ((w->flags & TLY_FLAG_SHARD) == 0 ||
            (axes(w, 8, "parent shape") && axes(w, 8, "offset in the parent"))) &&
           ((w->flags & TLY_FLAG_STATISTICS) == 0 || statistics(w)) &&
           ((w->flags & TLY_FLAG_EXTENSION_TYPE) == 0 || extension(w)) &&
           ((w->flags & TLY_FLAG_COMPOSITE_MEMBER) == 0 || member(w));
}

void tly_fields_walk(const uint8_t *bytes, size_t len, tly_fields_fn tell, void *user) {
    walker w = {.bytes = bytes, .len = len, .tell = tell, .user = user};
    int whole = header(&w) && layout_fields(&w) && buffers(&w) && sections(&w);
    if (w.at < len) {
        tell(user, w.at, len - w.at, whole ? "behind the known fields" : "not understood", "");
    }
}
