/* SPDX-License-Identifier: Apache-2.0 */
/* Opens adapters: the built-in one, or a module that is found, loaded and checked. */
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/module.h"
#include "gemm/adapter.h"
#include "gemm/find.h"

static void *host_alloc(void *user, size_t len, size_t alignment) {
    return tly_base_alloc(user, len, alignment);
}

static void host_free(void *user, void *block, size_t len, size_t alignment) {
    tly_base_free(user, block, len, alignment);
}

static tly_status host_fail(tly_error *error, tly_status status, const char *rule,
                            const char *message) {
    return tly_base_fail(error, status, TLY_NO_OFFSET, rule, "%s", message);
}

static tly_status find_and_load(const char *name, const tly_gemm_module **out_module,
                                tly_error *error) {
    char file[TLY_GEMM_NAME_LEN + 16];
    tly_base_module_fn get;
    const tly_gemm_module *module;
    tly_status status;
    snprintf(file, sizeof file, "tilery-gemm-%s", name);
    status = tly_base_module_load(file, TLY_GEMM_MODULE_SYMBOL, &get, error);
    if (status != TLY_OK) {
        return status;
    }
    module = get();
    if (module->abi != TLY_GEMM_MODULE_ABI || module->size != sizeof *module) {
        return tly_base_fail(error, TLY_MODULE, TLY_NO_OFFSET, "module-abi",
                             "%s.so was made for version %u of the module interface, this is %d; "
                             "build it anew",
                             file, module->abi, TLY_GEMM_MODULE_ABI);
    }
    *out_module = module;
    return TLY_OK;
}

tly_status tly_gemm_open(const tly_context *context, const char *name,
                         tly_gemm_adapter **out_adapter, tly_error *error) {
    const tly_gemm_module *module = &tly_gemm_own;
    tly_gemm_adapter *adapter;
    tly_status status;
    *out_adapter = NULL;
    if (name == NULL || !tly_gemm_find_name_ok(name, strlen(name))) {
        char shown[64];
        return tly_base_fail(
            error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "adapter-name",
            "\"%s\" cannot be the name of an adapter: it takes a-z, 0-9, - and _",
            name != NULL ? tly_base_printable(shown, sizeof shown, name, strlen(name)) : "");
    }
    if (strcmp(name, tly_gemm_own.name) != 0) {
        status = find_and_load(name, &module, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    adapter = tly_base_calloc(context, sizeof *adapter, _Alignof(tly_gemm_adapter));
    if (adapter == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the adapter %s", name);
    }
    adapter->context = context;
    adapter->module = module;
    adapter->host.size = sizeof adapter->host;
    /* The context is immutable; the host only hands it back. */
    memcpy(&adapter->host.user, &context, sizeof context);
    adapter->host.alloc = host_alloc;
    adapter->host.free = host_free;
    adapter->host.fail = host_fail;
    adapter->host.simd = tly_context_simd(context);
    snprintf(adapter->name, sizeof adapter->name, "%s", name);
    status = module->open(&adapter->host, &adapter->library, adapter->version, error);
    if (status != TLY_OK) {
        tly_base_free(context, adapter, sizeof *adapter, _Alignof(tly_gemm_adapter));
        return status;
    }
    *out_adapter = adapter;
    return TLY_OK;
}

void tly_gemm_close(tly_gemm_adapter *adapter) {
    if (adapter != NULL) {
        adapter->module->close(adapter->library);
        tly_base_free(adapter->context, adapter, sizeof *adapter, _Alignof(tly_gemm_adapter));
    }
}

const char *tly_gemm_adapter_name(const tly_gemm_adapter *adapter) {
    return adapter->name;
}

const char *tly_gemm_adapter_version(const tly_gemm_adapter *adapter) {
    return adapter->version;
}
