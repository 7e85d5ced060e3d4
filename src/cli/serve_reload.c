/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve_reload.h"

#include "base/context.h"

void tly_serve_reload_ask(tly_serve_now *now) {
    atomic_store(&now->asked, 1);
    tly_server_reload(now->server);
}

static void *read_all(void *user) {
    tly_serve_now *now = user;
    now->status =
        tly_serve_input_read(now->cli, now->context, 0, &now->http, &now->input, &now->error);
    atomic_store(&now->ready, 1);
    tly_server_reload(now->server);
    return NULL;
}

/* The thread is done: what it has read is served from now on. */
static void put_in_place(tly_serve_now *now) {
    tly_serve_input *input = &now->input;
    tly_status status = now->status;
    if (status == TLY_OK) {
        status = tly_catalogue_share_uploads(input->catalogue, now->catalogue, &now->error);
        if (status == TLY_OK) {
            status = tly_server_replace(now->server, input->catalogue, input->access, &now->error);
        }
        if (status != TLY_OK) {
            tly_serve_input_cleanup(input);
        }
    }
    if (status == TLY_OK) {
        now->catalogue = input->catalogue;
        tly_base_log(now->context, TLY_LOG_INFO, "reloaded: %llu tensors",
                     (unsigned long long)tly_catalogue_num_tensors(input->catalogue));
    } else {
        tly_base_log(now->context, TLY_LOG_WARNING, "not reloaded: %s", now->error.message);
    }
    tly_serve_notify("READY=1");
}

void tly_serve_reload(void *user) {
    tly_serve_now *now = user;
    if (now->reading && atomic_exchange(&now->ready, 0)) {
        pthread_join(now->thread, NULL);
        now->reading = 0;
        put_in_place(now);
    }
    if (!now->reading && atomic_exchange(&now->asked, 0)) {
        tly_serve_notify("RELOADING=1");
        now->reading = pthread_create(&now->thread, NULL, read_all, now) == 0;
        if (!now->reading) {
            tly_base_log(now->context, TLY_LOG_WARNING, "not reloaded: no thread for it");
            tly_serve_notify("READY=1");
        }
    }
}

void tly_serve_reload_cleanup(tly_serve_now *now) {
    if (!now->reading) {
        return;
    }
    if (now->http != NULL) {
        tly_http_stop(now->http);
    }
    pthread_join(now->thread, NULL);
    now->reading = 0;
    if (now->status == TLY_OK) {
        tly_serve_input_cleanup(&now->input);
    }
}
