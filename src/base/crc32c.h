/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_BASE_CRC32C_H
#define TLY_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli) of bytes that follow those with the sum `crc`; 0 for the first. Thread-safe.
 */
uint32_t tly_base_crc32c(uint32_t crc, const void *bytes, size_t len);

#endif
