/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor being read: the cursor over its bytes, and the work memory that its arrays go to. */
#ifndef TLY_TENSOR_READER_H
#define TLY_TENSOR_READER_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/tensor.h>

#include "base/bytes.h"
#include "base/error.h"

typedef struct tly_tensor_reader {
    tly_cursor in; /* ends where the descriptor says that it ends */
    uint8_t *work; /* free work memory, on a multiple of 8 */
    size_t work_left;
    tly_descriptor *out;
    tly_error *error;
} tly_tensor_reader;

/* The descriptor says that it is shorter than its fields. `what` names the field. */
tly_status tly_tensor_short(const tly_tensor_reader *reader, const char *what)
    __attribute__((cold));

/* The caller's work memory does not reach. */
tly_status tly_tensor_no_room(const tly_tensor_reader *reader) __attribute__((cold));

/* Work memory for `len` bytes, on a multiple of 8; NULL when it does not reach. */
static inline void *tly_tensor_room(tly_tensor_reader *reader, size_t len) {
    uint8_t *room = reader->work;
    len = (len + 7) & ~(size_t)7;
    if (len > reader->work_left) {
        return NULL;
    }
    reader->work += len;
    reader->work_left -= len;
    return room;
}

/* Reads `count` 64-bit or 32-bit numbers into work memory. */
tly_status tly_tensor_read_u64s(tly_tensor_reader *reader, uint32_t count, const uint64_t **out,
                                const char *what);
tly_status tly_tensor_read_i64s(tly_tensor_reader *reader, uint32_t count, const int64_t **out,
                                const char *what);
tly_status tly_tensor_read_u32s(tly_tensor_reader *reader, uint32_t count, const uint32_t **out,
                                const char *what);

/* Reads and checks the buffer table (Hurray 1.0, buffer-protocol). */
tly_status tly_tensor_read_buffers(tly_tensor_reader *reader);

#endif
