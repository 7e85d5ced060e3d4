/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching and putting in several attempts. */
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

/* What is left of the attempts of one transfer. */
typedef struct attempts {
    const tly_retry_options *options;
    uint32_t left, number; /* of the next one */
    uint32_t delay, most;  /* ms */
} attempts;

static tly_status begin_attempts(attempts *a, const tly_retry_options *options, tly_error *error) {
    static const tly_retry_options defaults = {.size = sizeof defaults};
    options = options != NULL ? options : &defaults;
    if (options->size != sizeof *options) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "tly_retry_options.size is %zu, expected %zu", options->size,
                             sizeof *options);
    }
    a->options = options;
    a->left = options->max_attempts != 0 ? options->max_attempts : DEFAULT_ATTEMPTS;
    a->number = 2;
    a->delay = options->first_delay_ms != 0 ? options->first_delay_ms : DEFAULT_FIRST_MS;
    a->most = options->max_delay_ms != 0 ? options->max_delay_ms : DEFAULT_MOST_MS;
    return TLY_OK;
}

/* After an attempt that failed: waits, if there is another one. `moved`: it brought something, and
 * does not count. */
static int goes_on(attempts *a, int moved, uint64_t received, tly_status status,
                   const tly_error *error) {
    const tly_retry_options *o = a->options;
    if (moved) {
        a->delay = o->first_delay_ms != 0 ? o->first_delay_ms : DEFAULT_FIRST_MS;
    } else {
        a->left--;
    }
    if (a->left == 0 || !is_passing(status, error)) {
        return 0;
    }
    uint32_t pause = tly_net_jitter(a->delay < a->most ? a->delay : a->most);
    if (o->on_retry != NULL) {
        o->on_retry(o->user, a->number, pause, received, error);
    }
    wait_ms(pause);
    a->delay = a->delay < a->most ? 2 * a->delay : a->most;
    a->number++;
    return 1;
}

tly_status tly_fetch_with_retries(const tly_context *context, const char *address,
                                  const tly_client_options *options, const tly_retry_options *retry,
                                  const tly_fetch_request *request, tly_fetched **out_fetched,
                                  tly_error *error) {
    tly_fetched *state = NULL;
    tly_error own;
    attempts a = {0};
    uint64_t before, now = 0;
    tly_status status;
    *out_fetched = NULL;
    error = error != NULL ? error : &own;
    status = begin_attempts(&a, retry, error);
    if (status != TLY_OK) {
        return status;
    }
    do {
        before = now;
        status = attempt(context, address, options, request, &state, error);
        if (status == TLY_OK) {
            *out_fetched = state;
            return TLY_OK;
        }
        now = state != NULL ? state->received : 0;
    } while (goes_on(&a, now > before, now, status, error));
    tly_fetched_free(state);
    return status;
}

tly_status tly_put_with_retries(const tly_context *context, const char *address,
                                const tly_client_options *options, const tly_retry_options *retry,
                                tly_client **client, const tly_put_request *request,
                                tly_error *error) {
    tly_error own;
    attempts a = {0};
    tly_status status;
    error = error != NULL ? error : &own;
    status = begin_attempts(&a, retry, error);
    if (status != TLY_OK) {
        return status;
    }
    for (;;) {
        status =
            *client != NULL ? TLY_OK : tly_client_connect(context, address, options, client, error);
        if (status == TLY_OK) {
            status = tly_client_put(*client, request, error);
        }
        if (status == TLY_OK) {
            return TLY_OK;
        }
        if (*client != NULL && ((*client)->broken || is_passing(status, error))) {
            tly_client_free(*client);
            *client = NULL;
        }
        if (!goes_on(&a, 0, 0, status, error)) {
            return status;
        }
    }
}
