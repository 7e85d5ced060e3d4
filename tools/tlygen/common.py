# SPDX-License-Identifier: Apache-2.0
"""What every generator needs: reading tables, refusing bad ones, file heads."""

import tomllib


class TableError(Exception):
    """A table breaks a rule; the text names the table, the row and the rule."""


def read_table(root, name):
    path = root / "tables" / name
    try:
        return tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise TableError(f"{name}: {error}") from None


def require(condition, table, row, rule):
    if not condition:
        raise TableError(f"{table}: {row}: {rule}")


def head(source, comment="/*"):
    if comment == "/*":
        return (f"/* SPDX-License-Identifier: Apache-2.0 */\n"
                f"/* Made by tools/generate.py from {source}: do not edit. */\n")
    return (f"{comment} SPDX-License-Identifier: Apache-2.0\n"
            f"{comment} Made by tools/generate.py from {source}: do not edit.\n")


def c_string(text):
    out = []
    for ch in text:
        if ch in '"\\':
            out.append("\\" + ch)
        elif ch == "\n":
            out.append("\\n")
        elif ch == "\t":
            out.append("\\t")
        elif 0x20 <= ord(ch) < 0x7F:
            out.append(ch)
        else:
            out.extend(f"\\{b:03o}" for b in ch.encode())
    return '"' + "".join(out) + '"'
