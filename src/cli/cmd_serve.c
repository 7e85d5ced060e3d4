/* SPDX-License-Identifier: Apache-2.0 */
/* tilery serve: hands out the tensors of containers until it is told to stop. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include <tilery/serve.h>

#include "base/context.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/families.h"
#include "cli/handlers.h"
#include "cli/json.h"
#include "cli/options_table.h"
#include "cli/serve_reload.h"
#include "cli/text.h"

#define DEFAULT_CACHE_LEN (UINT64_C(1) << 30)

/* The one server of this process, for the signal handler, which gets no argument. Set before the
 * handler is installed and cleared after it is gone. */
static tly_serve_now *volatile served;

static void on_signal(int number) {
    if (number == SIGHUP) {
        tly_serve_reload_ask(served);
    } else {
        tly_server_stop(served->server);
    }
}

/* A second signal to stop ends the process at once: running transfers may take their time. */
static void handle_signals(void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_flags = SA_RESTART;
    sigaction(SIGHUP, &action, NULL);
}

static tly_status listen_all(const tly_cli *cli, tly_server *server, tly_error *error) {
    tly_status status = TLY_OK;
    for (uint32_t i = 0; i < cli->num_repeats && status == TLY_OK; i++) {
        if (cli->repeats[i].option == TLY_CLI_SERVE_LISTEN) {
            status = tly_server_listen(server, cli->repeats[i].value, error);
        }
    }
    return status;
}

/* Said, and flushed, when connections are taken: a script waits for this line. */
static void announce(tly_cli *cli, const tly_catalogue *catalogue, const tly_server *server) {
    const char *address;
    if (tly_cli_given(cli, TLY_CLI_SERVE_JSON)) {
        tly_json json;
        tly_json_init_line(&json, cli->out);
        tly_json_object(&json, NULL);
        tly_json_string(&json, "event", "listening");
        tly_json_array(&json, "addresses");
        for (uint32_t i = 0; (address = tly_server_address(server, i)) != NULL; i++) {
            tly_json_string(&json, NULL, address);
        }
        tly_json_end_array(&json);
        tly_json_u64(&json, "tensors", tly_catalogue_num_tensors(catalogue));
        tly_json_end_object(&json);
        tly_json_finish(&json);
    } else {
        for (uint32_t i = 0; (address = tly_server_address(server, i)) != NULL; i++) {
            fprintf(cli->out, "serving %llu tensor%s on %s\n",
                    (unsigned long long)tly_catalogue_num_tensors(catalogue),
                    tly_text_s(tly_catalogue_num_tensors(catalogue)), address);
        }
    }
    fflush(cli->out);
}

static void report(tly_cli *cli, const tly_server *server) {
    tly_server_stats stats = {0};
    stats.size = sizeof stats;
    tly_server_get_stats(server, &stats);
    if (tly_cli_given(cli, TLY_CLI_SERVE_JSON)) {
        tly_json json;
        tly_json_init_line(&json, cli->out);
        tly_json_object(&json, NULL);
        tly_json_string(&json, "event", "stopped");
        tly_json_u64(&json, "connections", stats.num_connections);
        tly_json_u64(&json, "refused", stats.num_refused);
        tly_json_u64(&json, "requests", stats.num_requests);
        tly_json_u64(&json, "served", stats.num_served);
        tly_json_u64(&json, "packed", stats.num_packed);
        tly_json_u64(&json, "packings", stats.num_packings);
        tly_json_u64(&json, "shared", stats.num_shared);
        tly_json_u64(&json, "handed_over", stats.num_handed_over);
        tly_json_u64(&json, "put", stats.num_put);
        tly_json_u64(&json, "failed", stats.num_failed);
        tly_json_u64(&json, "bytes", stats.sent_len);
        tly_json_u64(&json, "peak_buffered_bytes", stats.max_buffered_len);
        tly_json_end_object(&json);
        tly_json_finish(&json);
    } else {
        char bytes[32];
        fprintf(cli->out,
                "stopped: %llu connection%s, %llu tensor%s served (%llu packed, %llu of them "
                "from the cache), %llu refused, %s sent\n",
                (unsigned long long)stats.num_connections, tly_text_s(stats.num_connections),
                (unsigned long long)stats.num_served, tly_text_s(stats.num_served),
                (unsigned long long)stats.num_packed, (unsigned long long)stats.num_shared,
                (unsigned long long)stats.num_failed,
                tly_text_bytes(bytes, sizeof bytes, stats.sent_len));
    }
}

/* What would be served, without doing it. */
static void report_check(tly_cli *cli, const tly_catalogue *catalogue, const tly_access *access) {
    uint64_t num = tly_catalogue_num_tensors(catalogue);
    uint32_t names = access != NULL ? tly_access_num_names(access) : 0;
    uint32_t rules = access != NULL ? tly_access_num_rules(access) : 0;
    if (tly_cli_given(cli, TLY_CLI_SERVE_JSON)) {
        tly_json json;
        tly_json_init_line(&json, cli->out);
        tly_json_object(&json, NULL);
        tly_json_string(&json, "event", "checked");
        tly_json_u64(&json, "tensors", num);
        tly_json_u64(&json, "names", names);
        tly_json_u64(&json, "rules", rules);
        tly_json_end_object(&json);
        tly_json_finish(&json);
        return;
    }
    fprintf(cli->out, "%llu tensor%s can be served", (unsigned long long)num, tly_text_s(num));
    if (access != NULL) {
        fprintf(cli->out, ", by %u rule%s for %u name%s\n", rules, tly_text_s(rules), names,
                tly_text_s(names));
    } else {
        fprintf(cli->out, ", to everybody who can connect\n");
    }
}

static tly_status check_all(tly_cli *cli, tly_server *server, tly_error *error) {
    tly_status status = TLY_OK;
    for (uint32_t i = 0; i < cli->num_repeats && status == TLY_OK; i++) {
        if (cli->repeats[i].option == TLY_CLI_SERVE_LISTEN) {
            status = tly_server_check(server, cli->repeats[i].value, error);
        }
    }
    return status;
}

/* Each connection is an open file, and each container, also each tensor that was put; the system
 * lets us have more than it gives at first. */
static void allow_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static tly_status run(tly_cli *cli, tly_serve_now *now, tly_error *error) {
    tly_server *server = now->server;
    const char *metrics = tly_cli_value(cli, TLY_CLI_SERVE_METRICS, NULL);
    tly_status status = listen_all(cli, server, error);
    if (status == TLY_OK && metrics != NULL) {
        status = tly_server_listen_metrics(server, metrics, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    served = now;
    handle_signals(on_signal);
    announce(cli, now->catalogue, server);
    tly_serve_notify("READY=1");
    status = tly_server_run(server, error);
    tly_serve_notify("STOPPING=1");
    handle_signals(SIG_IGN);
    served = NULL;
    tly_serve_reload_cleanup(now);
    if (status == TLY_OK) {
        report(cli, server);
    }
    return status;
}

static tly_status serve(tly_cli *cli, tly_serve_now *now, const tly_serve_input *input,
                        const tly_families *families, tly_error *error) {
    tly_server_options options = {.size = sizeof options,
                                  .access = input->access,
                                  .reload = tly_serve_reload,
                                  .reload_user = now};
    tly_tls_options tls = {.size = sizeof tls};
    tly_server *server;
    tly_status status;
    options.max_connections = (uint32_t)tly_cli_number(cli, TLY_CLI_SERVE_MAX_CONNECTIONS, 0);
    options.transcode_limit = tly_cli_number(cli, TLY_CLI_SERVE_PACK_LIMIT, 0);
    options.cache_folder = tly_cli_value(cli, TLY_CLI_SERVE_CACHE_FOLDER, NULL);
    options.cache_folder_len = tly_cli_number(cli, TLY_CLI_SERVE_CACHE_FOLDER_LIMIT, 0);
    options.cache_len = tly_cli_number(cli, TLY_CLI_SERVE_CACHE, DEFAULT_CACHE_LEN);
    options.families = families;
    options.max_shards = (uint32_t)tly_cli_number(cli, TLY_CLI_SERVE_SHARDS, 0);
    options.upload_limit = tly_cli_number(cli, TLY_CLI_SERVE_UPLOAD_LIMIT, 0);
    options.idle_timeout_ms = 1000 * (uint32_t)tly_cli_number(cli, TLY_CLI_SERVE_IDLE_TIMEOUT, 0);
    options.flags = tly_cli_given(cli, TLY_CLI_SERVE_OPEN) ? TLY_SERVER_OPEN : 0;
    tls.certificate = tly_cli_value(cli, TLY_CLI_SERVE_TLS_CERT, NULL);
    tls.key = tly_cli_value(cli, TLY_CLI_SERVE_TLS_KEY, tls.certificate);
    tls.ca = tly_cli_value(cli, TLY_CLI_SERVE_TLS_CLIENT_CA, NULL);
    tls.flags = tls.ca != NULL ? TLY_TLS_CLIENT_CERTIFICATE : 0;
    options.tls = &tls;
    options.http = now->http;
    status = tly_server_new(now->context, input->catalogue, &options, &server, error);
    if (status != TLY_OK) {
        return status;
    }
    now->server = server;
    if (tly_cli_given(cli, TLY_CLI_SERVE_CHECK)) {
        status = check_all(cli, server, error);
        if (status == TLY_OK) {
            report_check(cli, input->catalogue, input->access);
        }
    } else {
        status = run(cli, now, error);
    }
    tly_server_free(server);
    return status;
}

tly_status tly_cli_run_serve(tly_cli *cli, tly_error *error) {
    const tly_context *context;
    tly_families *families = NULL;
    tly_serve_input input = {0};
    tly_serve_now now = {.cli = cli};
    tly_status status;
    if (!tly_cli_given(cli, TLY_CLI_SERVE_LISTEN)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-listen",
                             "--listen ADDRESS says where to take connections, and is missing");
    }
    if (cli->num_args == 0 && !tly_cli_given(cli, TLY_CLI_SERVE_UPLOADS) &&
        !tly_cli_given(cli, TLY_CLI_SERVE_URLS)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-arguments",
                             "there is nothing to serve: name a container, --urls FILE, or "
                             "--uploads FOLDER");
    }
    allow_files();
    status = tly_cli_context(cli, &context, error);
    if (status == TLY_OK) {
        now.context = context;
        status = tly_serve_input_read(cli, context, 1, &now.http, &input, error);
    }
    if (status == TLY_OK) {
        status = tly_families_from(cli, TLY_CLI_SERVE_FAMILY, context, &families, error);
    }
    if (status == TLY_OK) {
        now.catalogue = input.catalogue;
        status = serve(cli, &now, &input, families, error);
    }
    tly_families_free(families);
    tly_serve_input_cleanup(&input);
    tly_http_free(now.http);
    return status;
}
