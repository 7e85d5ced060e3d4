# SPDX-License-Identifier: Apache-2.0
"""The command line: option tables in C, help text, man pages, completions and pages."""

import re
import textwrap

from .common import c_string, head, read_table, require
from .completions import bash, fish, zsh
from .manpages import man_command, man_program, page_command, page_program

TABLE = "options.toml"
TYPES = ("flag", "text", "file", "output", "address", "number", "choice")
COMMAND_KEYS = {"name", "summary", "arguments", "min_arguments", "max_arguments", "description",
                "argument_type", "option", "example"}
OPTION_KEYS = {"long", "short", "argument", "type", "help", "default", "choices", "min", "max",
               "repeat"}
WIDTH = 79


def read_commands(root):
    """The table of the command, with the file of each command under `command`."""
    table = read_table(root, TABLE)
    files = {path.stem for path in (root / "tables" / "commands").glob("*.toml")}
    left = files - set(table["commands"])
    require(not left, TABLE, "commands", f"{sorted(left)} has a file and is not named")
    table["command"] = [read_table(root, f"commands/{name}.toml") for name in table["commands"]]
    for name, command in zip(table["commands"], table["command"]):
        require(command.get("name") == name, f"commands/{name}.toml", "name",
                "is not that of the file; a name is lower-case letters and occurs once")
    return table


def check(table, statuses):
    exits = {row["code"] for row in table["exit"]}
    for status in statuses:
        require(status["exit"] in exits, TABLE, f"exit {status['exit']}", "has no row")
    require(len(exits) == len(table["exit"]), TABLE, "exit", "a code occurs twice")
    names = set()
    for command in table["command"]:
        label = command.get("name", "?")
        require(command.keys() <= COMMAND_KEYS, TABLE, label,
                f"unknown keys {sorted(command.keys() - COMMAND_KEYS)}")
        require(re.fullmatch(r"[a-z]+", label) and label not in names, TABLE, label,
                "a name is lower-case letters and occurs once")
        names.add(label)
        require(not command["summary"].endswith("."), TABLE, label, "summary ends with a stop")
        require(len(command["summary"]) <= 50, TABLE, label, "summary over 50 characters")
        require(0 <= command["min_arguments"] <= command["max_arguments"], TABLE, label,
                "min_arguments above max_arguments")
        seen = {"help", "h"}
        for option in command.get("option", []):
            where = f"{label} --{option.get('long', '?')}"
            require({"long", "type", "help"} <= option.keys() <= OPTION_KEYS, TABLE, where,
                    f"needs long, type and help, and nothing but {sorted(OPTION_KEYS)}")
            require(re.fullmatch(r"[a-z][a-z0-9-]*", option["long"]), TABLE, where, "bad name")
            require(option["type"] in TYPES, TABLE, where, "unknown type")
            require(("argument" in option) == (option["type"] != "flag"), TABLE, where,
                    "a flag takes no argument, everything else names it")
            require(("choices" in option) == (option["type"] == "choice"), TABLE, where,
                    "choices go with type choice")
            require(({"min", "max"} <= option.keys()) == (option["type"] == "number"), TABLE, where,
                    "min and max go with type number")
            require(not option["help"].endswith("."), TABLE, where, "help ends with a stop")
            for key in (option["long"], option.get("short")):
                require(key is None or key not in seen, TABLE, where, f"{key} occurs twice")
                seen.add(key)


def is_verbatim(paragraph):
    """Whether it keeps its lines: all of them begin with four spaces."""
    return all(line.startswith("    ") for line in paragraph.split("\n"))


def flat(text):
    """Paragraphs of a table's text, each on one line but those that are verbatim."""
    return [part if is_verbatim(part) else " ".join(part.split())
            for part in text.strip().split("\n\n")]


def filled(paragraph):
    return paragraph if is_verbatim(paragraph) else textwrap.fill(paragraph, WIDTH)


def option_head(option):
    short = f"-{option['short']}, " if option.get("short") else "    "
    return f"{short}--{option['long']}" + (f" {option['argument']}" if "argument" in option else "")


def option_help(option):
    text = option["help"]
    if "choices" in option:
        text += ": " + ", ".join(option["choices"])
    if option.get("repeat"):
        text += "; may be repeated"
    if "default" in option:
        text += f" (default: {option['default']})"
    return text


def all_options(command):
    """The options of a command with the one that every command has."""
    return command.get("option", []) + [
        {"long": "help", "short": "h", "type": "flag", "help": "print this and do nothing else"}]


def listing(rows, indent=2):
    """Two columns; the second starts at a place that suits most rows."""
    column = min(max(len(first) for first, _ in rows) + indent + 2, 28)
    lines = []
    for first, second in rows:
        start = " " * indent + first
        wrapped = textwrap.wrap(second, WIDTH - column) or [""]
        if len(start) + 2 > column:
            lines.append(start)
        else:
            lines.append(start.ljust(column) + wrapped.pop(0))
        lines += [" " * column + line for line in wrapped]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def usage(command):
    return " ".join(f"tilery {command['name']} [OPTION]... {command['arguments']}".split())


def help_command(command):
    parts = [f"Usage: {usage(command)}\n"]
    parts += [filled(paragraph) + "\n" for paragraph in flat(command["description"])]
    parts.append("Options:\n" + listing([(option_head(o), option_help(o))
                                         for o in all_options(command)]))
    if command.get("example"):
        shown = [f"  {e['text']}\n    {e['command']}\n" for e in command["example"]]
        parts.append("Examples:\n" + "".join(shown))
    return "\n".join(parts)


def help_program(table):
    program = table["program"]
    parts = ["Usage: tilery COMMAND [OPTION]... [ARGUMENT]...\n       tilery --help | --version\n"]
    parts += [filled(paragraph) + "\n" for paragraph in flat(program["description"])]
    parts.append("Commands:\n" + listing([(c["name"], c["summary"]) for c in table["command"]]))
    parts.append("`tilery COMMAND --help` explains a command and its options.\n")
    parts.append("Exit codes:\n" + listing([(str(e["code"]), e["text"].rstrip("."))
                                            for e in table["exit"]]))
    parts.append("Environment:\n" + listing([(e["name"], " ".join(flat(e["text"])).rstrip("."))
                                             for e in table["environment"]]))
    return "\n".join(parts)


def text_literal(text):
    lines = text.splitlines(keepends=True)
    return "\n".join("    " + c_string(line) for line in lines)


def c_tables(table):
    out = [head("tables/" + TABLE)]
    for command in table["command"]:
        name = command["name"]
        options = all_options(command)
        out.append("\nenum {\n")
        for index, option in enumerate(options):
            label = f"TLY_CLI_{name}_{option['long']}".upper().replace("-", "_")
            out.append(f"    {label} = {index},\n")
        out.append("};\n")
    out.append("\n#ifdef TLY_CLI_DEFINE_TABLES\n")
    for command in table["command"]:
        name = command["name"]
        for option in all_options(command):
            if "choices" in option:
                out.append(f"\nstatic const char *const {name}_{option['long'].replace('-', '_')}"
                           "_choices[] = {" + ", ".join(c_string(c) for c in option["choices"])
                           + ", NULL};\n")
        out.append(f"\nstatic const tly_cli_option {name}_options[] = {{\n")
        for option in all_options(command):
            choices = (f"{name}_{option['long'].replace('-', '_')}_choices"
                       if "choices" in option else "NULL")
            short = f"'{option['short']}'" if option.get("short") else "0"
            out.append(f"    {{{c_string(option['long'])}, {short}, "
                       f"TLY_CLI_{option['type'].upper()}, {int(option.get('repeat', False))}, "
                       f"UINT64_C({option.get('min', 0)}), UINT64_C({option.get('max', 0)}), "
                       f"{choices}}},\n")
        out.append("};\n")
    out.append("\nconst tly_cli_command tly_cli_commands[] = {\n")
    for command in table["command"]:
        name = command["name"]
        out.append(f"    {{{c_string(name)}, tly_cli_run_{name}, {name}_options, "
                   f"{len(all_options(command))}, {command['min_arguments']}, "
                   f"{command['max_arguments']}, {c_string(usage(command))},\n"
                   f"{text_literal(help_command(command))}}},\n")
    out.append("};\n\nconst uint32_t tly_cli_num_commands = "
               "sizeof tly_cli_commands / sizeof tly_cli_commands[0];\n")
    out.append(f"\nconst char tly_cli_help[] =\n{text_literal(help_program(table))};\n")
    out.append("\nconst tly_cli_exit tly_cli_exits[] = {\n")
    for row in table["exit"]:
        out.append(f"    {{{row['code']}, {c_string(row['advice'])}}},\n")
    out.append("};\n\nconst uint32_t tly_cli_num_exits = "
               "sizeof tly_cli_exits / sizeof tly_cli_exits[0];\n#endif\n")
    return "".join(out)


def handlers(table):
    out = [head("tables/" + TABLE)]
    for command in table["command"]:
        out.append(f"tly_status tly_cli_run_{command['name']}(tly_cli *cli, tly_error *error);\n")
    return "".join(out)


def outputs(root):
    table = read_commands(root)
    statuses = read_table(root, "status.toml")["status"]
    check(table, statuses)
    made = {"src/cli/options_table.h": c_tables(table),
            "src/cli/handlers.h": handlers(table),
            "man/tilery.1": man_program(table, statuses, flat),
            "docs/cli/tilery.md": page_program(table, statuses, flat),
            "completions/tilery.bash": bash(table, all_options),
            "completions/_tilery": zsh(table, all_options),
            "completions/tilery.fish": fish(table, all_options)}
    for command in table["command"]:
        made[f"man/tilery-{command['name']}.1"] = man_command(
            table, command, all_options(command), option_help, flat, usage(command))
        made[f"docs/cli/tilery-{command['name']}.md"] = page_command(
            command, all_options(command), option_help, flat, usage(command))
    return made
