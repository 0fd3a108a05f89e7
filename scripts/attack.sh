#!/usr/bin/env bash
# Attacks two nodes in namespaces, and compares the program with that of the revision BASE and with
# wireguard-go.
# usage: attack.sh ATTACK PROGRAM DEFAULT BASE [OPTION ...]
#   ATTACK is the example of that name; the options are those of ATTACK. If BASE is empty, it is
#   DEFAULT, or no revision if this clone lacks DEFAULT.
set -euo pipefail

attack=$1 program=$2 default=$3 base=$4
shift 4
if [ "$(id -u)" -ne 0 ]; then
  echo "attack: skipped: needs root for network namespaces" >&2
  exit 0
fi
scripts=$(dirname "$0")
before=()
# A shallow clone may lack the default revision.
if [ -z "$base" ] && ! git -C "$scripts" rev-parse --quiet --verify "$default^{commit}" >/dev/null; then
  echo "attack: skipped: the comparison with $default, which this clone lacks" >&2
else
  built=$("$scripts/build-revision.sh" "${base:-$default}")
  before=(--before "$built")
fi
exec "$attack" --program "$program" "${before[@]}" "$@"
