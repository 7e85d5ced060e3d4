/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_STATUS_H
#define TILERY_STATUS_H

#include <stdint.h>

#include <tilery/export.h>
#include <tilery/status_codes.h>

TLY_BEGIN_DECLS

/* What a function that can fail returns: TLY_OK or one of the codes of tilery/status_codes.h. The
 * numbers never change their meaning. */
typedef int32_t tly_status;

/* No byte of the input can be blamed (tly_error.offset). */
#define TLY_NO_OFFSET UINT64_MAX

/* Why a call failed, for people. Functions that read outside data take a nullable pointer to one
 * and fill it when, and only when, they fail. Plain memory: owned by the caller, nothing to free,
 * usable again at once. Single-owner. */
typedef struct tly_error {
    tly_status status; /* the same code that the function returned */
    uint32_t reserved; /* 0 */
    uint64_t offset;   /* byte of the input at fault, or TLY_NO_OFFSET */
    char rule[56];     /* stable name of the rule that was broken, "" if none; NUL-terminated */
    char message[440]; /* one sentence without a final newline; NUL-terminated */
} tly_error;

/* Name of a status, as in "TRUNCATED"; "?" for a number that is none. Static storage. Thread-safe.
 */
TLY_API const char *tly_status_name(tly_status status);

/* One sentence for people. Static storage. Thread-safe. */
TLY_API const char *tly_status_text(tly_status status);

/* Exit code that the command uses for a status. Thread-safe. */
TLY_API int tly_status_exit_code(tly_status status);

TLY_END_DECLS

#endif
