/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/bench.h"
#include "cli/bench_run.h"

static void medians_and_quartiles(void **state) {
    double odd[] = {5, 1, 4, 2, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
    tly_bench_times times;
    (void)state;
    tly_bench_summarise(odd, 5, &times);
    assert_true(times.median == 3 && times.best == 1 && times.runs == 5);
    assert_true(fabs(times.spread - (4.0 - 2.0) / 3.0) < 1e-12);
    tly_bench_summarise(even, 4, &times);
    assert_true(times.median == 2.5);
    assert_true(fabs(times.spread - (3.25 - 1.75) / 2.5) < 1e-12);
    tly_bench_summarise(one, 1, &times);
    assert_true(times.median == 7 && times.spread == 0);
}

struct log {
    char who[4096];
    uint64_t turns[2];
    uint32_t num;
};
struct side {
    struct log *log;
    int index;
    tly_status fails;
};

static tly_status note(void *user, uint64_t turn, tly_error *error) {
    struct side *side = user;
    assert_true(turn == side->log->turns[side->index]);
    side->log->turns[side->index]++;
    if (side->log->num < sizeof side->log->who - 1) {
        side->log->who[side->log->num++] = (char)('A' + side->index);
    }
    usleep(2500);
    if (side->fails != TLY_OK) {
        return tly_base_fail(error, side->fails, TLY_NO_OFFSET, "a-rule", "no");
    }
    return TLY_OK;
}

static void sides_alternate_and_turns_count(void **state) {
    struct log log = {0};
    struct side a = {&log, 0, TLY_OK}, b = {&log, 1, TLY_OK};
    tly_bench_side sides[] = {{"a", note, &a}, {"b", note, &b}};
    tly_bench_times times[2];
    tly_bench bench = {0};
    tly_error error;
    (void)state;
    bench.runs = 4;
    CHECK_OK(tly_bench_compare(&bench, sides, 2, times, &error), &error);
    assert_string_equal(log.who, "AAAABBBBABBAABBA");
    for (int i = 0; i < 2; i++) {
        assert_true(times[i].median >= 2.5e-3 && times[i].best <= times[i].median);
        assert_int_equal(times[i].runs, 4);
        assert_int_equal(times[i].calls, 1);
    }
}

static tly_status nothing(void *user, uint64_t turn, tly_error *error) {
    (void)turn;
    (void)error;
    ++*(uint64_t *)user;
    return TLY_OK;
}

static void short_work_is_repeated(void **state) {
    uint64_t calls = 0;
    tly_bench_side side = {"nothing", nothing, &calls};
    tly_bench_times times;
    tly_bench bench = {0};
    (void)state;
    bench.runs = 3;
    assert_int_equal(tly_bench_compare(&bench, &side, 1, &times, NULL), TLY_OK);
    assert_true(times.calls > 1000);
    assert_true(calls == 4 + UINT64_C(3) * times.calls);
}

static void failure_and_nonsense_end_a_comparison(void **state) {
    struct log log = {0};
    struct side a = {&log, 0, TLY_MISMATCH};
    tly_bench_side side = {"a", note, &a};
    tly_bench_times times;
    tly_bench bench = {0};
    tly_error error;
    (void)state;
    bench.runs = 4;
    CHECK_RULE(tly_bench_compare(&bench, &side, 1, &times, &error), &error, TLY_MISMATCH, "a-rule");
    CHECK_RULE(tly_bench_compare(&bench, &side, 0, &times, &error), &error, TLY_INVALID_ARGUMENT,
               "bench-range");
    bench.runs = 0;
    CHECK_RULE(tly_bench_compare(&bench, &side, 1, &times, &error), &error, TLY_INVALID_ARGUMENT,
               "bench-range");
}

static void rings_exceed_what_was_asked(void **state) {
    tly_bench_ring ring;
    tly_error error;
    (void)state;
    CHECK_OK(tly_bench_ring_init(&ring, 5000, 1 << 20, tly_bench_fill_f32, &error), &error);
    assert_true((uint64_t)ring.num_slots * ring.slot_step > 1 << 20);
    assert_ptr_equal(tly_bench_ring_at(&ring, 0), tly_bench_ring_at(&ring, ring.num_slots));
    assert_ptr_not_equal(tly_bench_ring_at(&ring, 0), tly_bench_ring_at(&ring, 1));
    assert_memory_not_equal(tly_bench_ring_at(&ring, 0), tly_bench_ring_at(&ring, 1), 5000);
    for (uint32_t s = 0; s < ring.num_slots; s++) {
        const float *f = tly_bench_ring_at(&ring, s);
        for (size_t i = 0; i < 1250; i++) {
            assert_true(f[i] >= -1 && f[i] < 1);
        }
    }
    tly_bench_ring_cleanup(&ring);
    CHECK_OK(tly_bench_ring_init(&ring, 1 << 20, 0, NULL, &error), &error);
    assert_int_equal(ring.num_slots, 2);
    tly_bench_ring_cleanup(&ring);
    tly_bench_ring_cleanup(&ring);
    CHECK_RULE(tly_bench_ring_init(&ring, 0, 0, NULL, &error), &error, TLY_OVERFLOW, "bench-range");
    CHECK_RULE(tly_bench_ring_init(&ring, SIZE_MAX, 0, NULL, &error), &error, TLY_OVERFLOW,
               "bench-range");
}

static void streaming_copies_copy(void **state) {
    uint8_t src[700], dst[700];
    (void)state;
    tly_bench_fill_bytes(src, sizeof src, 3);
    for (size_t at = 0; at < 70; at++) {
        for (size_t len = 0; len < 600; len += 37) {
            memset(dst, 0, sizeof dst);
            tly_bench_copy_streaming(dst + at, src + 1, len);
            assert_memory_equal(dst + at, src + 1, len);
            assert_true(dst[at + len] == 0 && (at == 0 || dst[at - 1] == 0));
        }
    }
}

static tly_status in_child(void *user, void *out, size_t out_len, tly_error *error) {
    int mode = *(int *)user;
    if (mode == 1) {
        return tly_base_fail(error, TLY_LIMIT, 3, "child-rule", "told so");
    }
    if (mode == 2) {
        abort();
    }
    if (mode == 3) {
        _exit(9);
    }
    snprintf(out, out_len, "%s", getenv("TILERY_TEST_CHILD"));
    return TLY_OK;
}

static void children_bring_results_and_errors(void **state) {
    const char *environment[] = {"TILERY_TEST_CHILD=seen", NULL};
    char out[16];
    int mode = 0;
    tly_error error;
    (void)state;
    CHECK_OK(tly_bench_fork(in_child, &mode, environment, out, sizeof out, &error), &error);
    assert_string_equal(out, "seen");
    assert_null(getenv("TILERY_TEST_CHILD"));
    mode = 1;
    CHECK_RULE(tly_bench_fork(in_child, &mode, NULL, out, sizeof out, &error), &error, TLY_LIMIT,
               "child-rule");
    assert_true(error.offset == 3);
    mode = 2;
    CHECK_RULE(tly_bench_fork(in_child, &mode, NULL, out, sizeof out, &error), &error,
               TLY_UNSUPPORTED, "child-signal");
    mode = 3;
    CHECK_RULE(tly_bench_fork(in_child, &mode, NULL, out, sizeof out, &error), &error, TLY_INTERNAL,
               "child-silent");
}

static void programs_run_or_say_why_not(void **state) {
    const char *good[] = {"/bin/true", NULL}, *bad[] = {"/bin/false", NULL};
    const char *absent[] = {"/nonexistent/program", NULL};
    double seconds = -1;
    tly_error error;
    (void)state;
    CHECK_OK(tly_bench_spawn(good, &seconds, &error), &error);
    assert_true(seconds > 0);
    CHECK_RULE(tly_bench_spawn(bad, NULL, &error), &error, TLY_INTERNAL, "child-failed");
    CHECK_RULE(tly_bench_spawn(absent, NULL, &error), &error, TLY_NOT_FOUND, "");
}

static void peak_memory_grows_with_use(void **state) {
    uint64_t before = tly_bench_peak_memory();
    size_t len = 64 << 20;
    uint8_t *block = malloc(len);
    (void)state;
    assert_non_null(block);
    memset(block, 1, len);
    tly_bench_keep(block);
    assert_true(before > 0);
    assert_true(tly_bench_peak_memory() >= before + (32 << 20));
    free(block);
}

/* Is there another case of that name, in whatever group? */
static int is_twice(const char *name) {
    int seen = 0;
    for (uint32_t g = 0; tly_bench_groups[g] != NULL; g++) {
        for (uint32_t i = 0; i < tly_bench_groups[g]->num_cases; i++) {
            seen += strcmp(tly_bench_groups[g]->cases[i].name, name) == 0;
        }
    }
    return seen > 1;
}

/* Words with points between them, the first of which is the group, or, where a group has several
 * families, the family. */
static void cases_and_groups_are_well_named(void **state) {
    (void)state;
    for (uint32_t g = 0; tly_bench_groups[g] != NULL; g++) {
        const tly_bench_group *group = tly_bench_groups[g];
        assert_true(group->num_cases > 0);
        for (uint32_t i = 0; i < group->num_cases; i++) {
            const tly_bench_case *one = &group->cases[i];
            assert_true(strchr(one->name, '.') != NULL && one->name[0] != '.');
            assert_false(is_twice(one->name));
            assert_true(strcmp(one->better, "higher") == 0 || strcmp(one->better, "lower") == 0);
            assert_true(one->unit[0] != '\0' && one->summary[0] != '\0');
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_and_quartiles),
        cmocka_unit_test(sides_alternate_and_turns_count),
        cmocka_unit_test(short_work_is_repeated),
        cmocka_unit_test(failure_and_nonsense_end_a_comparison),
        cmocka_unit_test(rings_exceed_what_was_asked),
        cmocka_unit_test(streaming_copies_copy),
        cmocka_unit_test(children_bring_results_and_errors),
        cmocka_unit_test(programs_run_or_say_why_not),
        cmocka_unit_test(peak_memory_grows_with_use),
        cmocka_unit_test(cases_and_groups_are_well_named),
    };
    return cmocka_run_group_tests_name("cli/bench", tests, NULL, NULL);
}
