#!/usr/bin/env bash
# Attacks two nodes in namespaces, and compares the program with that of the revision BASE and with
# wireguard-go.
# usage: attack.sh ATTACK PROGRAM BASE [OPTION ...]
#   ATTACK is the example of that name; the options are those of ATTACK.
set -euo pipefail

attack=$1 program=$2 base=$3
shift 3
if [ "$(id -u)" -ne 0 ]; then
  echo "attack: skipped: needs root for network namespaces" >&2
  exit 0
fi
before=()
# A shallow clone may lack the default revision.
if built=$("$(dirname "$0")/build-revision.sh" "$base"); then
  before=(--before "$built")
else
  echo "attack: skipped: the comparison with $base" >&2
fi
exec "$attack" --program "$program" "${before[@]}" "$@"
