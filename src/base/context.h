/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_BASE_CONTEXT_H
#define TLY_BASE_CONTEXT_H

#include <stddef.h>

#include <tilery/context.h>

/* Memory of a context. Blocks remember nothing: the caller gives the size back when it frees.
 * tly_base_alloc and tly_base_calloc return NULL when there is no memory or when len is 0.
 * `alignment` is a power of two. Thread-safe. */
void *tly_base_alloc(const tly_context *context, size_t len, size_t alignment);
void *tly_base_calloc(const tly_context *context, size_t len, size_t alignment);
void *tly_base_grow(const tly_context *context, void *old, size_t old_len, size_t new_len,
                    size_t alignment);
void tly_base_free(const tly_context *context, void *block, size_t len, size_t alignment);

/* Would a line of this level be logged? For lines whose parts cost something. Thread-safe. */
int tly_base_logs(const tly_context *context, tly_log_level level);

/* One line of log; formatting costs nothing when the level is not wanted. Thread-safe. */
void tly_base_log(const tly_context *context, tly_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
