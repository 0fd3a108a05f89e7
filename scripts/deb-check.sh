#!/usr/bin/env bash
# Installs the package PACKAGE into a root of its own, uses what came with it, and removes it again.
set -euo pipefail

package=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
touch "$root"/var/lib/dpkg/{status,available}

fail() {
  echo "deb: $*" >&2
  exit 1
}
# What it depends on is not in that root; its scripts run outside, and are told of it by DPKG_ROOT.
in_root() {
  dpkg --root="$root" --log=/dev/null --force-depends --force-script-chrootless --force-not-root "$@" >/dev/null 2>&1
}

in_root --install "$package" || fail "it cannot be installed"
"$root/usr/bin/polypath" --version | grep -q '^polypath ' || fail "the program does not run"
[ -s "$root/usr/share/man/man1/polypath-node.1.gz" ] || fail "there are no manual pages"
if command -v systemd-analyze >/dev/null; then
  # The instance is verified with a program and a user that this machine has.
  unit=$root/polypath@check.service
  sed "s|/usr/bin/polypath|$root/usr/bin/polypath|; s|=polypath\$|=root|" \
    "$root/lib/systemd/system/polypath@.service" >"$unit"
  said=$(systemd-analyze verify --man=no "$unit" 2>&1) || fail "the unit is refused: $said"
  [ -z "$said" ] || fail "the unit is complained of: $said"
  rm "$unit"
fi
bash -n "$root/usr/share/bash-completion/completions/polypath" || fail "bash refuses the completions"
in_root --remove polypath || fail "it cannot be removed"
left=$(find "$root" -path "$root/var" -prune -o -type f -print)
[ -z "$left" ] || fail "it leaves behind: $left"
echo "deb: $package installs, runs and is removed"
