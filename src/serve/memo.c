/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/memo.h"

#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "panel/hash.h"

#define FIXED_LEN 24

size_t tly_memo_question_len(const tly_wire_request *request, const tly_wire_hello *client) {
    return (size_t)FIXED_LEN + client->num_devices + request->layouts.len + request->key_len;
}

void tly_memo_question(const tly_wire_request *request, const tly_wire_hello *client,
                       uint8_t *out) {
    static const uint8_t standard[] = {TLY_MEMORY_STANDARD};
    uint8_t got;
    uint32_t no_memory = tly_wire_choose_memory_class(
        client->memory_classes, client->num_memory_classes, standard, 1, &got);
    tly_base_store_u32(out, request->request_flags);
    tly_base_store_u32(out + 4, request->min_alignment);
    tly_base_store_u32(out + 8, request->preferred_device | (no_memory != 0 ? 0x100u : 0));
    tly_base_store_u32(out + 12, client->num_devices);
    tly_base_store_u32(out + 16, request->layouts.num);
    tly_base_store_u32(out + 20, request->layouts.len);
    out += FIXED_LEN;
    if (client->num_devices != 0) {
        memcpy(out, client->devices, client->num_devices);
        out += client->num_devices;
    }
    if (request->layouts.len != 0) {
        memcpy(out, request->layouts.bytes, request->layouts.len);
        out += request->layouts.len;
    }
    memcpy(out, request->key, request->key_len);
}

/* Is the file behind an answer what it was when the answer was decided? */
static int is_current(const serve_answer *a, const serve_offer *offer) {
    tly_catalogue_source now;
    return a->offer == offer && a->generation == tly_catalogue_generation(offer->catalogue) &&
           tly_catalogue_get_source(a->answer.store, a->answer.source.place, &now) &&
           memcmp(&now, &a->answer.source, sizeof now) == 0;
}

serve_answer *tly_memo_find(tly_memo *memo, const serve_offer *offer, const uint8_t *question,
                            size_t len) {
    uint64_t hash = tly_panel_hash64(question, len, 0, 1);
    serve_answer **slot = &memo->slots[hash % TLY_MEMO_SLOTS];
    serve_answer *a = *slot;
    if (a == NULL || a->hash != hash || a->question_len != len ||
        memcmp(a->question, question, len) != 0) {
        return NULL;
    }
    if (!is_current(a, offer)) {
        *slot = NULL;
        tly_memo_drop(a);
        return NULL;
    }
    a->refs++;
    return a;
}

serve_answer *tly_memo_new_answer(const tly_context *context, serve_offer *offer,
                                  const tly_wire_request *request, const tly_wire_hello *client) {
    serve_answer *a = tly_base_calloc(context, sizeof *a, _Alignof(serve_answer));
    uint8_t *layouts;
    if (a == NULL) {
        return NULL;
    }
    a->answer.context = context;
    a->refs = 1;
    a->generation = tly_catalogue_generation(offer->catalogue);
    a->question_len = tly_memo_question_len(request, client);
    a->question = tly_base_alloc(context, a->question_len, 1);
    if (a->question == NULL) {
        tly_base_free(context, a, sizeof *a, _Alignof(serve_answer));
        return NULL;
    }
    a->offer = tly_offer_hold(offer);
    tly_memo_question(request, client, a->question);
    a->hash = tly_panel_hash64(a->question, a->question_len, 0, 1);
    a->request = *request;
    layouts = a->question + FIXED_LEN + client->num_devices;
    a->request.layouts.bytes = layouts;
    a->request.key = (const char *)layouts + request->layouts.len;
    return a;
}

void tly_memo_keep(tly_memo *memo, serve_answer *answer) {
    serve_answer **slot = &memo->slots[answer->hash % TLY_MEMO_SLOTS];
    if (answer->question_len > TLY_MEMO_MAX_LEN) {
        return;
    }
    tly_memo_drop(*slot);
    *slot = answer;
    answer->refs++;
}

void tly_memo_drop(serve_answer *answer) {
    const tly_context *context;
    if (answer == NULL || --answer->refs != 0) {
        return;
    }
    context = answer->answer.context;
    tly_answer_cleanup(&answer->answer);
    tly_offer_drop(answer->offer);
    tly_base_free(context, answer->question, answer->question_len, 1);
    tly_base_free(context, answer, sizeof *answer, _Alignof(serve_answer));
}

void tly_memo_clear(tly_memo *memo) {
    for (uint32_t i = 0; i < TLY_MEMO_SLOTS; i++) {
        tly_memo_drop(memo->slots[i]);
        memo->slots[i] = NULL;
    }
}
