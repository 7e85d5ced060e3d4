# SPDX-License-Identifier: Apache-2.0
"""The kinds of operands in assembly text, and the compiler from syntax to a small program.

The assembler and the disassembler run the same program (src/isa/syntax.h): a list of literal
characters and operands. What each kind looks like is decided in src/isa/print.c and src/isa/parse.c.
"""

import re

from .common import require

# kind: (fields it takes: allowed numbers, hangs on the mnemonic without a space, what it is)
KINDS = {
    "src": ((1,), False, "source: R0..R23, T#1..T#4, U#1..U#4"),
    "dst": ((1,), False, "destination: R0..R23, push T or U, or a discarding code"),
    "gpr": ((1,), False, "one of R0..R23"),
    "mod_add": ((1,), False, "modifier of a right operand: .sw .uw .neg"),
    "mod_logic": ((1,), False, "modifier of a right operand: .sw .uw .not"),
    "mod_address": ((1,), False, "modifier of an index: .sw .uw .neg"),
    "mod_compare": ((1,), False, "modifier of a compared operand: .sw .uw .not"),
    "mod_select": ((1,), False, "modifier of a selected operand: .neg"),
    "shl": ((1,), False, "shift to the left: <<n, nothing for 0"),
    "imm_s": ((1,), False, "signed number"),
    "imm_u": ((1,), False, "unsigned number"),
    "width": ((1,), False, "number of bits, 1 to 64, stored minus one"),
    "disp0": ((1,), False, "signed displacement in bytes"),
    "disp1": ((1,), False, "signed displacement in bytes, a multiple of 2"),
    "disp2": ((1,), False, "signed displacement in bytes, a multiple of 4"),
    "disp3": ((1,), False, "signed displacement in bytes, a multiple of 8"),
    "branch": ((1,), False, "target, signed halfwords from the instruction"),
    "branch1": ((1,), False, "target, signed bytes (even) from the instruction"),
    "ret5": ((1,), False, "return address, unsigned halfwords from the instruction"),
    "ret5h": ((1,), False, "return address, unsigned halfwords from the second halfword"),
    "ret20": ((1,), False, "return address, unsigned halfwords from the instruction"),
    "ret32": ((1,), False, "return address, 32 bits of halfwords from the instruction"),
    "page": ((1,), False, "signed number of 4 KiB pages, or a symbol"),
    "pcrel4": ((1,), False, "address, signed words from the instruction's word"),
    "order": ((2, 3), True, "ordering suffix: .aq .rl .f and their combinations"),
    "qflags": ((2, 3, 4), True, "queue flags as a suffix of letters"),
    "ftype": ((1,), False, "type suffix: fd or fs"),
    "convert": ((2,), False, "conversion suffix, as in fd2sw"),
    "convert_int": ((2,), False, "conversion suffix from floating point to integer"),
    "convert_from_s": ((2,), False, "conversion suffix from signed integer to floating point"),
    "convert_from_u": ((2,), False, "conversion suffix from unsigned integer to floating point"),
    "cache": ((1,), True, "cache level suffix: .l1 .l2 .l3"),
    "fence": ((1,), False, "set of access classes: a number 0 to 15"),
    "ssr": ((1,), False, "system register by name or number"),
    "lsr": ((1,), False, "word of the block arguments by number"),
    "tag": ((1,), False, "`, Name=n`, nothing for 0"),
    "last": ((1,), False, "`, last` or nothing"),
    "tile": ((1,), False, "tile by hand and distance: t#1, u#2, m#3, n#4"),
    "hand": ((1,), False, "hand of a new tile: t u m n"),
    "size": ((1,), False, "size per element: 128B .. 256KB"),
    "pe_mode": ((1,), False, "participating elements PE0..PE3 as four binary digits"),
    "pe_mask": ((1,), False, "participating elements PE0..PE3 as four binary digits, any set"),
    "shared": ((3,), False, "shared tile as a source or as a destination with its size"),
    "lb": ((1,), False, "dimension: lb0 lb1 lb2"),
    "dtype": ((1,), False, "element type"),
    "tepl": ((3,), False, "tile operation by name, or mode and function, and element type"),
    "brtype": ((1,), False, "transfer: FALL IND ICALL RET"),
    "catr": ((6,), False, "control attributes: trap, atomic, aq/rl/aqrl, far, dr"),
    "datr": ((7,), False, "data attributes: layout, type, pad, cmode, rmode, sat, canonicalize"),
    "hint": ((4,), False, "branch, temperature and prefetch hints"),
    "trace": ((1,), False, "TRACE.begin or TRACE.end"),
    "optsrc": ((2,), False, "source that is present when the flag is set"),
}
NUMBERS = {name: number for number, name in enumerate(KINDS)}


def compile_syntax(form, text):
    """Returns [("literal", text) | ("operand", kind, [field names])]."""
    ops = []
    attached = text.startswith(".") or any(
        text.startswith("{") and re.match(r"\{[^}]*:" + kind + r"\}", text)
        for kind, (_, suffix, _) in KINDS.items() if suffix)
    if text and not attached:
        text = " " + text
    at = 0
    while at < len(text):
        if text[at] == "{":
            end = text.find("}", at)
            require(end > 0, form.table, form.label, "syntax: { without }")
            names, _, kind = text[at + 1:end].rpartition(":")
            require(kind in KINDS, form.table, form.label, f"syntax: no operand kind \"{kind}\"")
            names = names.split("+")
            for name in names:
                require(name in form.fields, form.table, form.label,
                        f"syntax names the field {name}, which the pattern does not have")
            require(len(names) in KINDS[kind][0], form.table, form.label,
                    f"syntax: {kind} does not take {len(names)} fields")
            ops.append(("operand", kind, names))
            at = end + 1
        else:
            end = at
            while end < len(text) and text[end] != "{":
                require(0x20 <= ord(text[end]) < 0x7F, form.table, form.label,
                        "syntax: not ASCII")
                end += 1
            ops.append(("literal", text[at:end]))
            at = end
    return ops


def syntax_bytes(form):
    """The program as bytes: 0x01..0x7F literal, 0x80 + kind, number of fields, field indexes."""
    index = {name: i for i, name in enumerate(form.fields)}
    out = []
    for op in form.syntax:
        if op[0] == "literal":
            out += [ord(ch) for ch in op[1]]
        else:
            out += [0x80 + NUMBERS[op[1]], len(op[2])] + [index[name] for name in op[2]]
    return out + [0]
