# SPDX-License-Identifier: Apache-2.0
"""Tables for CRC-32C (Castagnoli), eight bytes at a time."""

from .common import head

POLYNOMIAL = 0x82F63B78  # bits reversed


def tables():
    first = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
        first.append(value)
    rows = [first]
    for _ in range(7):
        last = rows[-1]
        rows.append([first[v & 0xFF] ^ v >> 8 for v in last])
    return rows


def outputs(root):
    text = [head("tools/tlygen/crc32c.py"),
            "/* Row n: the effect of a byte that n zero bytes follow. */\n"
            "static const uint32_t tly_crc32c_table[8][256] = {\n"]
    for row in tables():
        text.append("    {\n")
        for start in range(0, 256, 8):
            text.append("        " + ", ".join(f"0x{v:08X}" for v in row[start:start + 8]) + ",\n")
        text.append("    },\n")
    text.append("};\n")
    return {"src/base/crc32c_table.h": "".join(text)}
