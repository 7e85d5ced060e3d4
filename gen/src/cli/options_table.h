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
    TLY_CLI_BENCH_FILTER = 0,
    TLY_CLI_BENCH_JSON = 1,
    TLY_CLI_BENCH_LIST = 2,
    TLY_CLI_BENCH_RUNS = 3,
    TLY_CLI_BENCH_HELP = 4,
};

enum {
    TLY_CLI_HELP_HELP = 0,
};

#ifdef TLY_CLI_DEFINE_TABLES

static const char *const import_format_choices[] = {"auto", "onnx", "safetensors", "npy", NULL};

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

static const tly_cli_option bench_options[] = {
    {"filter", 0, TLY_CLI_TEXT, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"json", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
    {"list", 0, TLY_CLI_FLAG, 0, UINT64_C(0), UINT64_C(0), NULL},
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
    "safetensors and npy files, and writes all their tensors into one container.\n"
    "Element values are kept bit for bit. The container appears whole or not at all;\n"
    "an older file of that name is replaced.\n"
    "\n"
    "Every byte of FILE is distrusted. External data of an ONNX model is read from\n"
    "the model's own folder only.\n"
    "\n"
    "Options:\n"
    "  -o, --output OUT        the container to write; always needed\n"
    "      --format FORMAT     what the files are; auto looks at their content:\n"
    "                          auto, onnx, safetensors, npy (default: auto)\n"
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
    "container, or in a file that could be imported.\n"
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
    {"bench", tly_cli_run_bench, bench_options, 5, 0, 16, "tilery bench [OPTION]... GROUP...",
    "Usage: tilery bench [OPTION]... GROUP...\n"
    "\n"
    "Runs groups of benchmarks. Every figure is taken together with a reference in\n"
    "the same run, interleaved, and both are medians in the same unit; ratio is\n"
    "value divided by reference. Spread is the distance between the quartiles over\n"
    "the median. GROUP is one of those that --list prints, or all. A benchmark that\n"
    "cannot run here says why on standard error.\n"
    "\n"
    "Options:\n"
    "      --filter TEXT  run only benchmarks whose name contains TEXT\n"
    "      --json         print the results, and the machine they were taken on, as\n"
    "                     JSON\n"
    "      --list         print the names of the groups and of their benchmarks, and\n"
    "                     run none\n"
    "      --runs N       samples taken of each side (default: 15)\n"
    "  -h, --help         print this and do nothing else\n"
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
    "  import  put the tensors of other files into a container\n"
    "  ls      list the tensors of a file\n"
    "  bench   measure, each figure against a reference\n"
    "  help    explain a command\n"
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
    "  70  A defect in Tilery\n"
    "\n"
    "Environment:\n"
    "  TILERY_SIMD  The widest vector instructions that may be used: portable, avx2,\n"
    "               avx512 or auto. Every level gives the same bytes. A level that\n"
    "               the processor lacks is an error\n";

const tly_cli_exit tly_cli_exits[] = {
    {0, ""},
    {1, ""},
    {2, "try `tilery %s --help`"},
    {3, "nothing was written; get the input again from its source, or have its writer look at the place named"},
    {4, ""},
    {5, ""},
    {6, ""},
    {7, "nothing was written; the server's own messages say more"},
    {70, "please report it with the command line and this message"},
};

const uint32_t tly_cli_num_exits = sizeof tly_cli_exits / sizeof tly_cli_exits[0];
#endif
