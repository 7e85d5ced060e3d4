/* SPDX-License-Identifier: Apache-2.0 */
/* Panel profiles: decoded, encoded again, bound and packed, against a second reader and packer. */
#include <stdio.h>
#include <stdlib.h>

#include "panel/agree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tly_context *context;
    agree_result result;
    uint64_t seed = size;
    if (tly_context_new(NULL, &context, NULL) != TLY_OK) {
        abort();
    }
    for (size_t i = 0; i < size; i++) {
        seed = seed * 31 + data[i];
    }
    result = agree(context, data, size, seed, 2);
    tly_context_free(context);
    if (result.problem != NULL) {
        fprintf(stderr, "%s\n", result.problem);
        abort();
    }
    return 0;
}
