/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching for commands that need to know what a tensor is before they can say what they want. */
#ifndef TLY_CLI_FETCH_H
#define TLY_CLI_FETCH_H

#include <tilery/context.h>
#include <tilery/tensor.h>

#include "cli/cli.h"

/* A command line whose arguments are ADDRESS and KEY. Errors: INVALID_ARGUMENT. */
tly_status tly_fetch_check_arguments(const tly_cli *cli, tly_error *error);

/* What a tensor is. Plain memory. */
typedef struct tly_tensor_facts {
    tly_dtype dtype;
    uint32_t rank;
    uint64_t shape[TLY_MAX_RANK];
} tly_tensor_facts;

/* Asks for a tensor on a connection of its own and hangs up when the descriptor is there: the
 * protocol has no other way to ask what a tensor is. Errors: those of tly_client_connect and
 * tly_client_fetch. */
tly_status tly_fetch_facts(const tly_context *context, const char *address, const char *key,
                           tly_tensor_facts *out_facts, tly_error *error);

/* Is the answer still the tensor that `facts` were about? Its owner may have changed it in between,
 * and a panel of another shape can have the same length. Errors: MISMATCH. */
tly_status tly_fetch_expect(const tly_tensor_facts *facts, const tly_descriptor *answer,
                            const char *key, tly_error *error);

/* Memory for data that is fetched: pages of its own, so that it can be made read-only. */
typedef struct tly_fetch_pages {
    void *base;
    size_t base_len;
    void *at;     /* aligned as was asked */
    uint64_t len; /* bytes */
} tly_fetch_pages;

/* A tly_fetch_destination_fn; `user` is a tly_fetch_pages of zeroes. */
void *tly_fetch_to_pages(void *user, const tly_descriptor *descriptor, uint64_t len,
                         uint32_t alignment);

/* From here on a write to the data is a fault. */
tly_status tly_fetch_pages_protect(const tly_fetch_pages *pages, tly_error *error);
void tly_fetch_pages_cleanup(tly_fetch_pages *pages);

#endif
