/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/operand.h"

#include <math.h>
#include <string.h>

static const struct triple {
    tly_dtype a, b, c;
} triples[] = {
    {TLY_F32, TLY_F32, TLY_F32},
    {TLY_F64, TLY_F64, TLY_F64},
    {TLY_BF16, TLY_BF16, TLY_F32},
    {TLY_U8, TLY_I8, TLY_I32},
};

int tly_operand_types(tly_dtype b, tly_dtype *out_a, tly_dtype *out_c) {
    for (size_t i = 0; i < sizeof triples / sizeof triples[0]; i++) {
        if (triples[i].b == b) {
            *out_a = triples[i].a;
            *out_c = triples[i].c;
            return 1;
        }
    }
    return 0;
}

static uint64_t next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void tly_operand_fill(tly_dtype dtype, void *elements, uint64_t count, uint64_t seed) {
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = next(&seed);
        double unit = (double)(int64_t)bits * 0x1p-63;
        switch (dtype) {
        case TLY_F32:
            ((float *)elements)[i] = (float)((int32_t)(bits >> 32) >> 8) * 0x1p-23f;
            break;
        case TLY_F64:
            ((double *)elements)[i] = unit;
            break;
        case TLY_BF16: { /* seven bits and a sign are exact */
            float value = (float)((int32_t)(bits >> 32) >> 24) * 0x1p-7f;
            uint32_t word;
            memcpy(&word, &value, sizeof word);
            ((uint16_t *)elements)[i] = (uint16_t)(word >> 16);
            break;
        }
        case TLY_I32:
            ((int32_t *)elements)[i] = (int32_t)(bits >> 48) - 32768;
            break;
        default: /* i8, u8 */
            ((uint8_t *)elements)[i] = (uint8_t)(bits >> 56);
            break;
        }
    }
}

double tly_operand_value(tly_dtype dtype, const void *elements, uint64_t index) {
    switch (dtype) {
    case TLY_F32:
        return ((const float *)elements)[index];
    case TLY_F64:
        return ((const double *)elements)[index];
    case TLY_BF16: {
        uint32_t word = (uint32_t)((const uint16_t *)elements)[index] << 16;
        float value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    case TLY_I32:
        return ((const int32_t *)elements)[index];
    case TLY_I8:
        return ((const int8_t *)elements)[index];
    default: /* u8 */
        return ((const uint8_t *)elements)[index];
    }
}

void tly_operand_reference(tly_dtype a_dtype, const void *a, tly_dtype b_dtype, const void *b,
                           int stored_nk, uint64_t m, uint64_t n, uint64_t k, double *c) {
    for (uint64_t at = 0; at < m * n; at++) {
        c[at] = 0;
    }
    for (uint64_t i = 0; i < m; i++) {
        if (stored_nk) { /* B is walked in the order in which it stands */
            for (uint64_t j = 0; j < n; j++) {
                double sum = 0;
                for (uint64_t p = 0; p < k; p++) {
                    sum += tly_operand_value(a_dtype, a, i * k + p) *
                           tly_operand_value(b_dtype, b, j * k + p);
                }
                c[i * n + j] = sum;
            }
        } else {
            for (uint64_t p = 0; p < k; p++) {
                double left = tly_operand_value(a_dtype, a, i * k + p);
                for (uint64_t j = 0; j < n; j++) {
                    c[i * n + j] += left * tly_operand_value(b_dtype, b, p * n + j);
                }
            }
        }
    }
}

double tly_operand_error(tly_dtype c_dtype, const void *c, const double *reference,
                         uint64_t count) {
    double largest = 0, worst = 0;
    for (uint64_t i = 0; i < count; i++) {
        double difference = fabs(tly_operand_value(c_dtype, c, i) - reference[i]);
        largest = fmax(largest, fabs(reference[i]));
        worst = isnan(difference) ? INFINITY : fmax(worst, difference);
    }
    return largest > 0 ? worst / largest : worst;
}
