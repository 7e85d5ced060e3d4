/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor from a server or a file, in a layout that the caller wants. */
#ifndef TLY_CLI_BRING_H
#define TLY_CLI_BRING_H

#include <tilery/net.h>

#include "cli/whole.h"

/* Where a tensor comes from: "ADDRESS:KEY[:LAYOUT]" or "FILE:KEY[:LAYOUT]". */
typedef struct tly_bring_from {
    char place[1024]; /* address of a server, or path of a file */
    char key[1024];
    char layout[128]; /* as --layout of tilery get has it; "" where none was said */
    int is_address;
    int stored_nk; /* panels are of a tensor stored N x K; the caller sets it after parsing */
} tly_bring_from;

/* Takes the text apart. With `place`, an address or a file, it is only KEY[:LAYOUT]. What stands
 * behind the last colon is a layout if it is the name of one, else it belongs to the key, which may
 * have colons. Errors: INVALID_ARGUMENT (usage-bind). */
tly_status tly_bring_parse(const char *place, const char *text, tly_bring_from *out_from,
                           tly_error *error);

/* A tensor that was brought: all bytes of its buffers back to back. */
typedef struct tly_brought {
    const tly_descriptor *descriptor;
    const void *bytes;
    uint64_t len;
    tly_fetched *fetched; /* of a server, */
    tly_whole whole;      /* or of a file */
    int is_whole;
} tly_brought;

/* Brings a tensor with one buffer in the layout that `from` names, or without one in `layout`. A
 * server is asked for that layout and no other; a tensor of a file is transcoded here. Errors:
 * those of tly_fetch_with_retries, of reading and of tly_transcode_new; LAYOUT_UNAVAILABLE (the
 * server has it in another layout only; it has several buffers). */
tly_status tly_bring(const tly_context *context, const tly_bring_from *from, const char *layout,
                     tly_brought *out_brought, tly_error *error);
void tly_brought_cleanup(tly_brought *brought);

#endif
