/* SPDX-License-Identifier: Apache-2.0 */
/* The server is killed (SIGKILL) at any moment while clients put tensors. After that every tensor
 * that was acknowledged is there and whole, or a whole newer one that was under way; nothing else
 * is visible. */
#include <signal.h>
#include <sys/wait.h>

#include "serve/put.h"

#define NUM_CLIENTS 3
#define NUM_KEYS    4 /* of each client */
#define MAX_LEN     700000

typedef struct key_state {
    uint64_t acknowledged; /* number of the tensor, 0: none */
    uint64_t begun;        /* the last one that was begun */
} key_state;

typedef struct putter {
    pthread_t thread;
    const char *address;
    uint32_t id;
    uint64_t seed, next; /* numbers of this client's tensors: next, next + 1, ... */
    key_state keys[NUM_KEYS];
} putter;

/* Tensors tell their number in their first bytes; their length follows from it. */
static uint64_t len_of(uint64_t number) {
    check_rng rng = {number * 77 + 5};
    return 8 + (check_below(&rng, 4) == 0 ? check_below(&rng, MAX_LEN) : check_below(&rng, 5000));
}

static uint8_t *tensor_of(uint64_t number) {
    uint8_t *bytes = put_bytes_of(number, len_of(number));
    memcpy(bytes, &number, 8);
    return bytes;
}

static void *put_until_it_breaks(void *user) {
    putter *p = user;
    check_rng rng = {p->seed};
    tly_context *context;
    tly_client *client;
    int tries = 0;
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    while (tly_client_connect(context, p->address, NULL, &client, NULL) != TLY_OK) {
        if (tries++ == 2000) {
            tly_context_free(context);
            return NULL; /* killed before it listened */
        }
        usleep(500);
    }
    for (;;) {
        uint32_t k = (uint32_t)check_below(&rng, NUM_KEYS);
        uint64_t number = p->next;
        uint8_t *bytes = tensor_of(number);
        char key[32];
        tly_status status;
        p->next += NUM_CLIENTS;
        snprintf(key, sizeof key, "client %u/key %u", p->id, k);
        p->keys[k].begun = number;
        status = put_tensor(client, key, bytes, len_of(number), NULL);
        free(bytes);
        if (status != TLY_OK) {
            break;
        }
        p->keys[k].acknowledged = number;
    }
    tly_client_free(client);
    tly_context_free(context);
    return NULL;
}

/* The server of one round, until it is killed. */
static void serve(const char *folder, const char *address) {
    tly_context *context;
    tly_catalogue *catalogue;
    tly_server *server;
    if (tly_context_new(NULL, &context, NULL) != TLY_OK ||
        tly_catalogue_new(context, &catalogue, NULL) != TLY_OK ||
        tly_catalogue_open_uploads(catalogue, folder, NULL) != TLY_OK ||
        tly_server_new(context, catalogue, NULL, &server, NULL) != TLY_OK ||
        tly_server_listen(server, address, NULL) != TLY_OK) {
        _exit(3);
    }
    tly_server_run(server, NULL);
    _exit(4);
}

static void check_key(tly_client *client, putter *p, uint32_t k, uint64_t *num_found) {
    key_state *state = &p->keys[k];
    char key[32];
    tly_fetch_request request = {.size = sizeof request, .key = key};
    tly_fetched *fetched;
    tly_error error;
    tly_status status;
    uint64_t number;
    uint8_t *bytes;
    snprintf(key, sizeof key, "client %u/key %u", p->id, k);
    status = tly_client_fetch(client, &request, &fetched, &error);
    if (status == TLY_NOT_FOUND) {
        assert_int_equal(state->acknowledged, 0);
        state->begun = 0;
        return;
    }
    CHECK_OK(status, &error);
    ++*num_found;
    assert_true(tly_fetched_len(fetched) >= 8);
    memcpy(&number, tly_fetched_data(fetched), 8);
    assert_true(number == state->acknowledged || number == state->begun);
    state->acknowledged = state->begun = number;
    bytes = tensor_of(number);
    assert_int_equal(tly_fetched_len(fetched), len_of(number));
    assert_memory_equal(tly_fetched_data(fetched), bytes, len_of(number));
    free(bytes);
    tly_fetched_free(fetched);
}

/* What a new server shows. What is there counts as acknowledged from now on. */
static void check_all(const put_folder *folder, putter *putters) {
    fixture f;
    tly_client *client;
    tly_error error;
    uint64_t num = 0;
    fixture_init(&f);
    CHECK_OK(tly_catalogue_open_uploads(f.catalogue, folder->path, &error), &error);
    fixture_start(&f, NULL);
    client = fixture_client(&f);
    for (uint32_t i = 0; i < NUM_CLIENTS; i++) {
        for (uint32_t k = 0; k < NUM_KEYS; k++) {
            check_key(client, &putters[i], k, &num);
        }
    }
    assert_int_equal(tly_catalogue_num_tensors(f.catalogue), num); /* and no other */
    assert_int_equal(put_folder_count(folder), num);
    tly_client_free(client);
    fixture_cleanup(&f);
}

static void killed_at_any_moment(void **state) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    print_message("the thread sanitizer cannot follow a fork with threads\n");
    skip();
#endif
#endif
    const uint64_t rounds = check_rounds(4), seed = check_seed(4711);
    check_rng rng = {seed};
    putter putters[NUM_CLIENTS] = {0};
    put_folder folder;
    char address[96];
    uint64_t acknowledged = 0;
    (void)state;
    put_folder_make(&folder);
    snprintf(address, sizeof address, "unix:%s.socket", folder.path);
    for (uint32_t i = 0; i < NUM_CLIENTS; i++) {
        putters[i].next = 1 + i;
    }
    for (uint64_t round = 0; round < rounds; round++) {
        pid_t child = fork();
        int status;
        assert_true(child >= 0);
        if (child == 0) {
            serve(folder.path, address);
        }
        for (uint32_t i = 0; i < NUM_CLIENTS; i++) {
            putters[i].address = address;
            putters[i].id = i;
            putters[i].seed = check_random(&rng);
            pthread_create(&putters[i].thread, NULL, put_until_it_breaks, &putters[i]);
        }
        usleep((useconds_t)(5000 + check_below(&rng, 120000)));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        for (uint32_t i = 0; i < NUM_CLIENTS; i++) {
            pthread_join(putters[i].thread, NULL);
        }
        check_all(&folder, putters);
    }
    for (uint32_t i = 0; i < NUM_CLIENTS; i++) {
        acknowledged += (putters[i].next - 1 - i) / NUM_CLIENTS;
    }
    print_message("# killed %llu times during %llu uploads, seed %llu\n",
                  (unsigned long long)rounds, (unsigned long long)acknowledged,
                  (unsigned long long)seed);
    assert_true(acknowledged >= rounds);
    unlink(address + 5);
    put_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_any_moment),
    };
    return cmocka_run_group_tests_name("serve/kill", tests, NULL, NULL);
}
