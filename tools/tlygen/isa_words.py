# SPDX-License-Identifier: Apache-2.0
"""What each instruction does, in words, and an example of each that assembles."""

import re

from .common import require

TABLE = "isa/words.toml"


def expand(text, groups, says, memory):
    """{1} is group 1, by [says] where it is there; {1:otherwise|X:text} chooses by its value."""

    def one(match):
        body = match[1]
        if body == "memory":
            return memory
        number, colon, choices = body.partition(":")
        value = groups[int(number) - 1] or ""
        if not colon:
            return says.get(value, value)
        otherwise, *cases = choices.split("|")
        for case in cases:
            key, _, result = case.partition(":")
            if key == value:
                return result
        return otherwise

    # Innermost first, so that a choice can hold a plain group.
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{([^{}]*)\}", one, text)
    return text[:1].upper() + text[1:]


def memory_words(form):
    """Sentence for a load or store from the memory column."""
    words = form.memory.split()
    if not words or words[0] == "-":
        return ""
    sizes = {"1": "byte", "2": "halfword", "4": "word", "8": "doubleword"}
    values = dict(w.split("=") for w in words[1:] if "=" in w)
    size = sizes[values["size"]]
    pair = words[0].endswith("-pair")
    load = words[0].startswith("load")
    what = f"{'Loads' if load else 'Stores'} {'two ' + size + 's that follow each other' if pair else 'a ' + size}"
    if load and size != "doubleword":
        what += ", extending the sign," if "signed" in words else ", filling with zeros,"
    scale = 1 << int(values["scale"])
    where = {"immediate": "at the base plus a displacement",
             "compressed": "at the base plus a displacement, by way of T",
             "register": "at the base plus an index, which is modified and shifted first",
             "pc": "at an address some words from the instruction"}[values["address"]]
    update = {"none": "", "pre": "; gives the new base too, which is the address",
              "post": "; the address is the old base, and the new base is given too"}[
                  values["update"]]
    scaled = f" (counted in units of {scale} bytes)" if values["address"] in ("immediate", "compressed") and scale > 1 else ""
    return f"{what} {where}{scaled}{update}."


# What stands for an operand of each kind in the examples, which are assembled at EXAMPLE_ADDRESS.
EXAMPLE_ADDRESS = 0x1000
SAMPLES = {
    "imm_s": "-2", "imm_u": "1", "width": "8", "disp0": "8", "disp1": "8", "disp2": "8",
    "disp3": "8", "branch": "0x1010", "branch1": "0x1010", "ret5": "0x1010", "ret5h": "0x1010",
    "ret20": "0x1010", "ret32": "0x1010", "page": "2", "pcrel4": "0x1010", "ftype": "fd",
    "convert": "fd2fs", "convert_int": "fd2sw", "convert_from_s": "sw2fd",
    "convert_from_u": "uw2fd", "cache": ".l1", "fence": "3", "ssr": "THREAD_PTR", "lsr": "0",
    "last": ", last", "hand": "m", "size": "8KB", "pe_mode": "1111", "pe_mask": "1111",
    "shared": "S1, mask=1111", "lb": "lb0", "dtype": "FP32", "tepl": "TADD, FP32",
    "brtype": "FALL", "catr": "atomic", "datr": "NORM, FP32, Zero", "hint": "BR.likely, TEMP.hot",
    "trace": "TRACE.begin",
}
CYCLES = {"src": ["a0", "a1", "a2"], "dst": ["a3", "a4"], "gpr": ["ra", "s0", "s1", "s2"],
          "tile": ["t#1", "u#1"]}


def example(form):
    """A line that assembles to a legal word of the form."""
    turn, out = {}, []
    for op in form.syntax:
        if op[0] == "literal":
            out.append(op[1])
        elif op[1] in CYCLES:
            number = turn.get(op[1], 0)
            turn[op[1]] = number + 1
            out.append(CYCLES[op[1]][number % len(CYCLES[op[1]])])
        elif op[1] == "imm_u" and min(p[2] for p in form.fields[op[2][0]].pieces) > 0:
            out.append("256")  # its low bits are not stored
        else:
            out.append(SAMPLES.get(op[1], ""))
    mnemonic = form.mnemonic if form.surface == "command" else form.mnemonic.lower()
    return mnemonic + "".join(out)


def mnemonic_words(forms, data):
    """{mnemonic: text}; refuses gaps and rows that are never used."""
    out, used = {}, set()
    for form in forms:
        if form.mnemonic in out:
            continue
        for number, row in enumerate(data["row"]):
            match = re.fullmatch(row["mnemonic"], form.mnemonic)
            if match and (row["text"] != "{memory}" or form.memory != "-"):
                out[form.mnemonic] = expand(row["text"], match.groups(), data["says"],
                                            memory_words(form))
                used.add(number)
                break
        require(form.mnemonic in out, TABLE, form.mnemonic, "no row says what it does")
    for number, row in enumerate(data["row"]):
        require(number in used, TABLE, row["mnemonic"], "no mnemonic uses this row")
    return out


def tileop_words(rows, data):
    out, used = {}, set()
    for row in rows:
        for number, entry in enumerate(data["tile"]):
            match = re.fullmatch(entry["name"], row["name"])
            if match:
                out[row["name"]] = expand(entry["text"], match.groups(), data["says"], "")
                used.add(number)
                break
        require(row["name"] in out, TABLE, row["name"], "no row says what it does")
    for number, entry in enumerate(data["tile"]):
        require(number in used, TABLE, entry["name"], "no tile operation uses this row")
    return out
