# SPDX-License-Identifier: Apache-2.0
"""docs/isa/faults.md: every rule that a guest can break, from src/pto/rules_*.def, with the fault
that it raises and an example from the program that breaks it in tests/pto/rules/."""

import re

from .common import TableError

AREAS = [
    ("scalar", "Instructions, memory and system registers"),
    ("block", "Blocks, their headers, templates and queues"),
    ("tile", "Tiles and tile operations"),
    ("tlsu", "Tiles and memory"),
    ("cube", "Matrix operations"),
]
RULE = re.compile(r'TLY_PTO_RULE\(\s*(\w+)\s*,\s*"([^"]+)"\s*,\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
PLACE = re.compile(r"\{\d(?::(\w+))?\}")
WORDS = {None: "n", "s": "n", "x": "address", "dtype": "type", "layout": "layout",
         "mask": "elements", "op": "operation", "form": "instruction", "reg": "register"}

NOWHERE = "(behind another one that every bundle breaks)"

INTRO = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Made by tools/generate.py from src/pto/rules_*.def and tests/pto/rules/: do not edit. -->
# Faults and their reasons

When the machine refuses an instruction, the architecture knows one of fifteen faults. Tilery also says
which rule was broken, under a name that does not change, and with the values that broke it: in the
message of `tilery run`, in the trace, in `--json` and in the library. The words in italics below are
replaced by those values. Each row is broken by a small program in `tests/pto/rules/`, which proves as
well that nothing but the trap has changed, unless the specification itself leaves a part behind.
"""


def read_rules(root, area):
    path = root / "src" / "pto" / f"rules_{area}.def"
    text = path.read_text()
    rules = [(name, "".join(STRING.findall(parts)))
             for _, name, parts in RULE.findall(text)]
    if len(rules) != text.count("TLY_PTO_RULE("):
        raise TableError(f"{path.name}: a row is not TLY_PTO_RULE(NAME, \"name\", \"sentence\")")
    return rules


def read_cases(root):
    """Rule name -> list of (fault, lines of the program)."""
    cases = {}
    for path in sorted((root / "tests" / "pto" / "rules").glob("*.case")):
        lines = None
        for line in path.read_text().splitlines():
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "rule":
                lines = []
                cases.setdefault(words[1], []).append((words[2], lines))
            else:
                lines.append(line.strip())
    return cases


def sentence_text(sentence):
    text = PLACE.sub(lambda match: f"*{WORDS[match.group(1)]}*", sentence)
    return (text[0].upper() + text[1:] if text[0].isalpha() else text).replace("|", "\\|")


def example_text(cases):
    """The instruction that is refused, of the first program that ends with one."""
    for _, lines in cases:
        if lines and not lines[-1].startswith("."):
            return f"`{lines[-1]}`"
    return ""


def documents(root):
    cases = read_cases(root)
    out = [INTRO]
    for area, title in AREAS:
        rules = read_rules(root, area)
        if not rules:
            continue
        out.append(f"\n## {title}\n\n| rule | fault | what is wrong | for example |\n|---|---|---|---|\n")
        for name, sentence in rules:
            faults = sorted({fault for fault, _ in cases.get(name, [])})
            out.append(f"| `{name}` | {', '.join(faults) or NOWHERE} | {sentence_text(sentence)} | "
                       f"{example_text(cases.get(name, []))} |\n")
    return {"docs/isa/faults.md": "".join(out)}
