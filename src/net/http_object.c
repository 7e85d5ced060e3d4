/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of one object, each in as many attempts as it takes. What is learnt from the first answer,
 * length and version, every later answer has to show again: bytes of two objects are never mixed.
 * Every request goes to the URL as it was given, also where that redirects: the place that it leads
 * to may be good for a short time only. */
#include "net/http_object.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "base/error.h"
#include "net/delay.h"
#include "net/http_head.h"
#include "net/http_url.h"
#include "panel/hash.h"

#define MAX_HANDLES   16
#define MAX_REDIRECTS 5
#define MAX_UNWANTED  65536 /* bytes of an answer that nobody wants, before we hang up */
#define FIRST_LEN     64    /* bytes of the first request: a container's header */
#define SLOWEST       32768 /* bytes a second: what is slower has stalled */
#define LOOK_EVERY_MS 50
#define SHOWN_LEN     256

typedef struct http_object {
    tly_http *http;
    char *url; /* with its secrets */
    size_t url_len;
    char shown[SHOWN_LEN];
    tly_http_url server;
    uint64_t total; /* bytes; 0: not known yet */
    char etag[TLY_HTTP_ETAG_LEN];
    char modified[TLY_HTTP_DATE_LEN];
    pthread_mutex_t mutex;
    void *handles[MAX_HANDLES]; /* that nobody uses now; their connections are open */
    uint32_t num_handles;
} http_object;

/* One range on its way. */
typedef struct transfer {
    http_object *object;
    const int32_t *cancel;
    uint64_t first, end; /* bytes that are missing; `end` may be beyond the object, at first */
    uint8_t *out;        /* where the byte `first` goes */
    tly_http_head head;
    int is_wanted;     /* the head was what was asked for: its body is taken */
    uint64_t unwanted; /* bytes of another body */
    tly_status status; /* of a fault that no further attempt mends */
    tly_error *error;
    tly_http_call call;
} transfer;

/* ---- what an answer must be ---- */

static int refuse(transfer *t, tly_status status, const char *rule, const char *text) {
    t->status =
        tly_base_fail(t->error, status, TLY_NO_OFFSET, rule, "%s: %s", t->object->shown, text);
    return 0;
}

static int refuse_changed(transfer *t) {
    return refuse(t, TLY_MISMATCH, "object-changed",
                  "the object has changed since it was opened: open it anew");
}

/* The version that the first answer told. */
static int learn(transfer *t) {
    http_object *o = t->object;
    const tly_http_head *h = &t->head;
    if (!tly_http_etag_is_strong(h->etag) && h->modified[0] == '\0') {
        return refuse(t, TLY_UNSUPPORTED, "http-version",
                      "the server does not say which version of the object it gives (ETag or "
                      "Last-Modified), so a change could not be noticed");
    }
    o->total = h->total;
    memcpy(o->etag, h->etag, sizeof o->etag);
    memcpy(o->modified, h->modified, sizeof o->modified);
    return 1;
}

static int is_same_version(const http_object *o, const tly_http_head *h) {
    return h->total == o->total && strcmp(h->etag, o->etag) == 0 &&
           strcmp(h->modified, o->modified) == 0;
}

/* 206: is it our range, of our object? */
static int judge_range(transfer *t) {
    http_object *o = t->object;
    const tly_http_head *h = &t->head;
    uint64_t end;
    if (!h->has_range || h->bad_range) {
        return refuse(t, TLY_PROTOCOL, "http-range",
                      "the server's Content-Range is missing or broken");
    }
    if (h->is_encoded) {
        return refuse(t, TLY_UNSUPPORTED, "http-encoding",
                      "the server sends the object compressed, although we did not ask for that");
    }
    if (o->total == 0 ? !learn(t) : (!is_same_version(o, h) && !refuse_changed(t))) {
        return 0;
    }
    end = t->end < o->total ? t->end : o->total;
    if (h->first != t->first || h->last != end - 1 || (h->has_len && h->len != end - t->first)) {
        return refuse(t, TLY_PROTOCOL, "http-range", "the server sends another range than we want");
    }
    t->end = end;
    t->is_wanted = 1;
    return 1;
}

/* The head is complete. Returns 0 where nothing more of the answer is wanted. */
static int judge(transfer *t) {
    switch (t->head.status) {
    case 206:
        return judge_range(t);
    case 200:
        return refuse(t, TLY_UNSUPPORTED, "http-range-ignored",
                      "the server ignores ranges: it would send the whole object each time");
    case 412:
        return refuse_changed(t);
    case 416:
        return t->object->total != 0
                   ? refuse_changed(t)
                   : refuse(t, TLY_TRUNCATED, "F-SIZE", "the object is empty: it is no container");
    default:
        return 1; /* a short text for people, or a redirect */
    }
}

static int on_line(void *user, const char *line, size_t len) {
    transfer *t = user;
    if (len != 0) {
        tly_http_head_line(&t->head, line, len);
        return 1;
    }
    return t->head.status < 200 || t->is_wanted || judge(t); /* trailers end like this, too */
}

static int on_body(void *user, const void *bytes, size_t len) {
    transfer *t = user;
    if (!t->is_wanted) {
        t->unwanted += len;
        return t->unwanted <= MAX_UNWANTED;
    }
    if (len > t->end - t->first) {
        return refuse(t, TLY_PROTOCOL, "http-range", "the server sends more than the range");
    }
    memcpy(t->out, bytes, len);
    t->out += len;
    t->first += len;
    return 1;
}

static int is_cancelled(const transfer *t) {
    return __atomic_load_n(&t->object->http->stopped, __ATOMIC_ACQUIRE) != 0 ||
           (t->cancel != NULL && __atomic_load_n(t->cancel, __ATOMIC_ACQUIRE) != 0);
}

static int goes_on(void *user) {
    return !is_cancelled(user);
}

/* ---- handles ---- */

static void *take_handle(http_object *o) {
    void *handle = NULL;
    pthread_mutex_lock(&o->mutex);
    if (o->num_handles != 0) {
        handle = o->handles[--o->num_handles];
    }
    pthread_mutex_unlock(&o->mutex);
    return handle != NULL ? handle : o->http->module->start(o->http->library);
}

static void give_handle(http_object *o, void *handle) {
    pthread_mutex_lock(&o->mutex);
    if (o->num_handles < MAX_HANDLES) {
        o->handles[o->num_handles++] = handle;
        handle = NULL;
    }
    pthread_mutex_unlock(&o->mutex);
    if (handle != NULL) {
        o->http->module->end(handle);
    }
}

/* ---- one attempt ---- */

static tly_http_result request(transfer *t, void *handle, const char *url) {
    http_object *o = t->object;
    tly_http_call *call = &t->call;
    uint64_t len = t->end - t->first;
    tly_http_head_init(&t->head);
    t->is_wanted = 0;
    t->unwanted = 0;
    call->url = url;
    call->first = t->first;
    call->last = t->end - 1;
    call->match = tly_http_etag_is_strong(o->etag) ? o->etag : NULL;
    call->unmodified = call->match == NULL && o->modified[0] != '\0' ? o->modified : NULL;
    call->connect_timeout_ms = o->http->options.connect_timeout_ms;
    call->stall_timeout_ms = o->http->options.stall_timeout_ms;
    call->total_timeout_ms = call->connect_timeout_ms + call->stall_timeout_ms +
                             (uint32_t)(1000 * (len / SLOWEST < 3600 ? len / SLOWEST : 3600));
    call->user = t;
    call->line = on_line;
    call->body = on_body;
    call->goes_on = goes_on;
    __atomic_add_fetch(&o->http->num_requests, 1, __ATOMIC_RELAXED);
    return o->http->module->get(handle, call);
}

static int is_redirect(const transfer *t) {
    uint32_t s = t->head.status;
    return s == 301 || s == 302 || s == 303 || s == 307 || s == 308;
}

/* Where the answer sends us, checked: never from https to http, and to another server without the
 * user and the password of this one. */
static int follow(transfer *t, char *url) {
    tly_http_url from, to;
    if (tly_http_url_parse(t->call.redirect, &to, NULL) != TLY_OK) {
        return refuse(t, TLY_PROTOCOL, "http-redirect", "the server redirects to no http: URL");
    }
    (void)tly_http_url_parse(url, &from, NULL); /* has been sent */
    if (from.is_secure && !to.is_secure) {
        return refuse(t, TLY_PROTOCOL, "http-redirect",
                      "the server redirects from https: to http:");
    }
    if (!tly_http_url_same_server(&t->object->server, &to)) {
        tly_http_url_drop_user(t->call.redirect);
    }
    strcpy(url, t->call.redirect);
    return 1;
}

/* Asks until an answer is no redirect. */
static tly_http_result request_followed(transfer *t, void *handle) {
    char url[TLY_HTTP_URL_LEN];
    tly_http_result result = TLY_HTTP_DONE;
    strcpy(url, t->object->url);
    for (int i = 0; i <= MAX_REDIRECTS; i++) {
        result = request(t, handle, url);
        if (t->status != TLY_OK || result != TLY_HTTP_DONE || !is_redirect(t)) {
            tly_http_url_hide(url, t->call.message);
            tly_http_url_hide(t->object->url, t->call.message);
            return result;
        }
        if (!follow(t, url)) {
            return result;
        }
    }
    refuse(t, TLY_PROTOCOL, "http-redirect", "the server redirects again and again");
    return result;
}

/* 408, 429 and what servers say that have a moment of weakness. */
static int is_passing(uint32_t status) {
    return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

static tly_status fail_status(transfer *t) {
    uint32_t s = t->head.status;
    if (s == 404 || s == 410) {
        return tly_base_fail(t->error, TLY_NOT_FOUND, TLY_NO_OFFSET, "http-status",
                             "%s: there is no such object (HTTP %u)", t->object->shown, s);
    }
    return tly_base_fail(t->error, TLY_PEER, TLY_NO_OFFSET, "http-status",
                         "%s: the server answers with HTTP %u%s", t->object->shown, s,
                         s == 401 || s == 403 ? ": it does not let us, or a signature has expired"
                                              : "");
}

/* What an attempt came to. `*out_again`: another one may do better. */
static tly_status judge_attempt(transfer *t, tly_http_result result, int *out_again) {
    char why[200];
    *out_again = 0;
    if (t->status != TLY_OK) {
        return t->status;
    }
    if (is_cancelled(t)) {
        return tly_base_fail(t->error, TLY_CANCELLED, TLY_NO_OFFSET, "",
                             "nobody wants it any more");
    }
    tly_base_printable(why, sizeof why, t->call.message, strlen(t->call.message));
    if (result == TLY_HTTP_FAILED) {
        return tly_base_fail(t->error, TLY_IO, TLY_NO_OFFSET, "http-connect", "%s: %s",
                             t->object->shown, why);
    }
    if (result == TLY_HTTP_LOST) {
        *out_again = 1;
        return tly_base_fail(t->error, TLY_IO, TLY_NO_OFFSET, "http-connect", "%s: %s",
                             t->object->shown, why);
    }
    if (!t->is_wanted) {
        *out_again = is_passing(t->head.status);
        return fail_status(t);
    }
    if (t->first != t->end) {
        *out_again = 1;
        return tly_base_fail(t->error, TLY_IO, TLY_NO_OFFSET, "http-short",
                             "%s: the answer ends %llu bytes too early", t->object->shown,
                             (unsigned long long)(t->end - t->first));
    }
    return TLY_OK;
}

/* ---- attempts ---- */

/* Returns 0 where the server asks for more patience than we have. */
static int choose_pause(const transfer *t, uint32_t delay, uint32_t *out_ms) {
    const tly_http_options *options = &t->object->http->options;
    uint32_t asked_s = t->is_wanted ? UINT32_MAX : t->head.retry_after_s;
    *out_ms = tly_net_jitter(delay < options->max_delay_ms ? delay : options->max_delay_ms);
    if (asked_s == UINT32_MAX) {
        return 1;
    }
    if (asked_s > options->max_delay_ms / 1000) {
        return 0;
    }
    *out_ms = asked_s * 1000 > *out_ms ? asked_s * 1000 : *out_ms;
    return 1;
}

static void pause_for(const transfer *t, uint32_t ms) {
    while (ms != 0 && !is_cancelled(t)) {
        uint32_t step = ms < LOOK_EVERY_MS ? ms : LOOK_EVERY_MS;
        const struct timespec time = {0, (long)step * 1000000};
        nanosleep(&time, NULL);
        ms -= step;
    }
}

static tly_status run(transfer *t) {
    const http_object *o = t->object;
    uint32_t delay = o->http->options.first_delay_ms;
    for (uint32_t left = o->http->options.max_attempts;; left--) {
        void *handle = take_handle(t->object);
        uint32_t ms;
        int again;
        tly_status status;
        if (handle == NULL) {
            return tly_base_fail(t->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory for HTTP");
        }
        status = judge_attempt(t, request_followed(t, handle), &again);
        give_handle(t->object, handle);
        if (status == TLY_OK || !again || left <= 1 || !choose_pause(t, delay, &ms)) {
            return status;
        }
        tly_base_log(o->http->context, TLY_LOG_INFO, "%s; again in %u ms", t->error->message, ms);
        __atomic_add_fetch(&t->object->http->num_retries, 1, __ATOMIC_RELAXED);
        pause_for(t, ms);
        delay = delay < UINT32_MAX / 2 ? 2 * delay : UINT32_MAX;
    }
}

static tly_status transfer_range(http_object *o, uint64_t offset, void *buffer, uint64_t len,
                                 const int32_t *cancel, tly_error *error) {
    transfer *t = tly_base_calloc(o->http->context, sizeof *t, _Alignof(transfer));
    tly_error own;
    tly_status status;
    if (t == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for HTTP");
    }
    t->object = o;
    t->cancel = cancel;
    t->first = offset;
    t->end = offset + len;
    t->out = buffer;
    t->error = error != NULL ? error : &own;
    status = run(t);
    if (status != TLY_OK && status != TLY_CANCELLED && o->total != 0) { /* openers say it */
        tly_base_log(o->http->context, TLY_LOG_WARNING, "%s", t->error->message);
    }
    tly_base_free(o->http->context, t, sizeof *t, _Alignof(transfer));
    return status;
}

/* ---- the source ---- */

static tly_status read_object(void *user, uint64_t offset, void *buffer, uint64_t len,
                              const int32_t *cancel, tly_error *error) {
    return transfer_range(user, offset, buffer, len, cancel, error);
}

static void close_object(void *user) {
    http_object *o = user;
    for (uint32_t i = 0; i < o->num_handles; i++) {
        o->http->module->end(o->handles[i]);
    }
    pthread_mutex_destroy(&o->mutex);
    tly_base_free(o->http->context, o->url, o->url_len, 1);
    tly_base_free(o->http->context, o, sizeof *o, _Alignof(http_object));
}

/* Of all that tells one state of one object from another. The query counts: it may name the object.
 */
static void make_version(const http_object *o, uint8_t out[16]) {
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t parts[4] = {
            tly_panel_hash64(o->url, o->url_len, i + 1, 1),
            tly_panel_hash64(o->etag, strlen(o->etag), i + 1, 1),
            tly_panel_hash64(o->modified, strlen(o->modified), i + 1, 1),
            o->total,
        };
        uint64_t hash = tly_panel_hash64(parts, sizeof parts, i + 1, 1) | 1;
        memcpy(out + 8 * i, &hash, sizeof hash);
    }
}

tly_status tly_http_object_new(tly_http *http, const char *url, tly_byte_source *out_source,
                               tly_error *error) {
    http_object *o;
    tly_http_url parsed;
    uint8_t first[FIRST_LEN];
    tly_status status = tly_http_url_parse(url, &parsed, error);
    if (status != TLY_OK) {
        return status;
    }
    o = tly_base_calloc(http->context, sizeof *o, _Alignof(http_object));
    if (o != NULL) {
        o->url_len = strlen(url) + 1;
        o->url = tly_base_alloc(http->context, o->url_len, 1);
    }
    if (o == NULL || o->url == NULL) {
        tly_base_free(http->context, o, sizeof *o, _Alignof(http_object));
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a URL");
    }
    memcpy(o->url, url, o->url_len);
    (void)tly_http_url_parse(o->url, &o->server, NULL); /* is what has been parsed */
    tly_http_show(url, o->shown, sizeof o->shown);
    o->http = http;
    pthread_mutex_init(&o->mutex, NULL);
    status = transfer_range(o, 0, first, sizeof first, NULL, error);
    if (status != TLY_OK) {
        close_object(o);
        return status;
    }
    *out_source =
        (tly_byte_source){.len = o->total, .user = o, .read = read_object, .close = close_object};
    make_version(o, out_source->version);
    return TLY_OK;
}
