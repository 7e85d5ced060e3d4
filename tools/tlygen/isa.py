# SPDX-License-Identifier: Apache-2.0
"""Instruction set: C tables for decoder, encoder, assembler and disassembler."""

import re

from . import isa_docs, isa_table as table, isa_words
from .common import c_string, head, read_table, require
from .isa_syntax import KINDS, syntax_bytes

SOURCE = "tables/isa/"


def identifiers(forms):
    """One C name per form: the mnemonic, with what tells forms of one mnemonic apart."""
    by_mnemonic = {}
    for form in forms:
        by_mnemonic.setdefault(form.mnemonic, []).append(form)
    names = {}
    for mnemonic, group in by_mnemonic.items():
        base = re.sub(r"[^A-Z0-9]", "_", mnemonic.upper())
        for form in group:
            name = base
            if len(group) > 1:
                words = [w for op in form.syntax if op[0] == "literal"
                         for w in re.findall(r"[A-Z]{2,}|lb\d", op[1])]
                sources = sum(n.startswith("SrcTile") for n in form.fields)
                if words:
                    name += "_" + "_".join(words).upper()
                elif base.startswith("B_IO"):
                    name += f"_{sources}S" if sources else ""
                    name += "_D" if "DstTile" in form.fields else ""
                elif base == "B_HINT":
                    name += "_TRACE" if "B/E" in form.fields else ""
            if not form.releases & table.CURRENT:
                first = (form.releases & -form.releases).bit_length() - 1
                name += "_R" + table.RELEASES[first].replace(".", "")
            require(name not in names.values(), form.table, form.label, f"C name {name} taken")
            names[id(form)] = name
    return names


class Index:
    """Two look-ups lead from a word to the short list of forms that can own it, narrowest first.
    Each look-up takes two runs of bits: the first the same two for all words of a length, the second
    the two that tell the forms of its bucket apart best."""

    # bits: (first run: shift, width), (second run: shift, width)
    ROOTS = {16: ((0, 6), (11, 5)), 32: ((0, 7), (12, 3)), 48: ((16, 7), (28, 3)), 64: ((0, 7), (7, 3))}
    MAX_BITS = 6
    MAX_OPEN = 4  # bits of a run that a form may leave open

    def __init__(self):
        self.buckets = []   # node numbers
        self.nodes = []     # (shift, width, shift, width, first child)
        self.children = []  # leaf numbers
        self.leaves = []    # lists of candidates
        self.first = {}     # bits: first bucket

    @staticmethod
    def key(word, runs):
        (shift_a, width_a), (shift_b, width_b) = runs
        return word >> shift_a & (1 << width_a) - 1 | (word >> shift_b & (1 << width_b) - 1) << width_a

    @classmethod
    def split(cls, candidates, runs):
        """The candidates of each value of the two runs; one that leaves bits of them open is in several."""
        span = sum(((1 << width) - 1) << shift for shift, width in runs)
        out = {}
        for c in candidates:
            free = span & ~c[0]
            sub = free
            while True:
                out.setdefault(cls.key(c[1] & span | sub, runs), []).append(c)
                if sub == 0:
                    break
                sub = (sub - 1) & free
        return out

    def best_run(self, candidates, bits, other):
        """The run that together with `other` leaves most of the newest release's candidates alone: each
        counts with the part of its words that the look-up settles. Of equal ones the shortest."""
        other_bits = ((1 << other[1]) - 1) << other[0]
        best = (0, 0, 0)
        for width in range(1, self.MAX_BITS + 1):
            for shift in range(0, bits - width + 1):
                run = ((1 << width) - 1) << shift
                if run & other_bits or any((run & ~mask).bit_count() > self.MAX_OPEN
                                           for mask, _, _, _ in candidates):
                    continue
                alone = 0
                for own in self.split(candidates, (other, (shift, width))).values():
                    newest = [c for c in own if c[3] >> 3] or own
                    if len(newest) == 1:
                        part = 2.0 ** -((run | other_bits) & ~newest[0][0]).bit_count()
                        alone += part if newest[0][3] >> 3 else part / 64
                best = max(best, (alone, -width, -shift))
        return -best[2], -best[1]

    def add(self, candidates, bits):
        runs = self.ROOTS[bits]
        buckets = self.split(candidates, runs)
        known = {}
        self.first[bits] = len(self.buckets)
        for key in range(1 << (runs[0][1] + runs[1][1])):
            bucket = buckets.get(key, [])
            first_run, second_run = (0, 0), (0, 0)
            if len(bucket) > 1:
                numbers = tuple(c[2] for c in bucket)
                if numbers not in known:
                    first_run = self.best_run(bucket, bits, (0, 0))
                    known[numbers] = sorted((first_run, self.best_run(bucket, bits, first_run)))
                first_run, second_run = known[numbers]
            self.buckets.append(self.node(bucket, first_run, second_run))

    def node(self, bucket, first_run, second_run):
        """Number of the node; equal ones are kept once."""
        parts = self.split(bucket, (first_run, second_run))
        children = [self.leaf(parts.get(value, []))
                    for value in range(1 << (first_run[1] + second_run[1]))]
        for number, (*runs, first) in enumerate(self.nodes):
            if tuple(runs) == (*first_run, *second_run) \
                    and self.children[first:first + len(children)] == children:
                return number
        self.nodes.append((*first_run, *second_run, len(self.children)))
        self.children += children
        return len(self.nodes) - 1

    def leaf(self, candidates):
        if candidates not in self.leaves:
            self.leaves.append(candidates)
        return self.leaves.index(candidates)


HASH_SLOTS = 2048


def mnemonic_hash(name):
    """FNV-1a over the upper-case letters, as in src/isa/table.c."""
    value = 2166136261
    for ch in name.upper().encode():
        value = (value ^ ch) * 16777619 & 0xFFFFFFFF
    return value


def hash_table(mnemonics):
    """Open addressing: number of the mnemonic plus one, 0 where nothing is."""
    slots = [0] * HASH_SLOTS
    for number, name in enumerate(mnemonics):
        at = mnemonic_hash(name) % HASH_SLOTS
        while slots[at]:
            at = (at + 1) % HASH_SLOTS
        slots[at] = number + 1
    return slots


def mnemonic_order(forms):
    return sorted({form.mnemonic for form in forms})


def outputs(root):
    if not (root / "tables/isa").is_dir():
        return {}
    forms = table.read_forms(root)
    retired = table.read_retired(root)
    reserved = table.read_reserved(root)
    every = forms + retired
    table.check_overlaps(root, every)
    tileops = table.read_tileops(root)
    names = read_table(root, "isa/names.toml")
    ids = identifiers(every)
    texts = read_table(root, "isa/words.toml")
    words = isa_words.mnemonic_words(every, texts)
    tile_words = isa_words.tileop_words(tileops, texts)
    return {
        **isa_docs.pages(every, words, tileops, tile_words),
        "src/isa/words_table.h": isa_docs.words_table(every, words, tileops, tile_words, head,
                                                      c_string),
        "src/isa/forms.h": forms_header(every, ids),
        "src/isa/fields.h": fields_header(every, ids),
        "src/isa/forms_table.h": forms_table(every, ids, reserved, tileops),
        "src/isa/decode_table.h": decode_table(every),
        "src/isa/tileops_table.h": tileops_table(tileops, names),
        "src/isa/names_table.h": names_table(names),
    }


def forms_header(forms, ids):
    out = [head(SOURCE), "#ifndef TLY_ISA_FORMS_H\n#define TLY_ISA_FORMS_H\n\n"
           "/* Numbers of the instruction forms; those of earlier releases come last. */\n"
           "enum tly_isa_form_number {\n"]
    for number, form in enumerate(forms):
        out.append(f"    TLY_FORM_{ids[id(form)]} = {number},\n")
    out.append(f"    TLY_NUM_FORMS = {len(forms)}\n}};\n\n"
               "/* Kinds of operands in assembly text (tools/tlygen/isa_syntax.py). */\n"
               "enum tly_isa_operand_kind {\n")
    for number, (kind, (_, _, what)) in enumerate(KINDS.items()):
        out.append(f"    TLY_KIND_{kind.upper()} = {number}, /* {what} */\n")
    out.append("};\n\n/* Semantic routines: the column `handler` of a form's row. */\n"
               "enum tly_isa_handler {\n")
    for number, handler in enumerate(sorted({form.handler for form in forms})):
        out.append(f"    TLY_HANDLER_{upper_name(handler)} = {number},\n")
    out.append(f"    TLY_NUM_HANDLERS = {len({form.handler for form in forms})}\n")
    out.append("};\n\n#endif\n")
    return "".join(out)


def upper_name(name):
    """ExecuteBundleStart -> EXECUTE_BUNDLE_START, B/E -> B_E, "-" -> NONE."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_"))
    return words.upper() or "NONE"


def fields_header(forms, ids):
    """Where a form's field stands in tly_isa_insn.fields."""
    out = [head(SOURCE), "#ifndef TLY_ISA_FIELDS_H\n#define TLY_ISA_FIELDS_H\n\n"
           "/* Places in tly_isa_insn.fields: TLY_FIELD_ form _ field. */\n"
           "enum tly_isa_field_place {\n"]
    for form in forms:
        for place, name in enumerate(form.fields):
            out.append(f"    TLY_FIELD_{ids[id(form)]}_{upper_name(name)} = {place},\n")
    out.append("};\n\n#endif\n")
    return "".join(out)


HEADERS = ("B.CATR", "B.IOR", "B.DIM", "C.B.DIMI", "B.FPATR")


def bundle_role(form):
    """What a form is to a bundle (isa/table.h)."""
    if "BSTART" in form.mnemonic:
        return "START"
    if "BSTOP" in form.mnemonic:
        return "STOP"
    special = {"B.IOT": "TILES", "B.IOS": "SHARED", "B.DATR": "DATA"}
    return special.get(form.mnemonic, "HEADER" if form.mnemonic in HEADERS else "NONE")


# What a field of a scalar form is to execution (isa/table.h). An immediate is whatever else has a
# number; a form with two has the second as `extra`.
ROLES = {
    "RegDst": "DESTINATION", "RegDst0": "DESTINATION", "RegDst1": "SECOND_DESTINATION",
    "SrcL": "LEFT", "SrcR": "RIGHT", "SrcD": "THIRD", "SrcA": "THIRD", "SrcP": "THIRD",
    "SrcD1": "FOURTH", "SrcRType": "MODIFIER", "SrcType": "MODIFIER", "shamt": "SHIFT",
    "imml": "EXTRA", "DstType": "EXTRA", "SUCC_IMM": "EXTRA", "aq": "ACQUIRE", "rl": "RELEASE",
    "far": "NONE", "SrcZero": "NONE", "model": "NONE",
}


def field_role(form, name):
    if form.surface == "command":
        return "NONE"
    if name == "imms" and "immr" in form.fields:
        return "EXTRA"
    return ROLES.get(name, "IMMEDIATE")


def access_of(form):
    """The column `memory` as numbers (tly_isa_access)."""
    words = form.memory.split()
    if form.memory == "-":
        return "{0, 0, 0, 0, 0, 0, 0}"
    says = dict(word.split("=") for word in words[1:] if "=" in word)
    return (f"{{TLY_ACCESS_{upper_name(words[0])}, {says['size']}, {int('signed' in words)}, "
            f"TLY_ADDRESS_{upper_name(says['address'])}, {says['scale']}, "
            f"TLY_UPDATE_{upper_name(says['update'])}, {int('returns-address' in words)}}}")


def forms_table(forms, ids, reserved, tileops):
    carriers = {row["carrier"]: number for number, row in enumerate(tileops)
                if row["mode"] is None}
    out = [head(SOURCE)]
    mnemonics = mnemonic_order(forms)
    groups = sorted({form.group for form in forms})
    handlers = sorted({form.handler for form in forms})
    field_names = sorted({name for form in forms for name in form.fields})

    def strings(name, items):
        out.append(f"static const char *const {name}[] = {{\n")
        out.extend(f"    {c_string(item)},\n" for item in items)
        out.append("};\n\n")

    strings("tly_isa_mnemonics", mnemonics)
    strings("tly_isa_groups", groups)
    strings("tly_isa_handlers", handlers)
    strings("tly_isa_field_names", field_names)

    pieces, fields, rules, syntax = [], [], [], []
    rows = []
    for form in forms:
        first_field, first_rule = len(fields), len(rules)
        for name, field in form.fields.items():
            fields.append((field_names.index(name), field.width, int(field.signed),
                           len(field.pieces), len(pieces), field_role(form, name)))
            pieces += [(lsb, width, low) for lsb, width, low in field.pieces]
        for position, name in enumerate(form.fields):
            if name in form.allowed:
                lsb, width, _ = form.fields[name].pieces[0]
                bitmap = sum(1 << value for value in form.allowed[name])
                rules.append((lsb, width, position, bitmap))
        program = syntax_bytes(form)
        rows.append((form, first_field, first_rule, len(rules) - first_rule, len(syntax)))
        syntax += program

    out.append("static const tly_isa_piece tly_isa_pieces[] = {\n")
    out.extend(f"    {{{a}, {b}, {c}}},\n" for a, b, c in pieces)
    out.append("};\n\nstatic const tly_isa_field_row tly_isa_fields[] = {\n")
    out.extend(f"    {{{n}, {p}, {w}, {s}, {k}, TLY_ROLE_{r}}},\n" for n, w, s, k, p, r in fields)
    out.append("};\n\nstatic const tly_isa_rule tly_isa_rules[] = {\n")
    out.extend(f"    {{UINT64_C(0x{bitmap:016X}), {lsb}, {width}, {position}}},\n"
               for lsb, width, position, bitmap in rules)
    out.append("};\n\nstatic const uint8_t tly_isa_syntax[] = {")
    for at in range(0, len(syntax), 16):
        out.append("\n    " + " ".join(f"{b}," for b in syntax[at:at + 16]))
    out.append("\n};\n\nstatic const tly_isa_form_row tly_isa_forms[] = {\n")
    for form, first_field, first_rule, num_rules, at in rows:
        out.append(
            f"    {{UINT64_C(0x{form.mask:X}), UINT64_C(0x{form.match:X}), {at}, "
            f"{mnemonics.index(form.mnemonic)}, {first_field}, {first_rule}, "
            f"{len(form.fields)}, {num_rules}, {form.bits}, "
            f"{'TLY_ISA_COMMAND' if form.surface == 'command' else 'TLY_ISA_SCALAR'}, "
            f"0x{form.releases:X}, {groups.index(form.group)}, {handlers.index(form.handler)}, "
            f"TLY_BUNDLE_{bundle_role(form)}, {carriers.get(form.mnemonic, -1) + 1}, "
            f"{access_of(form)}, "
            f"{c_string(form.reference)}, {c_string(form.memory)}, "
            f"{c_string(form.syntax_text)}}},\n")
    out.append("};\n\n/* Forms of each mnemonic, in the order of tly_isa_mnemonics. */\n"
               "static const uint16_t tly_isa_mnemonic_first[] = {")
    order, first = [], []
    for mnemonic in mnemonics:
        first.append(len(order))
        order += [i for i, form in enumerate(forms) if form.mnemonic == mnemonic]
    first.append(len(order))
    for at in range(0, len(first), 16):
        out.append("\n    " + " ".join(f"{v}," for v in first[at:at + 16]))
    out.append(f"\n}};\nenum {{ TLY_ISA_HASH_SLOTS = {HASH_SLOTS} }};\n"
               "static const uint16_t tly_isa_mnemonic_hash[] = {")
    slots = hash_table(mnemonics)
    for at in range(0, len(slots), 16):
        out.append("\n    " + " ".join(f"{v}," for v in slots[at:at + 16]))
    out.append("\n};\nstatic const uint16_t tly_isa_mnemonic_forms[] = {")
    for at in range(0, len(order), 16):
        out.append("\n    " + " ".join(f"{v}," for v in order[at:at + 16]))
    out.append("\n};\n\nstatic const tly_isa_reserved_row tly_isa_reserved[] = {\n")
    for name, bits, mask, match, why in reserved:
        out.append(f"    {{UINT64_C(0x{mask:X}), UINT64_C(0x{match:X}), {bits}, "
                   f"{c_string(name)}, {c_string(why)}}},\n")
    out.append("};\n")
    return "".join(out)


def nodes_text(name, size, nodes):
    """A table of look-ups, twice: for PEXT, and as two runs."""
    with_bits, with_runs = [], []
    for (shift_a, width_a), (shift_b, width_b), first in nodes:
        mask_a, mask_b = (1 << width_a) - 1, (1 << width_b) - 1
        with_bits.append(f"    {{UINT64_C(0x{mask_a << shift_a | mask_b << shift_b:X}), {first}}},\n")
        with_runs.append(f"    {{{first}, {mask_a}, {mask_b}, {shift_a}, {shift_b}, {width_a}}},\n")
    return (f"const tly_isa_node tly_isa_{name}s[{size}] = {{\n{''.join(with_bits)}}};\n\n"
            f"static const tly_isa_runs tly_isa_{name}_runs[{size}] = {{\n{''.join(with_runs)}}};\n\n")


# What the decoder does without a loop, as in src/isa/decode.h.
NUM_SLOTS = 8   # fields
MASK_BITS = 16  # width of a field of one piece
NUM_PIECES = 3  # pieces of the one field that needs more
NUM_CHECKS = 4  # field rules
SCALE = 16      # what numbers of nodes and rows are multiplied by


def runs_of(field):
    """A split field as two runs of pieces that rise in the word as they do in the value: the bits of each
    in the word, the width of the lower one. None if it takes more."""
    pieces = sorted(field.pieces, key=lambda piece: piece[2])
    runs, last = [0], -1
    low_width = 0
    for lsb, width, _ in pieces:
        if lsb < last:
            runs.append(0)
        if len(runs) == 1:
            low_width += width
        runs[-1] |= ((1 << width) - 1) << lsb
        last = lsb
    return (*(runs + [0])[:2], low_width) if len(runs) <= 2 else None


def slots(form):
    """The decoder's program for the fields of a form: a shift and a mask for each of one piece; for one
    that is split, signed or wide up to three pieces in place, the same as two runs, and the sign. A form
    that needs more is left to a loop."""
    fields = list(form.fields.values())
    hard = [index for index, f in enumerate(fields)
            if f.signed or len(f.pieces) > 1 or f.pieces[0][2] or f.pieces[0][1] > MASK_BITS]
    if len(fields) > NUM_SLOTS or len(hard) > 1:
        return None
    special = hard[0] if hard else 0
    simple = [(f.pieces[0][0], f.pieces[0][1]) if index != special else (0, 0)
              for index, f in enumerate(fields)]
    pieces, runs, low, extend = [], (0, 0, 0), 0, 0
    if fields:
        field = fields[special]
        pieces = [(((1 << width) - 1) << low, (lsb - low) % 64) for lsb, width, low in field.pieces]
        low = min(low for _, _, low in field.pieces)
        extend = 64 - field.width if field.signed else 0
        runs = runs_of(field)
    if len(pieces) > NUM_PIECES:
        return None
    simple += [(0, 0)] * (NUM_SLOTS - len(simple))
    pieces += [(0, 0)] * (NUM_PIECES - len(pieces))
    return {"two_runs": int(runs is not None),
            "runs": [f"UINT64_C(0x{run:X})" for run in (runs or (0, 0, 0))[:2]],
            "field_masks": [f"0x{(1 << width) - 1:X}" for _, width in simple],
            "field_shifts": [str(lsb) for lsb, _ in simple],
            "special": special, "run_width": (runs or (0, 0, 0))[2], "up": extend + low, "down": extend,
            }, (f"    {{{{{', '.join(f'UINT64_C(0x{mask:X})' for mask, _ in pieces)}}}, "
                f"{{{', '.join(str(turn) for _, turn in pieces)}}}, {extend}}},\n")


def checks(form):
    out = []
    for name in form.fields:
        if name in form.allowed:
            lsb, width, _ = form.fields[name].pieces[0]
            out.append((f"UINT64_C(0x{sum(1 << v for v in form.allowed[name]):X})", lsb,
                        (1 << width) - 1))
    if len(out) > NUM_CHECKS:
        return None
    out += [("1", 0, 0)] * (NUM_CHECKS - len(out))
    return {name: [str(check[i]) for check in out]
            for i, name in enumerate(("allowed", "check_shifts", "check_masks"))}


def quick_row(form, number, releases):
    """Rows of tly_isa_quicks and of tly_isa_specials."""
    form_slots, form_checks = slots(form), checks(form)
    if form_slots is None or form_checks is None or releases == 0:
        return NO_ROW
    above = (1 << 64) - (1 << form.bits)  # bits that the word has none of
    pext_releases = releases if form_slots[0].pop("two_runs") else 0
    parts = {"mask": f"UINT64_C(0x{form.mask | above:X})", "match": f"UINT64_C(0x{form.match:X})",
             **form_checks, **form_slots[0], "releases": f"0x{releases:X}",
             "pext_releases": f"0x{pext_releases:X}", "form": number,
             "len": form.bits // 8, "num_fields": len(form.fields)}
    return ("    {" + ", ".join(f".{name} = {{{', '.join(value)}}}" if isinstance(value, list)
                                else f".{name} = {value}" for name, value in parts.items()) + "},\n",
            form_slots[1])


NO_ROW = ("    {.releases = 0},\n", "    {.turns = {0}},\n")


def list_row(leaf, forms):
    """The row of a list: the form of the newest release that is asked first, where nothing is asked
    before it. Words of the others fit no pattern."""
    before = 0
    for _, _, number, releases in leaf:
        if releases >> 3:
            return quick_row(forms[number], number, releases & ~before)
        before |= releases
    return NO_ROW


def decode_table(forms):
    index = Index()
    for bits in (16, 32, 48, 64):
        candidates = [(f.mask, f.match, number, f.releases) for number, f in enumerate(forms)
                      if f.bits == bits]
        candidates.sort(key=lambda c: (forms[c[2]].surface != "command",
                                       -forms[c[2]].fixed_bits, c[2]))
        index.add(candidates, bits)

    empty = len(index.buckets)
    index.buckets.append(index.node([], (0, 0), (0, 0)))
    roots = []
    for length in range(9):  # other lengths lead to a bucket without forms
        runs = Index.ROOTS.get(length * 8, ((0, 0), (0, 0)))
        roots.append((*runs, index.first.get(length * 8, empty)))
    out = [head(SOURCE), "/* First look-up, by the length of the word; it leads to a bucket. */\n",
           nodes_text("root", "TLY_ISA_MAX_LEN + 1", roots),
           "const uint16_t tly_isa_buckets[] = {"]
    for at in range(0, len(index.buckets), 16):
        out.append("\n    " + " ".join(f"{v * SCALE}," for v in index.buckets[at:at + 16]))
    out.append("\n};\n\n/* Second look-up. */\n" + nodes_text("node", len(index.nodes), [
        ((shift_a, width_a), (shift_b, width_b), first)
        for shift_a, width_a, shift_b, width_b, first in index.nodes]))

    # A child is the form of its leaf where that is one form, else one of the lists behind the forms.
    out.append("/* A form, or the number of forms plus that of a list. */\n"
               "const uint16_t tly_isa_children[] = {")
    lists = [leaf for leaf in index.leaves if len(leaf) != 1]
    places = {id(leaf): number for number, leaf in enumerate(lists)}
    children = [leaf[0][2] if len(leaf) == 1 else len(forms) + places[id(leaf)]
                for leaf in (index.leaves[number] for number in index.children)]
    for at in range(0, len(children), 16):
        out.append("\n    " + " ".join(f"{v * SCALE}," for v in children[at:at + 16]))
    spans, flat = [], []
    for leaf in lists:
        spans.append((len(flat), len(leaf)))
        flat += [c[2] for c in leaf]
    out.append("\n};\n\nstatic const tly_isa_leaf tly_isa_leaves[] = {\n")
    out.extend(f"    {{{first}, {count}}},\n" for first, count in spans)
    out.append("};\n\n/* Forms of the lists, narrowest first. */\n"
               "static const uint16_t tly_isa_leaf_forms[] = {")
    for at in range(0, len(flat), 16):
        out.append("\n    " + " ".join(f"{v}," for v in flat[at:at + 16]))
    out.append("\n};\n\n/* The forms, then the lists, each by its first form. */\n"
               "const tly_isa_quick tly_isa_quicks[] = {\n")
    rows = [quick_row(form, number, form.releases) for number, form in enumerate(forms)]
    rows += [list_row(leaf, forms) for leaf in lists]
    out.extend(quick for quick, _ in rows)
    out.append("};\n\n/* Of the same rows, for processors without PEXT. */\n"
               "static const tly_isa_special tly_isa_specials[] = {\n")
    out.extend(special for _, special in rows)
    out.append("};\n")
    return "".join(out)


def tileops_table(rows, names):
    out = [head(SOURCE), "static const tly_isa_tileop tly_isa_tileops[] = {\n"]
    codes = {name: value[0] for name, value in names["dtypes"].items()}
    for row in rows:
        label = f"line {row['line']}"
        types = row["dtypes"].split(";")[0].split()
        require(all(t in codes for t in types), "isa/tileops.isa", label, "unknown element type")
        mask = sum(1 << codes[t] for t in types)
        mode = 0xFF if row["mode"] is None else row["mode"]
        out.append(f"    {{{c_string(row['name'])}, {c_string(row['engine'])}, "
                   f"{c_string(row['carrier'])}, 0x{mask:08X}, {mode}, {row['function']}, "
                   f"{c_string(row['operands'])}, {c_string(row['attributes'])}, "
                   f"{c_string(row['pad'])}, {c_string(row['klass'])}}},\n")
    out.append("};\n\n/* Operation of BSTART.TEPL plus one, by mode * 32 + function; 0: none. */\n"
               "static const uint8_t tly_isa_tepl[128] = {\n")
    for number, row in enumerate(rows):
        if row["mode"] is not None:
            out.append(f"    [{row['mode'] * 32 + row['function']}] = {number + 1},\n")
    out.append("};\n")
    return "".join(out)


def register_places(registers):
    """A table of the names of two characters without collisions: (first * factor + second) % 128."""
    pairs = {name: code for code, name in enumerate(registers) if len(name) == 2}
    for factor in range(1, 128):
        places = {(ord(name[0]) * factor + ord(name[1])) % 128: code for name, code in pairs.items()}
        if len(places) == len(pairs):
            break
    else:
        require(False, "isa/names.toml", "registers", "no factor tells the names apart")
    row = ", ".join(str(places.get(at, len(registers))) for at in range(128))
    return (f"enum {{ TLY_ISA_REGISTER_FACTOR = {factor} }};\n"
            f"static const uint8_t tly_isa_register_places[128] = {{{row}}};\n\n")


def names_table(names):
    out = [head(SOURCE)]

    def codes(symbol, items):
        out.append(f"static const tly_isa_name {symbol}[] = {{\n")
        out.extend(f"    {{{c_string(name)}, {value}}},\n" for name, value in items)
        out.append("};\n\n")

    out.append("static const char *const tly_isa_registers[24] = {\n    ")
    out.append(", ".join(c_string(name) for name in names["registers"]) + ",\n};\n\n")
    out.append(register_places(names["registers"]))
    by_code = {}
    for name, (code, _) in names["dtypes"].items():
        require(code not in by_code, "isa/names.toml", name,
                f"and {by_code.get(code)} have the same code {code}")
        by_code[code] = name
    codes("tly_isa_dtype_names", [(n, v[0]) for n, v in names["dtypes"].items()])
    out.append("static const uint8_t tly_isa_dtype_bits_of[32] = {\n")
    out.extend(f"    [{v[0]}] = {v[1]},\n" for v in names["dtypes"].values())
    out.append("};\n\n")
    for symbol, key in (("layout", "layouts"), ("pad", "pads"), ("size", "sizes"),
                        ("pe_mode", "pe_modes"), ("float_type", "float_types"),
                        ("integer_type", "integer_types"), ("transfer", "transfers"),
                        ("system_register", "system_registers"),
                        ("context_register", "context_registers")):
        values = list(names[key].values())
        require(len(set(values)) == len(values), "isa/names.toml", key, "two names for one code")
        codes(f"tly_isa_{symbol}_names", names[key].items())
    require([r["release"] for r in names["releases"]] == table.RELEASES, "isa/names.toml",
            "releases", f"must be {', '.join(table.RELEASES)}")
    out.append("static const tly_isa_identity tly_isa_identities[] = {\n")
    for row in names["releases"]:
        out.append(f"    {{{c_string(row['release'])}, {c_string(row['encoding_abi'])}, "
                   f"{c_string(row['projection'])}}},\n")
    out.append("};\n")
    return "".join(out)
