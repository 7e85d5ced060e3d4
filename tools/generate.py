#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes everything under gen/ from the tables under tables/.

    tools/generate.py            write what has changed
    tools/generate.py --check    write nothing, fail if a file is stale, missing or superfluous

Each module in tools/tlygen has a function `outputs(root)` that returns {path below gen/: text}.
"""

import argparse
import importlib
import pathlib
import pkgutil
import sys

import tlygen
from tlygen.common import TableError


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if gen/ is not current")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    args = parser.parse_args()

    wanted = {}
    try:
        for info in sorted(pkgutil.iter_modules(tlygen.__path__), key=lambda m: m.name):
            module = importlib.import_module("tlygen." + info.name)
            if hasattr(module, "outputs"):
                for path, text in module.outputs(args.root).items():
                    if path in wanted:
                        raise TableError(f"two generators write gen/{path}")
                    wanted[path] = text
    except TableError as error:
        print(f"generate: {error}", file=sys.stderr)
        return 1

    gen = args.root / "gen"
    present = {str(p.relative_to(gen)) for p in gen.rglob("*") if p.is_file()} if gen.is_dir() else set()
    stale = [path for path, text in sorted(wanted.items())
             if path not in present or (gen / path).read_text() != text]
    extra = sorted(present - wanted.keys())
    if args.check:
        for path in stale:
            print(f"generate: gen/{path} is not what tables/ says: run tools/generate.py")
        for path in extra:
            print(f"generate: gen/{path} is made by no generator: delete it")
        return 1 if stale or extra else 0
    for path in stale:
        target = gen / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(wanted[path])
    for path in extra:
        (gen / path).unlink()
    print(f"generate: {len(stale)} written, {len(extra)} removed, {len(wanted)} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
