#!/usr/bin/env bash
# The long parts of `make check`, side by side: the soak, fuzzing and the reduced reproduction. The soak does not feel the
# others, since its nodes have a real-time priority. Fails where one of them does.
# usage: long.sh MINUTES
set -uo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
# The soak ends its namespaces and nodes itself.
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$logs"' EXIT

begin() { # TARGET ARGUMENT ...
  make --no-print-directory "$@" >"$logs/$1" 2>&1 &
}

# What it said, once it has ended, without the steps of its progress.
end() { # TARGET PROCESS
  local status=0
  wait "$2" || status=1
  tr '\r' '\n' <"$logs/$1" | grep -v '^soak: [0-9]* of '
  return "$status"
}

failed=0 soak=
if [ "$(id -u)" -ne 0 ] || [ ! -e /dev/net/tun ]; then
  echo "soak: skipped: needs root and /dev/net/tun"
else
  begin soak MINUTES="$1"
  soak=$!
fi
begin fuzz
fuzz=$!
make --no-print-directory reproduce || failed=1
end fuzz "$fuzz" || failed=1
[ -z "$soak" ] || end soak "$soak" || failed=1
exit "$failed"
