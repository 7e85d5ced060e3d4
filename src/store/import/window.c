/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/window.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"

#define WINDOW_LEN ((size_t)1 << 16) /* read when going straight on */
#define JUMP_LEN   ((size_t)1 << 12) /* read behind a jump, where only a few fields may be wanted */

tly_status tly_window_init(tly_window *window, const tly_context *context,
                           const tly_import_file *file, tly_error *error) {
    memset(window, 0, sizeof *window);
    window->context = context;
    window->file = file;
    window->error = error;
    if (file->fd < 0) {
        window->have = file->memory;
        window->have_len = file->len;
        return TLY_OK;
    }
    window->buffer = tly_base_alloc(context, WINDOW_LEN, 16);
    if (window->buffer == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a read window");
    }
    window->have = window->buffer;
    return TLY_OK;
}

void tly_window_cleanup(tly_window *window) {
    tly_base_free(window->context, window->buffer, WINDOW_LEN, 16);
    window->buffer = NULL;
}

tly_status tly_window_load(tly_window *window, uint64_t at, uint64_t len, const uint8_t **out) {
    if (at < window->have_at || at - window->have_at > window->have_len ||
        len > window->have_len - (at - window->have_at)) {
        uint64_t left = at < window->file->len ? window->file->len - at : 0;
        uint64_t straight = window->have_at + window->have_len;
        uint64_t most = at <= straight && straight - at < TLY_WINDOW_NEED ? WINDOW_LEN : JUMP_LEN;
        uint64_t want = left < most ? left : most;
        tly_status status;
        if (window->buffer == NULL || want < len) {
            return tly_base_fail(window->error, TLY_TRUNCATED, window->file->len, "file-end",
                                 "%s ends inside a field", window->file->name);
        }
        window->have_len = 0;
        status = tly_import_file_read(window->file, at, window->buffer, want, window->error);
        if (status != TLY_OK) {
            return status;
        }
        window->have_at = at;
        window->have_len = want;
    }
    *out = window->have + (at - window->have_at);
    return TLY_OK;
}

tly_status tly_window_peek(tly_window *window, uint64_t at, uint64_t len, const uint8_t **out_bytes,
                           uint64_t *out_len) {
    tly_status status = tly_window_load(window, at, 1, out_bytes);
    if (status == TLY_OK) {
        uint64_t there = window->have_len - (at - window->have_at);
        *out_len = len < there ? len : there;
    }
    return status;
}

tly_status tly_window_copy(tly_window *window, uint64_t at, void *buffer, uint64_t len) {
    if (len != 0 && at >= window->have_at && at - window->have_at <= window->have_len &&
        len <= window->have_len - (at - window->have_at)) {
        memcpy(buffer, window->have + (at - window->have_at), (size_t)len);
        return TLY_OK;
    }
    return tly_import_file_read(window->file, at, buffer, len, window->error);
}
