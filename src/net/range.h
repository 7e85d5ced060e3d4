/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that begin in the middle of a tensor (docs/spec/range.md). */
#ifndef TLY_NET_RANGE_H
#define TLY_NET_RANGE_H

#include <stdint.h>

#include <tilery/wire.h>

#define TLY_RANGE_TAG         0xF3
#define TLY_RANGE_TYPE        0xF2 /* of the private message */
#define TLY_RANGE_TYPES       (1u << (TLY_RANGE_TYPE - TLY_WIRE_PRIVATE_FIRST))
#define TLY_RANGE_VERSION_LEN 16
#define TLY_RANGE_LEN         24 /* of the message's payload */
#define TLY_RANGE_ENTRY_LEN   (8 + TLY_RANGE_LEN)

/* From which byte on, and of which bytes: two answers with the same version have the same data. */
typedef struct tly_range {
    uint64_t first;
    uint8_t version[TLY_RANGE_VERSION_LEN];
} tly_range;

/* The entry that announces ranges in a HELLO; its metadata has static storage. */
tly_wire_layout tly_net_range_announcement(void);
int tly_net_range_announced(const tly_wire_hello *hello);

/* The entry of a request that asks for a range; `room` takes its metadata. */
tly_wire_layout tly_net_range_entry(const tly_range *range, uint8_t room[TLY_RANGE_ENTRY_LEN]);

/* What a request asks for; 0 if for no range. */
int tly_net_range_find(const tly_wire_layouts *layouts, tly_range *out);

void tly_net_range_put(const tly_range *range, uint8_t out[TLY_RANGE_LEN]);
int tly_net_range_get(const uint8_t *bytes, uint64_t len, tly_range *out); /* 0: malformed */

#endif
