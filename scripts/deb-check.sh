#!/usr/bin/env bash
# Installs the package PACKAGE into a temporary root, checks its contents, and removes it.
# usage: deb-check.sh PACKAGE
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
# The root lacks the dependencies. The package's scripts run outside the root, which DPKG_ROOT
# names.
in_root() {
  dpkg --root="$root" --log=/dev/null --force-depends --force-script-chrootless --force-not-root "$@" >/dev/null 2>&1
}

check_unit() { # TEMPLATE
  local template instance output
  template=$(basename "$1" .service)
  if ! command -v systemd-analyze >/dev/null; then
    echo "deb: skipped: needs systemd-analyze to verify $template.service"
    return
  fi
  # The instance is verified with a program and a user that this machine has.
  instance=$root/${template}check.service
  sed "s|/usr/bin/polypath|$root/usr/bin/polypath|; s|=polypath\$|=root|" "$1" >"$instance"
  output=$(systemd-analyze verify --man=no "$instance" 2>&1) || fail "$template.service is invalid: $output"
  [ -z "$output" ] || fail "$template.service has warnings: $output"
  rm "$instance"
}

in_root --install "$package" || fail "it cannot be installed"
"$root/usr/bin/polypath" --version | grep -q '^polypath ' || fail "the program does not run"
for page in polypath-node polypath-relay; do
  [ -s "$root/usr/share/man/man1/$page.1.gz" ] || fail "there is no manual page $page"
done
if command -v groff >/dev/null; then
  for page in "$root"/usr/share/man/man1/*.gz; do
    output=$(gunzip -c "$page" | groff -man -Tutf8 -ww -z 2>&1) || fail "$(basename "$page"): $output"
    [ -z "$output" ] || fail "$(basename "$page") has warnings: $output"
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
bash -n "$root/usr/share/bash-completion/completions/polypath" || fail "the bash completions have a syntax error"
in_root --remove polypath || fail "it cannot be removed"
left=$(find "$root" -path "$root/var" -prune -o -type f -print)
[ -z "$left" ] || fail "it leaves behind: $left"
echo "deb: $package installs, runs and is removed"
