/* SPDX-License-Identifier: Apache-2.0 */
#include "base/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct tly_context {
    tly_allocator allocator;
    tly_simd simd;
    int32_t log_level;
    tly_log_fn log;
    void *log_user;
};

static void *libc_resize(void *user, void *old, size_t old_size, size_t new_size,
                         size_t alignment) {
    void *block;
    (void)user;
    if (new_size == 0) {
        free(old);
        return NULL;
    }
    if (alignment <= _Alignof(max_align_t)) {
        return realloc(old, new_size);
    }
    if (posix_memalign(&block, alignment, new_size) != 0) {
        return NULL;
    }
    if (old != NULL) {
        memcpy(block, old, old_size < new_size ? old_size : new_size);
        free(old);
    }
    return block;
}

static tly_status choose_simd(int32_t wanted, tly_simd *out, tly_error *error) {
    tly_simd best = tly_simd_available();
    const char *source = "the options";
    if (wanted == TLY_SIMD_AUTO) {
        const char *text = getenv("TILERY_SIMD");
        if (text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0) {
            *out = best;
            return TLY_OK;
        }
        source = "TILERY_SIMD";
        for (int32_t level = TLY_SIMD_PORTABLE; level <= TLY_SIMD_AVX512_FP16; level++) {
            if (strcmp(text, tly_simd_name((tly_simd)level)) == 0) {
                wanted = level;
            }
        }
        if (wanted == TLY_SIMD_AUTO) {
            char shown[64];
            return tly_base_fail(
                error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "simd-level",
                "TILERY_SIMD is \"%s\"; it takes portable, avx2, avx512, avx512vnni, "
                "avx512fp16 or auto",
                tly_base_printable(shown, sizeof shown, text, strlen(text)));
        }
    }
    if (wanted < TLY_SIMD_PORTABLE || wanted > TLY_SIMD_AVX512_FP16) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "simd-level",
                             "%d is no vector level", wanted);
    }
    if (wanted > (int32_t)best) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "simd-level",
                             "%s asks for %s, but this machine offers %s at most", source,
                             tly_simd_name((tly_simd)wanted), tly_simd_name(best));
    }
    *out = (tly_simd)wanted;
    return TLY_OK;
}

tly_status tly_context_new(const tly_context_options *options, tly_context **out_context,
                           tly_error *error) {
    struct tly_context made = {{libc_resize, NULL}, TLY_SIMD_PORTABLE, 0, NULL, NULL};
    tly_context *context;
    int32_t simd = TLY_SIMD_AUTO;
    tly_status status;

    if (out_context == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "null-argument",
                             "out_context is NULL");
    }
    *out_context = NULL;
    if (options != NULL) {
        if (options->size != sizeof *options) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                                 "tly_context_options.size is %zu, expected %zu", options->size,
                                 sizeof *options);
        }
        if (options->allocator.resize != NULL) {
            made.allocator = options->allocator;
        }
        made.log_level = options->log_level;
        made.log = options->log;
        made.log_user = options->log_user;
        simd = options->simd;
    }
    status = choose_simd(simd, &made.simd, error);
    if (status != TLY_OK) {
        return status;
    }
    context = made.allocator.resize(made.allocator.user, NULL, 0, sizeof *context,
                                    _Alignof(struct tly_context));
    if (context == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a context");
    }
    *context = made;
    *out_context = context;
    return TLY_OK;
}

void tly_context_free(tly_context *context) {
    if (context != NULL) {
        tly_allocator allocator = context->allocator;
        allocator.resize(allocator.user, context, sizeof *context, 0, _Alignof(struct tly_context));
    }
}

tly_simd tly_context_simd(const tly_context *context) {
    return context->simd;
}

void *tly_base_alloc(const tly_context *context, size_t len, size_t alignment) {
    if (len == 0) {
        return NULL;
    }
    return context->allocator.resize(context->allocator.user, NULL, 0, len, alignment);
}

void *tly_base_calloc(const tly_context *context, size_t len, size_t alignment) {
    void *block = tly_base_alloc(context, len, alignment);
    if (block != NULL) {
        memset(block, 0, len);
    }
    return block;
}

void *tly_base_grow(const tly_context *context, void *old, size_t old_len, size_t new_len,
                    size_t alignment) {
    return context->allocator.resize(context->allocator.user, old, old_len, new_len, alignment);
}

void tly_base_free(const tly_context *context, void *block, size_t len, size_t alignment) {
    if (block != NULL) {
        context->allocator.resize(context->allocator.user, block, len, 0, alignment);
    }
}

int tly_base_logs(const tly_context *context, tly_log_level level) {
    return context->log != NULL && (int32_t)level <= context->log_level;
}

void tly_base_log(const tly_context *context, tly_log_level level, const char *format, ...) {
    char line[512];
    va_list args;
    if (!tly_base_logs(context, level)) {
        return;
    }
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    context->log(context->log_user, level, line);
}
