#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test programs and adds up what they say.

    tools/run_tests.py BUILD_DIR [--suite NAME]... [--jobs N] [--env NAME=VALUE]... [--wrapper "CMD"]

Takes the tests that Meson knows in BUILD_DIR, runs each once and counts its TAP lines. Failures and
skips are shown with what the program printed. A program that says nothing, says less than it planned,
or ends badly counts as a failure.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field

LINE = re.compile(r"^(not ok|ok)\b(?:\s+\d+)?(?:\s*-)?\s*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)\b")


@dataclass
class Counts:
    """What a run came to, and what there is to show of it."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    lines: list = field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def line(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def count_tap(text, code):
    counts = Counts()
    planned = 0
    for line in text.splitlines():
        plan = PLAN.match(line)
        if plan:
            planned += int(plan[1])
        match = LINE.match(line)
        if not match:
            continue
        if "# skip" in line.lower():
            counts.skipped += 1
        elif match[1] == "ok":
            counts.passed += 1
        else:
            counts.failed += 1
    seen = counts.passed + counts.failed + counts.skipped
    if counts.failed == 0 and (code != 0 or seen == 0 or seen < planned):
        counts.failed = max(1, planned - seen)
    return counts


def run_one(test, extra, wrapper):
    environment = {**os.environ, **test["env"], **extra}
    started = time.monotonic()
    try:
        done = subprocess.run(wrapper + test["cmd"], env=environment, cwd=test.get("workdir"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=test["timeout"] or None)
        text, code = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        text, code = (late.stdout or b"").decode(errors="replace") + "\n(timed out)", -1
    except OSError as error:
        text, code = str(error), -1
    if test["protocol"] == "tap":
        counts = count_tap(text, code)
    elif code == 77:
        counts = Counts(skipped=1)
    else:
        counts = Counts(passed=1) if code == 0 else Counts(failed=1)
    seconds = time.monotonic() - started
    if counts.failed or counts.skipped or os.environ.get("VERBOSE"):
        ending = "" if code in (0, 77) else f", ended with {code}"
        counts.lines.append(f"{test['name']}: {counts.line()}{ending} ({seconds:.1f} s)")
        shown = text.splitlines()
        if not counts.failed:
            shown = [line for line in shown if "skip" in line.lower()]
        counts.lines += ["    " + line for line in shown[-60:]]
    return test["name"], counts, seconds


def run(build, suites=(), without=(), names=(), jobs=None, extra=None, wrapper=(), timeout=None):
    """Runs the tests of a build folder; returns (Counts, [(seconds, name)] slowest first)."""
    listed = subprocess.run(["meson", "introspect", str(build), "--tests"],
                            check=True, stdout=subprocess.PIPE).stdout
    tests = json.loads(listed)
    suite_of = lambda test: {s.split(":")[-1] for s in test["suite"]}
    if suites:
        tests = [t for t in tests if suite_of(t) & set(suites)]
    tests = [t for t in tests if not suite_of(t) & set(without)]
    if names:
        tests = [t for t in tests if t["name"] in names]
        missing = set(names) - {t["name"] for t in tests}
        if missing:
            return Counts(failed=1, lines=["no such tests: " + ", ".join(sorted(missing))]), []
    if timeout:
        tests = [{**t, "timeout": timeout} for t in tests]
    total = Counts()
    serial = [t for t in tests if not t.get("is_parallel", True)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs or os.cpu_count()) as pool:
        futures = [pool.submit(run_one, t, extra or {}, list(wrapper))
                   for t in tests if t not in serial]
        results = [f.result() for f in concurrent.futures.as_completed(futures)]
    results += [run_one(t, extra or {}, list(wrapper)) for t in serial]
    for _, counts, _ in sorted(results, key=lambda r: r[0]):
        total.add(counts)
        total.lines += counts.lines
    if not results:
        total.failed += 1
        total.lines.append("no test programs were found")
    return total, sorted(((s, n) for n, _, s in results), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--wrapper", default="")
    args = parser.parse_args()
    counts, _ = run(args.build, args.suite, jobs=args.jobs, wrapper=shlex.split(args.wrapper),
                    extra=dict(item.split("=", 1) for item in args.env))
    for line in counts.lines:
        print(line)
    print(counts.line())
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
