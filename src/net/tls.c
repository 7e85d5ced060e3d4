/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/module.h"

tly_status tly_net_tls_library_init(tly_net_tls_library *library, const tly_tls_options *options,
                                    int is_server, tly_error *error) {
    tly_base_module_fn get;
    tly_status status;
    memset(library, 0, sizeof *library);
    if (options != NULL && options->size != sizeof *options) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "tly_tls_options.size is %zu, expected %zu", options->size,
                             sizeof *options);
    }
    status = tly_base_module_load(TLY_TLS_MODULE_NAME, TLY_TLS_MODULE_SYMBOL, &get, error);
    if (status != TLY_OK) {
        return status;
    }
    library->module = get();
    if (library->module->abi != TLY_TLS_MODULE_ABI ||
        library->module->size != sizeof *library->module) {
        return tly_base_fail(error, TLY_MODULE, TLY_NO_OFFSET, "module-abi",
                             "%s.so was made for version %u of the module interface, this is %d; "
                             "build it anew",
                             TLY_TLS_MODULE_NAME, library->module->abi, TLY_TLS_MODULE_ABI);
    }
    return library->module->open(options, is_server, &library->at, error);
}

void tly_net_tls_library_cleanup(tly_net_tls_library *library) {
    if (library->at != NULL) {
        library->module->close(library->at);
        library->at = NULL;
    }
}

tly_net_tls *tly_net_tls_new(const tly_context *context, const tly_net_tls_library *library, int fd,
                             const char *host) {
    tly_net_tls *tls = tly_base_calloc(context, sizeof *tls, _Alignof(tly_net_tls));
    if (tls == NULL) {
        return NULL;
    }
    tls->module = library->module;
    tls->at = library->module->start(library->at, fd, host);
    if (tls->at == NULL) {
        tly_base_free(context, tls, sizeof *tls, _Alignof(tly_net_tls));
        return NULL;
    }
    return tls;
}

void tly_net_tls_free(const tly_context *context, tly_net_tls *tls) {
    if (tls != NULL) {
        tls->module->end(tls->at);
        tly_base_free(context, tls, sizeof *tls, _Alignof(tly_net_tls));
    }
}
