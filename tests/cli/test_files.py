# SPDX-License-Identifier: Apache-2.0
"""tilery import and tilery ls, through the built command."""

import gzip
import json
import os
import struct

import samples
from command import ROOT, CommandTest, run


class Import(CommandTest):
    def setUp(self):
        super().setUp()
        self.npy = self.folder / "w.npy"
        self.values = samples.floats(12)
        samples.npy(self.npy, self.values, (3, 4))
        self.safe = self.folder / "model.safetensors"
        samples.safetensors(self.safe, {"a": ("F32", (2, 2), struct.pack("<4f", 1, 2, 3, 4)),
                                        "b": ("I8", (3,), bytes(3)), "empty": ("F32", (0,), b"")},
                            {"format": "pt"})
        self.out = self.folder / "out.hrry"

    def listed(self, path=None):
        return json.loads(self.good("ls", path or self.out, "--json").out)

    def test_one_file(self):
        done = self.good("import", self.safe, "-o", self.out)
        self.assertEqual(done.out, f"{self.out}: 3 tensors, 19 B, from 1 file\n")
        listed = self.listed()
        self.assertEqual(listed["format"], "hurray")
        self.assertEqual(listed["tensors"], [
            {"name": "a", "dtype": "f32", "shape": [2, 2], "layout": "row-major", "bytes": 16},
            {"name": "b", "dtype": "i8", "shape": [3], "layout": "row-major", "bytes": 3},
            {"name": "empty", "dtype": "f32", "shape": [0], "layout": "row-major", "bytes": 0}])
        self.assertEqual((listed["num"], listed["bytes"]), (3, 19))
        self.good("ls", self.out, "--verify")

    def test_values_arrive(self):
        self.good("import", self.npy, "-o", self.out)
        self.assertIn(struct.pack("<12f", *self.values), self.out.read_bytes())

    def test_several_files_and_json(self):
        done = self.good("import", self.safe, self.npy, "-o", self.out, "--json")
        report = json.loads(done.out)
        self.assertEqual(report["tensors"], 4)
        self.assertEqual(report["bytes"], 19 + 48)
        self.assertEqual([(f["format"], f["tensors"], f["skipped"]) for f in report["files"]],
                         [("safetensors", 3, []), ("npy", 1, [])])
        self.assertEqual(self.listed()["num"], 4)

    def test_metadata_of_the_first_file_counts(self):
        other = self.folder / "other.safetensors"
        samples.safetensors(other, {"z": ("U8", (1,), b"x")}, {"format": "tf", "more": "yes"})
        self.good("import", self.safe, other, "-o", self.out)
        data = self.out.read_bytes()
        self.assertIn(b"format\x01\x02\x00\x00\x00pt", data)
        self.assertNotIn(b"\x02\x00\x00\x00tf", data)
        self.assertIn(b"more\x01\x03\x00\x00\x00yes", data)

    def test_much_metadata_takes_no_long_time(self):
        many = {f"key{i}": "v" for i in range(100000)}
        samples.safetensors(self.safe, {"a": ("U8", (1,), b"x")}, many)
        self.good("import", self.safe, "-o", self.out, timeout=20)
        self.assertEqual(self.listed()["num"], 1)

    def test_what_can_be_imported_can_be_listed(self):
        listed = self.listed(self.safe)
        self.assertEqual(listed["format"], "safetensors")
        self.assertEqual([t["name"] for t in listed["tensors"]], ["a", "b", "empty"])

    def test_an_old_file_is_replaced_only_by_a_whole_new_one(self):
        self.out.write_text("old")
        bad = self.folder / "bad.safetensors"
        bad.write_bytes(self.safe.read_bytes()[:-1])
        self.fails(3, str(bad), "import", self.safe, bad, "-o", self.out)
        self.assertEqual(self.out.read_text(), "old")
        before = self.files()
        self.good("import", self.safe, "-o", self.out)
        self.assertEqual(self.files(), before)
        self.assertEqual(self.listed()["num"], 3)

    def test_nothing_is_left_of_a_failure(self):
        before = self.files()
        self.npy.write_bytes(self.npy.read_bytes()[:-1])
        done = self.fails(3, "w.npy", "import", self.npy, "-o", self.out)
        self.assertIn("tilery: nothing was written", done.err)
        self.assertEqual(self.files(), before)

    def test_names_clash(self):
        other = self.folder / "other.safetensors"
        samples.safetensors(other, {"a": ("U8", (1,), b"x")})
        self.fails(2, 'the container has a tensor "a" already; import the files into two',
                   "import", self.safe, other, "-o", self.out)
        self.assertFalse(self.out.exists())

    def test_output_is_an_input(self):
        before = self.safe.read_bytes()
        dotted = f"{self.folder}/./model.safetensors"
        self.fails(2, "give -o another name", "import", self.safe, "-o", dotted)
        self.assertEqual(self.safe.read_bytes(), before)

    def test_usage(self):
        self.fails(2, "-o OUT says where the container goes", "import", self.safe)
        self.fails(2, "--format takes one of auto, onnx, safetensors, npy, gguf", "import", self.safe,
                   "--format=hdf5", "-o", self.out)
        self.fails(2, "--output is given an empty name", "import", self.safe, "--output=")

    def test_missing_and_foreign_files(self):
        self.fails(6, "nothing-here", "import", self.folder / "nothing-here", "-o", self.out)
        text = self.folder / "text"
        text.write_text("Dear reader")
        self.fails(4, "Dear reader", "import", text, "-o", self.out)
        self.assertFalse(self.out.exists())

    def test_places_that_cannot_be_written(self):
        self.fails(5, "/nonexistent", "import", self.safe, "-o", "/nonexistent/out.hrry")
        done = run("import", self.safe, "-o", self.folder)
        self.assertNotEqual(done.code, 0)
        self.assertTrue(self.folder.is_dir())

    def test_unsupported_tensors(self):
        samples.safetensors(self.safe, {"odd": ("F4X", (1,), b"x"), "good": ("U8", (1,), b"y")})
        self.fails(4, "odd", "import", self.safe, "-o", self.out)
        done = run("import", self.safe, "-o", self.out, "--skip-unsupported")
        self.assertEqual(done.code, 0)
        self.assertIn("left out odd", done.err)
        report = json.loads(run("import", self.safe, "-o", self.out, "--skip-unsupported",
                                "--json").out)
        self.assertEqual([s["name"] for s in report["files"][0]["skipped"]], ["odd"])
        self.assertEqual(self.listed()["num"], 1)

    def test_file_names_that_are_not_utf8(self):
        path = os.fsencode(self.folder) + b"/caf\xe9.safetensors"
        os.rename(self.safe, path)
        out = os.fsencode(self.folder) + b"/\xff.hrry"
        self.good("import", path, "-o", out)
        report = json.loads(self.good("import", path, "-o", out, "--json").out)
        self.assertTrue(report["output"].endswith("/\xff.hrry"))
        self.assertEqual(json.loads(self.good("ls", out, "--json").out)["num"], 3)
        self.fails(6, "caf\\xE9.none", "ls", os.fsencode(self.folder) + b"/caf\xe9.none")


class List(CommandTest):
    def test_a_bad_descriptor_leaves_no_half_list(self):
        samples.safetensors(self.folder / "m", {n: ("F32", (2,), bytes(8)) for n in ("aa", "bb")})
        out = self.folder / "m.hrry"
        self.good("import", self.folder / "m", "-o", out)
        whole = bytearray(out.read_bytes())
        last = whole.rindex(b"HRRY", 0, len(whole) - 8)
        whole[last + 14] = 0xFF     # the type tag of the last descriptor
        out.write_bytes(whole)
        for form in ([], ["--json"]):
            self.fails(3, "(byte ", "ls", out, *form)

    def test_containers_of_others(self):
        files = sorted((ROOT / "tests/vectors/hurray/files").glob("*.hrry.gz"))
        self.assertGreater(len(files), 40)
        path = self.folder / "other.hrry"
        for packed in files:
            with self.subTest(packed.name):
                path.write_bytes(gzip.decompress(packed.read_bytes()))
                listed = json.loads(self.good("ls", path, "--json").out)
                self.assertEqual(listed["num"], len(listed["tensors"]))
                rows = self.good("ls", path).out.splitlines()
                self.assertEqual(len(rows), listed["num"] + 1)

    def test_damaged_containers(self):
        samples.npy(self.folder / "w.npy", samples.floats(6), (2, 3))
        out = self.folder / "w.hrry"
        self.good("import", self.folder / "w.npy", "-o", out)
        whole = out.read_bytes()
        for cut in (9, 63, 64, len(whole) // 2, len(whole) - 1):
            out.write_bytes(whole[:cut])
            self.fails(3, "", "ls", out)
        out.write_bytes(whole[:-1] + b"?")
        done = self.fails(3, "(byte ", "ls", out)
        self.assertRegex(done.err, r"\[[A-Za-z0-9-]+\]\n")

    def test_text_form(self):
        samples.safetensors(self.folder / "m", {"x\x1b[31m": ("F32", (1,), bytes(4)),
                                                "caf\u00e9": ("F32", (1,), bytes(4))})
        done = self.good("ls", self.folder / "m")
        self.assertIn("x?[31m", done.out)
        self.assertIn("caf\u00e9", done.out)
        self.assertIn("2 tensors, 8 B", done.out)

    def test_folders_and_full_devices(self):
        done = run("ls", self.folder)
        self.assertNotEqual(done.code, 0)
        samples.npy(self.folder / "w.npy", [1.0], (1,))
        with open("/dev/full", "w") as full:
            self.assertEqual(run("ls", self.folder / "w.npy", stdout=full).code, 5)
