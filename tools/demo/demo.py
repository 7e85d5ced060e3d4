#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job on real weights: import a model, serve it, let several kernel libraries fetch the same
matrices each in its own panel layout, multiply without repacking, check, and report.

    demo.py BUILD [--out DIR] [--large N] [--runs N] [--m M] [--offline]

Writes DIR/report.json and DIR/report.html (DIR is BUILD/demo). Everything goes through the command
`tilery`, as anybody would use it. Ends with 1 if any product is wrong or anything was repacked.
"""

import argparse
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import time

import model
import report

WANTED_KERNELS = 3
MAX_ERROR = 1e-4
TYPICAL_STEPS = 31      # until the kernels and matrices are known
NAME_WIDTH = 40         # columns of the table on the terminal
CANNOT = 4              # exit codes: this kernel does not take such a matrix
WANTS_NO_PANEL = 6


class Failed(Exception):
    pass


class Steps:
    """Says what goes on, in one line that moves where that is a terminal."""

    def __init__(self, total):
        self.total, self.done, self.live = total, 0, sys.stderr.isatty()

    def say(self, text):
        self.done += 1
        if self.live:
            filled = 24 * min(self.done, self.total) // self.total
            bar = "#" * filled + "." * (24 - filled)
            print(f"\r\033[K[{bar}] {text}", end="", file=sys.stderr, flush=True)
        else:
            print(f"demo: {text}", file=sys.stderr, flush=True)

    def end(self):
        if self.live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Tilery:
    def __init__(self, build):
        self.path = build / "tilery"

    def run(self, *args, allowed=(0,)):
        done = subprocess.run([self.path, *map(str, args)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode not in allowed:
            raise Failed(f"`tilery {' '.join(map(str, args))}` ended with {done.returncode}:\n"
                         + done.stderr.decode(errors="replace"))
        return done

    def json(self, *args):
        return json.loads(self.run(*args, "--json").stdout)

    @contextlib.contextmanager
    def serving(self, files, address):
        """A server for the time of a `with`; what it counted stands in the list that it gives."""
        process = subprocess.Popen([self.path, "serve", *files, "--listen", address, "--json"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        counts = []
        try:
            if json.loads(process.stdout.readline() or "{}").get("event") != "listening":
                raise Failed("the server did not start; its message is above")
            yield counts
            process.terminate()
            counts.append(json.loads(process.stdout.read()))
            if process.wait(30) != 0:
                raise Failed(f"the server ended with {process.returncode}")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def matrices(tensors):
    """What a kernel can take: f32 matrices with sides worth a panel."""
    return [t for t in tensors if t["dtype"] == "f32" and len(t["shape"]) == 2
            and min(t["shape"]) >= 16]


def reason_of(done):
    """The message of a run that failed, without the name of the rule."""
    why = done.stderr.decode(errors="replace").splitlines()[0]
    return re.sub(r" \[[\w-]+\]$", "", why.removeprefix("tilery: multiply: "))


def try_kernels(tilery, address, tensors, kernels, args, steps):
    """Every kernel on every tensor. Returns the results, and those of libraries that wanted no panel:
    what their ordinary call does, and why."""
    results, plain = [], []
    for tensor in tensors:
        for kernel in kernels:
            steps.say(f"{kernel['kernel']} on {tensor['name']}")
            call = ("multiply", address, tensor["name"], "--kernel", kernel["kernel"], "--stored", "nk",
                    "--m", args.m, "--runs", args.runs, "--json")
            done = tilery.run(*call, allowed=(0, 1, CANNOT, WANTS_NO_PANEL))
            if done.returncode in (0, 1):
                results.append(json.loads(done.stdout))
                continue
            reason = reason_of(done)
            done = tilery.run(*call, "--plain", allowed=(0, 1, CANNOT))
            if done.returncode in (0, 1):
                plain.append({**json.loads(done.stdout), "reason": reason})
    return results, plain


def pack_here(tilery, address, tensors, kernels, args):
    """The same without Tilery's packing: what the client would have to copy itself."""
    return [tilery.json("multiply", address, tensors[0]["name"], "--kernel", kernel, "--stored", "nk",
                        "--m", args.m, "--runs", 0, "--pack-here") for kernel in kernels]


def problems(found):
    """What is wrong with the outcome, as sentences."""
    out = []
    for r in found["results"] + found["large"]:
        where = f"{r['tensor']} with {r['kernel']}"
        if not r["max_relative_error"] < MAX_ERROR:
            out.append(f"{where}: off by {r['max_relative_error']:.3g}")
        if r["bytes_repacked"] != 0:
            out.append(f"{where}: {r['bytes_repacked']} bytes were repacked")
    for tensor in {r["tensor"] for r in found["results"]}:
        num = len({r["kernel"] for r in found["results"] if r["tensor"] == tensor})
        if num < WANTED_KERNELS:
            out.append(f"{tensor}: only {num} kernels multiplied; {WANTED_KERNELS} are wanted")
    if not found["results"]:
        out.append("no matrix was multiplied")
    return out


def short(name):
    """Both ends of a long name: where a tensor stands and what it is."""
    if len(name) <= NAME_WIDTH:
        return name
    half = (NAME_WIDTH - 3) // 2
    return name[:half] + "..." + name[half + 3 - NAME_WIDTH:]


def table(found):
    """The results as text."""
    rows = [("tensor", "stored", "kernel", "fetched", "repacked", "error", "panel ms", "plain ms",
             "plain/panel")]
    for r in found["results"] + found["large"]:
        t = r["times"]
        rows.append((short(r["tensor"]), " x ".join(map(str, r["shape"])), r["kernel"],
                     str(r["bytes_fetched"]), str(r["bytes_repacked"]),
                     f"{r['max_relative_error']:.1e}", f"{t['panel_ms']:.4f}",
                     f"{t['plain_ms']:.4f}" if "plain_ms" in t else "-",
                     f"{t['speedup']:.2f}" if "speedup" in t else "-"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(w) if i < 3 else cell.rjust(w)
                        for i, (cell, w) in enumerate(zip(row, widths))).rstrip()


def work(args, folder, steps):
    tilery = Tilery(args.build)
    steps.say("getting the model")
    path, source = model.source(folder, args.offline)
    container, large = folder / "model.hrry", folder / "large.hrry"
    steps.say(f"importing {path.name}")
    imported = tilery.json("import", path, "-o", container)
    steps.say(f"making a matrix of {args.large} x {args.large}")
    model.matrix(folder / "large.npy", args.large, args.large, 1)
    tilery.json("import", folder / "large.npy", "-o", large)
    tensors = matrices(tilery.json("ls", container)["tensors"])
    large_tensors = tilery.json("ls", large)["tensors"]
    kernels = [k for k in tilery.json("multiply", "--list-kernels") if k["usable"]]
    steps.total = 6 + len(kernels) * (len(tensors) + len(large_tensors))

    address = f"unix:{folder.resolve()}/tilery.sock"
    with tilery.serving([container, large], address) as counts:
        results, plain = try_kernels(tilery, address, tensors, kernels, args, steps)
        on_large, plain_large = try_kernels(tilery, address, large_tensors, kernels, args, steps)
        steps.say("packing on the client, to compare")
        willing = sorted({r["kernel"] for r in on_large}) or sorted({r["kernel"] for r in results})
        compared = pack_here(tilery, address, large_tensors if on_large else tensors, willing, args)
    for name in ("large.npy", "large.hrry"):
        (folder / name).unlink()
    return {"tool": "tilery demo", "machine": tilery.json("bench", "cli", "--runs", 3)["machine"],
            "source": {**source, "tensors": imported["tensors"], "bytes": imported["bytes"]},
            "kernels": kernels, "m": args.m, "results": results, "large": on_large,
            "plain": plain, "plain_large": plain_large, "packed_here": compared, "server": counts[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--large", type=int, default=4096, help="N and K of the large matrix")
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--m", type=int, default=8)
    parser.add_argument("--offline", action="store_true", help="use the generated model")
    args = parser.parse_args()
    args.build = args.build.resolve()
    folder = args.out or args.build / "demo"
    folder.mkdir(parents=True, exist_ok=True)

    started = time.monotonic()
    steps = Steps(TYPICAL_STEPS)
    if not (args.build / "tilery").exists():
        print(f"demo: there is no {args.build / 'tilery'}; run `make` first", file=sys.stderr)
        return 1
    try:
        found = work(args, folder, steps)
    except Failed as error:
        steps.end()
        print(f"demo: {error}", file=sys.stderr)
        return 1
    steps.end()
    found["seconds"] = round(time.monotonic() - started, 1)
    found["problems"] = problems(found)
    (folder / "report.json").write_text(json.dumps(found, indent=2) + "\n")
    (folder / "report.html").write_text(report.page(found))

    source = found["source"]
    if source["generated"]:
        print(f"model: {source['file']}, made here because {source['reason']}")
    else:
        print(f"model: {source['file']} of {source['package']} {source['version']}")
    print("\n".join(table(found)))
    for row in found["plain"] + found["plain_large"]:
        print(f"{short(row['tensor'])}: {row['reason']}; its call takes {row['times']['plain_ms']:.4f} ms")
    gain = report.fastest_gain(found["large"], found["plain_large"])
    if gain:
        print(f"N = K = {args.large}: the fastest plain call takes {gain:.2f} times as long as the "
              "fastest on a fetched panel")
    print(f"report: {folder / 'report.html'}")
    for text in found["problems"]:
        print(f"demo: {text}", file=sys.stderr)
    return 1 if found["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
