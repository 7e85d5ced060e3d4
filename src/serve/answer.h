/* SPDX-License-Identifier: Apache-2.0 */
/* What a request gets: the layout chosen, the descriptor that says so, and where the bytes come
 * from. */
#ifndef TLY_SERVE_ANSWER_H
#define TLY_SERVE_ANSWER_H

#include <tilery/panel.h>
#include <tilery/wire.h>

#include "serve/catalogue.h"
#include "serve/maker.h"

/* Profiles of one request that are read; the rest of the list costs too much for what it can bring.
 */
#define TLY_ANSWER_MAX_PROFILES 64

/* Layouts of one request that are tried by transcoding: each may read the whole tensor. */
#define TLY_ANSWER_MAX_TRANSCODINGS 8

typedef struct tly_answer_limits {
    uint64_t transcode_limit;     /* bytes of a packed buffer */
    tly_panel_verdicts *verdicts; /* which profiles' probes have been proven */
    const tly_families *families; /* of plug-ins; may be NULL */
    const int32_t *cancel; /* nobody wants the answer any more; may be NULL (store/blocks.h) */
    uint64_t probe_budget; /* bytes of probe work that the peer may still cause; in and out */
} tly_answer_limits;

/* Says which bytes an answer has: the source, the layout's tag, and for a panel its template
 * without what does not change a byte (alignment, kernel, probe). */
#define TLY_ANSWER_VARIANT_LEN (sizeof(tly_catalogue_source) + 8 + TLY_PANEL_MAX_LEN)

/* A member of a composite, as it is stored. */
typedef struct tly_answer_member {
    uint8_t *descriptor; /* serialised */
    size_t descriptor_len;
    uint64_t total; /* bytes of data */
    tly_catalogue_bytes *parts;
    uint32_t num_parts;
    tly_maker *maker; /* where they are elsewhere: brings them; NULL otherwise */
} tly_answer_member;

/* Members of one composite, those of composites inside of it too; more is not served. */
#define TLY_ANSWER_MAX_MEMBERS 65536

typedef struct tly_answer {
    const tly_context *context;
    uint8_t *descriptor; /* serialised */
    size_t descriptor_len;
    uint64_t total;             /* bytes of data */
    tly_maker *maker;           /* NULL: native, `parts` as they are */
    tly_blocks *blocks;         /* the tensor is in there; NULL: it is here */
    uint64_t data_offset;       /* of all its buffers in that object */
    uint64_t data_len;          /* bytes, padding between them included */
    tly_catalogue_bytes *parts; /* native: the buffers */
    uint32_t num_parts;
    tly_answer_member *members; /* of a composite: what follows its head, in this order */
    uint32_t num_members;
    uint32_t members_capacity;
    const tly_store *store;  /* bytes come from this file; NULL: from memory */
    struct tly_upload *hold; /* keeps the file open, if it may be replaced; NULL otherwise */
    tly_catalogue_source source;
    uint32_t variant_len; /* 0: the source cannot be told */
    uint8_t variant[TLY_ANSWER_VARIANT_LEN];
    char reason[256]; /* why this layout, for the log */
} tly_answer;

/* Decides by the rules of tilery/wire.h. `out_code` is the tly_wire_code of a refusal. Errors:
 * NOT_FOUND, UNSUPPORTED, LIMIT, OUT_OF_MEMORY, those of tly_store_descriptor and tly_store_view.
 */
tly_status tly_answer_init(tly_answer *answer, const tly_context *context,
                           const tly_catalogue *catalogue, tly_answer_limits *limits,
                           const tly_wire_hello *client, const tly_wire_request *request,
                           uint32_t *out_code, tly_error *error);
void tly_answer_cleanup(tly_answer *answer);

/* Holds what the maker reads, if it reads in place what is elsewhere; waits until it is there.
 * Errors: those of tly_blocks_hold. */
int tly_answer_wants_hold(const tly_answer *answer);
tly_status tly_answer_hold(const tly_answer *answer, const int32_t *cancel,
                           tly_block_hold *out_hold);

/* What a client is told of a failure while bytes were being made; where the tensor is elsewhere, no
 * word of where. */
const char *tly_answer_failure(const tly_answer *answer, tly_status status);

/* What this server announces, `hands_over` where it does that: `buffer` has room for
 * TLY_ANSWER_LAYOUTS_LEN bytes. */
#define TLY_ANSWER_LAYOUTS_LEN 256
tly_status tly_answer_layouts(uint8_t *buffer, const tly_families *families, int hands_over,
                              tly_wire_layouts *out_list);

#endif
