/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of layout entries. Bytes 0 and 1 are the count; what is accepted must serialise to the same
 * bytes again. */
#include <stdlib.h>
#include <string.h>

#include <tilery/wire.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tly_wire_layouts list, rest, again;
    tly_wire_layout layout, *entries;
    tly_error error;
    uint32_t num, n = 0;
    uint8_t *copy;
    if (size < 2) {
        return 0;
    }
    num = data[0] | (uint32_t)data[1] << 8;
    if (tly_wire_layouts_get(data + 2, size - 2, num, &list, &error) != TLY_OK) {
        if (error.status != TLY_TRUNCATED || error.offset > size - 2) {
            abort();
        }
        return 0;
    }
    entries = calloc(num + 1u, sizeof *entries);
    for (rest = list; tly_wire_layouts_next(&rest, &layout);) {
        entries[n++] = layout;
    }
    copy = malloc(list.len + 1u);
    if (n != num || rest.len != 0 || list.len > size - 2 ||
        tly_wire_layouts_put(entries, n, copy, list.len, &again, &error) != TLY_OK ||
        again.len != list.len || memcmp(copy, list.bytes, list.len) != 0) {
        abort();
    }
    free(copy);
    free(entries);
    return 0;
}
