# SPDX-License-Identifier: Apache-2.0
"""A layer and an attention head of a real model, weights from one server: by PTO programs, bit for bit as a
slow model has them, and by oneDNN, as near as FP32 can be."""

import json
import os
import re
import subprocess
import sys

import exact
import samples
from command import BUILD, ROOT, CommandTest, Server, run

sys.path.insert(0, str(ROOT / "tools/demo"))
import model  # noqa: E402
import ocr  # noqa: E402

PROGRAM = BUILD / "transformer"
SIZE = ocr.WIDTH // ocr.HEADS
KEPT = BUILD / "demo"       # where `make demo-pto` has the model
ATOL = 1e-5                 # of the tutorial
ROUNDS = int(os.environ.get("TILERY_ROUNDS", "0"))      # of `make proof`: inputs, and then every element
SEED = int(os.environ.get("TILERY_SEED", "0"))


class Ocr(CommandTest):
    def serve(self, model_file, rows, seed=0):
        for name, source in (("model.hrry", model_file), ("tokens.hrry", self.folder / "tokens.safetensors")):
            if source.name == "tokens.safetensors":
                ocr.tokens(source, rows, seed)
            self.good("import", source, "-o", self.folder / name)
        self.address = f"unix:{self.folder}/s.sock"
        return Server(self.folder / "model.hrry", self.folder / "tokens.hrry", listen=self.address)

    def stand_in(self):
        path = self.folder / "ocr.onnx"
        ocr.generate(path)
        return path

    def matrix(self, file, key):
        """A list of rows; a vector for one axis or none."""
        raw = self.folder / "tensor.safetensors"
        self.good("convert", file, "--tensor", key, "--layout", "row-major", "-o", raw)
        (shape, values), = samples.read_floats(raw).values()
        return values if len(shape) < 2 else [values[i:i + shape[1]] for i in range(0, len(values), shape[1])]

    def machine(self, program, free_at, rows, out, *args):
        done = run("run", ROOT / "examples/pto" / program, "--profile", "ieee", "--free-at", free_at,
                   "--arg", str(rows), "--from", self.address, "--tensor", "x=x", "--out", out, *args)
        self.assertEqual((done.code, done.err), (0, ""))

    def dense(self, rows):
        out = self.folder / f"y{rows}.hrry"
        self.machine("dense.s", "rows", rows, f"y={out}:y:f32:{rows}x{ocr.HIDDEN}",
                     "--tile", "u#1,u#2=linear_79.w_0", "--tensor", "b=linear_79.b_0")
        return out

    def head(self, rows, head):
        out = self.folder / f"o{rows}-{head}.hrry"
        self.machine("attention.s", "round", rows, f"o={out}:o:f32:{rows}x{SIZE}", "--arg", str(head),
                     "--tensor", "w=linear_77.w_0", "--tensor", "b=linear_77.b_0",
                     "--tensor", f"scale={ocr.SCALE}")
        return out

    def transformer(self, *args):
        if not PROGRAM.exists():
            self.skipTest("oneDNN is not installed, so build/transformer was not built")
        return subprocess.run([PROGRAM, *args], capture_output=True, text=True)

    def by_onednn(self, *what):
        out = self.folder / f"onednn-{'-'.join(what)}.hrry"
        done = self.transformer(self.address, *what, out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        key, len_, layout = re.fullmatch(r"(\S+): (\d+) bytes, multiplied where they arrived; (.*)\n",
                                         done.stdout).groups()
        if what[0] == "dense" and layout.startswith("B "):     # what the command says of the same product
            same = json.loads(self.good("multiply", self.address, key, "--kernel", "onednn", "--runs", "0",
                                        "--json").out)
            self.assertEqual((same["bytes_fetched"], same["bytes_repacked"]), (int(len_), 0))
            self.assertEqual(same["profile"], layout)
        return out

    def alike(self, ours, theirs):
        done = run("diff", ours, theirs, "--atol", str(ATOL), "--json")
        self.assertEqual(done.code, 0, done.out + done.err)
        found = json.loads(done.out)
        self.assertEqual((found["tensors"], found["different"]), (1, 0))
        self.assertLess(found["largest"], ATOL)

    def weights(self, layer):
        file = self.folder / "model.hrry"
        return self.matrix(file, f"linear_{layer}.w_0"), self.matrix(file, f"linear_{layer}.b_0")

    def check_dense(self, rows, some):
        """All rows against oneDNN; those of `some` bit for bit, and both within the bound."""
        y, theirs = self.dense(rows), self.by_onednn("dense")
        self.alike(y, theirs)
        x = self.matrix(self.folder / "tokens.hrry", "x")
        w, b = self.weights(79)
        ours, others = self.matrix(y, "y"), self.matrix(theirs, "y")
        self.assertEqual(len(ours), rows)
        some_x = [x[i] for i in some]
        self.assertEqual([ours[i] for i in some], exact.dense(some_x, w, b))
        bounds = iter(exact.dense_in_doubles(some_x, w, b))
        for i in some:
            for mine, other in zip(ours[i], others[i]):
                value, bound = next(bounds)
                self.assertLessEqual(abs(mine - value), bound)
                self.assertLessEqual(abs(other - value), bound)

    def check_head(self, rows, head):
        o = self.head(rows, head)
        self.alike(o, self.by_onednn("head", str(head)))
        w, b = self.weights(77)
        scale, = self.matrix(self.folder / "model.hrry", ocr.SCALE)
        x = self.matrix(self.folder / "tokens.hrry", "x")
        self.assertEqual(self.matrix(o, "o"), exact.attention(x, w, b, scale, head, SIZE))

    def test_the_model(self):
        """61 tokens: three rounds of 16 and one of 13; one of 32 and one of 29."""
        path, reason = model.fetch(self.kept(), ocr.RECOGNITION)
        if path is None:
            self.skipTest(f"{ocr.RECOGNITION.package} is not to be had: {reason}")
        for turn in range(max(ROUNDS, 1)):
            with self.serve(path, 61, SEED + turn) as server:
                self.check_dense(61, range(61) if ROUNDS else (0, 17, 31, 47, 48, 60))
                for head in range(ocr.HEADS) if ROUNDS else (3,):
                    self.check_head(61, head)
            self.assertEqual(server.stats["refused"], 0)
            if not ROUNDS:      # cells of W, oneDNN's panels of W for two clients and of W_qkv for one
                self.assertEqual(server.stats["packed"], 4)

    def kept(self):
        for folder in (KEPT, ROOT / "build/demo"):
            if model.kept(folder, ocr.RECOGNITION):
                return folder
        KEPT.mkdir(parents=True, exist_ok=True)
        return KEPT

    def test_any_number_of_tokens(self):
        """Single rows, full rounds, the largest number; the first head and the last."""
        path = self.stand_in()
        for rows, head in ((1, 0), (33, 7), (128, 2)):
            with self.serve(path, rows):
                y, o = self.dense(rows), self.head(rows, head)
                self.alike(y, self.by_onednn("dense"))
                self.alike(o, self.by_onednn("head", str(head)))
                if rows == 1:
                    self.check_dense(rows, (0,))
                    self.check_head(rows, head)

    def test_what_does_not_fit_is_told(self):
        path = self.stand_in()
        with self.serve(path, 129):
            program = ROOT / "examples/pto/dense.s"
            self.fails(2, "x has room for 61440 bytes, and the tensor has 61920", "run", program,
                       "--tensor", f"x={self.address}:x")
            self.fails(2, "a panel of 115200 bytes goes into several tiles; one holds 65536: name several",
                       "run", program, "--tile", f"u#1={self.address}:linear_79.w_0")
            for code, says, *args in ((2, "usage:"), (2, "usage:", self.address, "head", "8", "o"),
                                      (1, "transformer: unix:/nowhere: ", "unix:/nowhere", "dense", "o"),
                                      (1, "/no/such/o", self.address, "dense", "/no/such/o")):
                done = self.transformer(*args)
                self.assertEqual((done.returncode, done.stdout[:1] == "l"), (code, "/no/such/o" in args))
                self.assertIn(says, done.stderr)


class Demo(CommandTest):
    def pto(self, build, *args):
        return subprocess.run([sys.executable, ROOT / "tools/demo/pto.py", build, "--out", self.folder, *args],
                              capture_output=True, text=True, env={**os.environ, "TILERY_DEMO_OFFLINE": "1"})

    def test_all_heads(self):
        if not PROGRAM.exists():
            self.skipTest("oneDNN is not installed, so build/transformer was not built")
        done = self.pto(BUILD, "--rows", "7")
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = re.findall(r"^(layer|head \d) +7 x (240|15) +(\S+)$", done.stdout, re.M)
        self.assertEqual([p[0] for p in parts], ["layer"] + [f"head {i}" for i in range(8)])
        self.assertTrue(all(float(p[2]) < ATOL for p in parts))
        self.assertIn("model: made here, because", done.stdout)
        self.assertFalse((self.folder / "pto.sock").exists())

    def test_what_is_missing_is_told(self):
        done = self.pto(self.folder)
        self.assertEqual((done.returncode, "run `make` first" in done.stderr), (1, True))
        self.assertEqual(self.pto(BUILD, "--rows", "129").returncode, 2)


class Stand(CommandTest):
    def test_what_stands_in_is_named(self):
        done = subprocess.run([sys.executable, ROOT / "tools/demo/ocr.py", self.folder, "5"],
                              capture_output=True, text=True, env={**os.environ, "TILERY_DEMO_OFFLINE": "1"})
        self.assertIn("ocr.onnx: made here, because the demo was told not to use the network", done.stdout)
        self.assertIn("tokens.safetensors: 5 rows of 120 numbers", done.stdout)
        listed = json.loads(run("ls", self.folder / "ocr.onnx", "--json").out)["tensors"]
        self.assertEqual({t["name"]: tuple(t["shape"]) for t in listed}, ocr.TENSORS)


class Exact(CommandTest):
    """The slow model itself."""

    def test_a_fused_multiply_add_is_rounded_once(self):
        unit = 2.0 ** -23
        for a, b, c, wanted in ((1.0, unit / 2, 1.0, 1.0),                      # ties go to even
                                (1.0, unit / 2, 1 + unit, 1 + 2 * unit),
                                (1 + unit, 1 - unit, -1.0, -unit * unit),       # nothing is lost
                                # below the middle by less than FP64 has there
                                (unit / 2 * (1 + unit), 1 - unit, 1 + unit, 1 + unit)):
            self.assertEqual(exact.fma_exactly(a, b, c) if wanted > 0 else wanted, wanted)
            self.assertEqual(exact.dot([c, a], [1.0, b]), wanted)

    def test_sums_are_those_of_fractions(self):
        values = samples.floats(600, 9)
        small = [v * 2.0 ** (i % 50 - 25) for i, v in enumerate(values)]
        total = 0.0
        for a, b in zip(values, small):
            total = exact.fma_exactly(a, b, total) if total else exact.to_32(a * b)
        self.assertEqual(exact.dot(values, small), total)
