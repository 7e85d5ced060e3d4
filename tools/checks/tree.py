# SPDX-License-Identifier: Apache-2.0
"""Rules about files: licence lines, length, generated files, one page of documentation a folder."""

import re
import shutil
import sys

from .common import Report, tail, tree_files

MAX_LINES = 800
CODE = (".c", ".h", ".py", ".sh", ".cpp", ".build", ".toml", ".proto", ".js")
WITH_LICENCE = CODE + (".md", ".txt", ".map", ".ini", ".supp")
NO_LICENCE = ("LICENSE", "NOTICE")
DATA = ("tests/vectors/", "tests/expected/", "tests/fuzz/corpus/", "tests/data/")


def licences(house):
    """Every file of ours says its licence in its first lines."""
    report = Report()
    problems = []
    for name in tree_files(house.root):
        if name in NO_LICENCE or name.startswith(DATA) or not name.endswith(WITH_LICENCE):
            continue
        start = (house.root / name).read_text(errors="replace").splitlines()[:5]
        if not any("SPDX-License-Identifier: Apache-2.0" in line for line in start):
            problems.append(f"{name}: no line \"SPDX-License-Identifier: Apache-2.0\" at its start")
    report.rule(problems)
    return report


def lengths(house):
    """No file of code that a person cannot read in one go."""
    report = Report()
    problems = []
    for name in tree_files(house.root):
        if name.endswith(CODE) and not name.startswith(("gen/",) + DATA):
            count = (house.root / name).read_text(errors="replace").count("\n")
            if count > MAX_LINES:
                problems.append(f"{name}: {count} lines, at most {MAX_LINES}: one idea per file")
    report.rule(problems)
    return report


def generated(house):
    """gen/ is what the generator makes from tables/."""
    report = Report()
    code, text = house.command([sys.executable, "tools/generate.py", "--check"])
    report.check(code == 0, text.strip())
    return report


def pages(house):
    """Each folder of src/ has a page in docs/internals/, and the indexes link each page."""
    report = Report()
    problems = []
    index = house.root / "docs/internals/README.md"
    linked = index.read_text() if index.is_file() else ""
    for folder in sorted(p for p in (house.root / "src").iterdir() if p.is_dir()):
        page = f"{folder.name}.md"
        if any(folder.rglob("*.c")) and not (house.root / "docs/internals" / page).is_file():
            problems.append(f"src/{folder.name}: docs/internals/{page} is missing: what the folder is "
                            "for, the idea, how to change it, what not to do")
    for page in sorted((house.root / "docs/internals").glob("*.md")):
        if page.name != "README.md" and f"({page.name})" not in linked:
            problems.append(f"docs/internals/README.md has no link to {page.name}")
    decisions = house.root / "docs/adr/README.md"
    linked = decisions.read_text() if decisions.is_file() else ""
    numbers = {}
    for page in sorted((house.root / "docs/adr").glob("[0-9]*.md")):
        if f"({page.name})" not in linked:
            problems.append(f"docs/adr/README.md has no link to {page.name}")
        if page.name[:4] in numbers:
            problems.append(f"docs/adr: {page.name} and {numbers[page.name[:4]]} have one number")
        numbers[page.name[:4]] = page.name
    report.rule(problems)
    return report


def links(house):
    """Relative links between documents lead somewhere."""
    report = Report()
    problems = []
    for name in tree_files(house.root):
        if not name.endswith(".md"):
            continue
        path = house.root / name
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" not in target and not target.startswith(("#", "mailto:")):
                if not (path.parent / target.split("#")[0]).exists():
                    problems.append(f"{name}: dead link: {target}")
    report.rule(problems)
    return report


def tests_listed(house):
    """Every tests/FOLDER/test_*.c and test_*.py is named in its folder's meson.build."""
    report = Report()
    for source in sorted((house.root / "tests").glob("*/test_*.*")):
        build_file = source.parent / "meson.build"
        if source.suffix not in (".c", ".py") or not build_file.is_file():
            continue
        name = source.stem.removeprefix("test_")
        text = re.sub(r"#.*", "", build_file.read_text())
        report.check(re.search(rf"'{name}'|'[^']*test_{name}\.\w+'", text) is not None,
                     f"{source.relative_to(house.root)} is not listed in its meson.build, "
                     "so nobody runs it")
    return report


def python_compiles(house):
    """Every tool parses."""
    report = Report()
    problems = []
    for name in tree_files(house.root):
        if name.endswith(".py"):
            try:
                compile((house.root / name).read_text(), name, "exec")
            except SyntaxError as error:
                problems.append(f"{name}:{error.lineno}: {error.msg}")
        elif name.endswith(".sh") or name == ".ci/run":
            code, text = house.command(["bash", "-n", name])
            if code != 0:
                problems.append("\n".join(tail(text)))
    report.rule(problems)
    return report


def formatting(house):
    """C files look as clang-format and .clang-format say."""
    report = Report()
    if shutil.which("clang-format") is None:
        report.skip("clang-format is not installed")
        return report
    names = [n for n in tree_files(house.root)
             if n.endswith((".c", ".h", ".cpp")) and not n.startswith("gen/")]
    code, text = house.command(["clang-format", "--style=file", "--dry-run", "-Werror", *names])
    wrong = sorted({line.split(":")[0] for line in text.splitlines() if "clang-format-violations" in line})
    report.rule([f"{name}: run clang-format -i --style=file on it" for name in wrong])
    if code != 0 and not wrong:
        report.check(False, text)
    return report
