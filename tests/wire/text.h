/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded messages as the JSON text that the vectors have for them. */
#ifndef TLY_TESTS_WIRE_TEXT_H
#define TLY_TESTS_WIRE_TEXT_H

#include "tensor/text.h"
#include "wire/message.h"

static inline void text_hex(text_buffer *t, const uint8_t *bytes, uint64_t len) {
    for (uint64_t i = 0; i < len; i++) {
        text_add(t, "%02x", bytes[i]);
    }
}

/* A JSON string. The vectors hold nothing that JSON would escape. */
static inline void text_string(text_buffer *t, const char *text, uint32_t len) {
    text_add(t, "\"%.*s\"", (int)len, text);
}

static inline void text_layouts(text_buffer *t, tly_wire_layouts list) {
    tly_wire_layout l;
    const char *comma = "";
    text_add(t, "[");
    while (tly_wire_layouts_next(&list, &l)) {
        text_add(t, "%s{\"layout_tag\":%u", comma, l.tag);
        if (l.tag >= 0xF0) {
            text_add(t, ",\"ext_metadata\":\"");
            text_hex(t, l.metadata, l.metadata_len);
            text_add(t, "\"");
        }
        text_add(t, "}");
        comma = ",";
    }
    text_add(t, "]");
}

static inline void text_tags(text_buffer *t, const uint8_t *tags, uint32_t num) {
    text_add(t, "[");
    for (uint32_t i = 0; i < num; i++) {
        text_add(t, "%s%u", i != 0 ? "," : "", tags[i]);
    }
    text_add(t, "]");
}

static inline void text_hello(text_buffer *t, const tly_wire_hello *h) {
    text_add(t,
             "{\"protocol_version\":%u,\"max_message_size\":%u,\"capability_flags\":%llu,"
             "\"supported_layouts\":",
             h->protocol_version, h->max_message_size, (unsigned long long)h->capability_flags);
    text_layouts(t, h->layouts);
    text_add(t, ",\"supported_devices\":");
    text_tags(t, h->devices, h->num_devices);
    text_add(t, ",\"supported_memory_classes\":");
    if (h->memory_classes == NULL) {
        text_add(t, "null}");
    } else {
        text_tags(t, h->memory_classes, h->num_memory_classes);
        text_add(t, "}");
    }
}

static inline void text_request(text_buffer *t, const tly_wire_request *r) {
    text_add(t, "{\"tensor_key\":");
    text_string(t, r->key, r->key_len);
    text_add(t, ",\"preferred_layouts\":");
    text_layouts(t, r->layouts);
    text_add(t, ",\"preferred_device\":%u,\"min_alignment\":%u,\"request_flags\":%u}",
             r->preferred_device, r->min_alignment, r->request_flags);
}

static inline void text_descriptor(text_buffer *t, const tly_wire_descriptor *d) {
    text_add(t, "{\"descriptor\":\"");
    text_hex(t, d->bytes, d->len);
    text_add(t, "\",\"total_data_bytes\":%llu,\"shard_index\":%u,\"total_shards\":%u}",
             (unsigned long long)d->total_data_bytes, d->shard_index, d->total_shards);
}

static inline void text_put(text_buffer *t, const tly_wire_put *p) {
    text_add(t, "{\"tensor_key\":");
    text_string(t, p->key, p->key_len);
    text_add(t, ",\"descriptor\":\"");
    text_hex(t, p->descriptor, p->descriptor_len);
    text_add(t, "\",\"total_data_bytes\":%llu}", (unsigned long long)p->total_data_bytes);
}

static inline void text_region(text_buffer *t, const tly_wire_region *r) {
    text_add(t, "{\"remote_addr\":%llu,\"length\":%llu,\"rkey\":\"",
             (unsigned long long)r->remote_addr, (unsigned long long)r->len);
    text_hex(t, r->rkey, r->rkey_len);
    text_add(t, "\"}");
}

#endif
