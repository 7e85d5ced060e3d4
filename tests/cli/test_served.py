# SPDX-License-Identifier: Apache-2.0
"""tilery serve, get and multiply against each other, through the built command."""

import json
import os
import signal
import socket
import stat
import struct
import subprocess
import threading

import peer
import samples
from command import TILERY, CommandTest, Server, run

N, K = 40, 24


def panel(values, width, k_round=1):
    """[N: up(N,w)/w][K][N: w] of a matrix stored N x K, the slow and obvious way."""
    rows = -(-K // k_round) * k_round
    out = []
    for block in range(-(-N // width)):
        for k in range(rows):
            for n in range(block * width, block * width + width):
                out.append(values[n * K + k] if n < N and k < K else 0.0)
    return struct.pack(f"<{len(out)}f", *out)


class Served(CommandTest):
    def setUp(self):
        super().setUp()
        self.values = samples.floats(N * K)
        self.raw = struct.pack(f"<{N * K}f", *self.values)
        samples.safetensors(self.folder / "m.safetensors", {
            "w": ("F32", (N, K), self.raw), "empty": ("F32", (0, 4), b""),
            "int64": ("I64", (2, 2), bytes(32)), "cube": ("F32", (2, 2, 2), bytes(32)),
            "nan": ("F32", (2, 2), struct.pack("<4f", 1, 2, float("nan"), 4))})
        self.file = self.folder / "m.hrry"
        self.good("import", self.folder / "m.safetensors", "-o", self.file)
        self.address = f"unix:{self.folder}/s"
        self.out = self.folder / "out.hrry"

    def serving(self, **kw):
        return Server(self.file, listen=kw.pop("listen", self.address), **kw)

    def only(self, path):
        return json.loads(self.good("ls", path, "--json").out)["tensors"]


class HandOver(Served):
    """On one machine panels of some size are shared instead of copied; what is native is sent."""

    def setUp(self):
        super().setUp()
        raw = struct.pack(f"<{256 * 200}f", *samples.floats(256 * 200))
        samples.safetensors(self.folder / "l.safetensors", {"w": ("F32", (256, 200), raw)})
        self.file = self.folder / "l.hrry"
        self.good("import", self.folder / "l.safetensors", "-o", self.file)

    def count(self, listen, *commands):
        with self.serving(listen=listen) as server:
            for command in commands:
                self.good(command[0], server.address, *command[1:])
        return server.stats["handed_over"]

    def get(self, name, *layout):
        return ("get", "w", "--raw", "-o", self.folder / name, *layout)

    def test_panels_are_handed_over(self):
        layout = ("-l", "ba16a64b", "--stored", "nk")
        self.assertEqual(self.count(self.address, self.get("a", *layout), self.get("n")), 1)
        self.assertEqual(self.count("tcp:127.0.0.1:0", self.get("b", *layout)), 0)
        self.assertEqual((self.folder / "a").read_bytes(), (self.folder / "b").read_bytes())

    def test_products_read_what_is_shared(self):
        multiply = ("multiply", "w", "--kernel", "own", "--runs", "0")
        self.assertGreater(self.count(self.address, multiply), 0)
        self.assertEqual(self.count(self.address, (*multiply, "--pack-here")), 0)


class Serve(Served):
    def test_says_what_it_does(self):
        with self.serving() as server:
            self.assertEqual(server.hello, {"event": "listening", "addresses": [self.address],
                                            "tensors": 5})
            self.assertEqual(stat.S_IMODE(os.stat(self.folder / "s").st_mode), 0o600)
            self.good("get", self.address, "w", "--raw", "-o", self.out)
            self.good("get", self.address, "w", "-l", "ba16a64b", "--stored", "nk", "-o", self.out)
            self.fails(6, "nothing", "get", self.address, "nothing", "-o", self.out)
        self.assertEqual(server.stats["event"], "stopped")
        self.assertEqual((server.stats["served"], server.stats["packed"], server.stats["failed"]),
                         (2, 1, 1))
        self.assertFalse((self.folder / "s").exists())

    def test_text_and_interrupt(self):
        process = subprocess.Popen([TILERY, "serve", self.file, "--listen", self.address],
                                   stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), f"serving 5 tensors on {self.address}\n")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        self.assertRegex(out, r"^stopped: 0 connections, 0 tensors served")
        self.assertEqual(process.returncode, 0)

    def test_a_client_that_is_not_ours(self):
        with self.serving():
            other = peer.Peer(self.folder / "s")
            self.addCleanup(other.close)
            version, _, _ = other.hello()
            self.assertEqual(version, 1)
            descriptor, data = other.fetch("w")
            self.assertEqual(data, self.raw)
            self.assertEqual(descriptor[:4], b"HRRY")
            self.assertEqual(struct.unpack_from("<I2Q", descriptor, 16), (2, N, K))
            code, text = other.fetch("nothing", 3)
            self.assertEqual(code, 2)
            self.assertIn("nothing", text)
            self.assertEqual(other.fetch("empty", 4)[1], b"")
            other.close()

    def test_a_second_signal_does_not_wait(self):
        samples.npy(self.folder / "big.npy", [0.5] * (1 << 21), (1 << 11, 1 << 10))
        big = self.folder / "big.hrry"
        self.good("import", self.folder / "big.npy", "-o", big)
        name = self.only(big)[0]["name"]
        process = subprocess.Popen([TILERY, "serve", big, "--listen", self.address],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        process.stdout.readline()
        slow = peer.Peer(self.folder / "s")
        self.addCleanup(slow.close)
        slow.hello()
        slow.request(name)
        slow.exactly(12)    # the transfer has begun, and nobody reads on
        process.terminate()
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(1)
        process.terminate()
        self.assertEqual(process.wait(10), -signal.SIGTERM)

    def test_log(self):
        for level, says in (("info", "listening on"), ("error", None)):
            process = subprocess.Popen([TILERY, "serve", self.file, "--listen", self.address, "--log",
                                        level], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            process.stdout.readline()
            process.terminate()
            _, err = process.communicate(timeout=30)
            if says:
                self.assertIn(f"tilery: serve: {says}", err)
            else:
                self.assertEqual(err, "")

    def test_several_addresses(self):
        with self.serving(listen=["tcp:127.0.0.1:0", self.address]) as server:
            self.assertRegex(server.hello["addresses"][0], r"^tcp:127\.0\.0\.1:[1-9][0-9]*$")
            for address in server.hello["addresses"]:
                self.good("get", address, "w", "--raw", "-o", self.out)
                self.assertEqual(self.out.read_bytes(), self.raw)

    def test_refusals(self):
        self.fails(2, "--listen ADDRESS says where", "serve", self.file)
        self.fails(4, "loopback", "serve", self.file, "--listen", "tcp:0.0.0.0:0")
        self.fails(2, "", "serve", self.file, "--listen", "nonsense")
        self.fails(2, "", "serve", self.file, self.file, "--listen", self.address)
        self.fails(3, "", "serve", self.folder / "m.safetensors", "--listen", self.address)
        done = run("serve", self.folder / "none.hrry", "--listen", self.address)
        self.assertIn(done.code, (5, 6))
        with self.serving():
            self.fails(2, "", "serve", self.file, "--listen", self.address)


class Get(Served):
    def test_native_container_and_raw(self):
        with self.serving():
            done = self.good("get", self.address, "w", "-o", self.out)
            self.assertIn("f32 [40, 24], 3.75 KiB, row-major", done.out)
            self.assertEqual(self.only(self.out), [{"name": "w", "dtype": "f32", "shape": [N, K],
                                                    "layout": "row-major", "bytes": len(self.raw)}])
            self.good("get", self.address, "w", "--raw", "-o", self.out)
            self.assertEqual(self.out.read_bytes(), self.raw)
            self.good("get", self.address, "empty", "-o", self.out)
            self.assertEqual(self.only(self.out)[0]["shape"], [0, 4])

    def test_panels_are_byte_exact(self):
        with self.serving():
            self.good("get", self.address, "w", "-l", "ba16a64b", "--stored", "nk", "--raw",
                      "-o", self.out)
            self.assertEqual(self.out.read_bytes(), panel(self.values, 64, 16))
            self.good("get", self.address, "w", "-l", "ba16a64b", "--stored", "nk", "-o", self.out)
            self.assertIn("[N:up(N,64)/64 step 64]", self.only(self.out)[0]["layout"])
            self.assertIn(panel(self.values, 64, 16), self.out.read_bytes())

    def test_col_major(self):
        with self.serving():
            self.good("get", self.address, "w", "-l", "col-major", "--raw", "-o", self.out)
        turned = [self.values[n * K + k] for k in range(K) for n in range(N)]
        self.assertEqual(self.out.read_bytes(), struct.pack(f"<{N * K}f", *turned))

    def test_a_container_with_a_panel_can_be_served_again(self):
        with self.serving():
            self.good("get", self.address, "w", "-l", "ba16a64b", "--stored", "nk", "-o", self.out)
        with Server(self.out, listen=self.address):
            self.good("get", self.address, "w", "--raw", "-o", self.folder / "raw")
        self.assertEqual((self.folder / "raw").read_bytes(), panel(self.values, 64, 16))

    def test_profile_files(self):
        profile = self.folder / "p.profile"
        with self.serving():
            self.good("get", self.address, "w", "-l", "auto", "-k", "own", "--stored", "nk", "--raw",
                      "-o", self.out, "--save-profile", profile)
            wanted = self.out.read_bytes()
            done = self.good("get", self.address, "w", "-l", profile, "--raw", "-o", self.out, "--json")
            self.assertEqual(self.out.read_bytes(), wanted)
            self.assertRegex(json.loads(done.out)["kernel"], "^tilery/")
            profile.write_bytes(profile.read_bytes()[:-1])
            self.fails(3, "p.profile", "get", self.address, "w", "-l", profile, "-o", self.out)
            self.fails(2, "needs a panel", "get", self.address, "w", "-o", self.out,
                       "--save-profile", profile)

    def test_order_of_preferences(self):
        with self.serving():
            def layout(*wanted):
                args = [a for name in wanted for a in ("-l", name)]
                return json.loads(self.good("get", self.address, "w", *args, "-o", self.out,
                                            "--json").out)["layout"]
            self.assertEqual(layout("native", "ba16a64b"), "row-major")
            self.assertIn("step 64", layout("ba16a64b", "native"))
            self.assertEqual(layout("row-major", "ba16a64b"), "row-major")
            self.assertIn("tilery", json.loads(self.good(
                "get", self.address, "w", "-l", "auto", "-k", "own", "-o", self.out,
                "--json").out)["kernel"])

    def test_layout_that_cannot_be_had(self):
        with self.serving():
            done = self.fails(6, "add --layout native", "get", self.address, "int64", "-l", "cube_m32",
                              "-o", self.out)
            self.assertIn("row-major", done.err)
            self.assertFalse(self.out.exists())
            self.good("get", self.address, "int64", "-l", "cube_m32", "-l", "native", "-o", self.out)
            self.fails(4, "--layout auto is for matrices", "get", self.address, "cube", "-l", "auto",
                       "-o", self.out)

    def test_kernels_that_want_no_panel(self):
        names = [k["kernel"] for k in json.loads(self.good("multiply", "--list-kernels", "--json").out)
                 if k["usable"]]
        with self.serving():
            for name in names:
                args = ("get", self.address, "w", "-l", "auto", "-k", name, "-o", self.out)
                done = run(*args, "--json")
                if done.code == 0:
                    self.assertIn("kernel", json.loads(done.out))
                    self.assertNotEqual(json.loads(done.out)["layout"], "row-major")
                else:
                    self.assertEqual(done.code, 6, done.err)
                    self.assertIn("plain", done.err)
                    done = self.good(*args, "-l", "native", "--json")
                    self.assertEqual(json.loads(done.out)["layout"], "row-major")

    def test_raw_to_standard_output(self):
        with self.serving():
            done = run("get", self.address, "w", "--raw", "-o", "-")
            self.assertEqual((done.code, done.out_bytes), (0, self.raw))
            self.assertIn("f32 [40, 24]", done.err)
            with open("/dev/full", "w") as full:
                done = run("get", self.address, "w", "--raw", "-o", "-", stdout=full)
            self.assertEqual(done.code, 5)
            self.assertIn("No space left on device", done.err)

    def test_usage(self):
        self.fails(2, "ADDRESS and KEY are needed", "get", "unix:/x")
        self.fails(2, "-o FILE says where", "get", "unix:/x", "w")
        self.fails(2, "only --raw can write to standard output", "get", "unix:/x", "w", "-o", "-")
        self.fails(2, "caf\\xE9\" is not UTF-8", "get", "unix:/x", b"caf\xe9", "-o", self.out)
        self.fails(2, "", "get", "ftp:host", "w", "-o", self.out)
        with self.serving():
            self.fails(6, 'did you mean "row-major"?', "get", self.address, "w", "-l", "row-magor",
                       "-o", self.out)

    def test_layouts_have_names(self):
        text = self.good("get", "--list-layouts").out
        listed = json.loads(self.good("get", "--list-layouts", "--json").out)
        self.assertEqual([line.split()[0] for line in text.splitlines()],
                         [row["layout"] for row in listed])
        names = [row["layout"] for row in listed]
        self.assertEqual(names[:3], ["native", "row-major", "column-major"])
        self.assertIn("ba16a64b", names)
        self.assertEqual(len(set(names)), len(names))
        self.assertTrue(all(row["summary"] for row in listed))

    def test_a_place_that_cannot_be_written_is_told_before_fetching(self):
        with self.serving() as server:
            for raw in ([], ["--raw"]):
                self.fails(5, "/nonexistent", "get", self.address, "w", "-o", "/nonexistent/w", *raw)
            self.fails(5, "not a regular file", "get", self.address, "w", "-o", "/dev/full")
        self.assertEqual(server.stats["requests"], 0)

    def test_nobody_there(self):
        self.fails(5, "", "get", f"unix:{self.folder}/nobody", "w", "-o", self.out)
        self.assertFalse(self.out.exists())

    def test_an_old_file_stays_when_the_peer_stops(self):
        self.out.write_text("old")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(f"{self.folder}/rude")
        listener.listen(1)

        def hang_up():
            peer, _ = listener.accept()
            peer.recv(5)
            peer.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        done = self.fails(7, "", "get", f"unix:{self.folder}/rude", "w", "-o", self.out,
                          "--retries", "0")
        thread.join()
        self.assertIn("tilery: nothing was written", done.err)
        self.assertEqual(self.out.read_text(), "old")
        self.assertFalse([name for name in self.files() if name.startswith(".")])


class Multiply(Served):
    def multiply(self, *args):
        return json.loads(self.good("multiply", self.address, "w", "--stored", "nk", "--json",
                                    "--runs", "3", *args).out)

    def test_every_kernel_that_is_here(self):
        kernels = json.loads(self.good("multiply", "--list-kernels", "--json").out)
        self.assertEqual(kernels[0]["kernel"], "own")
        self.assertTrue(kernels[0]["usable"])
        with self.serving():
            for kernel in kernels:
                if not kernel["usable"]:
                    continue
                with self.subTest(kernel["kernel"]):
                    done = run("multiply", self.address, "w", "--stored", "nk", "--json", "--runs", "3",
                               "--kernel", kernel["kernel"])
                    if done.code == 6:
                        self.assertIn("plain", done.err)
                        continue
                    self.assertEqual(done.code, 0, done.err)
                    result = json.loads(done.out)
                    self.assertEqual((result["n"], result["k"], result["m"]), (N, K, 8))
                    self.assertEqual(result["shape"], [N, K])
                    self.assertEqual(result["bytes_repacked"], 0)
                    # oneDNN may choose other layouts for matrices as small as those of the probe.
                    self.assertIn(result["probed"], [False, kernel["kernel"] == "onednn"])
                    self.assertGreaterEqual(result["bytes_fetched"], len(self.raw))
                    self.assertLess(result["max_relative_error"], 1e-5)
                    self.assertEqual(result["version"], kernel["version"])
                    self.assertGreater(result["times"]["panel_ms"], 0)

    def test_packing_on_this_side_is_counted(self):
        with self.serving() as server:
            fetched = self.multiply()
            packed = self.multiply("--pack-here")
        self.assertEqual(fetched["bytes_repacked"], 0)
        self.assertEqual(packed["bytes_fetched"], len(self.raw))
        self.assertEqual(packed["bytes_repacked"], fetched["bytes_fetched"])
        self.assertEqual(packed["profile"], fetched["profile"])
        self.assertEqual(packed["max_relative_error"], fetched["max_relative_error"])
        self.assertEqual(server.stats["packed"], 1)

    def test_both_orders_and_rows(self):
        with self.serving():
            for m in ("1", "7", "33"):
                self.assertEqual(self.multiply("--m", m)["m"], int(m))
                result = json.loads(self.good("multiply", self.address, "w", "--json", "--runs", "0",
                                              "--m", m).out)
                self.assertEqual((result["n"], result["k"]), (K, N))
                self.assertNotIn("panel_ms", result["times"])

    def test_plain_products(self):
        with self.serving() as server:
            result = self.multiply("--plain")
            text = self.good("multiply", self.address, "w", "--plain").out
        self.assertNotIn("bytes_repacked", result)
        self.assertNotIn("profile", result)
        self.assertEqual(result["bytes_fetched"], len(self.raw))
        self.assertGreater(result["times"]["plain_ms"], 0)
        self.assertNotIn("panel_ms", result["times"])
        self.assertEqual(server.stats["packed"], 0)
        self.assertIn("panel      none", text)
        self.fails(2, "exclude each other", "multiply", self.address, "w", "--plain", "--pack-here")

    def test_text_form(self):
        with self.serving():
            text = self.good("multiply", self.address, "w", "--runs", "3").out
        self.assertIn("0 B repacked", text)
        self.assertRegex(text, r"one call +[0-9.e-]+ ms on the panel")

    def test_what_cannot_be_multiplied(self):
        with self.serving():
            self.fails(4, "has rank 3", "multiply", self.address, "cube")
            self.fails(4, "without an empty side", "multiply", self.address, "empty")
            self.fails(4, "is i64", "multiply", self.address, "int64")
            self.fails(4, "no_such", "multiply", self.address, "w", "--kernel", "no_such")
            self.fails(6, "", "multiply", self.address, "nothing")
            done = run("multiply", self.address, "nan", "--runs", "0")
            self.assertEqual(done.code, 1)
            self.assertIn("the product is off by inf", done.err)
        self.fails(2, "ADDRESS and KEY are needed", "multiply", self.address)
