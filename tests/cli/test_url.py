# SPDX-License-Identifier: Apache-2.0
"""Containers behind URLs, with a real nginx: signed URLs, TLS with an authority of our own, objects that
change, servers that go and come back."""

import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest

import samples
from command import BUILD, TILERY, CommandTest, run
from web import get

SECRET = "topSecret-9f3a"
NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
MODULE = any((pathlib.Path(folder) / "tilery-http-curl.so").exists()
             for folder in [*os.environ.get("TILERY_MODULE_PATH", "").split(":"), BUILD / "modules"])
N, K = 300, 200

CONFIG = """daemon off; master_process off; worker_processes 1;
pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ }}
http {{
  access_log {folder}/access.log; server_names_hash_bucket_size 128;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{
    listen 127.0.0.1:{port}; root {folder}/objects;
    location /signed/ {{ if ($arg_sig != "{secret}") {{ return 403; }} alias {folder}/objects/; }}
    location /packed/ {{ gzip on; gzip_types *; max_ranges 0; alias {folder}/objects/; }}
  }}
  server {{
    listen 127.0.0.1:{tls} ssl; root {folder}/objects;
    ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
    location /signed/ {{ if ($arg_sig != "{secret}") {{ return 403; }} alias {folder}/objects/; }}
    location /moved/ {{ return 307 https://127.0.0.1:{tls}/signed/m.hrry?sig={secret}; }}
    location /down/ {{ return 302 http://127.0.0.1:{port}/m.hrry; }}
  }}
}}
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


@unittest.skipUnless(NGINX, "nginx is not installed (Debian: nginx-light)")
@unittest.skipUnless(MODULE, "the module for HTTP is not built (Debian: libcurl4-openssl-dev)")
@unittest.skipUnless(shutil.which("openssl"), "the program openssl is not installed")
class Url(CommandTest):
    def setUp(self):
        super().setUp()
        os.environ["no_proxy"] = "127.0.0.1"
        self.objects = self.folder / "objects"
        self.objects.mkdir()
        self.object = self.objects / "m.hrry"
        self.container(1)
        self.port, self.tls = free_ports(2)
        self.http = f"http://127.0.0.1:{self.port}"
        self.https = f"https://127.0.0.1:{self.tls}"
        self.signed = f"{self.http}/signed/m.hrry?sig={SECRET}"
        self.trust = {"TILERY_TLS_CA": str(self.folder / "ca.pem")}
        self.certificates()
        (self.folder / "nginx.conf").write_text(CONFIG.format(
            folder=self.folder, port=self.port, tls=self.tls, secret=SECRET))
        self.nginx = None
        self.start_nginx()
        self.addCleanup(self.stop_nginx)
        self.address = f"unix:{self.folder}/s"
        self.out = self.folder / "out"
        self.errors = self.folder / "errors"

    def container(self, seed, times=1):
        """Puts another object in place, as object stores do: whole."""
        self.raw = struct.pack(f"<{N * K}f", *samples.floats(N * K, seed)) * times
        samples.safetensors(self.folder / "m.safetensors", {
            "w": ("F32", (times * N, K), self.raw), "b": ("F32", (4,), bytes(16))})
        self.good("import", self.folder / "m.safetensors", "-o", self.folder / "new.hrry")
        # nginx makes an ETag of the length and the second of the change.
        os.utime(self.folder / "new.hrry", (1_700_000_000 + 10 * seed,) * 2)
        os.replace(self.folder / "new.hrry", self.object)

    def certificates(self):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        (self.folder / "san.cnf").write_text("subjectAltName=IP:127.0.0.1\n")
        for command in (
                ["req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca"],
                ["req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server"],
                ["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                 "-set_serial", "7", "-extfile", "san.cnf", "-out", "server.pem"]):
            subprocess.run(["openssl", *command], cwd=self.folder, check=True, capture_output=True)

    def start_nginx(self):
        self.nginx = subprocess.Popen(
            [NGINX, "-p", self.folder, "-e", self.folder / "nginx.log", "-c", self.folder / "nginx.conf"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def answers():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", self.port)) == 0
        self.until(answers)

    def stop_nginx(self):
        self.nginx.kill()
        self.nginx.wait()

    def serving(self, *files, env=None, options=()):
        test = self

        class Serving:
            def __enter__(self):
                self.process = subprocess.Popen(
                    [TILERY, "serve", *files, "--listen", test.address, "--json", "--log", "debug",
                     *options],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(test.errors, "w"),
                    text=True, env={**os.environ, **(env or {})})
                if not self.process.stdout.readline():
                    raise AssertionError("the server did not start: " + test.errors.read_text())
                return self

            def __exit__(self, kind, value, trace):
                self.process.terminate()
                self.process.communicate(timeout=30)
                test.assertEqual(self.process.returncode, 0)
                test.assertNotIn(SECRET, test.errors.read_text())
        return Serving()

    def expect(self, key="w"):
        self.good("get", self.address, key, "--raw", "-o", self.out)
        self.assertEqual(self.out.read_bytes(), self.raw)

    def test_commands_that_read(self):
        for command in (("ls", "--json"), ("inspect", "--json"), ("inspect", "--hex"), ("ls", "--verify")):
            far = self.good(command[0], self.signed, *command[1:]).out
            near = self.good(command[0], self.object, *command[1:]).out
            self.assertEqual(far, near.replace(str(self.object), f"{self.http}/signed/m.hrry?..."))
        self.good("verify", self.signed)
        self.good("diff", self.signed, self.object)
        self.good("convert", self.signed, "-o", self.folder / "copy.hrry")
        self.good("diff", self.folder / "copy.hrry", self.object)
        for url, code, says in (
                (self.signed[:-1], 7, "HTTP 403"),
                (f"{self.http}/nothing.hrry?sig={SECRET}", 6, "no such object"),
                (f"{self.http}/packed/m.hrry?sig={SECRET}", 5, "ignores ranges"),
                (f"{self.https}/signed/m.hrry?sig={SECRET}", 1, "certificate")):
            done = run("ls", url)
            self.assertNotEqual(done.code, 0)
            self.assertIn(says, done.err)
            self.assertNotIn(SECRET[:-1], done.err)
        (self.objects / "x.hrry").write_bytes(b"not a container, but long enough to be one" * 9)
        self.assertIn(f"{self.http}/x.hrry: not a tensor container", run("ls", f"{self.http}/x.hrry").err)

    def test_served_over_tls(self):
        metrics = self.folder / "metrics"
        url = f"{self.https}/moved/m.hrry"
        done = run("serve", url, "--listen", self.address, "--check", "--json", env=self.trust)
        self.assertEqual(json.loads(done.out)["tensors"], 2)
        with self.serving(url, env=self.trust, options=("--metrics", f"unix:{metrics}")):
            self.expect()
            self.good("get", self.address, "w", "-l", "ba16a64b", "--stored", "nk", "-o",
                      self.folder / "panel.hrry")
            body = get(metrics, "/metrics")[1]
            values = dict(line.split() for line in body.splitlines() if not line.startswith("#"))
            self.assertGreater(int(values["tilery_http_fetched_bytes_total"]), N * K * 4)
            self.assertGreater(int(values["tilery_http_block_hits_total"]), 0)
            self.assertEqual(int(values["tilery_http_failures_total"]), 0)
        done = run("serve", f"{self.https}/down/m.hrry", "--listen", self.address, "--check", env=self.trust)
        self.assertIn("from https: to http:", done.err)
        done = run("serve", self.object, "--uploads", self.signed, "--listen", self.address, "--check")
        self.assertIn("not behind a URL", done.err)
        self.assertNotIn(SECRET, done.err)

    def test_change_is_refused_until_reload(self):
        self.container(1, times=8)  # more than the blocks that are kept
        with self.serving(self.signed, options=("--http-cache", "1")) as server:
            self.expect()
            self.container(2, times=8)
            done = run("get", self.address, "w", "--retries", "0", "--raw", "-o", self.out)
            self.assertIn("has changed", done.err)
            self.good("ping", self.address)
            server.process.send_signal(signal.SIGHUP)
            self.until(lambda: "reloaded" in self.errors.read_text())
            self.expect()

    def test_variants_are_kept_and_know_their_object(self):
        kept, metrics = self.folder / "kept", self.folder / "metrics"
        kept.mkdir(mode=0o700)
        options = ("--cache-folder", str(kept), "--metrics", f"unix:{metrics}")
        panels = []
        for restored, seed in ((0, None), (1, None), (0, 4)):
            if seed:
                self.container(seed)
            with self.serving(self.signed, options=options):
                panels.append(self.folder / f"panel{len(panels)}")
                self.good("get", self.address, "w", "-l", "ba16a64b", "--stored", "nk", "--raw", "-o", panels[-1])
                self.until(lambda: len(list(kept.glob("[0-9a-f]*.variant"))) == 1 + (seed is not None))
                self.assertIn(f"\ntilery_cache_restored_total {restored}\n", get(metrics, "/metrics")[1])
        first, second, third = (p.read_bytes() for p in panels)
        self.assertEqual(first, second)
        self.assertNotEqual(first, third)

    def test_signatures_are_renewed(self):
        urls = self.folder / "urls"
        urls.write_text(f"# of today\n\n{self.signed}\n")
        os.chmod(urls, 0o644)
        done = run("serve", "--urls", urls, "--listen", self.address, "--check")
        self.assertIn("others may read", done.err)
        os.chmod(urls, 0o600)
        with self.serving("--urls", str(urls)) as server:
            self.expect()
            for sig, says in (("gone", "not reloaded"), (SECRET, "reloaded: 2 tensors")):
                urls.write_text(f"{self.http}/signed/m.hrry?sig={sig}\n")
                server.process.send_signal(signal.SIGHUP)
                self.until(lambda: says in self.errors.read_text())
                self.expect()

    def test_origin_goes_and_comes_back(self):
        self.container(3, times=8)  # more than the blocks that are kept
        with self.serving(self.signed, options=("--http-cache", "1")):
            self.expect()
            self.stop_nginx()
            waiting = subprocess.Popen([TILERY, "get", self.address, "w", "--raw", "-o", self.out],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.3)
            self.start_nginx()
            self.assertEqual(waiting.wait(timeout=30), 0)
            self.assertEqual(self.out.read_bytes(), self.raw)
            self.assertIn("again in", self.errors.read_text())
