/* SPDX-License-Identifier: Apache-2.0 */
/* Ground of the second decoder (plain.h): numbers out of bytes, and stopping at a broken rule. */
#ifndef TLY_TESTS_TENSOR_PLAIN_BASE_H
#define TLY_TESTS_TENSOR_PLAIN_BASE_H

#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include "tensor/text.h"

typedef struct plain {
    const uint8_t *bytes;
    uint64_t len; /* readable: the descriptor's own length once it is known */
    uint64_t at;
    uint64_t rank;
    uint64_t shape[64];
    uint64_t layout;
    uint64_t flags;
    uint64_t nnz;
    uint64_t byte_offset;
    uint64_t type;
    uint64_t page_size;
    uint64_t num_pages;
    uint64_t num_buffers;
    uint64_t sizes[255];
    text_buffer t;
    text_buffer sections[2];
    const char *rule; /* "" when accepted, or the rule that is broken */
    jmp_buf out;
} plain;

static inline void plain_stop(plain *p, const char *rule) {
    p->rule = rule;
    longjmp(p->out, 1);
}

static inline uint64_t plain_number(plain *p, unsigned num_bytes) {
    uint64_t v = 0;
    for (unsigned i = 0; i < num_bytes; i++) {
        if (p->at >= p->len) {
            plain_stop(p, "D-LEN-TRUNC");
        }
        v += (uint64_t)p->bytes[p->at++] << (8 * i);
    }
    return v;
}

static inline void plain_numbers(plain *p, const char *name, unsigned num_bytes, int is_signed) {
    text_add(&p->t, "\"%s\":[", name);
    for (uint64_t k = 0; k < p->rank; k++) {
        uint64_t v = plain_number(p, num_bytes);
        text_add(&p->t, k != 0 ? "," : "");
        if (is_signed) {
            text_add(&p->t, "%lld", (long long)v);
        } else {
            text_add(&p->t, "%llu", (unsigned long long)v);
        }
    }
    text_add(&p->t, "]");
}

static inline void plain_zeros(plain *p, int count, const char *rule) {
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        wrong |= plain_number(p, 1) != 0;
    }
    if (wrong) {
        plain_stop(p, rule);
    }
}

/* How many buffers the layout has. */
static inline uint64_t plain_count(const plain *p) {
    switch (p->layout) {
    case 6:
        return 2;
    case 7:
    case 8:
    case 10:
        return 3;
    case 9:
        return 2 * p->rank + 1;
    default:
        return 1;
    }
}

#endif
