/* SPDX-License-Identifier: Apache-2.0 */
/* Access rules. Whatever is accepted allows nobody what `anyone` with no rule may not, and what
 * somebody may by a prefix, he may with every longer key. */
#include <stdlib.h>
#include <string.h>

#include "serve/access.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char key[] = "models/layer.0/weight";
    tly_context *context;
    tly_access *access;
    tly_error error;
    if (tly_context_new(NULL, &context, NULL) != TLY_OK) {
        abort();
    }
    if (tly_access_parse(context, (const char *)data, size, &access, &error) != TLY_OK) {
        if (access != NULL || error.message[0] == '\0' || error.rule[0] == '\0') {
            abort();
        }
        tly_context_free(context);
        return 0;
    }
    for (uint32_t who = 0; who < tly_access_num_names(access); who++) {
        int before = 0;
        for (size_t len = 0; len < sizeof key; len++) {
            int may = tly_access_allows(access, who, TLY_ACCESS_GET, key, len);
            int nobody = tly_access_allows(access, TLY_ACCESS_NOBODY, TLY_ACCESS_GET, key, len);
            if (before > may || nobody > may) {
                abort();
            }
            before = may;
        }
    }
    if (tly_access_num_rules(access) == 0 &&
        tly_access_allows(access, TLY_ACCESS_ANYONE, TLY_ACCESS_PUT, key, sizeof key - 1)) {
        abort();
    }
    if (tly_access_by_token(access, data, size < 15 ? size : 15) != TLY_ACCESS_NOBODY) {
        abort(); /* no token is that short */
    }
    tly_access_free(access);
    tly_context_free(context);
    return 0;
}
