/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_BASE_ERROR_H
#define TLY_BASE_ERROR_H

#include <stddef.h>

#include <tilery/status.h>

/* Fills `error` (may be NULL) and returns `status`, so that a failing function ends with
 * `return tly_base_fail(error, TLY_..., offset, "rule-name", "sentence with %u values", ...)`.
 * `offset` is TLY_NO_OFFSET where no byte can be blamed; `rule` may be "". A message that is too
 * long is cut. Thread-safe. */
tly_status tly_base_fail(tly_error *error, tly_status status, uint64_t offset, const char *rule,
                         const char *format, ...) __attribute__((format(printf, 5, 6), cold));

/* The same with errno's text at the end: "cannot open x: No such file or directory". */
tly_status tly_base_fail_errno(tly_error *error, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Copies outside text into `out` so that it can stand in a message: bytes that are not printable
 * ASCII become \xNN, and what does not fit is cut with "...". Returns `out`. */
const char *tly_base_printable(char *out, size_t capacity, const void *text, size_t len);

#endif
