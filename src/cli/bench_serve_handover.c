/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor of 1 GiB that is handed over on one machine, from the request to memory that can be
 * read, against one of 1 MiB: the time does not depend on the size. Both are packed already. */
#include <stdio.h>

#include "base/error.h"
#include "cli/bench_serve_net.h"

#define LARGE   UINT64_C(16384) /* rows and columns of f32: 1 GiB */
#define SMALL   UINT64_C(512)   /* 1 MiB */
#define CACHE   (UINT64_C(3) << 30)
#define REPEATS 20 /* in one sample */

typedef struct side {
    tly_serve_rig rig;
    tly_client *client;
} side;

typedef struct pair {
    tly_panel_profile profile;
    side large, small;
} pair;

static tly_status fetch_once(const pair *p, const side *s, tly_error *error) {
    tly_fetch_layout layout = {.profile = &p->profile};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = "w",
                                 .layouts = &layout,
                                 .num_layouts = 1,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched = NULL;
    tly_status status = tly_client_fetch(s->client, &request, &fetched, error);
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_fetched_is_shared(fetched) || tly_fetched_choice(fetched) != 0) {
        status =
            tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "", "the panel was not handed over");
    } else {
        tly_bench_keep(tly_fetched_data(fetched));
    }
    tly_fetched_free(fetched);
    return status;
}

static tly_status repeat(const pair *p, const side *s, double *out_seconds, tly_error *error) {
    double started = tly_bench_now();
    tly_status status = TLY_OK;
    for (int i = 0; i < REPEATS && status == TLY_OK; i++) {
        status = fetch_once(p, s, error);
    }
    *out_seconds = (tly_bench_now() - started) / REPEATS;
    return status;
}

static tly_status fetch_large(void *user, double *out_seconds, tly_error *error) {
    const pair *p = user;
    return repeat(p, &p->large, out_seconds, error);
}

static tly_status fetch_small(void *user, double *out_seconds, tly_error *error) {
    const pair *p = user;
    return repeat(p, &p->small, out_seconds, error);
}

static tly_status side_init(side *s, const tly_context *context, uint64_t extent,
                            tly_error *error) {
    tly_server_options options = {.size = sizeof options, .cache_len = CACHE};
    tly_client_options sharing = {.size = sizeof sharing, .flags = TLY_CLIENT_SHARED};
    char address[96];
    tly_status status = tly_serve_rig_init(&s->rig, context, extent, extent, 0, error);
    if (status != TLY_OK) {
        return status;
    }
    snprintf(address, sizeof address, "unix:%s/s", s->rig.folder);
    status = tly_serve_rig_serve(&s->rig, address, &options, error);
    if (status == TLY_OK) {
        status = tly_client_connect(context, s->rig.address, &sharing, &s->client, error);
    }
    return status;
}

static void side_cleanup(side *s) {
    tly_client_free(s->client);
    tly_serve_rig_cleanup(&s->rig);
}

tly_status tly_bench_serve_handover(tly_bench *bench, const tly_bench_case *self,
                                    tly_error *error) {
    const tly_context *context = tly_bench_context(bench);
    tly_bench_times times[2];
    pair p = {0};
    tly_status status = tly_panel_by_name("ba16a64b", TLY_F32, 0, &p.profile, error);
    if (status == TLY_OK) {
        status = side_init(&p.large, context, LARGE, error);
    }
    if (status == TLY_OK) {
        status = side_init(&p.small, context, SMALL, error);
    }
    if (status == TLY_OK) {
        status = tly_serve_compare(bench, fetch_large, fetch_small, &p, times, error);
    }
    if (status == TLY_OK) {
        tly_bench_report_time(bench, self, self->name, 1e3, &times[0], &times[1],
                              "reference: the same with 1 MiB");
    }
    side_cleanup(&p.large);
    side_cleanup(&p.small);
    return status;
}
