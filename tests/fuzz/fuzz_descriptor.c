/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: both decoders say the same; what is accepted is written again byte for byte, and
 * every question about it has an answer or an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/tensor.h>

#include "tensor/plain.h"
#include "tensor/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop(const char *problem) {
    fprintf(stderr, "%s\n", problem);
    abort();
}

static void use(const tly_descriptor *d, const uint8_t *bytes, size_t len) {
    static tly_nest nest;
    uint8_t *again = malloc(len);
    size_t again_len;
    uint64_t before;
    uint64_t after;
    int64_t low;
    int64_t high;
    tly_error error;
    if (tly_descriptor_encode(d, again, len, &again_len, &error) != TLY_OK || again_len > len) {
        stop(error.message);
    }
    if (d->version_minor == 0 && (again_len != len || memcmp(again, bytes, len) != 0)) {
        stop("written differently");
    }
    free(again);
    (void)tly_descriptor_check_buffers(d, &error);
    (void)tly_descriptor_num_elements(d, &before);
    (void)tly_descriptor_data_len(d, &before);
    if (tly_descriptor_nest(d, &nest, &error) == TLY_OK &&
        tly_nest_extent(&nest, &low, &high) == TLY_OK &&
        tly_descriptor_span(d, &before, &after) == TLY_OK && low >= 0 && high >= 0 && high > 0 &&
        after == 0) {
        stop("a layout with elements needs no bytes");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    tly_descriptor d;
    tly_error error;
    char *meaning;
    uint32_t len = 0;
    tly_status status = tly_descriptor_decode(data, size, work, sizeof work, &d, &len, &error);
    const char *rule = plain_decode(data, size, &meaning);
    const char *ours = status == TLY_OK ? "" : error.rule;
    if (strcmp(ours, rule) != 0) {
        fprintf(stderr, "\"%s\" against \"%s\"\n", ours, rule);
        abort();
    }
    if (status == TLY_OK) {
        char *text = text_of(&d);
        if (strcmp(text, meaning) != 0) {
            stop("read differently");
        }
        free(text);
        use(&d, data, len);
    }
    free(meaning);
    return 0;
}
