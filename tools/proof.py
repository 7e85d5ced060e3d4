#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The long runs behind the claims of the project; see tables/proofs.toml.

    tools/proof.py [NAME]... [--seed N] [--list]

Runs the named proofs, or all, and appends what came of each to docs/internals/proofs.md: date, commit,
seed, rounds, result. The seed is new on every run; --seed repeats an old one.
"""

import argparse
import datetime
import pathlib
import random
import sys
import time
import tomllib

import fuzz
import run_tests
from checks import builds, cross, emulated
from checks.common import House

LOG = "docs/internals/proofs.md"


def read_table(root):
    rows = tomllib.loads((root / "tables/proofs.toml").read_text())["proof"]
    for row in rows:
        kind = {"test", "fuzz_seconds", "cross", "sanitizer", "processor"} & row.keys()
        if len(kind) != 1 or not {"name", "what"} <= row.keys():
            raise SystemExit(f"proofs.toml: {row.get('name', '?')}: needs name, what, and one of test, "
                             "fuzz_seconds, cross, sanitizer or processor")
    return rows


def run_test_rows(house, row, seed):
    """The named tests with their rounds; returns (passed, failed, lines)."""
    extra = {"TILERY_SEED": str(seed)}
    if "rounds" in row:
        extra["TILERY_ROUNDS"] = str(row["rounds"])
    counts = run_tests.run(house.build, names=row["test"], extra=extra, timeout=7200)[0]
    return counts.passed, counts.failed + counts.skipped, counts.lines


def run_fuzz_row(house, row):
    results = [fuzz.run_target(house, program, row["fuzz_seconds"])
               for program in fuzz.prepare(house)]
    inputs = sum(count for _, count in results)
    return (sum(good for good, _ in results), sum(not good for good, _ in results),
            [f"{inputs} inputs in all"])


def run_reported_row(house, row, seed):
    """What a row comes to whose work is a step of `make check`, or like one."""
    if "cross" in row:
        report = cross.cross(house, row["cross"])
    elif "processor" in row:
        report = emulated.emulated(house, row, seed)
    else:
        report = builds.sanitized(house, row["sanitizer"], row["suites"], row.get("tests", ()))
    return report.passed, report.failed, report.lines


def commit_of(house):
    code, text = house.command(["git", "describe", "--always", "--dirty", "--abbrev=10"])
    return text.strip() if code == 0 else "unknown"


def log_line(house, commit, row, seed, passed, failed, seconds):
    path = house.root / LOG
    size = row.get("rounds") or row.get("fuzz_seconds")
    size = f"{size} rounds" if "rounds" in row else f"{size} s a target" if size else ""
    verdict = f"{passed} passed" if not failed else f"**{failed} failed**, {passed} passed"
    with path.open("a") as log:
        log.write(f"| {datetime.date.today()} | {commit} | {row['name']} | {seed} | {size} | "
                  f"{verdict} | {seconds:.0f} s |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    house = House(root, root / "build")
    rows = read_table(root)
    if args.list:
        for row in rows:
            print(f"{row['name']:<20} {row['what']}")
        return 0
    unknown = set(args.names) - {row["name"] for row in rows}
    if unknown:
        print(f"proof: nothing is called {', '.join(sorted(unknown))}; --list names them",
              file=sys.stderr)
        return 2
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 32)

    good, text = builds.build(house, house.build)
    if not good:
        print(text)
        return 1
    commit = commit_of(house)   # before the log changes
    total_passed = total_failed = 0
    for row in rows:
        if args.names and row["name"] not in args.names:
            continue
        print(f"{row['name']}: {row['what']} (seed {seed})", flush=True)
        started = time.monotonic()
        if "test" in row:
            passed, failed, lines = run_test_rows(house, row, seed)
        elif "fuzz_seconds" in row:
            passed, failed, lines = run_fuzz_row(house, row)
        else:
            passed, failed, lines = run_reported_row(house, row, seed)
        seconds = time.monotonic() - started
        for line in lines:
            print("    " + line)
        if passed + failed == 0:
            print(f"    {row['name']} DID NOT RUN", flush=True)
            continue
        print(f"    {passed} passed, {failed} failed, {seconds:.0f} s", flush=True)
        log_line(house, commit, row, seed, passed, failed, seconds)
        total_passed += passed
        total_failed += failed
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed or not total_passed else 0


if __name__ == "__main__":
    sys.exit(main())
