/* SPDX-License-Identifier: Apache-2.0 */
/* Containers behind URLs, served: the same answers as from the file itself, by every way that bytes
 * take, and in every trouble an error for the stream alone. */
#include "net/http_server.h"
#include "serve/fixture.h"
#include "store/scratch.h"
#include "wire/plain.h"

#include <time.h>

#include <tilery/http.h>

#define ROWS 700
#define COLS 900
#define LEN  (ROWS * COLS * 4u)

static const uint64_t shape[] = {ROWS, COLS};

/* A file, a server that has it, and one that gets it by HTTP. */
typedef struct world {
    uint8_t *bytes; /* of the container */
    size_t len;
    uint8_t *w; /* the tensor "w" */
    char path[128];
    http_server origin;
    fixture f;
    tly_http *http;
} world;

static void add_plain(tly_store_writer *writer, const char *name, plain_bytes *descriptor,
                      const void *data, uint64_t len) {
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    tly_descriptor d;
    tly_error error;
    CHECK_OK(
        tly_descriptor_decode(descriptor->at, descriptor->len, work, sizeof work, &d, NULL, &error),
        &error);
    CHECK_OK(tly_store_writer_begin(writer, name, strlen(name), &d, &error), &error);
    CHECK_OK(tly_store_writer_append(writer, data, len, &error), &error);
    CHECK_OK(tly_store_writer_end(writer, &error), &error);
    free(descriptor->at);
    *descriptor = (plain_bytes){0};
}

/* A matrix, one of elements that share a byte, a group of two with an empty one. */
static void write_container(world *o, uint8_t salt) {
    const uint64_t small[] = {33, 50};
    const void *buffers[] = {o->w};
    plain_bytes p = {0};
    tly_store_writer *writer;
    tly_buffer_info info;
    tly_descriptor d;
    tly_error error;
    for (uint32_t i = 0; i < LEN; i++) {
        o->w[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + salt);
    }
    CHECK_OK(tly_store_writer_new(o->f.context, o->path, NULL, &writer, &error), &error);
    plain_head(&p, 300000, 3, 2);
    add_plain(writer, "group", &p, "", 0);
    plain_tensor(&p, 300000, 0, 0, 0);
    add_plain(writer, "group/a", &p, o->w + 99, 300000);
    plain_tensor(&p, 0, 0, 0, 0);
    add_plain(writer, "group/b", &p, "", 0);
    tly_descriptor_init_row_major(&d, &info, TLY_F32, 2, shape);
    CHECK_OK(tly_store_writer_add(writer, "w", 1, &d, buffers, &error), &error);
    tly_descriptor_init_row_major(&d, &info, TLY_I4, 2, small);
    CHECK_OK(tly_store_writer_add(writer, "i4", 2, &d, buffers, &error), &error);
    CHECK_OK(tly_store_writer_commit(writer, &error), &error);
    tly_store_writer_free(writer);
    free(o->bytes);
    o->bytes = scratch_read(o->path, &o->len);
}

/* `path` says how the origin behaves. The module is there, or the test is skipped. */
static void init(world *o, const char *path, uint64_t cache_len,
                 const tly_server_options *options) {
    const tly_http_options http = {.size = sizeof http,
                                   .cache_len = cache_len,
                                   .block_len = 65536,
                                   .max_attempts = 3,
                                   .first_delay_ms = 1};
    tly_server_options with = *options;
    char url[160];
    tly_store *store;
    tly_error error;
    tly_status status;
    memset(o, 0, sizeof *o);
    setenv("no_proxy", "127.0.0.1", 1);
    fixture_init(&o->f);
    status = tly_http_new(o->f.context, &http, &o->http, &error);
    if (status == TLY_MODULE) {
        print_message("SKIPPED: %s\n", error.message);
        rmdir(o->f.folder);
        skip();
    }
    CHECK_OK(status, &error);
    snprintf(o->path, sizeof o->path, "%s/c.hrry", o->f.folder);
    o->w = malloc(LEN);
    write_container(o, 0);
    http_server_start(&o->origin, o->bytes, o->len);
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", o->origin.port, path);
    CHECK_OK(tly_http_open(o->http, url, NULL, &store, &error), &error);
    CHECK_OK(tly_catalogue_add_store(o->f.catalogue, store, &error), &error);
    fixture_add(&o->f, "near", TLY_F32, 2, shape);
    with.http = o->http;
    fixture_start(&o->f, &with);
}

static void clean(world *o) {
    unlink(o->path);
    fixture_stop(&o->f);
    tly_server_free(o->f.server);
    tly_catalogue_free(o->f.catalogue);
    tly_http_free(o->http); /* outlives its stores */
    o->f.server = NULL;
    o->f.catalogue = NULL;
    fixture_cleanup(&o->f);
    http_server_stop(&o->origin);
    free(o->bytes);
    free(o->w);
}

/* ---- the same answers ---- */

static tly_fetched *fetch(tly_client *client, const char *key, const tly_fetch_layout *layout) {
    tly_fetch_request request = {.size = sizeof request,
                                 .key = key,
                                 .layouts = layout,
                                 .num_layouts = layout != NULL,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched;
    tly_error error;
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    return fetched;
}

static void expect_same(tly_fetched *a, tly_fetched *b) {
    size_t a_len, b_len;
    const void *x = tly_fetched_descriptor_bytes(a, &a_len);
    const void *y = tly_fetched_descriptor_bytes(b, &b_len);
    assert_int_equal(a_len, b_len);
    assert_memory_equal(x, y, a_len);
    assert_int_equal(tly_fetched_len(a), tly_fetched_len(b));
    if (tly_fetched_len(a) != 0) {
        assert_memory_equal(tly_fetched_data(a), tly_fetched_data(b), tly_fetched_len(a));
    }
    assert_int_equal(tly_fetched_num_members(a), tly_fetched_num_members(b));
    for (uint32_t i = 0; i < tly_fetched_num_members(a); i++) {
        expect_same(tly_fetched_member(a, i), tly_fetched_member(b, i));
    }
}

/* Asks both in every layout that takes another way through the server. */
static void compare_all(tly_client *far, tly_client *file) {
    tly_panel_profile profile;
    tly_error error;
    CHECK_OK(tly_panel_by_name("ba16a64b", TLY_F32, 0, &profile, &error), &error);
    {
        const struct {
            const char *key;
            tly_fetch_layout layout;
        } asked[] = {
            {"w", {.tag = TLY_LAYOUT_ROW_MAJOR}},
            {"w", {.tag = TLY_LAYOUT_COL_MAJOR}},
            {"w", {.profile = &profile}},
            {"w", {.tag = TLY_LAYOUT_TILED}},
            {"i4", {.tag = TLY_LAYOUT_CSR}},
            {"i4", {.tag = TLY_LAYOUT_COL_MAJOR}},
            {"group", {.tag = 1}},
            {"group/a", {.tag = 1}},
        };
        for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
            tly_fetched *a = fetch(far, asked[i].key, &asked[i].layout);
            tly_fetched *b = fetch(file, asked[i].key, &asked[i].layout);
            expect_same(a, b);
            tly_fetched_free(a);
            tly_fetched_free(b);
        }
    }
}

/* With variants that are shared, without, handed over, and in shards. */
static void answers_are_those_of_the_file(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        const tly_client_options client = {.size = sizeof client,
                                           .flags = way == 2 ? TLY_CLIENT_SHARED : 0};
        tly_server_options options = {.size = sizeof options,
                                      .cache_len = way != 0 ? 64u << 20 : 0,
                                      .max_queued_len = way == 3 ? 1u << 20 : 0};
        tly_client *far, *near;
        tly_error error;
        fixture file;
        world o;
        init(&o, "/plain", 16u << 20, &options);
        fixture_init(&file);
        CHECK_OK(tly_catalogue_add_file(file.catalogue, o.path, &error), &error);
        fixture_start(&file, &options);
        CHECK_OK(tly_client_connect(o.f.context, o.f.address, &client, &far, &error), &error);
        near = fixture_client(&file);
        compare_all(far, near);
        compare_all(far, near);
        if (way == 2) {
            tly_server_stats stats = {.size = sizeof stats};
            tly_server_get_stats(o.f.server, &stats);
            assert_true(stats.num_handed_over >= 8);
        }
        tly_client_free(far);
        tly_client_free(near);
        fixture_cleanup(&file);
        clean(&o);
    }
}

/* ---- little memory, many clients ---- */

typedef struct asker {
    const world *o;
    int number;
} asker;

static void *ask(void *user) {
    const asker *a = user;
    const tly_fetch_layout columns = {.tag = TLY_LAYOUT_COL_MAJOR};
    tly_client *client;
    tly_error error;
    CHECK_OK(tly_client_connect(a->o->f.context, a->o->f.address, NULL, &client, &error), &error);
    for (int i = 0; i < 3; i++) {
        tly_fetched *got = fetch(client, "w", (a->number + i) % 2 != 0 ? &columns : NULL);
        if ((a->number + i) % 2 == 0) {
            assert_memory_equal(tly_fetched_data(got), a->o->w, LEN);
        }
        tly_fetched_free(got);
    }
    tly_client_free(client);
    return NULL;
}

/* The cache takes the tensor just once: whoever packs waits for room, nobody for ever. */
static void many_clients_share_little_memory(void **state) {
    const tly_server_options options = {.size = sizeof options};
    tly_http_stats stats = {.size = sizeof stats};
    pthread_t threads[8];
    asker askers[8];
    world o;
    (void)state;
    init(&o, "/plain", LEN + 2 * 65536, &options);
    for (int i = 0; i < 8; i++) {
        askers[i] = (asker){&o, i};
        pthread_create(&threads[i], NULL, ask, &askers[i]);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    tly_http_get_stats(o.http, &stats);
    assert_in_range(stats.used_len, 1, stats.limit_len);
    assert_int_equal(stats.num_failed, 0);
    clean(&o);
}

/* ---- trouble ---- */

static tly_status try_fetch(tly_client *client, const char *key, uint8_t tag, tly_error *error) {
    const tly_fetch_layout layout = {.tag = tag};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = key,
                                 .layouts = &layout,
                                 .num_layouts = 1,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched = NULL;
    tly_status status = tly_client_fetch(client, &request, &fetched, error);
    tly_fetched_free(fetched);
    return status;
}

static void expect_refused(tly_client *client, uint8_t tag, const char *words) {
    tly_error error;
    assert_int_equal(try_fetch(client, "w", tag, &error), TLY_PEER);
    if (strstr(error.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
    }
    assert_null(strstr(error.message, "127.0.0.1"));
}

/* Passing faults are mended unseen; others cost a stream, and the connection goes on. */
static void faults_reach_the_stream_and_nothing_else(void **state) {
    for (int cached = 0; cached < 2; cached++) {
        const tly_server_options options = {.size = sizeof options,
                                            .cache_len = cached ? 64u << 20 : 0};
        tly_http_stats stats = {.size = sizeof stats};
        tly_client *client;
        tly_error error;
        world o;
        (void)state;
        init(&o, "/short", 16u << 20, &options);
        client = fixture_client(&o.f);
        http_server_set(&o.origin, 2, 0);
        fixture_expect(client, "w", o.w, LEN);
        tly_http_get_stats(o.http, &stats);
        assert_int_equal(stats.num_retries, 2);
        tly_client_free(client);
        clean(&o);

        init(&o, "/busy", 16u << 20, &options);
        client = fixture_client(&o.f);
        http_server_set(&o.origin, 1000000, 0);
        expect_refused(client, TLY_LAYOUT_ROW_MAJOR, "does not answer");
        expect_refused(client, TLY_LAYOUT_COL_MAJOR, "does not answer");
        CHECK_OK(try_fetch(client, "near", TLY_LAYOUT_COL_MAJOR, &error), &error);
        http_server_set(&o.origin, 0, 0);
        fixture_expect(client, "w", o.w, LEN);
        CHECK_OK(try_fetch(client, "w", TLY_LAYOUT_COL_MAJOR, &error), &error);
        tly_client_free(client);
        clean(&o);
    }
}

/* No byte of another version comes out, whatever had been fetched of the first. */
static void a_change_is_refused_until_it_is_opened_anew(void **state) {
    const tly_server_options options = {.size = sizeof options, .cache_len = 64u << 20};
    char url[160];
    tly_catalogue *catalogue;
    tly_store *store;
    tly_client *client;
    tly_error error;
    world o;
    (void)state;
    init(&o, "/plain", 16u << 20, &options);
    client = fixture_client(&o.f);
    CHECK_OK(try_fetch(client, "group/a", TLY_LAYOUT_ROW_MAJOR, &error), &error);
    http_server_set(&o.origin, 0, 1);
    expect_refused(client, TLY_LAYOUT_ROW_MAJOR, "has changed");
    expect_refused(client, TLY_LAYOUT_COL_MAJOR, "has changed");
    assert_int_equal(try_fetch(client, "group/a", TLY_LAYOUT_ROW_MAJOR, &error), TLY_PEER);
    CHECK_OK(try_fetch(client, "near", TLY_LAYOUT_ROW_MAJOR, &error), &error);
    fixture_stop(&o.f); /* tly_server_replace wants the loop's thread, or none */
    CHECK_OK(tly_catalogue_new(o.f.context, &catalogue, &error), &error);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/plain", o.origin.port);
    CHECK_OK(tly_http_open(o.http, url, NULL, &store, &error), &error);
    CHECK_OK(tly_catalogue_add_store(catalogue, store, &error), &error);
    CHECK_OK(tly_server_replace(o.f.server, catalogue, NULL, &error), &error);
    tly_client_free(client);
    tly_server_free(o.f.server);
    CHECK_OK(tly_catalogue_new(o.f.context, &catalogue, &error), &error);
    CHECK_OK(tly_http_open(o.http, url, NULL, &store, &error), &error);
    CHECK_OK(tly_catalogue_add_store(catalogue, store, &error), &error);
    tly_catalogue_free(o.f.catalogue);
    o.f.catalogue = catalogue;
    fixture_start(&o.f, &options);
    client = fixture_client(&o.f);
    fixture_expect(client, "w", o.w, LEN);
    tly_client_free(client);
    clean(&o);
}

static void *wait_for_it(void *user) {
    const world *o = user;
    tly_client *client = fixture_client((fixture *)(uintptr_t)&o->f);
    tly_error error;
    tly_status status = try_fetch(client, "w", TLY_LAYOUT_ROW_MAJOR, &error);
    assert_true(status == TLY_CLOSED || status == TLY_IO || status == TLY_PEER);
    tly_client_free(client);
    return NULL;
}

/* A store that keeps silent keeps only those waiting who want something of it; and the server still
 * stops in time. */
static void a_silent_store_holds_up_nobody_else(void **state) {
    const tly_server_options options = {
        .size = sizeof options, .stop_timeout_ms = 100, .max_packing_len = 3u << 20};
    pthread_t threads[24]; /* more than there are threads to wait on */
    struct timespec before, after;
    tly_client *client;
    tly_error error;
    world o;
    (void)state;
    init(&o, "/hang", 1, &options);
    client = fixture_client(&o.f); /* the answer is remembered: whoever asks again has begun */
    CHECK_OK(try_fetch(client, "w", TLY_LAYOUT_ROW_MAJOR, &error), &error);
    http_server_set(&o.origin, 1000000, 0);
    for (int i = 0; i < 24; i++) {
        pthread_create(&threads[i], NULL, wait_for_it, &o);
    }
    while (http_server_requests(&o.origin) < 3) {
        usleep(10000);
    }
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i < 5; i++) {
        CHECK_OK(try_fetch(client, "near", TLY_LAYOUT_COL_MAJOR, &error), &error);
    }
    tly_client_free(client);
    fixture_stop(&o.f);
    for (int i = 0; i < 24; i++) {
        pthread_join(threads[i], NULL);
    }
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_in_range(after.tv_sec - before.tv_sec, 0, 8);
    clean(&o);
}

/* What is behind a URL can be got and not put. */
static void nothing_is_put_behind_a_url(void **state) {
    const tly_server_options options = {.size = sizeof options};
    const uint64_t one[] = {1};
    const void *buffers[] = {"abcd"};
    char folder[160];
    tly_descriptor d;
    tly_buffer_info info;
    tly_put_request put = {.size = sizeof put, .key = "w", .descriptor = &d, .buffers = buffers};
    tly_client *client;
    tly_error error;
    world o;
    (void)state;
    init(&o, "/plain", 16u << 20, &options);
    fixture_stop(&o.f);
    tly_server_free(o.f.server);
    snprintf(folder, sizeof folder, "%s/up", o.f.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    CHECK_OK(tly_catalogue_open_uploads(o.f.catalogue, folder, &error), &error);
    fixture_start(&o.f, &options);
    client = fixture_client(&o.f);
    tly_descriptor_init_row_major(&d, &info, TLY_F32, 1, one);
    assert_int_equal(tly_client_put(client, &put, &error), TLY_PEER);
    assert_non_null(strstr(error.message, "cannot be replaced"));
    put.key = "new";
    CHECK_OK(tly_client_put(client, &put, &error), &error);
    fixture_expect(client, "new", "abcd", 4);
    fixture_expect(client, "w", o.w, LEN);
    tly_client_free(client);
    {
        char command[200];
        fixture_stop(&o.f);
        snprintf(command, sizeof command, "rm -r '%s'", folder);
        assert_int_equal(system(command), 0);
    }
    clean(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_file),
        cmocka_unit_test(many_clients_share_little_memory),
        cmocka_unit_test(faults_reach_the_stream_and_nothing_else),
        cmocka_unit_test(a_change_is_refused_until_it_is_opened_anew),
        cmocka_unit_test(a_silent_store_holds_up_nobody_else),
        cmocka_unit_test(nothing_is_put_behind_a_url),
    };
    return cmocka_run_group_tests_name("serve/http", tests, NULL, NULL);
}
