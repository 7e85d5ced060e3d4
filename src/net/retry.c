/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching in several attempts. */
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "net/client.h"
#include "net/delay.h"

#define DEFAULT_ATTEMPTS 6u
#define DEFAULT_FIRST_MS 200u
#define DEFAULT_MOST_MS  10000u

/* Could another attempt do better? */
static int is_passing(tly_status status, const tly_error *error) {
    return status == TLY_IO || status == TLY_CLOSED || status == TLY_TIMEOUT ||
           (status == TLY_PEER &&
            (strcmp(error->rule, "server-busy") == 0 || strcmp(error->rule, "server-failed") == 0));
}

static void wait_ms(uint32_t ms) {
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t) != 0) {
    }
}

/* One attempt. `*state` is what earlier ones brought, and afterwards what there is now. */
static tly_status attempt(const tly_context *context, const char *address,
                          const tly_client_options *options, const tly_fetch_request *request,
                          tly_fetched **state, tly_error *error) {
    tly_client *client;
    tly_fetched *fetched;
    tly_status status = tly_client_connect(context, address, options, &client, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_client_fetch_on(client, request, *state, &fetched, error);
    tly_client_free(client);
    if (fetched != NULL || (*state != NULL && (*state)->data == NULL)) {
        tly_fetched_free(*state); /* it was gone on with, or is of no use any more */
        *state = fetched;
    }
    return status;
}

tly_status tly_fetch_with_retries(const tly_context *context, const char *address,
                                  const tly_client_options *options, const tly_retry_options *retry,
                                  const tly_fetch_request *request, tly_fetched **out_fetched,
                                  tly_error *error) {
    static const tly_retry_options defaults = {.size = sizeof defaults};
    tly_fetched *state = NULL;
    tly_error own;
    uint32_t left, delay, most;
    tly_status status;
    *out_fetched = NULL;
    error = error != NULL ? error : &own;
    retry = retry != NULL ? retry : &defaults;
    if (retry->size != sizeof *retry) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "tly_retry_options.size is %zu, expected %zu", retry->size,
                             sizeof *retry);
    }
    left = retry->max_attempts != 0 ? retry->max_attempts : DEFAULT_ATTEMPTS;
    delay = retry->first_delay_ms != 0 ? retry->first_delay_ms : DEFAULT_FIRST_MS;
    most = retry->max_delay_ms != 0 ? retry->max_delay_ms : DEFAULT_MOST_MS;
    for (uint32_t number = 2;; number++) {
        uint64_t before = state != NULL ? state->received : 0;
        uint32_t pause;
        status = attempt(context, address, options, request, &state, error);
        if (status == TLY_OK) {
            *out_fetched = state;
            return TLY_OK;
        }
        if (state != NULL && state->received > before) {
            delay = retry->first_delay_ms != 0 ? retry->first_delay_ms : DEFAULT_FIRST_MS;
        } else {
            left--;
        }
        if (left == 0 || !is_passing(status, error)) {
            break;
        }
        pause = tly_net_jitter(delay < most ? delay : most);
        if (retry->on_retry != NULL) {
            retry->on_retry(retry->user, number, pause, state != NULL ? state->received : 0, error);
        }
        wait_ms(pause);
        delay = delay < most ? 2 * delay : most;
    }
    tly_fetched_free(state);
    return status;
}
