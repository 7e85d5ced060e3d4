/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed parts of a container file (Hurray 1.0, file-format). */
#ifndef TLY_STORE_FORMAT_H
#define TLY_STORE_FORMAT_H

#include <stdint.h>

#include "base/checked.h"

#define TLY_STORE_HEADER_LEN    64
#define TLY_STORE_TRAILER_LEN   40
#define TLY_STORE_UNKNOWN_COUNT UINT64_MAX

#define TLY_STORE_FLAG_KV     0x1u
#define TLY_STORE_FLAG_SORTED 0x2u
#define TLY_STORE_FLAG_CRC    0x4u
#define TLY_STORE_FLAGS_KNOWN 0x7u

#define TLY_STORE_MIN_ALIGNMENT 4096u
#define TLY_STORE_MAX_ALIGNMENT 2097152u

/* An entry of the index without its name: two bytes in front of the name, these behind it. */
#define TLY_STORE_ENTRY_TAIL_LEN 32
#define TLY_STORE_MIN_ENTRY_LEN  (2 + 1 + TLY_STORE_ENTRY_TAIL_LEN)

/* Every buffer of a tensor begins on a multiple of the file's alignment, empty ones too. Returns 0,
 * or 1 when the offset does not fit. */
static inline int tly_store_next_buffer(uint64_t end_of_last, uint32_t alignment, uint64_t *out) {
    return tly_base_round_up_u64(end_of_last, alignment, out);
}

#endif
