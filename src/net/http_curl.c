/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP by libcurl: a module of its own, so that nothing else needs the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include <tilery/export.h>

#include "base/error.h"
#include "base/sigpipe.h"
#include "net/http_module.h"

typedef struct library {
    char *ca; /* NULL: those of the system */
} library;

typedef struct handle {
    const library *library;
    CURL *curl;
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

static void *start(void *at) {
    handle *h = calloc(1, sizeof *h);
    if (h != NULL) {
        h->library = at;
        h->curl = curl_easy_init();
        if (h->curl == NULL) {
            free(h);
            return NULL;
        }
    }
    return h;
}

static void end(void *at) {
    handle *h = at;
    curl_easy_cleanup(h->curl);
    free(h);
}

static size_t on_line(char *line, size_t size, size_t count, void *user) {
    const tly_http_call *call = user;
    size_t len = size * count;
    while (len != 0 && (line[len - 1] == '\n' || line[len - 1] == '\r')) {
        len--;
    }
    return call->line(call->user, line, len) ? size * count : 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
    const tly_http_call *call = user;
    return call->body(call->user, bytes, size * count) ? size * count : 0;
}

static int on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    const tly_http_call *call = user;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return !call->goes_on(call->user);
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

static int set_up(handle *h, tly_http_call *call, char *range, struct curl_slist *headers) {
    int ok = 1;
    curl_easy_reset(h->curl); /* connections stay */
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
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, (long)(call->stall_timeout_ms + 999) / 1000);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (h->library->ca != NULL) {
        SET(CURLOPT_CAINFO, h->library->ca);
    }
    SET(CURLOPT_ERRORBUFFER, h->reason);
    SET(CURLOPT_HEADERFUNCTION, on_line);
    SET(CURLOPT_HEADERDATA, call);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, call);
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

static tly_http_result get(void *at, tly_http_call *call) {
    handle *h = at;
    char range[48];
    char *redirect = NULL;
    int failed = 0;
    struct curl_slist *headers = add_header(NULL, "Accept-Encoding", "identity", &failed);
    tly_base_sigpipe pipe;
    CURLcode code;
    if (call->match != NULL) {
        headers = add_header(headers, "If-Match", call->match, &failed);
    }
    if (call->unmodified != NULL) {
        headers = add_header(headers, "If-Unmodified-Since", call->unmodified, &failed);
    }
    call->redirect[0] = call->message[0] = h->reason[0] = '\0';
    snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)call->first,
             (unsigned long long)call->last);
    if (failed || !set_up(h, call, range, headers)) {
        curl_slist_free_all(headers);
        snprintf(call->message, sizeof call->message, "libcurl does not take the request");
        return TLY_HTTP_FAILED;
    }
    tly_base_sigpipe_hold(&pipe);
    code = curl_easy_perform(h->curl);
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
