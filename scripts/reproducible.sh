#!/usr/bin/env bash
# Builds the program and the Debian package of HEAD twice, in folders, with CARGO_HOME, HOME, umask,
# locale and time zone that differ, and compares their bytes. Takes two whole builds.
# usage: reproducible.sh
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
commit=$(git -C "$top" rev-parse HEAD)
cargo_home=${CARGO_HOME:-$HOME/.cargo}
rustup_home=${RUSTUP_HOME:-$HOME/.rustup}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -z "$(git -C "$top" status --porcelain)" ] || echo "reproducible: uncommitted changes are not built" >&2

# Runs in a subshell: its umask and its environment are its own.
build() ( # FOLDER CARGO_HOME UMASK VARIABLE=VALUE ...
  git clone --quiet "$top" "$1"
  git -C "$1" checkout --quiet --detach "$commit"
  cd "$1"
  umask "$3"
  env -i PATH="$PATH" RUSTUP_HOME="$rustup_home" ${RUSTUP_TOOLCHAIN:+RUSTUP_TOOLCHAIN="$RUSTUP_TOOLCHAIN"} \
    CARGO_HOME="$2" CARGO_TERM_QUIET=true "${@:4}" make --no-print-directory deb DEB=out >&2
)

first=$work/a
second=$work/the-second/folder-with-a-longer-path/b
# Spares a second download of all sources.
mkdir -p "$work/cargo-home/registry" "$work/home"
for part in cache index; do
  [ ! -d "$cargo_home/registry/$part" ] || cp -r "$cargo_home/registry/$part" "$work/cargo-home/registry"
done
echo "reproducible: building $commit, first" >&2
build "$first" "$cargo_home" 022 HOME="$HOME" LC_ALL=C TZ=UTC
echo "reproducible: building $commit, second" >&2
build "$second" "$work/cargo-home" 077 HOME="$work/home" LC_ALL=C.UTF-8 TZ=Elsewhere-14 USER=another

status=0
compare() { # FILE
  (cd "$first" && sha256sum "$1")
  (cd "$second" && sha256sum "$1")
  if cmp "$first/$1" "$second/$1"; then
    echo "reproducible: $(basename "$1"): the same"
  else
    status=1
  fi
}
compare target/release/polypath
compare "$(cd "$first" && echo out/*.deb)"
[ "$status" -eq 0 ] || { echo "reproducible: the builds differ" >&2; exit 1; }
