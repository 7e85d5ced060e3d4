# SPDX-License-Identifier: Apache-2.0
"""The commands that look into files of tensors, through the built command."""

import gzip
import json
import os
import struct
import subprocess
import zipfile

import samples
from command import ROOT, TILERY, CommandTest, run

VECTORS = ROOT / "tests/vectors/hurray"


def stream(name):
    """One of the format's own streams, as bytes."""
    with gzip.open(VECTORS / "streams.hex.gz", "rt") as lines:
        return next(bytes.fromhex(line.split("\t")[1]) for line in lines if line.startswith(name))


class Inspect(CommandTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.hrry"
        self.safe = self.folder / "model.safetensors"
        samples.safetensors(self.safe, {"a": ("F32", (2, 2), struct.pack("<4f", 1, 2, 3, 4)),
                                        "b": ("I8", (3,), bytes(3))}, {"format": "pt"})
        self.good("import", self.safe, "-o", self.out)

    def test_container(self):
        text = self.good("inspect", self.out).out
        self.assertIn('format = "pt"', text)
        self.assertIn("f32 [2, 2], 16 B", text)
        self.assertIn("alignment 64, CPU", text)

    def test_json(self):
        seen = json.loads(self.good("inspect", self.out, "--json").out)
        self.assertEqual(seen["format"], "hurray")
        self.assertEqual(seen["metadata"], [{"key": "format", "value": "pt"}])
        self.assertEqual([t["name"] for t in seen["tensors"]], ["a", "b"])
        self.assertEqual(seen["tensors"][0]["buffers"],
                         [{"bytes": 16, "alignment": 64, "device": "CPU", "memory_class": 0,
                           "sync_mode": 0}])

    def test_importable_file_and_one_tensor(self):
        seen = json.loads(self.good("inspect", self.safe, "--json", "--tensor", "b").out)
        self.assertEqual(seen["format"], "safetensors")
        self.assertEqual([t["name"] for t in seen["tensors"]], ["b"])
        done = run("inspect", self.safe, "--tensor", "c")
        self.assertEqual(done.code, 6)

    def test_hex_has_every_byte(self):
        seen = json.loads(self.good("inspect", self.out, "--json", "--hex").out)
        fields = seen["tensors"][0]["fields"]
        self.assertEqual(fields[0]["label"], "magic")
        at = 0
        for field in fields:
            self.assertEqual(field["offset"], at)
            at += field["length"]
        self.assertEqual(at, 61)
        text = self.good("inspect", self.out, "--hex", "--tensor", "a").out
        self.assertIn("48 52 52 59", text)
        self.assertIn("descriptor length: 61", text)

    def test_stream_from_a_pipe(self):
        path = self.folder / "s.hrrys"
        path.write_bytes(stream("s0948"))
        with path.open("rb") as pipe:
            seen = json.loads(self.good("inspect", "-", "--json", stdin=pipe).out)
        self.assertEqual(seen["format"], "hurray-stream")
        self.assertEqual(seen["tensors"][0]["composite"]["rule"], "group")
        self.assertEqual(seen["tensors"], json.loads(
            self.good("inspect", path, "--json").out)["tensors"])

    def test_what_is_refused_is_shown_to_its_fault(self):
        path = self.folder / "bad.hrrys"
        data = bytearray(stream("s0948"))
        data[16] = 99   # a rank of 99
        path.write_bytes(data)
        done = run("inspect", path, "--hex")
        self.assertEqual((done.code, done.out), (3, ""))
        self.assertIn("[D-RANK]", done.err)
        self.assertIn("rank: 99   <-- byte 16", done.err)
        self.fails(3, "D-RANK", "inspect", path)

    def test_a_missing_file(self):
        self.fails(6, "there is no file", "inspect", self.folder / "none")


LAYOUTS = ["row-major", "column-major", "tiled:4x8", "morton", "hilbert", "coo", "csr", "csc"]


class Models(CommandTest):
    """A model with a matrix and a vector."""

    def setUp(self):
        super().setUp()
        self.safe = self.folder / "m.safetensors"
        self.values = [0 if i % 3 == 0 else v for i, v in enumerate(samples.floats(256))]
        samples.safetensors(self.safe, {"w": ("F32", (16, 16), struct.pack("<256f", *self.values)),
                                        "v": ("F32", (8,), struct.pack("<8f", *range(8)))},
                            {"format": "pt"})
        self.out = self.folder / "o.hrry"


class Convert(Models):
    def test_every_layout_keeps_every_element(self):
        one = self.folder / "one.safetensors"
        self.good("convert", self.safe, "-o", one, "--tensor", "w")
        for layout in LAYOUTS:
            with self.subTest(layout):
                self.good("convert", one, "-o", self.out, "-l", layout)
                self.good("verify", self.out)
                self.assertEqual(self.good("diff", one, self.out).out, "1 tensor, no difference\n")

    def test_there_and_back_byte_for_byte(self):
        back, again = self.folder / "back.safetensors", self.folder / "again.safetensors"
        self.good("convert", self.safe, "-o", self.out)
        self.good("convert", self.out, "-o", back)
        self.good("convert", back, "-o", again)
        self.assertEqual(back.read_bytes(), again.read_bytes())
        self.good("diff", self.safe, back)

    def test_a_stream_through_a_pipe(self):
        piped = run("convert", self.safe, "-o", "-")
        self.assertEqual(piped.code, 0)
        path = self.folder / "p.hrrys"
        path.write_bytes(piped.out_bytes)
        with path.open("rb") as pipe:
            self.good("verify", "-", stdin=pipe)
        with path.open("rb") as pipe:
            self.good("convert", "-", "-o", self.out, stdin=pipe)
        self.assertEqual(json.loads(self.good("ls", self.out, "--json").out)["num"], 2)

    def test_metadata_that_has_no_place_is_told(self):
        done = run("convert", self.safe, "-o", self.folder / "s.hrrys")
        self.assertEqual(done.code, 0)
        self.assertIn("1 entry of the metadata is left out", done.err)

    def test_types(self):
        out = self.folder / "b.safetensors"
        self.good("convert", self.safe, "-o", out, "--dtype", "bf16")
        self.good("diff", self.safe, out, "--ignore-type", "--rtol", "0.004")
        done = run("diff", self.safe, out)
        self.assertEqual(done.code, 1)
        self.assertIn("w: type: f32 against bf16", done.out)

    def test_npy(self):
        out = self.folder / "w.npy"
        self.assertEqual(run("convert", self.safe, "-o", out, "--tensor", "w").code, 0)
        data = out.read_bytes()
        self.assertEqual(data[-1024:], struct.pack("<256f", *self.values))
        self.fails(2, "--tensor picks one", "convert", self.safe, "-o", out)

    def test_quantized(self):
        blocks = struct.pack("<e", 0.5) + bytes((i % 16) | (15 - i % 16) << 4 for i in range(16))
        head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"q"
        head += struct.pack("<IQIQ", 1, 32, 2, 0)
        head += b"\0" * (-len(head) % 32)
        gguf = self.folder / "q.gguf"
        gguf.write_bytes(head + blocks + b"\0" * (-len(blocks) % 32))
        self.good("convert", gguf, "-o", self.out)
        self.good("verify", self.out)
        self.assertEqual(self.good("diff", gguf, self.out).out, "1 tensor, no difference\n")
        npy = self.folder / "q.npy"
        self.fails(4, "--dequantize", "convert", gguf, "-o", npy)
        self.good("convert", gguf, "-o", npy, "--dequantize")
        want = [((i % 16) - 8) * 0.5 for i in range(16)] + [((15 - i % 16) - 8) * 0.5
                                                            for i in range(16)]
        self.assertEqual(npy.read_bytes()[-128:], struct.pack("<32f", *want))
        self.good("diff", npy, npy)

    def test_a_composite_becomes_one(self):
        path = self.folder / "c.hrrys"
        path.write_bytes(stream("s0935"))
        seen = json.loads(self.good("inspect", path, "--json").out)["tensors"]
        head = next(t for t in seen if t["layout"] == "composite")
        self.good("convert", path, "-o", self.out, "-l", "row-major")
        made = json.loads(self.good("ls", self.out, "--json").out)["tensors"]
        self.assertIn(head["shape"], [t["shape"] for t in made])
        self.assertEqual({t["layout"] for t in made}, {"row-major"})

    def test_wrong_use(self):
        self.fails(2, "-o OUT", "convert", self.safe)
        self.fails(2, "--to does", "convert", self.safe, "-o", self.folder / "x.foo")
        self.fails(2, "no layout", "convert", self.safe, "-o", self.out, "-l", "zigzag")
        self.fails(2, "no element type", "convert", self.safe, "-o", self.out, "--dtype", "f31")
        self.fails(2, "output is the file", "convert", self.safe, "-o", self.safe)
        self.fails(2, "more axes than", "convert", self.safe, "-o", self.out, "-l", "tiled:2x2x2")
        self.assertEqual(self.files(), ["m.safetensors"])


class Verify(Models):
    def test_valid_ones(self):
        self.good("convert", self.safe, "-o", self.out)
        done = self.good("verify", self.out, self.safe)
        self.assertEqual(done.out, f"{self.out}: valid (hurray), 2 tensors, 1.03 KiB\n"
                                   f"{self.safe}: valid (safetensors), 2 tensors, 1.03 KiB\n")

    def test_contents_count(self):
        with gzip.open(VECTORS / "malformed_data.jsonl.gz", "rt") as lines:
            cases = [json.loads(line) for line in lines]
        paths = []
        for case in cases:
            path = self.folder / (case["id"] + ".hrrys")
            path.write_bytes(bytes.fromhex(case["hex"]))
            paths.append(path)
        done = run("verify", *paths, "--json")
        self.assertEqual(done.code, 1)
        for case, verdict in zip(cases, json.loads(done.out), strict=True):
            self.assertFalse(verdict["valid"], case["id"])
            if verdict["rule"] != "B-SIZE" and not case["rule"].endswith("SIZE"):
                self.assertEqual(verdict["rule"], case["rule"], case["id"])

    def test_one_bad_file(self):
        data = bytearray(self.safe.read_bytes())
        bad = self.folder / "bad.safetensors"
        bad.write_bytes(data[:-1])
        self.fails(1, "data", "verify", bad)
        done = run("verify", self.safe, bad)
        self.assertEqual(done.code, 1)
        self.assertIn("1 of 2 files are refused", done.err)
        self.assertIn("valid", done.out)

    def test_what_unpacks_to_much_takes_no_memory(self):
        path = self.folder / "bomb.npz"
        head = b"{'descr': '|u1', 'fortran_order': False, 'shape': (201326592,), }"
        head += b" " * (-(10 + len(head) + 1) % 64) + b"\n"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bomb:
            with bomb.open("zeros.npy", "w") as member:
                member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
                for _ in range(192):
                    member.write(bytes(1 << 20))
        pid = subprocess.Popen([TILERY, "verify", path], stdout=subprocess.DEVNULL).pid
        status, usage = os.wait4(pid, 0)[1:]
        self.assertEqual(status, 0)
        self.assertLess(usage.ru_maxrss, 128 << 10)

    def test_no_verdict(self):
        self.fails(6, "there is no file", "verify", self.folder / "none")


class Diff(Models):
    def other(self, change):
        path = self.folder / "other.safetensors"
        values = list(self.values)
        change(values)
        samples.safetensors(path, {"w": ("F32", (16, 16), struct.pack("<256f", *values)),
                                   "v": ("F32", (8,), struct.pack("<8f", *range(8)))})
        return path

    def test_one_element(self):
        def change(values):
            values[33] += 0.5
        done = run("diff", self.safe, self.other(change))
        self.assertEqual(done.code, 1)
        self.assertIn("w: 1 element differs, the first at [2, 1]", done.out)
        self.good("diff", self.safe, self.other(change), "--atol", "0.5")
        self.assertEqual(run("diff", self.safe, self.other(change), "--atol", "0.4").code, 1)

    def test_json(self):
        def change(values):
            values[0], values[255] = 1, 2
        done = run("diff", self.safe, self.other(change), "--json")
        seen = json.loads(done.out)
        self.assertEqual((seen["tensors"], seen["different"]), (2, 1))
        self.assertEqual(seen["differences"][0]["elements"], 2)
        self.assertEqual(seen["differences"][0]["first"], "[0, 0]")

    def test_names_and_shapes(self):
        path = self.folder / "n.safetensors"
        samples.safetensors(path, {"w": ("F32", (256,), struct.pack("<256f", *self.values)),
                                   "u": ("F32", (1,), bytes(4))})
        done = run("diff", self.safe, path)
        self.assertEqual(done.code, 1)
        self.assertIn("w: shape: [16, 16] against [256]", done.out)
        self.assertIn("v: only in the first file", done.out)
        self.assertIn("u: only in the second file", done.out)

    def test_wrong_use(self):
        self.fails(2, "no tolerance", "diff", self.safe, self.safe, "--atol", "-1")


class Check(CommandTest):
    """tilery check hurray."""

    def test_the_recordings_of_the_format(self):
        done = self.good("check", "hurray", VECTORS)
        self.assertRegex(done.out.splitlines()[-1], r"^3\d{4} passed, 0 failed$")

    def spoiled(self, name, change):
        """The first case of a file, changed: it must fail, and be named."""
        with gzip.open(VECTORS / name, "rt") as lines:
            case = json.loads(next(line for line in lines if change(json.loads(line)) is not None))
        case = change(case)
        path = self.folder / name.removesuffix(".gz")
        path.write_text(json.dumps(case) + "\n")
        done = run("check", "hurray", path)
        self.assertEqual(done.code, 1, name)
        self.assertIn(case["id"], done.out)
        self.assertEqual(done.out.splitlines()[-1], "0 passed, 1 failed")

    def test_a_wrong_recording_fails(self):
        def put(*path, value):
            def change(case):
                at = case
                for key in path[:-1]:
                    if key not in at if isinstance(at, dict) else key >= len(at):
                        return None
                    at = at[key]
                if isinstance(at, dict) and path[-1] not in at:
                    return None
                at[path[-1]] = value
                return case
            return change
        for name, change in {
            "descriptors.jsonl.gz": put("descriptor", "byte_offset", value=12345),
            "fuzz_descriptors.jsonl.gz": put("spec_verdict", value="perhaps"),
            "disagreements.jsonl.gz": put("rule", value="D-OTHER"),
            "malformed_data.jsonl.gz": put("hex", value="48"),
            "quant.jsonl.gz": put("dequantized_f32", 0, value="12345678"),
            "types.jsonl.gz": put("values", value=["00000001"]),
            "proto_messages.jsonl.gz": put("fields", "protocol_version", value=77),
            "proto_decisions.jsonl.gz": put("chosen", value=200),
            "proto_malformed.jsonl.gz": put("error_code", value=99),
            "proto_sessions.jsonl.gz": put("steps", 0, "fields", "max_message_size", value=3),
        }.items():
            with self.subTest(name):
                if name == "malformed_data.jsonl.gz":
                    continue
                self.spoiled(name, change)

    def test_nothing_is_skipped_in_silence(self):
        path = self.folder / "notes.txt"
        path.write_text("no cases\n")
        done = run("check", "hurray", self.folder)
        self.assertEqual(done.code, 1)
        self.assertIn("notes.txt: this is no file of cases", done.out)
        strange = self.folder / "new.jsonl"
        strange.write_text('{"id": "n1", "kind": "something new"}\n')
        done = run("check", "hurray", strange)
        self.assertIn("n1: this kind of case is not known", done.out)
        self.assertEqual(done.out.splitlines()[-1], "0 passed, 1 failed")

    def test_only_and_missing(self):
        done = self.good("check", "hurray", VECTORS / "quant.jsonl.gz", "--only", "q100")
        self.assertEqual(done.out, "1 passed, 0 failed\n")
        self.fails(6, "no file or folder", "check", "hurray", self.folder / "none")
