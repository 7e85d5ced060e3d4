# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of one Python file and says so in TAP, as tools/run_tests.py counts it.

    tap.py FILE [PATTERN]
"""

import fnmatch
import importlib.util
import pathlib
import sys
import unittest


class Tap(unittest.TestResult):
    num = 0

    def line(self, test, state, note=""):
        self.num += 1
        print(f"{state} {self.num} - {test.id().split('.', 1)[-1]}{note}", flush=True)

    def addSuccess(self, test):
        self.line(test, "ok")

    def addSkip(self, test, reason):
        self.line(test, "ok", f" # skip {reason}")

    def addFailure(self, test, err):
        self.line(test, "not ok")
        print("\n".join("# " + line for line in self._exc_info_to_string(err, test).splitlines()))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(subtest, err)
        super().addSubTest(test, subtest, err)


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def main():
    path = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    tests = list(flatten(unittest.defaultTestLoader.loadTestsFromModule(module)))
    if len(sys.argv) > 2:
        tests = [t for t in tests if fnmatch.fnmatch(t.id(), f"*{sys.argv[2]}*")]
    print(f"1..{len(tests)}", flush=True)
    result = Tap()
    unittest.TestSuite(tests).run(result)
    return 1 if result.failures or result.errors or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
