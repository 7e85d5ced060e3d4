/* SPDX-License-Identifier: Apache-2.0 */
/* Local hand-over of tensors in sealed memory files (docs/spec/handover.md). */
#ifndef TLY_NET_HANDOVER_H
#define TLY_NET_HANDOVER_H

#include <stdint.h>

#include <tilery/wire.h>

#define TLY_HANDOVER_TAG          0xF1
#define TLY_HANDOVER_METADATA_LEN 8
#define TLY_HANDOVER_TYPE         0xF1
#define TLY_HANDOVER_TYPES        (1u << (TLY_HANDOVER_TYPE - TLY_WIRE_PRIVATE_FIRST))
#define TLY_HANDOVER_LEN          16 /* of the message's payload */
#define TLY_HANDOVER_ALIGNMENT    4096

typedef struct tly_handover {
    uint64_t file_offset;
    uint64_t total_data_bytes;
} tly_handover;

/* The entry that announces it; its metadata has static storage. */
tly_wire_layout tly_net_handover_entry(void);

/* Does this HELLO announce it? */
int tly_net_handover_announced(const tly_wire_hello *hello);

void tly_net_handover_put(const tly_handover *handover, uint8_t out[TLY_HANDOVER_LEN]);

/* Reads the message and checks the file that came with it; `fd` stays the caller's. Errors:
 * PROTOCOL, with a rule. */
tly_status tly_net_handover_get(const uint8_t *bytes, uint64_t len, int fd, tly_handover *out,
                                tly_error *error);

#endif
