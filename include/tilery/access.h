/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_ACCESS_H
#define TILERY_ACCESS_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* Who may get and put which tensors. A file of lines, words separated by blanks, # begins a remark:
 *
 *     token NAME TOKEN             who shows this token (16 to 1024 printable characters) is NAME
 *     certificate NAME SHA256      who shows a certificate with this fingerprint (64 hexadecimal
 *                                  digits, colons allowed) is NAME
 *     allow NAME get PREFIX        NAME may get tensors whose keys begin with PREFIX, byte by byte
 *     allow NAME put PREFIX        the same for putting; a PREFIX of * alone means every key
 *
 * `anyone` is everybody, known or not. What no line allows is refused. A name may have several
 * tokens and certificates; every name of an `allow` but `anyone` must have one. */
typedef struct tly_access tly_access;

/* Reads a file. It must not be readable by others (mode 0600, or 0640 for its group), since it
 * holds tokens. Errors: IO, INVALID_ARGUMENT (rule "access-mode"), MALFORMED with the line, LIMIT,
 * OUT_OF_MEMORY. The result is immutable, and may be read by any thread. */
TLY_API tly_status tly_access_load(const tly_context *context, const char *path,
                                   tly_access **out_access, tly_error *error);

/* The same from memory. */
TLY_API tly_status tly_access_parse(const tly_context *context, const char *text, size_t len,
                                    tly_access **out_access, tly_error *error);

TLY_API void tly_access_free(tly_access *access);

/* Number of names, and of `allow` lines. */
TLY_API uint32_t tly_access_num_names(const tly_access *access);
TLY_API uint32_t tly_access_num_rules(const tly_access *access);

TLY_END_DECLS

#endif
