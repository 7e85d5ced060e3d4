# SPDX-License-Identifier: Apache-2.0
"""base .. wire for another processor, built with Debian's cross compiler and run under qemu-user.

The libraries that the tests need for that processor come from Debian too, unpacked under build/."""

import shutil

from .builds import run_suites, step_build
from .common import Report, tail
from .debian import unpack

TARGETS = {
    "aarch64": ("aarch64-linux-gnu", "arm64", "aarch64", "little", "ld-linux-aarch64.so.1"),
    "s390x": ("s390x-linux-gnu", "s390x", "s390x", "big", "ld64.so.1"),
}
PACKAGES = ["libcmocka-dev", "libcmocka0", "zlib1g-dev", "zlib1g"]


def cross(house, name):
    report = Report()
    triple, debian, cpu, endian, loader = TARGETS[name]
    place = house.build / f"cross-{name}"
    for program in (f"{triple}-gcc", f"qemu-{cpu}", "apt-get"):
        if shutil.which(program) is None:
            report.skip(f"{name}: {program} is not installed")
            return report
    why = unpack(place, debian, PACKAGES)
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
