# SPDX-License-Identifier: Apache-2.0
"""The generator: deterministic, complete, and it refuses bad tables.

Each file of tests/tables/bad holds a change to one table that must be refused: the table's name, the
text to find, the text to put there, and words of the message."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from tlygen import pto_faults  # noqa: E402
from tlygen.common import TableError  # noqa: E402


def generate(root, *options):
    done = subprocess.run([sys.executable, str(ROOT / "tools/generate.py"), "--root", str(root), *options],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode()


class Generate(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tilery-generate-"))
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copytree(ROOT / "tables", self.root / "tables")
        shutil.copytree(ROOT / "src/pto", self.root / "src/pto",
                        ignore=lambda _, names: [n for n in names if not n.endswith(".def")])
        shutil.copytree(ROOT / "tests/pto/rules", self.root / "tests/pto/rules")

    def files(self):
        base = self.root / "gen"
        return {str(p.relative_to(base)): p.read_text() for p in base.rglob("*") if p.is_file()}

    def test_from_nothing(self):
        code, text = generate(self.root)
        self.assertEqual(code, 0, text)
        made = self.files()
        checked_in = {str(p.relative_to(ROOT / "gen")): p.read_text()
                      for p in (ROOT / "gen").rglob("*") if p.is_file()}
        self.assertEqual(made, checked_in)
        faults = "docs/isa/faults.md"
        self.assertEqual((self.root / faults).read_text(), (ROOT / faults).read_text())
        self.assertEqual(generate(self.root, "--check"), (0, ""))

    def test_a_rule_that_cannot_be_read_is_refused(self):
        rules = self.root / "src/pto/rules_block.def"
        rules.write_text(rules.read_text() + "TLY_PTO_RULE(ODD, odd, 1)\n")
        with self.assertRaisesRegex(TableError, "rules_block.def: a row is not"):
            pto_faults.documents(self.root)

    def test_stale_missing_and_superfluous_are_found(self):
        generate(self.root)
        path = sorted((self.root / "gen").rglob("*.h"))[0]
        whole = path.read_text()
        path.write_text(whole + " ")
        (self.root / "docs/isa/faults.md").write_text("")
        code, text = generate(self.root, "--check")
        self.assertEqual(code, 1)
        self.assertIn("is not what tables/ says", text)
        self.assertIn("docs/isa/faults.md is not what its sources say", text)
        path.unlink()
        self.assertEqual(generate(self.root, "--check")[0], 1)
        path.write_text(whole)
        (self.root / "gen/extra.h").write_text("")
        code, text = generate(self.root, "--check")
        self.assertEqual(code, 1)
        self.assertIn("made by no generator", text)
        generate(self.root)
        self.assertFalse((self.root / "gen/extra.h").exists())

    def test_bad_tables_are_refused(self):
        cases = sorted((ROOT / "tests/tables/bad").glob("*.toml"))
        self.assertGreater(len(cases), 5)
        for case in cases:
            with self.subTest(case.name):
                change = tomllib.loads(case.read_text())
                table = self.root / "tables" / change["table"]
                good = (ROOT / "tables" / change["table"]).read_text()
                bad = re.sub(change["find"], change["put"], good, count=1, flags=re.M | re.S)
                self.assertNotEqual(bad, good, "the case changes nothing")
                table.write_text(bad)
                code, text = generate(self.root)
                table.write_text(good)
                self.assertEqual(code, 1, text)
                self.assertRegex(text, r"\.(toml|isa): ")
                self.assertIn(change["says"], text)
                self.assertNotIn("Traceback", text)


if __name__ == "__main__":
    unittest.main()
