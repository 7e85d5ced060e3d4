/* SPDX-License-Identifier: Apache-2.0 */
/* The frame that every benchmark stands in (docs/internals/bench.md).
 *
 * A group (`tilery bench GROUP`) is a list of cases. A case compares something of ours with a
 * reference in the same run and reports both in one unit. A new benchmark is one row in its group's
 * table of cases, in src/cli/bench_<group>.c; a new group is one row in bench_groups.c.
 *
 *     static tly_status run_panel64(tly_bench *bench, const tly_bench_case *self, tly_error *error)
 * { tly_bench_side sides[] = {{"panel", pack_once, &job}, {"memcpy", copy_once, &job}};
 *         tly_bench_times times[2];
 *         tly_status status = tly_bench_compare(bench, sides, 2, times, error);
 *         if (status == TLY_OK) {
 *             tly_bench_report_rate(bench, self, self->name, bytes / 1e9, &times[0], &times[1],
 * "");
 *         }
 *         return status;
 *     }
 */
#ifndef TLY_CLI_BENCH_H
#define TLY_CLI_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tilery/context.h>
#include <tilery/status.h>

#define TLY_BENCH_BETTER_HIGHER "higher"
#define TLY_BENCH_BETTER_LOWER  "lower"

/* Buffers that a benchmark rotates over exceed this together, so that no cache helps. */
#define TLY_BENCH_COLD_LEN (UINT64_C(1) << 30)

typedef struct tly_bench tly_bench;
typedef struct tly_bench_case tly_bench_case;

struct tly_bench_case {
    const char *name;    /* "pack.f32.panel64"; the group's name comes first, or that of a
                          * family of it */
    const char *unit;    /* of value and reference: "GB/s", "calls/s", "ms" */
    const char *better;  /* TLY_BENCH_BETTER_* */
    const char *summary; /* what is compared with what, one line */
    /* Measures and reports, usually one result. A case that cannot run here (a library or an
     * instruction set is missing) calls tly_bench_skip and returns TLY_OK. */
    tly_status (*run)(tly_bench *bench, const tly_bench_case *self, tly_error *error);
};

/* The process is bound to one processor while the group runs. */
#define TLY_BENCH_PINNED 1
/* The same, and samples are processor time of all threads of the process instead of wall time: for
 * work that neither waits nor sleeps. */
#define TLY_BENCH_PROCESSOR_TIME 2

typedef struct tly_bench_group {
    const char *name;
    const char *summary;
    const tly_bench_case *cases;
    uint32_t num_cases;
    uint32_t one_thread; /* TLY_BENCH_PINNED, TLY_BENCH_PROCESSOR_TIME or 0 */
} tly_bench_group;

/* Every group, NULL at the end (bench_groups.c). */
extern const tly_bench_group *const tly_bench_groups[];

/* The context to measure with (its vector level is that of TILERY_SIMD). */
const tly_context *tly_bench_context(const tly_bench *bench);

/* ---- Timing ---- */

/* Does the work once. `turn` grows by one with every call of that side, so that turn % slots walks
 * through rotating buffers. What it returns, if not TLY_OK, ends the comparison. */
typedef tly_status (*tly_bench_fn)(void *user, uint64_t turn, tly_error *error);

typedef struct tly_bench_side {
    const char *label;
    tly_bench_fn run;
    void *user;
} tly_bench_side;

/* Times of one side, in seconds per call. */
typedef struct tly_bench_times {
    double median;
    double spread; /* (third quartile - first quartile) / median */
    double best;
    uint32_t runs;  /* number of samples */
    uint32_t calls; /* calls in each sample; the sample is their mean */
} tly_bench_times;

#define TLY_BENCH_MAX_SIDES 8

/* Measures the sides interleaved: in each round every side is sampled once, and the order turns
 * round from round to round (A B, B A, ...), so that a drift of the machine hits all alike. Before
 * that, each is called a few times to warm up. Short work is repeated within a sample until the
 * sample lasts about 2 ms. `out_times` has num_sides entries. Errors: what a side returned;
 * INVALID_ARGUMENT. */
tly_status tly_bench_compare(tly_bench *bench, const tly_bench_side *sides, uint32_t num_sides,
                             tly_bench_times *out_times, tly_error *error);

/* The same by processor time, whatever the group says: for cases that neither wait nor sleep, in a
 * group with others that do. */
tly_status tly_bench_compare_work(tly_bench *bench, const tly_bench_side *sides, uint32_t num_sides,
                                  tly_bench_times *out_times, tly_error *error);

/* Median, quartiles and best of samples; sorts them. num > 0. */
void tly_bench_summarise(double *samples, uint32_t num, tly_bench_times *out_times);

/* Seconds on a clock that only goes forward. */
double tly_bench_now(void);

/* Ticks of the time-stamp counter in a second; 0 where there is none. Takes 50 ms. */
double tly_bench_ticks_per_second(void);

/* Keeps the compiler from dropping work whose result nobody reads. */
void tly_bench_keep(const void *memory);

/* Rounds that tly_bench_compare does: --runs. */
uint32_t tly_bench_runs(const tly_bench *bench);

/* ---- Reporting ---- */

/* Reports `amount` per second (amount in the unit of the case: 1e-9 * bytes for GB/s, 1 for
 * calls/s). `note` is shown to people and may be "". `name` is usually self->name. */
void tly_bench_report_rate(tly_bench *bench, const tly_bench_case *self, const char *name,
                           double amount, const tly_bench_times *value,
                           const tly_bench_times *reference, const char *note);

/* Reports a duration; `scale` turns seconds into the unit (1e3 for ms). */
void tly_bench_report_time(tly_bench *bench, const tly_bench_case *self, const char *name,
                           double scale, const tly_bench_times *value,
                           const tly_bench_times *reference, const char *note);

/* Reports anything else: bytes, counts. `spread` as in tly_bench_times. */
void tly_bench_report(tly_bench *bench, const tly_bench_case *self, const char *name, double value,
                      double reference, uint32_t runs, double spread, const char *note);

/* Says why a case gives no result here. */
void tly_bench_skip(tly_bench *bench, const tly_bench_case *self, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Memory ---- */

/* Equal buffers to rotate over. Fresh pages, all touched. */
typedef struct tly_bench_ring {
    uint8_t *base;
    size_t slot_len;  /* bytes that the caller asked for */
    size_t slot_step; /* from one slot to the next: a multiple of the page size */
    uint32_t num_slots;
} tly_bench_ring;

/* Maps slots of `slot_len` bytes that exceed `total_len` together (TLY_BENCH_COLD_LEN for one ring;
 * a benchmark that reads from one ring and writes to another may give each a half), at least two.
 * Every byte is written: `fill` (may be NULL) is called per slot with its number. The caller cleans
 * up. Errors: OUT_OF_MEMORY, OVERFLOW. */
tly_status tly_bench_ring_init(tly_bench_ring *ring, size_t slot_len, uint64_t total_len,
                               void (*fill)(void *slot, size_t len, uint32_t number),
                               tly_error *error);
void tly_bench_ring_cleanup(tly_bench_ring *ring);
void *tly_bench_ring_at(const tly_bench_ring *ring, uint64_t turn);

/* Fillers for rings: f32 in [-1, 1), bf16 in [-1, 1), bytes. Deterministic. */
void tly_bench_fill_f32(void *slot, size_t len, uint32_t number);
void tly_bench_fill_bf16(void *slot, size_t len, uint32_t number);
void tly_bench_fill_bytes(void *slot, size_t len, uint32_t number);

/* Copies with stores that bypass the cache, where the processor has them (memcpy elsewhere). */
void tly_bench_copy_streaming(void *dst, const void *src, size_t len);

/* Most memory that this process ever had resident, in bytes (VmHWM: children that were started with
 * fork and exec do not inherit it, other than ru_maxrss). 0 where the system does not say. */
uint64_t tly_bench_peak_memory(void);

/* ---- Processes ---- */

/* Binds the calling thread, and those it starts later, to one processor of those it may use.
 * Returns the processor, or -1. */
int tly_bench_pin(void);

/* Binds to a processor that tly_bench_pin left over, where there is one; `taken` is what it
 * returned. */
void tly_bench_pin_other(int taken);

/* Lets the calling thread run again wherever the system allows it to. */
void tly_bench_unpin(void);

/* Work that runs in a process of its own. Fills `out` (out_len bytes, zeroed). */
typedef tly_status (*tly_bench_child_fn)(void *user, void *out, size_t out_len, tly_error *error);

/* Forks, sets the environment variables of `environment` ("NAME=VALUE", NULL at the end; may be
 * NULL), runs `fn` there and brings `out` and the error back. Meant for libraries that choose a
 * kernel when they are loaded: load them in the child only. A child that dies of a signal (an
 * instruction that this processor lacks) gives UNSUPPORTED. Single-threaded callers only. */
tly_status tly_bench_fork(tly_bench_child_fn fn, void *user, const char *const *environment,
                          void *out, size_t out_len, tly_error *error);

/* Runs a program (argv[0] is its path, NULL at the end) with standard input and output on /dev/null
 * and waits. `out_seconds` may be NULL. Errors: NOT_FOUND, IO; INTERNAL with its exit code where
 * that is not 0. */
tly_status tly_bench_spawn(const char *const *argv, double *out_seconds, tly_error *error);

/* ---- The command ---- */

typedef struct tly_bench_options {
    uint32_t runs;      /* rounds; 0: 15 */
    const char *filter; /* only cases whose name contains it; NULL: all */
    int json;
    FILE *out;
    FILE *progress; /* NULL: none */
} tly_bench_options;

/* Runs groups and prints their results. `names` has num_names entries; "all" means every group.
 * Errors: NOT_FOUND (no such group, nothing left by the filter); what a case returned. */
tly_status tly_bench_main(const tly_context *context, const char *const *names, uint32_t num_names,
                          const tly_bench_options *options, tly_error *error);

#endif
