/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of layout entries (Hurray 1.0, interchange, Layout Entry Encoding): a tag, and for private
 * tags a u16 length and so many bytes. In memory a list stays what it is on the wire. */
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "wire/message.h"

static int is_private(uint8_t tag) {
    return tag >= 0xF0 && tag <= 0xFE;
}

/* Reads one entry. Returns 0 when the bytes end in the middle of it. */
static int take_entry(tly_cursor *c, tly_wire_layout *out) {
    tly_cursor start = *c;
    memset(out, 0, sizeof *out);
    if (!tly_cursor_u8(c, &out->tag)) {
        return 0;
    }
    if (is_private(out->tag) && (!tly_cursor_u16(c, &out->metadata_len) ||
                                 !tly_cursor_take(c, out->metadata_len, &out->metadata))) {
        *c = start;
        return 0;
    }
    return 1;
}

int tly_wire_layouts_next(tly_wire_layouts *list, tly_wire_layout *out_layout) {
    tly_cursor c = tly_cursor_make(list->bytes, list->len);
    if (list->num == 0 || !take_entry(&c, out_layout)) {
        return 0;
    }
    list->bytes = c.at;
    list->len = (uint32_t)tly_cursor_left(&c);
    list->num--;
    return 1;
}

tly_status tly_wire_layouts_get(const void *bytes, size_t len, uint32_t num,
                                tly_wire_layouts *out_list, tly_error *error) {
    tly_cursor c = tly_cursor_make(bytes, len);
    memset(out_list, 0, sizeof *out_list);
    for (uint32_t i = 0; i < num; i++) {
        tly_wire_layout entry;
        if (!take_entry(&c, &entry)) {
            return tly_base_fail(error, TLY_TRUNCATED, tly_cursor_offset(&c), "layout-entry",
                                 "the layout list announces %u entries but ends in entry %u", num,
                                 i);
        }
    }
    if (tly_cursor_offset(&c) > UINT32_MAX) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "layout-entry",
                             "the layout list is longer than 4 GiB");
    }
    out_list->bytes = c.base;
    out_list->len = (uint32_t)tly_cursor_offset(&c);
    out_list->num = num;
    return TLY_OK;
}

tly_status tly_wire_layouts_put(const tly_wire_layout *layouts, uint32_t num_layouts, void *buffer,
                                size_t capacity, tly_wire_layouts *out_list, tly_error *error) {
    uint8_t *at = buffer;
    size_t used = 0;
    memset(out_list, 0, sizeof *out_list);
    if (num_layouts > UINT16_MAX) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "layout-count",
                             "%u layout entries, but a list holds at most 65535", num_layouts);
    }
    for (uint32_t i = 0; i < num_layouts; i++) {
        const tly_wire_layout *e = &layouts[i];
        size_t need = is_private(e->tag) ? 3u + e->metadata_len : 1u;
        if (!is_private(e->tag) && e->metadata_len != 0) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "layout-metadata",
                                 "layout tag 0x%02X takes no metadata", e->tag);
        }
        if (need > capacity - used) {
            return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "layout-capacity",
                                 "no room for layout entry %u", i);
        }
        at[used] = e->tag;
        if (is_private(e->tag)) {
            tly_base_store_u16(at + used + 1, e->metadata_len);
            if (e->metadata_len != 0) {
                memcpy(at + used + 3, e->metadata, e->metadata_len);
            }
        }
        used += need;
    }
    out_list->bytes = buffer;
    out_list->len = (uint32_t)used;
    out_list->num = num_layouts;
    return TLY_OK;
}
