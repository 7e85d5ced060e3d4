/* SPDX-License-Identifier: Apache-2.0 */
/* What a receiver takes, of the tensors that a peer describes. */
#include "base/error.h"
#include "wire/message.h"

static int takes(const uint8_t *list, uint32_t num, uint8_t tag) {
    for (uint32_t i = 0; i < num; i++) {
        if (list[i] == tag) {
            return 1;
        }
    }
    return num == 0 && tag == 0; /* no list: the CPU, STANDARD */
}

static tly_status check_handles(const tly_descriptor *d, const tly_wire_hello *ours,
                                uint32_t *out_code, tly_error *error) {
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        const tly_buffer_info *b = &d->buffers[i];
        if (b->sync_mode != 0) {
            return tly_base_fail(
                error, TLY_MALFORMED, TLY_NO_OFFSET, "sync-mode",
                "buffer %u has sync_mode %u; what crosses a connection is ready, 0", i,
                b->sync_mode);
        }
        if (!takes(ours->devices, ours->num_devices, b->device)) {
            *out_code = TLY_WIRE_DEVICE_UNAVAILABLE;
            return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "device",
                                 "buffer %u is on device %u, which this side does not take", i,
                                 b->device);
        }
        if (!takes(ours->memory_classes, ours->num_memory_classes, b->memory_class)) {
            *out_code = TLY_WIRE_DEVICE_UNAVAILABLE;
            return tly_base_fail(
                error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "memory-class",
                "buffer %u is in memory of class %u, which this side does not take", i,
                b->memory_class);
        }
    }
    return TLY_OK;
}

tly_status tly_wire_accept(const void *bytes, size_t len, uint64_t total,
                           const tly_wire_hello *ours, void *work, size_t work_len,
                           tly_descriptor *out_descriptor, uint32_t *out_code, tly_error *error) {
    uint64_t data_len;
    tly_status status =
        tly_descriptor_decode(bytes, len, work, work_len, out_descriptor, NULL, error);
    *out_code = TLY_WIRE_INVALID_MESSAGE;
    if (status != TLY_OK) {
        if (status == TLY_UNSUPPORTED) {
            *out_code = TLY_WIRE_LAYOUT_UNAVAILABLE;
        }
        return status;
    }
    status = check_handles(out_descriptor, ours, out_code, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_descriptor_data_len(out_descriptor, &data_len);
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TLY_NO_OFFSET, "data-len",
                             "the buffers are larger than 64 bits can say");
    }
    if (data_len != total) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "total-mismatch",
                             "%llu bytes are announced, the buffers have %llu",
                             (unsigned long long)total, (unsigned long long)data_len);
    }
    return tly_descriptor_check_buffers(out_descriptor, error);
}
