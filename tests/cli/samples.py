# SPDX-License-Identifier: Apache-2.0
"""Small input files, made with the standard library only."""

import json
import struct


def npy(path, values, shape, descr="<f4", code="f"):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                     + struct.pack(f"<{len(values)}{code}", *values))


def safetensors(path, tensors, metadata=None):
    """`tensors`: {name: (dtype, shape, bytes)}."""
    head, data = {}, b""
    if metadata:
        head["__metadata__"] = metadata
    for name, (dtype, shape, raw) in tensors.items():
        head[name] = {"dtype": dtype, "shape": list(shape),
                      "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_floats(path):
    """{name: (shape, values)} of a safetensors file of f32."""
    raw = path.read_bytes()
    start = 8 + struct.unpack_from("<Q", raw)[0]
    found = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            found[name] = (entry["shape"], list(struct.unpack_from(f"<{(last - first) // 4}f", raw,
                                                                   start + first)))
    return found


def floats(count, seed=1):
    """Exact f32 values, none of them zero."""
    state, out = seed, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(((state >> 16) % 255 - 127.5) / 128)
    return out
