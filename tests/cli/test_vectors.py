# SPDX-License-Identifier: Apache-2.0
"""The machine against recorded cases of the public specification (`tilery check pto`): a sample that
is here, and in `make proof` all of them, from the folder that TILERY_SHARED names."""

import gzip
import json
import os
import pathlib
import unittest

from command import ROOT, CommandTest, run

SAMPLE = ROOT / "tests/vectors/pto"
ALL = pathlib.Path(os.environ.get("TILERY_SHARED", ROOT.parent / "shared")) / "pto/vectors"


class Vectors(CommandTest):
    def count(self, files):
        return sum(1 for path in files for line in gzip.open(path, "rt") if line.strip())

    def test_the_sample(self):
        files = sorted(SAMPLE.glob("*.jsonl.gz"))
        self.assertGreater(len(files), 20)
        done = self.good("check", "pto", *files)
        self.assertEqual(done.out.splitlines()[-1], f"{self.count(files)} passed, 0 failed")

    @unittest.skipUnless(os.environ.get("TILERY_ROUNDS"), "all recorded cases: in make proof")
    @unittest.skipUnless(ALL.is_dir(), f"no recorded cases in {ALL}")
    def test_all_of_them(self):
        for path in sorted(ALL.glob("*.jsonl.gz")):
            with self.subTest(path.name):
                done = self.good("check", "pto", path)
                self.assertEqual(done.out.splitlines()[-1],
                                 f"{self.count([path])} passed, 0 failed")

    def spoil(self, group, change):
        """The first case that `change` can spoil must fail, and be named."""
        with gzip.open(SAMPLE / f"{group}.jsonl.gz", "rt") as lines:
            case = next(case for case in map(json.loads, lines) if change(case))
        path = self.folder / f"{group}.jsonl"
        path.write_text(json.dumps(case) + "\n")
        done = run("check", "pto", path)
        self.assertEqual(done.code, 1, done.out)
        self.assertIn(case["id"], done.out)
        self.assertEqual(done.out.splitlines()[-1], "0 passed, 1 failed")

    def test_a_wrong_recording_fails(self):
        def register(case):
            registers = case["final"].get("gpr")
            if registers:
                registers[next(iter(registers))] = "0x123456789"
            return registers

        def memory(case):
            bytes_ = case["final"].get("mem")
            if bytes_:
                bytes_[0][1] = f"{int(bytes_[0][1][:2], 16) ^ 1:02x}" + bytes_[0][1][2:]
            return bytes_

        def step(case):
            if case.get("steps") and case["steps"][-1][0] == 0:
                case["steps"][-1][1] = "Fault_HardwareWatchpoint"
                return True
            return False

        def tile(case):
            tiles = case["final"].get("tiles")
            if tiles and any("valid_rows" in fields for fields in tiles.values()):
                for fields in tiles.values():
                    fields["valid_rows"] = 777
                return True
            return False

        def silence(case):
            """Something changed that the recording does not mention."""
            return case["final"].pop("tpc", None) is not None and case["steps"][-1][0] == 1
        for group, change in (("scalar-alu", register), ("scalar-agu", memory), ("command", step),
                              ("tile-vec", tile), ("scalar-alu", silence)):
            with self.subTest(f"{group} {change.__name__}"):
                self.spoil(group, change)
