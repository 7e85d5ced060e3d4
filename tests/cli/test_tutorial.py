# SPDX-License-Identifier: Apache-2.0
"""The commands of the tutorial print what it says."""

import os
import re
import subprocess
import unittest

from command import BUILD, ROOT, CommandTest

PAGES = sorted((ROOT / "docs/tutorial").glob("*.md"))
MARK = "=-= end of a command =-="


def commands(text):
    """[(command, expected output)] of the indented blocks; a command begins with "$ "."""
    found = []
    for line in text.splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
        elif line.startswith("    ") and found:
            found[-1][1].append(line[4:])
    return found


def pattern(lines):
    return "".join(re.escape(line).replace(re.escape("..."), "[^\n]*") + "\n" for line in lines)


class Tutorial(CommandTest):
    def test_pages(self):
        self.assertTrue(PAGES)
        for page in PAGES:
            with self.subTest(page.name):
                if "transformer" in page.name and not (BUILD / "transformer").exists():
                    self.skipTest("oneDNN is not installed, so nobody can follow " + page.name)
                self.follow(page)

    def follow(self, page):
        steps = commands(page.read_text())
        self.assertGreater(len(steps), 5)
        folder = self.folder / page.stem
        folder.mkdir()
        os.symlink(BUILD, folder / "build")
        for name in ("tools", "examples"):
            os.symlink(ROOT / name, folder / name)
        script = ["set -m", "exec 2>&1"]
        for command, _ in steps:
            script.append(command)
            if command.endswith("&"):   # a reader looks at the prompt; a script has to wait
                script.append("for i in $(seq 100); do [ -S tilery.sock ] && break; sleep 0.05; done")
                script.append("sleep 0.2")
            if command.startswith("kill"):
                script.append("wait 2>/dev/null")
            script.append(f"echo '{MARK}'")
        done = subprocess.run(["bash", "--norc", "-c", "\n".join(script)], cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=120,
                              env={**os.environ, "TILERY_DEMO_OFFLINE": "1"})
        # The shell's own news of the server that ended comes at any time.
        printed = re.sub(r"^\[\d+\][-+ ] +Done .*\n", "", done.stdout.decode(), flags=re.M)
        parts = printed.split(MARK + "\n")
        self.assertEqual(len(parts), len(steps) + 1, done.stdout.decode())
        for (command, wanted), got in zip(steps, parts):
            self.assertTrue(re.fullmatch(pattern(wanted), got),
                            f"$ {command}\nwanted:\n{chr(10).join(wanted)}\ngot:\n{got}")


class Blocks(unittest.TestCase):
    def test_blocks_are_read(self):
        self.assertEqual(commands("text\n\n    $ a\n    1\n    2\n\nmore\n    $ b\n"),
                         [("a", ["1", "2"]), ("b", [])])
        self.assertTrue(re.fullmatch(pattern(["x ... y (z)"]), "x 1.5 y (z)\n"))
        self.assertFalse(re.fullmatch(pattern(["x ... y"]), "x 1.5\ny\n"))
