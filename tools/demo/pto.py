#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A layer and every attention head of a real model, by programs for the PTO machine and by oneDNN, with
weights from one server; and how far the two are apart.

    pto.py BUILD [--rows N] [--out FOLDER]

FOLDER (BUILD/demo) gets the model, the results and what the server counted. Everything goes through the
command `tilery` and the example `transformer`. Ends with 1 if any two results differ by more than the
tolerance."""

import argparse
import json
import pathlib
import subprocess
import sys

import ocr
from demo import Failed, Steps, Tilery

TOLERANCE = 1e-5        # docs/tutorial/transformer.md says why
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/pto"
SIZE = ocr.WIDTH // ocr.HEADS


def by_the_machine(tilery, address, rows, folder, head=None):
    """The layer, or one head; returns the file."""
    common = ("--profile", "ieee", "--arg", rows, "--from", address, "--tensor", "x=x")
    if head is None:
        out = folder / "y.hrry"
        tilery.run("run", EXAMPLES / "dense.s", *common, "--free-at", "rows", "--tile",
                   "u#1,u#2=linear_79.w_0", "--tensor", "b=linear_79.b_0", "--out",
                   f"y={out}:y:f32:{rows}x{ocr.HIDDEN}")
    else:
        out = folder / f"o{head}.hrry"
        tilery.run("run", EXAMPLES / "attention.s", *common, "--arg", head, "--free-at", "round",
                   "--tensor", "w=linear_77.w_0", "--tensor", "b=linear_77.b_0", "--tensor",
                   f"scale={ocr.SCALE}", "--out", f"o={out}:o:f32:{rows}x{SIZE}")
    return out


def by_onednn(build, address, folder, head=None):
    program = build / "transformer"
    if not program.exists():
        raise Failed(f"there is no {program}: oneDNN was not found when Tilery was built")
    out = folder / ("y-onednn.hrry" if head is None else f"o{head}-onednn.hrry")
    what = ("dense",) if head is None else ("head", str(head))
    done = subprocess.run([program, address, *what, out], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    return out


def compare(tilery, ours, theirs):
    done = tilery.run("diff", ours, theirs, "--atol", TOLERANCE, "--json", allowed=(0, 1))
    return done.returncode == 0, json.loads(done.stdout)["largest"]


def work(args, folder, steps):
    tilery = Tilery(args.build)
    steps.say("getting the model")
    path, text = ocr.source(folder)
    ocr.tokens(folder / "tokens.safetensors", args.rows)
    for name, source in (("model.hrry", path), ("tokens.hrry", folder / "tokens.safetensors")):
        steps.say(f"importing {source.name}")
        tilery.json("import", source, "-o", folder / name)
    address, found = f"unix:{folder.resolve()}/pto.sock", []
    with tilery.serving([folder / "model.hrry", folder / "tokens.hrry"], address) as counts:
        for head in (None, *range(ocr.HEADS)):
            what = "layer" if head is None else f"head {head}"
            shape = f"{args.rows} x {ocr.HIDDEN if head is None else SIZE}"
            steps.say(f"{what} by the machine")
            ours = by_the_machine(tilery, address, args.rows, folder, head)
            steps.say(f"{what} by oneDNN")
            theirs = by_onednn(args.build, address, folder, head)
            found.append((what, shape, *compare(tilery, ours, theirs)))
    return text, found, counts[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=ocr.ROWS, help="tokens, 1 to 128")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    args.build = args.build.resolve()
    folder = args.out or args.build / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    steps = Steps(3 + 2 * (1 + ocr.HEADS))
    if not 1 <= args.rows <= 128:
        parser.error("the programs take 1 to 128 tokens")
    if not (args.build / "tilery").exists():
        print(f"demo: there is no {args.build / 'tilery'}; run `make` first", file=sys.stderr)
        return 1
    try:
        source, found, counts = work(args, folder, steps)
    except Failed as error:
        steps.end()
        print(f"demo: {error}", file=sys.stderr)
        return 1
    steps.end()
    print(f"model: {source}")
    print(f"{'part':<8} {'result':<10} largest difference between PTO and oneDNN")
    for what, shape, alike, largest in found:
        print(f"{what:<8} {shape:<10} {largest:.2g}{'' if alike else '  too large'}")
    print(f"the server packed weights {counts['packed']} times and sent {counts['served']} tensors; results are "
          f"in {folder}")
    return 0 if all(alike for _, _, alike, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
