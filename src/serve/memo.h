/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are shared by the streams that they were given to, and remembered: the same request
 * again costs a look-up instead of a decision. Used on the loop's thread only, but for reading. */
#ifndef TLY_SERVE_MEMO_H
#define TLY_SERVE_MEMO_H

#include "serve/answer.h"
#include "serve/offer.h"

#define TLY_MEMO_SLOTS   1024
#define TLY_MEMO_MAX_LEN 4096 /* longer requests are not remembered */

typedef struct serve_answer {
    tly_answer answer;
    uint32_t refs;
    serve_offer *offer;  /* that it was decided under */
    uint64_t generation; /* of the catalogue */
    uint64_t hash;       /* of `question` */
    uint8_t *question;   /* all that the decision depends on; see tly_memo_question */
    size_t question_len;
    tly_wire_request request; /* views into `question` */
} serve_answer;

typedef struct tly_memo {
    serve_answer *slots[TLY_MEMO_SLOTS];
} tly_memo;

/* Length, and the bytes, of all that a decision depends on but for the catalogue: the request and
 * the client's devices. */
size_t tly_memo_question_len(const tly_wire_request *request, const tly_wire_hello *client);
void tly_memo_question(const tly_wire_request *request, const tly_wire_hello *client, uint8_t *out);

/* A remembered answer that still holds, with a reference for the caller; NULL if there is none. */
serve_answer *tly_memo_find(tly_memo *memo, const serve_offer *offer, const uint8_t *question,
                            size_t len);

/* An answer to be decided, with one reference and a copy of the request; NULL without memory. */
serve_answer *tly_memo_new_answer(const tly_context *context, serve_offer *offer,
                                  const tly_wire_request *request, const tly_wire_hello *client);

/* Remembers an answer that has been decided. */
void tly_memo_keep(tly_memo *memo, serve_answer *answer);
void tly_memo_drop(serve_answer *answer); /* one reference; NULL is allowed */
void tly_memo_clear(tly_memo *memo);

#endif
