/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

#include "base/bytes.h"
#include "base/crc32c_table.h"

uint32_t tly_base_crc32c(uint32_t crc, const void *bytes, size_t len) {
    const uint32_t(*t)[256] = tly_crc32c_table;
    const uint8_t *p = bytes;
    crc = ~crc;
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t v = tly_base_load_u64(p) ^ crc;
        crc = t[7][v & 0xFF] ^ t[6][v >> 8 & 0xFF] ^ t[5][v >> 16 & 0xFF] ^ t[4][v >> 24 & 0xFF] ^
              t[3][v >> 32 & 0xFF] ^ t[2][v >> 40 & 0xFF] ^ t[1][v >> 48 & 0xFF] ^ t[0][v >> 56];
    }
    for (; len > 0; p++, len--) {
        crc = t[0][(crc ^ *p) & 0xFF] ^ crc >> 8;
    }
    return ~crc;
}
