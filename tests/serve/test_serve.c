/* SPDX-License-Identifier: Apache-2.0 */
/* Server and client over real sockets: layouts, refusals, addresses, stopping. */
#include "serve/fixture.h"

#include <tilery/transcode.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static void native_layout(void **state) {
    static const uint64_t shape[] = {300, 1000}, empty[] = {0, 4}, one[] = {1};
    fixture f;
    uint8_t *a, *b;
    tly_client *client;
    double seconds = -1;
    tly_error error;
    (void)state;
    fixture_init(&f);
    a = fixture_add(&f, "a", TLY_F32, 2, shape);
    fixture_add(&f, "empty", TLY_F32, 2, empty);
    b = fixture_add(&f, "b/..", TLY_U8, 1, one);
    fixture_start(&f, NULL);
    client = fixture_client(&f);
    fixture_expect(client, "a", a, 1200000);
    fixture_expect(client, "empty", NULL, 0);
    fixture_expect(client, "b/..", b, 1);
    fixture_expect(client, "a", a, 1200000);
    CHECK_OK(tly_client_ping(client, &seconds, &error), &error);
    assert_true(seconds >= 0);
    assert_true((tly_client_server(client)->capability_flags & TLY_WIRE_CAP_TRANSCODING) != 0);
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* The panel by the slow and obvious way: a nest and its offsets. */
static void expect_nest(const tly_nest *nest, const uint8_t *got, const uint8_t *source,
                        uint32_t element_len) {
    uint64_t rows = nest->shape[0], columns = nest->shape[1];
    for (uint64_t k = 0; k < rows; k++) {
        for (uint64_t n = 0; n < columns; n++) {
            uint64_t index[2] = {k, n};
            int64_t offset;
            assert_int_equal(tly_nest_offset(nest, index, &offset), TLY_OK);
            assert_memory_equal(got + (uint64_t)offset * element_len,
                                source + (k * columns + n) * element_len, element_len);
        }
    }
}

static void panels_are_packed(void **state) {
    static const uint64_t shape[] = {515, 330};
    fixture f;
    uint8_t *source;
    tly_client *client;
    tly_panel_profile profile, other;
    tly_fetch_layout layouts[3] = {{0}};
    tly_fetch_request request = {.size = sizeof request, .key = "w", .num_layouts = 3};
    tly_fetched *fetched;
    tly_nest nest;
    uint64_t len, padding = 0;
    tly_server_stats stats = {.size = sizeof stats};
    tly_error error;
    (void)state;
    fixture_init(&f);
    source = fixture_add(&f, "w", TLY_F32, 2, shape);
    fixture_start(&f, NULL);
    client = fixture_client(&f);
    CHECK_OK(tly_panel_by_name("ba16a64b2a", TLY_BF16, 0, &other, &error), &error);
    CHECK_OK(tly_panel_by_name("ba16a64b", TLY_F32, 0, &profile, &error), &error);
    layouts[0].profile = &other; /* another element type: skipped */
    layouts[1].profile = &profile;
    layouts[2].tag = TLY_LAYOUT_ROW_MAJOR;
    request.layouts = layouts;
    request.request_flags = TLY_WIRE_ALLOW_TRANSCODE;
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    assert_int_equal(tly_fetched_choice(fetched), 1);
    CHECK_OK(tly_panel_bind(&profile, 2, shape, &nest, &len, &error), &error);
    assert_int_equal(tly_fetched_len(fetched), len);
    assert_int_equal((uintptr_t)tly_fetched_data(fetched) % profile.alignment, 0);
    expect_nest(&nest, tly_fetched_data(fetched), source, 4);
    for (uint64_t i = 0; i < len; i++) {
        padding += ((uint8_t *)tly_fetched_data(fetched))[i] == 0;
    }
    assert_true(padding >= len - 515 * 330 * 4);
    tly_fetched_free(fetched);

    request.request_flags =
        0; /* without leave to transcode the row-major entry is the native one */
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    assert_int_equal(tly_fetched_choice(fetched), 2);
    assert_memory_equal(tly_fetched_data(fetched), source, 515 * 330 * 4);
    tly_fetched_free(fetched);
    tly_server_get_stats(f.server, &stats);
    assert_int_equal(stats.num_packed, 1);
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* A tensor that is kept as a panel goes out as it is to whoever asks for that layout, under the
 * asker's own profile, with or without leave to transcode; nobody else gets it by mistake. */
static void stored_panels_are_native(void **state) {
    static const uint64_t shape[] = {20, 30};
    fixture f;
    tly_client *client;
    tly_panel_profile profile, asked, other;
    tly_fetch_layout layouts[2] = {{0}};
    tly_fetch_request request = {.size = sizeof request, .key = "p", .layouts = layouts};
    tly_fetched *fetched;
    tly_descriptor d;
    tly_buffer_info buffer;
    uint8_t text[TLY_PANEL_MAX_LEN], asked_text[TLY_PANEL_MAX_LEN], *bytes;
    size_t text_len, asked_len;
    uint64_t len;
    tly_error error;
    (void)state;
    fixture_init(&f);
    CHECK_OK(tly_panel_by_name("nr16", TLY_F32, 0, &profile, &error), &error);
    CHECK_OK(tly_panel_by_name("nr32", TLY_F32, 0, &other, &error), &error);
    CHECK_OK(tly_panel_encode(&profile, text, sizeof text, &text_len, &error), &error);
    CHECK_OK(tly_panel_bind(&profile, 2, shape, NULL, &len, &error), &error);
    CHECK_OK(tly_descriptor_init_private(&d, &buffer, TLY_F32, 2, shape, TLY_PANEL_LAYOUT_TAG,
                                         TLY_PANEL_LAYOUT_ID, text, (uint32_t)text_len, len, 64),
             &error);
    bytes = f.blocks[f.num_blocks++] = malloc(len);
    memset(bytes, 0x5A, len);
    CHECK_OK(tly_catalogue_add_tensor(f.catalogue, "p", &d, bytes, len, &error), &error);
    buffer.byte_size = len - 4; /* not what the template says for this shape */
    CHECK_OK(tly_catalogue_add_tensor(f.catalogue, "short", &d, bytes, len - 4, &error), &error);
    fixture_start(&f, NULL);
    client = fixture_client(&f);

    asked = profile;
    snprintf(asked.kernel, sizeof asked.kernel, "somebody/else");
    asked.alignment = 4096;
    CHECK_OK(tly_panel_encode(&asked, asked_text, sizeof asked_text, &asked_len, &error), &error);
    layouts[0].profile = &other;
    layouts[1].profile = &asked;
    request.num_layouts = 2;
    for (int leave = 0; leave < 2; leave++) {
        const tly_descriptor *got;
        request.request_flags = leave ? TLY_WIRE_ALLOW_TRANSCODE : 0;
        CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
        assert_int_equal(tly_fetched_choice(fetched), 1);
        got = tly_fetched_descriptor(fetched);
        assert_int_equal(got->private_len, asked_len);
        assert_memory_equal(got->private_data, asked_text, asked_len);
        assert_int_equal(tly_fetched_len(fetched), len);
        assert_memory_equal(tly_fetched_data(fetched), bytes, len);
        assert_int_equal((uintptr_t)tly_fetched_data(fetched) % 4096, 0);
        assert_int_equal(got->buffers[0].alignment, 4096);
        tly_fetched_free(fetched);
    }

    asked.has_probe = 1; /* of a kernel that packs in another way */
    asked.probe_hash = 1;
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    assert_int_equal(tly_fetched_choice(fetched), 2); /* native, unasked: the panel as it is kept */
    assert_memory_equal(tly_fetched_descriptor(fetched)->private_data, text, text_len);
    tly_fetched_free(fetched);

    asked.has_probe = 0;
    asked.probe_hash = 0;
    request.key = "short";
    assert_int_not_equal(tly_client_fetch(client, &request, &fetched, &error), TLY_OK);
    assert_string_equal(error.rule, "panel-mismatch");
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* A probe hash decides: the right one is served, a wrong one is skipped. */
static void probes_are_proven(void **state) {
    static const uint64_t shape[] = {20, 30};
    fixture f;
    tly_client *client;
    tly_panel_profile wrong, right;
    tly_fetch_layout layouts[2] = {{0}};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = "w",
                                 .layouts = layouts,
                                 .num_layouts = 2,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched;
    tly_error error;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "w", TLY_F32, 2, shape);
    fixture_start(&f, NULL);
    client = fixture_client(&f);
    CHECK_OK(tly_panel_by_name("nr16", TLY_F32, 0, &right, &error), &error);
    CHECK_OK(tly_panel_probe_expected(f.context, &right, 0, &right.probe_hash, &error), &error);
    right.has_probe = 1;
    wrong = right;
    wrong.probe_hash ^= 1;
    layouts[0].profile = &wrong;
    layouts[1].profile = &right;
    for (int again = 0; again < 3; again++) {
        CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
        assert_int_equal(tly_fetched_choice(fetched), 1);
        tly_fetched_free(fetched);
    }
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* Element by element through a view of either tensor. */
static void expect_same(tly_context *context, const tly_descriptor *from, const void *source,
                        tly_fetched *fetched) {
    const tly_descriptor *to = tly_fetched_descriptor(fetched);
    const void *buffers[TLY_MAX_BUFFERS];
    const uint8_t *at = tly_fetched_data(fetched);
    tly_tensor a = {.descriptor = from, .buffers = &source};
    tly_tensor b = {.descriptor = to, .buffers = buffers};
    uint64_t index[TLY_MAX_RANK] = {0}, num;
    tly_view *one, *other;
    tly_error error;
    for (uint32_t i = 0; i < to->num_buffers; i++) {
        buffers[i] = at;
        at += to->buffers[i].byte_size;
    }
    CHECK_OK(tly_tensor_check_data(context, &b, &error), &error);
    CHECK_OK(tly_view_new(context, &a, NULL, &one, &error), &error);
    CHECK_OK(tly_view_new(context, &b, NULL, &other, &error), &error);
    assert_int_equal(tly_descriptor_num_elements(to, &num), TLY_OK);
    for (uint64_t i = 0; i < num; i++) {
        tly_code x, y;
        assert_int_equal(tly_view_get(one, index, &x), TLY_OK);
        assert_int_equal(tly_view_get(other, index, &y), TLY_OK);
        assert_memory_equal(&x, &y, sizeof x);
        for (uint32_t k = to->rank; k-- > 0 && ++index[k] == to->shape[k];) {
            index[k] = 0;
        }
    }
    tly_view_free(one);
    tly_view_free(other);
}

/* Every core layout that can hold the tensor comes when it is asked for by its bare tag. */
static void core_layouts_are_transcoded(void **state) {
    static const uint8_t tags[] = {TLY_LAYOUT_COL_MAJOR, TLY_LAYOUT_STRIDED, TLY_LAYOUT_TILED,
                                   TLY_LAYOUT_MORTON,    TLY_LAYOUT_COO,     TLY_LAYOUT_CSR,
                                   TLY_LAYOUT_CSC,       TLY_LAYOUT_CSF,     TLY_LAYOUT_BLOCK_PAGED,
                                   TLY_LAYOUT_HILBERT};
    static const struct {
        tly_dtype dtype;
        uint32_t rank;
        uint64_t shape[3];
        const char *without; /* tags (as digits of hexadecimal) that cannot hold it */
    } cases[] = {{TLY_I16, 2, {37, 61}, "9A*"},
                 {TLY_F32, 2, {16, 16}, "9A"},
                 {TLY_U4, 2, {32, 32}, "9A"},
                 {TLY_F64, 3, {5, 6, 7}, "78*"},
                 {TLY_I8, 3, {4, 4, 4}, "78"}};
    for (uint32_t n = 0; n < 2 * sizeof cases / sizeof cases[0]; n++) {
        const uint32_t c = n / 2;
        tly_server_options options = {.size = sizeof options,
                                      .cache_len = n % 2 != 0 ? 1u << 20 : 0};
        tly_descriptor d;
        tly_buffer_info buffer;
        fixture f;
        uint8_t *source;
        tly_client *client;
        (void)state;
        fixture_init(&f);
        source = fixture_add(&f, "w", cases[c].dtype, cases[c].rank, cases[c].shape);
        tly_descriptor_init_row_major(&d, &buffer, cases[c].dtype, cases[c].rank, cases[c].shape);
        fixture_start(&f, &options);
        client = fixture_client(&f);
        for (uint32_t i = 0; i < sizeof tags; i++) {
            tly_fetch_layout layout = {.tag = tags[i]};
            tly_fetch_request request = {.size = sizeof request,
                                         .key = "w",
                                         .layouts = &layout,
                                         .num_layouts = 1,
                                         .min_alignment = 128,
                                         .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
            const char digit = tags[i] == TLY_LAYOUT_HILBERT ? '*' : "0123456789AB"[tags[i]];
            int possible = strchr(cases[c].without, digit) == NULL;
            tly_fetched *fetched;
            tly_error error;
            CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
            assert_int_equal(tly_fetched_descriptor(fetched)->layout,
                             possible ? tags[i] : TLY_LAYOUT_ROW_MAJOR);
            assert_int_equal(tly_fetched_choice(fetched), possible ? 0 : 1);
            assert_true(tly_fetched_descriptor(fetched)->buffers[0].alignment >= 128);
            expect_same(f.context, &d, source, fetched);
            tly_fetched_free(fetched);
        }
        tly_client_free(client);
        fixture_cleanup(&f);
    }
}

static void over_the_limit_falls_through(void **state) {
    static const uint64_t shape[] = {100, 100};
    tly_server_options options = {.size = sizeof options, .transcode_limit = 39999};
    tly_fetch_layout layout = {.tag = TLY_LAYOUT_COL_MAJOR};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = "w",
                                 .layouts = &layout,
                                 .num_layouts = 1,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    fixture f;
    tly_client *client;
    tly_fetched *fetched;
    tly_error error;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "w", TLY_F32, 2, shape);
    fixture_start(&f, &options);
    client = fixture_client(&f);
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    assert_int_equal(tly_fetched_choice(fetched), 1); /* = num_layouts: native, unasked */
    assert_int_equal(tly_fetched_descriptor(fetched)->layout, TLY_LAYOUT_ROW_MAJOR);
    tly_fetched_free(fetched);
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* Keys are looked up and nothing else: they never become names of files. */
static void unknown_keys(void **state) {
    static const char *const keys[] = {"../x", "/etc/passwd", "a/../../b", "..", ".",
                                       "",     "A",           "%61"};
    static const uint64_t shape[] = {2};
    fixture f;
    tly_client *client;
    uint8_t *bytes;
    (void)state;
    fixture_init(&f);
    bytes = fixture_add(&f, "a", TLY_U8, 1, shape);
    fixture_start(&f, NULL);
    client = fixture_client(&f);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        tly_fetch_request request = {.size = sizeof request, .key = keys[i]};
        tly_fetched *fetched;
        tly_error error;
        CHECK_RULE(tly_client_fetch(client, &request, &fetched, &error), &error, TLY_NOT_FOUND,
                   "server-error");
        assert_non_null(strstr(error.message, "UNKNOWN_TENSOR"));
        fixture_expect(client, "a", bytes, 2); /* the connection lives on */
    }
    tly_client_free(client);
    fixture_cleanup(&f);
}

static void keys_are_unique(void **state) {
    static const uint64_t shape[] = {2};
    tly_descriptor d;
    tly_buffer_info buffer;
    fixture f;
    uint8_t bytes[2] = {0};
    tly_error error;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "b", TLY_U8, 1, shape);
    fixture_add(&f, "a", TLY_U8, 1, shape);
    tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 1, shape);
    CHECK_RULE(tly_catalogue_add_tensor(f.catalogue, "a", &d, bytes, 2, &error), &error, TLY_EXISTS,
               "key-taken");
    CHECK_RULE(tly_catalogue_add_tensor(f.catalogue, "", &d, bytes, 2, &error), &error,
               TLY_INVALID_ARGUMENT, "key");
    CHECK_RULE(tly_catalogue_add_tensor(f.catalogue, "c", &d, bytes, 3, &error), &error,
               TLY_INVALID_ARGUMENT, "data-len");
    assert_int_equal(tly_catalogue_num_tensors(f.catalogue), 2);
    assert_string_equal(tly_catalogue_key(f.catalogue, 0), "a");
    assert_string_equal(tly_catalogue_key(f.catalogue, 1), "b");
    assert_null(tly_catalogue_key(f.catalogue, 2));
    fixture_cleanup(&f);
}

/* ---- addresses ---- */

static void addresses(void **state) {
    static const char *const good[] = {"unix:/x", "tcp:127.0.0.1:1", "tcp:[::1]:65535",
                                       "tcp:localhost:0"};
    static const char *const bad[] = {
        "",       "x",        "unix:",   "tcp:",     "tcp:::1:80", "tcp:[::1]80", "tcp:a:65536",
        "tcp:a:", "tcp:a:-1", "tcp::80", "tcp:a:1x", "http:a:80"};
    tly_error error;
    char long_path[200] = "unix:/";
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        CHECK_OK(tly_address_check(good[i], &error), &error);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_RULE(tly_address_check(bad[i], &error), &error, TLY_INVALID_ARGUMENT, "address");
    }
    memset(long_path + 6, 'p', 107);
    CHECK_RULE(tly_address_check(long_path, &error), &error, TLY_INVALID_ARGUMENT, "address");
    long_path[5 + 107] = '\0';
    CHECK_OK(tly_address_check(long_path, &error), &error);
}

static void only_loopback_is_bound(void **state) {
    static const char *const open[] = {"tcp:0.0.0.0:0", "tcp:[::]:0", "tcp:192.0.2.1:0"};
    fixture f;
    tly_client *client;
    tly_error error;
    uint8_t *bytes;
    static const uint64_t shape[] = {100000};
    (void)state;
    fixture_init(&f);
    bytes = fixture_add(&f, "a", TLY_F64, 1, shape);
    CHECK_OK(tly_server_new(f.context, f.catalogue, NULL, &f.server, &error), &error);
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        CHECK_RULE(tly_server_listen(f.server, open[i], &error), &error, TLY_UNSUPPORTED,
                   "loopback-only");
    }
    CHECK_OK(tly_server_listen(f.server, "tcp:127.0.0.1:0", &error), &error);
    snprintf(f.address, sizeof f.address, "%s", tly_server_address(f.server, 0));
    assert_null(strstr(f.address, ":0\0"));
    assert_int_equal(pthread_create(&f.thread, NULL, fixture_thread, &f), 0);
    f.runs = 1;
    client = fixture_client(&f);
    fixture_expect(client, "a", bytes, 800000);
    tly_client_free(client);
    fixture_cleanup(&f);
}

static void socket_file(void **state) {
    fixture f;
    struct stat st;
    tly_server *second;
    tly_error error;
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd;
    (void)state;
    fixture_init(&f);
    /* What a dead server left behind is replaced. */
    memcpy(un.sun_path, f.address + 5, strlen(f.address + 5));
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    close(fd);
    fixture_start(&f, NULL);
    assert_int_equal(lstat(f.address + 5, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0600);
    /* What is alive is not. */
    CHECK_OK(tly_server_new(f.context, f.catalogue, NULL, &second, &error), &error);
    CHECK_RULE(tly_server_listen(second, f.address, &error), &error, TLY_EXISTS, "address-in-use");
    tly_server_free(second);
    tly_client_free(fixture_client(&f));
    fixture_stop(&f);
    assert_int_equal(lstat(f.address + 5, &st), -1);
    /* Neither is a file that is no socket. */
    fd = open(f.address + 5, O_CREAT | O_WRONLY, 0600);
    close(fd);
    CHECK_OK(tly_server_new(f.context, f.catalogue, NULL, &second, &error), &error);
    CHECK_RULE(tly_server_listen(second, f.address, &error), &error, TLY_EXISTS, "path-in-use");
    tly_server_free(second);
    assert_int_equal(unlink(f.address + 5), 0);
    fixture_cleanup(&f);
}

static void nobody_listens(void **state) {
    fixture f;
    tly_client *client;
    tly_error error;
    (void)state;
    fixture_init(&f);
    assert_int_equal(tly_client_connect(f.context, f.address, NULL, &client, &error), TLY_IO);
    assert_non_null(strstr(error.message, "is the server running?"));
    assert_null(client);
    fixture_cleanup(&f);
}

/* Packing memory that all connections share: many slow readers wait for each other, nobody is lost,
 * and no more is taken than allowed. */
typedef struct slow_reader {
    const fixture *f;
    const tly_panel_profile *profile;
    uint64_t len;
} slow_reader;

static int take_time(void *user, uint64_t done, uint64_t total) {
    (void)user;
    (void)done;
    (void)total;
    usleep(1000);
    return 0;
}

static void *read_slowly(void *user) {
    slow_reader *r = user;
    tly_fetch_layout layout = {.profile = r->profile};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = "w",
                                 .layouts = &layout,
                                 .num_layouts = 1,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE,
                                 .progress = take_time};
    tly_client *client;
    tly_fetched *fetched;
    tly_error error;
    CHECK_OK(tly_client_connect(r->f->context, r->f->address, NULL, &client, &error), &error);
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    r->len = tly_fetched_len(fetched);
    tly_fetched_free(fetched);
    tly_client_free(client);
    return NULL;
}

static void packing_memory_is_shared(void **state) {
    static const uint64_t shape[] = {1024, 4096}; /* 16 MiB */
    enum { NUM = 6 };
    tly_server_options options = {.size = sizeof options, .max_packing_len = 3u << 20};
    tly_server_stats stats = {.size = sizeof stats};
    tly_panel_profile profile;
    slow_reader readers[NUM];
    pthread_t threads[NUM];
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "w", TLY_F32, 2, shape);
    CHECK_OK(tly_panel_by_name("ba16a64b", TLY_F32, 0, &profile, &error), &error);
    fixture_start(&f, &options);
    for (int i = 0; i < NUM; i++) {
        readers[i] = (slow_reader){&f, &profile, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_slowly, &readers[i]), 0);
    }
    for (int i = 0; i < NUM; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].len, 1024 * 4096 * 4);
    }
    tly_server_get_stats(f.server, &stats);
    assert_true(stats.max_buffered_len <= 3u << 20);
    fixture_cleanup(&f);
}

/* ---- another catalogue while the server runs ---- */

typedef struct change {
    fixture *f;
    tly_catalogue *next;
    tly_access *rules;
    int done; /* atomic */
} change;

static void put_in_place(void *user) {
    change *c = user;
    tly_error error;
    CHECK_OK(tly_server_replace(c->f->server, c->next, c->rules, &error), &error);
    __atomic_store_n(&c->done, 1, __ATOMIC_RELEASE);
}

static void reload_now(change *c) {
    __atomic_store_n(&c->done, 0, __ATOMIC_RELEASE);
    tly_server_reload(c->f->server);
    for (int i = 0; i < 5000 && !__atomic_load_n(&c->done, __ATOMIC_ACQUIRE); i++) {
        usleep(1000);
    }
    assert_true(__atomic_load_n(&c->done, __ATOMIC_ACQUIRE));
}

static tly_catalogue *other_catalogue(const fixture *f, const uint64_t *shape, const uint8_t *bytes,
                                      uint64_t len) {
    tly_catalogue *next;
    tly_descriptor d;
    tly_buffer_info buffer;
    tly_error error;
    CHECK_OK(tly_catalogue_new(f->context, &next, &error), &error);
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 1, shape), TLY_OK);
    CHECK_OK(tly_catalogue_add_tensor(next, "w", &d, bytes, len, &error), &error);
    return next;
}

static int reload_in_the_middle(void *user, uint64_t done, uint64_t total) {
    change *c = user;
    (void)total;
    if (c->next != NULL && done < 2u << 20) {
        reload_now(c);
        c->next = NULL;
    }
    return 0;
}

/* A transfer ends with the tensor that it began with; the next one has the new one. */
static void replaced_under_way(void **state) {
    static const uint64_t shape[] = {8u << 20};
    static const char text[] = "token a 0123456789abcdef-a\nallow anyone get w\n";
    uint8_t *old, *fresh = malloc(8u << 20);
    change c = {0};
    tly_server_options options = {
        .size = sizeof options, .reload = put_in_place, .reload_user = &c, .cache_len = 64u << 20};
    tly_fetch_request request = {
        .size = sizeof request, .key = "w", .progress = reload_in_the_middle, .progress_user = &c};
    tly_client_options with = {.size = sizeof with, .token = "0123456789abcdef-a"};
    tly_client *client, *known;
    tly_fetched *fetched;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    old = fixture_add(&f, "w", TLY_U8, 1, shape);
    memset(fresh, 0x42, 8u << 20);
    c.f = &f;
    c.next = other_catalogue(&f, shape, fresh, 8u << 20);
    fixture_start(&f, &options);
    client = fixture_client(&f);
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    assert_null(c.next);
    assert_memory_equal(tly_fetched_data(fetched), old, 8u << 20);
    tly_fetched_free(fetched);
    fixture_expect(client, "w", fresh, 8u << 20);

    /* With rules: the same connection is judged anew, and one whose token is gone ends. */
    c.next = other_catalogue(&f, shape, fresh, 8u << 20);
    CHECK_OK(tly_access_parse(f.context, text, sizeof text - 1, &c.rules, &error), &error);
    reload_now(&c);
    fixture_expect(client, "w", fresh, 8u << 20);
    CHECK_OK(tly_client_connect(f.context, f.address, &with, &known, &error), &error);
    fixture_expect(known, "w", fresh, 8u << 20);
    c.next = other_catalogue(&f, shape, fresh, 8u << 20);
    CHECK_OK(tly_access_parse(f.context, "", 0, &c.rules, &error), &error);
    reload_now(&c);
    request.progress = NULL;
    assert_int_equal(tly_client_fetch(client, &request, &fetched, &error), TLY_PEER);
    assert_true(tly_client_fetch(known, &request, &fetched, &error) != TLY_OK);
    tly_client_free(known);
    tly_client_free(client);
    fixture_cleanup(&f);
    free(fresh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_layout),
        cmocka_unit_test(panels_are_packed),
        cmocka_unit_test(stored_panels_are_native),
        cmocka_unit_test(probes_are_proven),
        cmocka_unit_test(core_layouts_are_transcoded),
        cmocka_unit_test(over_the_limit_falls_through),
        cmocka_unit_test(unknown_keys),
        cmocka_unit_test(keys_are_unique),
        cmocka_unit_test(addresses),
        cmocka_unit_test(only_loopback_is_bound),
        cmocka_unit_test(socket_file),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(packing_memory_is_shared),
        cmocka_unit_test(replaced_under_way),
    };
    return cmocka_run_group_tests_name("serve/serve", tests, NULL, NULL);
}
