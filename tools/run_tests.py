#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test programs and adds up what they say.

    tools/run_tests.py BUILD_DIR [--suite NAME] [--jobs N] [--env NAME=VALUE]... [--label TEXT]

Takes the tests that Meson knows in BUILD_DIR, runs each once and counts its TAP lines. Failures and
skips are shown with what the program printed. With --tally FILE the counts are added to that file
instead of being printed, so that several runs end in one line: --report FILE prints it.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

LINE = re.compile(r"^(not ok|ok)\b(?:\s+\d+)?(?:\s*-)?\s*(.*)$")


def run_one(test, extra):
    environment = {**os.environ, **test["env"], **extra}
    started = time.monotonic()
    try:
        done = subprocess.run(test["cmd"], env=environment, cwd=test.get("workdir"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=test["timeout"] or None)
        text, code = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        text, code = (late.stdout or b"").decode(errors="replace") + "\n(timed out)", -1
    passed = failed = skipped = 0
    if test["protocol"] == "tap":
        for line in text.splitlines():
            match = LINE.match(line)
            if not match:
                continue
            if "# skip" in line.lower():
                skipped += 1
            elif match[1] == "ok":
                passed += 1
            else:
                failed += 1
        if code != 0 and failed == 0 or passed + failed + skipped == 0:
            failed += 1
    elif code == 77:
        skipped = 1
    else:
        passed, failed = (1, 0) if code == 0 else (0, 1)
    return test["name"], passed, failed, skipped, text, time.monotonic() - started


def tally_add(path, counts):
    old = json.loads(path.read_text()) if path.exists() else [0, 0, 0]
    path.write_text(json.dumps([a + b for a, b in zip(old, counts)]))


def closing_line(counts):
    passed, failed, skipped = counts
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--label", default="")
    parser.add_argument("--tally", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    args = parser.parse_args()

    if args.report:
        counts = json.loads(args.report.read_text())
        print(closing_line(counts))
        return 1 if counts[1] or not counts[0] else 0

    tests = json.loads(subprocess.run(["meson", "introspect", str(args.build), "--tests"],
                                      check=True, stdout=subprocess.PIPE).stdout)
    if args.suite:
        tests = [t for t in tests if any(s.split(":")[-1] in args.suite for s in t["suite"])]
    extra = dict(item.split("=", 1) for item in args.env)
    counts = [0, 0, 0]
    label = f"[{args.label}] " if args.label else ""
    serial = [t for t in tests if not t.get("is_parallel", True)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=args.jobs) as pool:
        futures = [pool.submit(run_one, t, extra) for t in tests if t not in serial]
        results = [f.result() for f in concurrent.futures.as_completed(futures)]
    results += [run_one(t, extra) for t in serial]
    for name, passed, failed, skipped, text, seconds in sorted(results):
        counts = [counts[0] + passed, counts[1] + failed, counts[2] + skipped]
        if failed or skipped or os.environ.get("VERBOSE"):
            print(f"{label}{name}: {closing_line((passed, failed, skipped))} ({seconds:.1f} s)")
            shown = text.splitlines()
            if not failed:
                shown = [line for line in shown if "skip" in line.lower()]
            for line in shown[-60:]:
                print("    " + line)
    if args.tally:
        tally_add(args.tally, counts)
        print(f"{label}{len(results)} programs: {closing_line(counts)}")
    else:
        print(closing_line(counts))
    return 1 if counts[1] or not counts[0] else 0


if __name__ == "__main__":
    sys.exit(main())
