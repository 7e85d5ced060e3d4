/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_CONTEXT_H
#define TILERY_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/export.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* Where memory comes from. `resize` allocates (old == NULL), frees (new_size == 0, returns NULL) or
 * grows and shrinks (both given, contents kept up to the smaller size). `alignment` is a power of
 * two and the same in every call about one block. Returns NULL when there is no memory; the old
 * block then lives on. Must be thread-safe. */
typedef struct tly_allocator {
    void *(*resize)(void *user, void *old, size_t old_size, size_t new_size, size_t alignment);
    void *user;
} tly_allocator;

/* How wide the vector code may be. Each level has what those below it have. Every level gives
 * identical bytes. */
typedef enum tly_simd {
    TLY_SIMD_AUTO = 0, /* the widest that this processor and system offer */
    TLY_SIMD_PORTABLE = 1,
    TLY_SIMD_AVX2 = 2,
    TLY_SIMD_AVX512 = 3,      /* F, BW, DQ and VL */
    TLY_SIMD_AVX512_VNNI = 4, /* and VNNI: sums of products of bytes */
    TLY_SIMD_AVX512_FP16 = 5  /* and FP16: arithmetic */
} tly_simd;

typedef enum tly_log_level {
    TLY_LOG_ERROR = 1,
    TLY_LOG_WARNING = 2,
    TLY_LOG_INFO = 3,
    TLY_LOG_DEBUG = 4
} tly_log_level;

/* Receives one line of log, without a final newline. May be called from any thread. */
typedef void (*tly_log_fn)(void *user, tly_log_level level, const char *line);

typedef struct tly_context_options {
    size_t size;             /* sizeof(tly_context_options) */
    tly_allocator allocator; /* resize == NULL: the C library's */
    int32_t simd;            /* tly_simd; a level that the processor lacks is refused */
    int32_t log_level;       /* tly_log_level; 0: nothing is logged */
    tly_log_fn log;          /* NULL: nothing is logged */
    void *log_user;
} tly_context_options;

/* Allocator, vector level and log, fixed at creation. Immutable afterwards, so one context can
 * serve any number of threads. Outlives everything created with it. */
typedef struct tly_context tly_context;

/* Creates a context. `options` may be NULL. The environment variable TILERY_SIMD (portable, avx2,
 * avx512, avx512vnni, avx512fp16) decides where options leave TLY_SIMD_AUTO; a level that the
 * processor lacks is an error there too. Errors: INVALID_ARGUMENT, UNSUPPORTED (level not
 * available), OUT_OF_MEMORY. */
TLY_API tly_status tly_context_new(const tly_context_options *options, tly_context **out_context,
                                   tly_error *error);

/* Frees a context; NULL is allowed. Nothing created with it may be in use. */
TLY_API void tly_context_free(tly_context *context);

/* The level in use, never TLY_SIMD_AUTO. Thread-safe. */
TLY_API tly_simd tly_context_simd(const tly_context *context);

/* The widest level that this processor and system offer. Thread-safe. */
TLY_API tly_simd tly_simd_available(void);

/* "portable", "avx2", "avx512", "avx512vnni", "avx512fp16"; "auto" for TLY_SIMD_AUTO. Static
 * storage. Thread-safe. */
TLY_API const char *tly_simd_name(tly_simd simd);

TLY_END_DECLS

#endif
