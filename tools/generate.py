#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes everything under gen/ from the tables under tables/.

    tools/generate.py            write what has changed
    tools/generate.py --check    write nothing, fail if a file is stale, missing or superfluous

Each module in tools/tlygen has a function `outputs(root)` that returns {path below gen/: text}, or
`documents(root)` for the few generated files elsewhere: {path below the root: text}.
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

    wanted, documents = {}, {}
    try:
        for info in sorted(pkgutil.iter_modules(tlygen.__path__), key=lambda m: m.name):
            module = importlib.import_module("tlygen." + info.name)
            if hasattr(module, "outputs"):
                for path, text in module.outputs(args.root).items():
                    if path in wanted:
                        raise TableError(f"two generators write gen/{path}")
                    wanted[path] = text
            if hasattr(module, "documents"):
                documents.update(module.documents(args.root))
    except TableError as error:
        print(f"generate: {error}", file=sys.stderr)
        return 1

    gen = args.root / "gen"
    present = {str(p.relative_to(gen)) for p in gen.rglob("*") if p.is_file()} if gen.is_dir() else set()
    stale = [path for path, text in sorted(wanted.items())
             if path not in present or (gen / path).read_text() != text]
    extra = sorted(present - wanted.keys())
    old = [path for path, text in sorted(documents.items())
           if not (args.root / path).is_file() or (args.root / path).read_text() != text]
    if args.check:
        for path in stale:
            print(f"generate: gen/{path} is not what tables/ says: run tools/generate.py")
        for path in extra:
            print(f"generate: gen/{path} is made by no generator: delete it")
        for path in old:
            print(f"generate: {path} is not what its sources say: run tools/generate.py")
        return 1 if stale or extra or old else 0
    for path in stale:
        target = gen / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(wanted[path])
    for path in extra:
        (gen / path).unlink()
    for path in old:
        (args.root / path).parent.mkdir(parents=True, exist_ok=True)
        (args.root / path).write_text(documents[path])
    print(f"generate: {len(stale) + len(old)} written, {len(extra)} removed, "
          f"{len(wanted) + len(documents)} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
