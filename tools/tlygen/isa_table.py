# SPDX-License-Identifier: Apache-2.0
"""Reads and checks the instruction tables under tables/isa/.

Every rule that a table can break is checked here, before anything is generated: each bit of a word
has exactly one owner, pieces add up to whole fields, constraints and syntax name fields that exist,
no two forms of one release claim the same word unless the narrower one is declared to win, and
declared overlaps do happen.
"""

import re

from .common import TableError, require
from .isa_syntax import compile_syntax

RELEASES = ["0.58.0", "0.58.1", "0.58.2", "0.58.3"]
ALL = (1 << len(RELEASES)) - 1
CURRENT = 1 << (len(RELEASES) - 1)


class Field:
    def __init__(self, name):
        self.name = name
        self.pieces = []  # (insn_lsb, width, value_lsb), highest value bits first
        self.width = 0
        self.signed = False


class Form:
    def __init__(self, table, line, surface, bits):
        self.table, self.line, self.surface, self.bits = table, line, surface, bits
        self.fields = {}
        self.mask = self.match = 0
        self.allowed = {}  # field name -> set of values, or None for "not equal"
        self.releases = ALL
        self.group = self.memory = self.handler = self.reference = "-"

    @property
    def label(self):
        return f"line {self.line}: {self.mnemonic}"

    @property
    def fixed_bits(self):
        return bin(self.mask).count("1")

    def admits(self, word):
        """Does the word satisfy mask, match and constraints?"""
        if word & self.mask != self.match:
            return False
        return all(self.value(word, name) in values for name, values in self.allowed.items())

    def value(self, word, name):
        return sum((word >> lsb & (1 << width) - 1) << value_lsb
                   for lsb, width, value_lsb in self.fields[name].pieces)


def parse_bits(form, text):
    """Fills mask, match and fields from the bit pattern."""
    at = form.bits
    for token in text.split():
        if re.fullmatch(r"[01]+", token):
            for ch in token:
                at -= 1
                form.mask |= 1 << at if at >= 0 else 0
                form.match |= int(ch) << at if at >= 0 else 0
            continue
        if re.fullmatch(r"-+", token):
            at -= len(token)
            continue
        whole = re.fullmatch(r"([A-Za-z][\w/\-]*):(\d+)", token)
        piece = re.fullmatch(r"([A-Za-z][\w/\-]*)\[(\d+):(\d+)\]", token)
        require(whole or piece, form.table, form.label, f"cannot read the bits \"{token}\"")
        name = (whole or piece)[1]
        high, low = (int(whole[2]) - 1, 0) if whole else (int(piece[2]), int(piece[3]))
        require(high >= low, form.table, form.label, f"{token}: bits run from high to low")
        width = high - low + 1
        at -= width
        field = form.fields.setdefault(name, Field(name))
        require(not (whole and field.pieces), form.table, form.label, f"{name} occurs twice")
        for _, other_width, other_low in field.pieces:
            require(high < other_low or low >= other_low + other_width, form.table, form.label,
                    f"bits of {name} occur twice")
        field.pieces.append((at, width, low))
    require(at == 0, form.table, form.label,
            f"the pattern has {form.bits - at} bits, the section says {form.bits}")
    for field in form.fields.values():
        field.pieces.sort(key=lambda p: -p[2])
        low = min(p[2] for p in field.pieces)
        field.width = max(p[2] + p[1] for p in field.pieces)
        covered = sum(p[1] for p in field.pieces)
        # Branch and frame fields may start above bit 0: the missing low bits are zero.
        require(covered == field.width - low, form.table, form.label,
                f"{field.name} has bits that no piece owns")
        field.signed = field.name.startswith("simm")


def parse_constraints(form, text):
    if text == "-":
        return
    for item in text.split():
        match = re.fullmatch(r"([A-Za-z][\w/\-]*?)(!?=)([\d,\-]+)", item)
        require(match, form.table, form.label, f"cannot read the constraint \"{item}\"")
        name = match[1]
        require(name in form.fields, form.table, form.label, f"constraint on {name}: no such field")
        field = form.fields[name]
        require(field.width <= 6 and len(field.pieces) == 1, form.table, form.label,
                f"constraint on {name}: only whole fields of at most 6 bits can have one")
        values = set()
        for part in match[3].split(","):
            low, _, high = part.partition("-")
            values |= set(range(int(low), int(high or low) + 1))
        require(values and max(values) < 1 << field.width, form.table, form.label,
                f"constraint on {name}: value does not fit")
        everything = set(range(1 << field.width))
        form.allowed[name] = values if match[2] == "=" else everything - values
        require(form.allowed[name] != everything, form.table, form.label,
                f"constraint on {name} admits every value")


def parse_releases(form, text):
    if text == "all":
        form.releases = ALL
        return
    match = re.fullmatch(r"(\d+\.\d+\.\d+)(\+|-(\d+\.\d+\.\d+))?", text)
    require(match and match[1] in RELEASES and (match[3] is None or match[3] in RELEASES),
            form.table, form.label, f"releases \"{text}\": unknown")
    first = RELEASES.index(match[1])
    last = first if match[2] is None else len(RELEASES) - 1 if match[2] == "+" \
        else RELEASES.index(match[3])
    require(first <= last, form.table, form.label, f"releases \"{text}\": empty range")
    form.releases = sum(1 << r for r in range(first, last + 1))


def rows(path, table):
    """Yields (line number, section words, columns)."""
    section = None
    try:
        text = path.read_text()
    except OSError as error:
        raise TableError(f"{table}: {error}") from None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        head = re.fullmatch(r"\[(.+)\]", line.strip())
        if head:
            section = head[1].split()
            continue
        yield number, section, [column.strip() for column in (" " + line + " ").split(" | ")]


def read_forms(root):
    table = "isa/forms.isa"
    forms = []
    for number, section, columns in rows(root / "tables" / table, table):
        require(section and len(section) == 2, table, f"line {number}", "no section before it")
        require(len(columns) == 9, table, f"line {number}", f"{len(columns)} columns, not 9")
        form = Form(table, number, section[0], int(section[1]))
        (form.mnemonic, form.group, releases, bits, constraints, syntax, form.memory, form.handler,
         form.reference) = columns
        parse_releases(form, releases)
        finish(form, bits, constraints, syntax)
        require(form.releases & CURRENT, table, form.label, "not in the current release")
        forms.append(form)
    return forms


def read_retired(root):
    table = "isa/retired.isa"
    forms = []
    for number, section, columns in rows(root / "tables" / table, table):
        require(len(columns) == 5, table, f"line {number}", f"{len(columns)} columns, not 5")
        form = Form(table, number, "command", int(section[0]))
        form.mnemonic, releases, bits, constraints, syntax = columns
        parse_releases(form, releases)
        finish(form, bits, constraints, syntax)
        require(not form.releases & CURRENT, table, form.label, "is in the current release")
        forms.append(form)
    return forms


def finish(form, bits, constraints, syntax):
    require(form.bits in (16, 32, 48, 64), form.table, form.label, f"no words of {form.bits} bits")
    parse_bits(form, bits)
    parse_constraints(form, constraints)
    form.syntax_text = syntax
    form.syntax = compile_syntax(form, syntax)
    used = {name for op in form.syntax if op[0] == "operand" for name in op[2]}
    unused = [name for name in form.fields if name not in used]
    require(not unused, form.table, form.label,
            f"the syntax leaves out {', '.join(unused)}: text could not be assembled back")


def read_reserved(root):
    table = "isa/reserved.isa"
    out = []
    for number, section, columns in rows(root / "tables" / table, table):
        require(len(columns) == 3, table, f"line {number}", f"{len(columns)} columns, not 3")
        bits, pattern = int(section[0]), columns[1].replace(" ", "")
        require(len(pattern) == bits and set(pattern) <= set("01-"), table, f"line {number}",
                f"the pattern is not {bits} of 0, 1 and -")
        mask = int(pattern.replace("0", "1").replace("-", "0"), 2)
        match = int(pattern.replace("-", "0"), 2)
        out.append((columns[0], bits, mask, match, columns[2]))
    return out


def read_overlaps(root):
    table = "isa/overlaps.isa"
    out = {}
    for number, _, columns in rows(root / "tables" / table, table):
        require(len(columns) == 3, table, f"line {number}", f"{len(columns)} columns, not 3")
        out[(columns[0], columns[1])] = (number, columns[2])
    return out


def overlapping(a, b):
    """Is there a word that both forms admit by mask and match?"""
    return a.bits == b.bits and (a.match ^ b.match) & a.mask & b.mask == 0


def disjoint_by_constraints(a, b):
    """Overlap of the patterns, but the constraints leave no common word: some constrained field of
    one lies where the other has fixed bits, or both constrain the same bits."""
    for one, two in ((a, b), (b, a)):
        for name, values in one.allowed.items():
            lsb, width, _ = one.fields[name].pieces[0]
            span = ((1 << width) - 1) << lsb
            if two.mask & span == span and (two.match & span) >> lsb not in values:
                return True
    return False


def check_overlaps(root, forms):
    """Two forms of one release may claim a word only if one is declared to win: it has more fixed
    bits and is tried first."""
    declared = read_overlaps(root)
    seen = set()
    for i, a in enumerate(forms):
        for b in forms[i + 1:]:
            if not a.releases & b.releases or not overlapping(a, b) \
                    or disjoint_by_constraints(a, b):
                continue
            winner, loser = (a, b) if (a.surface == "command", a.fixed_bits) > \
                (b.surface == "command", b.fixed_bits) else (b, a)
            key = (winner.mnemonic, loser.mnemonic)
            require(key in declared, winner.table, winner.label,
                    f"claims words of {loser.mnemonic} (line {loser.line}); declare it in "
                    "isa/overlaps.isa or make the patterns disjoint")
            require(winner.fixed_bits > loser.fixed_bits or winner.surface != loser.surface,
                    winner.table, winner.label,
                    f"overlaps {loser.mnemonic} with as many fixed bits: nobody wins")
            seen.add(key)
    for key, (number, _) in declared.items():
        require(key in seen, "isa/overlaps.isa", f"line {number}",
                f"{key[0]} and {key[1]} do not overlap")
    names = {}
    for form in forms:
        shape = (form.mnemonic, form.bits, form.mask, form.match)
        for other in names.setdefault(shape, []):
            require(not other.releases & form.releases, form.table, form.label,
                    f"the same row as {other.label}")
        names[shape].append(form)


def read_tileops(root):
    table = "isa/tileops.isa"
    out, selectors = [], {}
    for number, _, columns in rows(root / "tables" / table, table):
        require(len(columns) == 12, table, f"line {number}", f"{len(columns)} columns, not 12")
        keys = ("name engine carrier mode function dtypes operands attributes pad arguments "
                "handler klass").split()
        row = dict(zip(keys, columns))
        row["line"] = number
        row["mode"] = None if row["mode"] == "-" else int(row["mode"])
        row["function"] = int(row["function"])
        require(row["engine"] in ("VEC", "SFU", "TLSU", "CUBE"), table, f"line {number}",
                f"engine {row['engine']}")
        require((row["mode"] is not None) == (row["carrier"] == "BSTART.TEPL"), table,
                f"line {number}", "only operations of BSTART.TEPL have a mode")
        selector = (row["carrier"], row["mode"], row["function"])
        require(selector not in selectors, table, f"line {number}",
                f"{row['name']} has the selector of {selectors.get(selector)}")
        selectors[selector] = row["name"]
        out.append(row)
    return out
