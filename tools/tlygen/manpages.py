# SPDX-License-Identifier: Apache-2.0
"""Man pages and pages of the command, from tables/options.toml (see options.py)."""

from .common import head


def roff(text):
    """Text that roff prints as it stands."""
    out = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in out.split("\n"))


def title(name, summary):
    return (head("tables/options.toml", '.\\"') +
            f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "Tilery" "User Commands"\n'
            f".SH NAME\n{roff(name)} \\- {roff(summary)}\n")


def paragraphs(texts):
    return "\n.PP\n".join(f".nf\n{roff(text)}\n.fi" if text.startswith("    ") else roff(text)
                          for text in texts) + "\n"


def exits(table, statuses):
    out = [".SH EXIT STATUS\n"]
    for row in table["exit"]:
        names = [s["name"] for s in statuses if s["exit"] == row["code"]]
        out.append(f".TP\n.B {row['code']}\n{roff(row['text'])}\n({roff(', '.join(names))})\n")
    return "".join(out)


def environment(table, flat):
    out = [".SH ENVIRONMENT\n"]
    for row in table["environment"]:
        out.append(f".TP\n.B {row['name']}\n{roff(' '.join(flat(row['text'])))}\n")
    return "".join(out)


def man_program(table, statuses, flat):
    out = [title("tilery", table["program"]["summary"]),
           ".SH SYNOPSIS\n.B tilery\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n.br\n"
           ".B tilery \\-\\-help\n|\n.B \\-\\-version\n.SH DESCRIPTION\n",
           paragraphs(flat(table["program"]["description"])), ".SH COMMANDS\n"]
    for command in table["command"]:
        out.append(f".TP\n.BR tilery\\-{command['name']} (1)\n{roff(command['summary'])}\n")
    out += [".SH DIAGNOSTICS\nErrors go to standard error and say what is wrong, where, and what "
            "to do. Where an input is at fault the byte and the rule that it breaks are named.\n",
            exits(table, statuses), environment(table, flat)]
    return "".join(out)


def man_command(table, command, options, option_help, flat, usage):
    name = f"tilery-{command['name']}"
    out = [title(name, command["summary"]), f".SH SYNOPSIS\n{roff(usage)}\n.SH DESCRIPTION\n",
           paragraphs(flat(command["description"])), ".SH OPTIONS\n"]
    for option in options:
        flags = ([f"\\fB\\-{option['short']}\\fR"] if option.get("short") else [])
        flags.append(f"\\fB{roff('--' + option['long'])}\\fR")
        argument = f" \\fI{option['argument']}\\fR" if "argument" in option else ""
        out.append(f".TP\n{', '.join(flags)}{argument}\n{roff(option_help(option))}.\n")
    if command.get("example"):
        out.append(".SH EXAMPLES\n")
        for example in command["example"]:
            out.append(f"{roff(example['text'])}\n.PP\n.RS 4\n.nf\n{roff(example['command'])}\n"
                       ".fi\n.RE\n.PP\n")
    out.append(".SH EXIT STATUS\nSee\n.BR tilery (1).\n")
    others = [c["name"] for c in table["command"] if c["name"] != command["name"]]
    out.append(".SH SEE ALSO\n.BR tilery (1)" +
               "".join(f",\n.BR tilery\\-{other} (1)" for other in others) + "\n")
    return "".join(out)


def page_head(text):
    return ("<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
            "<!-- Made by tools/generate.py from tables/options.toml: do not edit. -->\n" + text)


def page_program(table, statuses, flat):
    out = [page_head("# tilery\n\n"), "\n\n".join(flat(table["program"]["description"])),
           "\n\n| command | what it does |\n|---|---|\n"]
    out += [f"| [`tilery {c['name']}`](tilery-{c['name']}.md) | {c['summary']} |\n"
            for c in table["command"]]
    out.append("\n## Exit codes\n\n| code | meaning | statuses |\n|---|---|---|\n")
    for row in table["exit"]:
        names = ", ".join(f"`{s['name']}`" for s in statuses if s["exit"] == row["code"])
        out.append(f"| {row['code']} | {row['text']} | {names} |\n")
    out.append("\n## Environment\n\n| variable | meaning |\n|---|---|\n")
    out += [f"| `{e['name']}` | {' '.join(flat(e['text']))} |\n" for e in table["environment"]]
    return "".join(out)


def page_command(command, options, option_help, flat, usage):
    out = [page_head(f"# tilery {command['name']}\n\n"), f"    {usage}\n\n",
           "\n\n".join(flat(command["description"])), "\n\n| option | meaning |\n|---|---|\n"]
    for option in options:
        flags = f"`-{option['short']}`, " if option.get("short") else ""
        argument = f" {option['argument']}" if "argument" in option else ""
        shown = option_help(option).replace("|", "\\|")
        out.append(f"| {flags}`--{option['long']}{argument}` | {shown} |\n")
    for example in command.get("example", []):
        out.append(f"\n{example['text']}\n\n    {example['command']}\n")
    return "".join(out)
