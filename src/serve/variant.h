/* SPDX-License-Identifier: Apache-2.0 */
/* Packed variants of tensors (and, where they are handed over, copies of native ones), each made
 * once and shared by all streams that ask for it, also while it is being made. A variant lies in a
 * memory file, so that the kernel can send it from there. Everything but the packing itself happens
 * on the loop's thread. */
#ifndef TLY_SERVE_VARIANT_H
#define TLY_SERVE_VARIANT_H

#include <uv.h>

#include "base/use_order.h"
#include "serve/memo.h"
#include "serve/workers.h"

#define VARIANT_BUCKETS 1024
#define VARIANT_JOBS    2 /* pieces that are packed at a time */

typedef struct tly_variant tly_variant;
typedef struct tly_server tly_server;

/* Can a variant be handed over? */
typedef enum variant_share {
    VARIANT_SHARE_NEW = 0,     /* nobody asked */
    VARIANT_SHARE_COPYING = 1, /* its file cannot be sealed, so a copy is being made that can */
    VARIANT_SHARE_READY = 2,
    VARIANT_SHARE_NEVER = 3
} variant_share;

typedef enum variant_state {
    VARIANT_FILLING = 0,
    VARIANT_SEALING = 1, /* packed; the writable map goes and the file is sealed */
    VARIANT_READY = 2,
    VARIANT_BROKEN = 3 /* given up; goes away with its last reader */
} variant_state;

/* Somebody who waits for the bytes of a variant. Part of a larger object. */
typedef struct variant_reader {
    struct variant_reader *next, *previous;
    tly_variant *variant; /* NULL: reads none */
} variant_reader;

typedef struct variant_job {
    serve_task task;
    tly_variant *variant;
    uint64_t first_unit, num_units;
    uint64_t offset, len; /* bytes */
    int done;
    int wants_hold;      /* on what the maker reads: the variant has none yet */
    tly_block_hold hold; /* goes to the variant */
    tly_status status;
} variant_job;

struct tly_variant {
    tly_use_link use;     /* in the order of use */
    tly_variant *chained; /* in its bucket */
    tly_server *server;
    serve_answer *answer; /* while it is packed */
    tly_block_hold hold;  /* what is read meanwhile */
    int32_t cancel;       /* atomic: nobody wants it any more */
    const char *failure;  /* why it broke, for clients; NULL: its file changed */
    uint64_t hash;
    variant_state state;
    int listed; /* can be found */
    variant_share share;
    int share_fd; /* sealed; `fd` itself, or a copy; -1: none */
    uv_work_t sharing;
    int fd; /* read-only */
    int write_fd;
    uint8_t *map;         /* read-only */
    uint64_t file_offset; /* of the data in the file */
    int is_native;        /* a copy of the tensor as it is kept */
    int kept;             /* the file is one that a restart finds again */
    uint8_t *write_map;
    uint64_t len;      /* bytes */
    uint64_t done_len; /* these are there */
    uint64_t unit_len; /* bytes of all units but the last */
    uint64_t next_unit, num_units, units_per_piece, num_started, num_done;
    uint32_t busy; /* jobs that are out */
    uint32_t num_readers;
    variant_reader *first, *last;
    variant_job jobs[VARIANT_JOBS];
    uv_work_t sealing;
    uint32_t key_len;
    uint8_t key[TLY_ANSWER_VARIANT_LEN];
};

typedef struct tly_variants {
    tly_variant *buckets[VARIANT_BUCKETS];
    tly_use_order order;
    uint64_t limit; /* bytes of all; 0: none are kept */
    uint64_t used;
    uint64_t num; /* that can be found */
} tly_variants;

/* Makes `reader` read the variant that an answer asks for, which is made if there is none. Returns
 * 0 if it does not fit beside those in use: then the stream packs for itself. */
int tly_variant_open(tly_server *server, serve_answer *answer, variant_reader *reader);

/* One more reader of a variant that somebody reads. */
void tly_variant_join(tly_variant *variant, variant_reader *reader);

/* Ends the reading. A variant that is still being made and that nobody reads is given up. */
void tly_variant_close(variant_reader *reader);

/* Whether the file of a whole variant can be handed over; starts what there is to do for that, and
 * the readers are told when it is done. */
variant_share tly_variant_share(tly_variant *variant);

/* What was made from tensors in memory is not found any more: an address may come to hold another
 * tensor. */
void tly_variants_forget_memory(tly_server *server);

/* Writes variants to the folder that keeps them, one at a time, where there is one. */
void tly_variants_keep(tly_server *server);

/* Frees everything; no reader and no job is left. */
void tly_variants_cleanup(tly_server *server);

/* For every reader, whenever a piece is there or the variant broke. Defined by the streams. */
void tly_serve_variant_moved(variant_reader *reader);

#endif
