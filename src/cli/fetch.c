/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fetch.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <tilery/net.h>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/connect.h"
#include "cli/describe.h"

tly_status tly_fetch_check_arguments(const tly_cli *cli, tly_error *error) {
    size_t len;
    if (cli->num_args != 2) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-arguments",
                             "ADDRESS and KEY are needed: %s", cli->command->usage);
    }
    len = strlen(cli->args[1]);
    if (tly_base_utf8_check(cli->args[1], len) != len) {
        char text[128];
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-key",
                             "the key \"%s\" is not UTF-8, and no tensor can have such a name",
                             tly_base_printable(text, sizeof text, cli->args[1], len));
    }
    return tly_address_check(cli->args[0], error);
}

typedef struct first_look {
    tly_tensor_facts *facts;
    int seen;
} first_look;

static void keep(first_look *look, const tly_descriptor *descriptor) {
    look->facts->dtype = descriptor->dtype;
    look->facts->rank = descriptor->rank;
    memcpy(look->facts->shape, descriptor->shape, descriptor->rank * sizeof *descriptor->shape);
    look->seen = 1;
}

static void *look_and_leave(void *user, const tly_descriptor *descriptor, uint64_t len,
                            uint32_t alignment) {
    (void)len;
    (void)alignment;
    keep(user, descriptor);
    return NULL;
}

tly_status tly_fetch_facts(const tly_context *context, const char *address, const char *key,
                           tly_tensor_facts *out_facts, tly_error *error) {
    tly_fetch_request request = {0};
    tly_fetched *fetched = NULL;
    first_look look = {out_facts, 0};
    tly_client *client;
    tly_status status = tly_cli_connect(context, address, 0, &client, error);
    memset(out_facts, 0, sizeof *out_facts);
    if (status != TLY_OK) {
        return status;
    }
    request.size = sizeof request;
    request.key = key;
    request.destination = look_and_leave;
    request.destination_user = &look;
    status = tly_client_fetch(client, &request, &fetched, error);
    if (status == TLY_OK && !look.seen) { /* an empty tensor needs no memory */
        keep(&look, tly_fetched_descriptor(fetched));
    } else if (look.seen) {
        status = TLY_OK; /* it was us who gave up */
    }
    tly_fetched_free(fetched);
    tly_client_free(client);
    return status;
}

tly_status tly_fetch_expect(const tly_tensor_facts *facts, const tly_descriptor *answer,
                            const char *key, tly_error *error) {
    char was[128], is[128];
    if (answer->dtype == facts->dtype && answer->rank == facts->rank &&
        memcmp(answer->shape, facts->shape, facts->rank * sizeof *facts->shape) == 0) {
        return TLY_OK;
    }
    return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "tensor-changed",
                         "%s was %s at first and came as %s: the server has another tensor now",
                         key, tly_describe_shape(was, sizeof was, facts->shape, facts->rank),
                         tly_describe_shape(is, sizeof is, answer->shape, answer->rank));
}

void *tly_fetch_to_pages(void *user, const tly_descriptor *descriptor, uint64_t len,
                         uint32_t alignment) {
    tly_fetch_pages *pages = user;
    uint64_t total;
    (void)descriptor;
    if (__builtin_add_overflow(len, (uint64_t)alignment, &total) || total > SIZE_MAX) {
        return NULL;
    }
    pages->base =
        mmap(NULL, (size_t)total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages->base == MAP_FAILED) {
        pages->base = NULL;
        return NULL;
    }
    pages->base_len = (size_t)total;
    pages->at = (uint8_t *)pages->base + (-(uintptr_t)pages->base & (alignment - 1));
    pages->len = len;
    return pages->at;
}

tly_status tly_fetch_pages_protect(const tly_fetch_pages *pages, tly_error *error) {
    if (pages->base != NULL && mprotect(pages->base, pages->base_len, PROT_READ) != 0) {
        return tly_base_fail_errno(error, errno, "cannot protect fetched memory");
    }
    return TLY_OK;
}

void tly_fetch_pages_cleanup(tly_fetch_pages *pages) {
    if (pages->base != NULL) {
        munmap(pages->base, pages->base_len);
        pages->base = NULL;
    }
}
