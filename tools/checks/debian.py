# SPDX-License-Identifier: Apache-2.0
"""Debian's packages for another processor, or of another release, unpacked in a folder of our own:
fetched with a private apt configuration, so that nothing on the system changes."""

import shutil
import subprocess

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def mirror():
    """Where the system has Debian's main packages from, all releases side by side; None: nowhere."""
    told = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT)",
                           "Identifier: Packages", "Origin: Debian"], stdout=subprocess.PIPE, text=True)
    found = [line.split()[0] for line in told.stdout.splitlines() if line.endswith(" main")]
    return next((uri for uri in found if "security" not in uri), None)


def unpack(place, architecture, packages, release=None):
    """Unpacks packages below `place`/sysroot; returns "" or why not. With a `release` they come from
    that one, together with all that they depend on."""
    sysroot, stamp = place / "sysroot", place / "packages"
    if stamp.is_file() and stamp.read_text().split() == packages:
        return ""
    state, cache, debs = place / "apt/state", place / "apt/cache", place / "debs"
    shutil.rmtree(sysroot, ignore_errors=True)
    shutil.rmtree(debs, ignore_errors=True)
    for folder in (state / "lists/partial", cache / "archives/partial", debs / "partial", sysroot):
        folder.mkdir(parents=True, exist_ok=True)
    (place / "apt/status").write_text("")
    settings = [f"APT::Architecture={architecture}", f"APT::Architectures={architecture}",
                f"Dir::State={state}", f"Dir::State::status={place / 'apt/status'}",
                f"Dir::Cache={cache}", "APT::Sandbox::User=root", "Acquire::Retries=3",
                "Acquire::Languages=none", "pkgCacheGen::ForceEssential=none"]
    fetch = ["download", *packages]
    if release is not None:
        if mirror() is None:
            return "apt knows no source of Debian's packages; apt-get update comes first"
        sources = place / "apt/sources.list"
        sources.write_text(f"deb [signed-by={KEYS}] {mirror()} {release} main\n")
        settings += [f"Dir::Etc::SourceList={sources}", "Dir::Etc::SourceParts=/dev/null",
                     f"Dir::Cache::Archives={debs}"]
        fetch = ["install", "--download-only", "--yes", "--no-install-recommends", *packages]
    apt = ["apt-get", "-q", *(word for setting in settings for word in ("-o", setting))]
    update = subprocess.run([*apt, "update"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    done = subprocess.run([*apt, *fetch], cwd=debs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        return (update.stdout + done.stdout).decode(errors="replace")
    for package in debs.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(package), str(sysroot)], check=True)
    stamp.write_text("\n".join(packages))
    return ""
