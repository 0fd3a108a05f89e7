#!/usr/bin/env bash
# The long parts of `make check`, two at a time: the soak beside fuzzing and the reduced reproduction, which it does not
# feel, since its nodes have a real-time priority. Fails where one of them does.
# usage: long.sh MINUTES
set -uo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
soak=
# The soak ends its namespaces and nodes itself.
trap '[ -z "$soak" ] || kill "$soak" 2>/dev/null; rm -f "$log"' EXIT

failed=0
if [ "$(id -u)" -ne 0 ] || [ ! -e /dev/net/tun ]; then
  echo "soak: skipped: needs root and /dev/net/tun"
else
  make --no-print-directory soak MINUTES="$1" >"$log" 2>&1 &
  soak=$!
fi
make --no-print-directory fuzz reproduce || failed=1
if [ -n "$soak" ]; then
  wait "$soak" || failed=1
  soak=
  tr '\r' '\n' <"$log" | grep -v '^soak: [0-9]* of '
fi
exit "$failed"
