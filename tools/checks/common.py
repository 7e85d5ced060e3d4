# SPDX-License-Identifier: Apache-2.0
"""What every step needs: results, running commands, listing the files of the tree."""

import pathlib
import subprocess
from dataclasses import dataclass, field


@dataclass
class Report:
    """What a step came to. Each thing that was looked at counts as one test."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    lines: list = field(default_factory=list)

    def check(self, good, text):
        """One test; `text` is shown when it failed."""
        if good:
            self.passed += 1
        else:
            self.failed += 1
            self.lines.append(text)
        return good

    def rule(self, problems):
        """One test of a rule about many things; each problem is a failure of its own."""
        self.passed += not problems
        self.failed += len(problems)
        self.lines += problems

    def skip(self, text):
        self.skipped += 1
        self.lines.append("skipped: " + text)

    def add(self, counts):
        self.passed += counts.passed
        self.failed += counts.failed
        self.skipped += counts.skipped
        self.lines += counts.lines


@dataclass
class House:
    """Where things stand."""
    root: pathlib.Path
    build: pathlib.Path

    def command(self, args, **options):
        """Runs a command; returns (exit code, what it printed)."""
        done = subprocess.run([str(a) for a in args], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              stderr=subprocess.STDOUT, cwd=options.pop("cwd", self.root), **options)
        return done.returncode, done.stdout.decode(errors="replace")


def tree_files(root):
    """Every file of the project: what git tracks or would track; without git, what is there."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if done.returncode == 0 and done.stdout:
        names = done.stdout.decode().split("\0")
    else:
        names = [str(p.relative_to(root)) for p in root.rglob("*")]
    names = [n for n in names if n and not n.startswith(("build/", ".git/"))]
    return sorted(n for n in names if (root / n).is_file() and "__pycache__" not in n)


def tail(text, count=40):
    return ["    " + line for line in text.splitlines()[-count:]]
