#!/usr/bin/env bash
# What `make check` runs. What takes long goes on beside what comes first: the soak from when the program is built, since
# its nodes have a real-time priority and feel no other work, and the reduced reproduction and fuzzing in what the tests,
# which often wait, leave of the processors.
# A linter ends it at once; from the tests on all is run, and it fails where anything did.
# usage: check.sh MINUTES, of the soak
set -uo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
# The soak ends its namespaces and nodes itself.
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$logs"' EXIT
failed=0
declare -A beside

step() { # TARGET ...
  make --no-print-directory "$@"
}

begin() { # NICENESS TARGET ARGUMENT ...
  nice -n "$1" make --no-print-directory "${@:2}" >"$logs/$2" 2>&1 &
  beside[$2]=$!
}

# What it said, once it has ended, without the steps of its progress.
end() { # TARGET
  [ -n "${beside[$1]:-}" ] || return 0
  wait "${beside[$1]}" || failed=1
  tr '\r' '\n' <"$logs/$1" | grep -Ev '^(soak: [0-9]+ of|polypath: round) |^ +Blocking waiting'
}

step fmt build || exit 1
if [ "$(id -u)" -ne 0 ] || [ ! -e /dev/net/tun ]; then
  echo "soak: skipped: needs root and /dev/net/tun"
else
  begin 0 soak MINUTES="$1"
fi
step clippy doc wasm licences instructions || exit 1
begin 19 reproduce
begin 19 fuzz
step test || failed=1
step deploy-check || failed=1
step deb || failed=1
for target in fuzz reproduce soak; do
  end "$target"
done
exit "$failed"
