/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/message.h"

#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/utf8.h"

/* Transport fields behind the descriptor: total_data_bytes, shard_index, total_shards. */
#define DESCRIPTOR_TAIL_LEN 16
/* Magic, version and descriptor_length at the head of a descriptor. */
#define DESCRIPTOR_HEAD_LEN 10

tly_wire_header tly_wire_header_get(const uint8_t *bytes) {
    tly_wire_header h = {tly_base_load_u32(bytes), tly_base_load_u32(bytes + 4),
                         tly_base_load_u32(bytes + 8)};
    return h;
}

void tly_wire_header_put(uint8_t *bytes, uint32_t type, uint32_t stream, uint32_t payload_len) {
    tly_base_store_u32(bytes, type);
    tly_base_store_u32(bytes + 4, stream);
    tly_base_store_u32(bytes + 8, payload_len);
}

static tly_status truncated(const tly_cursor *c, const char *rule, const char *message,
                            const char *field, tly_error *error) {
    return tly_base_fail(error, TLY_TRUNCATED, tly_cursor_offset(c), rule,
                         "%s ends after %zu bytes, in %s", message, (size_t)(c->end - c->base),
                         field);
}

static tly_status trailing(const tly_cursor *c, const char *rule, const char *message,
                           tly_error *error) {
    return tly_base_fail(error, TLY_MALFORMED, tly_cursor_offset(c), rule,
                         "%s goes on for %zu bytes after its last field", message,
                         tly_cursor_left(c));
}

static int take_layouts(tly_cursor *c, tly_wire_layouts *out, tly_status *status,
                        tly_error *error) {
    uint16_t num;
    uint64_t before;
    if (!tly_cursor_u16(c, &num)) {
        *status = TLY_OK; /* the caller names the field */
        return 0;
    }
    before = tly_cursor_offset(c);
    *status = tly_wire_layouts_get(c->at, tly_cursor_left(c), num, out, error);
    if (*status != TLY_OK) {
        if (error != NULL) {
            error->offset += before;
        }
        return 0;
    }
    c->at += out->len;
    return 1;
}

static int take_list(tly_cursor *c, const uint8_t **out, uint32_t *out_num) {
    uint16_t num;
    if (!tly_cursor_u16(c, &num) || !tly_cursor_take(c, num, out)) {
        return 0;
    }
    *out_num = num;
    return 1;
}

tly_status tly_wire_hello_get(const void *bytes, size_t len, tly_wire_hello *out,
                              tly_error *error) {
    tly_cursor c = tly_cursor_make(bytes, len);
    tly_status status;
    memset(out, 0, sizeof *out);
    if (!tly_cursor_u32(&c, &out->protocol_version) ||
        !tly_cursor_u32(&c, &out->max_message_size) ||
        !tly_cursor_u64(&c, &out->capability_flags)) {
        return truncated(&c, "hello-trunc", "the HELLO", "its fixed fields", error);
    }
    if (!take_layouts(&c, &out->layouts, &status, error)) {
        return status != TLY_OK
                   ? status
                   : truncated(&c, "hello-trunc", "the HELLO", "supported_layouts", error);
    }
    if (!take_list(&c, &out->devices, &out->num_devices)) {
        return truncated(&c, "hello-trunc", "the HELLO", "supported_devices", error);
    }
    /* The list of memory classes, alone of all, may be absent. */
    if (tly_cursor_left(&c) != 0 &&
        !take_list(&c, &out->memory_classes, &out->num_memory_classes)) {
        return truncated(&c, "hello-trunc", "the HELLO", "supported_memory_classes", error);
    }
    if (tly_cursor_left(&c) != 0) {
        return trailing(&c, "hello-trail", "the HELLO", error);
    }
    if ((out->capability_flags & ~TLY_WIRE_CAP_KNOWN) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, 8, "cap-reserved",
                             "capability_flags 0x%llx sets reserved bits",
                             (unsigned long long)out->capability_flags);
    }
    if ((out->capability_flags & TLY_WIRE_CAP_GPUDIRECT) != 0 &&
        (out->capability_flags & TLY_WIRE_CAP_RDMA) == 0) {
        return tly_base_fail(error, TLY_MALFORMED, 8, "cap-gpudirect",
                             "RDMA_GPUDIRECT is announced without RDMA_DATA_PLANE");
    }
    return TLY_OK;
}

static tly_status check_key(const uint8_t *key, uint32_t key_len, tly_error *error) {
    size_t bad = tly_base_utf8_check(key, key_len);
    if (bad != key_len) {
        return tly_base_fail(error, TLY_MALFORMED, 4 + bad, "key-utf8",
                             "tensor_key is not UTF-8 at its byte %zu", bad);
    }
    return TLY_OK;
}

tly_status tly_wire_request_get(const void *bytes, size_t len, tly_wire_request *out,
                                tly_error *error) {
    tly_cursor c = tly_cursor_make(bytes, len);
    const uint8_t *key;
    tly_status status;
    memset(out, 0, sizeof *out);
    if (!tly_cursor_u32(&c, &out->key_len) || !tly_cursor_take(&c, out->key_len, &key)) {
        return truncated(&c, "req-trunc", "the TENSOR_REQUEST", "tensor_key", error);
    }
    if (!take_layouts(&c, &out->layouts, &status, error)) {
        return status != TLY_OK
                   ? status
                   : truncated(&c, "req-trunc", "the TENSOR_REQUEST", "preferred_layouts", error);
    }
    if (!tly_cursor_u8(&c, &out->preferred_device) || !tly_cursor_u32(&c, &out->min_alignment) ||
        !tly_cursor_u32(&c, &out->request_flags)) {
        return truncated(&c, "req-trunc", "the TENSOR_REQUEST", "its last fields", error);
    }
    if (tly_cursor_left(&c) != 0) {
        return trailing(&c, "req-trail", "the TENSOR_REQUEST", error);
    }
    status = check_key(key, out->key_len, error);
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_base_is_power_of_two(out->min_alignment)) {
        return tly_base_fail(error, TLY_MALFORMED, len - 8, "min-align",
                             "min_alignment %u is not a power of two", out->min_alignment);
    }
    if ((out->request_flags & ~(TLY_WIRE_ALLOW_TRANSCODE | TLY_WIRE_PARALLEL_OK)) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, len - 4, "req-flags",
                             "request_flags 0x%x sets reserved bits", out->request_flags);
    }
    if (out->preferred_device == 0xFF) {
        return tly_base_fail(error, TLY_MALFORMED, len - 9, "device-ff",
                             "preferred_device 0xFF is no device");
    }
    out->key = (const char *)key;
    return TLY_OK;
}

/* The head of a descriptor of which `len` bytes are there; it must fill them. */
static tly_status check_head(const uint8_t *p, uint64_t len, uint64_t offset, const char *message,
                             tly_error *error) {
    uint32_t announced;
    if (len < DESCRIPTOR_HEAD_LEN) {
        return tly_base_fail(error, TLY_TRUNCATED, offset + len, "desc-trunc",
                             "the %s has %llu bytes of descriptor, too few for any", message,
                             (unsigned long long)len);
    }
    if (memcmp(p, "HRRY", 4) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, offset, "desc-magic",
                             "the descriptor does not begin with HRRY");
    }
    announced = tly_base_load_u32(p + 6);
    if (announced != len) {
        return tly_base_fail(error, announced > len ? TLY_TRUNCATED : TLY_MALFORMED, offset + 6,
                             announced > len ? "desc-trunc" : "desc-trail",
                             "a descriptor of %u bytes, but the %s has room for %llu", announced,
                             message, (unsigned long long)len);
    }
    return TLY_OK;
}

tly_status tly_wire_descriptor_get(const void *bytes, size_t len, tly_wire_descriptor *out,
                                   tly_error *error) {
    const uint8_t *p = bytes;
    const uint8_t *tail;
    tly_status status;
    memset(out, 0, sizeof *out);
    if (len < DESCRIPTOR_HEAD_LEN + DESCRIPTOR_TAIL_LEN) {
        return tly_base_fail(error, TLY_TRUNCATED, len, "desc-trunc",
                             "the TENSOR_DESCRIPTOR has %zu bytes, too few for any descriptor",
                             len);
    }
    status = check_head(p, len - DESCRIPTOR_TAIL_LEN, 0, "TENSOR_DESCRIPTOR", error);
    if (status != TLY_OK) {
        return status;
    }
    out->bytes = p;
    out->len = len - DESCRIPTOR_TAIL_LEN;
    tail = p + out->len;
    out->total_data_bytes = tly_base_load_u64(tail);
    out->shard_index = tly_base_load_u32(tail + 8);
    out->total_shards = tly_base_load_u32(tail + 12);
    if (out->shard_index >= out->total_shards) {
        return tly_base_fail(error, TLY_MALFORMED, out->len + 8, "shard-index",
                             "shard %u of %u does not exist", out->shard_index, out->total_shards);
    }
    return TLY_OK;
}

tly_status tly_wire_put_get(const void *bytes, size_t len, tly_wire_put *out, tly_error *error) {
    tly_cursor c = tly_cursor_make(bytes, len);
    const uint8_t *key;
    tly_status status;
    memset(out, 0, sizeof *out);
    if (!tly_cursor_u32(&c, &out->key_len) || !tly_cursor_take(&c, out->key_len, &key)) {
        return truncated(&c, "put-trunc", "the TENSOR_PUT", "tensor_key", error);
    }
    status = check_key(key, out->key_len, error);
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_cursor_u32(&c, &out->descriptor_len) ||
        !tly_cursor_take(&c, out->descriptor_len, &out->descriptor)) {
        return truncated(&c, "put-trunc", "the TENSOR_PUT", "descriptor", error);
    }
    if (!tly_cursor_u64(&c, &out->total_data_bytes)) {
        return truncated(&c, "put-trunc", "the TENSOR_PUT", "total_data_bytes", error);
    }
    if (tly_cursor_left(&c) != 0) {
        return trailing(&c, "put-trail", "the TENSOR_PUT", error);
    }
    out->key = (const char *)key;
    return check_head(out->descriptor, out->descriptor_len, UINT64_C(8) + out->key_len,
                      "TENSOR_PUT", error);
}

tly_status tly_wire_region_get(const void *bytes, size_t len, tly_wire_region *out,
                               tly_error *error) {
    tly_cursor c = tly_cursor_make(bytes, len);
    memset(out, 0, sizeof *out);
    if (!tly_cursor_u64(&c, &out->remote_addr) || !tly_cursor_u64(&c, &out->len)) {
        return truncated(&c, "rdma-trunc", "the RDMA_REGISTER", "its fixed fields", error);
    }
    if (!tly_cursor_u32(&c, &out->rkey_len) || !tly_cursor_take(&c, out->rkey_len, &out->rkey)) {
        return truncated(&c, "rdma-trunc", "the RDMA_REGISTER", "rkey", error);
    }
    return tly_cursor_left(&c) == 0 ? TLY_OK
                                    : trailing(&c, "rdma-trail", "the RDMA_REGISTER", error);
}

void tly_wire_error_get(const void *bytes, size_t len, uint32_t *out_code, const char **out_text,
                        uint32_t *out_text_len) {
    tly_cursor c = tly_cursor_make(bytes, len);
    const uint8_t *text = NULL;
    uint32_t text_len = 0;
    *out_code = TLY_WIRE_INVALID_MESSAGE;
    *out_text = "";
    *out_text_len = 0;
    if (!tly_cursor_u32(&c, out_code) || !tly_cursor_u32(&c, &text_len)) {
        return;
    }
    if (text_len > tly_cursor_left(&c)) {
        text_len = (uint32_t)tly_cursor_left(&c);
    }
    if (text_len != 0 && tly_cursor_take(&c, text_len, &text)) {
        *out_text = (const char *)text;
        *out_text_len = text_len;
    }
}

static uint8_t *put_bytes(uint8_t *out, const void *bytes, size_t len) {
    if (len != 0) {
        memcpy(out, bytes, len);
    }
    return out + len;
}

static uint8_t *put_list(uint8_t *out, const void *bytes, size_t len, uint32_t num) {
    tly_base_store_u16(out, (uint16_t)num);
    return put_bytes(out + 2, bytes, len);
}

uint64_t tly_wire_hello_len(const tly_wire_hello *hello) {
    return 16 + 2 + (uint64_t)hello->layouts.len + 2 + hello->num_devices + 2 +
           hello->num_memory_classes;
}

void tly_wire_hello_put(uint8_t *out, const tly_wire_hello *hello) {
    tly_base_store_u32(out, hello->protocol_version);
    tly_base_store_u32(out + 4, hello->max_message_size);
    tly_base_store_u64(out + 8, hello->capability_flags);
    out = put_list(out + 16, hello->layouts.bytes, hello->layouts.len, hello->layouts.num);
    out = put_list(out, hello->devices, hello->num_devices, hello->num_devices);
    put_list(out, hello->memory_classes, hello->num_memory_classes, hello->num_memory_classes);
}

uint64_t tly_wire_request_len(const tly_wire_request *request) {
    return 4 + (uint64_t)request->key_len + 2 + request->layouts.len + 9;
}

void tly_wire_request_put(uint8_t *out, const tly_wire_request *request) {
    tly_base_store_u32(out, request->key_len);
    out = put_bytes(out + 4, request->key, request->key_len);
    out = put_list(out, request->layouts.bytes, request->layouts.len, request->layouts.num);
    *out = request->preferred_device;
    tly_base_store_u32(out + 1, request->min_alignment);
    tly_base_store_u32(out + 5, request->request_flags);
}

uint64_t tly_wire_descriptor_len(uint64_t descriptor_len) {
    return descriptor_len + DESCRIPTOR_TAIL_LEN;
}

void tly_wire_descriptor_put(uint8_t *out, const void *descriptor, uint64_t len,
                             uint64_t total_data_bytes, uint32_t shard_index,
                             uint32_t total_shards) {
    out = put_bytes(out, descriptor, len);
    tly_base_store_u64(out, total_data_bytes);
    tly_base_store_u32(out + 8, shard_index);
    tly_base_store_u32(out + 12, total_shards);
}

uint64_t tly_wire_put_len(const tly_wire_put *put) {
    return 4 + (uint64_t)put->key_len + 4 + put->descriptor_len + 8;
}

void tly_wire_put_put(uint8_t *out, const tly_wire_put *put) {
    tly_base_store_u32(out, put->key_len);
    out = put_bytes(out + 4, put->key, put->key_len);
    tly_base_store_u32(out, put->descriptor_len);
    out = put_bytes(out + 4, put->descriptor, put->descriptor_len);
    tly_base_store_u64(out, put->total_data_bytes);
}

uint64_t tly_wire_region_len(const tly_wire_region *region) {
    return 20 + (uint64_t)region->rkey_len;
}

void tly_wire_region_put(uint8_t *out, const tly_wire_region *region) {
    tly_base_store_u64(out, region->remote_addr);
    tly_base_store_u64(out + 8, region->len);
    tly_base_store_u32(out + 16, region->rkey_len);
    put_bytes(out + 20, region->rkey, region->rkey_len);
}

void tly_wire_error_put(uint8_t *out, uint32_t code, const char *text, uint32_t text_len) {
    tly_base_store_u32(out, code);
    tly_base_store_u32(out + 4, text_len);
    put_bytes(out + 8, text, text_len);
}
