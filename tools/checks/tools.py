# SPDX-License-Identifier: Apache-2.0
"""Tests of the tools, and of the README's own commands."""

import re
import sys

from .common import Report, tail


def unittests(house, pattern):
    report = Report()
    code, text = house.command([sys.executable, "-m", "unittest", "discover", "-v",
                                "-s", "tests/tools", "-p", pattern])
    ran = re.search(r"^Ran (\d+) tests?", text, re.M)
    bad = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", text))
    skipped = re.search(r"skipped=(\d+)", text)
    report.skipped = int(skipped[1]) if skipped else 0
    report.failed = bad if ran else 1
    report.passed = max(0, int(ran[1]) - bad - report.skipped) if ran else 0
    if code != 0 and report.failed == 0 or report.passed == 0:
        report.failed = max(1, report.failed)
    if report.failed:
        report.lines += tail(text[max(0, text.find("=" * 20)):], 80)
    elif report.skipped:
        report.lines += [line for line in text.splitlines() if "skipped" in line and "..." in line]
    return report


def tool_tests(house):
    """The generator refuses bad tables; each checker finds what it is for."""
    return unittests(house, "test_*.py")


def readme(house):
    """The commands of the README do what it says."""
    report = Report()
    code, text = house.command([sys.executable, "tools/test_readme.py"])
    for line in text.splitlines():
        if line.startswith("ok "):
            report.passed += 1
        elif line.startswith("not ok "):
            report.failed += 1
    if (code != 0 and not report.failed) or report.passed + report.failed == 0:
        report.failed += 1
    if report.failed:
        report.lines += tail(text, 80)
    return report
