#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every check of the project and ends with one line: N passed, N failed.

    tools/check.py [STEP...] [--list]      all steps, or the named ones
    tools/check.py --write-exports         writes tests/expected/exports.txt anew

A step that fails does not stop the others. Everything that is built stays in build/.
"""

import argparse
import pathlib
import sys
import time
import traceback

from checks import builds, cross, fuzzing, headers, layers, levels, product, tools, tree
from checks.common import House, Report

STEPS = {
    "generated": tree.generated,
    "licences": tree.licences,
    "lengths": tree.lengths,
    "links": tree.links,
    "pages": tree.pages,
    "format": tree.formatting,
    "layers": layers.layers,
    "scripts": tree.python_compiles,
    "tools": tools.tool_tests,
    "headers": headers.headers,
    "tests": builds.plain,
    "levels": levels.levels,
    "exports": product.exports,
    "globals": product.globals_,
    "consumer": product.consumer,
    "startup": product.startup,
    "test-list": tree.tests_listed,
    "fuzz-list": fuzzing.listed,
    "simd": builds.simd_levels,
    "sanitizers": builds.sanitizers,
    "aarch64": cross.aarch64,
    "reproducible": builds.reproducible,
    "readme": tools.readme,
}
NEED_BUILD = {"levels", "exports", "globals", "consumer", "startup", "simd", "readme"}


def run_step(name, house):
    try:
        return STEPS[name](house)
    except Exception:   # a broken check is a failed check, and must not hide the others
        return Report(failed=1, lines=traceback.format_exc().splitlines())


def counts_text(report):
    text = f"{report.passed} passed, {report.failed} failed"
    return text + (f", {report.skipped} skipped" if report.skipped else "")


def show(name, report, seconds):
    mark = "FAIL" if report.failed else "ok"
    print(f"{mark:<5} {name:<13} {counts_text(report):<40} {seconds:6.1f} s", flush=True)
    for text in report.lines:
        for line in text.splitlines():
            print("      " + line)
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="*", metavar="STEP")
    parser.add_argument("--list", action="store_true", help="say what the steps are")
    parser.add_argument("--write-exports", action="store_true")
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    house = House(root, root / "build")

    if args.list:
        for name, step in STEPS.items():
            print(f"{name:<13} {(step.__doc__ or '').strip().splitlines()[0]}")
        return 0
    if args.write_exports:
        product.write_exports(house)
        return 0
    unknown = [name for name in args.steps if name not in STEPS]
    if unknown:
        print(f"check: no step is called {', '.join(unknown)}; --list names them", file=sys.stderr)
        return 2

    wanted = args.steps or list(STEPS)
    started = time.monotonic()
    total = Report()
    if set(wanted) & NEED_BUILD and "tests" not in wanted:
        good, text = builds.build(house, house.build)
        if not good:
            total.failed += 1
            print(text)
    for name in wanted:
        before = time.monotonic()
        if sys.stdout.isatty():
            print(f"      {name} ...", end="\r", flush=True)
        report = run_step(name, house)
        show(name, report, time.monotonic() - before)
        total.passed += report.passed
        total.failed += report.failed
        total.skipped += report.skipped
    print(f"{time.monotonic() - started:.0f} s in all")
    closing = counts_text(total)
    if house.build.is_dir():
        (house.build / "check.txt").write_text(closing + "\n")
    print(closing)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
