/* SPDX-License-Identifier: Apache-2.0 */
/* Local hand-over: one copy for all on the machine, and servers that hand over what they must not.
 */
#include "serve/fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "net/channel.h"
#include "net/handover.h"

static const uint64_t shape[] = {515, 330};
#define LEN (515u * 330 * 4)

static tly_client *sharing_client(const fixture *f) {
    tly_client_options options = {
        .size = sizeof options, .flags = TLY_CLIENT_SHARED, .progress_timeout_ms = 10000};
    tly_client *client;
    tly_error error;
    CHECK_OK(tly_client_connect(f->context, f->address, &options, &client, &error), &error);
    return client;
}

static tly_fetched *fetch(tly_client *client, tly_fetch_request *request, const char *key,
                          const tly_panel_profile *profile) {
    tly_fetch_layout layout = {.profile = profile};
    tly_fetched *fetched;
    tly_error error;
    request->size = sizeof *request;
    request->key = key;
    request->layouts = profile != NULL ? &layout : NULL;
    request->num_layouts = profile != NULL ? 1 : 0;
    request->request_flags = TLY_WIRE_ALLOW_TRANSCODE;
    CHECK_OK(tly_client_fetch(client, request, &fetched, &error), &error);
    return fetched;
}

static void *own_memory(void *user, const tly_descriptor *descriptor, uint64_t len,
                        uint32_t alignment) {
    void **block = user;
    (void)descriptor;
    *block = aligned_alloc(alignment, (size_t)((len + alignment - 1) & ~(uint64_t)(alignment - 1)));
    return *block;
}

/* The page of the file behind an address, by /proc/self/maps: the same inode is the same copy. */
static unsigned long inode_behind(const void *at) {
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long found = 0, from, to, inode;
    char line[512];
    assert_non_null(maps);
    while (found == 0 && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) == 3 &&
            (uintptr_t)at >= from && (uintptr_t)at < to) {
            found = inode;
        }
    }
    fclose(maps);
    return found;
}

/* Kernels load the row behind the last before they see that there is none: the page behind the data
 * can be read, and is empty. */
static int reads_behind(tly_fetched *fetched) {
    uint64_t end = (tly_fetched_len(fetched) + 4095) & ~UINT64_C(4095);
    const volatile uint8_t *behind = (const uint8_t *)tly_fetched_data(fetched) + end;
    int clean = 1;
    for (int i = 0; i < 64; i++) {
        clean &= behind[i] == 0;
    }
    return clean;
}

static void one_copy_for_all(void **state) {
    static const uint64_t tiny[] = {4};
    tly_server_options options = {.size = sizeof options, .cache_len = 16u << 20};
    tly_server_stats stats = {.size = sizeof stats};
    tly_fetch_request request = {0};
    tly_client *a, *b, *plain;
    tly_fetched *from_a, *from_b, *sent;
    tly_panel_profile profile, aligned;
    uint8_t *source, *small;
    void *mine = NULL;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    source = fixture_add(&f, "w", TLY_F32, 2, shape);
    small = fixture_add(&f, "tiny", TLY_U8, 1, tiny);
    CHECK_OK(tly_panel_by_name("ba16a64b", TLY_F32, 0, &profile, &error), &error);
    fixture_start(&f, &options);
    a = sharing_client(&f);
    b = sharing_client(&f);
    plain = fixture_client(&f);

    from_a = fetch(a, &request, "w", &profile);
    from_b = fetch(b, &request, "w", &profile);
    sent = fetch(plain, &request, "w", &profile);
    assert_true(tly_fetched_is_shared(from_a) && tly_fetched_is_shared(from_b));
    assert_false(tly_fetched_is_shared(sent));
    assert_int_equal(tly_fetched_choice(from_a), 0);
    assert_int_equal(tly_fetched_len(from_a), tly_fetched_len(sent));
    assert_memory_equal(tly_fetched_data(from_a), tly_fetched_data(sent), tly_fetched_len(sent));
    assert_ptr_not_equal(tly_fetched_data(from_a), tly_fetched_data(from_b));
    assert_true(inode_behind(tly_fetched_data(from_a)) != 0);
    assert_int_equal(inode_behind(tly_fetched_data(from_a)),
                     inode_behind(tly_fetched_data(from_b)));
    assert_int_equal(mprotect(tly_fetched_data(from_a), 4096, PROT_READ | PROT_WRITE), -1);
    tly_fetched_free(from_a);
    tly_fetched_free(sent);

    aligned = profile; /* further than the system aligns by itself */
    aligned.alignment = 65536;
    from_a = fetch(a, &request, "w", &aligned);
    assert_int_equal((uintptr_t)tly_fetched_data(from_a) % 65536, 0);
    assert_true(reads_behind(from_a) && reads_behind(from_b));
    tly_fetched_free(from_a);

    request.flags = TLY_FETCH_KEEP_SHARED; /* a destination is for frames only */
    request.destination = own_memory;
    request.destination_user = &mine;
    from_a = fetch(a, &request, "w", &profile);
    assert_true(tly_fetched_is_shared(from_a));
    assert_null(mine);
    tly_fetched_free(from_a);
    from_a = fetch(plain, &request, "w", &profile);
    assert_ptr_equal(tly_fetched_data(from_a), mine);
    tly_fetched_free(from_a);
    free(mine);
    mine = NULL;
    memset(&request, 0, sizeof request);

    from_a = fetch(a, &request, "w", NULL); /* the native layout too */
    assert_true(tly_fetched_is_shared(from_a));
    assert_memory_equal(tly_fetched_data(from_a), source, LEN);
    tly_fetched_free(from_a);
    request.destination = own_memory; /* a copy where the caller wants it */
    request.destination_user = &mine;
    from_a = fetch(a, &request, "w", NULL);
    assert_false(tly_fetched_is_shared(from_a));
    assert_ptr_equal(tly_fetched_data(from_a), mine);
    assert_memory_equal(mine, source, LEN);
    tly_fetched_free(from_a);
    free(mine);
    fixture_expect(a, "tiny", small, 4); /* too small to be worth it */

    tly_server_get_stats(f.server, &stats);
    assert_int_equal(stats.num_packings, 2); /* the panel, and the copy of the native tensor */
    assert_int_equal(stats.num_handed_over, 6);
    tly_client_free(a);
    tly_client_free(b);
    tly_client_free(plain);
    fixture_stop(&f);
    /* What was handed over lives on without connection and server. */
    assert_int_equal(((const uint8_t *)tly_fetched_data(from_b))[0], source[0]);
    tly_fetched_free(from_b);
    fixture_cleanup(&f);
}

/* ---- a server that lies ---- */

typedef enum lie {
    LIE_NONE,
    LIE_NO_FILE,
    LIE_NOT_SEALED,
    LIE_CAN_SHRINK,
    LIE_SOCKET,
    LIE_BEYOND_END,
    LIE_OVERFLOW,
    LIE_OFF_PAGE,
    LIE_SHORT_MESSAGE,
    LIE_OTHER_TOTAL,
    LIE_TWICE,
    LIE_OTHER_STREAM,
    NUM_LIES
} lie;

typedef struct liar {
    const tly_context *context;
    int fd;
    lie lie;
} liar;

static int made_file(lie what, size_t len) {
    int fd = memfd_create("liar", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, (off_t)len), 0);
    if (what == LIE_CAN_SHRINK) {
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE), 0);
    } else if (what != LIE_NOT_SEALED) {
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
    }
    return fd;
}

static void answer_with_lie(const liar *l, tly_wire *wire, uint32_t stream) {
    static const uint64_t eight[] = {8192};
    tly_handover message = {.total_data_bytes = 8192};
    uint8_t bytes[TLY_HANDOVER_LEN], descriptor[256];
    tly_buffer_info buffer;
    tly_descriptor d;
    size_t len;
    tly_error error;
    int file = l->lie == LIE_SOCKET ? socket(AF_UNIX, SOCK_STREAM, 0) : made_file(l->lie, 8192);
    if (l->lie == LIE_BEYOND_END) {
        message.file_offset = 4096;
    } else if (l->lie == LIE_OVERFLOW) {
        message.file_offset = UINT64_MAX & ~UINT64_C(4095);
    } else if (l->lie == LIE_OFF_PAGE) {
        message.file_offset = 64;
    } else if (l->lie == LIE_OTHER_TOTAL) {
        message.total_data_bytes = 4096;
    }
    tly_net_handover_put(&message, bytes);
    for (int i = 0; i < (l->lie == LIE_TWICE ? 2 : 1); i++) {
        CHECK_OK(tly_wire_send_private(wire, TLY_HANDOVER_TYPE,
                                       stream + (l->lie == LIE_OTHER_STREAM), bytes,
                                       l->lie == LIE_SHORT_MESSAGE ? 15 : 16,
                                       l->lie == LIE_NO_FILE ? -1 : file, NULL, &error),
                 &error);
    }
    tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 1, eight);
    CHECK_OK(tly_descriptor_encode(&d, descriptor, sizeof descriptor, &len, &error), &error);
    CHECK_OK(tly_wire_send_descriptor(wire, stream, descriptor, len, 8192, &error), &error);
    assert_int_equal(tly_wire_data_elsewhere(wire, stream), TLY_OK);
    CHECK_OK(tly_wire_send_end(wire, stream, &error), &error);
}

static void *lie_to_one(void *user) {
    liar *l = user;
    tly_wire_layout entry = tly_net_handover_entry();
    uint8_t list[32];
    tly_wire_options options = {
        .size = sizeof options, .role = TLY_WIRE_SERVER, .private_types = TLY_HANDOVER_TYPES};
    tly_net_channel channel = {.fd = accept(l->fd, NULL, NULL)};
    tly_net_result result = TLY_NET_OK;
    tly_wire *wire;
    tly_error error;
    CHECK_OK(tly_wire_layouts_put(&entry, 1, list, sizeof list, &options.layouts, &error), &error);
    CHECK_OK(tly_wire_new(l->context, &options, &wire, &error), &error);
    while (result == TLY_NET_OK) {
        tly_wire_event event;
        uint64_t len;
        result = tly_net_receive(&channel, wire, &len);
        for (tly_wire_next(wire, &event); event.kind != TLY_WIRE_EVENT_NONE;
             tly_wire_next(wire, &event)) {
            if (event.kind == TLY_WIRE_EVENT_REQUEST) {
                answer_with_lie(l, wire, event.stream);
            }
        }
        while (tly_wire_queued(wire) != 0 && tly_net_send(&channel, wire, &len) == TLY_NET_OK) {
        }
    }
    tly_wire_free(wire);
    close(channel.fd);
    return NULL;
}

static uint32_t num_open_files(void) {
    uint32_t num = 0;
    for (int fd = 0; fd < 1024; fd++) {
        num += fcntl(fd, F_GETFD) >= 0;
    }
    return num;
}

static void lies_are_found(void **state) {
    static const char *const rules[NUM_LIES] = {
        [LIE_NO_FILE] = "handover-fd",         [LIE_NOT_SEALED] = "handover-seals",
        [LIE_CAN_SHRINK] = "handover-seals",   [LIE_SOCKET] = "handover-seals",
        [LIE_BEYOND_END] = "handover-range",   [LIE_OVERFLOW] = "handover-range",
        [LIE_OFF_PAGE] = "handover-range",     [LIE_SHORT_MESSAGE] = "handover-len",
        [LIE_OTHER_TOTAL] = "handover-total",  [LIE_TWICE] = "handover-order",
        [LIE_OTHER_STREAM] = "private-stream",
    };
    fixture f;
    (void)state;
    fixture_init(&f);
    for (lie i = LIE_NONE; i < NUM_LIES; i++) {
        struct sockaddr_un un = {.sun_family = AF_UNIX};
        liar l = {f.context, socket(AF_UNIX, SOCK_STREAM, 0), i};
        tly_fetch_request request = {.size = sizeof request, .key = "w"};
        tly_fetched *fetched = NULL;
        tly_client *client;
        pthread_t thread;
        tly_error error;
        tly_status status;
        memcpy(un.sun_path, f.address + 5, strlen(f.address + 5));
        assert_int_equal(bind(l.fd, (struct sockaddr *)&un, sizeof un), 0);
        assert_int_equal(listen(l.fd, 1), 0);
        assert_int_equal(pthread_create(&thread, NULL, lie_to_one, &l), 0);
        client = sharing_client(&f);
        status = tly_client_fetch(client, &request, &fetched, &error);
        if (i == LIE_NONE) {
            CHECK_OK(status, &error);
            assert_true(tly_fetched_is_shared(fetched));
            assert_int_equal(((const uint8_t *)tly_fetched_data(fetched))[8191], 0);
            tly_fetched_free(fetched);
        } else {
            assert_int_equal(status, TLY_PROTOCOL);
            assert_string_equal(error.rule, rules[i]);
        }
        tly_client_free(client);
        pthread_join(thread, NULL);
        close(l.fd);
        unlink(f.address + 5);
    }
    fixture_cleanup(&f);
}

/* Descriptors that a client sends are not kept by the server. */
static void unasked_files_are_closed(void **state) {
    tly_server_options options = {.size = sizeof options, .cache_len = 16u << 20};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    union {
        struct cmsghdr aligned;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    uint8_t byte = 1;
    struct iovec iov = {&byte, 1};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    struct cmsghdr *c;
    uint32_t before;
    int fd, file;
    fixture f;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "w", TLY_F32, 2, shape);
    fixture_start(&f, &options);
    memcpy(un.sun_path, f.address + 5, strlen(f.address + 5));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&un, sizeof un), 0);
    file = memfd_create("gift", MFD_CLOEXEC);
    usleep(50000); /* the server has accepted */
    before = num_open_files();
    c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(c), &file, sizeof file);
    assert_int_equal(sendmsg(fd, &message, 0), 1);
    usleep(50000);
    assert_int_equal(num_open_files(), before); /* the server is in this process */
    close(file);
    close(fd);
    fixture_cleanup(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_copy_for_all),
        cmocka_unit_test(lies_are_found),
        cmocka_unit_test(unasked_files_are_closed),
    };
    return cmocka_run_group_tests_name("serve/handover", tests, NULL, NULL);
}
