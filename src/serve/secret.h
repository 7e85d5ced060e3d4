/* SPDX-License-Identifier: Apache-2.0 */
/* Files with secrets in them. */
#ifndef TLY_SERVE_SECRET_H
#define TLY_SERVE_SECRET_H

#include <stddef.h>

#include <tilery/context.h>
#include <tilery/status.h>

/* A regular file that only its owner and its group may read, whole, with a NUL behind it. `holds`
 * says what is in it, and `rule` names the rule that others may not read it. Errors: IO,
 * INVALID_ARGUMENT (`rule`), LIMIT (over 16 MiB), OUT_OF_MEMORY. */
tly_status tly_serve_read_secret(const tly_context *context, const char *path, const char *holds,
                                 const char *rule, char **out_text, size_t *out_len,
                                 tly_error *error);
void tly_serve_free_secret(const tly_context *context, char *text, size_t len);

#endif
