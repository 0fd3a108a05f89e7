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

check_unit() { # TEMPLATE
  local template instance said
  template=$(basename "$1" .service)
  if ! command -v systemd-analyze >/dev/null; then
    echo "deb: skipped: needs systemd-analyze to verify $template.service"
    return
  fi
  # The instance is verified with a program and a user that this machine has.
  instance=$root/${template}check.service
  sed "s|/usr/bin/polypath|$root/usr/bin/polypath|; s|=polypath\$|=root|" "$1" >"$instance"
  said=$(systemd-analyze verify --man=no "$instance" 2>&1) || fail "$template.service is refused: $said"
  [ -z "$said" ] || fail "$template.service is complained of: $said"
  rm "$instance"
}

in_root --install "$package" || fail "it cannot be installed"
"$root/usr/bin/polypath" --version | grep -q '^polypath ' || fail "the program does not run"
for page in polypath-node polypath-relay; do
  [ -s "$root/usr/share/man/man1/$page.1.gz" ] || fail "there is no manual page $page"
done
if command -v groff >/dev/null; then
  for page in "$root"/usr/share/man/man1/*.gz; do
    said=$(gunzip -c "$page" | groff -man -Tutf8 -ww -z 2>&1) || fail "$(basename "$page"): $said"
    [ -z "$said" ] || fail "$(basename "$page") is complained of: $said"
  done
else
  echo "deb: skipped: needs groff to read the manual pages"
fi
for unit in "$root"/lib/systemd/system/*.service; do
  check_unit "$unit"
done
while read -r link; do
  [ -e "$root/usr/share/doc/polypath/$link" ] || fail "a guide has a link to $link, which is not in the package"
done < <("$(dirname "$0")/links.sh" "$root"/usr/share/doc/polypath/*.md)
bash -n "$root/usr/share/bash-completion/completions/polypath" || fail "bash refuses the completions"
in_root --remove polypath || fail "it cannot be removed"
left=$(find "$root" -path "$root/var" -prune -o -type f -print)
[ -z "$left" ] || fail "it leaves behind: $left"
echo "deb: $package installs, runs and is removed"
