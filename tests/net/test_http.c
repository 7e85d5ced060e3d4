/* SPDX-License-Identifier: Apache-2.0 */
/* Containers behind URLs, from a server that does everything wrong that a server can. */
#include <time.h>

#include <tilery/http.h>

#include "check.h"
#include "net/http_head.h"
#include "net/http_server.h"
#include "net/http_url.h"
#include "store/scratch.h"

#define DATA_LEN (100u * 300u * 4u)
#define SECRET   "sig=topSecret123&exp=9"

static struct {
    tly_context *context;
    uint8_t *file, *data;
    size_t file_len;
    http_server server;
    char log[65536];
    size_t log_len;
    pthread_mutex_t log_mutex;
} world = {.log_mutex = PTHREAD_MUTEX_INITIALIZER};

static void on_log(void *user, tly_log_level level, const char *line) {
    (void)user;
    (void)level;
    pthread_mutex_lock(&world.log_mutex);
    world.log_len +=
        (size_t)snprintf(world.log + world.log_len, sizeof world.log - world.log_len, "%s\n", line);
    world.log_len = world.log_len < sizeof world.log ? world.log_len : sizeof world.log - 1;
    pthread_mutex_unlock(&world.log_mutex);
}

static int set_up(void **state) {
    const tly_context_options options = {
        .size = sizeof options, .log_level = TLY_LOG_DEBUG, .log = on_log};
    const uint64_t shape[] = {100, 300};
    const void *buffers[1];
    tly_store_writer *writer;
    tly_buffer_info info;
    tly_descriptor d;
    tly_error error;
    scratch s;
    (void)state;
    setenv("no_proxy", "127.0.0.1", 1);
    CHECK_OK(tly_context_new(&options, &world.context, &error), &error);
    world.data = malloc(DATA_LEN);
    for (uint32_t i = 0; i < DATA_LEN; i++) {
        world.data[i] = (uint8_t)(i * 31 + (i >> 8) * 7);
    }
    buffers[0] = world.data;
    scratch_make(&s);
    CHECK_OK(tly_store_writer_new(world.context, s.path, NULL, &writer, &error), &error);
    tly_descriptor_init_row_major(&d, &info, TLY_F32, 2, shape);
    CHECK_OK(tly_store_writer_add(writer, "w", 1, &d, buffers, &error), &error);
    CHECK_OK(tly_store_writer_commit(writer, &error), &error);
    tly_store_writer_free(writer);
    world.file = scratch_read(s.path, &world.file_len);
    scratch_remove(&s);
    http_server_start(&world.server, world.file, world.file_len);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    http_server_stop(&world.server);
    tly_context_free(world.context);
    free(world.file);
    free(world.data);
    return 0;
}

/* NULL where the module is not built, which the test says. */
static tly_http *new_http(void) {
    const tly_http_options options = {.size = sizeof options,
                                      .block_len = 16384,
                                      .max_attempts = 3,
                                      .first_delay_ms = 1,
                                      .max_delay_ms = 1500,
                                      .connect_timeout_ms = 100,
                                      .stall_timeout_ms = 100};
    tly_http *http;
    tly_error error;
    tly_status status = tly_http_new(world.context, &options, &http, &error);
    if (status == TLY_MODULE) {
        print_message("SKIPPED: %s\n", error.message);
        skip();
    }
    CHECK_OK(status, &error);
    return http;
}

static const char *url_of(const char *path) {
    static char url[256];
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", world.server.port, path);
    return url;
}

static tly_status read_all(tly_store *store, tly_error *error) {
    uint8_t work[TLY_STORE_WORK_LEN], *got = malloc(DATA_LEN);
    tly_descriptor d;
    uint64_t offset, len;
    tly_status status = tly_store_descriptor(store, 0, work, sizeof work, &d, error);
    if (status == TLY_OK) {
        tly_store_buffer_range(store, 0, &d, 0, &offset, &len);
        assert_int_equal(len, DATA_LEN);
        status = tly_store_read(store, 0, offset, got, len, error);
        if (status == TLY_OK) {
            assert_memory_equal(got, world.data, len);
        }
    }
    free(got);
    return status;
}

/* Opens and reads all; the status of what fails first. */
static tly_status try_path(const char *path, tly_error *error) {
    tly_http *http = new_http();
    tly_store *store;
    tly_status status = tly_http_open(http, url_of(path), NULL, &store, error);
    if (status == TLY_OK) {
        status = read_all(store, error);
        tly_store_free(store);
    }
    tly_http_free(http);
    return status;
}

static void a_container_is_read_without_being_downloaded(void **state) {
    tly_http_stats stats = {.size = sizeof stats};
    tly_http *http = new_http();
    tly_store *store;
    tly_error error;
    (void)state;
    http_server_set(&world.server, 0, 0);
    CHECK_OK(tly_http_open(http, url_of("/plain?" SECRET), NULL, &store, &error), &error);
    assert_non_null(strstr(world.server.last, "/plain?" SECRET " "));
    tly_http_get_stats(http, &stats);
    assert_in_range(stats.fetched_len, 1, 3 * 16384);
    CHECK_OK(read_all(store, &error), &error);
    tly_http_get_stats(http, &stats);
    assert_in_range(stats.fetched_len, DATA_LEN, world.file_len);
    assert_int_equal(stats.num_failed, 0);
    assert_int_equal(stats.num_retries, 0);
    tly_store_free(store);
    tly_http_free(http);
}

static void what_may_pass_is_tried_again(void **state) {
    static const char *const paths[] = {"/busy", "/drop", "/short", "/slow-down"};
    tly_error error;
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        http_server_set(&world.server, i == 3 ? 1 : 2, 0);
        CHECK_OK(try_path(paths[i], &error), &error);
    }
}

static void attempts_come_to_an_end(void **state) {
    tly_error error;
    (void)state;
    http_server_set(&world.server, 1000, 0);
    CHECK_RULE(try_path("/busy?" SECRET, &error), &error, TLY_PEER, "http-status");
    assert_int_equal(http_server_requests(&world.server), 3);
    http_server_set(&world.server, 1000, 0);
    CHECK_RULE(try_path("/drop", &error), &error, TLY_IO, "http-connect");
    assert_int_equal(http_server_requests(&world.server), 3);
    http_server_set(&world.server, 1000, 0);
    CHECK_RULE(try_path("/silent", &error), &error, TLY_IO, "http-connect");
    http_server_set(&world.server, 1000, 0);
    CHECK_RULE(try_path("/tomorrow", &error), &error, TLY_PEER, "http-status");
    assert_int_equal(http_server_requests(&world.server), 1); /* we do not wait that long */
}

static void what_does_not_pass_is_not_tried_again(void **state) {
    static const struct {
        const char *path;
        tly_status status;
        const char *rule;
    } cases[] = {
        {"/missing?" SECRET, TLY_NOT_FOUND, "http-status"},
        {"/forbidden?" SECRET, TLY_PEER, "http-status"},
        {"/whole?" SECRET, TLY_UNSUPPORTED, "http-range-ignored"},
        {"/no-version", TLY_UNSUPPORTED, "http-version"},
        {"/gzip", TLY_UNSUPPORTED, "http-encoding"},
        {"/garbage", TLY_PROTOCOL, "http-range"},
        {"/lying", TLY_PROTOCOL, "http-range"},
    };
    tly_error error;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        http_server_set(&world.server, 0, 0);
        CHECK_RULE(try_path(cases[i].path, &error), &error, cases[i].status, cases[i].rule);
        assert_int_equal(http_server_requests(&world.server), 1);
        assert_null(strstr(error.message, "topSecret"));
    }
    http_server_set(&world.server, 0, 0);
    CHECK_RULE(try_path("/shifted", &error), &error, TLY_PROTOCOL, "http-range");
    CHECK_RULE(try_path("/long", &error), &error, TLY_PROTOCOL, "http-range");
}

static void an_object_that_changes_is_noticed_and_never_mixed(void **state) {
    static const char *const paths[] = {"/plain", "/precondition", "/dated", "/grows"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        tly_http *http = new_http();
        tly_store *store;
        tly_error error;
        http_server_set(&world.server, 0, 0);
        CHECK_OK(tly_http_open(http, url_of(paths[i]), NULL, &store, &error), &error);
        http_server_set(&world.server, 0, 1);
        CHECK_RULE(read_all(store, &error), &error, TLY_MISMATCH, "object-changed");
        http_server_set(&world.server, 0, 0); /* as it was: but it has been something else */
        CHECK_RULE(read_all(store, &error), &error, TLY_MISMATCH, "object-changed");
        tly_store_free(store);
        tly_http_free(http);
    }
}

static void redirects_are_followed_and_keep_no_password(void **state) {
    char location[128], url[128];
    http_server other;
    tly_http *http = new_http();
    tly_store *store;
    tly_error error;
    (void)state;
    http_server_start(&other, world.file, world.file_len);
    snprintf(location, sizeof location, "http://127.0.0.1:%d/plain?x=1", other.port);
    snprintf(url, sizeof url, "http://me:openSesame@127.0.0.1:%d/redirect", world.server.port);
    http_server_set(&world.server, 0, 0);
    world.server.location = location;
    CHECK_OK(tly_http_open(http, url, NULL, &store, &error), &error);
    CHECK_OK(read_all(store, &error), &error);
    tly_store_free(store);
    assert_non_null(strcasestr(world.server.seen, "\nAuthorization: Basic"));
    assert_non_null(strstr(other.seen, "/plain?x=1"));
    assert_null(strcasestr(other.seen, "Authorization"));
    assert_null(strstr(other.seen, "me:"));
    http_server_set(&world.server, 0, 0); /* on the same server it stays */
    world.server.location = "/plain?y=2";
    CHECK_OK(tly_http_open(http, url, NULL, &store, &error), &error);
    tly_store_free(store);
    assert_non_null(strcasestr(strstr(world.server.seen, "/plain?y=2"), "\nAuthorization: Basic"));
    http_server_set(&world.server, 0, 0);
    world.server.location = "/redirect";
    CHECK_RULE(tly_http_open(http, url, NULL, &store, &error), &error, TLY_PROTOCOL,
               "http-redirect");
    assert_int_equal(http_server_requests(&world.server), 6);
    world.server.location = "file:///etc/passwd";
    CHECK_RULE(tly_http_open(http, url, NULL, &store, &error), &error, TLY_PROTOCOL,
               "http-redirect");
    tly_http_free(http);
    http_server_stop(&other);
    assert_null(strstr(world.log, "openSesame"));
}

static void nobody_there_and_urls_that_are_none(void **state) {
    static const char *const urls[] = {"http://", "http:///x", "http://a b/", "https://x/\n",
                                       "http://u@/x"};
    tly_http *http = new_http();
    tly_store *store;
    tly_error error;
    char url[64];
    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        CHECK_RULE(tly_http_open(http, urls[i], NULL, &store, &error), &error, TLY_INVALID_ARGUMENT,
                   "url");
    }
    {
        http_server gone;
        http_server_start(&gone, world.file, 1);
        http_server_stop(&gone);
        snprintf(url, sizeof url, "http://127.0.0.1:%d/x?" SECRET, gone.port);
    }
    CHECK_RULE(tly_http_open(http, url, NULL, &store, &error), &error, TLY_IO, "http-connect");
    tly_http_free(http);
}

static void *open_silent(void *user) {
    tly_store *store;
    tly_error error;
    tly_status status = tly_http_open(user, url_of("/silent"), NULL, &store, &error);
    return (void *)(intptr_t)status;
}

/* Whoever waits for a silent server can be called back. */
static void requests_can_be_stopped(void **state) {
    tly_http *http = new_http(), *patient;
    tly_http_options options = {.size = sizeof options};
    struct timespec before, after, pause = {0, 50000000};
    pthread_t thread;
    void *status;
    tly_error error;
    (void)state;
    tly_http_free(http); /* the module is there */
    CHECK_OK(tly_http_new(world.context, &options, &patient, &error), &error);
    clock_gettime(CLOCK_MONOTONIC, &before);
    pthread_create(&thread, NULL, open_silent, patient);
    nanosleep(&pause, NULL);
    tly_http_stop(patient);
    pthread_join(thread, &status);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_int_equal((intptr_t)status, TLY_CANCELLED);
    assert_in_range(after.tv_sec - before.tv_sec, 0, 5);
    assert_int_equal((intptr_t)open_silent(patient), TLY_CANCELLED);
    tly_http_free(patient);
}

/* ---- without a network ---- */

static void urls_are_shown_without_secrets(void **state) {
    static const char *const cases[][2] = {
        {"https://me:pw@host:8443/a/b?sig=x#y", "https://host:8443/a/b?..."},
        {"http://host", "http://host"},
        {"HTTP://p@ss:w@rd@host/", "http://host/"},
        {"http://host?q", "http://host?..."},
        {"https://host/a@b#f?g", "https://host/a@b"},
    };
    char shown[300], text[64] = "http://me:pw@host/x";
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(tly_http_show(cases[i][0], shown, sizeof shown), cases[i][1]);
        assert_true(tly_http_is_url(cases[i][0]));
    }
    assert_false(tly_http_is_url("/http://x"));
    assert_false(tly_http_is_url("http:/x"));
    assert_false(tly_http_is_url(""));
    tly_http_url_drop_user(text);
    assert_string_equal(text, "http://host/x");
    strcpy(text, "cannot get x?abcd12 and abcd12");
    tly_http_url_hide("http://h/x?abcd12", text);
    assert_string_equal(text, "cannot get x?****** and ******");
}

static void heads_are_read_as_they_are_written(void **state) {
    static const struct {
        const char *line;
        int has, bad;
        uint64_t first, last, total;
    } ranges[] = {
        {"Content-Range: bytes 0-0/1", 1, 0, 0, 0, 1},
        {"content-range:\tBYTES  5-9/18446744073709551615 ", 1, 0, 5, 9, UINT64_MAX},
        {"Content-Range: bytes 5-9/18446744073709551616", 0, 1, 0, 0, 0},
        {"Content-Range: bytes 5-4/10", 0, 1, 0, 0, 0},
        {"Content-Range: bytes 5-10/10", 0, 1, 0, 0, 0},
        {"Content-Range: bytes 5-9/*", 0, 1, 0, 0, 0},
        {"Content-Range: bytes */10", 0, 1, 0, 0, 0},
        {"Content-Range: items 5-9/10", 0, 1, 0, 0, 0},
        {"Content-Range: bytes 5-9/10x", 0, 1, 0, 0, 0},
        {"Content-Range: bytes -5-9/10", 0, 1, 0, 0, 0},
        {"Content-Range: bytes", 0, 1, 0, 0, 0},
        {"Content-Range:", 0, 1, 0, 0, 0},
        {"X-Content-Range: bytes 0-0/1", 0, 0, 0, 0, 0},
    };
    tly_http_head h;
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        tly_http_head_init(&h);
        tly_http_head_line(&h, ranges[i].line, strlen(ranges[i].line));
        assert_int_equal(h.has_range, ranges[i].has);
        assert_int_equal(h.bad_range, ranges[i].bad);
        if (h.has_range) {
            assert_true(h.first == ranges[i].first && h.last == ranges[i].last &&
                        h.total == ranges[i].total);
        }
    }
    tly_http_head_line(&h, "Content-Range: bytes 0-0/1", 26);
    tly_http_head_line(&h, "Content-Range: bytes 0-0/1", 26);
    assert_true(h.bad_range); /* twice */
    tly_http_head_line(&h, "HTTP/2 206", 10);
    assert_int_equal(h.status, 206);
    assert_false(h.bad_range); /* a new head */
    tly_http_head_line(&h, "ETag: \"a b\"\r\n", 13);
    tly_http_head_line(&h, "Retry-After: 99999999999999999", 30);
    assert_string_equal(h.etag, "\"a b\"");
    assert_int_equal(h.retry_after_s, UINT32_MAX - 1);
    tly_http_head_line(&h, "ETag: nothing", 13);
    tly_http_head_line(&h, "ETag: \"a\"b\"", 11);
    tly_http_head_line(&h, "ETag: \"", 7);
    assert_string_equal(h.etag, "\"a b\"");
    tly_http_head_line(&h, "ETag: \"\x01\"", 9);
    assert_string_equal(h.etag, "");
    tly_http_head_line(&h, "HTTP/1.1 99999 no", 17);
    assert_int_equal(h.status, 0);
    tly_http_head_line(&h, "Content-Encoding: Identity", 26);
    assert_false(h.is_encoded);
    tly_http_head_line(&h, "Content-Encoding: br", 20);
    assert_true(h.is_encoded);
}

static void no_secret_stands_in_the_log(void **state) {
    (void)state;
    assert_null(strstr(world.log, "topSecret"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_shown_without_secrets),
        cmocka_unit_test(heads_are_read_as_they_are_written),
        cmocka_unit_test(a_container_is_read_without_being_downloaded),
        cmocka_unit_test(what_may_pass_is_tried_again),
        cmocka_unit_test(attempts_come_to_an_end),
        cmocka_unit_test(what_does_not_pass_is_not_tried_again),
        cmocka_unit_test(an_object_that_changes_is_noticed_and_never_mixed),
        cmocka_unit_test(redirects_are_followed_and_keep_no_password),
        cmocka_unit_test(nobody_there_and_urls_that_are_none),
        cmocka_unit_test(requests_can_be_stopped),
        cmocka_unit_test(no_secret_stands_in_the_log),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
