#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing; see tools/packages.txt.
#
#   tools/setup.sh GROUP...      for example: tools/setup.sh build check
#
# Does nothing, and needs no rights, when everything is there.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
groups=" ${*:-build} "

missing=()
while read -r group package command; do
    [[ -z $group || $group == \#* || $groups != *" $group "* ]] && continue
    [[ -n $command ]] && command -v "$command" >/dev/null 2>&1 && continue
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [[ $state == installed ]] || missing+=("$package")
done <"$here/packages.txt"
[[ ${#missing[@]} -eq 0 ]] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: this system has no apt-get; please install what corresponds to these Debian packages:" >&2
    echo "setup:   ${missing[*]}" >&2
    echo "setup: going on without them" >&2
    exit 0
fi
as_root=()
if [[ $(id -u) -ne 0 ]]; then
    if command -v sudo >/dev/null 2>&1 && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
        as_root=(sudo)
    else
        echo "setup: ${#missing[@]} packages are missing and this user may not install them. As root, run:" >&2
        echo "setup:   apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
fi
echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 \
        -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1
}
# Package lists may be absent or old on a new machine; a mirror that is down is told by the install.
apt update || true
if ! apt install --no-install-recommends "${missing[@]}"; then
    tail -n 25 "$log" >&2
    echo "setup: apt-get could not install these packages (see above): ${missing[*]}" >&2
    exit 1
fi
