# SPDX-License-Identifier: Apache-2.0
"""The layer and the attention head of examples/pto by a slow model of the numeric profile tilery-ieee-1
(docs/spec/ieee-profile.md), bit for bit, and in doubles with a bound of the error. Matrices are lists of rows.

Floats of Python are FP64. The sum, product and quotient of two FP32 numbers, rounded to FP64 and then to FP32,
is rounded as if at once. A fused multiply-add is not where FP64 ends between two numbers of FP32, in the middle:
that is looked at exactly."""

import decimal
import fractions
import math
import struct

SPLIT = 2.0 ** 29 + 1
UNIT = 2.0 ** -24
HALVES = (0.5, -0.5)
TO_32 = struct.Struct("<f")


def to_32(x):
    return TO_32.unpack(TO_32.pack(x))[0]


def fma_exactly(a, b, c):
    """Only for ties, so the result is a normal number."""
    exact = fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c)
    bits = struct.unpack("<I", TO_32.pack(float(exact)))[0]
    around = [(TO_32.unpack(struct.pack("<I", n))[0], n & 1) for n in (bits - 1, bits, bits + 1)]
    return min(around, key=lambda v: (abs(fractions.Fraction(v[0]) - exact), v[1]))[0]


def dot(left, right):
    """Products added one after the other, each by one fused multiply-add in FP32."""
    total = 0.0
    for a, b in zip(left, right):
        rounded = a * b + total                 # the product is exact, the sum rounded to 53 bits
        high = SPLIT * rounded
        near = high - (high - rounded)          # to the nearest of 24 bits, but for ties
        rest = rounded - near
        if rest and math.frexp(rest)[0] in HALVES:
            near = fma_exactly(a, b, total)
        total = near
    return total


def exp_32(x):
    guess = math.exp(x)
    low, high = guess * (1 - 2.0 ** -50), guess * (1 + 2.0 ** -50)
    if to_32(low) == to_32(high):
        return to_32(guess)
    with decimal.localcontext() as context:
        context.prec = 60
        return to_32(float(decimal.Decimal(x).exp()))   # 60 digits decide in FP64, which is no tie then


def sum_32(values):
    """Sixteen lanes, and then a tree."""
    lanes = [0.0] * 16
    for i, value in enumerate(values):
        lanes[i % 16] = to_32(lanes[i % 16] + value)
    for half in (8, 4, 2, 1):
        for i in range(half):
            lanes[i] = to_32(lanes[i] + lanes[i + half])
    return lanes[0]


def columns(matrix):
    return list(zip(*matrix))


def product(left, right, bias=None):
    turned = columns(right)
    rows = [[dot(row, column) for column in turned] for row in left]
    return rows if bias is None else [[to_32(v + b) for v, b in zip(row, bias)] for row in rows]


def dense(x, w, b):
    def swish(z):
        return to_32(z / to_32(exp_32(-z) + 1.0))
    return [[swish(z) for z in row] for row in product(x, w, b)]


def parts(w, b, head, size):
    """(weights, bias) of queries, keys and values of one head."""
    width = len(b) // 3
    for first in (head * size, width + head * size, 2 * width + head * size):
        yield [row[first:first + size] for row in w], b[first:first + size]


def attention(x, w, b, scale, head, size):
    q, k, v = (product(x, weights, bias) for weights, bias in parts(w, b, head, size))
    rows = []
    for row in product(q, columns(k)):
        scores = [to_32(value * scale) for value in row]
        largest = max(scores)
        powers = [exp_32(to_32(score - largest)) for score in scores]
        total = sum_32(powers)
        rows.append([to_32(power / total) for power in powers])
    return product(rows, v)


def dense_in_doubles(x, w, b):
    """[(value, bound)]: what FP32 may be off by in whatever order it adds: each of the sum's roundings by half
    a unit of what has come together. The slope of swish is below 1.1; its own five roundings come on top."""
    turned, found = columns(w), []
    for row in x:
        for column, add in zip(turned, b):
            z = math.fsum(p * q for p, q in zip(row, column)) + add
            size = math.fsum(abs(p * q) for p, q in zip(row, column)) + abs(add)
            y = z / (1 + math.exp(-z))
            found.append((y, 1.1 * (len(row) + 2) * UNIT * size + 8 * UNIT * abs(y)))
    return found
