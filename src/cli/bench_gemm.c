/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a small A on packed weights: M = 8, N = K = 4096, f32, one thread, six matrices of
 * 64 MiB in turn, so that no cache holds the weights of a call.
 *
 * Kernel libraries read their environment and choose their kernels when they are loaded, so all of
 * this happens in child processes; the sides of one comparison share a child. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/gemm.h>
#include <tilery/nest.h>
#include <tilery/pack.h>

#include "base/error.h"
#include "cli/bench.h"

extern const tly_bench_group tly_bench_gemm;

#define ROWS        8
#define DEPTH       4096
#define COLUMNS     4096
#define NUM_WEIGHTS 6
#define WEIGHTS_LEN ((size_t)DEPTH * COLUMNS * sizeof(float))
#define ALL_WEIGHTS ((uint64_t)(NUM_WEIGHTS - 1) * WEIGHTS_LEN) /* more than this: six slots */
#define MAX_ERROR   1e-4                                        /* as everywhere else in Tilery */
#define MAX_SIDES   3

static const char openblas[] = "openblas";

/* ---- One side ---- */

/* Where the weights of a side come from. */
typedef enum source {
    SOURCE_PLAIN,      /* as they are: the library's ordinary call */
    SOURCE_OURS,       /* packed by Tilery, as a server would */
    SOURCE_THE_LIBRARY /* packed by the library itself */
} source;

typedef struct side {
    tly_gemm_adapter *adapter;
    tly_gemm *gemm;
    const tly_bench_ring *weights;
    tly_bench_ring panels; /* unused for plain weights */
    int plain;
    const float *a;
    float *c[NUM_WEIGHTS]; /* one for each slot, to compare afterwards */
} side;

static tly_gemm_problem the_problem(void) {
    const tly_gemm_problem problem = {.size = sizeof problem,
                                      .m = ROWS,
                                      .n = COLUMNS,
                                      .k = DEPTH,
                                      .a_dtype = TLY_F32,
                                      .b_dtype = TLY_F32,
                                      .c_dtype = TLY_F32};
    return problem;
}

static tly_status multiply(void *user, uint64_t turn, tly_error *error) {
    side *s = user;
    float *c = s->c[turn % NUM_WEIGHTS];
    const void *b = tly_bench_ring_at(s->plain ? s->weights : &s->panels, turn);
    return s->plain ? tly_gemm_plain(s->gemm, s->a, DEPTH, b, COLUMNS, c, COLUMNS, error)
                    : tly_gemm_run(s->gemm, s->a, DEPTH, b, tly_gemm_panel_len(s->gemm), c, COLUMNS,
                                   error);
}

static tly_status pack_weights(const tly_context *context, side *s, source from,
                               const tly_panel_profile *profile, tly_error *error) {
    const uint64_t shape[2] = {DEPTH, COLUMNS};
    const uint64_t len = tly_gemm_panel_len(s->gemm);
    tly_nest plain, panel;
    tly_pack_plan *plan = NULL;
    tly_status status = tly_bench_ring_init(&s->panels, len, (NUM_WEIGHTS - 1) * len, NULL, error);
    if (status == TLY_OK) {
        status = tly_panel_bind(profile, 2, shape, &panel, NULL, error);
    }
    if (status == TLY_OK) {
        status = tly_nest_row_major(&plain, 2, shape);
    }
    if (status == TLY_OK && from == SOURCE_OURS) {
        status = tly_pack_plan_new(context, &panel, &plain, 32, NULL, &plan, error);
    }
    for (uint32_t i = 0; i < NUM_WEIGHTS && status == TLY_OK; i++) {
        const void *b = tly_bench_ring_at(s->weights, i);
        void *out = tly_bench_ring_at(&s->panels, i);
        if (from == SOURCE_OURS) {
            tly_pack_run(plan, out, b);
        } else {
            status = tly_gemm_pack(s->gemm, b, COLUMNS, out, len, error);
        }
    }
    tly_pack_plan_free(plan);
    return status;
}

static void side_cleanup(side *s) {
    for (uint32_t i = 0; i < NUM_WEIGHTS; i++) {
        free(s->c[i]);
    }
    tly_bench_ring_cleanup(&s->panels);
    tly_gemm_free(s->gemm);
    tly_gemm_close(s->adapter);
}

static tly_status side_init(const tly_context *context, side *s, const char *name, source from,
                            const tly_bench_ring *weights, const float *a, tly_error *error) {
    const tly_gemm_problem problem = the_problem();
    tly_panel_profile profile;
    tly_status status;
    memset(s, 0, sizeof *s);
    s->weights = weights;
    s->plain = from == SOURCE_PLAIN;
    s->a = a;
    for (uint32_t i = 0; i < NUM_WEIGHTS; i++) {
        s->c[i] = calloc(ROWS * COLUMNS, sizeof(float));
        if (s->c[i] == NULL) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for C");
        }
    }
    status = tly_gemm_open(context, name, &s->adapter, error);
    if (status == TLY_OK && !s->plain) {
        status = tly_gemm_query(s->adapter, &problem, &profile, error);
    }
    if (status == TLY_OK) {
        status =
            tly_gemm_prepare(s->adapter, &problem, s->plain ? NULL : &profile, &s->gemm, error);
    }
    if (status == TLY_OK && !s->plain) {
        status = pack_weights(context, s, from, &profile, error);
    }
    return status;
}

/* ---- A comparison in a child process ---- */

typedef struct job {
    tly_bench *bench;
    const char *names[MAX_SIDES];
    source sources[MAX_SIDES];
    uint32_t num_sides;
    int same_bits; /* sides 0 and 1 must agree in every bit of panels and results */
} job;

typedef struct outcome {
    tly_bench_times times[MAX_SIDES];
    char versions[MAX_SIDES][TLY_GEMM_VERSION_LEN];
} outcome;

/* Largest difference over the largest magnitude. */
static double relative_error(const float *c, const float *wanted) {
    double worst = 0, largest = 0;
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
        worst = fmax(worst, fabs((double)c[i] - wanted[i]));
        largest = fmax(largest, fabs((double)wanted[i]));
    }
    return worst / largest;
}

/* A figure from wrong results is worth nothing: all sides computed the same products. */
static tly_status check_results(const job *j, const side *sides, tly_error *error) {
    const side *last = &sides[j->num_sides - 1];
    for (uint32_t i = 0; i < NUM_WEIGHTS; i++) {
        for (uint32_t s = 0; s + 1 < j->num_sides; s++) {
            const double off = relative_error(sides[s].c[i], last->c[i]);
            if (!(off < MAX_ERROR)) {
                return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "bench-result",
                                     "%s and %s differ by %g", j->names[s],
                                     j->names[j->num_sides - 1], off);
            }
        }
        if (j->same_bits &&
            (memcmp(tly_bench_ring_at(&sides[0].panels, i), tly_bench_ring_at(&sides[1].panels, i),
                    sides[0].panels.slot_len) != 0 ||
             memcmp(sides[0].c[i], sides[1].c[i], ROWS * COLUMNS * sizeof(float)) != 0)) {
            return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "bench-result",
                                 "the panels that Tilery packed and those that the library packed "
                                 "differ in their bits or in those of their results");
        }
    }
    return TLY_OK;
}

static tly_status in_child(void *user, void *out, size_t out_len, tly_error *error) {
    const job *j = user;
    outcome *result = out;
    tly_bench_ring weights;
    tly_bench_side timed[MAX_SIDES];
    side sides[MAX_SIDES];
    uint32_t num_made = 0;
    float *a = malloc(ROWS * DEPTH * sizeof(float));
    tly_status status =
        tly_bench_ring_init(&weights, WEIGHTS_LEN, ALL_WEIGHTS, tly_bench_fill_f32, error);
    (void)out_len;
    if (status == TLY_OK && a == NULL) {
        status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for A");
    }
    if (status == TLY_OK) {
        tly_bench_fill_f32(a, ROWS * DEPTH * sizeof(float), 99);
    }
    for (uint32_t s = 0; s < j->num_sides && status == TLY_OK; s++) {
        status = side_init(tly_bench_context(j->bench), &sides[s], j->names[s], j->sources[s],
                           &weights, a, error);
        num_made++;
        timed[s] = (tly_bench_side){j->names[s], multiply, &sides[s]};
        if (status == TLY_OK) {
            memcpy(result->versions[s], tly_gemm_adapter_version(sides[s].adapter),
                   TLY_GEMM_VERSION_LEN);
        }
    }
    if (status == TLY_OK) {
        status = tly_bench_compare(j->bench, timed, j->num_sides, result->times, error);
    }
    for (uint32_t s = 0; s < num_made && status == TLY_OK; s++) {
        for (uint32_t i = 0; i < NUM_WEIGHTS && status == TLY_OK; i++) {
            status = multiply(&sides[s], i, error);
        }
    }
    if (status == TLY_OK) {
        status = check_results(j, sides, error);
    }
    for (uint32_t s = 0; s < num_made; s++) {
        side_cleanup(&sides[s]);
    }
    tly_bench_ring_cleanup(&weights);
    free(a);
    return status;
}

/* Runs a comparison in a child, with one thread per library and OpenBLAS told to use the kernels of
 * `core` (NULL: its own choice). */
static tly_status run_job(job *j, const char *core, outcome *out, tly_error *error) {
    char core_setting[64];
    const char *environment[] = {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
                                 "BLIS_NUM_THREADS=1", NULL, NULL};
    if (core != NULL) {
        snprintf(core_setting, sizeof core_setting, "OPENBLAS_CORETYPE=%s", core);
        environment[3] = core_setting;
    }
    return tly_bench_fork(in_child, j, environment, out, sizeof *out, error);
}

/* ---- Against OpenBLAS ---- */

/* The fastest kernels that OpenBLAS has for this machine, and what became of each set of them. A
 * set that this processor cannot run ends its child; one that is not in the library is replaced by
 * another one, under whose name it was measured already. */
static const char *fastest_core(tly_bench *bench, char *note, size_t capacity, tly_error *error) {
    static const char *const cores[] = {"Haswell", "SkylakeX", "Cooperlake", "Zen"};
    const char *best = NULL;
    double best_time = INFINITY;
    job j = {.bench = bench, .names = {openblas}, .sources = {SOURCE_PLAIN}, .num_sides = 1};
    note[0] = '\0';
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
        const size_t used = strlen(note);
        const char *between = used != 0 ? ", " : "";
        outcome got;
        char wanted[32];
        snprintf(wanted, sizeof wanted, "(%s)", cores[i]);
        if (run_job(&j, cores[i], &got, error) != TLY_OK) {
            if (error->status != TLY_UNSUPPORTED) {
                return NULL;
            }
            snprintf(note + used, capacity - used, "%s%s does not run here", between, cores[i]);
        } else if (strstr(got.versions[0], wanted) == NULL) {
            snprintf(note + used, capacity - used, "%s%s falls back", between, cores[i]);
        } else {
            snprintf(note + used, capacity - used, "%s%s %.2f ms", between, cores[i],
                     1e3 * got.times[0].median);
            if (got.times[0].median < best_time) {
                best_time = got.times[0].median;
                best = cores[i];
            }
        }
    }
    if (best == NULL) {
        tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "",
                      "none of OpenBLAS's kernels runs here (%s)", note);
    }
    return best;
}

/* Something that is not installed is no failure of the benchmark. */
static tly_status skip_or_fail(tly_bench *bench, const tly_bench_case *self, tly_status status,
                               const tly_error *error) {
    if (status == TLY_MODULE || status == TLY_UNSUPPORTED || status == TLY_NO_PANEL) {
        tly_bench_skip(bench, self, "%s", error->message);
        return TLY_OK;
    }
    return status;
}

/* The best of `names` (one or two adapters) on panels against OpenBLAS on plain weights. */
static tly_status against_openblas(tly_bench *bench, const tly_bench_case *self,
                                   const char *const *names, uint32_t num_names, tly_error *error) {
    char cores[200], note[800];
    job j = {.bench = bench, .num_sides = num_names + 1};
    uint32_t best = 0;
    outcome got;
    tly_status status;
    const char *core = fastest_core(bench, cores, sizeof cores, error);
    if (core == NULL) {
        return skip_or_fail(bench, self, error->status, error);
    }
    for (uint32_t i = 0; i < num_names; i++) {
        j.names[i] = names[i];
        j.sources[i] = SOURCE_OURS;
    }
    j.names[num_names] = openblas;
    j.sources[num_names] = SOURCE_PLAIN;
    status = run_job(&j, core, &got, error);
    if (status != TLY_OK) {
        return skip_or_fail(bench, self, status, error);
    }
    for (uint32_t i = 1; i < num_names; i++) {
        best = got.times[i].median < got.times[best].median ? i : best;
    }
    snprintf(note, sizeof note, "%s on panels against %s; %s", got.versions[best],
             got.versions[num_names], cores);
    for (uint32_t i = 0; i < num_names; i++) {
        const size_t used = strlen(note);
        if (i != best) {
            snprintf(note + used, sizeof note - used, "; %s %.2f ms", names[i],
                     1e3 * got.times[i].median);
        }
    }
    tly_bench_report_rate(bench, self, self->name, 1, &got.times[best], &got.times[num_names],
                          note);
    return TLY_OK;
}

static tly_status run_vs_openblas(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    static const char *const names[] = {"onednn", "libxsmm"};
    return against_openblas(bench, self, names, 2, error);
}

static tly_status run_own_vs_openblas(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error) {
    static const char *const names[] = {"own"};
    return against_openblas(bench, self, names, 1, error);
}

/* ---- Against the library's own packing ---- */

static tly_status run_vs_onednn_packed(tly_bench *bench, const tly_bench_case *self,
                                       tly_error *error) {
    job j = {.bench = bench,
             .names = {"onednn", "onednn"},
             .sources = {SOURCE_OURS, SOURCE_THE_LIBRARY},
             .num_sides = 2,
             .same_bits = 1};
    char note[300];
    outcome got;
    tly_status status = run_job(&j, NULL, &got, error);
    if (status != TLY_OK) {
        return skip_or_fail(bench, self, status, error);
    }
    snprintf(note, sizeof note, "%s; panels and results agree in every bit", got.versions[0]);
    tly_bench_report_rate(bench, self, self->name, 1, &got.times[0], &got.times[1], note);
    return TLY_OK;
}

static const tly_bench_case cases[] = {
    {"gemm.m8.vs_openblas", "calls/s", TLY_BENCH_BETTER_HIGHER,
     "oneDNN or libxsmm on fetched panels against OpenBLAS on plain weights", run_vs_openblas},
    {"gemm.m8.vs_onednn_packed", "calls/s", TLY_BENCH_BETTER_HIGHER,
     "oneDNN on panels packed by Tilery against weights packed by itself", run_vs_onednn_packed},
    {"gemm.m8.own_vs_openblas", "calls/s", TLY_BENCH_BETTER_HIGHER,
     "Tilery's own kernel on fetched panels against OpenBLAS on plain weights",
     run_own_vs_openblas},
};

const tly_bench_group tly_bench_gemm = {"gemm", "products on packed weights", cases,
                                        sizeof cases / sizeof cases[0], TLY_BENCH_PROCESSOR_TIME};
