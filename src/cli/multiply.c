/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect.h"
#include "cli/multiply.h"

#include <stdlib.h>
#include <string.h>

#include <tilery/net.h>
#include <tilery/pack.h>
#include <tilery/wire.h>

#include "base/checked.h"
#include "base/error.h"
#include "cli/bench_run.h"
#include "cli/counted.h"
#include "cli/operand.h"

typedef struct job {
    const tly_context *context;
    const tly_multiply_options *options;
    tly_multiply_result *result;
    tly_counted counted;       /* memory of the adapter */
    tly_context *gemm_context; /* with that allocator */
    tly_client *client;
    tly_gemm_adapter *adapter;
    tly_tensor_facts facts; /* what B was when the product was planned */
    tly_gemm_problem problem;
    tly_panel_profile profile;
    tly_gemm *gemm;
    tly_fetch_pages panel_pages; /* where the panel came, or what was packed */
    tly_fetched *panel_answer;
    void *packed; /* the panel, where it was packed on this side */
    const void *panel;
    uint64_t panel_len;
    tly_fetch_pages plain_pages;
    tly_fetched *plain_answer;
    void *a, *c;
} job;

/* Aligned memory for a matrix. Errors: OVERFLOW, OUT_OF_MEMORY. */
static tly_status new_matrix(tly_dtype dtype, uint64_t rows, uint64_t columns, void **out_memory,
                             uint64_t *out_len, tly_error *error) {
    uint64_t len = tly_dtype_bits(dtype) / 8;
    if (tly_base_mul_u64(len, rows, &len) || tly_base_mul_u64(len, columns, &len) ||
        len > PTRDIFF_MAX) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "multiply-size",
                             "a matrix of %llu x %llu does not fit in memory; take a smaller --m",
                             (unsigned long long)rows, (unsigned long long)columns);
    }
    if (posix_memalign(out_memory, 64, len) != 0) {
        *out_memory = NULL;
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a matrix of %llu x %llu", (unsigned long long)rows,
                             (unsigned long long)columns);
    }
    *out_len = len;
    return TLY_OK;
}

static tly_status describe_problem(job *work, tly_error *error) {
    const tly_multiply_options *options = work->options;
    tly_multiply_result *result = work->result;
    const tly_tensor_facts *facts = &work->facts;
    tly_gemm_problem *problem = &work->problem;
    tly_status status =
        tly_fetch_facts(work->context, options->address, options->key, &work->facts, error);
    if (status != TLY_OK) {
        return status;
    }
    if (facts->rank != 2 || facts->shape[0] == 0 || facts->shape[1] == 0 ||
        facts->shape[0] == TLY_DYNAMIC || facts->shape[1] == TLY_DYNAMIC) {
        return tly_base_fail(
            error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "multiply-shape",
            "%s has rank %u; only a matrix without an empty side can be multiplied", options->key,
            facts->rank);
    }
    problem->size = sizeof *problem;
    problem->m = options->m;
    problem->n = facts->shape[options->stored_nk ? 0 : 1];
    problem->k = facts->shape[options->stored_nk ? 1 : 0];
    problem->b_dtype = facts->dtype;
    problem->stored_nk = (uint8_t)options->stored_nk;
    if (!tly_operand_types(facts->dtype, &problem->a_dtype, &problem->c_dtype)) {
        const tly_dtype_info *info = tly_dtype_find(facts->dtype);
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "multiply-type",
                             "%s is %s; f32, f64, bf16 and i8 can be multiplied", options->key,
                             info != NULL ? info->name : "of a type unknown here");
    }
    result->m = problem->m;
    result->n = problem->n;
    result->k = problem->k;
    result->dtype = facts->dtype;
    memcpy(result->shape, facts->shape, sizeof result->shape);
    return TLY_OK;
}

/* Lets the library's own packer, where it has one, say whether the template is what its kernel
 * reads. The hash goes to the server, which proves the same of its packer. */
static tly_status prove_panel(job *work, tly_error *error) {
    uint64_t hash;
    tly_status status = tly_gemm_probe(work->adapter, &work->problem, &work->profile, error);
    if (status == TLY_UNSUPPORTED) {
        return TLY_OK; /* there is no packer to ask */
    }
    if (status == TLY_OK) {
        status = tly_panel_probe_expected(work->context, &work->profile, 0, &hash, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (hash != work->profile.probe_hash) { /* the packer on this side would be wrong as well */
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "panel-probe-hash",
                             "%s packs known matrices in another way than %s says: its adapter "
                             "does not fit this version of the library",
                             work->result->version, work->result->profile);
    }
    work->result->probed = 1;
    atomic_store(&work->counted.peak, atomic_load(&work->counted.now)); /* the product's counts */
    return TLY_OK;
}

static tly_status open_kernel(job *work, tly_error *error) {
    tly_context_options options = {0};
    tly_status status;
    options.size = sizeof options;
    options.allocator = tly_counted_allocator(&work->counted);
    status = tly_context_new(&options, &work->gemm_context, error);
    if (status == TLY_OK) {
        status = tly_gemm_open(work->gemm_context, work->options->kernel, &work->adapter, error);
    }
    if (status == TLY_OK) {
        snprintf(work->result->version, sizeof work->result->version, "%s",
                 tly_gemm_adapter_version(work->adapter));
        if (work->options->plain) {
            return tly_gemm_prepare(work->adapter, &work->problem, NULL, &work->gemm, error);
        }
        status = tly_gemm_query(work->adapter, &work->problem, &work->profile, error);
    }
    if (status == TLY_OK) {
        /* Where the library has a packer of its own, the server shall prove that its packer agrees.
         * The memory that this takes is not the product's. */
        status = tly_gemm_probe(work->adapter, &work->problem, &work->profile, error);
        status = status == TLY_UNSUPPORTED ? TLY_OK : status;
        atomic_store(&work->counted.peak, atomic_load(&work->counted.now));
    }
    if (status == TLY_OK) {
        work->result->has_panel = 1;
        tly_panel_describe(&work->profile, work->result->profile, sizeof work->result->profile);
        status = prove_panel(work, error);
    }
    if (status == TLY_OK) {
        status =
            tly_gemm_prepare(work->adapter, &work->problem, &work->profile, &work->gemm, error);
    }
    return status;
}

/* Packs what came plain into the panel, and counts every byte of it. */
static tly_status pack_here(job *work, tly_error *error) {
    const tly_descriptor *descriptor = tly_fetched_descriptor(work->panel_answer);
    tly_nest *nests = malloc(2 * sizeof *nests);
    tly_pack_plan *plan = NULL;
    tly_status status;
    if (nests == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for nests");
    }
    status = tly_descriptor_nest(descriptor, &nests[0], error);
    if (status == TLY_OK) {
        status = tly_panel_bind(&work->profile, 2, descriptor->shape, &nests[1], &work->panel_len,
                                error);
    }
    if (status == TLY_OK) {
        status = tly_pack_plan_new(work->context, &nests[1], &nests[0],
                                   tly_dtype_bits(descriptor->dtype), NULL, &plan, error);
    }
    if (status == TLY_OK &&
        posix_memalign(&work->packed, work->profile.alignment < 64 ? 64 : work->profile.alignment,
                       work->panel_len) != 0) {
        status =
            tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a panel");
    }
    if (status == TLY_OK) {
        tly_pack_run(plan, work->packed,
                     (const uint8_t *)tly_fetched_data(work->panel_answer) +
                         descriptor->byte_offset);
        work->result->bytes_repacked += tly_pack_dst_len(plan);
        work->panel = work->packed;
    }
    tly_pack_plan_free(plan);
    free(nests);
    return status;
}

/* B in the panel that the kernel wants; packed on this side only if it came otherwise. */
static tly_status fetch_panel(job *work, tly_error *error) {
    tly_fetch_layout layout = {0};
    tly_fetch_request request = {0};
    const tly_descriptor *descriptor;
    double started = tly_bench_now();
    tly_status status;
    layout.profile = &work->profile;
    request.size = sizeof request;
    request.key = work->options->key;
    request.layouts = &layout;
    request.num_layouts = work->options->pack_here ? 0 : 1;
    request.request_flags = TLY_WIRE_ALLOW_TRANSCODE;
    request.flags = TLY_FETCH_KEEP_SHARED;
    request.destination = tly_fetch_to_pages;
    request.destination_user = &work->panel_pages;
    status = tly_client_fetch(work->client, &request, &work->panel_answer, error);
    if (status != TLY_OK) {
        return status;
    }
    descriptor = tly_fetched_descriptor(work->panel_answer);
    status = tly_fetch_expect(&work->facts, descriptor, request.key, error);
    if (status != TLY_OK) {
        return status;
    }
    work->result->fetch_seconds = tly_bench_now() - started;
    work->result->bytes_fetched = tly_fetched_len(work->panel_answer);
    if (tly_fetched_choice(work->panel_answer) == request.num_layouts) {
        status = pack_here(work, error);
    } else {
        work->panel =
            (const uint8_t *)tly_fetched_data(work->panel_answer) + descriptor->byte_offset;
        work->panel_len = tly_fetched_len(work->panel_answer) - descriptor->byte_offset;
        status =
            tly_gemm_accepts(work->gemm, descriptor->private_data, descriptor->private_len, error);
    }
    /* Whoever rearranged the fetched bytes in place from here on would fault. */
    return status == TLY_OK ? tly_fetch_pages_protect(&work->panel_pages, error) : status;
}

static tly_status run_panel(void *user, uint64_t turn, tly_error *error) {
    job *work = user;
    (void)turn;
    return tly_gemm_run(work->gemm, work->a, work->problem.k, work->panel, work->panel_len, work->c,
                        work->problem.n, error);
}

static tly_status run_plain(void *user, uint64_t turn, tly_error *error) {
    job *work = user;
    const tly_gemm_problem *p = &work->problem;
    const tly_descriptor *descriptor = tly_fetched_descriptor(work->plain_answer);
    (void)turn;
    return tly_gemm_plain(work->gemm, work->a, p->k,
                          (const uint8_t *)tly_fetched_data(work->plain_answer) +
                              descriptor->byte_offset,
                          p->stored_nk ? p->k : p->n, work->c, p->n, error);
}

static tly_status multiply(job *work, tly_error *error) {
    const tly_gemm_problem *p = &work->problem;
    uint64_t a_len = 0, c_len = 0;
    tly_status status = new_matrix(p->a_dtype, p->m, p->k, &work->a, &a_len, error);
    if (status == TLY_OK) {
        status = new_matrix(p->c_dtype, p->m, p->n, &work->c, &c_len, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    tly_operand_fill(p->a_dtype, work->a, p->m * p->k, work->options->seed);
    memset(work->c, 0xFF, c_len); /* NaN, or a number far off: what is not written is seen */
    return work->result->has_panel ? run_panel(work, 0, error) : run_plain(work, 0, error);
}

static tly_status fetch_plain(job *work, tly_error *error) {
    tly_fetch_layout layout = {.tag = TLY_LAYOUT_ROW_MAJOR};
    tly_fetch_request request = {0};
    double started = tly_bench_now();
    tly_status status;
    request.size = sizeof request;
    request.key = work->options->key;
    request.layouts = &layout;
    request.num_layouts = 1;
    request.request_flags = TLY_WIRE_ALLOW_TRANSCODE;
    request.flags = TLY_FETCH_KEEP_SHARED;
    request.destination = tly_fetch_to_pages;
    request.destination_user = &work->plain_pages;
    status = tly_client_fetch(work->client, &request, &work->plain_answer, error);
    if (status == TLY_OK && work->options->plain) {
        work->result->bytes_fetched = tly_fetched_len(work->plain_answer);
        work->result->fetch_seconds = tly_bench_now() - started;
    }
    if (status == TLY_OK) {
        status = tly_fetch_expect(&work->facts, tly_fetched_descriptor(work->plain_answer),
                                  request.key, error);
    }
    if (status == TLY_OK && tly_fetched_choice(work->plain_answer) != 0) {
        return tly_base_fail(
            error, TLY_LAYOUT_UNAVAILABLE, TLY_NO_OFFSET, "layout-native",
            "the server does not give %s in row-major order, which the check needs",
            work->options->key);
    }
    return status;
}

static tly_status check(job *work, tly_error *error) {
    const tly_gemm_problem *p = &work->problem;
    const tly_descriptor *descriptor = tly_fetched_descriptor(work->plain_answer);
    const uint8_t *b =
        (const uint8_t *)tly_fetched_data(work->plain_answer) + descriptor->byte_offset;
    void *reference = NULL;
    uint64_t len;
    tly_status status = new_matrix(TLY_F64, p->m, p->n, &reference, &len, error);
    if (status != TLY_OK) {
        return status;
    }
    tly_operand_reference(p->a_dtype, work->a, p->b_dtype, b, p->stored_nk, p->m, p->n, p->k,
                          reference);
    work->result->max_relative_error =
        tly_operand_error(p->c_dtype, work->c, reference, p->m * p->n);
    free(reference);
    return TLY_OK;
}

static tly_status take_times(job *work, tly_error *error) {
    tly_bench bench = {.context = work->context, .runs = work->options->runs, .processor_time = 1};
    tly_bench_side sides[2];
    tly_bench_times times[2];
    tly_multiply_result *result = work->result;
    tly_error ignored;
    uint32_t num = 0;
    tly_status status;
    result->has_plain = run_plain(work, 0, &ignored) == TLY_OK;
    if (result->has_panel) {
        sides[num++] = (tly_bench_side){"panel", run_panel, work};
    }
    if (result->has_plain) {
        sides[num++] = (tly_bench_side){"plain", run_plain, work};
    }
    status = tly_bench_compare(&bench, sides, num, times, error);
    if (status == TLY_OK) {
        result->has_times = 1;
        result->panel = times[0];
        result->plain = times[num - 1];
    }
    return status;
}

/* From the request to the first product: what a client does that only wants the product. */
static tly_status first_product(job *work, tly_error *error) {
    const tly_multiply_options *options = work->options;
    tly_status status = describe_problem(work, error);
    if (status == TLY_OK) {
        status = open_kernel(work, error);
    }
    if (status == TLY_OK) {
        /* On this machine a panel need not be copied: it is only read. */
        uint32_t flags = options->plain || options->pack_here ? 0 : TLY_CLIENT_SHARED;
        status = tly_cli_connect(work->context, options->address, flags, &work->client, error);
    }
    if (status == TLY_OK) {
        status = options->plain ? fetch_plain(work, error) : fetch_panel(work, error);
    }
    if (status == TLY_OK) {
        status = multiply(work, error);
    }
    work->result->scratch_bytes = atomic_load(&work->counted.peak);
    work->result->peak_memory = tly_bench_peak_memory();
    return status;
}

static tly_status work_through(job *work, tly_error *error) {
    tly_status status = first_product(work, error);
    if (status == TLY_OK && work->plain_answer == NULL) {
        status = fetch_plain(work, error);
    }
    if (status == TLY_OK) {
        status = check(work, error);
    }
    return status == TLY_OK && work->options->runs != 0 ? take_times(work, error) : status;
}

tly_status tly_multiply(const tly_context *context, const tly_multiply_options *options,
                        tly_multiply_result *out_result, tly_error *error) {
    job work = {.context = context, .options = options, .result = out_result};
    tly_status status;
    memset(out_result, 0, sizeof *out_result);
    tly_counted_init(&work.counted);
    status = work_through(&work, error);
    tly_gemm_free(work.gemm);
    tly_gemm_close(work.adapter);
    tly_context_free(work.gemm_context);
    tly_fetched_free(work.panel_answer);
    tly_fetched_free(work.plain_answer);
    tly_client_free(work.client);
    tly_fetch_pages_cleanup(&work.panel_pages);
    tly_fetch_pages_cleanup(&work.plain_pages);
    free(work.packed);
    free(work.a);
    free(work.c);
    return status;
}
