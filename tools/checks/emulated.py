# SPDX-License-Identifier: Apache-2.0
"""Test programs on a processor that this machine has not: Bochs emulates one, a Linux kernel boots on
it, and its first process runs the programs one after the other.

Everything comes from Debian, unpacked under build/ (debian.py); nothing is installed. The release is
named because Bochs 2.7 of Debian 12 rounds some conversions to FP16 wrongly and has no AVX512-FP16."""

import os
import re
import shutil
import subprocess
import time

import run_tests

from .common import Report, tail
from .debian import unpack

RELEASE = "trixie"
PACKAGES = ["bochs", "bochsbios", "vgabios", "linux-image-cloud-amd64", "busybox-static", "isolinux",
            "syslinux-common", "xorriso"]
LIBRARIES = "usr/lib/x86_64-linux-gnu"

# What Linux must not use, as Bochs answers for it in ways that Linux does not expect; no5lvl because
# of the firmware's system management mode. None of it is about vectors.
KERNEL_OPTIONS = ("console=ttyS0 quiet nokaslr mitigations=off nopti no5lvl lpj=1000000 clearcpuid="
                  "pku,ospke,xsaves,xsavec,smap,smep,umip,fsgsbase,pcid,erms,fsrm,rdpid")

MACHINE = """\
display_library: rfb, options="timeout=0"
sound: waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy
megs: 512
cpu: model={processor}, ips=50000000
romimage: file={share}/bochs/BIOS-bochs-latest
vgaromimage: file={share}/vgabios/vgabios.bin
ata0-master: type=cdrom, path=boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial.txt
log: bochs.log
panic: action=fatal
clock: sync=none
"""

INIT = """\
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
export CMOCKA_MESSAGE_OUTPUT=TAP TILERY_ROOT=/work TILERY_SEED={seed}
export LD_LIBRARY_PATH=/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu
cd /work
echo
{commands}
echo "== end"
/bin/busybox sleep 1
/bin/busybox poweroff -f
"""


def write_archive(folder, file):
    """A folder as the archive (cpio, newc) that Linux unpacks into its first file system."""
    def entry(name, mode, data):
        fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        for part in (head, data):
            file.write(part + bytes(-len(part) % 4))

    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        entry(str(path.relative_to(folder)), path.stat().st_mode, data)
    entry("TRAILER!!!", 0, b"")


def native(sysroot, program):
    """How to run a program of the sysroot with the libraries that it was linked to."""
    return [sysroot / "usr/lib64/ld-linux-x86-64.so.2", "--library-path", sysroot / LIBRARIES,
            sysroot / "usr/bin" / program]


def make_files(house, place, sysroot, programs, levels, seed):
    """What the emulated machine finds when it starts: the programs, what they load, and vectors."""
    files = place / "files"
    shutil.rmtree(files, ignore_errors=True)
    for name in ("bin", "proc", "dev", "tests"):
        (files / name).mkdir(parents=True)
    shutil.copy(sysroot / "usr/bin/busybox", files / "bin/busybox")
    shutil.copytree(house.root / "tests/vectors", files / "work/tests/vectors")
    shutil.copytree(house.root / "examples", files / "work/examples")
    commands = []
    for name, rounds in programs.items():
        program = house.build / "tests" / ("test_" + name.replace("/", "_"))
        shutil.copy(program, files / "tests")
        listed = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True).stdout
        for library in re.findall(r"(/\S+) \(0x", listed):
            (files / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, files / library[1:])
        for level in levels:
            commands.append(f'echo "== {name} {level}"\n'
                            f"TILERY_SIMD={level} TILERY_ROUNDS={rounds or ''} "
                            f'/tests/{program.name} 2>&1\necho "== ended $?"')
    init = files / "init"
    init.write_text(INIT.format(seed=seed, commands="\n".join(commands)))
    init.chmod(0o755)


def make_disc(place, sysroot):
    disc = place / "disc"
    shutil.rmtree(disc, ignore_errors=True)
    disc.mkdir()
    with (disc / "files").open("wb") as file:
        write_archive(place / "files", file)
    shutil.copy(next((sysroot / "boot").glob("vmlinuz-*")), disc / "linux")
    shutil.copy(sysroot / "usr/lib/ISOLINUX/isolinux.bin", disc)
    shutil.copy(sysroot / "usr/lib/syslinux/modules/bios/ldlinux.c32", disc)
    (disc / "isolinux.cfg").write_text(
        f"default linux\nlabel linux\n  kernel /linux\n  append initrd=/files {KERNEL_OPTIONS}\n")
    subprocess.run([*native(sysroot, "xorriso"), "-as", "mkisofs", "-quiet", "-o", place / "boot.iso",
                    "-b", "isolinux.bin", "-c", "boot.cat", "-no-emul-boot", "-boot-load-size", "4",
                    "-boot-info-table", disc], check=True, stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT)


def run_machine(place, sysroot, processor, timeout):
    """Runs until the machine turns itself off; returns what it wrote to its serial port."""
    serial = place / "serial.txt"
    serial.unlink(missing_ok=True)
    (place / "machine").write_text(MACHINE.format(processor=processor, share=sysroot / "usr/share"))
    (place / "commands").write_text("c\n")   # Debian's Bochs begins in its debugger
    # Its screen is a server that waits for a viewer: let it wait in a network of its own.
    alone = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], stderr=subprocess.DEVNULL).returncode:
        alone = []
    environment = {**os.environ, "BXSHARE": str(sysroot / "usr/share/bochs"),
                   "LTDL_LIBRARY_PATH": str(sysroot / LIBRARIES / "bochs/plugins")}
    with (place / "bochs.txt").open("wb") as printed:
        bochs = subprocess.Popen(
            [*alone, *native(sysroot, "bochs-bin"), "-q", "-f", "machine", "-rc", "commands"],
            cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=printed,
            stderr=subprocess.STDOUT)
        until = time.monotonic() + timeout
        text = ""
        try:   # a failed kernel stays on; Bochs leaves when the machine turns itself off
            while bochs.poll() is None and time.monotonic() < until and "Kernel panic" not in text:
                time.sleep(1)
                text = serial.read_text(errors="replace") if serial.is_file() else ""
        finally:
            bochs.kill()
            bochs.wait()
    text = serial.read_text(errors="replace") if serial.is_file() else ""
    return text.replace("\r", "")


def count_programs(report, text, programs, levels):
    parts = {match[1]: match for match in
             re.finditer(r"^== (\S+ \S+)\n(.*?)^== ended (\d+)$", text, re.M | re.S)}
    for name in programs:
        for level in levels:
            ran = parts.get(f"{name} {level}")
            if ran is None:
                report.rule([f"{name} at {level}: did not end"])
                continue
            counts = run_tests.count_tap(ran[2], int(ran[3]))
            if counts.failed or counts.skipped:
                counts.lines = [f"{name} at {level}: {counts.line()}", *tail(ran[2])]
            report.add(counts)


def emulated(house, row, seed):
    """The programs of a row of proofs.toml, at each of its vector levels."""
    report = Report()
    place = house.build / "emulated"
    missing = [tool for tool in ("apt-get", "dpkg-deb", "ldd") if shutil.which(tool) is None]
    if missing or os.uname().machine != "x86_64":
        report.skip(f"needs a Debian of x86-64 with {', '.join(missing or ['its tools'])}")
        return report
    why = unpack(place, "amd64", PACKAGES, RELEASE)
    if why:
        report.skip("Debian's packages could not be fetched:\n" + "\n".join(tail(why, 8)))
        return report
    sysroot = place / "sysroot"
    make_files(house, place, sysroot, row["programs"], row["levels"], seed)
    make_disc(place, sysroot)
    text = run_machine(place, sysroot, row["processor"], row["timeout"])
    count_programs(report, text, row["programs"], row["levels"])
    if not report.check("== end\n" in text, f"the machine stopped early; see {place}/bochs.log"):
        report.lines += tail(text, 20)
    return report
