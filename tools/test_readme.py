#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the README's own commands: every block that begins with ```sh run, in one shell, in order.

Each block is a test; a command that fails fails its block and ends the shell.
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WAIT_FOR_SERVER = "for i in $(seq 100); do [ -S socket ] && break; sleep 0.1; done"


def script(blocks):
    lines = ["set -eu -o pipefail", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"]
    for number, block in enumerate(blocks, 1):
        lines += [f"echo '# block {number}'", block.rstrip()]
        if block.rstrip().endswith("&"):
            lines.append(WAIT_FOR_SERVER)   # a person takes longer than that to go on
        lines.append(f"echo 'ok {number} - README block {number}'")
    return "\n".join(lines)


def main():
    blocks = re.findall(r"^```sh run\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    print(f"1..{len(blocks)}")
    shutil.rmtree(ROOT / "build/tour", ignore_errors=True)
    done = subprocess.run(["bash", "-c", script(blocks)], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    text = done.stdout.decode(errors="replace")
    print(text)
    passed = len(re.findall(r"^ok \d+ - ", text, re.M))
    for number in range(passed + 1, len(blocks) + 1):
        print(f"not ok {number} - README block {number}")
    return 0 if blocks and passed == len(blocks) else 1


if __name__ == "__main__":
    sys.exit(main())
