/* SPDX-License-Identifier: Apache-2.0 */
/* Bearer tokens in a HELLO (docs/spec/token.md). */
#ifndef TLY_NET_TOKEN_H
#define TLY_NET_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/wire.h>

#define TLY_TOKEN_TAG       0xF2
#define TLY_TOKEN_MIN_LEN   16
#define TLY_TOKEN_MAX_LEN   1024
#define TLY_TOKEN_ENTRY_LEN (8 + TLY_TOKEN_MAX_LEN) /* of its metadata, at most */

/* The entry that shows a token; `room` takes its metadata and must live as long as it. Errors:
 * INVALID_ARGUMENT (rule "token"). */
tly_status tly_net_token_entry(const char *token, uint8_t room[TLY_TOKEN_ENTRY_LEN],
                               tly_wire_layout *out_entry, tly_error *error);

/* The token of a HELLO, a view; NULL if it has none. */
const uint8_t *tly_net_token_find(const tly_wire_hello *hello, size_t *out_len);

#endif
