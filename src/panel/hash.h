/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_PANEL_HASH_H
#define TLY_PANEL_HASH_H

#include <stdint.h>

/* XXH64 (docs/spec/panel-profile.md, Probing) of `len` bytes. On a big-endian machine the bytes of
 * each `unit` (1, 2, 4 or 8 bytes, dividing len) are taken in reverse, so that an array of numbers
 * in this machine's order has the hash of its little-endian form; elsewhere `unit` changes nothing.
 * Thread-safe. */
uint64_t tly_panel_hash64(const void *bytes, uint64_t len, uint64_t seed, uint32_t unit);

#endif
