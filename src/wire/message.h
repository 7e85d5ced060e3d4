/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of the protocol's messages: bytes to views and back. Nothing is copied or allocated;
 * offsets in errors count from the beginning of the payload. */
#ifndef TLY_WIRE_MESSAGE_H
#define TLY_WIRE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/wire.h>

#define TLY_WIRE_CAP_KNOWN                                                                         \
    (TLY_WIRE_CAP_TRANSCODING | TLY_WIRE_CAP_PARALLEL | TLY_WIRE_CAP_RDMA | TLY_WIRE_CAP_GPUDIRECT)

typedef struct tly_wire_header {
    uint32_t type;
    uint32_t stream;
    uint32_t payload_len;
} tly_wire_header;

tly_wire_header tly_wire_header_get(const uint8_t *bytes);
void tly_wire_header_put(uint8_t *bytes, uint32_t type, uint32_t stream, uint32_t payload_len);

/* Readers. Errors: TRUNCATED, MALFORMED. What the protocol version means is left to the caller. */
tly_status tly_wire_hello_get(const void *bytes, size_t len, tly_wire_hello *out, tly_error *error);
tly_status tly_wire_request_get(const void *bytes, size_t len, tly_wire_request *out,
                                tly_error *error);
tly_status tly_wire_descriptor_get(const void *bytes, size_t len, tly_wire_descriptor *out,
                                   tly_error *error);
tly_status tly_wire_put_get(const void *bytes, size_t len, tly_wire_put *out, tly_error *error);
tly_status tly_wire_region_get(const void *bytes, size_t len, tly_wire_region *out,
                               tly_error *error);
/* An ERROR cannot be answered with an ERROR: what is wrong in one is read as well as it goes. */
void tly_wire_error_get(const void *bytes, size_t len, uint32_t *out_code, const char **out_text,
                        uint32_t *out_text_len);

/* Lengths of payloads, and writers into that many bytes. The views must be legal. */
uint64_t tly_wire_hello_len(const tly_wire_hello *hello);
void tly_wire_hello_put(uint8_t *out, const tly_wire_hello *hello);
uint64_t tly_wire_request_len(const tly_wire_request *request);
void tly_wire_request_put(uint8_t *out, const tly_wire_request *request);
uint64_t tly_wire_descriptor_len(uint64_t descriptor_len);
void tly_wire_descriptor_put(uint8_t *out, const void *descriptor, uint64_t len,
                             uint64_t total_data_bytes, uint32_t shard_index,
                             uint32_t total_shards);
uint64_t tly_wire_put_len(const tly_wire_put *put);
void tly_wire_put_put(uint8_t *out, const tly_wire_put *put);
uint64_t tly_wire_region_len(const tly_wire_region *region);
void tly_wire_region_put(uint8_t *out, const tly_wire_region *region);
void tly_wire_error_put(uint8_t *out, uint32_t code, const char *text, uint32_t text_len);

/* Does the receiver take this tensor? Decoded, its buffers hold its elements and are those that
 * `total` announces, ready, and on a device and in memory of the receiver's HELLO `ours` (where an
 * empty list means CPU, STANDARD). Arrays go to `work` (`len` + 32 bytes). `out_code` gets the
 * tly_wire_code of a refusal. Errors: TRUNCATED, MALFORMED, UNSUPPORTED, OVERFLOW. */
tly_status tly_wire_accept(const void *bytes, size_t len, uint64_t total,
                           const tly_wire_hello *ours, void *work, size_t work_len,
                           tly_descriptor *out_descriptor, uint32_t *out_code, tly_error *error);

#endif
