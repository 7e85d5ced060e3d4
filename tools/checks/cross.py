# SPDX-License-Identifier: Apache-2.0
"""base .. wire for another processor, built with Debian's cross compiler and run under qemu-user.

The libraries that the tests need for that processor come from Debian too: the packages are fetched
with a private apt configuration and unpacked under build/, so that nothing on the system changes."""

import os
import shutil
import subprocess

from .builds import run_suites, step_build
from .common import Report, tail

TARGETS = {
    "aarch64": ("aarch64-linux-gnu", "arm64", "aarch64", "little", "ld-linux-aarch64.so.1"),
    "s390x": ("s390x-linux-gnu", "s390x", "s390x", "big", "ld64.so.1"),
}
PACKAGES = ["libcmocka-dev", "libcmocka0", "zlib1g-dev", "zlib1g"]


def fetch_packages(place, debian):
    """Unpacks PACKAGES of a Debian architecture below `place`; returns "" or why not."""
    sysroot = place / "sysroot"
    stamp = place / "packages"
    if stamp.is_file() and stamp.read_text().split() == PACKAGES:
        return ""
    state, cache, debs = place / "apt/state", place / "apt/cache", place / "debs"
    for folder in (state / "lists/partial", cache / "archives/partial", debs, sysroot):
        folder.mkdir(parents=True, exist_ok=True)
    (place / "apt/status").write_text("")
    options = []
    for setting in (f"APT::Architecture={debian}", f"APT::Architectures={debian}",
                    f"Dir::State={state}", f"Dir::State::status={place / 'apt/status'}",
                    f"Dir::Cache={cache}", "APT::Sandbox::User=root", "Acquire::Retries=3",
                    "Acquire::Languages=none", "pkgCacheGen::ForceEssential=none"):
        options += ["-o", setting]
    update = subprocess.run(["apt-get", "-q", *options, "update"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    done = subprocess.run(["apt-get", "-q", *options, "download", *PACKAGES],
                          cwd=debs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        return (update.stdout + done.stdout).decode(errors="replace")
    for package in debs.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(package), str(sysroot)], check=True)
    stamp.write_text("\n".join(PACKAGES))
    return ""


def cross(house, name):
    report = Report()
    triple, debian, cpu, endian, loader = TARGETS[name]
    place = house.build / f"cross-{name}"
    for program in (f"{triple}-gcc", f"qemu-{cpu}", "apt-get"):
        if shutil.which(program) is None:
            report.skip(f"{name}: {program} is not installed")
            return report
    why = fetch_packages(place, debian)
    if why:
        report.skip(f"{name}: Debian's packages could not be fetched: " + "\n".join(tail(why, 8)))
        return report
    libraries = place / "sysroot/usr/lib" / triple
    cross_file = place / "cross.ini"
    # The programs name the cross compiler's loader themselves: with qemu's prefix (-L), a program that
    # opens the folder / would see the prefix instead.
    system = f"/usr/{triple}/lib"
    text = (
        f"[binaries]\nc = '{triple}-gcc'\nar = '{triple}-ar'\nstrip = '{triple}-strip'\n"
        f"pkgconfig = 'pkg-config'\n"
        f"[properties]\nneeds_exe_wrapper = true\nsys_root = '{place / 'sysroot'}'\n"
        f"pkg_config_libdir = '{libraries / 'pkgconfig'}'\n"
        f"[host_machine]\nsystem = 'linux'\ncpu_family = '{cpu}'\ncpu = '{cpu}'\n"
        f"endian = '{endian}'\n"
        f"[built-in options]\nc_link_args = ['-Wl,--dynamic-linker={system}/{loader}']\n")
    if not cross_file.is_file() or cross_file.read_text() != text:
        shutil.rmtree(place / "out", ignore_errors=True)
        cross_file.write_text(text)
    report.add(step_build(house, place / "out", ["--cross-file", cross_file, "-Dfull=false"]))
    if not report.failed:
        run_suites(report, place / "out", wrapper=[
            f"qemu-{cpu}", "-E", f"LD_LIBRARY_PATH={libraries}:{system}"])
    return report


def aarch64(house):
    """64-bit Arm: no x86 header slipped in, and the portable code is right."""
    return cross(house, "aarch64")


def big_endian(house):
    """A big-endian processor; part of `make proof`, as its compiler is one package more."""
    return cross(house, "s390x")
