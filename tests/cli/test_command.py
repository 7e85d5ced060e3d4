# SPDX-License-Identifier: Apache-2.0
"""The frame of the command: help, errors, exit codes, streams, completions, man pages."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

from command import ROOT, TILERY, CommandTest, run

sys.path.insert(0, str(ROOT / "tools"))
from tlygen import options as generator  # noqa: E402

TABLE = generator.read_commands(ROOT)
STATUSES = tomllib.loads((ROOT / "tables/status.toml").read_text())["status"]
COMMANDS = {c["name"]: c for c in TABLE["command"]}


class Help(CommandTest):
    def test_program(self):
        wanted = generator.help_program(TABLE)
        self.assertEqual(self.good("--help").out, wanted)
        self.assertEqual(self.good("-h").out, wanted)
        self.assertEqual(self.good("help").out, wanted)

    def test_each_command(self):
        for name, command in COMMANDS.items():
            with self.subTest(name):
                wanted = generator.help_command(command)
                self.assertEqual(self.good(name, "--help").out, wanted)
                self.assertEqual(self.good(name, "-h").out, wanted)
                self.assertEqual(self.good("help", name).out, wanted)

    def test_help_counts_on_a_line_that_is_wrong(self):
        self.assertIn("Usage: tilery bench", self.good("bench", "-h", "--nonsense").out)

    def test_fits_a_terminal(self):
        for name in ["", *COMMANDS]:
            text = run("help", *([name] if name else [])).out
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
                self.assertEqual(line, line.rstrip())

    def test_version(self):
        out = self.good("--version").out
        header = (ROOT / "include/tilery/version.h").read_text()
        version = re.search(r'TLY_VERSION_STRING "(.*)"', header)[1]
        self.assertEqual(out, f"tilery {version}\n")


class Usage(CommandTest):
    def test_no_command(self):
        self.fails(2, "a command is missing")

    def test_unknown_command(self):
        self.fails(2, 'there is no command "benhc"; did you mean "bench"?', "benhc")
        self.fails(2, 'there is no command "zzzzzzzz"', "zzzzzzzz")
        self.fails(2, 'did you mean "bench"?', "help", "bencj")

    def test_option_before_command(self):
        self.fails(2, "--json comes before any command", "--json", "bench")

    def test_says_where_help_is(self):
        self.assertIn("tilery: try `tilery --help`\n", run("nonsense").err)
        for name in COMMANDS:
            with self.subTest(name):
                done = self.fails(2, "there is no option --zzzzzz", name, "--zzzzzz")
                self.assertIn(f"tilery: try `tilery {name} --help`\n", done.err)

    def test_missing_and_superfluous_arguments(self):
        for name, command in COMMANDS.items():
            with self.subTest(name):
                if command["min_arguments"] > 0:
                    self.fails(2, "an argument is missing: tilery " + name, name)
                if command["max_arguments"] < 20:
                    self.fails(2, "is one argument too many", name,
                               *["x"] * (command["max_arguments"] + 1))

    def test_suggestions_for_every_option(self):
        for name, command in COMMANDS.items():
            for option in command.get("option", []):
                if len(option["long"]) > 4:
                    with self.subTest(f"{name} {option['long']}"):
                        wrong = "--" + option["long"][1] + option["long"][0] + option["long"][2:]
                        self.fails(2, f"did you mean --{option['long']}?", name, wrong)

    def test_bytes_that_are_no_text_are_shown(self):
        self.fails(2, 'there is no command "caf\\xE9"', b"caf\xe9")
        self.fails(2, "\\xFF\\x1B", "bench", b"--\xff\x1b[31m")


class Streams(CommandTest):
    def test_full_device(self):
        for args in (["--version"], ["--help"], ["help", "bench"], ["bench", "--list"]):
            with self.subTest(args), open("/dev/full", "w") as full:
                done = run(*args, stdout=full)
                self.assertEqual(done.code, 5)
                self.assertIn("cannot write to standard output: No space left on device", done.err)

    def test_reader_that_has_gone(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        with os.fdopen(write_end, "wb") as pipe:
            done = run("--help", stdout=pipe)
        self.assertEqual((done.code, done.err), (5, ""))

    def test_closed_streams(self):
        done = subprocess.run(["sh", "-c", f'"{TILERY}" --version >&-'], stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 5)
        self.assertIn(b"cannot write to standard output", done.stderr)
        done = subprocess.run(["sh", "-c", f'"{TILERY}" --version <&- 2>&-'], stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"tilery ", done.stdout)
        done = subprocess.run(["sh", "-c", f'"{TILERY}" nonsense 2>&-'])
        self.assertEqual(done.returncode, 2)

    def test_wrong_simd_level(self):
        done = run("bench", "cli", env={"TILERY_SIMD": "sse9"})
        self.assertEqual(done.code, 2)
        self.assertIn('TILERY_SIMD is "sse9"', done.err)


class Bench(CommandTest):
    def test_unknown_group_and_filter(self):
        self.fails(6, 'there is no group of benchmarks "zzz"', "bench", "zzz")
        self.fails(6, 'contains "zzz"', "bench", "cli", "--filter", "zzz")
        self.fails(2, "a group is missing", "bench")
        self.fails(2, "--runs takes a number from 1 to 1001", "bench", "cli", "--runs=0")

    def test_form_of_the_results(self):
        done = self.good("bench", "cli", "--json", "--runs", "3")
        data = json.loads(done.out)
        self.assertEqual(list(data), ["machine", "results"])
        self.assertEqual(list(data["machine"]), ["cpu", "cores", "kernel", "compiler", "simd",
                                                 "memory", "version"])
        self.assertGreater(data["machine"]["memory"], 1 << 20)
        self.assertGreaterEqual(len(data["results"]), 1)
        for result in data["results"]:
            self.assertEqual(set(result) - {"note"}, {"name", "value", "unit", "reference", "ratio",
                                                      "better", "runs", "spread"})
            self.assertTrue(result["name"].startswith("cli."))
            self.assertAlmostEqual(result["ratio"], result["value"] / result["reference"], places=4)
            self.assertIn(result["better"], ("higher", "lower"))
            self.assertEqual(result["runs"], 3)
            self.assertGreaterEqual(result["spread"], 0)

    def test_table_and_list(self):
        listed = self.good("bench", "--list").out
        self.assertIn("cli.start", listed)
        groups = json.loads(self.good("bench", "--list", "--json").out)
        for group in groups:
            for case in group["benchmarks"]:
                self.assertIn(".", case["name"])
                self.assertIn(case["name"], listed)
        table = self.good("bench", "cli", "--runs", "3", "--filter", "start").out
        self.assertRegex(table, r"cli\.start +[0-9.]+ +[0-9.]+ +ms +[0-9.]+ +lower")


class Generated(CommandTest):
    def test_man_pages_render_without_warnings(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        pages = sorted((ROOT / "gen/man").glob("*.1"))
        self.assertEqual(len(pages), 1 + len(COMMANDS))
        for page in pages:
            with self.subTest(page.name):
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertGreater(len(done.stdout), 500)

    def test_man_page_documents_every_exit_code(self):
        text = (ROOT / "gen/man/tilery.1").read_text().replace("\\-", "-")
        for status in STATUSES:
            self.assertRegex(text, rf"\.B {status['exit']}\n[^.]*\.?.*\n?.*\b{status['name']}\b")

    def complete(self, *words):
        script = (f". {ROOT}/gen/completions/tilery.bash\nCOMP_WORDS=(\"$@\")\n"
                  "COMP_CWORD=$(($# - 1))\n_tilery\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
        done = subprocess.run(["bash", "--norc", "-c", script, "bash", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode().split()

    def test_bash_completes(self):
        self.assertEqual(set(self.complete("tilery", "")), {*COMMANDS, "--help", "--version"})
        self.assertEqual(self.complete("tilery", "ben"), ["bench"])
        for name, command in COMMANDS.items():
            wanted = {"--" + o["long"] for o in command.get("option", [])} | {"--help"}
            self.assertEqual(set(self.complete("tilery", name, "--")), wanted)
            for option in command.get("option", []):
                if option["type"] == "choice":
                    got = self.complete("tilery", name, "--" + option["long"], "")
                    self.assertEqual(got, option["choices"])
                elif option["type"] in ("file", "output"):
                    (self.folder / "some.hrry").touch()
                    got = self.complete("tilery", name, "--" + option["long"], "so")
                    self.assertEqual(got, ["some.hrry"])

    def test_zsh_and_fish_take_their_files(self):
        found = False
        for shell, name in (("zsh", "_tilery"), ("fish", "tilery.fish")):
            if shutil.which(shell):
                found = True
                done = subprocess.run([shell, "-n", ROOT / "gen/completions" / name],
                                      stderr=subprocess.PIPE)
                self.assertEqual((done.returncode, done.stderr), (0, b""), shell)
        if not found:
            self.skipTest("neither zsh nor fish is installed")

