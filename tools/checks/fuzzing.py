# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets are wired, and have something to start from."""

import re

from .common import Report


def listed(house):
    """Every tests/fuzz/fuzz_*.c is in tests/fuzz/meson.build and has a corpus."""
    report = Report()
    folder = house.root / "tests/fuzz"
    build_file = re.sub(r"#.*", "", (folder / "meson.build").read_text())
    names = set(re.findall(r"'(\w+)'", build_file))
    for source in sorted(folder.glob("fuzz_*.c")):
        name = source.stem.removeprefix("fuzz_")
        report.check(name in names, f"{source.name} is not listed in tests/fuzz/meson.build")
        corpus = folder / "corpus" / name
        report.check(corpus.is_dir() and any(corpus.iterdir()),
                     f"tests/fuzz/corpus/{name}/ has no files")
    return report
