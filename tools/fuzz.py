#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every libFuzzer target for FUZZ_SECONDS (60) each.

    tools/fuzz.py [NAME]...

New inputs are kept in build/fuzz/corpus/NAME; an input that breaks something is kept in
build/fuzz/crashes and its path is printed. Put it, under a name that says what it is, into
tests/fuzz/corpus/NAME together with the repair.
"""

import os
import pathlib
import re
import subprocess
import sys

from checks import builds
from checks.common import House


def run_target(house, program, seconds):
    name = program.name.removeprefix("fuzz_")
    grown = house.build / "fuzz/corpus" / name
    crashes = house.build / "fuzz/crashes"
    for folder in (grown, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    code, text = house.command([
        program, grown, house.root / "tests/fuzz/corpus" / name, f"-max_total_time={seconds}",
        f"-artifact_prefix={crashes}/{name}-", "-max_len=65536", "-timeout=20", "-rss_limit_mb=2048",
        "-print_final_stats=1"], env={**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1"})
    runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    count = int(runs[1]) if runs else 0
    print(f"{'ok' if code == 0 else 'FAIL':<5} {name:<24} {count:>12} inputs in {seconds} s", flush=True)
    if code != 0:
        print("\n".join("    " + line for line in text.splitlines()[-40:]))
    return code == 0, count


def prepare(house):
    """Builds the targets; returns their programs."""
    folder = house.build / "fuzz/out"
    good, text = builds.build(
        house, folder, ["-Dfuzz=true", "-Db_sanitize=address,undefined", "-Db_lundef=false",
                        "-Doptimization=1", "-Ddebug=true"], {"CC": "clang"})
    if not good:
        print(text)
        raise SystemExit("fuzz: the targets do not build")
    return sorted(p for p in (folder / "tests/fuzz").glob("fuzz_*") if p.is_file())


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    house = House(root, root / "build")
    seconds = int(os.environ.get("FUZZ_SECONDS", "60"))
    programs = prepare(house)
    if len(sys.argv) > 1:
        programs = [p for p in programs if p.name.removeprefix("fuzz_") in sys.argv[1:]]
    if not programs:
        print("fuzz: no target of that name", file=sys.stderr)
        return 2
    good = [run_target(house, program, seconds)[0] for program in programs]
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
