/* SPDX-License-Identifier: Apache-2.0 */
/* Made by tools/generate.py from tables/options.toml: do not edit. */

enum {
    TLY_CLI_IMPORT_OUTPUT = 0,
    TLY_CLI_IMPORT_FORMAT = 1,
    TLY_CLI_IMPORT_SKIP_UNSUPPORTED = 2,
    TLY_CLI_IMPORT_FOLLOW_LINKS = 3,
    TLY_CLI_IMPORT_JSON = 4,
    TLY_CLI_IMPORT_HELP = 5,
};

enum {
    TLY_CLI_LS_JSON = 0,
    TLY_CLI_LS_VERIFY = 1,
    TLY_CLI_LS_HELP = 2,
};

enum {
    TLY_CLI_INSPECT_TENSOR = 0,
    TLY_CLI_INSPECT_HEX = 1,
    TLY_CLI_INSPECT_JSON = 2,
    TLY_CLI_INSPECT_HELP = 3,
};

enum {
    TLY_CLI_CONVERT_OUTPUT = 0,
    TLY_CLI_CONVERT_TO = 1,
    TLY_CLI_CONVERT_TENSOR = 2,
    TLY_CLI_CONVERT_LAYOUT = 3,
    TLY_CLI_CONVERT_DTYPE = 4,
    TLY_CLI_CONVERT_ROUND = 5,
    TLY_CLI_CONVERT_SATURATE = 6,
    TLY_CLI_CONVERT_DEQUANTIZE = 7,
    TLY_CLI_CONVERT_SKIP_UNSUPPORTED = 8,
    TLY_CLI_CONVERT_JSON = 9,
    TLY_CLI_CONVERT_HELP = 10,
};

enum {
    TLY_CLI_VERIFY_JSON = 0,
    TLY_CLI_VERIFY_HELP = 1,
};

enum {
    TLY_CLI_DIFF_RTOL = 0,
    TLY_CLI_DIFF_ATOL = 1,
    TLY_CLI_DIFF_IGNORE_TYPE = 2,
    TLY_CLI_DIFF_JSON = 3,
    TLY_CLI_DIFF_HELP = 4,
};

enum {
    TLY_CLI_SERVE_LISTEN = 0,
    TLY_CLI_SERVE_TLS_CERT = 1,
    TLY_CLI_SERVE_TLS_KEY = 2,
    TLY_CLI_SERVE_TLS_CLIENT_CA = 3,
    TLY_CLI_SERVE_ACCESS = 4,
    TLY_CLI_SERVE_METRICS = 5,
    TLY_CLI_SERVE_OPEN = 6,
    TLY_CLI_SERVE_CHECK = 7,
    TLY_CLI_SERVE_MAX_CONNECTIONS = 8,
    TLY_CLI_SERVE_UPLOADS = 9,
    TLY_CLI_SERVE_UPLOAD_LIMIT = 10,
    TLY_CLI_SERVE_SHARDS = 11,
    TLY_CLI_SERVE_FAMILY = 12,
    TLY_CLI_SERVE_PACK_LIMIT = 13,
    TLY_CLI_SERVE_CACHE = 14,
    TLY_CLI_SERVE_URLS = 15,
    TLY_CLI_SERVE_HTTP_CACHE = 16,
    TLY_CLI_SERVE_CACHE_FOLDER = 17,
    TLY_CLI_SERVE_CACHE_FOLDER_LIMIT = 18,
    TLY_CLI_SERVE_IDLE_TIMEOUT = 19,
    TLY_CLI_SERVE_LOG = 20,
    TLY_CLI_SERVE_LOG_FORMAT = 21,
    TLY_CLI_SERVE_JSON = 22,
    TLY_CLI_SERVE_HELP = 23,
};

enum {
    TLY_CLI_GET_OUTPUT = 0,
    TLY_CLI_GET_LAYOUT = 1,
    TLY_CLI_GET_KERNEL = 2,
    TLY_CLI_GET_M = 3,
    TLY_CLI_GET_STORED = 4,
    TLY_CLI_GET_SHARDS = 5,
    TLY_CLI_GET_FAMILY = 6,
    TLY_CLI_GET_RETRIES = 7,
    TLY_CLI_GET_RAW = 8,
    TLY_CLI_GET_SAVE_PROFILE = 9,
    TLY_CLI_GET_LIST_LAYOUTS = 10,
    TLY_CLI_GET_JSON = 11,
    TLY_CLI_GET_HELP = 12,
};

enum {
    TLY_CLI_PUT_AS = 0,
    TLY_CLI_PUT_JSON = 1,
    TLY_CLI_PUT_RETRIES = 2,
    TLY_CLI_PUT_HELP = 3,
};

enum {
    TLY_CLI_PING_COUNT = 0,
    TLY_CLI_PING_JSON = 1,
    TLY_CLI_PING_HELP = 2,
};

enum {
    TLY_CLI_MULTIPLY_KERNEL = 0,
    TLY_CLI_MULTIPLY_M = 1,
    TLY_CLI_MULTIPLY_STORED = 2,
    TLY_CLI_MULTIPLY_PLAIN = 3,
    TLY_CLI_MULTIPLY_PACK_HERE = 4,
    TLY_CLI_MULTIPLY_RUNS = 5,
    TLY_CLI_MULTIPLY_SEED = 6,
    TLY_CLI_MULTIPLY_LIST_KERNELS = 7,
    TLY_CLI_MULTIPLY_JSON = 8,
    TLY_CLI_MULTIPLY_HELP = 9,
};

enum {
    TLY_CLI_ASM_OUTPUT = 0,
    TLY_CLI_ASM_OBJECT = 1,
    TLY_CLI_ASM_FORMAT = 2,
    TLY_CLI_ASM_ISA = 3,
    TLY_CLI_ASM_ADDRESS = 4,
    TLY_CLI_ASM_ENTRY = 5,
    TLY_CLI_ASM_LISTING = 6,
    TLY_CLI_ASM_WERROR = 7,
    TLY_CLI_ASM_NO_BUNDLE_CHECKS = 8,
    TLY_CLI_ASM_HELP = 9,
};

enum {
    TLY_CLI_DISASM_FORMAT = 0,
    TLY_CLI_DISASM_ISA = 1,
    TLY_CLI_DISASM_ADDRESS = 2,
    TLY_CLI_DISASM_SOURCE = 3,
    TLY_CLI_DISASM_JSON = 4,
    TLY_CLI_DISASM_HELP = 5,
};

enum {
    TLY_CLI_LD_OUTPUT = 0,
    TLY_CLI_LD_FORMAT = 1,
    TLY_CLI_LD_ADDRESS = 2,
    TLY_CLI_LD_ENTRY = 3,
    TLY_CLI_LD_IGNORE_IDENTITY = 4,
    TLY_CLI_LD_HELP = 5,
};

enum {
    TLY_CLI_ISA_JSON = 0,
    TLY_CLI_ISA_HELP = 1,
};

enum {
    TLY_CLI_DOCTOR_ISA = 0,
    TLY_CLI_DOCTOR_FORMAT = 1,
    TLY_CLI_DOCTOR_JSON = 2,
    TLY_CLI_DOCTOR_HELP = 3,
};

enum {
    TLY_CLI_RUN_PROFILE = 0,
    TLY_CLI_RUN_MEMORY = 1,
    TLY_CLI_RUN_ENTRY = 2,
    TLY_CLI_RUN_STOP_PC = 3,
    TLY_CLI_RUN_PES = 4,
    TLY_CLI_RUN_THREADS = 5,
    TLY_CLI_RUN_ROUND = 6,
    TLY_CLI_RUN_MAX_STEPS = 7,
    TLY_CLI_RUN_STACK_TOP = 8,
    TLY_CLI_RUN_ARG = 9,
    TLY_CLI_RUN_RESULT = 10,
    TLY_CLI_RUN_GOLDEN = 11,
    TLY_CLI_RUN_TRACE = 12,
    TLY_CLI_RUN_STATS = 13,
    TLY_CLI_RUN_STATE = 14,
    TLY_CLI_RUN_SCRIPT = 15,
    TLY_CLI_RUN_TILES = 16,
    TLY_CLI_RUN_DUMP_TILES = 17,
    TLY_CLI_RUN_TENSOR = 18,
    TLY_CLI_RUN_TILE = 19,
    TLY_CLI_RUN_FROM = 20,
    TLY_CLI_RUN_STORED = 21,
    TLY_CLI_RUN_OUT = 22,
    TLY_CLI_RUN_OUT_TILE = 23,
    TLY_CLI_RUN_FREE_AT = 24,
    TLY_CLI_RUN_ISA = 25,
    TLY_CLI_RUN_FORMAT = 26,
    TLY_CLI_RUN_ADDRESS = 27,
    TLY_CLI_RUN_IGNORE_IDENTITY = 28,
    TLY_CLI_RUN_HELP = 29,
};

enum {
    TLY_CLI_CHECK_ONLY = 0,
    TLY_CLI_CHECK_JOBS = 1,
    TLY_CLI_CHECK_SHOW = 2,
    TLY_CLI_CHECK_HELP = 3,
};

enum {
    TLY_CLI_BENCH_FILTER = 0,
    TLY_CLI_BENCH_JSON = 1,
    TLY_CLI_BENCH_LIST = 2,
    TLY_CLI_BENCH_PROFILE = 3,
    TLY_CLI_BENCH_RUNS = 4,
    TLY_CLI_BENCH_HELP = 5,
};

enum {
    TLY_CLI_HELP_HELP = 0,
};

#ifdef TLY_CLI_DEFINE_TABLES

static const char *const import_format_choices[] = {"auto", "onnx", "safetensors", "npy", "gguf", "mtx", "npz", NULL};

static const tly_cli_option import_options[] = {
    {"output", 'o', TLY_CLI_OUTPUT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"format", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), import_format_choices},
    {"skip-unsupported", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"follow-links", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const tly_cli_option ls_options[] = {
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"verify", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const tly_cli_option inspect_options[] = {
    {"tensor", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"hex", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const char *const convert_to_choices[] = {"hurray", "hurray-stream", "safetensors", "npy", NULL};

static const char *const convert_round_choices[] = {"nearest", "zero", "down", "up", NULL};

static const tly_cli_option convert_options[] = {
    {"output", 'o', TLY_CLI_OUTPUT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"to", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), convert_to_choices},
    {"tensor", 0, TLY_CLI_TEXT, 1, UINT64_C(0), UINT64_C(0), NULL},
    {"layout", 'l', TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"dtype", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"round", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), convert_round_choices},
    {"saturate", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"dequantize", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"skip-unsupported", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const tly_cli_option verify_options[] = {
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const tly_cli_option diff_options[] = {
    {"rtol", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"atol", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"ignore-type", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const char *const serve_log_choices[] = {"error", "warning", "info", "debug", NULL};

static const char *const serve_log_format_choices[] = {"text", "json", NULL};

static const tly_cli_option serve_options[] = {
    {"listen", 0, TLY_CLI_ADDRESS, 1, UINT64_C(0), UINT64_C(0), NULL},
    {"tls-cert", 0, TLY_CLI_FILE, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"tls-key", 0, TLY_CLI_FILE, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"tls-client-ca", 0, TLY_CLI_FILE, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"access", 0, TLY_CLI_FILE, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"metrics", 0, TLY_CLI_ADDRESS, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"open", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"check", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"max-connections", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(100000), NULL},
    {"uploads", 0, TLY_CLI_OUTPUT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"upload-limit", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(9223372036854775807), NULL},
    {"shards", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(64), NULL},
    {"family", 0, TLY_CLI_FILE, 1, UINT64_C(0), UINT64_C(0), NULL},
    {"pack-limit", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(9223372036854775807), NULL},
    {"cache", 0, TLY_CLI_NUMBER, 0, UINT64_C(0), UINT64_C(9223372036854775807), NULL},
    {"urls", 0, TLY_CLI_FILE, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"http-cache", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(9223372036854775807), NULL},
    {"cache-folder", 0, TLY_CLI_OUTPUT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"cache-folder-limit", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(9223372036854775807), NULL},
    {"idle-timeout", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(4000000), NULL},
    {"log", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), serve_log_choices},
    {"log-format", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), serve_log_format_choices},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const char *const get_stored_choices[] = {"kn", "nk", NULL};

static const tly_cli_option get_options[] = {
    {"output", 'o', TLY_CLI_OUTPUT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"layout", 'l', TLY_CLI_TEXT, 1, UINT64_C(0), UINT64_C(0), NULL},
    {"kernel", 'k', TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"m", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(1048576), NULL},
    {"stored", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), get_stored_choices},
    {"shards", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"family", 0, TLY_CLI_FILE, 1, UINT64_C(0), UINT64_C(0), NULL},
    {"retries", 0, TLY_CLI_NUMBER, 0, UINT64_C(0), UINT64_C(1000000), NULL},
    {"raw", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"save-profile", 0, TLY_CLI_OUTPUT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"list-layouts", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const tly_cli_option put_options[] = {
    {"as", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"retries", 0, TLY_CLI_NUMBER, 0, UINT64_C(0), UINT64_C(1000000), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const tly_cli_option ping_options[] = {
    {"count", 'c', TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(1000000), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const char *const multiply_stored_choices[] = {"kn", "nk", NULL};

static const tly_cli_option multiply_options[] = {
    {"kernel", 'k', TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"m", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(1048576), NULL},
    {"stored", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), multiply_stored_choices},
    {"plain", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"pack-here", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"runs", 0, TLY_CLI_NUMBER, 0, UINT64_C(0), UINT64_C(1001), NULL},
    {"seed", 0, TLY_CLI_NUMBER, 0, UINT64_C(0), UINT64_C(18446744073709551615), NULL},
    {"list-kernels", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const char *const asm_format_choices[] = {"elf", "flat", "hex", NULL};

static const char *const asm_isa_choices[] = {"0.58.0", "0.58.1", "0.58.2", "0.58.3", NULL};

static const tly_cli_option asm_options[] = {
    {"output", 'o', TLY_CLI_OUTPUT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"object", 'c', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"format", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), asm_format_choices},
    {"isa", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), asm_isa_choices},
    {"address", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"entry", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"listing", 0, TLY_CLI_FILE, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"werror", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"no-bundle-checks", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const char *const disasm_format_choices[] = {"auto", "elf", "flat", "hex", NULL};

static const char *const disasm_isa_choices[] = {"0.58.0", "0.58.1", "0.58.2", "0.58.3", NULL};

static const tly_cli_option disasm_options[] = {
    {"format", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), disasm_format_choices},
    {"isa", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), disasm_isa_choices},
    {"address", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"source", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const char *const ld_format_choices[] = {"elf", "flat", "hex", NULL};

static const tly_cli_option ld_options[] = {
    {"output", 'o', TLY_CLI_OUTPUT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"format", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), ld_format_choices},
    {"address", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"entry", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"ignore-identity", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const tly_cli_option isa_options[] = {
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const char *const doctor_isa_choices[] = {"0.58.0", "0.58.1", "0.58.2", "0.58.3", NULL};

static const char *const doctor_format_choices[] = {"auto", "elf", "flat", "hex", NULL};

static const tly_cli_option doctor_options[] = {
    {"isa", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), doctor_isa_choices},
    {"format", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), doctor_format_choices},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const char *const run_profile_choices[] = {"pto-v0", "ieee", NULL};

static const char *const run_trace_choices[] = {"text", "jsonl", NULL};

static const char *const run_state_choices[] = {"json", NULL};

static const char *const run_stored_choices[] = {"kn", "nk", NULL};

static const char *const run_isa_choices[] = {"0.58.0", "0.58.1", "0.58.2", "0.58.3", NULL};

static const char *const run_format_choices[] = {"auto", "asm", "elf", "flat", "hex", NULL};

static const tly_cli_option run_options[] = {
    {"profile", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), run_profile_choices},
    {"memory", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"entry", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"stop-pc", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"pes", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(4), NULL},
    {"threads", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(4), NULL},
    {"round", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(4294967295), NULL},
    {"max-steps", 0, TLY_CLI_NUMBER, 0, UINT64_C(0), UINT64_C(18446744073709551615), NULL},
    {"stack-top", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"arg", 0, TLY_CLI_TEXT, 1, UINT64_C(0), UINT64_C(0), NULL},
    {"result", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"golden", 0, TLY_CLI_FILE, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"trace", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), run_trace_choices},
    {"stats", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"state", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), run_state_choices},
    {"script", 0, TLY_CLI_FILE, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"tiles", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"dump-tiles", 0, TLY_CLI_OUTPUT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"tensor", 0, TLY_CLI_TEXT, 1, UINT64_C(0), UINT64_C(0), NULL},
    {"tile", 0, TLY_CLI_TEXT, 1, UINT64_C(0), UINT64_C(0), NULL},
    {"from", 0, TLY_CLI_ADDRESS, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"stored", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), run_stored_choices},
    {"out", 0, TLY_CLI_TEXT, 1, UINT64_C(0), UINT64_C(0), NULL},
    {"out-tile", 0, TLY_CLI_TEXT, 1, UINT64_C(0), UINT64_C(0), NULL},
    {"free-at", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"isa", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), run_isa_choices},
    {"format", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), run_format_choices},
    {"address", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"ignore-identity", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const tly_cli_option check_options[] = {
    {"only", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"jobs", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(64), NULL},
    {"show", 0, TLY_CLI_NUMBER, 0, UINT64_C(0), UINT64_C(1000000), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const char *const bench_profile_choices[] = {"pto-v0", "ieee", NULL};

static const tly_cli_option bench_options[] = {
    {"filter", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"list", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"profile", 0, TLY_CLI_CHOICE, 0, UINT64_C(0), UINT64_C(0), bench_profile_choices},
    {"runs", 0, TLY_CLI_NUMBER, 0, UINT64_C(1), UINT64_C(1001), NULL},
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

static const tly_cli_option help_options[] = {
    {"help", 'h', TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
};

const tly_cli_command tly_cli_commands[] = {
    {"import", tly_cli_run_import, import_options, 6, 1, 1000000, "tilery import [OPTION]... FILE... -o OUT.hrry",
    "Usage: tilery import [OPTION]... FILE... -o OUT.hrry\n"
    "\n"
    "Reads ONNX models (initialisers and constants, those of subgraphs too),\n"
    "safetensors (a model in shards by its index), GGUF, npy, npz and Matrix Market\n"
    "files, and writes all their tensors into one container. Element values are kept\n"
    "bit for bit; blocks of GGUF that a quantization can describe become quantized\n"
    "tensors, a Matrix Market matrix with coordinates a sparse one. The container\n"
    "appears whole or not at all; an older file of that name is replaced.\n"
    "\n"
    "Every byte of FILE is distrusted. External data of an ONNX model and the shards\n"
    "of an index are read from the model's own folder only.\n"
    "\n"
    "Options:\n"
    "  -o, --output OUT        the container to write; always needed\n"
    "      --format FORMAT     what the files are; auto looks at their content:\n"
    "                          auto, onnx, safetensors, npy, gguf, mtx, npz\n"
    "                          (default: auto)\n"
    "      --skip-unsupported  leave out tensors that cannot be carried and say\n"
    "                          which, instead of refusing the file\n"
    "      --follow-links      let external data of ONNX models be a link, which may\n"
    "                          lead out of the model's folder\n"
    "      --json              print what was done as JSON\n"
    "  -h, --help              print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  A model's weights:\n"
    "    tilery import model.onnx -o model.hrry\n"},
    {"ls", tly_cli_run_ls, ls_options, 3, 1, 1, "tilery ls [OPTION]... FILE",
    "Usage: tilery ls [OPTION]... FILE\n"
    "\n"
    "Lists element type, shape, size, name and layout of every tensor in a\n"
    "container, or in a file that could be imported. A container may also stand\n"
    "behind a URL (http: or https:).\n"
    "\n"
    "Options:\n"
    "      --json    print the list as JSON\n"
    "      --verify  first check everything in a container but the values of its\n"
    "                tensors\n"
    "  -h, --help    print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  What a container holds:\n"
    "    tilery ls model.hrry\n"},
    {"inspect", tly_cli_run_inspect, inspect_options, 4, 1, 1, "tilery inspect [OPTION]... FILE",
    "Usage: tilery inspect [OPTION]... FILE\n"
    "\n"
    "Shows metadata, and of every tensor its type, shape, layout with all its\n"
    "fields, buffers, quantization, shard, statistics and role. FILE is a container,\n"
    "a stream of tensors (- for standard input), or a file that could be imported; a\n"
    "container may also stand behind a URL (http: or https:), of which only what is\n"
    "needed is read. With --hex every byte of every descriptor stands there with its\n"
    "name; where a descriptor is refused, it is shown as far as it goes, with the\n"
    "byte at fault.\n"
    "\n"
    "Options:\n"
    "      --tensor NAME  show this tensor only; those of a stream are called 0, 1,\n"
    "                     2 and so on\n"
    "      --hex          show the bytes of the descriptors, every one labelled\n"
    "      --json         print it as JSON\n"
    "  -h, --help         print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  The bytes of a descriptor:\n"
    "    tilery inspect model.hrry --tensor w --hex\n"},
    {"convert", tly_cli_run_convert, convert_options, 11, 1, 1, "tilery convert [OPTION]... FILE -o OUT",
    "Usage: tilery convert [OPTION]... FILE -o OUT\n"
    "\n"
    "Reads a container, also behind a URL (http: or https:), a stream of tensors (-\n"
    "for standard input) or a file that could be imported, and writes a container\n"
    "(.hrry), a stream (.hrrys, or - for standard output), safetensors or npy, by\n"
    "the ending of OUT or --to. Without --layout, --dtype and --dequantize element\n"
    "values, layouts and quantizations stay what they are, and memory does not\n"
    "depend on the size of the tensors; safetensors and npy take plain tensors,\n"
    "which are put together in memory. A composite becomes one tensor where anything\n"
    "is changed. OUT appears whole or not at all.\n"
    "\n"
    "LAYOUT is row-major, column-major, tiled:RxC (a tile of the last axes), morton,\n"
    "hilbert, coo, csr, csc or csf. TYPE is an element type by its name: f32, bf16,\n"
    "f8e4m3, i4 and so on.\n"
    "\n"
    "Options:\n"
    "  -o, --output OUT        the file to write; always needed\n"
    "      --to FORMAT         what OUT becomes, whatever its name: hurray, hurray-\n"
    "                          stream, safetensors, npy\n"
    "      --tensor NAME       take this tensor only; may be repeated\n"
    "  -l, --layout LAYOUT     put every tensor into this layout\n"
    "      --dtype TYPE        convert the elements to this type\n"
    "      --round WAY         how --dtype rounds; nearest takes the even one of\n"
    "                          two: nearest, zero, down, up (default: nearest)\n"
    "      --saturate          let --dtype give the largest number instead of\n"
    "                          infinity or of what wraps around\n"
    "      --dequantize        write the values of quantized tensors, as f32 or the\n"
    "                          floating-point type of --dtype\n"
    "      --skip-unsupported  leave out tensors of other formats that cannot be\n"
    "                          carried, and say which\n"
    "      --json              print what was done as JSON\n"
    "  -h, --help              print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  A quantized model as plain bf16:\n"
    "    tilery convert model.gguf -o model.safetensors --dequantize --dtype bf16\n"},
    {"verify", tly_cli_run_verify, verify_options, 2, 1, 100000, "tilery verify [OPTION]... FILE...",
    "Usage: tilery verify [OPTION]... FILE...\n"
    "\n"
    "Reads containers, streams of tensors (- for standard input) and files that\n"
    "could be imported, whole, and says whether they keep every rule of their\n"
    "format: structure, descriptors, composites, padding, and what the buffers hold\n"
    "(coordinates in range and in order, pointers that rise, page numbers, scales,\n"
    "codes that are reserved, check sums). The exit code is 0 if every file is\n"
    "valid, 1 if one is refused.\n"
    "\n"
    "Options:\n"
    "      --json  print an array with one object a file\n"
    "  -h, --help  print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  A model that was downloaded:\n"
    "    tilery verify model.gguf\n"},
    {"diff", tly_cli_run_diff, diff_options, 5, 2, 2, "tilery diff [OPTION]... A B",
    "Usage: tilery diff [OPTION]... A B\n"
    "\n"
    "Compares the tensors of two files (containers, streams, or what could be\n"
    "imported) by their names; with a stream, which has no names, in their order.\n"
    "Shapes, element types and the elements at each index are compared, whatever the\n"
    "layouts: bit for bit, or as numbers within --rtol and --atol, where |a - b| <=\n"
    "atol + rtol * |b| is near enough. Quantized tensors that are quantized in\n"
    "different ways are compared by their values. The exit code is 0 if there is no\n"
    "difference, 1 if there is one.\n"
    "\n"
    "Options:\n"
    "      --rtol R       relative tolerance; elements are then compared as numbers\n"
    "      --atol A       absolute tolerance; elements are then compared as numbers\n"
    "      --ignore-type  compare tensors of different element types, as numbers\n"
    "      --json         print the differences as JSON\n"
    "  -h, --help         print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  Is the container what the model was?\n"
    "    tilery diff model.safetensors model.hrry\n"},
    {"serve", tly_cli_run_serve, serve_options, 24, 0, 1000, "tilery serve [OPTION]... [FILE...] --listen ADDRESS",
    "Usage: tilery serve [OPTION]... [FILE...] --listen ADDRESS\n"
    "\n"
    "Serves the tensors of the containers under their names until it is interrupted\n"
    "(SIGINT, SIGTERM). A FILE that is a folder stands for the containers (.hrry) in\n"
    "it. SIGHUP has everything read anew, containers, folders and access rules,\n"
    "without ending a connection; if anything is wrong with it, what was there\n"
    "stays. A FILE may also be the URL of a container (http: or https:, signed or\n"
    "not), which is read by ranges and never downloaded as a whole; the server\n"
    "behind it must answer ranges and say which version of the object it gives. What\n"
    "changes there is noticed and refused until SIGHUP. No query, user or password\n"
    "of a URL is shown or logged; but arguments can be seen by other users of the\n"
    "machine, so a signed URL had better stand in the FILE of --urls.\n"
    "\n"
    "A client says which layouts it can use; a packed one is made on the fly. When\n"
    "connections are taken, a line on standard output says so.\n"
    "\n"
    "With --uploads, clients may also put tensors (tilery put); each goes into a\n"
    "container of its own in that folder, durable before it is acknowledged, and is\n"
    "there again when the server is started anew.\n"
    "\n"
    "A Unix socket is open to its owner only. An address that other machines reach\n"
    "takes tls: and access rules or client certificates. Access rules are lines in a\n"
    "file of mode 0600:\n"
    "\n"
    "    token NAME TOKEN         who shows it is NAME (16 to 1024 characters)\n"
    "    certificate NAME SHA256  who shows a certificate with this fingerprint\n"
    "    allow NAME get PREFIX    NAME may get what begins with PREFIX (*: all)\n"
    "    allow NAME put PREFIX    the same for tilery put; `anyone` is everybody\n"
    "\n"
    "Clients take their token from the file that TILERY_TOKEN_FILE names.\n"
    "\n"
    "Options:\n"
    "      --listen ADDRESS      where to take connections: unix:/PATH,\n"
    "                            tcp:127.0.0.1:PORT or tls:127.0.0.1:PORT; port 0\n"
    "                            takes a free one; always needed; may be repeated\n"
    "      --tls-cert FILE       for tls: addresses: the server's certificate with\n"
    "                            its chain, PEM\n"
    "      --tls-key FILE        the key of that certificate, PEM\n"
    "      --tls-client-ca FILE  only clients with a certificate of these\n"
    "                            authorities are let in, PEM\n"
    "      --access FILE         rules that say who may get and put which keys; what\n"
    "                            none of them allows is refused\n"
    "      --metrics ADDRESS     answer GET /metrics (Prometheus text) and GET\n"
    "                            /health by HTTP on tcp:127.0.0.1:PORT or unix:/PATH\n"
    "      --open                allow addresses that other machines reach without\n"
    "                            TLS or without access rules\n"
    "      --check               open everything that would be served, say what it\n"
    "                            is, and serve nothing\n"
    "      --max-connections N   turn away clients beyond that many (default: 64)\n"
    "      --uploads FOLDER      take tensors from clients and keep them in FOLDER,\n"
    "                            which must exist; without it none are taken\n"
    "      --upload-limit BYTES  largest tensor that is taken (default: 17179869184)\n"
    "      --shards N            cut an answer into at most that many shards, where\n"
    "                            the client allows it (default: 4)\n"
    "      --family FILE         a plug-in with layouts of its own, a shared library\n"
    "                            that runs with the rights of the server; may be\n"
    "                            repeated\n"
    "      --pack-limit BYTES    largest tensor that is packed; a larger one is\n"
    "                            served as it is kept (default: 4294967296)\n"
    "      --cache BYTES         memory for packed variants, so that each is packed\n"
    "                            once and shared; 0 packs for every request anew\n"
    "                            (default: 1073741824)\n"
    "      --urls FILE           serve the containers behind the URLs in FILE too,\n"
    "                            one a line, which others may not read; read anew at\n"
    "                            SIGHUP, so signatures can be renewed\n"
    "      --http-cache BYTES    memory for blocks of containers behind URLs; a\n"
    "                            tensor that is packed has to fit in it (default:\n"
    "                            268435456)\n"
    "      --cache-folder FOLDER\n"
    "                            keep packed variants in FOLDER, so that they need\n"
    "                            not be packed again after a restart; it must exist\n"
    "      --cache-folder-limit BYTES\n"
    "                            bytes of files in that folder; what was used\n"
    "                            longest ago goes first (default: 17179869184)\n"
    "      --idle-timeout SECONDS\n"
    "                            close connections on which nothing was asked for so\n"
    "                            long (default: 300)\n"
    "      --log LEVEL           how much to say on standard error about what goes\n"
    "                            on: error, warning, info, debug (default: warning)\n"
    "      --log-format FORMAT   what a line of the log looks like; json: one object\n"
    "                            with time, level and message: text, json (default:\n"
    "                            text)\n"
    "      --json                print one JSON object a line: when listening, and\n"
    "                            counts when stopped\n"
    "  -h, --help                print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  Serve on a Unix socket:\n"
    "    tilery serve model.hrry --listen unix:/tmp/tilery.sock\n"},
    {"get", tly_cli_run_get, get_options, 13, 0, 2, "tilery get [OPTION]... ADDRESS KEY -o FILE",
    "Usage: tilery get [OPTION]... ADDRESS KEY -o FILE\n"
    "\n"
    "Fetches the tensor KEY from the server at ADDRESS and writes it to FILE, a\n"
    "container with that one tensor, or its bare bytes with --raw. FILE appears\n"
    "whole or not at all.\n"
    "\n"
    "Layouts are tried in the order given. LAYOUT is one of --list-layouts, the path\n"
    "of a file with a panel profile, or auto: then the kernel libraries on this\n"
    "machine say which panels they want for a product with M rows, and the one that\n"
    "is served is named. Without --layout, or with native, the tensor comes as the\n"
    "server keeps it. When none of the layouts can be had, nothing is written and\n"
    "the exit code is 6.\n"
    "\n"
    "Options:\n"
    "  -o, --output FILE         the file to write; always needed; - is standard\n"
    "                            output, with --raw\n"
    "  -l, --layout LAYOUT       a layout to ask for, most wanted first; may be\n"
    "                            repeated\n"
    "  -k, --kernel NAME         with auto, ask only this kernel library (tilery\n"
    "                            multiply --list-kernels)\n"
    "      --m M                 with auto, rows of the matrix that is to be\n"
    "                            multiplied by this one (default: 8)\n"
    "      --stored ORDER        how the axes of the matrix stand, where a panel is\n"
    "                            asked for by name or auto: K x N or N x K: kn, nk\n"
    "                            (default: kn)\n"
    "      --shards              let the server send the tensor in shards, side by\n"
    "                            side; they are put together here\n"
    "      --family FILE         a plug-in with layouts of its own, a shared\n"
    "                            library; LAYOUT may then be one of them, NAME or\n"
    "                            NAME:ARGUMENTS; may be repeated\n"
    "      --retries N           try again so often where no connection can be had\n"
    "                            or it breaks off, each time after twice the delay;\n"
    "                            a transfer goes on where it ended, and attempts\n"
    "                            that bring something do not count (default: 2)\n"
    "      --raw                 write the bytes of the data alone, without a\n"
    "                            container\n"
    "      --save-profile PROFILE\n"
    "                            also write the profile of the panel that came, to\n"
    "                            be given to --layout later\n"
    "      --list-layouts        print the layouts that have names, and fetch\n"
    "                            nothing\n"
    "      --json                print what came, or the list, as JSON\n"
    "  -h, --help                print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  A matrix stored N x K, in the panels of oneDNN's AVX-512 kernels:\n"
    "    tilery get unix:/tmp/tilery.sock w -l ba16a64b --stored nk -o w.hrry\n"},
    {"put", tly_cli_run_put, put_options, 4, 2, 10000, "tilery put [OPTION]... ADDRESS FILE [KEY...]",
    "Usage: tilery put [OPTION]... ADDRESS FILE [KEY...]\n"
    "\n"
    "Puts the tensors KEY of the container FILE, or all of them, on the server at\n"
    "ADDRESS, under their names. The server must take tensors (tilery serve\n"
    "--uploads). A tensor of the same key that was put before is replaced, all at\n"
    "once. The command ends when the server has acknowledged every tensor; from then\n"
    "on they survive a crash of the server.\n"
    "\n"
    "Options:\n"
    "      --as NAME    the key on the server, where one tensor is put\n"
    "      --json       print one JSON object instead of a line\n"
    "      --retries N  put a tensor again so often where no connection can be had\n"
    "                   or it breaks off, each time after twice the delay (default:\n"
    "                   2)\n"
    "  -h, --help       print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  Put one tensor under another name:\n"
    "    tilery put unix:/tmp/tilery.sock model.hrry layer0.weight --as draft.weight\n"},
    {"ping", tly_cli_run_ping, ping_options, 3, 1, 1, "tilery ping [OPTION]... ADDRESS",
    "Usage: tilery ping [OPTION]... ADDRESS\n"
    "\n"
    "Connects, says hello, and measures how long the server takes to answer.\n"
    "\n"
    "Options:\n"
    "  -c, --count N  ask that many times on one connection, and show the median\n"
    "                 (default: 1)\n"
    "      --json     print one JSON object instead of a line\n"
    "  -h, --help     print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  Ask a hundred times:\n"
    "    tilery ping unix:/tmp/tilery.sock --count 100\n"},
    {"multiply", tly_cli_run_multiply, multiply_options, 10, 0, 2, "tilery multiply [OPTION]... ADDRESS KEY",
    "Usage: tilery multiply [OPTION]... ADDRESS KEY\n"
    "\n"
    "Asks a kernel library which panel layout it wants, fetches the matrix KEY from\n"
    "the server in exactly that layout, and multiplies a random matrix of M rows by\n"
    "it, straight from the fetched buffer, which is write-protected meanwhile. Then\n"
    "the matrix is fetched plain, the product is compared with one in double\n"
    "precision, and a call on the panel is timed against the library's own call on\n"
    "the plain matrix, interleaved, on one processor, in processor time.\n"
    "\n"
    "A kernel that wants no panel for this product ends with exit code 6, a product\n"
    "that is off by more than 1e-4 of its largest value with 1.\n"
    "\n"
    "Options:\n"
    "  -k, --kernel NAME   the kernel library, one of --list-kernels (default: own)\n"
    "      --m M           rows of the matrix that is multiplied by KEY (default: 8)\n"
    "      --stored ORDER  how the axes of KEY stand: K x N or N x K: kn, nk\n"
    "                      (default: kn)\n"
    "      --plain         fetch the matrix plain and use the library's ordinary\n"
    "                      call only, whatever it wants\n"
    "      --pack-here     fetch the matrix as it is kept and pack it on this side,\n"
    "                      as one would without Tilery\n"
    "      --runs N        samples of each time; 0 takes none (default: 15)\n"
    "      --seed S        seed of the random values (default: 1)\n"
    "      --list-kernels  print the kernel libraries that are found here, and fetch\n"
    "                      nothing\n"
    "      --json          print the result as JSON\n"
    "  -h, --help          print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  A matrix stored N x K, with oneDNN:\n"
    "    tilery multiply unix:/tmp/tilery.sock w --kernel onednn --stored nk\n"},
    {"asm", tly_cli_run_asm, asm_options, 10, 1, 1, "tilery asm [OPTION]... FILE -o OUT",
    "Usage: tilery asm [OPTION]... FILE -o OUT\n"
    "\n"
    "Assembles PTO assembly text (- reads standard input) into a static program, or\n"
    "with -c into an object for tilery ld. Mistakes are shown with file, line,\n"
    "column and what was expected. Bundles are checked as a whole; what the machine\n"
    "would refuse at run time is a warning, with its rule in brackets.\n"
    "\n"
    "Absolute branch targets, as tilery disasm prints them, are reached from .text,\n"
    "which begins at the address of --address.\n"
    "\n"
    "Options:\n"
    "  -o, --output OUT        the file to write; always needed\n"
    "  -c, --object            make a relocatable object, do not link\n"
    "      --format FORMAT     what a program is written as: ELF, bare bytes, or\n"
    "                          bytes in hex: elf, flat, hex (default: elf)\n"
    "      --isa RELEASE       release of the instruction set; .isa in the text\n"
    "                          changes it: 0.58.0, 0.58.1, 0.58.2, 0.58.3 (default:\n"
    "                          0.58.3)\n"
    "      --address ADDRESS   where .text begins (default: 0x10000)\n"
    "      --entry SYMBOL      where the program starts; without it _start, or else\n"
    "                          the start of .text\n"
    "      --listing FILE      write every line with its place and bytes; - is\n"
    "                          standard output\n"
    "      --werror            make warnings errors\n"
    "      --no-bundle-checks  do not look at bundles as a whole\n"
    "  -h, --help              print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  A program and its listing:\n"
    "    tilery asm add.s -o add.elf --listing -\n"},
    {"disasm", tly_cli_run_disasm, disasm_options, 6, 1, 1, "tilery disasm [OPTION]... FILE",
    "Usage: tilery disasm [OPTION]... FILE\n"
    "\n"
    "Prints the code of an ELF program or object, of bare bytes or of bytes in hex\n"
    "(- reads standard input). The text assembles back to the same bits; what is no\n"
    "instruction is printed as data with the reason. The registers of B.IOR are\n"
    "explained by the operation of their bundle.\n"
    "\n"
    "Options:\n"
    "      --format FORMAT    what FILE is; auto looks at its content: auto, elf,\n"
    "                         flat, hex (default: auto)\n"
    "      --isa RELEASE      release of the instruction set; without it the one\n"
    "                         that the file's note names, or else 0.58.3: 0.58.0,\n"
    "                         0.58.1, 0.58.2, 0.58.3\n"
    "      --address ADDRESS  where bare bytes begin (default: 0x10000)\n"
    "      --source           print text for the assembler only, without addresses\n"
    "                         and words\n"
    "      --json             print every instruction with its fields as JSON\n"
    "  -h, --help             print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  Out and in again:\n"
    "    tilery disasm add.elf --source\n"},
    {"ld", tly_cli_run_ld, ld_options, 6, 1, 1000, "tilery ld [OPTION]... FILE... -o OUT",
    "Usage: tilery ld [OPTION]... FILE... -o OUT\n"
    "\n"
    "Joins relocatable objects. All must carry the identity note of the same\n"
    "release.\n"
    "\n"
    "Options:\n"
    "  -o, --output OUT       the program to write; always needed\n"
    "      --format FORMAT    what the program is written as: elf, flat, hex\n"
    "                         (default: elf)\n"
    "      --address ADDRESS  where the program begins (default: 0x10000)\n"
    "      --entry SYMBOL     where it starts; without it _start, or else the start\n"
    "                         of .text\n"
    "      --ignore-identity  take objects without a note, or of different releases\n"
    "  -h, --help             print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  Two objects:\n"
    "    tilery ld main.o lib.o -o program.elf\n"},
    {"isa", tly_cli_run_isa, isa_options, 2, 0, 1, "tilery isa [OPTION]... [NAME]",
    "Usage: tilery isa [OPTION]... [NAME]\n"
    "\n"
    "Prints what an instruction or a tile operation does, its encodings bit by bit,\n"
    "the values that its fields admit, and an example. Without NAME: a line for\n"
    "each.\n"
    "\n"
    "Options:\n"
    "      --json  without NAME: print every form as JSON\n"
    "  -h, --help  print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  One instruction:\n"
    "    tilery isa HL.CASD\n"},
    {"doctor", tly_cli_run_doctor, doctor_options, 4, 1, 1, "tilery doctor [OPTION]... FILE",
    "Usage: tilery doctor [OPTION]... FILE\n"
    "\n"
    "Looks at machine number, identity note and every word of code, and says in\n"
    "which releases the code is legal, what the others refuse and why. The exit code\n"
    "is 1 if note and words disagree, or if the object is not for the release of\n"
    "--isa.\n"
    "\n"
    "Options:\n"
    "      --isa RELEASE    the release that it should run on: 0.58.0, 0.58.1,\n"
    "                       0.58.2, 0.58.3 (default: 0.58.3)\n"
    "      --format FORMAT  what FILE is; auto looks at its content: auto, elf,\n"
    "                       flat, hex (default: auto)\n"
    "      --json           print the findings as JSON\n"
    "  -h, --help           print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  An object of unknown age:\n"
    "    tilery doctor old.o\n"},
    {"run", tly_cli_run_run, run_options, 30, 1, 1, "tilery run [OPTION]... FILE",
    "Usage: tilery run [OPTION]... FILE\n"
    "\n"
    "Loads a program and runs it from its entry until it reaches the stop address.\n"
    "FILE is assembly text, a PTO ELF program or object, flat bytes or hex; - reads\n"
    "standard input. What lies in the file goes to memory as its addresses say, the\n"
    "other registers and all memory are zero. Numerics are those of the profile\n"
    "pto-v0 unless --profile says otherwise: deterministic, on raw carriers, and not\n"
    "IEEE arithmetic.\n"
    "\n"
    "Registers at the start: sp (R1) and R2, which FENTRY and its like use as their\n"
    "stack pointer, hold the top of the stack; ra (R10) and the return address hold\n"
    "the stop address, so that a program that returns stops; --arg sets a0, a1 and\n"
    "so on (a0 is R2).\n"
    "\n"
    "A program stops cleanly at the address of --stop-pc, of the symbol\n"
    "cross_model_stop, or 0. The exit code is 8 if it broke a rule and the ring that\n"
    "took the trap has no vector; the message says which instruction, which rule and\n"
    "why. It is 9 if --max-steps were not enough.\n"
    "\n"
    "--pes runs the program on several processing elements of the core: each is a\n"
    "machine of its own, with its own registers and local tiles, and starts in the\n"
    "same way, but with a stack of its own (element N has a sixteenth of the space\n"
    "below the top, 1 MiB at most, less N times) and with its number in THREAD_ID.\n"
    "Memory, general queues and shared tiles are common. A mask in a bundle says\n"
    "which of them take part. Instructions that reach what is common and ordered\n"
    "(atomics, fences, queues, shared tiles) are executed in an order that does not\n"
    "depend on --threads: a program without races gives the same bits with any\n"
    "number of threads. With --trace and --stats they run one after the other.\n"
    "Without --pes there is one machine, whose tiles stand for those of all\n"
    "elements, as in the specification's model. The element whose trap ended the run\n"
    "is named in the message.\n"
    "\n"
    "Tensors come from a server (unix:/PATH, tcp:HOST:PORT, tls:HOST:PORT) or from a\n"
    "file of any format that is read here. A panel of CUBE cells that a server made\n"
    "(LAYOUT cube_m16, cube_m32, cube_n8) goes into a tile byte by byte. A KEY may\n"
    "have colons; a LAYOUT or TYPE:SHAPE is what stands last.\n"
    "\n"
    "Options:\n"
    "      --profile NAME       numerics: the reference on raw carriers, or real\n"
    "                           arithmetic (docs/spec/ieee-profile.md): pto-v0, ieee\n"
    "                           (default: pto-v0)\n"
    "      --memory BYTES       size of memory; K, M and G are units. Rings 2 to 15\n"
    "                           see the first three quarters (default: 1G)\n"
    "      --entry ADDRESS      where the program starts: an address or a symbol;\n"
    "                           without it what the file says\n"
    "      --stop-pc ADDRESS    where the program stops: an address or a symbol\n"
    "      --pes N              run on processing elements 0 to N-1, side by side\n"
    "      --threads N          with --pes, on how many threads; the results are the\n"
    "                           same (default: 1)\n"
    "      --round STEPS        with --pes, after how many instructions at most the\n"
    "                           elements wait for each other; it decides who is\n"
    "                           first (default: 65536)\n"
    "      --max-steps N        end after N instructions, of each element\n"
    "      --stack-top ADDRESS  the stack pointer at the start; without it the end\n"
    "                           of what all rings see\n"
    "      --arg VALUE          the next argument, a number or a symbol: a0, a1 and\n"
    "                           so on; may be repeated\n"
    "      --result RANGE       print memory at the end as hex: ADDRESS,LEN,\n"
    "                           SYMBOL,LEN or SYMBOL\n"
    "      --golden FILE        compare the result (without --result that at\n"
    "                           cross_model_result) with a hex file\n"
    "      --trace FORM         show every instruction on standard error: writes,\n"
    "                           accesses to memory, traps: text, jsonl\n"
    "      --stats              print how many instructions of each group were\n"
    "                           executed, and how many were refused\n"
    "      --state FORM         print the state at the end: all that differs from\n"
    "                           reset, and every tile: json\n"
    "      --script FILE        instead of one run, do what FILE says, an action a\n"
    "                           line: run, step, until, set, alloc, free, copy,\n"
    "                           print\n"
    "      --tiles              print the allocated tiles at the end: shape,\n"
    "                           capacity, what is defined, first elements\n"
    "      --dump-tiles FILE    write the allocated tiles at the end to a container,\n"
    "                           each in its own layout\n"
    "      --tensor BINDING     before the run, SYMBOL=ADDRESS:KEY[:LAYOUT] or\n"
    "                           FILE:KEY: a tensor goes to memory; row-major without\n"
    "                           a layout; may be repeated\n"
    "      --tile BINDING       before the run, TILE=ADDRESS:KEY[:LAYOUT] or\n"
    "                           FILE:KEY: a tile (t#1 to n#16) of element 0; cube_n8\n"
    "                           without a layout. Several, as u#1,u#2, share a panel\n"
    "                           that is too large for one; may be repeated\n"
    "      --from ADDRESS       where all tensors of --tensor and --tile come from,\n"
    "                           a server or a file; they are then\n"
    "                           SYMBOL=KEY[:LAYOUT] and TILE=KEY[:LAYOUT]\n"
    "      --stored ORDER       how the axes of the matrices stand that --tile and\n"
    "                           --tensor bring as panels: K x N or N x K: kn, nk\n"
    "                           (default: kn)\n"
    "      --out BINDING        after a clean run, SYMBOL=FILE:KEY[:TYPE:SHAPE]:\n"
    "                           memory as a tensor in a container, such as\n"
    "                           y=y.hrry:out:f32:4x64; may be repeated\n"
    "      --out-tile BINDING   after a clean run, TILE=FILE:KEY: a tile as a\n"
    "                           tensor, in its own layout; may be repeated\n"
    "      --free-at ADDRESS    give back all tiles but those of --tile whenever the\n"
    "                           program comes to this address or symbol, which no\n"
    "                           instruction does\n"
    "      --isa RELEASE        release of the instruction set; without it what the\n"
    "                           program's note says, or 0.58.3: 0.58.0, 0.58.1,\n"
    "                           0.58.2, 0.58.3\n"
    "      --format FORMAT      what FILE is; auto looks at its content: auto, asm,\n"
    "                           elf, flat, hex (default: auto)\n"
    "      --address ADDRESS    where text, flat bytes and hex without addresses\n"
    "                           begin (default: 0x10000)\n"
    "      --ignore-identity    run an ELF file without a note, or of another\n"
    "                           release\n"
    "  -h, --help               print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  A program, and what it left in memory:\n"
    "    tilery run sum.s --result total,8\n"
    "  A tile of 30 x 60 halves for the program, and what it made of it:\n"
    "    printf 'alloc t#1 8192 FP16 30 60\\nrun\\n' | tilery run a.elf --script -\n"
    "  Weights from a server as a tile of cells, and the result in a file:\n"
    "    tilery run layer.s --tile u#1=unix:/tmp/s.sock:w --out y=y.hrry:y:f32:8x32\n"
    "  A loop that makes its tiles anew each time, with weights in two that stay:\n"
    "    tilery run loop.s --free-at round --tile u#1,u#2=unix:/tmp/s.sock:w\n"
    "  How it came to its fault:\n"
    "    tilery run broken.elf --trace text\n"},
    {"check", tly_cli_run_check, check_options, 4, 2, 4096, "tilery check [OPTION]... KIND FILE...",
    "Usage: tilery check [OPTION]... KIND FILE...\n"
    "\n"
    "Runs files of recorded cases, plain or compressed with gzip, and prints each\n"
    "case that does not come out as recorded, with the first field that differs.\n"
    "KIND is pto: recordings of the public executable model of the PTO architecture,\n"
    "JSON Lines. The exit code is 1 if any case fails.\n"
    "\n"
    "Options:\n"
    "      --only TEXT  run only cases whose form, id, group or text contains TEXT\n"
    "      --jobs N     number of threads; without it one for each processor\n"
    "      --show N     number of failures that are printed for each file (default:\n"
    "                   20)\n"
    "  -h, --help       print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  All cases of one instruction form:\n"
    "    tilery check pto scalar-alu.jsonl.gz --only c_add\n"
    "  Everything that is recorded about the tensor format:\n"
    "    tilery check hurray vectors/\n"},
    {"bench", tly_cli_run_bench, bench_options, 6, 0, 16, "tilery bench [OPTION]... GROUP...",
    "Usage: tilery bench [OPTION]... GROUP...\n"
    "\n"
    "Runs groups of benchmarks. Every figure is taken together with a reference in\n"
    "the same run, interleaved, and both are medians in the same unit; ratio is\n"
    "value divided by reference. Spread is the distance between the quartiles over\n"
    "the median. GROUP is one of those that --list prints, or all. A benchmark that\n"
    "cannot run here says why on standard error.\n"
    "\n"
    "Options:\n"
    "      --filter TEXT   run only benchmarks whose name contains TEXT\n"
    "      --json          print the results, and the machine they were taken on, or\n"
    "                      the list, as JSON\n"
    "      --list          print the names of the groups and of their benchmarks,\n"
    "                      and run none\n"
    "      --profile NAME  numerics of the group pto: pto-v0, ieee (default: pto-v0)\n"
    "      --runs N        samples taken of each side (default: 15)\n"
    "  -h, --help          print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  How much longer than /bin/true the command takes to start:\n"
    "    tilery bench cli\n"
    "  Everything, for a program to read:\n"
    "    tilery bench all --json\n"},
    {"help", tly_cli_run_help, help_options, 1, 0, 1, "tilery help [OPTION]... [COMMAND]",
    "Usage: tilery help [OPTION]... [COMMAND]\n"
    "\n"
    "Prints what a command does and which options it takes, like its option --help.\n"
    "Without COMMAND: the list of commands.\n"
    "\n"
    "Options:\n"
    "  -h, --help  print this and do nothing else\n"
    "\n"
    "Examples:\n"
    "  What bench does:\n"
    "    tilery help bench\n"},
};

const uint32_t tly_cli_num_commands = sizeof tly_cli_commands / sizeof tly_cli_commands[0];

const char tly_cli_help[] =
    "Usage: tilery COMMAND [OPTION]... [ARGUMENT]...\n"
    "       tilery --help | --version\n"
    "\n"
    "Tilery keeps tensors in one portable layout and hands them out in the packed\n"
    "layout that a matrix kernel wants, so that nothing has to be repacked where\n"
    "they are used.\n"
    "\n"
    "Commands:\n"
    "  import    put the tensors of other files into a container\n"
    "  ls        list the tensors of a file\n"
    "  inspect   show everything that a file says about its tensors\n"
    "  convert   convert tensors: file format, layout, type\n"
    "  verify    check everything in files of tensors, contents too\n"
    "  diff      compare two files of tensors, element by element\n"
    "  serve     hand out tensors of containers, packed on the fly\n"
    "  get       fetch a tensor in the layout that is wanted\n"
    "  put       put tensors of a container on a server\n"
    "  ping      ask whether a server is there\n"
    "  multiply  try a kernel on a served matrix\n"
    "  asm       assemble a PTO program\n"
    "  disasm    print a PTO program as text\n"
    "  ld        link PTO objects into a static program\n"
    "  isa       explain an instruction or a tile operation\n"
    "  doctor    say for which release a PTO object was built\n"
    "  run       run a PTO program\n"
    "  check     run published vectors against this build\n"
    "  bench     measure, each figure against a reference\n"
    "  help      explain a command\n"
    "\n"
    "`tilery COMMAND --help` explains a command and its options.\n"
    "\n"
    "Exit codes:\n"
    "  0   Everything was done\n"
    "  1   Two things that must agree differ: a check failed\n"
    "  2   The command was used wrongly: an unknown option, a value out of range, an\n"
    "      output name that is taken\n"
    "  3   The input is damaged, hostile, or beyond a limit\n"
    "  4   The input is legal, but this build or this machine does not handle it, or\n"
    "      a kernel module is missing\n"
    "  5   The system refused: no memory, a failed read or write, no connection, or\n"
    "      the work was cancelled\n"
    "  6   There is no such tensor, file, profile or group, or the layout cannot be\n"
    "      had from this tensor\n"
    "  7   The other side of the connection failed: it closed, answered with an\n"
    "      error, broke the protocol or fell silent\n"
    "  8   A PTO program broke a rule of its architecture, and nothing in it took\n"
    "      the trap\n"
    "  9   A PTO program did not end within the number of steps that it was given\n"
    "  70  A defect in Tilery\n"
    "\n"
    "Environment:\n"
    "  TILERY_SIMD               The widest vector instructions that may be used:\n"
    "                            portable, avx2, avx512, avx512vnni, avx512fp16 or\n"
    "                            auto. Every level gives the same bytes. A level\n"
    "                            that the processor lacks is an error\n"
    "  TILERY_MODULE_PATH        Folders, separated by colons, in which kernel\n"
    "                            modules (tilery-gemm-NAME.so) are looked for before\n"
    "                            those beside the command and those that were\n"
    "                            installed\n"
    "  TILERY_TLS_CA             For addresses that begin with tls: and URLs that\n"
    "                            begin with https:, a PEM file with the certificates\n"
    "                            of the authorities to trust, instead of those that\n"
    "                            the system trusts\n"
    "  TILERY_TOKEN_FILE         A file with the token to show to servers, which\n"
    "                            only its owner may read. It is shown over tls:,\n"
    "                            over a Unix socket and to this machine itself, and\n"
    "                            refused elsewhere\n"
    "  TILERY_TLS_CERT, TILERY_TLS_KEY\n"
    "                            Our own certificate with its chain and its key, PEM\n"
    "                            files, for servers that ask who is there\n";

const tly_cli_exit tly_cli_exits[] = {
    {0, ""},
    {1, ""},
    {2, "try `tilery %s --help`"},
    {3, "nothing was written; mend the input at the place named, or get it again from its source"},
    {4, ""},
    {5, ""},
    {6, ""},
    {7, "nothing was written here; the server's own messages say more"},
    {8, "run it with --trace text to see how it came there"},
    {9, ""},
    {70, "please report it with the command line and this message"},
};

const uint32_t tly_cli_num_exits = sizeof tly_cli_exits / sizeof tly_cli_exits[0];
#endif
