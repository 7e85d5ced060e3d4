# SPDX-License-Identifier: Apache-2.0
"""Each checker of `make check` accepts a small good tree and finds the fault that is put into it."""

import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import run_tests  # noqa: E402
from checks import emulated, fuzzing, headers, layers, levels, product, tree  # noqa: E402
from checks.common import House, Report  # noqa: E402

LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */\n"
GOOD = {
    "tables/layers.toml": "# SPDX-License-Identifier: Apache-2.0\n[below]\nlow = []\nhigh = ['low']\n"
                          "top = ['high']\nside = ['low']\n",
    "src/low/low.h": LICENCE + "int low(void);\n",
    "src/low/low.c": LICENCE + '#include "low/low.h"\n',
    "src/low/low_avx2.c": LICENCE + "#include <immintrin.h>\n",
    "src/high/high.c": LICENCE + '#include <string.h>\n#include "low/low.h"\n#include <tilery/a.h>\n',
    "src/high/high.h": LICENCE + "int high(void);\n",
    "src/top/top.c": LICENCE + '#include "low/low.h"\n#include "high/high.h"\n',
    "src/side/side.c": LICENCE + '#include "low/low.h"\n',
    "include/tilery/a.h": LICENCE + "#include <stdint.h>\nstruct a {\n    uint8_t b;\n};\n",
    "docs/internals/README.md": "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
                                "[a](low.md) [b](high.md) [c](top.md) [d](side.md)\n",
    "docs/adr/README.md": "<!-- SPDX-License-Identifier: Apache-2.0 -->\n[one](0001-one.md)\n",
    "docs/adr/0001-one.md": "<!-- SPDX-License-Identifier: Apache-2.0 -->\n",
    **{f"docs/internals/{n}.md": "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
       for n in ("low", "high", "top", "side")},
    "tests/fuzz/meson.build": "# SPDX-License-Identifier: Apache-2.0\nfuzz_core = [\n  'one',\n]\n",
    "tests/fuzz/fuzz_one.c": LICENCE,
    "tests/fuzz/corpus/one/seed": "x",
}


class Checkers(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tilery-checks-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.house = House(self.root, self.root / "build")
        for name, text in GOOD.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def finds(self, step, name, text, words):
        """The step is content; with this file it has exactly one complaint, which has the words."""
        before = step(self.house)
        self.assertEqual((before.failed, before.lines), (0, []))
        self.assertGreater(before.passed, 0)
        self.write(name, text)
        after = step(self.house)
        self.assertEqual(after.failed, 1, after.lines)
        self.assertIn(words, "\n".join(after.lines))

    def test_upward_include(self):
        self.finds(layers.layers, "src/low/up.c", '#include "high/high.h"\n', "high is not below low")

    def test_sideways_include(self):
        self.finds(layers.layers, "src/side/x.c", '#include "high/high.h"\n', "high is not below side")

    def test_include_without_folder(self):
        self.finds(layers.layers, "src/low/x.c", '#include "low.h"\n', "is not found from src/")

    def test_vector_header_in_plain_file(self):
        self.finds(layers.layers, "src/low/x.c", "#include <immintrin.h>\n", "belongs in a file named")

    def test_public_header_with_private_include(self):
        self.finds(layers.layers, "include/tilery/b.h", '#include "low/low.h"\n', "a public header")

    def test_folder_without_layer(self):
        self.finds(layers.layers, "src/new/x.c", "\n", "no row in tables/layers.toml")

    def test_circle_of_layers(self):
        self.finds(layers.layers, "tables/layers.toml",
                   "[below]\nlow = ['top']\nhigh = ['low']\ntop = ['high']\nside = []\n", "is a circle")

    def test_file_without_licence(self):
        self.finds(tree.licences, "src/low/x.c", "int x;\n", "src/low/x.c: no line")

    def test_long_file(self):
        self.finds(tree.lengths, "src/low/x.c", "\n" * 801, "801 lines, at most 800")

    def test_folder_without_page(self):
        (self.root / "src/new").mkdir()
        self.finds(tree.pages, "src/new/x.c", "", "docs/internals/new.md is missing")

    def test_page_that_nothing_links(self):
        self.finds(tree.pages, "docs/internals/lost.md", "", "has no link to lost.md")

    def test_two_decisions_with_one_number(self):
        self.write("docs/adr/README.md", "[one](0001-one.md) [two](0001-two.md)\n")
        self.finds(tree.pages, "docs/adr/0001-two.md", "", "have one number")

    @unittest.skipUnless(shutil.which("clang-format"), "clang-format is not installed")
    def test_unformatted_file(self):
        shutil.copy(ROOT / ".clang-format", self.root)
        self.finds(tree.formatting, "src/low/x.c", "int   x;\n", "src/low/x.c: run clang-format")

    def test_dead_link(self):
        self.finds(tree.links, "docs/x.md", "[here](nowhere.md)\n", "dead link: nowhere.md")

    def test_script_that_does_not_parse(self):
        self.write("tools/a.py", "pass\n")
        self.finds(tree.python_compiles, "tools/b.py", "def f(:\n", "tools/b.py:1")

    def test_test_program_not_listed(self):
        self.write("tests/base/meson.build", "core_tests += [['base', 'one']] # 'two'\n")
        self.write("tests/base/test_one.c", LICENCE)
        self.finds(tree.tests_listed, "tests/base/test_two.c", "", "is not listed")

    def test_fuzz_target_not_listed(self):
        self.write("tests/fuzz/corpus/two/seed", "x")
        self.finds(fuzzing.listed, "tests/fuzz/fuzz_two.c", "", "is not listed")

    def test_fuzz_target_without_corpus(self):
        self.write("tests/fuzz/meson.build", "fuzz_core = [\n  'one',\n  'two',\n]\n")
        self.finds(fuzzing.listed, "tests/fuzz/fuzz_two.c", "", "has no files")

    def test_header_that_needs_another(self):
        (self.root / "gen/include").mkdir(parents=True)
        before = headers.headers(self.house)
        self.assertEqual(before.failed, 0, before.lines)
        self.write("include/tilery/b.h", "uint8_t b(void);\n")
        after = headers.headers(self.house)
        self.assertEqual(after.failed + after.skipped - before.skipped, 4)

    def test_header_that_is_not_cpp(self):
        (self.root / "gen/include").mkdir(parents=True)
        self.write("include/tilery/b.h", "int b(int class);\n")
        self.assertGreater(headers.headers(self.house).failed, 0)


class Globals(unittest.TestCase):
    def complaints(self, source):
        root = pathlib.Path(tempfile.mkdtemp(prefix="tilery-globals-"))
        self.addCleanup(shutil.rmtree, root)
        (root / "build").mkdir()
        (root / "x.c").write_text(source)
        subprocess.run(["gcc", "-O1", "-fPIC", "-c", "x.c", "-o", "x.o"], cwd=root, check=True)
        subprocess.run(["ar", "rc", "build/libtilery_core.a", "x.o"], cwd=root, check=True)
        return "\n".join(product.globals_(House(root, root / "build")).lines)

    def test_constant_tables_are_fine(self):
        self.assertEqual(self.complaints(
            'static const char *const names[] = {"a", "b"};\n'
            "static const int numbers[] = {1, 2};\n"
            "const char *name(int i) { return names[i]; }\nint number(int i) { return numbers[i]; }\n"), "")

    def test_mutable_globals_are_found(self):
        self.assertIn("count", self.complaints("static int count;\nint next(void) { return ++count; }\n"))
        self.assertIn("made", self.complaints("int made = 3;\n"))
        self.assertIn("mine", self.complaints("_Thread_local int mine;\n"))
        self.assertIn("names", self.complaints(
            'const char *names[] = {"a"};\nvoid set(const char *n) { names[0] = n; }\n'))

    def test_forbidden_calls_are_found(self):
        self.assertIn("abort", self.complaints("void abort(void);\nvoid f(void) { abort(); }\n"))
        self.assertIn("malloc", self.complaints(
            "void *malloc(unsigned long);\nvoid *f(int n) { return malloc(n); }\n"))


@unittest.skipUnless(shutil.which("as") and platform.machine() == "x86_64", "needs x86-64's binutils")
class Levels(unittest.TestCase):
    SHOWN = """
0000000000000000 <f>:
   0:\tvaddps %ymm1,%ymm0,%ymm0
   4:\ttzcnt  %eax,%eax
   8:\tvpermb 0x0(%rip),%zmm1,%zmm0        # e <f+0xe>
   e:\tjne    4 <f+0x4>
  10:\tret
"""

    def test_instructions_beyond_the_level_are_found(self):
        lines = levels.instructions(self.SHOWN)
        self.assertEqual(len(lines), 3)
        self.assertEqual(levels.beyond(lines, levels.AVX2), [lines[1]])
        self.assertEqual(levels.beyond(lines, levels.AVX512), [lines[1]])
        self.assertEqual(levels.beyond(lines, [*levels.AVX512, "avx512vbmi"]), [])


class Emulated(unittest.TestCase):
    PROGRAMS = {"a/b": 0, "c/d": 3}

    def counts(self, text):
        report = Report()
        emulated.count_programs(report, text, self.PROGRAMS, ["avx512"])
        return report.passed, report.failed

    def test_each_program_must_end(self):
        whole = "== a/b avx512\n1..1\nok 1 - x\n== ended 0\n== c/d avx512\n1..1\nok 1 - y\n== ended 0\n"
        self.assertEqual(self.counts(whole), (2, 0))
        self.assertEqual(self.counts(whole.replace("ok 1 - y", "not ok 1 - y")), (1, 1))
        self.assertEqual(self.counts(whole.replace("ended 0", "ended 139")), (2, 2))
        self.assertEqual(self.counts(whole[:whole.rindex("==")]), (1, 1))
        self.assertEqual(self.counts(""), (0, 2))

    @unittest.skipUnless(shutil.which("busybox"), "no busybox")
    def test_the_archive_unpacks(self):
        with tempfile.TemporaryDirectory(prefix="tilery-archive-") as place:
            files = pathlib.Path(place, "files")
            (files / "one/two").mkdir(parents=True)
            (files / "one/two/three").write_bytes(b"12345")
            (files / "one/run").write_text("#!/bin/sh\n")
            (files / "one/run").chmod(0o755)
            with open(f"{place}/archive", "wb") as file:
                emulated.write_archive(files, file)
            subprocess.run(["sh", "-c", "mkdir out; cd out; busybox cpio -id <../archive"], cwd=place,
                           check=True, stderr=subprocess.DEVNULL)
            out = pathlib.Path(place, "out/one")
            self.assertEqual((out / "two/three").read_bytes(), b"12345")
            self.assertEqual((out / "run").stat().st_mode & 0o777, 0o755)


class Tap(unittest.TestCase):
    def counts(self, text, code=0):
        counts = run_tests.count_tap(text, code)
        return counts.passed, counts.failed, counts.skipped

    def test_counting(self):
        self.assertEqual(self.counts("1..3\nok 1 - a\nnot ok 2 - b\nok 3 # skip no file\n", 1), (1, 1, 1))

    def test_silence_and_early_ends_are_failures(self):
        self.assertEqual(self.counts(""), (0, 1, 0))
        self.assertEqual(self.counts("1..3\nok 1 - a\n", -11), (1, 2, 0))
        self.assertEqual(self.counts("1..2\nok 1 - a\n"), (1, 1, 0))
        self.assertEqual(self.counts("1..1\nok 1 - a\n", 1), (1, 1, 0))

    def test_a_program_that_is_killed(self):
        test = {"name": "t", "cmd": ["/bin/sh", "-c", "echo 1..2; echo ok 1; kill -9 $$"], "env": {},
                "timeout": 10, "protocol": "tap"}
        _, counts, _ = run_tests.run_one(test, {}, [])
        self.assertEqual((counts.passed, counts.failed), (1, 1))
        test["cmd"] = ["/bin/sh", "-c", "echo 1..1; sleep 5; echo ok 1"]
        test["timeout"] = 0.2
        _, counts, _ = run_tests.run_one(test, {}, [])
        self.assertEqual((counts.passed, counts.failed), (0, 1))
        test["cmd"] = ["/nonexistent"]
        _, counts, _ = run_tests.run_one(test, {}, [])
        self.assertEqual((counts.passed, counts.failed), (0, 1))


if __name__ == "__main__":
    unittest.main()
