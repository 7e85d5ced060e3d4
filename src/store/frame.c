/* SPDX-License-Identifier: Apache-2.0 */
/* Header and trailer of a container (Hurray 1.0, file-format, File Header and Trailer). */
#include "store/store.h"

#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/error.h"
#include "store/format.h"

/* Offset of the first byte that is not 0, or `len`. */
static uint32_t first_nonzero(const uint8_t *bytes, uint32_t len) {
    uint32_t i = 0;
    while (i < len && bytes[i] == 0) {
        i++;
    }
    return i;
}

static tly_status read_header(tly_store *s, tly_error *error) {
    uint8_t h[TLY_STORE_HEADER_LEN];
    tly_status status = tly_store_fetch(s, 0, h, sizeof h, error);
    uint32_t nonzero;
    if (status != TLY_OK) {
        return status;
    }
    if (memcmp(h, "HRRYFILE", 8) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, 0, "F-MAGIC",
                             "not a tensor container: it does not begin with HRRYFILE");
    }
    if (h[8] != 1) {
        return tly_base_fail(error, h[8] == 0 ? TLY_MALFORMED : TLY_UNSUPPORTED, 8,
                             h[8] == 0 ? "F-VER0" : "F-VER",
                             "container version %u.%u: this build reads version 1", h[8], h[9]);
    }
    if (h[10] != 0 || h[11] != 0) {
        return tly_base_fail(error, TLY_MALFORMED, h[10] != 0 ? 10 : 11, "F-HDR-RSV",
                             "reserved bytes of the header are not 0");
    }
    s->flags = tly_base_load_u32(h + 12);
    s->alignment = tly_base_load_u32(h + 16);
    s->first_descriptor = tly_base_load_u64(h + 20);
    if ((s->flags & ~TLY_STORE_FLAGS_KNOWN) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, 12, "F-FLAGS",
                             "file flags 0x%08X: a reserved bit is set", s->flags);
    }
    if (!tly_base_is_power_of_two(s->alignment) || s->alignment < TLY_STORE_MIN_ALIGNMENT ||
        s->alignment > TLY_STORE_MAX_ALIGNMENT) {
        return tly_base_fail(error, TLY_MALFORMED, 16, "F-ALIGN",
                             "data alignment %u is not a power of two from %u to %u", s->alignment,
                             TLY_STORE_MIN_ALIGNMENT, TLY_STORE_MAX_ALIGNMENT);
    }
    if (s->first_descriptor < TLY_STORE_HEADER_LEN || s->first_descriptor % 8 != 0 ||
        s->first_descriptor > s->len - TLY_STORE_TRAILER_LEN) {
        return tly_base_fail(
            error, TLY_MALFORMED, 20, "F-FIRST",
            "the first descriptor at %llu lies in the header, off a multiple of 8 or "
            "beyond the end",
            (unsigned long long)s->first_descriptor);
    }
    nonzero = first_nonzero(h + 36, 28);
    if (nonzero < 28) {
        return tly_base_fail(error, TLY_MALFORMED, 36 + nonzero, "F-HDR-RSV",
                             "reserved bytes of the header are not 0");
    }
    return TLY_OK;
}

static tly_status check_kv_range(const tly_store *s, uint64_t trailer, tly_error *error) {
    uint64_t end;
    int flagged = (s->flags & TLY_STORE_FLAG_KV) != 0;
    if (s->kv_offset == 0 && s->kv_len == 0) {
        if (flagged) {
            return tly_base_fail(error, TLY_MALFORMED, trailer + 16, "F-KV-FLAG",
                                 "the header announces metadata, the trailer has none");
        }
        return TLY_OK;
    }
    /* The flag may be missing although there is metadata: writers that learn of it late. */
    if (tly_base_add_u64(s->kv_offset, s->kv_len, &end) || end > trailer || s->kv_len < 4 ||
        s->kv_offset < s->first_descriptor) {
        return tly_base_fail(error, TLY_MALFORMED, trailer + 16, "F-KV-BOUNDS",
                             "metadata of %llu bytes at %llu does not lie inside the file",
                             (unsigned long long)s->kv_len, (unsigned long long)s->kv_offset);
    }
    if (s->kv_offset % 8 != 0) {
        return tly_base_fail(error, TLY_MALFORMED, trailer + 16, "F-KV-ALIGN",
                             "metadata at %llu: not a multiple of 8",
                             (unsigned long long)s->kv_offset);
    }
    if (s->kv_offset < s->index_offset + s->index_len && s->index_offset < end) {
        return tly_base_fail(error, TLY_MALFORMED, trailer + 16, "F-KV-BOUNDS",
                             "metadata and index overlap");
    }
    if (s->kv_len > s->limits.max_kv_len) {
        return tly_base_fail(error, TLY_LIMIT, trailer + 24, "F-KV-LEN",
                             "metadata of %llu bytes is over the limit of %llu",
                             (unsigned long long)s->kv_len,
                             (unsigned long long)s->limits.max_kv_len);
    }
    return TLY_OK;
}

static tly_status read_trailer(tly_store *s, tly_error *error) {
    uint8_t t[TLY_STORE_TRAILER_LEN];
    uint64_t at = s->len - TLY_STORE_TRAILER_LEN;
    uint64_t end;
    tly_status status = tly_store_fetch(s, at, t, sizeof t, error);
    if (status != TLY_OK) {
        return status;
    }
    if (memcmp(t + 36, "HRRY", 4) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 36, "F-TMAGIC",
                             "the file does not end with HRRY: it is cut off or was not finished");
    }
    if (tly_base_load_u32(t + 32) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 32 + first_nonzero(t + 32, 4),
                             "F-TRAILER-RSV", "reserved bytes of the trailer are not 0");
    }
    s->index_offset = tly_base_load_u64(t);
    s->index_len = tly_base_load_u64(t + 8);
    s->kv_offset = tly_base_load_u64(t + 16);
    s->kv_len = tly_base_load_u32(t + 24);
    s->index_crc = tly_base_load_u32(t + 28);
    if (tly_base_add_u64(s->index_offset, s->index_len, &end) || end > at ||
        s->index_offset < s->first_descriptor || s->index_len < 8) {
        return tly_base_fail(error, TLY_MALFORMED, at, "F-INDEX-BOUNDS",
                             "an index of %llu bytes at %llu does not lie inside the file",
                             (unsigned long long)s->index_len, (unsigned long long)s->index_offset);
    }
    if (s->index_offset % 8 != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at, "F-INDEX-ALIGN",
                             "the index at %llu: not a multiple of 8",
                             (unsigned long long)s->index_offset);
    }
    if ((s->flags & TLY_STORE_FLAG_CRC) == 0 && s->index_crc != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 28, "F-CRC-UNSET",
                             "a check sum of the index is given but not announced in the header");
    }
    if (s->index_len > s->limits.max_index_len) {
        return tly_base_fail(error, TLY_LIMIT, at + 8, "F-INDEX-LEN",
                             "an index of %llu bytes is over the limit of %llu",
                             (unsigned long long)s->index_len,
                             (unsigned long long)s->limits.max_index_len);
    }
    return check_kv_range(s, at, error);
}

tly_status tly_store_read_frame(tly_store *store, tly_error *error) {
    tly_status status;
    if (store->len < TLY_STORE_HEADER_LEN + TLY_STORE_TRAILER_LEN) {
        return tly_base_fail(error, TLY_TRUNCATED, store->len, "F-SIZE",
                             "%llu bytes are too few for a container",
                             (unsigned long long)store->len);
    }
    status = read_header(store, error);
    return status == TLY_OK ? read_trailer(store, error) : status;
}
