# SPDX-License-Identifier: Apache-2.0
"""A layout family from outside: the example is built as anybody would build it, loaded by a server and
a client of the built command, and what comes is compared with a slow model of its own."""

import json
import os
import shutil
import struct
import subprocess

import peer
import samples
from command import ROOT, CommandTest, Server

ROWS, COLS = 30, 50


def bitmap(values, room):
    """The buffer of examples/family/bitmap.c for f32 values in row-major order."""
    bits = bytearray(-(-len(values) // 512) * 64)
    kept = []
    for i, value in enumerate(values):
        if struct.pack("<f", value) != bytes(4):
            bits[i // 8] |= 1 << i % 8
            kept.append(value)
    return bytes(bits) + struct.pack(f"<{len(kept)}f", *kept) + bytes(4 * (room - len(kept)))


class Family(CommandTest):
    def setUp(self):
        super().setUp()
        self.values = [x if i % 3 == 0 else 0.0 for i, x in enumerate(samples.floats(ROWS * COLS))]
        raw = struct.pack(f"<{ROWS * COLS}f", *self.values)
        samples.safetensors(self.folder / "m.safetensors", {"w": ("F32", (ROWS, COLS), raw)})
        self.file = self.folder / "m.hrry"
        self.good("import", self.folder / "m.safetensors", "-o", self.file)
        self.address = f"unix:{self.folder}/s"
        self.out = self.folder / "out"
        self.library = self.build("bitmap.c", "bitmap.so")

    def build(self, source, library):
        outside = self.folder / "outside"
        outside.mkdir(exist_ok=True)
        shutil.copy(ROOT / "examples/family" / source, outside)
        cc = os.environ.get("CC", "cc").split()
        done = subprocess.run([*cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                               "-I", ROOT / "include", "-I", ROOT / "gen/include", source, "-o", library],
                              cwd=outside, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return outside / library

    def get(self, layout, *more, **kw):
        return self.good("get", self.address, "w", "--family", self.library, "--layout", layout,
                         *more, "-o", self.out, **kw)

    def test_both_sides(self):
        kept = sum(1 for v in self.values if v)
        room = kept + 7
        with Server(self.file, "--family", self.library, listen=self.address) as server:
            for _ in range(2):      # the second comes from the cache
                self.get(f"bitmap:{room}", "--raw")
                self.assertEqual(self.out.read_bytes(), bitmap(self.values, room))
            listed = json.loads(self.get(f"bitmap:{room}", "--json").out)
            self.assertEqual(listed["bytes"], len(bitmap(self.values, room)))
            # Announced by its tag, and asked for by a client that is not ours.
            other = peer.Peer(self.folder / "s")
            self.addCleanup(other.close)
            other.hello()
            self.fails(2, "room", "get", self.address, "w", "--family", self.library, "-l",
                       "bitmap:many", "-o", self.out)
            # Packing fails after the descriptor has left: the client gets no tensor.
            self.fails(7, "", "get", self.address, "w", "--family", self.library, "-l",
                       f"bitmap:{kept - 1}", "-o", self.out)
            self.get(f"bitmap:{room}", "--raw")     # and the server lives on
            other.close()
        self.assertGreaterEqual(server.stats["packed"], 4)

    def test_a_server_without_it(self):
        with Server(self.file, listen=self.address):
            self.fails(6, "in none of the layouts asked for", "get", self.address, "w", "--family",
                       self.library, "-l", "bitmap:100", "-o", self.out)
            self.get("bitmap:100", "--layout", "native", "--raw")
            self.assertEqual(self.out.read_bytes(), struct.pack(f"<{ROWS * COLS}f", *self.values))

    def test_what_is_no_family(self):
        for name, says in (("none.so", "cannot load"), (self.file, "cannot load")):
            self.fails(4, says, "get", self.address, "w", "--family", name, "-l", "bitmap:1", "-o",
                       self.out)
        empty = self.folder / "outside" / "empty.c"
        empty.write_text("int nothing;\n")
        subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", empty, "-o",
                        self.folder / "empty.so"], check=True)
        self.fails(4, "offers no layout family", "get", self.address, "w", "--family",
                   self.folder / "empty.so", "-l", "bitmap:1", "-o", self.out)
        self.fails(2, "is there already", "get", self.address, "w", "--family", self.library,
                   "--family", self.library, "-l", "bitmap:1", "-o", self.out)

