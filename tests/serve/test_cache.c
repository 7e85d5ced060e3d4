/* SPDX-License-Identifier: Apache-2.0 */
/* Packed variants: made once, shared, bounded, dropped when their source changes. */
#include "serve/fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <tilery/pack.h>
#include <tilery/store.h>

#define NUM_CLIENTS 8

/* The panel of `source` as the plain packer makes it; the caller frees it. */
static uint8_t *packed_by_hand(const fixture *f, const tly_panel_profile *profile,
                               const uint64_t *shape, const uint8_t *source, uint64_t *out_len) {
    tly_nest to, from;
    tly_pack_plan *plan;
    tly_error error;
    uint8_t *bytes;
    CHECK_OK(tly_panel_bind(profile, 2, shape, &to, out_len, &error), &error);
    assert_int_equal(tly_nest_row_major(&from, 2, shape), TLY_OK);
    CHECK_OK(tly_pack_plan_new(f->context, &to, &from, 32, NULL, &plan, &error), &error);
    bytes = malloc((size_t)*out_len);
    tly_pack_run(plan, bytes, source);
    tly_pack_plan_free(plan);
    return bytes;
}

/* Fetches `key` as `profile` and compares. */
static void expect_panel(const fixture *f, tly_client *client, const char *key,
                         const tly_panel_profile *profile, const uint64_t *shape,
                         const uint8_t *source) {
    tly_fetch_layout layout = {.profile = profile};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = key,
                                 .layouts = &layout,
                                 .num_layouts = 1,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched;
    tly_error error;
    uint64_t len;
    uint8_t *wanted = packed_by_hand(f, profile, shape, source, &len);
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    assert_int_equal(tly_fetched_choice(fetched), 0);
    assert_int_equal(tly_fetched_len(fetched), len);
    assert_memory_equal(tly_fetched_data(fetched), wanted, len);
    tly_fetched_free(fetched);
    free(wanted);
}

static tly_server_stats stats_of(const fixture *f) {
    tly_server_stats stats = {.size = sizeof stats};
    tly_server_get_stats(f->server, &stats);
    return stats;
}

static void profile_of(const char *name, tly_panel_profile *out) {
    tly_error error;
    CHECK_OK(tly_panel_by_name(name, TLY_F32, 0, out, &error), &error);
}

typedef struct asker {
    const fixture *f;
    const tly_panel_profile *profile;
    const uint64_t *shape;
    const uint8_t *source;
    pthread_barrier_t *together;
} asker;

static void *ask(void *user) {
    asker *a = user;
    tly_client *client;
    tly_error error;
    CHECK_OK(tly_client_connect(a->f->context, a->f->address, NULL, &client, &error), &error);
    pthread_barrier_wait(a->together);
    expect_panel(a->f, client, "w", a->profile, a->shape, a->source);
    tly_client_free(client);
    return NULL;
}

static void one_packing_for_all(void **state) {
    static const uint64_t shape[] = {1030, 2050};
    tly_server_options options = {.size = sizeof options, .cache_len = 64u << 20};
    tly_panel_profile profile, renamed;
    pthread_barrier_t together;
    pthread_t threads[NUM_CLIENTS];
    asker a;
    tly_client *client;
    fixture f;
    (void)state;
    fixture_init(&f);
    profile_of("ba16a64b", &profile);
    a = (asker){&f, &profile, shape, fixture_add(&f, "w", TLY_F32, 2, shape), &together};
    fixture_start(&f, &options);
    pthread_barrier_init(&together, NULL, NUM_CLIENTS);
    for (int i = 0; i < NUM_CLIENTS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &a), 0);
    }
    for (int i = 0; i < NUM_CLIENTS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&together);
    assert_int_equal(stats_of(&f).num_packings, 1);
    assert_int_equal(stats_of(&f).num_shared, NUM_CLIENTS - 1);

    renamed = profile; /* the same bytes under other names */
    renamed.alignment = 4096;
    snprintf(renamed.kernel, sizeof renamed.kernel, "somebody/else");
    client = fixture_client(&f);
    expect_panel(&f, client, "w", &renamed, shape, a.source);
    expect_panel(&f, client, "w", &renamed, shape, a.source);
    assert_int_equal(stats_of(&f).num_packings, 1);
    assert_int_equal(stats_of(&f).num_served, NUM_CLIENTS + 2);
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* Three variants of about 1 MiB where two fit: the one that was used longest ago goes. */
static void least_recently_used_goes(void **state) {
    static const uint64_t shape[] = {512, 512};
    tly_server_options options = {.size = sizeof options, .cache_len = (2u << 20) + 16384};
    tly_panel_profile a, b, c;
    tly_client *client;
    uint8_t *source;
    fixture f;
    (void)state;
    fixture_init(&f);
    profile_of("nr16", &a);
    profile_of("nr32", &b);
    profile_of("ba16a64b", &c);
    source = fixture_add(&f, "w", TLY_F32, 2, shape);
    fixture_start(&f, &options);
    client = fixture_client(&f);
    expect_panel(&f, client, "w", &a, shape, source);
    expect_panel(&f, client, "w", &b, shape, source);
    expect_panel(&f, client, "w", &a, shape, source);
    assert_int_equal(stats_of(&f).num_packings, 2);
    expect_panel(&f, client, "w", &c, shape, source); /* b goes */
    expect_panel(&f, client, "w", &a, shape, source);
    assert_int_equal(stats_of(&f).num_packings, 3);
    expect_panel(&f, client, "w", &b, shape, source);
    assert_int_equal(stats_of(&f).num_packings, 4);
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* What a slow client lets another one do in the middle of its transfer. */
typedef struct meanwhile {
    const fixture *f;
    tly_client *client;
    const tly_panel_profile *profile;
    const uint64_t *shape;
    const uint8_t *source;
    int done;
} meanwhile;

static int let_another(void *user, uint64_t done, uint64_t total) {
    meanwhile *m = user;
    (void)done;
    (void)total;
    if (!m->done) {
        m->done = 1;
        expect_panel(m->f, m->client, "w", m->profile, m->shape, m->source);
    }
    return 0;
}

/* A variant that a slow client reads stays, and what does not fit beside it is packed for its asker
 * alone. */
static void in_use_is_never_dropped(void **state) {
    static const uint64_t shape[] = {2048, 2048}; /* 16 MiB: more than sockets hold */
    tly_server_options options = {.size = sizeof options, .cache_len = 20u << 20};
    tly_panel_profile a, b;
    tly_fetch_layout layout = {.profile = &a};
    meanwhile m = {0};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = "w",
                                 .layouts = &layout,
                                 .num_layouts = 1,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE,
                                 .progress = let_another,
                                 .progress_user = &m};
    tly_client *client, *slow;
    tly_fetched *fetched;
    uint8_t *source, *wanted;
    uint64_t len;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    profile_of("nr16", &a);
    profile_of("nr32", &b);
    source = fixture_add(&f, "w", TLY_F32, 2, shape);
    fixture_start(&f, &options);
    client = fixture_client(&f);
    slow = fixture_client(&f);
    m = (meanwhile){&f, client, &b, shape, source, 0};
    CHECK_OK(tly_client_fetch(slow, &request, &fetched, &error), &error);
    assert_true(m.done);
    wanted = packed_by_hand(&f, &a, shape, source, &len);
    assert_memory_equal(tly_fetched_data(fetched), wanted, len);
    free(wanted);
    tly_fetched_free(fetched);
    assert_int_equal(stats_of(&f).num_packings, 1); /* b was packed past the cache */
    expect_panel(&f, client, "w", &a, shape, source);
    assert_int_equal(stats_of(&f).num_shared, 1);
    expect_panel(&f, client, "w", &b, shape, source); /* now a is free to go */
    assert_int_equal(stats_of(&f).num_packings, 2);
    tly_client_free(slow);
    tly_client_free(client);
    fixture_cleanup(&f);
}

static int leave(void *user, uint64_t done, uint64_t total) {
    (void)user;
    (void)done;
    (void)total;
    return 1;
}

/* Whoever leaves in the middle takes nothing with him: neither what others read nor the next. */
static void leaving_in_the_middle(void **state) {
    static const uint64_t shape[] = {2048, 2048};
    tly_server_options options = {.size = sizeof options, .cache_len = 64u << 20};
    tly_panel_profile a;
    tly_fetch_layout layout = {.profile = &a};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = "w",
                                 .layouts = &layout,
                                 .num_layouts = 1,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE,
                                 .progress = leave};
    tly_fetched *fetched;
    tly_client *client;
    uint8_t *source;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    profile_of("nr16", &a);
    source = fixture_add(&f, "w", TLY_F32, 2, shape);
    fixture_start(&f, &options);
    for (int i = 0; i < 4; i++) {
        client = fixture_client(&f);
        assert_int_equal(tly_client_fetch(client, &request, &fetched, &error), TLY_CANCELLED);
        tly_client_free(client);
    }
    client = fixture_client(&f);
    expect_panel(&f, client, "w", &a, shape, source);
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* ---- a container that changes ---- */

static void write_container(const fixture *f, const char *path, const uint64_t *shape,
                            const uint8_t *bytes) {
    tly_store_writer *writer;
    tly_descriptor d;
    tly_buffer_info buffer;
    tly_error error;
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 2, shape), TLY_OK);
    CHECK_OK(tly_store_writer_new(f->context, path, NULL, &writer, &error), &error);
    CHECK_OK(tly_store_writer_begin(writer, "w", 1, &d, &error), &error);
    CHECK_OK(tly_store_writer_append(writer, bytes, buffer.byte_size, &error), &error);
    CHECK_OK(tly_store_writer_end(writer, &error), &error);
    CHECK_OK(tly_store_writer_commit(writer, &error), &error);
    tly_store_writer_free(writer);
}

/* Somebody writes into the file that is being served: what was packed from it is not served any
 * more, though the tensor has the same name and descriptor. */
static void changed_source_is_packed_anew(void **state) {
    static const uint64_t shape[] = {256, 256};
    size_t len = 256 * 256 * 4;
    tly_server_options options = {.size = sizeof options, .cache_len = 64u << 20};
    tly_panel_profile a;
    tly_client *client;
    uint8_t *bytes;
    char path[128];
    tly_store *store;
    tly_store_entry entry;
    tly_error error;
    fixture f;
    int fd;
    (void)state;
    fixture_init(&f);
    profile_of("nr16", &a);
    bytes = f.blocks[f.num_blocks++] = malloc(len);
    memset(bytes, 1, len);
    snprintf(path, sizeof path, "%s/c.hrry", f.folder);
    write_container(&f, path, shape, bytes);
    CHECK_OK(tly_catalogue_add_file(f.catalogue, path, &error), &error);
    CHECK_OK(tly_store_open(f.context, path, NULL, &store, &error), &error);
    assert_int_equal(tly_store_entry_at(store, 0, &entry), TLY_OK);
    tly_store_free(store);
    fixture_start(&f, &options);
    client = fixture_client(&f);
    expect_panel(&f, client, "w", &a, shape, bytes);
    expect_panel(&f, client, "w", &a, shape, bytes);
    assert_int_equal(stats_of(&f).num_packings, 1);

    memset(bytes, 2, len);
    usleep(20000); /* file systems tell times in steps of some milliseconds */
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, bytes, len, (off_t)entry.data_offset), len);
    close(fd);
    expect_panel(&f, client, "w", &a, shape, bytes);
    assert_int_equal(stats_of(&f).num_packings, 2);
    tly_client_free(client);
    unlink(path);
    fixture_cleanup(&f);
}

/* Morton with unequal extents leaves gaps. What goes out there is zeros, not what a buffer held for
 * somebody else. */
static void gaps_are_zeros(void **state) {
    static const uint64_t full[] = {512, 512}, uneven[] = {300, 512};
    for (int cached = 0; cached < 2; cached++) {
        tly_server_options options = {.size = sizeof options, .cache_len = cached ? 64u << 20 : 0};
        tly_fetch_layout layout = {.tag = TLY_LAYOUT_MORTON};
        tly_fetch_request request = {.size = sizeof request,
                                     .layouts = &layout,
                                     .num_layouts = 1,
                                     .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
        tly_client *client;
        tly_fetched *fetched;
        uint64_t zeros = 0;
        tly_error error;
        fixture f;
        (void)state;
        fixture_init(&f);
        memset(fixture_add(&f, "full", TLY_F32, 2, full), 0x77, 512 * 512 * 4);
        memset(fixture_add(&f, "uneven", TLY_F32, 2, uneven), 0x55, 300 * 512 * 4);
        fixture_start(&f, &options);
        client = fixture_client(&f);
        request.key = "full";
        CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
        tly_fetched_free(fetched);
        request.key = "uneven";
        CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
        assert_int_equal(tly_fetched_choice(fetched), 0);
        for (uint64_t i = 0; i < tly_fetched_len(fetched); i++) {
            uint8_t byte = ((const uint8_t *)tly_fetched_data(fetched))[i];
            assert_true(byte == 0 || byte == 0x55);
            zeros += byte == 0;
        }
        assert_int_equal(zeros, tly_fetched_len(fetched) - 300 * 512 * 4);
        assert_true(zeros != 0);
        tly_fetched_free(fetched);
        tly_client_free(client);
        fixture_cleanup(&f);
    }
}

/* ---- variants that are kept over restarts ---- */

typedef struct kept {
    fixture f;
    char container[128], folder[128];
    uint8_t *bytes;
    tly_server_options options;
} kept;

static const uint64_t kept_shape[] = {512, 512}; /* 1 MiB */

static void kept_open(kept *k) {
    tly_error error;
    CHECK_OK(tly_catalogue_add_file(k->f.catalogue, k->container, &error), &error);
    fixture_start(&k->f, &k->options);
}

static void kept_init(kept *k) {
    fixture_init(&k->f);
    k->bytes = k->f.blocks[k->f.num_blocks++] = malloc(1u << 20);
    for (size_t i = 0; i < 1u << 20; i++) {
        k->bytes[i] = (uint8_t)(i * 7 + (i >> 9));
    }
    snprintf(k->container, sizeof k->container, "%s/c.hrry", k->f.folder);
    snprintf(k->folder, sizeof k->folder, "%s/kept", k->f.folder);
    assert_int_equal(mkdir(k->folder, 0700), 0);
    write_container(&k->f, k->container, kept_shape, k->bytes);
    k->options = (tly_server_options){
        .size = sizeof k->options, .cache_len = 64u << 20, .cache_folder = k->folder};
    kept_open(k);
}

/* Files of variants in the folder; `out_name` gets one. */
static int num_kept(const kept *k, char *out_name, size_t capacity) {
    DIR *dir = opendir(k->folder);
    struct dirent *entry;
    int num = 0;
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (strstr(entry->d_name, ".variant") != NULL && strncmp(entry->d_name, "new.", 4) != 0) {
            snprintf(out_name, capacity, "%s/%s", k->folder, entry->d_name);
            num++;
        }
    }
    closedir(dir);
    return num;
}

static void wait_for_kept(const kept *k, int wanted) {
    char name[512];
    for (int i = 0; i < 2000 && num_kept(k, name, sizeof name) != wanted; i++) {
        usleep(5000);
    }
    assert_int_equal(num_kept(k, name, sizeof name), wanted);
}

/* Ends the server and starts another one on the same files. */
static void restart(kept *k) {
    tly_error error;
    fixture_stop(&k->f);
    tly_server_free(k->f.server);
    tly_catalogue_free(k->f.catalogue);
    CHECK_OK(tly_catalogue_new(k->f.context, &k->f.catalogue, &error), &error);
    kept_open(k);
}

static void expect_kept_panel(kept *k, const tly_panel_profile *profile) {
    tly_client *client = fixture_client(&k->f);
    expect_panel(&k->f, client, "w", profile, kept_shape, k->bytes);
    tly_client_free(client);
}

static void kept_cleanup(kept *k) {
    char name[512];
    fixture_stop(&k->f);
    tly_server_free(k->f.server); /* what is being written is written */
    k->f.server = NULL;
    while (num_kept(k, name, sizeof name) != 0) {
        unlink(name);
    }
    snprintf(name, sizeof name, "%s/.lock", k->folder);
    unlink(name);
    rmdir(k->folder);
    unlink(k->container);
    fixture_cleanup(&k->f);
}

static void restart_finds_variants(void **state) {
    tly_panel_profile a;
    tly_server *second;
    tly_error error;
    kept k;
    (void)state;
    kept_init(&k);
    profile_of("nr16", &a);
    expect_kept_panel(&k, &a);
    wait_for_kept(&k, 1);
    CHECK_RULE(tly_server_new(k.f.context, k.f.catalogue, &k.options, &second, &error), &error,
               TLY_EXISTS, "persist-lock"); /* one server at a time */
    restart(&k);
    expect_kept_panel(&k, &a);
    assert_int_equal(stats_of(&k.f).num_packings, 0);
    assert_int_equal(stats_of(&k.f).num_restored, 1);
    kept_cleanup(&k);
}

/* Also handed over: a file on disk cannot be sealed, so a copy is, once for all who ask. Where
 * there is no room for one, the tensor comes in frames. */
static void kept_variants_are_handed_over(void **state) {
    const tly_client_options sharing = {.size = sizeof sharing, .flags = TLY_CLIENT_SHARED};
    tly_panel_profile a;
    kept k;
    (void)state;
    kept_init(&k);
    profile_of("nr16", &a);
    expect_kept_panel(&k, &a);
    wait_for_kept(&k, 1);
    for (int room = 0; room < 2; room++) {
        k.options.cache_len = room ? 64u << 20 : (1u << 20) + 16384; /* for one of 1 MiB */
        restart(&k);
        for (int i = 0; i < 3; i++) {
            tly_client *client;
            tly_error error;
            CHECK_OK(tly_client_connect(k.f.context, k.f.address, &sharing, &client, &error),
                     &error);
            expect_panel(&k.f, client, "w", &a, kept_shape, k.bytes);
            tly_client_free(client);
        }
        assert_int_equal(stats_of(&k.f).num_packings, 0);
        assert_int_equal(stats_of(&k.f).num_restored, 1);
        assert_int_equal(stats_of(&k.f).num_handed_over, room ? 3 : 0);
    }
    kept_cleanup(&k);
}

/* Damage of any kind, and a source that has changed: packed anew, and right. */
static void kept_files_are_checked(void **state) {
    static const uint8_t byte = 0xA5;
    tly_panel_profile a;
    char name[512];
    kept k;
    (void)state;
    kept_init(&k);
    profile_of("nr16", &a);
    for (int fault = 0; fault < 4; fault++) {
        int fd;
        expect_kept_panel(&k, &a);
        wait_for_kept(&k, 1);
        num_kept(&k, name, sizeof name);
        fd = open(name, O_RDWR | O_CLOEXEC);
        if (fault == 0) { /* cut short */
            assert_int_equal(ftruncate(fd, 100000), 0);
        } else if (fault == 1) { /* another name in it */
            assert_int_equal(pwrite(fd, &byte, 1, 30), 1);
        } else if (fault == 2) { /* an empty file */
            assert_int_equal(ftruncate(fd, 0), 0);
        } else { /* the container is another one now */
            memset(k.bytes, 3, 1u << 20);
            usleep(20000);
            write_container(&k.f, k.container, kept_shape, k.bytes);
        }
        close(fd);
        restart(&k);
        expect_kept_panel(&k, &a);
        assert_int_equal(stats_of(&k.f).num_packings, 1);
        assert_int_equal(stats_of(&k.f).num_restored, 0);
        wait_for_kept(&k, fault == 3 ? 2 : 1);
    }
    kept_cleanup(&k);
}

static void kept_files_are_bounded(void **state) {
    tly_panel_profile a, b, c;
    kept k;
    (void)state;
    kept_init(&k);
    fixture_stop(&k.f);
    k.options.cache_folder_len = (2u << 20) + 3 * 4096;
    restart(&k);
    profile_of("nr16", &a);
    profile_of("nr32", &b);
    profile_of("ba16a64b", &c);
    expect_kept_panel(&k, &a);
    wait_for_kept(&k, 1);
    usleep(20000);
    expect_kept_panel(&k, &b);
    wait_for_kept(&k, 2);
    usleep(20000);
    expect_kept_panel(&k, &c);
    usleep(300000);
    wait_for_kept(&k, 2);
    restart(&k);
    expect_kept_panel(&k, &b);
    expect_kept_panel(&k, &c);
    assert_int_equal(stats_of(&k.f).num_restored, 2);
    expect_kept_panel(&k, &a); /* the oldest went */
    assert_int_equal(stats_of(&k.f).num_packings, 1);
    kept_cleanup(&k);
}

static void folders_of_others_are_refused(void **state) {
    tly_server_options options = {.size = sizeof options, .cache_len = 1u << 20};
    char folder[128];
    tly_server *server;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    snprintf(folder, sizeof folder, "%s/open", f.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0770), 0);
    options.cache_folder = folder;
    CHECK_RULE(tly_server_new(f.context, f.catalogue, &options, &server, &error), &error,
               TLY_INVALID_ARGUMENT, "persist-folder");
    rmdir(folder);
    assert_int_equal(tly_server_new(f.context, f.catalogue, &options, &server, &error), TLY_IO);
    fixture_cleanup(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_packing_for_all),
        cmocka_unit_test(least_recently_used_goes),
        cmocka_unit_test(in_use_is_never_dropped),
        cmocka_unit_test(leaving_in_the_middle),
        cmocka_unit_test(changed_source_is_packed_anew),
        cmocka_unit_test(gaps_are_zeros),
        cmocka_unit_test(restart_finds_variants),
        cmocka_unit_test(kept_variants_are_handed_over),
        cmocka_unit_test(kept_files_are_checked),
        cmocka_unit_test(kept_files_are_bounded),
        cmocka_unit_test(folders_of_others_are_refused),
    };
    return cmocka_run_group_tests_name("serve/cache", tests, NULL, NULL);
}
