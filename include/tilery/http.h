/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_HTTP_H
#define TILERY_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/status.h>
#include <tilery/store.h>

TLY_BEGIN_DECLS

/* Containers behind URLs: any server will do that answers range requests (RFC 9110, 14) and says
 * which version of an object it gives (ETag or Last-Modified). Nothing is downloaded as a whole:
 * header and index are read by ranges, and of the data what is asked for. docs/internals/net.md
 * says what is checked. */

typedef struct tly_http_options {
    size_t size;                 /* sizeof(tly_http_options); in every field 0 means the default */
    uint64_t cache_len;          /* bytes of blocks kept, of all objects together: 256 MiB */
    uint32_t block_len;          /* bytes, a power of two, 4 KiB .. 64 MiB: 256 KiB */
    uint32_t max_attempts;       /* for each range, the first one counted: 5 */
    uint32_t first_delay_ms;     /* before the second attempt; doubles: 100 */
    uint32_t max_delay_ms;       /* longest pause, also where the server names one: 10 s */
    uint32_t connect_timeout_ms; /* 10 s */
    uint32_t stall_timeout_ms;   /* not a byte for so long: 15 s */
    const char *ca;              /* authorities for https:, a PEM file; NULL: those of the system */
} tly_http_options;

/* What URLs are opened with: the HTTP library, a cache of blocks that all objects share, counters.
 * Thread-safe. Outlives the stores. */
typedef struct tly_http tly_http;

/* `options` may be NULL. Errors: INVALID_ARGUMENT, MODULE (libcurl's module is not installed),
 * OUT_OF_MEMORY. */
TLY_API tly_status tly_http_new(const tly_context *context, const tly_http_options *options,
                                tly_http **out_http, tly_error *error);
TLY_API void tly_http_free(tly_http *http); /* NULL is allowed */

/* Requests that are under way end soon with CANCELLED, and all later ones at once. */
TLY_API void tly_http_stop(tly_http *http);

/* Opens the container at an http: or https: URL. A query stays as it is, so that signed URLs work;
 * it is shown in no message and no log, and neither are a user and a password. The store is an
 * ordinary one without views (tly_store_view): tly_store_read fetches what is not in the cache, and
 * may wait. Errors: those of tly_store_open; NOT_FOUND; IO, TIMEOUT (the server, after all
 * attempts); UNSUPPORTED (no ranges, no version); PROTOCOL (an answer that is not what was asked
 * for); MISMATCH (the object is not any more what was opened). */
TLY_API tly_status tly_http_open(tly_http *http, const char *url,
                                 const tly_store_open_options *options, tly_store **out_store,
                                 tly_error *error);

/* 1 if this is an http: or https: URL, and not a path. Thread-safe. */
TLY_API int tly_http_is_url(const char *text);

/* A URL as it may be shown: without user, password, query and fragment. Returns `out`, cut to
 * `capacity` bytes. Thread-safe. */
TLY_API const char *tly_http_show(const char *url, char *out, size_t capacity);

typedef struct tly_http_stats {
    size_t size;           /* sizeof(tly_http_stats), set by the caller */
    uint64_t num_requests; /* sent, redirects and further attempts included */
    uint64_t num_retries;  /* attempts beyond the first */
    uint64_t num_fetches;  /* ranges that were wanted */
    uint64_t num_failed;   /* of them, in the end */
    uint64_t fetched_len;  /* bytes of the others */
    uint64_t num_hits;     /* blocks that were there, or on their way */
    uint64_t num_dropped;  /* blocks that made room for others */
    uint64_t used_len;     /* bytes of blocks now */
    uint64_t limit_len;
} tly_http_stats;

TLY_API void tly_http_get_stats(const tly_http *http, tly_http_stats *out_stats);

TLY_END_DECLS

#endif
