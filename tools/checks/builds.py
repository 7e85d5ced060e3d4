# SPDX-License-Identifier: Apache-2.0
"""Builds under build/ and the suites that run in them."""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import run_tests  # noqa: E402

from .common import Report, tail  # noqa: E402

SIMD_LEVELS = ["portable", "avx2", "avx512", "avx512vnni", "avx512fp16"]


def build(house, folder, options=(), environment=None, targets=()):
    """Configures (once) and builds; returns (worked, what was printed)."""
    if not (folder / "build.ninja").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        code, text = house.command(["meson", "setup", folder, *options],
                                   env={**os.environ, **(environment or {})})
        if code != 0:
            return False, text
    code, text = house.command(["ninja", "-C", folder, *targets])
    return code == 0, text


def step_build(house, folder, options=(), environment=None):
    report = Report()
    good, text = build(house, folder, options, environment)
    report.check(good, f"the build in {folder.relative_to(house.root)} failed:\n"
                 + "\n".join(tail(text, 60)))
    return report


def run_suites(report, folder, **options):
    counts, times = run_tests.run(folder, **options)
    report.add(counts)
    slow = [f"{name} {seconds:.0f} s" for seconds, name in times if seconds > 10]
    if slow:
        report.lines.append("slow: " + ", ".join(slow))


def plain(house):
    """gcc, optimised: the build that people use, and all its tests."""
    report = step_build(house, house.build)
    if not report.failed:
        run_suites(report, house.build)
    return report


def sanitized(house, which, suites=(), tests=()):
    """A build with clang's sanitizers and the tests of some suites and others by name, or all."""
    folder = house.build / ("asan" if "address" in which else which)
    report = step_build(house, folder,
                        [f"-Db_sanitize={which}", "-Db_lundef=false", "-Doptimization=1", "-Ddebug=true"],
                        {"CC": "clang"})
    if not report.failed:
        suppressions = house.root / "tests/lsan.supp"
        extra = {
            "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:"
                            "allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:suppressions="
                            f"{house.root / 'tests/tsan.supp'}",
            # use_tls=0: the leak detector of clang 14 ends with a segmentation fault where libraries
            # with thread-local storage were opened at run time, as the kernel modules are.
            "LSAN_OPTIONS": f"suppressions={suppressions}:print_suppressions=0:use_tls=0",
        }
        run_suites(report, folder, suites=suites, extra=extra)
        if tests:
            run_suites(report, folder, names=tests, extra=extra)
    return report


def sanitizers(house):
    """clang with the address and undefined-behaviour sanitizers, all tests."""
    return sanitized(house, "address,undefined")


def simd_levels(house):
    """Each level of vector code that this machine has besides its best, which ran already."""
    report = Report()
    flags = ""
    try:
        flags = re.search(r"^flags\s*:(.*)$", open("/proc/cpuinfo").read(), re.M)[1].split()
    except (OSError, TypeError):
        pass
    levels = ["portable"]
    if "avx2" in flags and "fma" in flags:
        levels.append("avx2")
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags):
        levels.append("avx512")
    if "avx512" in levels and "avx512_vnni" in flags:
        levels.append("avx512vnni")
    if "avx512vnni" in levels and "avx512_fp16" in flags:
        levels.append("avx512fp16")
    for level in levels[:-1]:
        before = len(report.lines)
        run_suites(report, house.build, extra={"TILERY_SIMD": level}, without=["cli", "net", "tools"])
        report.lines[before:] = [f"[{level}] {line}" for line in report.lines[before:]]
    for level in SIMD_LEVELS:
        if level not in levels:
            report.skip(f"this machine has no {level}")
    return report


def reproducible(house):
    """Two builds in folders of different depth give the same bytes."""
    from .common import tree_files
    report = Report()
    place = house.build / "repro"
    shutil.rmtree(place, ignore_errors=True)
    made = []
    for name in ("a", "second/and/deeper"):
        source = place / name
        for file in tree_files(house.root):
            if file.startswith(("src/", "gen/", "include/", "modules/", "examples/", "meson", "tables/",
                                "tools/systemd/")):
                (source / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(house.root / file, source / file)
        good, text = build(house, source / "out", [source, "-Dtests=false"])
        if not report.check(good, "\n".join(tail(text))):
            return report
        made.append(source / "out")
    wanted = sorted(p.relative_to(made[0]) for p in made[0].rglob("*")
                    if p.is_file() and (p.suffix in (".so", ".a") or p.name == "tilery"
                                        or ".so." in p.name) and not p.is_symlink()
                    and not any(part.endswith(".p") for part in p.parts))
    report.check(len(wanted) >= 2, "no libraries were built")
    for name in wanted:
        if name.suffix == ".a" and name.name != "libtilery.a":
            continue   # thin archives for our own use
        report.check((made[0] / name).read_bytes() == (made[1] / name).read_bytes(),
                     f"{name} depends on where it was built")
    return report
