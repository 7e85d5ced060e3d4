/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_STORE_KV_H
#define TLY_STORE_KV_H

#include <tilery/context.h>
#include <tilery/store.h>

/* Reads a metadata section of `len` bytes, which a list keeps and frees (also on failure). They
 * came from tly_base_alloc with alignment 1. `offset` is where the section stands in its file, for
 * errors. */
tly_status tly_store_kv_parse(const tly_context *context, uint8_t *bytes, uint64_t len,
                              uint64_t offset, uint64_t max_entries, tly_kv_list **out_list,
                              tly_error *error);

/* Writes a section into new memory (tly_base_alloc, alignment 1), checked by reading it again. */
tly_status tly_store_kv_encode(const tly_context *context, const tly_kv *kv, size_t num_kv,
                               uint8_t **out_bytes, uint32_t *out_len, tly_error *error);

#endif
