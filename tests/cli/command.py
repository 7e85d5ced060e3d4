# SPDX-License-Identifier: Apache-2.0
"""Running the built command from tests."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ.get("TILERY_ROOT", pathlib.Path(__file__).parents[2])).resolve()
BUILD = pathlib.Path(os.environ.get("TILERY_BUILD", ROOT / "build")).resolve()
TILERY = BUILD / "tilery"


class Done:
    """What a run gave; text is decoded so that every byte survives."""

    def __init__(self, done):
        self.code = done.returncode
        self.out_bytes = done.stdout or b""
        self.out = self.out_bytes.decode(errors="surrogateescape")
        self.err = (done.stderr or b"").decode(errors="surrogateescape")


def run(*args, env=None, cwd=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60):
    return Done(subprocess.run([TILERY, *args], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE,
                               env={**os.environ, **(env or {})}, cwd=cwd, timeout=timeout))


class CommandTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tilery-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def good(self, *args, **kw):
        done = run(*args, **kw)
        self.assertEqual((done.code, done.err), (0, ""), f"{args}: {done.err}")
        return done

    def fails(self, code, says, *args, **kw):
        """Ends with `code`, prints nothing on standard output and explains itself."""
        done = run(*args, **kw)
        self.assertEqual(done.code, code, f"{args}: {done.err}")
        self.assertEqual(done.out, "")
        self.assertIn(says, done.err)
        for line in done.err.splitlines():
            self.assertTrue(line.startswith("tilery: "), line)
        return done

    def until(self, condition):
        for _ in range(200):
            if condition():
                return
            time.sleep(0.05)
        self.fail("it did not happen within ten seconds")

    def files(self):
        return sorted(p.name for p in self.folder.iterdir())


class Server:
    """A server for the time of a `with`. `stats` is there afterwards."""

    def __init__(self, *files, listen, options=()):
        self.args = [TILERY, "serve", *files, "--json", *options]
        for address in [listen] if isinstance(listen, str) else listen:
            self.args += ["--listen", address]
        self.stats = None

    def __enter__(self):
        self.process = subprocess.Popen(self.args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the server did not start: " + self.process.stderr.read())
        self.hello = json.loads(line)
        self.address = self.hello["addresses"][0]
        return self

    def __exit__(self, kind, value, trace):
        self.process.terminate()
        try:
            out, err = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
        if kind is None:
            if self.process.returncode != 0:
                raise AssertionError(f"the server ended with {self.process.returncode}: {err}")
            self.stats = json.loads(out)
