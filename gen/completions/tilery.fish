# SPDX-License-Identifier: Apache-2.0
# Made by tools/generate.py from tables/options.toml: do not edit.
complete -c tilery -f
complete -c tilery -n __fish_use_subcommand -l help -d 'print the list of commands'
complete -c tilery -n __fish_use_subcommand -l version -d 'print the version'
complete -c tilery -n __fish_use_subcommand -a bench -d 'measure, each figure against a reference'
complete -c tilery -n '__fish_seen_subcommand_from bench' -l filter -x -d 'run only benchmarks whose name contains TEXT'
complete -c tilery -n '__fish_seen_subcommand_from bench' -l json -d 'print the results, and the machine they were taken on, as JSON'
complete -c tilery -n '__fish_seen_subcommand_from bench' -l list -d 'print the names of the groups and of their benchmarks, and run none'
complete -c tilery -n '__fish_seen_subcommand_from bench' -l runs -x -d 'samples taken of each side'
complete -c tilery -n '__fish_seen_subcommand_from bench' -s h -l help -d 'print this and do nothing else'
complete -c tilery -n __fish_use_subcommand -a help -d 'explain a command'
complete -c tilery -n '__fish_seen_subcommand_from help' -a 'bench help'
complete -c tilery -n '__fish_seen_subcommand_from help' -s h -l help -d 'print this and do nothing else'
