/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers that break off and go on: through a proxy that cuts them, and against servers that come
 * late, are busy, or have another tensor by then. */
#include "serve/put.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <tilery/store.h>

#include "net/range.h"

static const uint64_t shape[] = {1024, 2048}; /* 8 MiB of f32 */
#define LEN (8u << 20)

/* Lets through so many bytes to the client of each connection in turn, then breaks it off; the last
 * number holds for all further ones. */
typedef struct cutter {
    const fixture *f;
    char address[128];
    int fd;
    int stops; /* atomic */
    uint64_t let[8];
    uint32_t num_let;
    uint32_t num_connections;
    uint64_t passed; /* to the client, in all */
    pthread_t thread;
    void (*between)(void *user); /* after a connection has been cut */
    void *user;
} cutter;

static int open_unix(const char *address) {
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(un.sun_path, address + 5, strlen(address + 5));
    assert_int_equal(connect(fd, (struct sockaddr *)&un, sizeof un), 0);
    return fd;
}

/* Copies both ways until one side ends or `let` bytes are through to the client. */
static void pass(cutter *c, int client, uint64_t let) {
    int server = open_unix(c->f->address);
    uint8_t bytes[65536];
    for (;;) {
        struct pollfd p[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        ssize_t n;
        if (poll(p, 2, 10000) <= 0) {
            break;
        }
        if (p[0].revents != 0) {
            n = recv(client, bytes, sizeof bytes, 0);
            if (n <= 0 || send(server, bytes, (size_t)n, MSG_NOSIGNAL) != n) {
                break;
            }
        }
        if (p[1].revents != 0) {
            size_t most = let < sizeof bytes ? (size_t)let : sizeof bytes;
            n = most != 0 ? recv(server, bytes, most, 0) : 0;
            if (n <= 0 || send(client, bytes, (size_t)n, MSG_NOSIGNAL) != n) {
                break;
            }
            let -= (uint64_t)n;
            c->passed += (uint64_t)n;
        }
    }
    close(server);
}

static void *cut(void *user) {
    cutter *c = user;
    for (;;) {
        int client = accept(c->fd, NULL, NULL);
        uint32_t i = c->num_connections;
        if (__atomic_load_n(&c->stops, __ATOMIC_ACQUIRE)) {
            close(client);
            return NULL;
        }
        c->num_connections++;
        pass(c, client, c->let[i < c->num_let ? i : c->num_let - 1]);
        if (c->between != NULL && i + 1 < c->num_let) {
            c->between(c->user);
        }
        close(client);
    }
}

static void cutter_start(cutter *c, const fixture *f) {
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    c->f = f;
    snprintf(c->address, sizeof c->address, "unix:%s/cut", f->folder);
    memcpy(un.sun_path, c->address + 5, strlen(c->address + 5));
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(c->fd, (struct sockaddr *)&un, sizeof un), 0);
    assert_int_equal(listen(c->fd, 8), 0);
    assert_int_equal(pthread_create(&c->thread, NULL, cut, c), 0);
}

static void cutter_stop(cutter *c) {
    __atomic_store_n(&c->stops, 1, __ATOMIC_RELEASE);
    close(open_unix(c->address));
    pthread_join(c->thread, NULL);
    close(c->fd);
    unlink(c->address + 5);
}

typedef struct rig {
    fixture f;
    char path[128];
    uint8_t *bytes;
    cutter cutter;
    uint32_t num_retries, num_destinations;
    uint64_t last;
    int goes_back;
    void *memory;
} rig;

static void write_container(const fixture *f, const char *path, const uint8_t *bytes) {
    tly_store_writer *writer;
    tly_descriptor d;
    tly_buffer_info buffer;
    tly_error error;
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 2, shape), TLY_OK);
    CHECK_OK(tly_store_writer_new(f->context, path, NULL, &writer, &error), &error);
    CHECK_OK(tly_store_writer_begin(writer, "w", 1, &d, &error), &error);
    CHECK_OK(tly_store_writer_append(writer, bytes, LEN, &error), &error);
    CHECK_OK(tly_store_writer_end(writer, &error), &error);
    CHECK_OK(tly_store_writer_commit(writer, &error), &error);
    tly_store_writer_free(writer);
}

static void rig_init(rig *r, uint64_t cache_len) {
    tly_server_options options = {.size = sizeof options, .cache_len = cache_len};
    tly_error error;
    memset(r, 0, sizeof *r);
    fixture_init(&r->f);
    r->bytes = r->f.blocks[r->f.num_blocks++] = malloc(LEN);
    for (size_t i = 0; i < LEN; i++) {
        r->bytes[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + (i >> 16));
    }
    snprintf(r->path, sizeof r->path, "%s/c.hrry", r->f.folder);
    write_container(&r->f, r->path, r->bytes);
    CHECK_OK(tly_catalogue_add_file(r->f.catalogue, r->path, &error), &error);
    fixture_start(&r->f, &options);
}

static void rig_cleanup(rig *r) {
    unlink(r->path);
    fixture_cleanup(&r->f);
}

static void note_retry(void *user, uint32_t attempt, uint32_t delay_ms, uint64_t received,
                       const tly_error *why) {
    rig *r = user;
    (void)attempt;
    assert_true(delay_ms <= 40);
    assert_true(why->message[0] != '\0');
    r->goes_back |= received < r->last;
    r->last = received;
    r->num_retries++;
}

static void *own_memory(void *user, const tly_descriptor *descriptor, uint64_t len,
                        uint32_t alignment) {
    rig *r = user;
    (void)descriptor;
    r->num_destinations++;
    free(r->memory);
    r->memory =
        aligned_alloc(alignment, (size_t)((len + alignment - 1) & ~(uint64_t)(alignment - 1)));
    return r->memory;
}

static tly_status fetch(rig *r, const char *address, const tly_panel_profile *profile,
                        uint32_t attempts, tly_fetched **out, tly_error *error) {
    tly_client_options options = {
        .size = sizeof options, .progress_timeout_ms = 5000, .max_message_size = 1u << 20};
    tly_retry_options retry = {.size = sizeof retry,
                               .max_attempts = attempts,
                               .first_delay_ms = 10,
                               .max_delay_ms = 40,
                               .on_retry = note_retry,
                               .user = r};
    tly_fetch_layout layout = {.profile = profile};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = "w",
                                 .layouts = profile != NULL ? &layout : NULL,
                                 .num_layouts = profile != NULL,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE,
                                 .destination = own_memory,
                                 .destination_user = r};
    return tly_fetch_with_retries(r->f.context, address, &options, &retry, &request, out, error);
}

/* Cut four times: everything is right, nothing comes twice but the frame that was under way.
 * Native, from a variant that is shared, and packed for one client alone. */
static void goes_on_where_it_ended(void **state) {
    for (int packed = 0; packed < 3; packed++) {
        tly_panel_profile profile;
        tly_fetched *whole, *pieces;
        tly_error error;
        rig r;
        (void)state;
        rig_init(&r, packed == 1 ? 64u << 20 : 0);
        CHECK_OK(tly_panel_by_name("ba16a64b", TLY_F32, 0, &profile, &error), &error);
        CHECK_OK(fetch(&r, r.f.address, packed ? &profile : NULL, 2, &whole, &error), &error);
        r.memory = NULL; /* it is whole's now */
        r.num_destinations = 0;
        r.cutter = (cutter){.let = {3u << 20, 100, 2500000, 1u << 21, UINT64_MAX}, .num_let = 5};
        cutter_start(&r.cutter, &r.f);
        CHECK_OK(fetch(&r, r.cutter.address, packed ? &profile : NULL, 2, &pieces, &error), &error);
        cutter_stop(&r.cutter);
        assert_int_equal(tly_fetched_len(pieces), tly_fetched_len(whole));
        assert_memory_equal(tly_fetched_data(pieces), tly_fetched_data(whole),
                            tly_fetched_len(whole));
        assert_int_equal(r.num_retries, 4);
        assert_int_equal(r.num_destinations, 1);
        assert_false(r.goes_back);
        assert_true(r.cutter.passed < LEN + 5u * (1u << 20) + 100000);
        free(tly_fetched_data(whole));
        free(r.memory);
        tly_fetched_free(whole);
        tly_fetched_free(pieces);
        rig_cleanup(&r);
    }
}

static void replace_container(void *user) {
    rig *r = user;
    int fd;
    tly_store *store;
    tly_store_entry entry;
    tly_error error;
    CHECK_OK(tly_store_open(r->f.context, r->path, NULL, &store, &error), &error);
    assert_int_equal(tly_store_entry_at(store, 0, &entry), TLY_OK);
    tly_store_free(store);
    memset(r->bytes, 0x33, LEN);
    usleep(20000);
    fd = open(r->path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, r->bytes, LEN, (off_t)entry.data_offset), LEN);
    close(fd);
}

/* The tensor has changed meanwhile: its old beginning and new end are never put together. */
static void begins_anew_where_it_must(void **state) {
    tly_fetched *fetched;
    tly_error error;
    rig r;
    (void)state;
    rig_init(&r, 0);
    r.cutter = (cutter){
        .let = {3u << 20, UINT64_MAX}, .num_let = 2, .between = replace_container, .user = &r};
    cutter_start(&r.cutter, &r.f);
    CHECK_OK(fetch(&r, r.cutter.address, NULL, 3, &fetched, &error), &error);
    cutter_stop(&r.cutter);
    assert_int_equal(r.num_destinations, 2);
    assert_memory_equal(tly_fetched_data(fetched), r.bytes, LEN);
    tly_fetched_free(fetched);
    free(r.memory);
    rig_cleanup(&r);
}

/* Attempts that bring nothing end; so do refusals that no attempt will change. */
static void gives_up(void **state) {
    tly_fetch_request request = {.size = sizeof request, .key = "nothing"};
    tly_fetched *fetched;
    tly_error error;
    rig r;
    (void)state;
    rig_init(&r, 0);
    r.cutter = (cutter){.let = {50}, .num_let = 1};
    cutter_start(&r.cutter, &r.f);
    assert_int_equal(fetch(&r, r.cutter.address, NULL, 3, &fetched, &error), TLY_CLOSED);
    assert_null(fetched);
    cutter_stop(&r.cutter);
    assert_int_equal(r.cutter.num_connections, 3);
    assert_int_equal(r.num_retries, 2);
    assert_int_equal(
        tly_fetch_with_retries(r.f.context, r.f.address, NULL, NULL, &request, &fetched, &error),
        TLY_NOT_FOUND);
    free(r.memory);
    rig_cleanup(&r);
}

typedef struct late {
    fixture *f;
} late;

static void *start_late(void *user) {
    late *l = user;
    usleep(60000);
    fixture_start(l->f, NULL);
    return NULL;
}

static void waits_for_a_server(void **state) {
    static const uint64_t ten[] = {10};
    tly_fetch_request request = {.size = sizeof request, .key = "w"};
    tly_retry_options retry = {
        .size = sizeof retry, .max_attempts = 50, .first_delay_ms = 10, .max_delay_ms = 40};
    tly_fetched *fetched;
    tly_error error;
    pthread_t thread;
    uint8_t *bytes;
    fixture f;
    late l = {&f};
    (void)state;
    fixture_init(&f);
    bytes = fixture_add(&f, "w", TLY_U8, 1, ten);
    assert_int_equal(pthread_create(&thread, NULL, start_late, &l), 0);
    CHECK_OK(tly_fetch_with_retries(f.context, f.address, NULL, &retry, &request, &fetched, &error),
             &error);
    assert_memory_equal(tly_fetched_data(fetched), bytes, 10);
    tly_fetched_free(fetched);
    pthread_join(thread, NULL);
    fixture_cleanup(&f);
}

/* Ranges that make no sense, by the bytes. */
static void range_entries(void **state) {
    tly_range range = {.first = 0x1122334455667788, .version = {1, 2, 3}}, got;
    uint8_t room[TLY_RANGE_ENTRY_LEN], list[128], message[TLY_RANGE_LEN];
    tly_wire_layout entries[] = {{.tag = TLY_LAYOUT_ROW_MAJOR},
                                 tly_net_range_announcement(),
                                 tly_net_range_entry(&range, room)};
    tly_wire_layouts layouts;
    tly_error error;
    (void)state;
    CHECK_OK(tly_wire_layouts_put(entries, 3, list, sizeof list, &layouts, &error), &error);
    assert_int_equal(tly_net_range_find(&layouts, &got), 1);
    assert_memory_equal(&got, &range, sizeof got);
    CHECK_OK(tly_wire_layouts_put(entries, 2, list, sizeof list, &layouts, &error), &error);
    assert_int_equal(tly_net_range_find(&layouts, &got), 0);
    tly_net_range_put(&range, message);
    assert_int_equal(message[0], 0x88);
    assert_int_equal(tly_net_range_get(message, sizeof message - 1, &got), 0);
    assert_int_equal(tly_net_range_get(message, sizeof message, &got), 1);
}

/* An acknowledgement that was lost, and a connection that broke at once: the tensor is put again.
 */
static void puts_again(void **state) {
    enum { PUT_LEN = 300000 };
    static const uint64_t put_shape[] = {PUT_LEN};
    tly_retry_options retry = {
        .size = sizeof retry, .max_attempts = 3, .first_delay_ms = 10, .max_delay_ms = 40};
    tly_client *client = NULL;
    tly_descriptor d;
    tly_buffer_info buffer;
    tly_error error;
    put_folder folder;
    rig r;
    (void)state;
    memset(&r, 0, sizeof r);
    fixture_init(&r.f);
    put_folder_make(&folder);
    CHECK_OK(tly_catalogue_open_uploads(r.f.catalogue, folder.path, &error), &error);
    fixture_start(&r.f, NULL);
    uint8_t *bytes = r.f.blocks[r.f.num_blocks++] = put_bytes_of(7, PUT_LEN);
    const void *buffers[1] = {bytes};
    tly_put_request request = {
        .size = sizeof request, .key = "p", .descriptor = &d, .buffers = buffers};
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 1, put_shape), TLY_OK);
    retry.on_retry = note_retry;
    retry.user = &r;
    r.cutter = (cutter){.let = {UINT64_MAX}, .num_let = 1};
    cutter_start(&r.cutter, &r.f);
    CHECK_OK(tly_client_connect(r.f.context, r.cutter.address, NULL, &client, &error), &error);
    tly_client_free(client);
    client = NULL;
    cutter_stop(&r.cutter);
    /* half of the server's HELLO, then all of it and the beginning of the acknowledgement */
    r.cutter =
        (cutter){.let = {r.cutter.passed / 2, r.cutter.passed + 2, UINT64_MAX}, .num_let = 3};
    cutter_start(&r.cutter, &r.f);
    CHECK_OK(tly_put_with_retries(r.f.context, r.cutter.address, NULL, &retry, &client, &request,
                                  &error),
             &error);
    assert_int_equal(r.num_retries, 2);
    request.key = "q"; /* on the same connection */
    CHECK_OK(tly_put_with_retries(r.f.context, r.cutter.address, NULL, &retry, &client, &request,
                                  &error),
             &error);
    assert_int_equal(r.num_retries, 2);
    fixture_expect(client, "p", bytes, PUT_LEN);
    fixture_expect(client, "q", bytes, PUT_LEN);
    /* What the server refuses is not tried again. */
    request.key = "";
    assert_true(tly_put_with_retries(r.f.context, r.cutter.address, NULL, &retry, &client, &request,
                                     &error) != TLY_OK);
    assert_int_equal(r.num_retries, 2);
    tly_client_free(client);
    cutter_stop(&r.cutter);
    /* Nobody there: as often as it says, and no more. */
    client = NULL;
    request.key = "p";
    assert_int_equal(tly_put_with_retries(r.f.context, "unix:/nowhere/at/all", NULL, &retry,
                                          &client, &request, &error),
                     TLY_IO);
    assert_null(client);
    assert_int_equal(r.num_retries, 4);
    fixture_cleanup(&r.f);
    put_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_where_it_ended),    cmocka_unit_test(puts_again),
        cmocka_unit_test(begins_anew_where_it_must), cmocka_unit_test(gives_up),
        cmocka_unit_test(waits_for_a_server),        cmocka_unit_test(range_entries),
    };
    return cmocka_run_group_tests_name("serve/resume", tests, NULL, NULL);
}
