# SPDX-License-Identifier: Apache-2.0
"""Element types: public tags and the table behind tly_dtype_find."""

from .common import c_string, head, read_table, require

TABLE = "dtypes.toml"
CLASSES = {"float": 1, "int": 2, "uint": 3, "bool": 4, "complex": 5}
SPECIALS = {"none": 0, "ieee": 1, "max": 2}


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
            require({"exponent", "mantissa", "bias", "nan", "inf"} <= row.keys(), TABLE, label,
                    "a float needs exponent, mantissa, bias, nan and inf")
            signed = row.get("signed", True)
            require(int(signed) + row["exponent"] + row["mantissa"] == row["bits"], TABLE, label,
                    "sign, exponent and mantissa do not fill the bits")


def outputs(root):
    rows = read_table(root, TABLE)["dtype"]
    check(rows)

    header = [head("tables/" + TABLE),
              "#ifndef TILERY_DTYPE_TAGS_H\n#define TILERY_DTYPE_TAGS_H\n\n"]
    for row in rows:
        name = "TLY_" + row["name"].upper()
        header.append(f"#define {name:<12} 0x{row['tag']:02X} /* {row['long']} */\n")
    header.append("\n#endif\n")

    table = [head("tables/" + TABLE), "static const tly_dtype_info tly_dtype_rows[] = {\n"]
    for row in rows:
        table.append(
            f"    {{0x{row['tag']:02X}, {CLASSES[row['class']]}, {row['bits']}, "
            f"{row.get('exponent', 0)}, {row.get('mantissa', 0)}, "
            f"{SPECIALS[row.get('nan', 'none')]}, {SPECIALS[row.get('inf', 'none')]}, "
            f"{row.get('bias', 0)}, {c_string(row['name'])}, {c_string(row['long'])}}},\n")
    table.append("};\n\n/* Row of each tag plus one; 0: no such type. */\n"
                 "static const uint8_t tly_dtype_row_of_tag[256] = {\n")
    for index, row in enumerate(rows):
        table.append(f"    [0x{row['tag']:02X}] = {index + 1},\n")
    table.append("};\n")
    return {"include/tilery/dtype_tags.h": "".join(header),
            "src/num/dtype_table.h": "".join(table)}
