/* SPDX-License-Identifier: Apache-2.0 */
#include <tilery/http.h>

#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/module.h"
#include "net/http_object.h"

#define LEAST_BLOCK_LEN 4096u
#define MOST_BLOCK_LEN  (64u << 20)

static void fill_u32(uint32_t *field, uint32_t fallback) {
    if (*field == 0) {
        *field = fallback;
    }
}

static tly_status set_options(tly_http *http, const tly_http_options *options, tly_error *error) {
    tly_http_options *o = &http->options;
    if (options != NULL && options->size != sizeof *options) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "tly_http_options.size is %zu, expected %zu", options->size,
                             sizeof *options);
    }
    if (options != NULL) {
        *o = *options;
    }
    fill_u32(&o->block_len, 256u << 10);
    fill_u32(&o->max_attempts, 5);
    fill_u32(&o->first_delay_ms, 100);
    fill_u32(&o->max_delay_ms, 10000);
    fill_u32(&o->connect_timeout_ms, 10000);
    fill_u32(&o->stall_timeout_ms, 15000);
    if (o->cache_len == 0) {
        o->cache_len = 256u << 20;
    }
    if (!tly_base_is_power_of_two(o->block_len) || o->block_len < LEAST_BLOCK_LEN ||
        o->block_len > MOST_BLOCK_LEN) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "block-len",
                             "a block of %u bytes is not a power of two from %u to %u",
                             o->block_len, LEAST_BLOCK_LEN, MOST_BLOCK_LEN);
    }
    return TLY_OK;
}

static tly_status load(tly_http *http, tly_error *error) {
    tly_base_module_fn get;
    const tly_http_module *module;
    tly_status status =
        tly_base_module_load(TLY_HTTP_MODULE_NAME, TLY_HTTP_MODULE_SYMBOL, &get, error);
    if (status != TLY_OK) {
        return status;
    }
    module = get();
    if (module->abi != TLY_HTTP_MODULE_ABI || module->size != sizeof *module) {
        return tly_base_fail(error, TLY_MODULE, TLY_NO_OFFSET, "module-abi",
                             "%s.so was made for version %u of the module interface, this is %d; "
                             "build it anew",
                             TLY_HTTP_MODULE_NAME, module->abi, TLY_HTTP_MODULE_ABI);
    }
    status = module->open(http->options.ca, &http->library, error);
    http->module = status == TLY_OK ? module : NULL;
    return status;
}

tly_status tly_http_new(const tly_context *context, const tly_http_options *options,
                        tly_http **out_http, tly_error *error) {
    tly_http *http = tly_base_calloc(context, sizeof *http, _Alignof(tly_http));
    tly_status status;
    *out_http = NULL;
    if (http == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for HTTP");
    }
    http->context = context;
    status = set_options(http, options, error);
    if (status == TLY_OK) {
        status = tly_block_cache_new(context, http->options.cache_len, http->options.block_len,
                                     &http->cache, error);
    }
    if (status == TLY_OK) {
        status = load(http, error);
    }
    if (status != TLY_OK) {
        tly_http_free(http);
        return status;
    }
    *out_http = http;
    return TLY_OK;
}

void tly_http_free(tly_http *http) {
    if (http == NULL) {
        return;
    }
    if (http->module != NULL) {
        http->module->close(http->library);
    }
    tly_block_cache_free(http->cache);
    tly_base_free(http->context, http, sizeof *http, _Alignof(tly_http));
}

void tly_http_stop(tly_http *http) {
    __atomic_store_n(&http->stopped, 1, __ATOMIC_RELEASE);
}

/* What is wrong with the container is said with its URL, if that is not said already. */
static tly_status open_store(tly_http *http, const char *url, tly_blocks *blocks,
                             const tly_store_open_options *options, tly_store **out_store,
                             tly_error *error) {
    tly_error why;
    char shown[200];
    tly_status status = tly_store_open_blocks(http->context, blocks, options, out_store, &why);
    if (status == TLY_OK) {
        return TLY_OK;
    }
    tly_http_show(url, shown, sizeof shown);
    return strncmp(why.message, shown, strlen(shown)) == 0
               ? tly_base_fail(error, status, why.offset, why.rule, "%s", why.message)
               : tly_base_fail(error, status, why.offset, why.rule, "%s: %s", shown, why.message);
}

tly_status tly_http_open(tly_http *http, const char *url, const tly_store_open_options *options,
                         tly_store **out_store, tly_error *error) {
    tly_byte_source source;
    tly_blocks *blocks;
    tly_status status = tly_http_object_new(http, url, &source, error);
    if (status == TLY_OK) {
        status = tly_blocks_new(http->context, http->cache, &source, &blocks, error);
    }
    return status == TLY_OK ? open_store(http, url, blocks, options, out_store, error) : status;
}

void tly_http_get_stats(const tly_http *http, tly_http_stats *out_stats) {
    tly_block_stats blocks;
    tly_block_cache_stats(http->cache, &blocks);
    out_stats->num_requests = __atomic_load_n(&http->num_requests, __ATOMIC_RELAXED);
    out_stats->num_retries = __atomic_load_n(&http->num_retries, __ATOMIC_RELAXED);
    out_stats->num_fetches = blocks.num_fetches;
    out_stats->num_failed = blocks.num_failed;
    out_stats->fetched_len = blocks.fetched_len;
    out_stats->num_hits = blocks.num_hits;
    out_stats->num_dropped = blocks.num_dropped;
    out_stats->used_len = blocks.used_len;
    out_stats->limit_len = blocks.limit_len;
}
