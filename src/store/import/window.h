/* SPDX-License-Identifier: Apache-2.0 */
/* A file of outside bytes seen through a window of fixed size: what is not looked at is stepped
 * over, so a model of many gigabytes costs little memory and few reads. Bytes in memory are seen in
 * place. */
#ifndef TLY_IMPORT_WINDOW_H
#define TLY_IMPORT_WINDOW_H

#include <stdint.h>

#include <tilery/context.h>
#include <tilery/status.h>

#include "store/import/file.h"

#define TLY_WINDOW_NEED 10 /* bytes: the most that tly_window_load gives at once */

typedef struct tly_window {
    const tly_context *context;
    const tly_import_file *file;
    uint8_t *buffer;     /* NULL for a file in memory */
    const uint8_t *have; /* bytes have_at .. have_at + have_len of the file */
    uint64_t have_at;
    uint64_t have_len;
    tly_error *error; /* may be NULL */
} tly_window;

tly_status tly_window_init(tly_window *window, const tly_context *context,
                           const tly_import_file *file, tly_error *error);
void tly_window_cleanup(tly_window *window);

/* Points to `len` (at most TLY_WINDOW_NEED) bytes at `at`; good until the next call. Errors:
 * TRUNCATED, IO. */
tly_status tly_window_load(tly_window *window, uint64_t at, uint64_t len, const uint8_t **out);

/* Points to at least one and at most `len` bytes at `at`, all that the window can give at once;
 * good until the next call. `len` > 0 and the bytes are inside the file. */
tly_status tly_window_peek(tly_window *window, uint64_t at, uint64_t len, const uint8_t **out_bytes,
                           uint64_t *out_len);

/* Copies `len` bytes of the file. */
tly_status tly_window_copy(tly_window *window, uint64_t at, void *buffer, uint64_t len);

#endif
