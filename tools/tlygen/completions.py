# SPDX-License-Identifier: Apache-2.0
"""Completions for bash, zsh and fish, from tables/options.toml (see options.py)."""

from .common import head

FILES = ("file", "output")


def takes_value(option):
    return option["type"] != "flag"


def flags(option):
    return ([f"-{option['short']}"] if option.get("short") else []) + [f"--{option['long']}"]


def bash(table, all_options):
    names = " ".join(c["name"] for c in table["command"])
    out = [head("tables/options.toml", "#"), """_tilery() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    local command="" i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} != -* ]]; then
            command="${COMP_WORDS[i]}"
            break
        fi
    done
    if [[ -z $command ]]; then
        COMPREPLY=($(compgen -W '""", names, """ --help --version' -- "$word"))
        return
    fi
    case "$command:$before" in
"""]
    for command in table["command"]:
        for option in all_options(command):
            if not takes_value(option):
                continue
            patterns = "|".join(f"{command['name']}:{flag}" for flag in flags(option))
            if option["type"] in FILES:
                action = 'COMPREPLY=($(compgen -f -- "$word"))'
            elif option["type"] == "choice":
                action = f"COMPREPLY=($(compgen -W '{' '.join(option['choices'])}' -- \"$word\"))"
            else:
                action = ":"
            out.append(f"    {patterns}) {action}; return ;;\n")
    out.append("    esac\n    if [[ $word == -* ]]; then\n        case \"$command\" in\n")
    for command in table["command"]:
        words = " ".join(f for o in all_options(command) for f in flags(o))
        out.append(f"        {command['name']}) COMPREPLY=($(compgen -W '{words}' -- \"$word\")) ;;\n")
    out.append("        esac\n        return\n    fi\n    case \"$command\" in\n")
    for command in table["command"]:
        if command.get("argument_type") == "file":
            out.append(f"    {command['name']}) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n")
        elif command["name"] == "help":
            out.append(f"    help) COMPREPLY=($(compgen -W '{names}' -- \"$word\")) ;;\n")
    out.append("    esac\n}\ncomplete -o filenames -F _tilery tilery\n")
    return "".join(out)


def zsh_quote(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh(table, all_options):
    out = ["#compdef tilery\n", head("tables/options.toml", "#"),
           "_tilery() {\n    local -a commands\n    commands=(\n"]
    out += [f"        '{c['name']}:{zsh_quote(c['summary'])}'\n" for c in table["command"]]
    out.append("    )\n    if ((CURRENT == 2)); then\n"
               "        _describe -t commands command commands\n"
               "        _arguments '--help[print the list of commands]' '--version[print the version]'\n"
               "        return\n    fi\n    local command=$words[2]\n    shift words\n"
               "    ((CURRENT--))\n    case $command in\n")
    for command in table["command"]:
        out.append(f"    {command['name']})\n        _arguments \\\n")
        for option in all_options(command):
            tail = ""
            if option["type"] in FILES:
                tail = f":{option['argument']}:_files"
            elif option["type"] == "choice":
                tail = f":{option['argument']}:({' '.join(option['choices'])})"
            elif takes_value(option):
                tail = f":{option['argument']}: "
            for flag in flags(option):
                star = "*" if option.get("repeat") else ""
                out.append(f"            '{star}{flag}[{zsh_quote(option['help'])}]{tail}' \\\n")
        if command.get("argument_type") == "file":
            out.append("            '*:file:_files'\n")
        elif command["name"] == "help":
            names = " ".join(c["name"] for c in table["command"])
            out.append(f"            '1:command:({names})'\n")
        else:
            out.append("            '*:argument: '\n")
        out.append("        ;;\n")
    out.append('    esac\n}\n_tilery "$@"\n')
    return "".join(out)


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(table, all_options):
    out = [head("tables/options.toml", "#"), "complete -c tilery -f\n",
           "complete -c tilery -n __fish_use_subcommand -l help -d 'print the list of commands'\n",
           "complete -c tilery -n __fish_use_subcommand -l version -d 'print the version'\n"]
    names = " ".join(c["name"] for c in table["command"])
    for command in table["command"]:
        seen = f"-n '__fish_seen_subcommand_from {command['name']}'"
        out.append(f"complete -c tilery -n __fish_use_subcommand -a {command['name']} "
                   f"-d {fish_quote(command['summary'])}\n")
        if command.get("argument_type") == "file":
            out.append(f"complete -c tilery {seen} -F\n")
        elif command["name"] == "help":
            out.append(f"complete -c tilery {seen} -a '{names}'\n")
        for option in all_options(command):
            short = f" -s {option['short']}" if option.get("short") else ""
            if option["type"] in FILES:
                value = " -r -F"
            elif option["type"] == "choice":
                value = f" -x -a '{' '.join(option['choices'])}'"
            else:
                value = " -x" if takes_value(option) else ""
            out.append(f"complete -c tilery {seen}{short} -l {option['long']}{value} "
                       f"-d {fish_quote(option['help'])}\n")
    return "".join(out)
