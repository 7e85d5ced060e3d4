# SPDX-License-Identifier: Apache-2.0
"""No vector code has an instruction beyond what its level promises (tly_simd_available in
src/base/cpu.c): what objdump shows of it is assembled again, with the rest switched off."""

import re
import shutil
import subprocess

from .common import Report

# In the assembler's names. Every x86-64 has SSE2. gcc writes `tzcnt` for `bsf` where both agree.
AVX2 = ["sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "fma", "f16c"]
AVX512 = [*AVX2, "avx512f", "avx512bw", "avx512dq", "avx512vl"]
VNNI = [*AVX512, "avx512_vnni"]
PROMISED = {"avx2": AVX2, "avx512": AVX512, "avx512vnni": VNNI, "avx512fp16": [*VNNI, "avx512_fp16"]}
# Chosen by a test of its own (tly_isa_has_avx2).
MORE = {"decode_avx2.c.o": ["bmi2"]}
SAME_ON_ALL = {"tzcnt", "nop", "nopw", "nopl", "data16", "cs", "xchg"}
LINE = re.compile(r"^\s+[0-9a-f]+:\s+(.*)$")


def instructions(text):
    """The lines of objdump -d that the assembler can read again: no jumps, which name addresses."""
    found = []
    for line in text.splitlines():
        match = LINE.match(line)
        words = match[1].split("#")[0].split("<")[0].strip() if match else ""
        name = words.split(" ")[0]
        if words and name not in SAME_ON_ALL and not name.startswith(("j", "call")):
            found.append(words)
    return found


def beyond(lines, groups):
    """Those of the lines that need more than `groups`."""
    head = [".arch generic64", *(f".arch .{group}" for group in groups)]
    done = subprocess.run(["as", "--64", "-o", "/dev/null", "-"], input="\n".join([*head, *lines, ""]),
                          stderr=subprocess.PIPE, text=True)
    numbers = {int(n) for n in re.findall(r"^[^:\n]*:(\d+): Error", done.stderr, re.M)}
    if done.returncode != 0 and (not numbers or min(numbers) <= len(head)):
        return [done.stderr.strip()]
    return sorted({lines[number - len(head) - 1] for number in numbers})


def levels(house):
    """The objects of vector code, each against its level."""
    report = Report()
    if shutil.which("objdump") is None or shutil.which("as") is None:
        report.skip("binutils are not installed")
        return report
    objects = {file: match[1] for file in sorted((house.build / "src").rglob("*.c.o"))
               if (match := re.search(r"_(avx\w*)\.c\.o$", file.name))}
    if not objects:
        report.skip("nothing here is for x86-64")
    for file, level in objects.items():
        if not report.check(level in PROMISED, f"{file.name}: no level is called {level}"):
            continue
        lines = instructions(subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", "-w", file], check=True,
            stdout=subprocess.PIPE, text=True).stdout)
        more = beyond(lines, PROMISED[level] + MORE.get(file.name, []))
        report.check(lines and not more, f"{file.name}: not in every processor of level {level}: "
                     + ("; ".join(more[:5]) or "it has no instructions"))
    return report
