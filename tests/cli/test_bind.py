# SPDX-License-Identifier: Apache-2.0
"""Programs between tensors: run --tensor, --tile, --out, --out-tile."""

import json
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

    def test_one_place_for_all(self):
        socket = f"unix:{self.folder}/s.sock"
        with Server(self.file, listen=socket):
            for place in (socket, self.file, self.model):
                self.out.unlink(missing_ok=True)
                done = run("run", LAYER, "--profile", "ieee", "--from", place, "--tensor", "x=x",
                           "--tile", "u#1=a::w:cube_n8", "--out", f"y={self.out}:y:f32:{ROWS}x{COLUMNS}")
                self.assertEqual((done.code, done.err), (0, ""))
                self.assertEqual(self.numbers(self.out, "y"), self.product())
            for code, says, place, binding in (
                    (6, 'has no tensor "none"', self.file, "x=none"),
                    (6, f"{self.file}:x", self.file, f"x={self.file}:x"),   # that is a key now
                    (2, "is no place of a tensor", self.file, "x="),
                    (6, "there is no file nosuch", "nosuch", "x=x")):
                done = run("run", LAYER, "--from", place, "--tensor", binding)
                self.assertEqual(done.code, code, done.err)
                self.assertIn(says, done.err)

    def test_weights_stored_the_other_way_round(self):
        turned = self.folder / "turned.safetensors"
        w = pack([self.w[k * COLUMNS + j] for j in range(COLUMNS) for k in range(INNER)])
        samples.safetensors(turned, {"x": ("F32", (ROWS, INNER), pack(self.x)),
                                     "w": ("F32", (COLUMNS, INNER), w)})
        file = self.folder / "turned.hrry"
        self.good("import", turned, "-o", file)
        socket = f"unix:{self.folder}/s.sock"
        with Server(file, listen=socket):
            for place in (socket, turned):
                self.out.unlink(missing_ok=True)
                cells = self.folder / "cells.hrry"
                cells.unlink(missing_ok=True)
                self.good("run", LAYER, "--profile", "ieee", "--from", place, "--stored", "nk",
                          "--tensor", "x=x", "--tile", "u#1=w", "--tile", "n#1,n#2=w", "--out",
                          f"y={self.out}:y:f32:{ROWS}x{COLUMNS}", "--out-tile", f"n#2={cells}:w")
                self.assertEqual(self.numbers(self.out, "y"), self.product())
                npy = self.folder / "w.npy"
                self.good("convert", cells, "--layout", "row-major", "-o", npy)
                half = pack([self.w[k * COLUMNS + j] for k in range(INNER) for j in range(COLUMNS // 2, COLUMNS)])
                self.assertEqual(npy.read_bytes()[-len(half):], half)

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

    def test_a_panel_goes_into_several_tiles(self):
        """What tiles hold together is the panel, whatever the layout and the number of tiles."""
        source = self.folder / "idle.s"
        source.write_text("_start: BSTART.STD RET\nC.BSTOP\n")
        tall, wide = self.folder / "tall.safetensors", samples.floats(30 * 50, 5)
        samples.safetensors(tall, {"w": ("F32", (30, 50), pack(wide))})
        for layout, step, counts in (("cube_n8", 8, (1, 2, 3, 4, 7)), ("cube_m32", 1, (1, 2, 7, 13))):
            for num in counts:
                tiles = [f"m#{15 - i}" for i in range(num)]
                out = self.folder / f"{layout}{num}.hrry"
                self.good("run", source, "--tile", f"{','.join(tiles)}={tall}:w:{layout}",
                          *(text for i, t in enumerate(tiles) for text in ("--out-tile", f"{t}={out}:{i}")))
                each = -(-(-(-50 // step)) // num) * step
                for i in range(num):
                    first, last = i * each, min((i + 1) * each, 50)
                    npy = self.folder / "part.npy"
                    self.good("convert", out, "--tensor", str(i), "--layout", "row-major", "-o", npy)
                    part = pack([wide[r * 50 + c] for r in range(30) for c in range(first, last)])
                    self.assertEqual(npy.read_bytes()[-len(part):], part, (layout, num, i))
                    self.assertIn(f"(30, {last - first})", npy.read_bytes()[:128].decode("latin-1"))
        for code, says, binding in (
                (2, "50 columns in cells of 8 are too few for 8 tiles",
                 "t#1,t#2,t#3,t#4,t#5,t#6,t#7,t#8={}:w"),
                (2, "50 columns in cells of 8 are too few for 6 tiles", "t#1,t#2,t#3,t#4,t#5,t#6={}:w"),
                (4, "only a panel of cells", "t#1,t#2={}:w:row-major"),
                (2, "or several as t#1,t#2", "t#1,t#1={}:w"),
                (2, "or several as t#1,t#2", "t#1,={}:w"),
                (2, "or several as t#1,t#2", ",t#1={}:w")):
            done = run("run", source, "--tile", binding.format(tall))
            self.assertEqual(done.code, code, done.err)
            self.assertIn(says, done.err)

    def test_tiles_are_given_back(self):
        """20 rounds that take a quarter of the capacity each, beside a tile that stays."""
        source = self.folder / "rounds.s"
        source.write_text(
            "_start: C.BSTART.STD FALL\n addi zero, 20, ->a1\n C.BSTOP\n"
            "round: BSTART.VEC TEXPANDS, S32\n B.DIM zero, 64, ->lb0\n B.DIM zero, 64, ->lb1\n"
            " B.IOR [a1, zero, zero], ->zero\n B.IOT mask=1111, last, ->t<16KB>\n C.BSTOP\n"
            " C.BSTART COND, round\n subi a1, 1, ->a1\n setc.ne a1, zero\n C.BSTOP\n"
            ".globl cross_model_stop, round\ncross_model_stop: C.BSTOP\n")
        args = ("run", source, "--tile", f"u#1={self.file}:x:row-major", "--out-tile", f"u#1={self.out}:x")
        done = run(*args)
        self.assertEqual(done.code, 8)
        self.assertRegex(done.err, r"the host does with --free-at \[tile-capacity\]")
        for more in ((), ("--trace", "text")):
            done = run(*args, "--free-at", "round", "--tiles", *more)
            self.assertEqual(done.code, 0, done.err)
            self.assertEqual(re.findall(r"^tile (\d+)", done.out, re.M), ["0", "16"])
            self.assertRegex(done.out, r"tile 0 .*\n.*\n +1 +1 ")     # what the last round made
        team = self.good("run", source, "--pes", "2", "--threads", "2", "--free-at", "round", "--tiles",
                         *args[2:4]).out
        self.assertEqual([re.findall(r"^tile (\d+)", part, re.M) for part in team.split("element ")],
                         [[], ["0", "16"], ["0"]])
        kept = json.loads(run("diff", self.out, self.file, "--json").out)
        self.assertEqual(kept["differences"], [{"name": "a::w", "differs": "only in the second file"}])
        self.fails(6, "neither an address nor a symbol", *args, "--free-at", "nosuch")

    def test_files_of_tensors_are_no_programs(self):
        for path, format in ((self.file, "hurray"), (self.model, "safetensors")):
            self.fails(4, f"{path} is a file of tensors ({format}), not a program", "run", path)
        broken = self.folder / "broken"
        broken.write_bytes(self.file.read_bytes()[:100])
        self.fails(4, "is a file of tensors (hurray)", "run", broken)
        done = run("run", self.file, "--format", "flat")        # who insists gets what he asked for
        self.assertEqual(done.code, 8)

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

