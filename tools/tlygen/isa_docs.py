# SPDX-License-Identifier: Apache-2.0
"""Pages of the instruction set: one a mnemonic and one a tile operation, and their index."""

from . import isa_table as table
from .isa_words import example

NOTE = ("<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
        "<!-- Made by tools/generate.py from tables/isa/: do not edit. -->\n")


def bit_rows(form):
    """[(high, low, what)] from the most significant bit down."""
    owner = ["-"] * form.bits
    for bit in range(form.bits):
        if form.mask >> bit & 1:
            owner[bit] = str(form.match >> bit & 1)
    starts = {}
    for field in form.fields.values():
        for lsb, width, low in field.pieces:
            text = field.name if len(field.pieces) == 1 and low == 0 \
                else f"{field.name}[{low + width - 1}:{low}]"
            for bit in range(lsb, lsb + width):
                owner[bit] = text
            starts[lsb] = text
    rows, bit = [], form.bits - 1
    while bit >= 0:
        high, text = bit, owner[bit]
        fixed = text in ("0", "1")
        what = ""
        while bit >= 0 and (owner[bit] in ("0", "1") if fixed else owner[bit] == text):
            what += owner[bit] if fixed else ""
            bit -= 1
            if not fixed and bit + 1 in starts:
                break
        rows.append((high, bit + 1, what if fixed else text))
    return rows


def ranges(values):
    out, values = [], sorted(values)
    for value in values:
        if out and value == out[-1][1] + 1:
            out[-1][1] = value
        else:
            out.append([value, value])
    return ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in out)


def releases(form):
    have = [name for bit, name in enumerate(table.RELEASES) if form.releases >> bit & 1]
    return have[0] if len(have) == 1 else f"{have[0]} to {have[-1]}"


def form_section(form):
    mnemonic = form.mnemonic if form.surface == "command" else form.mnemonic.lower()
    space = "" if form.syntax_text.startswith(".") or not form.syntax_text else " "
    out = [f"\n## `{mnemonic}{space}{form.syntax_text}`\n\n",
           f"{form.bits} bits, mask `0x{form.mask:0{form.bits // 4}x}`, match "
           f"`0x{form.match:0{form.bits // 4}x}`, releases {releases(form)}.\n\n",
           "| bits | what |\n|---|---|\n"]
    for high, low, what in bit_rows(form):
        out.append(f"| {high}{':' + str(low) if low != high else ''} | `{what}` |\n")
    if form.allowed:
        out.append("\n")
        for name, values in form.allowed.items():
            out.append(f"* `{name}` is one of {ranges(values)}.\n")
    out.append(f"\n```\n{example(form)}\n```\n")
    return "".join(out)


def pages(forms, words, tileops, tile_words):
    out, index = {}, [NOTE, "# The instruction set\n\n"
                      "One page a mnemonic; the same text is in `tilery isa MNEMONIC`. Operands in "
                      "braces are `{field:kind}`; the kinds are explained in "
                      "[the internals](../../../docs/internals/isa.md).\n\n"
                      "## Instructions\n\n| mnemonic | what it does |\n|---|---|\n"]
    by_mnemonic = {}
    for form in forms:
        by_mnemonic.setdefault(form.mnemonic, []).append(form)
    for mnemonic in sorted(by_mnemonic):
        name = mnemonic.lower().replace(".", "-") + ".md"
        out["docs/isa/" + name] = "".join(
            [NOTE, f"# {mnemonic}\n\n{words[mnemonic]}\n"]
            + [form_section(form) for form in by_mnemonic[mnemonic]])
        index.append(f"| [{mnemonic}]({name}) | {words[mnemonic]} |\n")
    index.append("\n## Tile operations\n\n| name | engine | what it does |\n|---|---|---|\n")
    for row in tileops:
        name = "op-" + row["name"].lower() + ".md"
        start = f"BSTART.{row['engine']} {row['name']}, FP32" if row["mode"] is not None \
            else f"{row['carrier']} FP32"
        first = row["dtypes"].split(";")[0].split()
        start = start.replace("FP32", first[0])
        out["docs/isa/" + name] = "".join([
            NOTE, f"# {row['name']}\n\n{tile_words[row['name']]}\n\n",
            f"* Engine: {row['engine']}\n* Start: `{row['carrier']}`",
            f", mode {row['mode']}, function {row['function']}\n" if row["mode"] is not None else "\n",
            f"* Element types: {row['dtypes']}\n* Operands: {row['operands']}\n",
            f"* Attributes that may be other than zero: {row['attributes']}\n",
            f"* Meaning of the pad field: {row['pad']}\n\n```\n{start}\n```\n"])
        index.append(f"| [{row['name']}]({name}) | {row['engine']} | {tile_words[row['name']]} |\n")
    out["docs/isa/README.md"] = "".join(index)
    return out


def words_table(forms, words, tileops, tile_words, head, c_string):
    mnemonics = sorted({form.mnemonic for form in forms})
    out = [head("tables/isa/"), "/* In the order of tly_isa_mnemonics. */\n"
           "static const char *const tly_isa_words[] = {\n"]
    out.extend(f"    {c_string(words[m])},\n" for m in mnemonics)
    out.append("};\n\n/* An example of each form. */\nstatic const char *const tly_isa_examples[] = {\n")
    out.extend(f"    {c_string(example(form))},\n" for form in forms)
    out.append("};\n\n/* In the order of tly_isa_tileops. */\n"
               "static const char *const tly_isa_op_words[] = {\n")
    out.extend(f"    {c_string(tile_words[row['name']])},\n" for row in tileops)
    out.append("};\n")
    return "".join(out)
