# SPDX-License-Identifier: Apache-2.0
"""A fully connected layer as safetensors: x (ROWS x INNER) and w (INNER x COLUMNS) in one file, y = x w in
another.

Elements have seven bits and a sign, so every sum is exact in f32, in whatever order it is taken."""

import json
import struct
import sys


def numbers(count, state):
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        yield ((state >> 16) % 255 - 127) / 128


def write(path, tensors):
    head, data = {}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    rows, inner, columns = (int(text) for text in sys.argv[1:4])
    x = list(numbers(rows * inner, 1))
    w = list(numbers(inner * columns, 2))
    y = [sum(x[i * inner + k] * w[k * columns + j] for k in range(inner))
         for i in range(rows) for j in range(columns)]
    write(sys.argv[4], {"x": ((rows, inner), x), "w": ((inner, columns), w)})
    write(sys.argv[5], {"y": ((rows, columns), y)})


if __name__ == "__main__":
    main()
