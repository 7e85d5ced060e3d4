# SPDX-License-Identifier: Apache-2.0
"""tilery serve as somebody runs it for long: metrics, reload, checks, access, logs, signals."""

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

import samples
from command import ROOT, TILERY, CommandTest, Server, run
from web import get, http

TOKEN = "0123456789abcdef-operator"


class Operate(CommandTest):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "store"
        self.store.mkdir()
        self.add("one", 1.0)
        self.address = f"unix:{self.folder}/s"
        self.metrics = self.folder / "metrics"
        self.out = self.folder / "out"

    def add(self, name, value):
        source = self.folder / f"{name}.safetensors"
        samples.safetensors(source, {name: ("F32", (8, 8), struct.pack("<64f", *[value] * 64))})
        self.good("import", source, "-o", self.store / f"{name}.hrry")

    def value(self, name):
        _, body = get(self.metrics, "/metrics")
        return int(re.search(rf"^{name} (\d+)$", body, re.M).group(1))

    def test_folder_reload_and_metrics(self):
        options = ("--metrics", f"unix:{self.metrics}")
        with Server(self.store, listen=self.address, options=options) as server:
            self.assertEqual(server.hello["tensors"], 1)
            self.assertEqual(get(self.metrics, "/health"), ("HTTP/1.0 200 OK", "ok\n"))
            self.assertEqual(get(self.metrics, "/")[0], "HTTP/1.0 404 Not Found")
            status, body = get(self.metrics, "/metrics")
            self.assertEqual(status, "HTTP/1.0 200 OK")
            for line in body.splitlines():
                self.assertRegex(line, r"^(# (HELP|TYPE) tilery_\w+ .+|tilery_\w+ \d+)$")
            self.good("get", self.address, "one", "--raw", "-o", self.out)
            self.fails(6, "no tensor", "get", self.address, "two", "--raw", "-o", self.out)
            self.assertEqual(self.value("tilery_tensors_served_total"), 1)

            self.add("two", 2.0)
            server.process.send_signal(signal.SIGHUP)
            self.until(lambda: self.value("tilery_catalogue_tensors") == 2)
            self.good("get", self.address, "two", "--raw", "-o", self.out)
            self.assertEqual(self.out.read_bytes(), struct.pack("<64f", *[2.0] * 64))

            self.add("two", 3.0)  # replaced: the old file is served until the reload
            self.good("get", self.address, "two", "--raw", "-o", self.out)
            self.assertEqual(self.out.read_bytes(), struct.pack("<64f", *[2.0] * 64))
            server.process.send_signal(signal.SIGHUP)

            def is_new():
                self.good("get", self.address, "two", "--raw", "-o", self.out)
                return self.out.read_bytes() == struct.pack("<64f", *[3.0] * 64)
            self.until(is_new)

            (self.store / "bad.hrry").write_bytes(b"no container")
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            self.assertEqual(self.value("tilery_catalogue_tensors"), 2)
            self.good("get", self.address, "one", "--raw", "-o", self.out)
        self.assertFalse(self.metrics.exists())

    def test_metrics_bear_nonsense(self):
        options = ("--metrics", f"unix:{self.metrics}")
        with Server(self.store, listen=self.address, options=options):
            self.assertEqual(http(self.metrics, b"A" * 50000)[0],
                             "HTTP/1.0 431 Request Header Fields Too Large")
            self.assertEqual(http(self.metrics, b"\r\n\r\n")[0], "HTTP/1.0 404 Not Found")
            self.assertEqual(http(self.metrics, b"GET /metricsX HTTP/1.1\r\n\r\n")[0],
                             "HTTP/1.0 404 Not Found")
            held = [socket.socket(socket.AF_UNIX) for _ in range(40)]  # more than it takes
            for s in held:
                self.addCleanup(s.close)
                s.connect(str(self.metrics))
            self.good("get", self.address, "one", "--raw", "-o", self.out)
            for s in held:
                s.close()

            def is_well():
                try:
                    return get(self.metrics, "/health")[1] == "ok\n"
                except ConnectionError:
                    return False  # the others are not gone yet
            self.until(is_well)

    def test_check(self):
        check = ("serve", self.store, "--listen", self.address, "--check")
        self.assertEqual(self.good(*check).out,
                         "1 tensor can be served, to everybody who can connect\n")
        self.assertFalse((self.folder / "s").exists())
        rules = self.folder / "access"
        rules.write_text(f"token me {TOKEN}\nallow me get *\n")
        self.fails(2, "chmod 600", *check, "--access", rules)
        rules.chmod(0o600)
        self.assertEqual(self.good(*check, "--access", rules).out,
                         "1 tensor can be served, by 1 rule for 2 names\n")
        rules.write_text("let me in\n")
        self.fails(3, "line 1", *check, "--access", rules)
        self.fails(4, "other machines", "serve", self.store, "--listen", "tcp:0.0.0.0:0", "--check")
        self.fails(2, "certificate", "serve", self.store, "--listen", "tls:127.0.0.1:0", "--check")
        (self.store / "bad.hrry").write_bytes(b"no container")
        self.assertNotEqual(run(*check).code, 0)

    def test_tokens(self):
        rules = self.folder / "access"
        rules.write_text(f"token me {TOKEN}\nallow me get o\n")
        rules.chmod(0o600)
        token = self.folder / "token"
        token.write_text(TOKEN + "\n")
        token.chmod(0o600)
        with Server(self.store, listen=self.address, options=("--access", rules)) as server:
            self.fails(7, "may not get", "get", self.address, "one", "--raw", "-o", self.out)
            env = {**os.environ, "TILERY_TOKEN_FILE": str(token)}
            self.good("get", self.address, "one", "--raw", "-o", self.out, env=env)
            token.chmod(0o644)
            self.fails(2, "chmod 600", "get", self.address, "one", "--raw", "-o", self.out, env=env)
            token.chmod(0o600)
            rules.write_text(f"token me {TOKEN}x\nallow me get o\n")  # another token now
            server.process.send_signal(signal.SIGHUP)
            self.until(lambda: run("get", self.address, "one", "--raw", "-o", self.out,
                                   env=env).code == 7)

    def test_log_as_json(self):
        process = subprocess.Popen([TILERY, "serve", self.store, "--listen", self.address, "--log",
                                    "info", "--log-format", "json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        self.good("get", self.address, "one", "--raw", "-o", self.out)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        lines = [json.loads(line) for line in err.splitlines()]
        self.assertTrue(any('"one", 256 bytes' in line["message"] for line in lines), err)
        for line in lines:
            self.assertEqual(set(line), {"time", "level", "command", "message"})
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertEqual(line["level"], "info")

    def test_service_manager(self):
        path = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(path))
            manager.settimeout(10)
            os.environ["NOTIFY_SOCKET"] = str(path)
            self.addCleanup(os.environ.pop, "NOTIFY_SOCKET", None)
            with Server(self.store, listen=self.address) as server:
                self.assertEqual(manager.recv(100), b"READY=1")
                server.process.send_signal(signal.SIGHUP)
                self.assertEqual(manager.recv(100), b"RELOADING=1")
                self.assertEqual(manager.recv(100), b"READY=1")
            self.assertEqual(manager.recv(100), b"STOPPING=1")

    def test_unit(self):
        """The unit for systemd has the command's own options, and systemd takes it."""
        unit = (ROOT / "tools/systemd/tilery-serve.service").read_text()
        start = re.search(r"^ExecStart=(.*)$", unit, re.M).group(1).split()
        options = {word for word in start if word.startswith("--")}
        known = set(re.findall(r"--[a-z-]+", self.good("serve", "--help").out))
        self.assertLessEqual(options, known)
        self.assertIn("Type=notify", unit)
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not here (Debian: systemd): the unit is only read by us")
        # It runs what is installed; here that is the command of this build.
        here = self.folder / "tilery-serve.service"
        here.write_text(unit.replace("/usr/local/bin/tilery", str(TILERY)))
        done = self.analyze("verify", "--man=no", here)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.analyze("security", "--help")
        if "--offline" not in done.stdout:
            self.skipTest("this systemd-analyze judges only units of a running systemd")
        done = self.analyze("security", "--offline=yes", "--threshold=20", "--no-pager", here)
        self.assertEqual(done.returncode, 0, done.stdout)  # at most 2.0 of 10
        self.assertIn("Overall exposure level", done.stdout)

    def analyze(self, *args):
        return subprocess.run(["systemd-analyze", *args], capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"})
