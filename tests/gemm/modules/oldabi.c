/* SPDX-License-Identifier: Apache-2.0 */
/* A module for another version of the interface. It uses nothing but the public header. */
#include <tilery/gemm_module.h>

TLY_API const tly_gemm_module *tly_gemm_module_get(void);

const tly_gemm_module *tly_gemm_module_get(void) {
    static const tly_gemm_module module = {.abi = 999, .size = sizeof module, .name = "oldabi"};
    return &module;
}
