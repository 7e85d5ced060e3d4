/* SPDX-License-Identifier: Apache-2.0 */
#include "import_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return import_input_run(TLY_IMPORT_MATRIX_MARKET, data, size);
}
