/* SPDX-License-Identifier: Apache-2.0 */
/* Who a peer is, and what it may do; see tilery/access.h. */
#ifndef TLY_SERVE_ACCESS_H
#define TLY_SERVE_ACCESS_H

#include <tilery/access.h>

#define TLY_ACCESS_ANYONE   0u /* number of the name that everybody has */
#define TLY_ACCESS_NOBODY   UINT32_MAX
#define TLY_FINGERPRINT_LEN 32

typedef enum tly_access_verb { TLY_ACCESS_GET = 0, TLY_ACCESS_PUT = 1 } tly_access_verb;

/* The number of the name that shows this token; TLY_ACCESS_NOBODY if there is none. How long it
 * takes says nothing about the tokens. */
uint32_t tly_access_by_token(const tly_access *access, const void *token, size_t len);
uint32_t tly_access_by_certificate(const tly_access *access,
                                   const uint8_t fingerprint[TLY_FINGERPRINT_LEN]);

/* For the log. */
const char *tly_access_name(const tly_access *access, uint32_t who);

/* May this name do that with this key? What `anyone` may, everybody may. */
int tly_access_allows(const tly_access *access, uint32_t who, tly_access_verb verb, const char *key,
                      size_t key_len);

#endif
