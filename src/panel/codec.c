/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as bytes (docs/spec/panel-profile.md, "The bytes"). Only what has no place in
 * tly_panel_profile is checked here; tly_panel_check knows the rest. */
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "panel/template.h"
#include "panel/wire.h"

tly_status tly_panel_encode(const tly_panel_profile *profile, void *buffer, size_t capacity,
                            size_t *out_len, tly_error *error) {
    uint8_t bytes[TLY_PANEL_MAX_LEN] = {0};
    size_t name_len;
    size_t len;
    tly_status status = tly_panel_check(profile, error);

    if (status != TLY_OK) {
        if (error != NULL) {
            error->offset = TLY_NO_OFFSET; /* there are no bytes to blame */
        }
        return status;
    }
    name_len = strlen(profile->kernel);
    len = TLY_PANEL_AT_LOOPS + (size_t)profile->num_loops * TLY_PANEL_LOOP_LEN + name_len;
    if (capacity < len) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "panel-capacity",
                             "the profile takes %zu bytes, the buffer has %zu", len, capacity);
    }
    memcpy(bytes + TLY_PANEL_AT_MAGIC, TLY_PANEL_MAGIC, 4);
    bytes[TLY_PANEL_AT_VERSION] = TLY_PANEL_VERSION;
    bytes[TLY_PANEL_AT_ROLE] = profile->role;
    bytes[TLY_PANEL_AT_DTYPE] = profile->dtype;
    bytes[TLY_PANEL_AT_RANK] = profile->rank;
    bytes[TLY_PANEL_AT_K_AXIS] = profile->k_axis;
    bytes[TLY_PANEL_AT_MN_AXIS] = profile->mn_axis;
    bytes[TLY_PANEL_AT_NUM_LOOPS] = profile->num_loops;
    bytes[TLY_PANEL_AT_KERNEL_LEN] = (uint8_t)name_len;
    bytes[TLY_PANEL_AT_FLAGS] = profile->has_probe != 0 ? TLY_PANEL_FLAG_PROBE : 0;
    tly_base_store_u32(bytes + TLY_PANEL_AT_ALIGNMENT, profile->alignment);
    tly_base_store_u32(bytes + TLY_PANEL_AT_KERNEL_VERSION, profile->kernel_version);
    tly_base_store_u64(bytes + TLY_PANEL_AT_PROBE_HASH, profile->probe_hash);
    for (uint32_t i = 0; i < profile->num_loops; i++) {
        const tly_panel_loop *loop = &profile->loops[i];
        uint8_t *at = bytes + TLY_PANEL_AT_LOOPS + (size_t)i * TLY_PANEL_LOOP_LEN;
        at[TLY_PANEL_LOOP_AXIS] = loop->axis;
        at[TLY_PANEL_LOOP_KIND] = loop->rounded;
        tly_base_store_u32(at + TLY_PANEL_LOOP_STEP, loop->step);
        tly_base_store_u32(at + TLY_PANEL_LOOP_COUNT,
                           loop->rounded != 0 ? loop->round : loop->count);
        tly_base_store_u32(at + TLY_PANEL_LOOP_OVER, loop->over);
    }
    memcpy(bytes + len - name_len, profile->kernel, name_len);
    memcpy(buffer, bytes, len);
    *out_len = len;
    return TLY_OK;
}

/* Version, counts and length: afterwards every field is known to be there. */
static tly_status check_frame(const uint8_t *bytes, size_t len, tly_error *error) {
    size_t whole;

    if (len > TLY_PANEL_MAX_LEN) {
        return tly_base_fail(error, TLY_LIMIT, TLY_PANEL_MAX_LEN, "panel-length",
                             "%zu bytes; a profile has %d at most", len, TLY_PANEL_MAX_LEN);
    }
    if (len < 5) {
        return tly_base_fail(error, TLY_TRUNCATED, len, "panel-truncated",
                             "%zu bytes are too few for a profile", len);
    }
    if (memcmp(bytes, TLY_PANEL_MAGIC, 4) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_MAGIC, "panel-magic",
                             "the bytes do not begin with \"%s\": this is no panel profile",
                             TLY_PANEL_MAGIC);
    }
    if (bytes[TLY_PANEL_AT_VERSION] != TLY_PANEL_VERSION) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_PANEL_AT_VERSION, "panel-version",
                             "a profile of version %u; this build reads version %d",
                             bytes[TLY_PANEL_AT_VERSION], TLY_PANEL_VERSION);
    }
    if (len < TLY_PANEL_AT_LOOPS) {
        return tly_base_fail(error, TLY_TRUNCATED, len, "panel-truncated",
                             "the profile ends after %zu of at least %d bytes", len,
                             TLY_PANEL_AT_LOOPS);
    }
    if (bytes[TLY_PANEL_AT_NUM_LOOPS] < 2 || bytes[TLY_PANEL_AT_NUM_LOOPS] > TLY_PANEL_MAX_LOOPS) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_NUM_LOOPS, "panel-loops",
                             "%u loops; there are 2 to %d", bytes[TLY_PANEL_AT_NUM_LOOPS],
                             TLY_PANEL_MAX_LOOPS);
    }
    if (bytes[TLY_PANEL_AT_KERNEL_LEN] >= TLY_PANEL_NAME_LEN) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_KERNEL_LEN, "panel-kernel-length",
                             "the kernel's name has %u characters; there are %d at most",
                             bytes[TLY_PANEL_AT_KERNEL_LEN], TLY_PANEL_NAME_LEN - 1);
    }
    whole = TLY_PANEL_AT_LOOPS + (size_t)bytes[TLY_PANEL_AT_NUM_LOOPS] * TLY_PANEL_LOOP_LEN +
            bytes[TLY_PANEL_AT_KERNEL_LEN];
    if (len < whole) {
        return tly_base_fail(error, TLY_TRUNCATED, len, "panel-truncated",
                             "the profile ends after %zu of %zu bytes", len, whole);
    }
    if (len > whole) {
        return tly_base_fail(error, TLY_MALFORMED, whole, "panel-trailing",
                             "%zu bytes follow the end of the profile", len - whole);
    }
    if ((bytes[TLY_PANEL_AT_FLAGS] & ~TLY_PANEL_FLAG_PROBE) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_FLAGS, "panel-reserved",
                             "flags are 0x%02X; only bit 0 has a meaning",
                             bytes[TLY_PANEL_AT_FLAGS]);
    }
    for (size_t i = TLY_PANEL_AT_RESERVED; i < TLY_PANEL_AT_ALIGNMENT; i++) {
        if (bytes[i] != 0) {
            return tly_base_fail(error, TLY_MALFORMED, i, "panel-reserved",
                                 "a reserved byte is 0x%02X instead of 0", bytes[i]);
        }
    }
    return TLY_OK;
}

tly_status tly_panel_decode(const void *bytes, size_t len, tly_panel_profile *out_profile,
                            tly_error *error) {
    tly_panel_profile p = {.size = sizeof p};
    const uint8_t *b = bytes;
    tly_status status = check_frame(b, len, error);

    if (status != TLY_OK) {
        return status;
    }
    p.role = b[TLY_PANEL_AT_ROLE];
    p.dtype = b[TLY_PANEL_AT_DTYPE];
    p.rank = b[TLY_PANEL_AT_RANK];
    p.k_axis = b[TLY_PANEL_AT_K_AXIS];
    p.mn_axis = b[TLY_PANEL_AT_MN_AXIS];
    p.num_loops = b[TLY_PANEL_AT_NUM_LOOPS];
    p.has_probe = (b[TLY_PANEL_AT_FLAGS] & TLY_PANEL_FLAG_PROBE) != 0;
    p.alignment = tly_base_load_u32(b + TLY_PANEL_AT_ALIGNMENT);
    p.kernel_version = tly_base_load_u32(b + TLY_PANEL_AT_KERNEL_VERSION);
    p.probe_hash = tly_base_load_u64(b + TLY_PANEL_AT_PROBE_HASH);
    for (uint32_t i = 0; i < p.num_loops; i++) {
        tly_panel_loop *loop = &p.loops[i];
        const uint8_t *at = b + TLY_PANEL_AT_LOOPS + (size_t)i * TLY_PANEL_LOOP_LEN;
        uint32_t count = tly_base_load_u32(at + TLY_PANEL_LOOP_COUNT);
        loop->axis = at[TLY_PANEL_LOOP_AXIS];
        loop->rounded = at[TLY_PANEL_LOOP_KIND];
        loop->reserved = tly_base_load_u16(at + TLY_PANEL_LOOP_RESERVED);
        loop->step = tly_base_load_u32(at + TLY_PANEL_LOOP_STEP);
        loop->over = tly_base_load_u32(at + TLY_PANEL_LOOP_OVER);
        if (loop->rounded != 0) {
            loop->round = count;
        } else {
            loop->count = count;
        }
    }
    for (uint32_t i = 0; i < b[TLY_PANEL_AT_KERNEL_LEN]; i++) {
        size_t at = len - b[TLY_PANEL_AT_KERNEL_LEN] + i;
        if (b[at] == 0) { /* would end the name early in memory */
            return tly_base_fail(error, TLY_MALFORMED, at, "panel-kernel-name",
                                 "byte %u of the kernel's name is 0x00; names are printable ASCII",
                                 i);
        }
        p.kernel[i] = (char)b[at];
    }
    status = tly_panel_check(&p, error);
    if (status == TLY_OK) {
        *out_profile = p;
    }
    return status;
}
