# SPDX-License-Identifier: Apache-2.0
"""What is handed out: exported symbols, soname, no mutable globals, the installed library in C and
C++, a command that starts fast."""

import json
import os
import re
import shutil
import subprocess

from .common import Report, tail

EXPECTED = "tests/expected/exports.txt"
DECLARED = re.compile(r"\bTLY_API\b[^;{]*?\b(tly_\w+)\s*\(", re.S)
# Sections whose content can change while the library runs. Tables with pointers stand in
# .data.rel.ro, which the loader makes read-only.
MUTABLE = re.compile(r"^\.(data|bss|tdata|tbss)(?!\.rel\.ro)")
# The library tells its caller; it neither prints nor ends the process.
FORBIDDEN = {"abort", "exit", "_exit", "__assert_fail", "printf", "puts", "putchar", "perror",
             "gets", "sprintf", "strtok", "setlocale", "rand", "srand",
             "setenv", "putenv", "signal", "sigaction", "system"}
ALLOCATION = {"malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "strdup",
              "strndup", "asprintf", "getline"}
MAY_ALLOCATE = "base_context.c"
# What may have state of the process, and why.
MAY_HAVE_STATE = {
    "store_guard.c": "a signal has one handler for the whole process (docs/internals/store.md)",
}


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", str(library)], stdout=subprocess.PIPE,
                          check=True)
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    return sorted(row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] != "A")


def library_of(house):
    return house.build / "src/product/libtilery.so"


def write_exports(house):
    names = exported(library_of(house))
    (house.root / EXPECTED).write_text("".join(name + "\n" for name in names))
    print(f"{EXPECTED}: {len(names)} functions")


def exports(house):
    """The library exports what the public headers declare and what was exported before."""
    report = Report()
    names = exported(library_of(house))
    expected = (house.root / EXPECTED).read_text().split()
    declared = set()
    for base in ("include", "gen/include"):
        for path in (house.root / base).rglob("*.h"):
            text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
            declared |= set(DECLARED.findall(text))
    for problem, wrong in (
            (f"in {EXPECTED}, but no longer exported: that breaks programs which use it",
             set(expected) - set(names)),
            (f"exported, but not in {EXPECTED}: run `make exports`", set(names) - set(expected)),
            ("declared TLY_API, but not defined", declared - set(names)),
            ("exported, but declared in no public header", set(names) - declared)):
        report.rule([f"{name} is {problem}" for name in sorted(wrong)])
    code, text = house.command(["readelf", "-d", library_of(house)])
    report.check(code == 0 and "Library soname: [libtilery.so.0]" in text,
                 "libtilery.so: the soname must be libtilery.so.0")
    return report


def objects(archive):
    """{object: [(section, symbol)]}; section "*UND*" for what it needs from elsewhere."""
    done = subprocess.run(["objdump", "-t", str(archive)], stdout=subprocess.PIPE, check=True)
    found, current = {}, None
    for line in done.stdout.decode(errors="replace").splitlines():
        head = re.match(r"^(\S+):\s+file format", line)
        if head:
            current = found.setdefault(head[1], [])
            continue
        row = re.match(r"^[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+ (?:\.hidden )?(\S+)$", line)
        if row and current is not None:
            current.append((row[2], row[3], row[1]))
    return found


def globals_(house):
    """No mutable globals; nothing that prints, ends the process or bypasses the allocator."""
    report = Report()
    state, calls = [], []
    for archive in ("libtilery_core.a", "src/product/libtilery_full.a"):
        path = house.build / archive
        if not path.is_file():
            continue
        for name, symbols in sorted(objects(path).items()):
            def is_source(source):
                return re.search(rf"(^|[/_]){re.escape(source)}\.o$", name) is not None

            if any(is_source(source) for source in MAY_HAVE_STATE):
                continue
            # A section's own symbol (flag d with the section's name) is no variable.
            bad = [s for section, s, flags in symbols
                   if MUTABLE.match(section) and s != section and "f" not in flags]
            if bad:
                state.append(f"{name}: mutable globals: {', '.join(bad)}")
            needs = {s for section, s, _ in symbols if section == "*UND*"}
            banned = needs & FORBIDDEN
            if archive == "libtilery_core.a" and not is_source(MAY_ALLOCATE):
                banned |= needs & ALLOCATION
            if banned:
                calls.append(f"{name}: calls {', '.join(sorted(banned))}; the library returns a status "
                             "and allocates through its context")
    report.rule(state)
    report.rule(calls)
    return report


def consumer(house):
    """A program of somebody else's finds, compiles against and links the installed library."""
    report = Report()
    place = house.build / "consumer"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    code, text = house.command(["meson", "install", "-C", house.build, "--no-rebuild", "--destdir",
                                place / "dest"])
    if not report.check(code == 0, "meson install failed:\n" + "\n".join(tail(text))):
        return report
    found = list((place / "dest").rglob("tilery.pc"))
    if not report.check(len(found) == 1, "tilery.pc is not installed"):
        return report
    libdir = found[0].parent.parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(found[0].parent)}

    def flags(*options):
        done = subprocess.run(["pkg-config", *options, "tilery"], env=environment,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().split()

    version = "".join(flags("--modversion"))
    report.check(re.fullmatch(r"\d+\.\d+\.\d+", version) is not None,
                 f"tilery.pc: version {version!r}")
    code, text = house.command([libdir.parents[1] / "bin/tilery", "--version"])
    report.check(code == 0 and version in text, f"the installed command says {text!r}")
    for wanted in ("man/man1/tilery.1", "bash-completion/completions/tilery",
                   "zsh/site-functions/_tilery", "fish/vendor_completions.d/tilery.fish"):
        report.check((libdir.parents[1] / "share" / wanted).is_file(), f"share/{wanted} is missing")
    shared = flags("--cflags", "--libs")
    static = [libdir / "libtilery.a" if f == "-ltilery" else f
              for f in flags("--static", "--cflags", "--libs")]
    sources = house.root / "tests/consumer"
    for compiler, source in (("gcc", "consumer.c"), ("clang", "consumer.c"),
                             ("g++", "consumer.cpp"), ("clang++", "consumer.cpp")):
        if shutil.which(compiler) is None:
            report.skip(f"{compiler} is not installed")
            continue
        for kind, wanted in (("shared", shared), ("static", static)):
            program = place / f"{source}-{compiler}-{kind}".replace("+", "x")
            code, text = house.command([compiler, "-Wall", "-Wextra", "-Werror", "-o", program,
                                        sources / source, *wanted])
            if not report.check(code == 0, f"{source} with {compiler}, {kind}:\n{text}"):
                continue
            run_with = environment
            if kind == "shared":
                run_with = {**environment, "LD_LIBRARY_PATH": str(libdir)}
            code, text = house.command([program, version], env=run_with)
            report.check(code == 0, f"{program.name} ended with {code}:\n{text}")
    if not (house.build / "transformer").exists():
        report.skip("oneDNN is not installed: examples/onednn was not built")
        return report
    example = house.root / "examples/onednn/transformer.c"
    program = place / "transformer"
    code, text = house.command(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-std=c11", "-o", program, example,
                                *shared, "-ldnnl"])
    report.check(code == 0, f"{example.name} does not build as its first lines say:\n{text}")
    code, text = house.command([program], env={**environment, "LD_LIBRARY_PATH": str(libdir)})
    report.check(code == 2 and "usage:" in text, f"{program.name} ended with {code}:\n{text}")
    return report


def startup(house):
    """`tilery --version` within twice the time of /bin/true; noise gets three attempts."""
    report = Report()
    tilery = house.build / "tilery"
    if not tilery.is_file():
        report.check(False, "build/tilery does not exist")
        return report
    seen = []
    while len(seen) < 3 and (not seen or seen[-1] > 2):
        code, text = house.command([tilery, "bench", "cli", "--filter", "cli.start", "--json",
                                    "--runs", "101"])
        if code != 0:
            report.check(False, f"tilery bench cli ended with {code}")
            return report
        seen.append(json.loads(text)["results"][0]["ratio"])
    report.check(seen[-1] <= 2, "tilery --version takes "
                 + ", ".join(f"{s:.2f}" for s in seen) + " times as long as /bin/true, at most 2")
    return report
