/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP by libcurl: a module of its own, so that nothing else needs the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include <tilery/export.h>

#include "base/error.h"
#include "base/sigpipe.h"
#include "net/http_module.h"

#define LOOK_EVERY_MS 50 /* whether somebody still wants it */

typedef struct library {
    char *ca; /* NULL: those of the system */
} library;

typedef struct handle {
    const library *library;
    CURL *curl;
    CURLM *multi; /* has the connections; of one request at a time */
    tly_http_call *call;
    uint64_t moved_at; /* ms */
    char reason[CURL_ERROR_SIZE];
} handle;

static tly_status open_library(const char *ca, void **out_library, tly_error *error) {
    library *l;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return tly_base_fail(error, TLY_MODULE, TLY_NO_OFFSET, "http-library",
                             "libcurl does not start");
    }
    l = calloc(1, sizeof *l);
    if (l != NULL && ca != NULL) {
        l->ca = strdup(ca);
    }
    if (l == NULL || (ca != NULL && l->ca == NULL)) {
        free(l);
        curl_global_cleanup();
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for HTTP");
    }
    *out_library = l;
    return TLY_OK;
}

static void close_library(void *at) {
    library *l = at;
    free(l->ca);
    free(l);
    curl_global_cleanup();
}

static void end(void *at) {
    handle *h = at;
    curl_easy_cleanup(h->curl);
    curl_multi_cleanup(h->multi);
    free(h);
}

static void *start(void *at) {
    handle *h = calloc(1, sizeof *h);
    if (h != NULL) {
        h->library = at;
        h->curl = curl_easy_init();
        h->multi = curl_multi_init();
        if (h->curl == NULL || h->multi == NULL) {
            end(h);
            return NULL;
        }
    }
    return h;
}

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static size_t on_line(char *line, size_t size, size_t count, void *user) {
    handle *h = user;
    const tly_http_call *call = h->call;
    size_t len = size * count;
    h->moved_at = now_ms();
    while (len != 0 && (line[len - 1] == '\n' || line[len - 1] == '\r')) {
        len--;
    }
    return call->line(call->user, line, len) ? size * count : 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
    handle *h = user;
    const tly_http_call *call = h->call;
    h->moved_at = now_ms();
    return call->body(call->user, bytes, size * count) ? size * count : 0;
}

/* Adds a header; on failure the list is freed and NULL. */
static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value,
                                     int *failed) {
    char line[512];
    struct curl_slist *longer;
    int n = snprintf(line, sizeof line, "%s: %s", name, value);
    longer = n > 0 && (size_t)n < sizeof line && !*failed ? curl_slist_append(list, line) : NULL;
    if (longer == NULL) {
        *failed = 1;
        curl_slist_free_all(list);
    }
    return longer;
}

#define SET(option, value) ok = curl_easy_setopt(h->curl, option, value) == CURLE_OK && ok

static int set_up(handle *h, char *range, struct curl_slist *headers) {
    const tly_http_call *call = h->call;
    int ok = 1;
    curl_easy_reset(h->curl);
    SET(CURLOPT_URL, call->url);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTPGET, 1L);
    SET(CURLOPT_RANGE, range);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_HTTP_TRANSFER_DECODING, 1L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_USERAGENT, "tilery");
    SET(CURLOPT_BUFFERSIZE, 262144L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)call->connect_timeout_ms);
    SET(CURLOPT_TIMEOUT_MS, (long)call->total_timeout_ms);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (h->library->ca != NULL) {
        SET(CURLOPT_CAINFO, h->library->ca);
    }
    SET(CURLOPT_ERRORBUFFER, h->reason);
    SET(CURLOPT_HEADERFUNCTION, on_line);
    SET(CURLOPT_HEADERDATA, h);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, h);
    return ok;
}

#undef SET

static tly_http_result result_of(CURLcode code) {
    switch (code) {
    case CURLE_OK:
        return TLY_HTTP_DONE;
    case CURLE_WRITE_ERROR:
    case CURLE_ABORTED_BY_CALLBACK:
        return TLY_HTTP_STOPPED;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return TLY_HTTP_LOST;
    default:
        return TLY_HTTP_FAILED;
    }
}

/* How long nothing may come, ms: connecting has a time of its own. */
static uint64_t patience(const handle *h, uint64_t started) {
    return (uint64_t)h->call->stall_timeout_ms +
           (h->moved_at == started ? h->call->connect_timeout_ms : 0);
}

/* Until the answer is there, nobody wants it any more, or nothing comes. */
static CURLcode perform(handle *h) {
    CURLcode code = CURLE_OK;
    CURLMsg *message;
    uint64_t started;
    int running = 1, left;
    if (curl_multi_add_handle(h->multi, h->curl) != CURLM_OK) {
        return CURLE_FAILED_INIT;
    }
    h->moved_at = started = now_ms();
    while (code == CURLE_OK && running) {
        if (curl_multi_perform(h->multi, &running) != CURLM_OK ||
            (running && curl_multi_poll(h->multi, NULL, 0, LOOK_EVERY_MS, NULL) != CURLM_OK)) {
            code = CURLE_FAILED_INIT;
        } else if (!h->call->goes_on(h->call->user)) {
            code = CURLE_ABORTED_BY_CALLBACK;
        } else if (running && now_ms() - h->moved_at > patience(h, started)) {
            code = CURLE_OPERATION_TIMEDOUT;
        }
    }
    while ((message = curl_multi_info_read(h->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE && code == CURLE_OK) {
            code = message->data.result;
        }
    }
    curl_multi_remove_handle(h->multi, h->curl);
    return code;
}

static tly_http_result get(void *at, tly_http_call *call) {
    handle *h = at;
    char range[48];
    char *redirect = NULL;
    int failed = 0;
    struct curl_slist *headers = add_header(NULL, "Accept-Encoding", "identity", &failed);
    tly_base_sigpipe pipe;
    CURLcode code;
    h->call = call;
    if (call->match != NULL) {
        headers = add_header(headers, "If-Match", call->match, &failed);
    }
    if (call->unmodified != NULL) {
        headers = add_header(headers, "If-Unmodified-Since", call->unmodified, &failed);
    }
    call->redirect[0] = call->message[0] = h->reason[0] = '\0';
    snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)call->first,
             (unsigned long long)call->last);
    if (failed || !set_up(h, range, headers)) {
        curl_slist_free_all(headers);
        snprintf(call->message, sizeof call->message, "libcurl does not take the request");
        return TLY_HTTP_FAILED;
    }
    tly_base_sigpipe_hold(&pipe);
    code = perform(h);
    tly_base_sigpipe_release(&pipe, true);
    curl_slist_free_all(headers);
    if (code != CURLE_OK) {
        snprintf(call->message, sizeof call->message, "%s",
                 h->reason[0] != '\0' ? h->reason : curl_easy_strerror(code));
    } else if (curl_easy_getinfo(h->curl, CURLINFO_REDIRECT_URL, &redirect) == CURLE_OK &&
               redirect != NULL && strlen(redirect) < sizeof call->redirect) {
        strcpy(call->redirect, redirect);
    }
    return result_of(code);
}

TLY_API const void *tly_http_module_get(void);

const void *tly_http_module_get(void) {
    static const tly_http_module module = {
        TLY_HTTP_MODULE_ABI, sizeof(tly_http_module), open_library, close_library, start, end, get};
    return &module;
}
