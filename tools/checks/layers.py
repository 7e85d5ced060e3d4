# SPDX-License-Identifier: Apache-2.0
"""The layering: an include points to the same folder or to one below it (tables/layers.toml); public
headers include only public headers; processor headers stay in the files made for them."""

import re
import tomllib

from .common import Report

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
VECTOR_HEADER = re.compile(r"(^|/)([a-z0-9]*intrin|cpuid|arm_neon|arm_sve)\.h$")
VECTOR_FILE = re.compile(r"_(avx|x86|neon|sve)[a-z0-9_]*\.[ch]$")
SYSTEM_IN_PUBLIC = {"stddef.h", "stdint.h", "stdbool.h"}


def below(table):
    """{folder: every folder under it}; refuses cycles and names that are not rows."""
    closed = {}

    def close(name, path):
        if name in path:
            raise ValueError(f"tables/layers.toml: {' -> '.join(path + [name])} is a circle")
        if name not in table:
            raise ValueError(f"tables/layers.toml: {name} is below {path[-1]} but has no row")
        if name not in closed:
            closed[name] = set()
            for lower in table[name]:
                closed[name] |= {lower} | close(lower, path + [name])
        return closed[name]

    for name in table:
        close(name, [])
    return closed


def check_file(path, name, folder, allowed, roots):
    """All includes of one file of src/ or gen/src/."""
    found = INCLUDE.findall(path.read_text(errors="replace"))
    problems = []
    for bracket, target in found:
        if VECTOR_HEADER.search(target) and not VECTOR_FILE.search(name):
            problems.append(f"{name}: <{target}> belongs in a file named *_avx*.c, *_x86*.c or so")
        if bracket == "<":
            continue
        if not any((root / target).is_file() for root in roots):
            problems.append(f'{name}: "{target}" is not found from src/; write "folder/file.h"')
            continue
        other = target.split("/")[0]
        if other != folder and other not in allowed:
            problems.append(f'{name}: "{target}": {other} is not below {folder} '
                            "(tables/layers.toml)")
    return problems


def layers(house):
    """Includes point downwards; public headers and processor headers keep to their rules."""
    report = Report()
    root = house.root
    try:
        closed = below(tomllib.loads((root / "tables/layers.toml").read_text())["below"])
    except ValueError as error:
        report.check(False, str(error))
        return report
    problems = []
    roots = [root / "src", root / "gen/src"]
    for base in roots:
        for path in sorted(base.rglob("*.[ch]")):
            name = str(path.relative_to(root))
            folder = path.relative_to(base).parts[0]
            if folder not in closed:
                problems.append(f"{name}: folder {folder} has no row in tables/layers.toml")
                continue
            problems += check_file(path, name, folder, closed[folder], roots)
    for base in (root / "include", root / "gen/include"):
        for path in sorted(base.rglob("*.h")):
            name = str(path.relative_to(root))
            bad = [target for bracket, target in INCLUDE.findall(path.read_text())
                   if not (bracket == "<" and
                           (target.startswith("tilery/") or target in SYSTEM_IN_PUBLIC))]
            if bad:
                problems.append(f"{name}: a public header includes only <tilery/...> and "
                                f"{', '.join(sorted(SYSTEM_IN_PUBLIC))}, not {', '.join(bad)}")
    report.rule(problems)
    return report
