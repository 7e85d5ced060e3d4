/* SPDX-License-Identifier: Apache-2.0 */
/* The client without waiting: several fetches at once on one connection, by poll. */
#include "serve/fixture.h"

#include <poll.h>

#define NUM 12

typedef struct job {
    const char *key;
    const uint8_t *bytes;
    uint64_t len;
    tly_status wanted;
    int num_done;
    tly_client *client;
    struct job *then; /* begun when this one is done */
    tly_fetch_request request;
} job;

static void begin(tly_client *client, job *j);

static void on_done(void *user, tly_status status, tly_fetched *fetched, const tly_error *error) {
    job *j = user;
    j->num_done++;
    if (status != j->wanted) {
        fail_msg("%s: %s", j->key, error->message);
    }
    if (status == TLY_OK) {
        assert_int_equal(tly_fetched_len(fetched), j->len);
        assert_memory_equal(tly_fetched_data(fetched), j->bytes, j->len);
    } else {
        assert_null(fetched);
        assert_true(error->message[0] != '\0');
    }
    tly_fetched_free(fetched);
    if (j->then != NULL) {
        begin(j->client, j->then);
    }
}

static void begin(tly_client *client, job *j) {
    tly_error error;
    j->request.size = sizeof j->request;
    j->request.key = j->key;
    CHECK_OK(tly_client_begin(client, &j->request, on_done, j, &error), &error);
}

/* Until nothing is under way, or a step fails. */
static tly_status loop(tly_client *client, tly_error *error) {
    while (tly_client_num_begun(client) != 0) {
        struct pollfd p = {tly_client_descriptor(client), POLLIN, 0};
        tly_status status;
        if (tly_client_wants_output(client)) {
            p.events |= POLLOUT;
        }
        assert_true(poll(&p, 1, 10000) > 0);
        status = tly_client_step(client, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static void many_at_once(void **state) {
    static const char *const keys[NUM] = {"0", "1", "2", "3", "4", "5",
                                          "6", "7", "8", "9", "a", "b"};
    job jobs[NUM + 2] = {{0}};
    tly_client *client;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    for (uint64_t i = 0; i < NUM; i++) {
        uint64_t shape[] = {i * i * 20000};
        jobs[i].key = keys[i];
        jobs[i].len = shape[0];
        jobs[i].bytes = fixture_add(&f, keys[i], TLY_U8, 1, shape);
    }
    fixture_start(&f, NULL);
    client = fixture_client(&f);
    for (int round = 0; round < 3; round++) {
        jobs[NUM] = (job){.key = "not there", .wanted = TLY_NOT_FOUND};
        jobs[NUM + 1] = (job){.key = "b", .len = jobs[11].len, .bytes = jobs[11].bytes};
        jobs[NUM].then = &jobs[NUM + 1];
        jobs[NUM].client = client;
        for (int i = 0; i < NUM + 1; i++) {
            jobs[i].num_done = 0;
            begin(client, &jobs[i]);
        }
        assert_int_equal(tly_client_num_begun(client), NUM + 1);
        CHECK_OK(loop(client, &error), &error);
        for (int i = 0; i < NUM + 2; i++) {
            assert_int_equal(jobs[i].num_done, 1);
        }
        /* Between times it can wait as well. */
        fixture_expect(client, "3", jobs[3].bytes, jobs[3].len);
        CHECK_OK(tly_client_ping(client, NULL, &error), &error);
    }
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* All answers are there before we look, long ones and then short ones. Giving them out takes more
 * turns than a step has, and what is left over lies in no socket any more: some number of long ones
 * ends a step just there. */
static void nothing_is_left_behind(void **state) {
    enum { MANY = 16 };
    static const uint64_t small[] = {3}, large[] = {7000};
    tly_server_stats stats = {.size = sizeof stats};
    job jobs[MANY];
    tly_client *client;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    const uint8_t *few = fixture_add(&f, "few", TLY_U8, 1, small);
    const uint8_t *many = fixture_add(&f, "many", TLY_U8, 1, large);
    fixture_start(&f, NULL);
    client = fixture_client(&f);
    for (int num_large = 0; num_large <= MANY; num_large++) {
        for (int i = 0; i < MANY; i++) {
            jobs[i] = i < num_large ? (job){.key = "many", .len = large[0], .bytes = many}
                                    : (job){.key = "few", .len = small[0], .bytes = few};
            begin(client, &jobs[i]);
        }
        CHECK_OK(tly_client_step(client, &error), &error);
        for (int i = 0; i < 1000 && stats.num_served < (num_large + 1u) * MANY; i++) {
            usleep(1000);
            tly_server_get_stats(f.server, &stats);
        }
        assert_int_equal(stats.num_served, (num_large + 1) * MANY);
        CHECK_OK(loop(client, &error), &error);
        for (int i = 0; i < MANY; i++) {
            assert_int_equal(jobs[i].num_done, 1);
        }
    }
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* The server goes away: everybody is told, once. */
static void all_hear_of_the_end(void **state) {
    static const uint64_t shape[] = {64u << 20};
    tly_server_options options = {.size = sizeof options, .stop_timeout_ms = 1};
    job jobs[3] = {{.key = "w", .wanted = TLY_CLOSED},
                   {.key = "w", .wanted = TLY_CLOSED},
                   {.key = "w", .wanted = TLY_CLOSED}};
    tly_client *client;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "w", TLY_U8, 1, shape);
    fixture_start(&f, &options);
    client = fixture_client(&f);
    for (int i = 0; i < 3; i++) {
        begin(client, &jobs[i]);
    }
    CHECK_OK(tly_client_step(client, &error), &error);
    fixture_stop(&f);
    assert_int_equal(loop(client, &error), TLY_CLOSED);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(jobs[i].num_done, 1);
    }
    assert_int_equal(tly_client_step(client, &error), TLY_CLOSED);
    tly_client_free(client);
    fixture_cleanup(&f);
}

static void freeing_cancels(void **state) {
    static const uint64_t shape[] = {16u << 20};
    job j = {.key = "w", .wanted = TLY_CANCELLED};
    tly_client *client;
    fixture f;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "w", TLY_U8, 1, shape);
    fixture_start(&f, NULL);
    client = fixture_client(&f);
    begin(client, &j);
    tly_client_free(client);
    assert_int_equal(j.num_done, 1);
    fixture_cleanup(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(all_hear_of_the_end),
        cmocka_unit_test(freeing_cancels),
    };
    return cmocka_run_group_tests_name("serve/step", tests, NULL, NULL);
}
