# SPDX-License-Identifier: Apache-2.0
"""The commands that look into files of tensors, through the built command."""

import gzip
import json
import struct

import samples
from command import ROOT, CommandTest, run

VECTORS = ROOT / "tests/vectors/hurray"


def stream(name):
    """One of the format's own streams, as bytes."""
    with gzip.open(VECTORS / "streams.tsv.gz", "rt") as lines:
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
