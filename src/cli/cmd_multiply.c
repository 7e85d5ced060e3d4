/* SPDX-License-Identifier: Apache-2.0 */
/* tilery multiply: tries a kernel on a served matrix. */
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/describe.h"
#include "cli/fetch.h"
#include "cli/handlers.h"
#include "cli/multiply.h"
#include "cli/options_table.h"
#include "cli/text.h"

#define DEFAULT_M         8
#define DEFAULT_RUNS      15
#define DEFAULT_TOLERANCE 1e-4

static tly_status list_kernels(tly_cli *cli, const tly_context *context, tly_error *error) {
    tly_gemm_list *list;
    tly_json json;
    int as_json = tly_cli_given(cli, TLY_CLI_MULTIPLY_JSON);
    tly_status status = tly_gemm_list_new(context, &list, error);
    if (status != TLY_OK) {
        return status;
    }
    if (as_json) {
        tly_json_init(&json, cli->out);
        tly_json_array(&json, NULL);
    }
    for (uint32_t i = 0; i < tly_gemm_list_num(list); i++) {
        const char *name = tly_gemm_list_name(list, i);
        tly_gemm_adapter *adapter;
        tly_error why;
        int good = tly_gemm_open(context, name, &adapter, &why) == TLY_OK;
        const char *text = good ? tly_gemm_adapter_version(adapter) : why.message;
        if (as_json) {
            tly_json_object(&json, NULL);
            tly_json_string(&json, "kernel", name);
            tly_json_bool(&json, "usable", good);
            tly_json_string(&json, good ? "version" : "reason", text);
            tly_json_end_object(&json);
        } else {
            fprintf(cli->out, "%-10s %s%s\n", name, good ? "" : "cannot be used: ", text);
        }
        if (good) {
            tly_gemm_close(adapter);
        }
    }
    if (as_json) {
        tly_json_end_array(&json);
        tly_json_finish(&json);
    }
    tly_gemm_list_free(list);
    return TLY_OK;
}

static void times_json(tly_json *json, const tly_multiply_result *r) {
    double flop = 2.0 * (double)r->m * (double)r->n * (double)r->k;
    tly_json_object(json, "times");
    tly_json_number(json, "fetch_ms", 1e3 * r->fetch_seconds);
    if (r->has_times && r->has_panel) {
        tly_json_number(json, "panel_ms", 1e3 * r->panel.median);
        tly_json_number(json, "panel_spread", r->panel.spread);
        tly_json_number(json, "panel_gflops", 1e-9 * flop / r->panel.median);
    }
    if (r->has_times && r->has_plain) {
        tly_json_number(json, "plain_ms", 1e3 * r->plain.median);
        tly_json_number(json, "plain_spread", r->plain.spread);
        tly_json_number(json, "plain_gflops", 1e-9 * flop / r->plain.median);
    }
    if (r->has_times && r->has_plain && r->has_panel) {
        tly_json_number(json, "speedup", r->plain.median / r->panel.median);
    }
    if (r->has_times) {
        tly_json_u64(json, "runs", r->panel.runs);
    }
    tly_json_end_object(json);
}

static void report_json(tly_cli *cli, const tly_multiply_options *o, const tly_multiply_result *r) {
    char dtype[16];
    tly_json json;
    tly_json_init(&json, cli->out);
    tly_json_object(&json, NULL);
    tly_json_string(&json, "tensor", o->key);
    tly_json_row(&json, "shape");
    tly_json_u64(&json, NULL, r->shape[0]);
    tly_json_u64(&json, NULL, r->shape[1]);
    tly_json_end_array(&json);
    tly_json_string(&json, "stored", o->stored_nk ? "nk" : "kn");
    tly_json_string(&json, "dtype", tly_describe_dtype(dtype, sizeof dtype, r->dtype));
    tly_json_u64(&json, "m", r->m);
    tly_json_u64(&json, "n", r->n);
    tly_json_u64(&json, "k", r->k);
    tly_json_string(&json, "kernel", o->kernel);
    tly_json_string(&json, "version", r->version);
    if (r->has_panel) {
        tly_json_string(&json, "profile", r->profile);
        tly_json_bool(&json, "probed", r->probed);
    }
    tly_json_u64(&json, "bytes_fetched", r->bytes_fetched);
    if (r->has_panel) { /* what a library packs inside its ordinary call is not ours to know */
        tly_json_u64(&json, "bytes_repacked", r->bytes_repacked);
    }
    tly_json_u64(&json, "scratch_bytes", r->scratch_bytes);
    tly_json_u64(&json, "peak_memory", r->peak_memory);
    tly_json_number(&json, "max_relative_error", r->max_relative_error);
    times_json(&json, r);
    tly_json_end_object(&json);
    tly_json_finish(&json);
}

static void report_text(tly_cli *cli, const tly_multiply_options *o, const tly_multiply_result *r) {
    char dtype[16], shape[64], fetched[32], repacked[32], scratch[32], peak[32];
    FILE *out = cli->out;
    fprintf(out, "%s: %s %s, m %llu, n %llu, k %llu\n", o->key,
            tly_describe_dtype(dtype, sizeof dtype, r->dtype),
            tly_describe_shape(shape, sizeof shape, r->shape, 2), (unsigned long long)r->m,
            (unsigned long long)r->n, (unsigned long long)r->k);
    fprintf(out, "  kernel     %s, %s\n  panel      %s\n", o->kernel, r->version,
            r->has_panel ? r->profile : "none");
    fprintf(out, "  bytes      %s fetched in %.3g ms, ",
            tly_text_bytes(fetched, sizeof fetched, r->bytes_fetched), 1e3 * r->fetch_seconds);
    if (r->has_panel) {
        fprintf(out, "%s repacked, ", tly_text_bytes(repacked, sizeof repacked, r->bytes_repacked));
    }
    fprintf(out, "%s of scratch, %s at the peak\n",
            tly_text_bytes(scratch, sizeof scratch, r->scratch_bytes),
            tly_text_bytes(peak, sizeof peak, r->peak_memory));
    fprintf(out, "  error      %.3g of the largest value\n", r->max_relative_error);
    if (r->has_times && r->has_panel) {
        fprintf(out, "  one call   %.4g ms on the panel, median of %u\n", 1e3 * r->panel.median,
                r->panel.runs);
    }
    if (r->has_times && r->has_plain) {
        fprintf(out, "  one call   %.4g ms on the plain matrix", 1e3 * r->plain.median);
        if (r->has_panel) {
            fprintf(out, ", %.2f times as long", r->plain.median / r->panel.median);
        }
        fputc('\n', out);
    }
}

tly_status tly_cli_run_multiply(tly_cli *cli, tly_error *error) {
    tly_multiply_options options = {0};
    tly_multiply_result result;
    const tly_context *context;
    tly_status status = tly_cli_context(cli, &context, error);
    if (status != TLY_OK) {
        return status;
    }
    if (tly_cli_given(cli, TLY_CLI_MULTIPLY_LIST_KERNELS)) {
        return list_kernels(cli, context, error);
    }
    status = tly_fetch_check_arguments(cli, error);
    if (status != TLY_OK) {
        return status;
    }
    options.address = cli->args[0];
    options.key = cli->args[1];
    options.kernel = tly_cli_value(cli, TLY_CLI_MULTIPLY_KERNEL, "own");
    options.m = tly_cli_number(cli, TLY_CLI_MULTIPLY_M, DEFAULT_M);
    options.seed = tly_cli_number(cli, TLY_CLI_MULTIPLY_SEED, 1);
    options.runs = (uint32_t)tly_cli_number(cli, TLY_CLI_MULTIPLY_RUNS, DEFAULT_RUNS);
    options.stored_nk = strcmp(tly_cli_value(cli, TLY_CLI_MULTIPLY_STORED, "kn"), "nk") == 0;
    options.plain = tly_cli_given(cli, TLY_CLI_MULTIPLY_PLAIN);
    options.pack_here = tly_cli_given(cli, TLY_CLI_MULTIPLY_PACK_HERE);
    if (options.plain && options.pack_here) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-plain",
                             "--plain and --pack-here exclude each other");
    }
    tly_bench_pin();
    status = tly_multiply(context, &options, &result, error);
    if (status != TLY_OK) {
        return status;
    }
    if (tly_cli_given(cli, TLY_CLI_MULTIPLY_JSON)) {
        report_json(cli, &options, &result);
    } else {
        report_text(cli, &options, &result);
    }
    if (!(result.max_relative_error < DEFAULT_TOLERANCE)) {
        return tly_base_fail(
            error, TLY_MISMATCH, TLY_NO_OFFSET, "product-error",
            "the product is off by %g of the largest value; %g is the most that is "
            "taken for rounding",
            result.max_relative_error, DEFAULT_TOLERANCE);
    }
    return TLY_OK;
}
