# SPDX-License-Identifier: Apache-2.0
"""Each header compiles alone: public ones as C and as C++, with gcc and with clang; our own as C."""

import concurrent.futures
import os
import re
import shutil
import subprocess

from .common import Report

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
COMPILERS = [["gcc", "-std=c11", "-x", "c"], ["g++", "-std=c++11", "-x", "c++"],
             ["clang", "-std=c11", "-x", "c"], ["clang++", "-std=c++11", "-x", "c++"]]
NOT_ALONE = re.compile(r"(_template|_avx\w*|_x86\w*)\.h$|_table\.h$")


def headers(house):
    """Each header compiles alone, public ones in C and C++ with gcc and clang."""
    report = Report()
    root = house.root
    jobs = []
    for base in ("include", "gen/include"):
        for path in sorted((root / base).rglob("*.h")):
            for compiler in COMPILERS:
                flags = compiler + STRICT + ["-I", root / "include", "-I", root / "gen/include"]
                jobs.append((compiler[0], str(path.relative_to(root / base)), flags))
    for path in sorted((root / "src").rglob("*.h")):
        if not NOT_ALONE.search(path.name):
            flags = ["gcc", "-std=gnu17", "-x", "c", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
                     "-Wno-unused-parameter", "-Wno-unused-function", "-fsyntax-only"]
            for folder in ("include", "gen/include", "src", "gen/src"):
                flags += ["-I", root / folder]
            jobs.append(("gcc", str(path.relative_to(root / "src")), flags))

    def compile_one(job):
        compiler, name, flags = job
        if shutil.which(compiler) is None:
            return job, None, ""
        bracket = f"<{name}>" if name.startswith("tilery/") else f'"{name}"'
        done = subprocess.run([str(f) for f in flags] + ["-"], input=f"#include {bracket}\nint alone(void);\n".encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return job, done.returncode == 0, done.stdout.decode(errors="replace")

    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for (compiler, name, _), good, text in pool.map(compile_one, jobs):
            if good is None:
                report.skip(f"{name}: {compiler} is not installed")
            else:
                report.check(good, f"{name} does not compile alone with {compiler}:\n{text}")
    return report
