/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_BASE_UTF8_H
#define TLY_BASE_UTF8_H

#include <stddef.h>

/* Offset of the first byte that is not part of well-formed UTF-8 (no overlong forms, no surrogates,
 * nothing above U+10FFFF), or `len` when all of it is well-formed. Thread-safe. */
size_t tly_base_utf8_check(const void *text, size_t len);

#endif
