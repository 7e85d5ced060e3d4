/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two machines of the same sizes are in the same state, memory and elements of tiles aside.
 */
#ifndef TLY_TESTS_FUZZ_SAME_STATE_H
#define TLY_TESTS_FUZZ_SAME_STATE_H

#include <stdbool.h>
#include <string.h>

#include "pto/fields.h"

static inline bool same_state(const tly_pto_machine *a, const tly_pto_machine *b) {
    tly_pto_place place = {0};
    if (memcmp(&a->core, &b->core, sizeof(a->core)) == 0) {
        return true;
    }
    while (tly_pto_place_next(a, &place)) { /* bytes between members may differ */
        if (tly_pto_place_read(a, &place) != tly_pto_place_read(b, &place)) {
            return false;
        }
    }
    return true;
}

#endif
