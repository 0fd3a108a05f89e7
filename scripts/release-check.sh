#!/usr/bin/env bash
# Checks in seconds what a reproducible release needs: the program BINARY contains no path of this
# machine, its bill of materials lists every crate of which it contains a path, and two packages of
# it are the same. `make reproducible` compares two builds.
# usage: release-check.sh BINARY OUT
#   OUT is the directory in which deb.sh has built the package of the program.
set -euo pipefail

binary=$1 out=$2
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "release: $*" >&2
  exit 1
}

objcopy --decompress-debug-sections "$binary" "$work/program"
# Strings of a program follow each other without a separator, so a path is found by what is below the
# folder: that of the sources could be /src. In debug information the folder itself ends with NUL.
sources=$(realpath "$top") built=$(realpath "$(dirname "$binary")")
for path in "\Q$sources\E/crates/" "\x00\Q$sources\E\x00" "\Q$built\E/" "\Q${CARGO_HOME:-$HOME/.cargo}\E/registry/" "\Q$(rustc --print sysroot)\E/lib/"; do
  found=$(LC_ALL=C grep -aoP -m 1 "$path[\w./-]*" "$work/program" | tr -d '\0') || continue
  fail "the program contains the path ${found%%$'\n'*}"
done

(umask 077 && TZ=Elsewhere-14 LC_ALL=C.UTF-8 "$top/scripts/deb.sh" "$binary" "$work/again" >/dev/null)
package=$(basename "$work"/again/*.deb)
cmp "$out/$package" "$work/again/$package" || fail "two packages of the same program differ"

dpkg-deb --fsys-tarfile "$out/$package" | tar -xO ./usr/share/doc/polypath/polypath.cdx.json >"$work/bom.json"
jq -r '.components[] | "\(.name)-\(.version)"' "$work/bom.json" | sort -u >"$work/listed"
# Paths of the registry: release.sh gives them all the same beginning.
LC_ALL=C grep -aoP '/cargo/registry/src/[^/\s]+/\K[\w.+-]+(?=/)' "$work/program" | sort -u >"$work/contained"
[ -s "$work/contained" ] || fail "the program contains no path of a crate: was it built by release.sh?"
unlisted=$(comm -13 "$work/listed" "$work/contained")
[ -z "$unlisted" ] || fail "the bill of materials lacks $unlisted"

echo "release: no path of this machine, $(wc -l <"$work/contained") crates found and listed, two equal packages"
