/* SPDX-License-Identifier: Apache-2.0 */
#include "asm/suggest.h"

#include <string.h>

#include "base/text.h"
#include "isa/table.h"

#define MAX_LEN 63

unsigned tly_asm_distance(const char *a, size_t a_len, const char *b, size_t b_len,
                          unsigned limit) {
    unsigned row[MAX_LEN + 1];
    if (a_len > MAX_LEN || b_len > MAX_LEN) {
        return limit + 1;
    }
    for (size_t j = 0; j <= b_len; j++) {
        row[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        unsigned corner = row[0], best = row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned change = corner + (tly_text_upper(a[i - 1]) != tly_text_upper(b[j - 1]));
            unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            corner = row[j];
            row[j] = change < other ? change : other;
            best = row[j] < best ? row[j] : best;
        }
        if (best > limit) {
            return limit + 1;
        }
    }
    return row[b_len] > limit ? limit + 1 : row[b_len];
}

const char *tly_asm_suggest_mnemonic(const char *name, size_t len) {
    unsigned best = len < 4 ? 2 : 3; /* more changes than this are no misspelling */
    const char *found = NULL;
    for (uint32_t i = 0; i < tly_isa_num_mnemonics(); i++) {
        const char *mnemonic = tly_isa_mnemonic_at(i);
        unsigned distance = tly_asm_distance(name, len, mnemonic, strlen(mnemonic), best - 1);
        if (distance < best) {
            best = distance;
            found = mnemonic;
            if (best == 0) {
                break;
            }
        }
    }
    return found;
}
