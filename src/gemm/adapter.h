/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_GEMM_ADAPTER_H
#define TLY_GEMM_ADAPTER_H

#include <tilery/gemm.h>
#include <tilery/gemm_module.h>

struct tly_gemm_adapter {
    const tly_context *context;
    const tly_gemm_module *module;
    tly_gemm_host host;
    void *library; /* the module's own */
    char name[TLY_GEMM_NAME_LEN];
    char version[TLY_GEMM_VERSION_LEN];
};

/* Our own kernel behind the interface of a module. */
extern const tly_gemm_module tly_gemm_own;

#endif
