/* SPDX-License-Identifier: Apache-2.0 */
#include "net/range.h"

#include <string.h>

#include "base/bytes.h"

static const uint8_t magic[8] = {'T', 'L', 'Y', 'R', 'N', 'G', '0', '1'};

tly_wire_layout tly_net_range_announcement(void) {
    tly_wire_layout entry = {.tag = TLY_RANGE_TAG, .metadata_len = sizeof magic, .metadata = magic};
    return entry;
}

/* Is this an entry of ours with `len` bytes behind the magic? */
static int is_entry(const tly_wire_layout *entry, size_t len) {
    return entry->tag == TLY_RANGE_TAG && entry->metadata_len == sizeof magic + len &&
           memcmp(entry->metadata, magic, sizeof magic) == 0;
}

int tly_net_range_announced(const tly_wire_hello *hello) {
    tly_wire_layouts list = hello->layouts;
    tly_wire_layout entry;
    while (tly_wire_layouts_next(&list, &entry)) {
        if (is_entry(&entry, 0)) {
            return 1;
        }
    }
    return 0;
}

tly_wire_layout tly_net_range_entry(const tly_range *range, uint8_t room[TLY_RANGE_ENTRY_LEN]) {
    tly_wire_layout entry = {
        .tag = TLY_RANGE_TAG, .metadata_len = TLY_RANGE_ENTRY_LEN, .metadata = room};
    memcpy(room, magic, sizeof magic);
    tly_net_range_put(range, room + sizeof magic);
    return entry;
}

int tly_net_range_find(const tly_wire_layouts *layouts, tly_range *out) {
    tly_wire_layouts list = *layouts;
    tly_wire_layout entry;
    while (tly_wire_layouts_next(&list, &entry)) {
        if (is_entry(&entry, TLY_RANGE_LEN)) {
            return tly_net_range_get(entry.metadata + sizeof magic, TLY_RANGE_LEN, out);
        }
    }
    return 0;
}

void tly_net_range_put(const tly_range *range, uint8_t out[TLY_RANGE_LEN]) {
    tly_base_store_u64(out, range->first);
    memcpy(out + 8, range->version, sizeof range->version);
}

int tly_net_range_get(const uint8_t *bytes, uint64_t len, tly_range *out) {
    if (len != TLY_RANGE_LEN) {
        return 0;
    }
    out->first = tly_base_load_u64(bytes);
    memcpy(out->version, bytes + 8, sizeof out->version);
    return 1;
}
