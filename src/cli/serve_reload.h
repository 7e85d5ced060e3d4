/* SPDX-License-Identifier: Apache-2.0 */
/* Reading everything anew while `tilery serve` serves: on a thread of its own, since it may wait
 * for disks and other machines; what has been read is put in place on the server's. */
#ifndef TLY_CLI_SERVE_RELOAD_H
#define TLY_CLI_SERVE_RELOAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "cli/serve_offer.h"

/* What is being served. Single-owner (the server's thread), but for tly_serve_reload_ask. */
typedef struct tly_serve_now {
    const tly_cli *cli;
    const tly_context *context;
    tly_server *server;
    const tly_catalogue *catalogue;
    tly_http *http;   /* NULL: nothing is behind a URL */
    atomic_int asked; /* somebody wants it read */
    atomic_int ready; /* the thread is done */
    int reading;      /* there is a thread */
    pthread_t thread;
    tly_serve_input input; /* what the thread has read */
    tly_status status;
    tly_error error;
} tly_serve_now;

/* Has everything read; from any thread and from a signal handler. */
void tly_serve_reload_ask(tly_serve_now *now);

/* tly_server_options.reload; `user` is a tly_serve_now. What is wrong leaves everything as it was.
 */
void tly_serve_reload(void *user);

/* Ends a reading that is under way; the server does not run any more. */
void tly_serve_reload_cleanup(tly_serve_now *now);

#endif
