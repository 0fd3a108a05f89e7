#!/usr/bin/env bash
# Attacks two nodes in namespaces, and compares the program with that of the revision BASE, which is
# built in a copy of its own, and with wireguard-go.
# usage: attack.sh ATTACK PROGRAM BASE [OPTION ...]
#   ATTACK is the example of that name; BASE may be empty; the options are those of ATTACK.
set -euo pipefail
cd "$(dirname "$0")/.."

attack=$1 program=$2 base=$3
shift 3
before=()
if [ -n "$base" ]; then
  if git rev-parse --quiet --verify "$base^{commit}" >/dev/null; then
    tree=out/attack/$(git rev-parse --short "$base")
    mkdir -p "$tree"
    git archive "$base" | tar -x -C "$tree"
    echo "attack: building the program of $base" >&2
    # A target directory of its own: the copy is another workspace.
    (cd "$tree" && CARGO_TARGET_DIR=target cargo build --release --quiet --bin polypath)
    before=(--before "$tree/target/release/polypath")
  else
    echo "attack: skipped: the comparison with $base, which this clone does not have" >&2
  fi
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "attack: skipped: needs root for network namespaces" >&2
  exit 0
fi
exec "$attack" --program "$program" "${before[@]}" "$@"
