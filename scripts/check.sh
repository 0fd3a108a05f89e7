#!/usr/bin/env bash
# What `make check` runs. What takes long goes on beside what comes first: the soak from when the program is built, since
# its nodes have a real-time priority and feel no other work, and the reduced reproduction in what the tests, which often
# wait, leave of the processors.
# A linter ends it at once; from the tests on all is run, and it fails where anything did.
# usage: check.sh MINUTES, of the soak
set -uo pipefail
cd "$(dirname "$0")/.."

logs=out/check
mkdir -p "$logs"
declare -A beside

# Each part has a process group, with which all that it began ends.
stop() {
  local process
  for process in "${beside[@]}"; do
    kill -- "-$process" 2>/dev/null
  done
  wait
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
failed=()

begin() { # NAME NICENESS TARGET ...
  set -m
  nice -n "$2" make --no-print-directory "${@:3}" </dev/null &
  set +m
  beside[$1]=$!
}

# What is waited for; a signal ends the wait.
step() { # TARGET ...
  local status=0
  begin step 0 "$@"
  wait "${beside[step]}" || status=$?
  unset "beside[step]"
  return "$status"
}

begin_beside() { # NICENESS TARGET ARGUMENT ...
  begin "$2" "$@" >"$logs/$2.log" 2>&1
}

# What it said, once it has ended, without the steps of its progress.
end() { # TARGET
  [ -n "${beside[$1]:-}" ] || return 0
  echo "check: waiting for $1 ($logs/$1.log)" >&2
  wait "${beside[$1]}" || failed+=("$1")
  unset "beside[$1]"
  tr '\r' '\n' <"$logs/$1.log" \
    | sed -E 's/^(soak: [0-9]+ of [0-9]+ s, memory [0-9]+ and [0-9]+ kB *|polypath: round .*| +Blocking waiting .*)//; /^$/d'
}

# Before anything goes on beside: one installation at a time.
scripts/setup.sh c++:g++ nft:nftables python3:python3 || exit 1
scripts/setup.sh tshark:tshark valgrind:valgrind
step fmt build || exit 1
if [ "$(id -u)" -ne 0 ] || [ ! -e /dev/net/tun ]; then
  echo "soak: skipped: needs root and /dev/net/tun"
else
  begin_beside 0 soak MINUTES="$1"
fi
step clippy doc wasm licences golden instructions || exit 1
begin_beside 19 reproduce
begin_beside 19 fuzz-build
for target in test deploy-check deb; do
  step "$target" || failed+=("$target")
done
end fuzz-build
begin_beside 0 fuzz
for target in fuzz reproduce soak; do
  end "$target"
done
[ ${#failed[@]} -eq 0 ] || { echo "check: failed: ${failed[*]}" >&2; exit 1; }
