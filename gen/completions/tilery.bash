# SPDX-License-Identifier: Apache-2.0
# Made by tools/generate.py from tables/options.toml: do not edit.
_tilery() {
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
        COMPREPLY=($(compgen -W 'import ls inspect convert verify diff serve get put ping multiply asm disasm ld isa doctor run check bench help --help --version' -- "$word"))
        return
    fi
    case "$command:$before" in
    import:-o|import:--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
    import:--format) COMPREPLY=($(compgen -W 'auto onnx safetensors npy gguf mtx npz' -- "$word")); return ;;
    inspect:--tensor) :; return ;;
    convert:-o|convert:--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
    convert:--to) COMPREPLY=($(compgen -W 'hurray hurray-stream safetensors npy' -- "$word")); return ;;
    convert:--tensor) :; return ;;
    convert:-l|convert:--layout) :; return ;;
    convert:--dtype) :; return ;;
    convert:--round) COMPREPLY=($(compgen -W 'nearest zero down up' -- "$word")); return ;;
    diff:--rtol) :; return ;;
    diff:--atol) :; return ;;
    serve:--listen) :; return ;;
    serve:--tls-cert) COMPREPLY=($(compgen -f -- "$word")); return ;;
    serve:--tls-key) COMPREPLY=($(compgen -f -- "$word")); return ;;
    serve:--tls-client-ca) COMPREPLY=($(compgen -f -- "$word")); return ;;
    serve:--access) COMPREPLY=($(compgen -f -- "$word")); return ;;
    serve:--metrics) :; return ;;
    serve:--max-connections) :; return ;;
    serve:--uploads) COMPREPLY=($(compgen -f -- "$word")); return ;;
    serve:--upload-limit) :; return ;;
    serve:--shards) :; return ;;
    serve:--family) COMPREPLY=($(compgen -f -- "$word")); return ;;
    serve:--pack-limit) :; return ;;
    serve:--cache) :; return ;;
    serve:--urls) COMPREPLY=($(compgen -f -- "$word")); return ;;
    serve:--http-cache) :; return ;;
    serve:--cache-folder) COMPREPLY=($(compgen -f -- "$word")); return ;;
    serve:--cache-folder-limit) :; return ;;
    serve:--idle-timeout) :; return ;;
    serve:--log) COMPREPLY=($(compgen -W 'error warning info debug' -- "$word")); return ;;
    serve:--log-format) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
    get:-o|get:--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
    get:-l|get:--layout) :; return ;;
    get:-k|get:--kernel) :; return ;;
    get:--m) :; return ;;
    get:--stored) COMPREPLY=($(compgen -W 'kn nk' -- "$word")); return ;;
    get:--family) COMPREPLY=($(compgen -f -- "$word")); return ;;
    get:--retries) :; return ;;
    get:--save-profile) COMPREPLY=($(compgen -f -- "$word")); return ;;
    put:--as) :; return ;;
    put:--retries) :; return ;;
    ping:-c|ping:--count) :; return ;;
    multiply:-k|multiply:--kernel) :; return ;;
    multiply:--m) :; return ;;
    multiply:--stored) COMPREPLY=($(compgen -W 'kn nk' -- "$word")); return ;;
    multiply:--runs) :; return ;;
    multiply:--seed) :; return ;;
    asm:-o|asm:--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
    asm:--format) COMPREPLY=($(compgen -W 'elf flat hex' -- "$word")); return ;;
    asm:--isa) COMPREPLY=($(compgen -W '0.58.0 0.58.1 0.58.2 0.58.3' -- "$word")); return ;;
    asm:--address) :; return ;;
    asm:--entry) :; return ;;
    asm:--listing) COMPREPLY=($(compgen -f -- "$word")); return ;;
    disasm:--format) COMPREPLY=($(compgen -W 'auto elf flat hex' -- "$word")); return ;;
    disasm:--isa) COMPREPLY=($(compgen -W '0.58.0 0.58.1 0.58.2 0.58.3' -- "$word")); return ;;
    disasm:--address) :; return ;;
    ld:-o|ld:--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
    ld:--format) COMPREPLY=($(compgen -W 'elf flat hex' -- "$word")); return ;;
    ld:--address) :; return ;;
    ld:--entry) :; return ;;
    doctor:--isa) COMPREPLY=($(compgen -W '0.58.0 0.58.1 0.58.2 0.58.3' -- "$word")); return ;;
    doctor:--format) COMPREPLY=($(compgen -W 'auto elf flat hex' -- "$word")); return ;;
    run:--profile) COMPREPLY=($(compgen -W 'pto-v0 ieee' -- "$word")); return ;;
    run:--memory) :; return ;;
    run:--entry) :; return ;;
    run:--stop-pc) :; return ;;
    run:--pes) :; return ;;
    run:--threads) :; return ;;
    run:--round) :; return ;;
    run:--max-steps) :; return ;;
    run:--stack-top) :; return ;;
    run:--arg) :; return ;;
    run:--result) :; return ;;
    run:--golden) COMPREPLY=($(compgen -f -- "$word")); return ;;
    run:--trace) COMPREPLY=($(compgen -W 'text jsonl' -- "$word")); return ;;
    run:--state) COMPREPLY=($(compgen -W 'json' -- "$word")); return ;;
    run:--script) COMPREPLY=($(compgen -f -- "$word")); return ;;
    run:--dump-tiles) COMPREPLY=($(compgen -f -- "$word")); return ;;
    run:--tensor) :; return ;;
    run:--tile) :; return ;;
    run:--from) :; return ;;
    run:--stored) COMPREPLY=($(compgen -W 'kn nk' -- "$word")); return ;;
    run:--out) :; return ;;
    run:--out-tile) :; return ;;
    run:--free-at) :; return ;;
    run:--isa) COMPREPLY=($(compgen -W '0.58.0 0.58.1 0.58.2 0.58.3' -- "$word")); return ;;
    run:--format) COMPREPLY=($(compgen -W 'auto asm elf flat hex' -- "$word")); return ;;
    run:--address) :; return ;;
    check:--only) :; return ;;
    check:--jobs) :; return ;;
    check:--show) :; return ;;
    bench:--filter) :; return ;;
    bench:--profile) COMPREPLY=($(compgen -W 'pto-v0 ieee' -- "$word")); return ;;
    bench:--runs) :; return ;;
    esac
    if [[ $word == -* ]]; then
        case "$command" in
        import) COMPREPLY=($(compgen -W '-o --output --format --skip-unsupported --follow-links --json -h --help' -- "$word")) ;;
        ls) COMPREPLY=($(compgen -W '--json --verify -h --help' -- "$word")) ;;
        inspect) COMPREPLY=($(compgen -W '--tensor --hex --json -h --help' -- "$word")) ;;
        convert) COMPREPLY=($(compgen -W '-o --output --to --tensor -l --layout --dtype --round --saturate --dequantize --skip-unsupported --json -h --help' -- "$word")) ;;
        verify) COMPREPLY=($(compgen -W '--json -h --help' -- "$word")) ;;
        diff) COMPREPLY=($(compgen -W '--rtol --atol --ignore-type --json -h --help' -- "$word")) ;;
        serve) COMPREPLY=($(compgen -W '--listen --tls-cert --tls-key --tls-client-ca --access --metrics --open --check --max-connections --uploads --upload-limit --shards --family --pack-limit --cache --urls --http-cache --cache-folder --cache-folder-limit --idle-timeout --log --log-format --json -h --help' -- "$word")) ;;
        get) COMPREPLY=($(compgen -W '-o --output -l --layout -k --kernel --m --stored --shards --family --retries --raw --save-profile --list-layouts --json -h --help' -- "$word")) ;;
        put) COMPREPLY=($(compgen -W '--as --json --retries -h --help' -- "$word")) ;;
        ping) COMPREPLY=($(compgen -W '-c --count --json -h --help' -- "$word")) ;;
        multiply) COMPREPLY=($(compgen -W '-k --kernel --m --stored --plain --pack-here --runs --seed --list-kernels --json -h --help' -- "$word")) ;;
        asm) COMPREPLY=($(compgen -W '-o --output -c --object --format --isa --address --entry --listing --werror --no-bundle-checks -h --help' -- "$word")) ;;
        disasm) COMPREPLY=($(compgen -W '--format --isa --address --source --json -h --help' -- "$word")) ;;
        ld) COMPREPLY=($(compgen -W '-o --output --format --address --entry --ignore-identity -h --help' -- "$word")) ;;
        isa) COMPREPLY=($(compgen -W '--json -h --help' -- "$word")) ;;
        doctor) COMPREPLY=($(compgen -W '--isa --format --json -h --help' -- "$word")) ;;
        run) COMPREPLY=($(compgen -W '--profile --memory --entry --stop-pc --pes --threads --round --max-steps --stack-top --arg --result --golden --trace --stats --state --script --tiles --dump-tiles --tensor --tile --from --stored --out --out-tile --free-at --isa --format --address --ignore-identity -h --help' -- "$word")) ;;
        check) COMPREPLY=($(compgen -W '--only --jobs --show -h --help' -- "$word")) ;;
        bench) COMPREPLY=($(compgen -W '--filter --json --list --profile --runs -h --help' -- "$word")) ;;
        help) COMPREPLY=($(compgen -W '-h --help' -- "$word")) ;;
        esac
        return
    fi
    case "$command" in
    import) COMPREPLY=($(compgen -f -- "$word")) ;;
    ls) COMPREPLY=($(compgen -f -- "$word")) ;;
    inspect) COMPREPLY=($(compgen -f -- "$word")) ;;
    convert) COMPREPLY=($(compgen -f -- "$word")) ;;
    verify) COMPREPLY=($(compgen -f -- "$word")) ;;
    diff) COMPREPLY=($(compgen -f -- "$word")) ;;
    serve) COMPREPLY=($(compgen -f -- "$word")) ;;
    put) COMPREPLY=($(compgen -f -- "$word")) ;;
    asm) COMPREPLY=($(compgen -f -- "$word")) ;;
    disasm) COMPREPLY=($(compgen -f -- "$word")) ;;
    ld) COMPREPLY=($(compgen -f -- "$word")) ;;
    doctor) COMPREPLY=($(compgen -f -- "$word")) ;;
    run) COMPREPLY=($(compgen -f -- "$word")) ;;
    check) COMPREPLY=($(compgen -f -- "$word")) ;;
    help) COMPREPLY=($(compgen -W 'import ls inspect convert verify diff serve get put ping multiply asm disasm ld isa doctor run check bench help' -- "$word")) ;;
    esac
}
complete -o filenames -F _tilery tilery
