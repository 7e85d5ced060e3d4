/* SPDX-License-Identifier: Apache-2.0 */
#include "net/handover.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/error.h"

static const uint8_t metadata[TLY_HANDOVER_METADATA_LEN] = {'T', 'L', 'Y', 'S', 'H', 'M', '0', '1'};

tly_wire_layout tly_net_handover_entry(void) {
    tly_wire_layout entry = {
        .tag = TLY_HANDOVER_TAG, .metadata_len = sizeof metadata, .metadata = metadata};
    return entry;
}

int tly_net_handover_announced(const tly_wire_hello *hello) {
    tly_wire_layouts list = hello->layouts;
    tly_wire_layout entry;
    while (tly_wire_layouts_next(&list, &entry)) {
        if (entry.tag == TLY_HANDOVER_TAG && entry.metadata_len == sizeof metadata &&
            memcmp(entry.metadata, metadata, sizeof metadata) == 0) {
            return 1;
        }
    }
    return 0;
}

void tly_net_handover_put(const tly_handover *handover, uint8_t out[TLY_HANDOVER_LEN]) {
    tly_base_store_u64(out, handover->file_offset);
    tly_base_store_u64(out + 8, handover->total_data_bytes);
}

static tly_status refuse(tly_error *error, const char *rule, const char *what) {
    return tly_base_fail(error, TLY_PROTOCOL, TLY_NO_OFFSET, rule, "the hand-over is refused: %s",
                         what);
}

tly_status tly_net_handover_get(const uint8_t *bytes, uint64_t len, int fd, tly_handover *out,
                                tly_error *error) {
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    struct stat info;
    uint64_t end;
    int seals;
    if (len != TLY_HANDOVER_LEN) {
        return refuse(error, "handover-len", "the message has not 16 bytes");
    }
    out->file_offset = tly_base_load_u64(bytes);
    out->total_data_bytes = tly_base_load_u64(bytes + 8);
    if (fd < 0) {
        return refuse(error, "handover-fd", "no file came with it");
    }
    seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & wanted) != wanted) {
        return refuse(error, "handover-seals", "the file is not sealed against every change");
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        return refuse(error, "handover-file", "it is not a regular file");
    }
    if (out->file_offset % TLY_HANDOVER_ALIGNMENT != 0 || out->total_data_bytes == 0) {
        return refuse(error, "handover-range", "the data does not begin on a page, or is empty");
    }
    if (tly_base_add_u64(out->file_offset, out->total_data_bytes, &end) ||
        end > (uint64_t)info.st_size || end > SIZE_MAX) {
        return refuse(error, "handover-range", "the data ends behind the end of the file");
    }
    return TLY_OK;
}
