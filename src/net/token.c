/* SPDX-License-Identifier: Apache-2.0 */
#include "net/token.h"

#include <string.h>

#include "base/error.h"

static const uint8_t magic[8] = {'T', 'L', 'Y', 'T', 'O', 'K', '0', '1'};

tly_status tly_net_token_entry(const char *token, uint8_t room[TLY_TOKEN_ENTRY_LEN],
                               tly_wire_layout *out_entry, tly_error *error) {
    size_t len = strlen(token);
    int legal = len >= TLY_TOKEN_MIN_LEN && len <= TLY_TOKEN_MAX_LEN;
    for (size_t i = 0; legal && i < len; i++) {
        legal = token[i] > ' ' && token[i] <= '~';
    }
    if (!legal) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "token",
                             "a token has 16 to 1024 printable characters and no blank");
    }
    memcpy(room, magic, sizeof magic);
    memcpy(room + sizeof magic, token, len);
    memset(out_entry, 0, sizeof *out_entry);
    out_entry->tag = TLY_TOKEN_TAG;
    out_entry->metadata_len = (uint16_t)(sizeof magic + len);
    out_entry->metadata = room;
    return TLY_OK;
}

const uint8_t *tly_net_token_find(const tly_wire_hello *hello, size_t *out_len) {
    tly_wire_layouts list = hello->layouts;
    tly_wire_layout entry;
    while (tly_wire_layouts_next(&list, &entry)) {
        if (entry.tag == TLY_TOKEN_TAG && entry.metadata_len > sizeof magic &&
            memcmp(entry.metadata, magic, sizeof magic) == 0) {
            *out_len = entry.metadata_len - sizeof magic;
            return entry.metadata + sizeof magic;
        }
    }
    return NULL;
}
