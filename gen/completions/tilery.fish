# SPDX-License-Identifier: Apache-2.0
# Made by tools/generate.py from tables/options.toml: do not edit.
complete -c tilery -f
complete -c tilery -n __fish_use_subcommand -l help -d 'print the list of commands'
complete -c tilery -n __fish_use_subcommand -l version -d 'print the version'
complete -c tilery -n __fish_use_subcommand -a import -d 'put the tensors of other files into a container'
complete -c tilery -n '__fish_seen_subcommand_from import' -F
complete -c tilery -n '__fish_seen_subcommand_from import' -s o -l output -r -F -d 'the container to write; always needed'
complete -c tilery -n '__fish_seen_subcommand_from import' -l format -x -a 'auto onnx safetensors npy' -d 'what the files are; auto looks at their content'
complete -c tilery -n '__fish_seen_subcommand_from import' -l skip-unsupported -d 'leave out tensors that cannot be carried and say which, instead of refusing the file'
complete -c tilery -n '__fish_seen_subcommand_from import' -l follow-links -d 'let external data of ONNX models be a link, which may lead out of the model\'s folder'
complete -c tilery -n '__fish_seen_subcommand_from import' -l json -d 'print what was done as JSON'
complete -c tilery -n '__fish_seen_subcommand_from import' -s h -l help -d 'print this and do nothing else'
complete -c tilery -n __fish_use_subcommand -a ls -d 'list the tensors of a file'
complete -c tilery -n '__fish_seen_subcommand_from ls' -F
complete -c tilery -n '__fish_seen_subcommand_from ls' -l json -d 'print the list as JSON'
complete -c tilery -n '__fish_seen_subcommand_from ls' -l verify -d 'first check everything in a container but the values of its tensors'
complete -c tilery -n '__fish_seen_subcommand_from ls' -s h -l help -d 'print this and do nothing else'
complete -c tilery -n __fish_use_subcommand -a bench -d 'measure, each figure against a reference'
complete -c tilery -n '__fish_seen_subcommand_from bench' -l filter -x -d 'run only benchmarks whose name contains TEXT'
complete -c tilery -n '__fish_seen_subcommand_from bench' -l json -d 'print the results, and the machine they were taken on, as JSON'
complete -c tilery -n '__fish_seen_subcommand_from bench' -l list -d 'print the names of the groups and of their benchmarks, and run none'
complete -c tilery -n '__fish_seen_subcommand_from bench' -l runs -x -d 'samples taken of each side'
complete -c tilery -n '__fish_seen_subcommand_from bench' -s h -l help -d 'print this and do nothing else'
complete -c tilery -n __fish_use_subcommand -a help -d 'explain a command'
complete -c tilery -n '__fish_seen_subcommand_from help' -a 'import ls bench help'
complete -c tilery -n '__fish_seen_subcommand_from help' -s h -l help -d 'print this and do nothing else'
