# SPDX-License-Identifier: Apache-2.0
"""Status codes: public header and the table behind tly_status_name."""

from .common import c_string, head, read_table, require

TABLE = "status.toml"


def outputs(root):
    rows = read_table(root, TABLE)["status"]
    names = set()
    for index, row in enumerate(rows):
        label = row.get("name", f"row {index}")
        require(row.keys() == {"code", "name", "text", "exit"}, TABLE, label,
                "needs exactly code, name, text and exit")
        require(row["code"] == index, TABLE, label, f"code must be {index}: codes are dense")
        require(row["name"] not in names, TABLE, label, "name occurs twice")
        require(0 <= row["exit"] <= 125, TABLE, label, "exit must be 0 .. 125")
        names.add(row["name"])

    header = [head("tables/" + TABLE), "#ifndef TILERY_STATUS_CODES_H\n"
              "#define TILERY_STATUS_CODES_H\n\n"]
    for row in rows:
        name = "TLY_" + row["name"]
        header.append(f"#define {name:<24} {row['code']:>3} /* {row['text']} */\n")
    header.append("\n#endif\n")

    table = [head("tables/" + TABLE),
             "static const struct tly_status_row {\n    const char *name;\n"
             "    const char *text;\n    int exit_code;\n} tly_status_rows[] = {\n"]
    for row in rows:
        table.append(f"    {{{c_string(row['name'])}, {c_string(row['text'])}, {row['exit']}}},\n")
    table.append("};\n")
    return {"include/tilery/status_codes.h": "".join(header),
            "src/base/status_table.h": "".join(table)}
