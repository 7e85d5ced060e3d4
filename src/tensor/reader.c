/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/reader.h"

tly_status tly_tensor_short(const tly_tensor_reader *reader, const char *what) {
    return tly_base_fail(reader->error, TLY_MALFORMED, tly_cursor_offset(&reader->in),
                         "D-LEN-TRUNC",
                         "the descriptor ends before its %s: its length field says %zu", what,
                         (size_t)(reader->in.end - reader->in.base));
}

tly_status tly_tensor_no_room(const tly_tensor_reader *reader) {
    return tly_base_fail(reader->error, TLY_LIMIT, TLY_NO_OFFSET, "",
                         "the work memory for a descriptor is too small: give it %d bytes",
                         TLY_DESCRIPTOR_WORK_LEN);
}

tly_status tly_tensor_read_u64s(tly_tensor_reader *reader, uint32_t count, const uint64_t **out,
                                const char *what) {
    const uint8_t *bytes;
    uint64_t *room;
    if (!tly_cursor_take(&reader->in, (uint64_t)count * 8, &bytes)) {
        return tly_tensor_short(reader, what);
    }
    room = tly_tensor_room(reader, (size_t)count * 8);
    if (room == NULL) {
        return tly_tensor_no_room(reader);
    }
    for (uint32_t i = 0; i < count; i++) {
        room[i] = tly_base_load_u64(bytes + (size_t)i * 8);
    }
    *out = room;
    return TLY_OK;
}

tly_status tly_tensor_read_i64s(tly_tensor_reader *reader, uint32_t count, const int64_t **out,
                                const char *what) {
    const uint64_t *numbers = NULL;
    tly_status status = tly_tensor_read_u64s(reader, count, &numbers, what);
    *out = (const int64_t *)numbers;
    return status;
}

tly_status tly_tensor_read_u32s(tly_tensor_reader *reader, uint32_t count, const uint32_t **out,
                                const char *what) {
    const uint8_t *bytes;
    uint32_t *room;
    if (!tly_cursor_take(&reader->in, (uint64_t)count * 4, &bytes)) {
        return tly_tensor_short(reader, what);
    }
    room = tly_tensor_room(reader, (size_t)count * 4);
    if (room == NULL) {
        return tly_tensor_no_room(reader);
    }
    for (uint32_t i = 0; i < count; i++) {
        room[i] = tly_base_load_u32(bytes + (size_t)i * 4);
    }
    *out = room;
    return TLY_OK;
}

/* The last memory class of the format that a device has (Hurray 1.0, buffer-protocol, Memory
 * Class). */
static const uint8_t last_class[] = {
    [TLY_DEVICE_CPU] = TLY_MEMORY_UNIFIED,     [TLY_DEVICE_CUDA] = TLY_MEMORY_PEER,
    [TLY_DEVICE_ROCM] = TLY_MEMORY_PEER,       [TLY_DEVICE_METAL] = TLY_MEMORY_UNIFIED,
    [TLY_DEVICE_VULKAN] = TLY_MEMORY_PEER,     [TLY_DEVICE_WEBGPU] = TLY_MEMORY_STANDARD,
    [TLY_DEVICE_HEXAGON] = TLY_MEMORY_UNIFIED, [TLY_DEVICE_LEVEL_ZERO] = TLY_MEMORY_PEER,
    [TLY_DEVICE_OPENCL] = TLY_MEMORY_UNIFIED,
};

#define PRIVATE_TAG(tag) ((tag) >= 0xF0 && (tag) <= 0xFE)

static tly_status check_buffer(const tly_buffer_info *b, uint64_t at, uint32_t index,
                               tly_error *error) {
    if ((b->device | b->sync_mode | b->memory_class | b->reserved) == 0 && b->alignment >= 64 &&
        (b->alignment & (b->alignment - 1)) == 0) {
        return TLY_OK; /* ready in standard memory of the CPU, as nearly all are */
    }
    if ((b->alignment & (b->alignment - 1)) != 0 || b->alignment == 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 8, "B-ALIGN-POW2",
                             "buffer %u: alignment %u is not a power of two", index, b->alignment);
    }
    if (b->alignment < 64 && b->byte_size != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 8, "B-ALIGN-MIN",
                             "buffer %u: alignment %u is under 64", index, b->alignment);
    }
    if (b->device == 0xFF) {
        return tly_base_fail(error, TLY_MALFORMED, at + 12, "B-DEV-FF",
                             "buffer %u: device tag 0xFF is invalid", index);
    }
    if (b->device > TLY_DEVICE_OPENCL && !PRIVATE_TAG(b->device)) {
        return tly_base_fail(error, TLY_MALFORMED, at + 12, "B-DEV-RSV",
                             "buffer %u: device tag 0x%02X is reserved", index, b->device);
    }
    if (b->sync_mode > 2) {
        return tly_base_fail(error, TLY_MALFORMED, at + 13, "B-SYNC-RSV",
                             "buffer %u: synchronisation mode %u is reserved", index, b->sync_mode);
    }
    if (b->device == TLY_DEVICE_CPU && b->sync_mode != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 13, "B-SYNC-CPU",
                             "buffer %u: synchronisation mode %u on the CPU, which takes only 0",
                             index, b->sync_mode);
    }
    if (b->memory_class > TLY_MEMORY_PEER && !PRIVATE_TAG(b->memory_class)) {
        return tly_base_fail(error, TLY_MALFORMED, at + 14, "B-MEM-RSV",
                             "buffer %u: memory class 0x%02X is reserved", index, b->memory_class);
    }
    if (PRIVATE_TAG(b->device) ? b->memory_class != 0 && !PRIVATE_TAG(b->memory_class)
                               : b->memory_class > last_class[b->device]) {
        return tly_base_fail(error, TLY_MALFORMED, at + 14, "B-MEM-PAIR",
                             "buffer %u: memory class 0x%02X does not exist on device 0x%02X",
                             index, b->memory_class, b->device);
    }
    if (b->reserved != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 15, "B-RSV",
                             "buffer %u: reserved byte is %u, not 0", index, b->reserved);
    }
    return TLY_OK;
}

tly_status tly_tensor_read_buffers(tly_tensor_reader *reader) {
    const uint8_t *bytes;
    tly_buffer_info *buffers;
    uint64_t at;
    uint8_t count;
    if (!tly_cursor_u8(&reader->in, &count)) {
        return tly_tensor_short(reader, "buffer count");
    }
    at = tly_cursor_offset(&reader->in);
    if (!tly_cursor_take(&reader->in, (uint64_t)count * 16, &bytes)) {
        return tly_tensor_short(reader, "buffer table");
    }
    buffers = tly_tensor_room(reader, (size_t)count * sizeof *buffers);
    if (buffers == NULL) {
        return tly_tensor_no_room(reader);
    }
    for (uint32_t i = 0; i < count; i++, bytes += 16, at += 16) {
        tly_buffer_info *b = &buffers[i];
        tly_status status;
        b->byte_size = tly_base_load_u64(bytes);
        b->alignment = tly_base_load_u32(bytes + 8);
        b->device = bytes[12];
        b->sync_mode = bytes[13];
        b->memory_class = bytes[14];
        b->reserved = bytes[15];
        status = check_buffer(b, at, i, reader->error);
        if (status != TLY_OK) {
            return status;
        }
        if (b->device != buffers[0].device) {
            return tly_base_fail(reader->error, TLY_MALFORMED, at + 12, "B-COLOC-DEV",
                                 "buffer %u is on device 0x%02X, buffer 0 on 0x%02X", i, b->device,
                                 buffers[0].device);
        }
        if (b->memory_class != buffers[0].memory_class) {
            return tly_base_fail(reader->error, TLY_MALFORMED, at + 14, "B-COLOC-MEM",
                                 "buffer %u has memory class 0x%02X, buffer 0 has 0x%02X", i,
                                 b->memory_class, buffers[0].memory_class);
        }
    }
    reader->out->num_buffers = count;
    reader->out->buffers = buffers;
    return TLY_OK;
}
