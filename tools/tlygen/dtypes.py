# SPDX-License-Identifier: Apache-2.0
"""Element types and formats: public tags, and the tables behind tly_dtype_find and tly_format_find."""

from .common import c_string, head, read_table, require

TABLE = "dtypes.toml"
CLASSES = {"float": 1, "int": 2, "uint": 3, "bool": 4, "complex": 5}
SPECIALS = {"none": 0, "ieee": 1, "max": 2}
KINDS = CLASSES | {"tapered": 6}
MACHINE = 0x100  # first identifier of the formats that have a code of the tile machine only
FIELDS = {"exponent", "mantissa", "bias", "nan", "inf"}


def check_float(row, label):
    require(FIELDS <= row.keys(), TABLE, label,
            "a float needs exponent, mantissa, bias, nan and inf")
    signed = row.get("signed", True)
    require(int(signed) + row["exponent"] + row["mantissa"] + row.get("low", 0) == row["bits"],
            TABLE, label, "sign, exponent and mantissa do not fill the bits")


def check(rows):
    seen = set()
    for row in rows:
        label = row.get("name", "?")
        require({"name", "long", "tag", "bits", "class"} <= row.keys(), TABLE, label,
                "needs name, long, tag, bits and class")
        require(row["class"] in CLASSES, TABLE, label, "unknown class")
        require(1 <= row["tag"] <= 0xEF, TABLE, label, "tag outside 0x01 .. 0xEF")
        for key in (row["tag"], row["name"], row["long"]):
            require(key not in seen, TABLE, label, f"{key} occurs twice")
            seen.add(key)
        if row["class"] == "float":
            check_float(row, label)


def check_machine(rows, machine):
    names = {key for row in rows for key in (row["name"], row["long"])}
    for row in machine:
        label = row.get("name", "?")
        require({"name", "tile", "bits", "class"} | FIELDS <= row.keys(), TABLE, label,
                "needs name, tile, bits, class, exponent, mantissa, bias, nan and inf")
        require(row["name"] not in names, TABLE, label, f"{row['name']} occurs twice")
        names.add(row["name"])
        if row["class"] == "float":
            check_float(row, label)
        else:
            require(row["class"] == "tapered", TABLE, label, "unknown class")
    codes = set()
    for row in rows + machine:
        if "tile" in row:
            require(0 <= row["tile"] <= 30 and row["tile"] not in codes, TABLE, row["name"],
                    f"tile code {row['tile']} occurs twice or is none")
            codes.add(row["tile"])


def format_row(row):
    signed = row["class"] in ("float", "tapered", "int") and row.get("signed", True)
    number = row["tag"] if "tag" in row else MACHINE + row["tile"]
    lanes = 0 if "tile" not in row else 2 if row["bits"] == 4 else 1
    carrier = (row["bits"] * lanes + 7) // 8 * 8
    flags = "0" if row.get("zero", True) else "1"
    return (f"    {{0x{number:03X}, {KINDS[row['class']]}, {row['bits']}, {int(signed)}, "
            f"{row.get('exponent', 0)}, {row.get('mantissa', 0)}, {row.get('low', 0)}, "
            f"{SPECIALS[row.get('nan', 'none')]}, {SPECIALS[row.get('inf', 'none')]}, {flags}, "
            f"{row.get('tile', 255)}, {lanes}, {carrier}, 0, {row.get('bias', 0)}, "
            f"{c_string(row['name'])}}},\n")


def outputs(root):
    table = read_table(root, TABLE)
    rows, machine = table["dtype"], table["machine"]
    check(rows)
    check_machine(rows, machine)

    header = [head("tables/" + TABLE),
              "#ifndef TILERY_DTYPE_TAGS_H\n#define TILERY_DTYPE_TAGS_H\n\n"]
    for row in rows:
        name = "TLY_" + row["name"].upper()
        header.append(f"#define {name:<12} 0x{row['tag']:02X} /* {row['long']} */\n")
    header.append("\n/* Formats of the tile machine that are no element types (tly_format_id). */\n")
    for row in machine:
        name = "TLY_FORMAT_" + row["name"].upper()
        header.append(f"#define {name:<15} 0x{MACHINE + row['tile']:X}\n")
    header.append("\n#endif\n")

    info = [head("tables/" + TABLE), "static const tly_dtype_info tly_dtype_rows[] = {\n"]
    for row in rows:
        info.append(
            f"    {{0x{row['tag']:02X}, {CLASSES[row['class']]}, {row['bits']}, "
            f"{row.get('exponent', 0)}, {row.get('mantissa', 0)}, "
            f"{SPECIALS[row.get('nan', 'none')]}, {SPECIALS[row.get('inf', 'none')]}, "
            f"{row.get('bias', 0)}, {c_string(row['name'])}, {c_string(row['long'])}}},\n")
    info.append("};\n\n/* Row of each tag plus one; 0: no such type. */\n"
                 "static const uint8_t tly_dtype_row_of_tag[256] = {\n")
    for index, row in enumerate(rows):
        info.append(f"    [0x{row['tag']:02X}] = {index + 1},\n")
    info.append("};\n")

    formats = [head("tables/" + TABLE), "static const tly_format tly_format_rows[] = {\n"]
    formats += [format_row(row) for row in rows + machine]
    formats.append("};\n\n/* Row of each code of the tile machine plus one; 0: no such type. */\n"
                   "static const uint8_t tly_format_row_of_tile[32] = {\n")
    for index, row in enumerate(rows + machine):
        if "tile" in row:
            formats.append(f"    [{row['tile']}] = {index + 1},\n")
    formats.append("};\n")
    return {"include/tilery/dtype_tags.h": "".join(header),
            "src/num/dtype_table.h": "".join(info),
            "src/num/format_table.h": "".join(formats)}
