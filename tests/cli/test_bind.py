# SPDX-License-Identifier: Apache-2.0
"""Programs between tensors: run --tensor, --tile, --out, --out-tile."""

import re
import struct

import samples
from command import ROOT, CommandTest, Server, run

LAYER = ROOT / "examples/pto/layer.s"
ROWS, INNER, COLUMNS = 8, 64, 32
LEN = struct.calcsize(f"{ROWS * COLUMNS}f")


def pack(values):
    return struct.pack(f"<{len(values)}f", *values)


class Bind(CommandTest):
    def setUp(self):
        super().setUp()
        self.x = samples.floats(ROWS * INNER, 3)
        self.w = samples.floats(INNER * COLUMNS, 4)
        model = self.folder / "m.safetensors"
        samples.safetensors(model, {"x": ("F32", (ROWS, INNER), pack(self.x)),
                                    "a::w": ("F32", (INNER, COLUMNS), pack(self.w))})
        self.file = self.folder / "m.hrry"
        self.good("import", model, "-o", self.file)
        self.model = model
        self.out = self.folder / "out.hrry"

    def product(self):
        # samples have seven bits and a sign: sums of 64 products are exact in FP32
        return [sum(self.x[i * INNER + k] * self.w[k * COLUMNS + j] for k in range(INNER))
                for i in range(ROWS) for j in range(COLUMNS)]

    def layer(self, x, w, *more):
        return run("run", LAYER, "--profile", "ieee", "--tensor", f"x={x}", "--tile", f"u#1={w}", *more)

    def numbers(self, path, key):
        npy = self.folder / (key + ".npy")
        self.good("convert", path, "--tensor", key, "--layout", "row-major", "-o", npy)
        return list(struct.unpack(f"<{ROWS * COLUMNS}f", npy.read_bytes()[-LEN:]))

    def test_from_a_server(self):
        socket = f"unix:{self.folder}/s.sock"
        with Server(self.file, listen=socket) as server:
            done = self.layer(f"{socket}:x", f"{socket}:a::w", "--out",
                              f"y={self.out}:y:f32:{ROWS}x{COLUMNS}", "--out-tile", f"m#1={self.out}:cells")
            self.assertEqual((done.code, done.err), (0, ""))
        self.assertEqual(server.stats["packed"], 1)
        self.assertEqual(self.numbers(self.out, "y"), self.product())
        self.assertEqual(self.numbers(self.out, "cells"), self.product())

    def test_from_files(self):
        packed = self.folder / "packed.hrry"
        socket = f"unix:{self.folder}/s.sock"
        with Server(self.file, listen=socket):
            self.good("get", socket, "a::w", "--layout", "cube_n8", "-o", packed)
        for x, w in ((self.file, self.file), (self.model, f"{self.model}:a::w:cube_n8"), (self.model, packed)):
            self.out.unlink(missing_ok=True)
            w = w if ":" in str(w) else f"{w}:a::w"
            done = self.layer(f"{x}:x", w, "--out", f"y={self.out}:y:f32:{ROWS}x{COLUMNS}")
            self.assertEqual((done.code, done.err), (0, ""))
            self.assertEqual(self.numbers(self.out, "y"), self.product())

    def test_every_layout_comes_back(self):
        """A tile and memory that a program does not touch are what was put there."""
        source = self.folder / "idle.s"
        source.write_text("_start: BSTART.STD RET\nC.BSTOP\n.data\n.size x, 2048\nx: .zero 2048\n")
        for layout in ("row-major", "cube_m16", "cube_m32", "cube_n8"):
            self.out.unlink(missing_ok=True)
            self.good("run", source, "--tile", f"n#3={self.file}:x:{layout}",
                      "--out-tile", f"50={self.out}:x")
            npy = self.folder / "x.npy"
            self.good("convert", self.out, "--layout", "row-major", "-o", npy)
            self.assertEqual(npy.read_bytes()[-len(pack(self.x)):], pack(self.x), layout)
        self.out.unlink()
        self.good("run", source, "--tensor", f"x={self.file}:x:column-major", "--out", f"x={self.out}:x")
        self.assertRegex(self.good("ls", self.out).out, r"u8 +\[2048\]")

    def test_wrong_bindings(self):
        f = self.file
        for code, says, *args in (
                (2, "--tensor takes", "--tensor", "x"),
                (2, "is no place of a tensor", "--tensor", "x=m.hrry"),
                (2, "is no place of a tensor", "--tensor", "x=unix:/a.sock"),
                (6, 'has no tensor "none"', "--tensor", f"x={f}:none"),
                (6, "neither an address nor a symbol", "--tensor", f"nosuch={f}:x"),
                (2, "has room for 1024 bytes, and the tensor has 8192", "--tensor", f"y={f}:a::w"),
                (2, "do not lie in memory", "--tensor", f"0x3fffffff={f}:x"),
                (5, "cannot connect", "--tensor", "x=tcp:[::1]:1:x"),
                (2, "--tile takes", "--tile", f"q#1={f}:x"),
                (2, "--tile takes", "--tile", f"t#17={f}:x"),
                (4, "panel is not one of CUBE cells", "--tile", f"u#1={f}:x:nr16"),
                (2, "--out takes", "--out", "y=o.hrry"),
                (2, "needs SYMBOL=FILE:KEY:TYPE:SHAPE", "--out", f"0x4000={self.out}:y"),
                (2, "element type in front", "--out", f"y={self.out}:y:f33:3"),
                (2, "has room for 1024 bytes", "--out", f"y={self.out}:y:f32:8x33"),
                (5, "/no/such", "--out", "y=/no/such/o.hrry:y:f32:8"),
                (8, "tile 16 is no defined matrix B", "--out", f"y={self.out}:y")):
            done = run("run", LAYER, "--profile", "ieee", *args)
            self.assertEqual(done.code, code, f"{args}: {done.err}")
            self.assertIn(says, done.err)
            self.assertFalse(self.out.exists(), args)
        done = self.layer(f"{f}:x", f"{f}:a::w", "--out-tile", f"n#1={self.out}:k")
        self.assertEqual((done.code, bool(re.search("tile 48 is not allocated", done.err))), (6, True))
        self.assertFalse(self.out.exists())

