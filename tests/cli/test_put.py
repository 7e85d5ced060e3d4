# SPDX-License-Identifier: Apache-2.0
"""tilery put, ping and get against a server that takes tensors, through the built command."""

import json
import os
import resource
import signal
import struct
import subprocess

import samples
from command import TILERY, CommandTest, Server

ROWS, COLS = 700, 300


class Put(CommandTest):
    def setUp(self):
        super().setUp()
        self.values = samples.floats(ROWS * COLS)
        self.raw = struct.pack(f"<{ROWS * COLS}f", *self.values)
        samples.safetensors(self.folder / "m.safetensors", {
            "w": ("F32", (ROWS, COLS), self.raw), "v": ("F32", (2, 2), bytes(range(16))),
            "empty": ("F32", (0, 4), b"")})
        self.file = self.folder / "m.hrry"
        self.good("import", self.folder / "m.safetensors", "-o", self.file)
        self.uploads = self.folder / "uploads"
        self.uploads.mkdir()
        self.address = f"unix:{self.folder}/s"
        self.out = self.folder / "out"

    def taking(self, *files, **kw):
        return Server(*files, listen=self.address,
                      options=("--uploads", self.uploads, *kw.get("options", ())))

    def expect(self, key, raw, *options):
        self.good("get", self.address, key, "--raw", "-o", self.out, *options)
        self.assertEqual(self.out.read_bytes(), raw)

    def test_all_of_a_file(self):
        with self.taking() as server:
            self.assertEqual(server.hello["tensors"], 0)
            done = json.loads(self.good("put", self.address, self.file, "--json").out)
            self.assertEqual((done["tensors"], done["bytes"]), (3, len(self.raw) + 16))
            self.expect("w", self.raw)
            self.expect("v", bytes(range(16)))
            self.expect("empty", b"")
            self.fails(6, "acknowledged before that: 1 tensor\n", "put", self.address, self.file, "empty",
                       "nothing")
        self.assertEqual(server.stats["put"], 4)
        with self.taking() as server:       # and they are there again
            self.assertEqual(server.hello["tensors"], 3)
            self.expect("w", self.raw)

    def test_more_tensors_than_files_at_first(self):
        """Each is a file that stays open; what the system lets us have at first is not the end."""
        many = self.folder / "many.safetensors"
        samples.safetensors(many, {f"t{i}": ("U8", (1,), bytes([i])) for i in range(80)})
        self.good("import", many, "-o", self.folder / "many.hrry")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for round in range(2):              # the second finds them there
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
            try:
                server = self.taking().__enter__()
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            try:
                self.assertEqual(server.hello["tensors"], 80 * round)
                self.good("put", self.address, self.folder / "many.hrry")
            finally:
                server.__exit__(None, None, None)

    def test_one_under_another_name(self):
        with self.taking(self.file):
            self.good("put", self.address, self.file, "v", "--as", "other")
            self.expect("other", bytes(range(16)))
            self.good("put", self.address, self.file, "w", "--as", "other")     # replaced
            self.expect("other", self.raw)
            self.fails(7, "cannot be replaced", "put", self.address, self.file, "v")
            self.fails(6, "holds no tensor called", "put", self.address, self.file, "nothing")
            self.fails(2, "--as names one tensor", "put", self.address, self.file, "--as", "x")
            self.fails(2, "--as names one", "put", self.address, self.file, "v", "w", "--as", "x")
        self.assertEqual(len(list(self.uploads.glob("*.hrry"))), 1)

    def test_refusals(self):
        self.fails(2, "nothing to serve", "serve", "--listen", self.address)
        self.fails(5, "", "serve", "--uploads", self.folder / "none", "--listen", self.address)
        with Server(self.file, listen=self.address):
            self.fails(7, "takes no tensors", "put", self.address, self.file, "w", "--as", "x")
        with self.taking(options=("--upload-limit", "1000")):
            self.fails(7, "larger than this server accepts", "put", self.address, self.file, "w")
            self.fails(2, "in use by another server", "serve", "--uploads", self.uploads, "--listen",
                       f"unix:{self.folder}/t")

    def test_killed_and_there_again(self):
        process = subprocess.Popen([TILERY, "serve", "--uploads", self.uploads, "--listen", self.address,
                                    "--json"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        process.stdout.readline()
        self.good("put", self.address, self.file, "w")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with self.taking():
            self.expect("w", self.raw)

    def test_ping(self):
        with self.taking():
            self.assertRegex(self.good("ping", self.address).out, r"answers in \d+ us\n$")
            told = json.loads(self.good("ping", self.address, "-c", "20", "--json").out)
            self.assertEqual(told["pings"], 20)
            self.assertLessEqual(told["min_seconds"], told["median_seconds"])
            self.assertLessEqual(told["median_seconds"], told["max_seconds"])
        self.fails(5, "", "ping", self.address)

    def test_shards(self):
        with self.taking(self.file):
            self.expect("w", self.raw, "--shards")
            self.expect("w", self.raw, "--shards", "-l", "row-major")
            turned = struct.pack(f"<{ROWS * COLS}f", *(self.values[r * COLS + c] for c in range(COLS)
                                                       for r in range(ROWS)))
            self.expect("w", turned, "--shards", "-l", "col-major")
