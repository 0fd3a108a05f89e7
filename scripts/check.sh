#!/usr/bin/env bash
# Runs all parts of `make check`. The long parts run in the background: the build of the program beside
# the linters, which leave a core idle now and then; the soak as soon as it is built, since its nodes have
# a real-time priority that other load does not disturb; and the reduced reproduction at low priority
# while the tests run, since tests often wait. A failing linter ends the check at once. From the tests on, all parts run, and the check fails if any part
# failed.
# usage: check.sh MINUTES
#   MINUTES is the duration of the soak.
set -uo pipefail
cd "$(dirname "$0")/.."

logs=out/check
mkdir -p "$logs"
declare -A running

# Each part is a process group, so that its children end with it.
stop() {
  local process
  for process in "${running[@]}"; do
    kill -- "-$process" 2>/dev/null
  done
  wait
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
failed=()

start() { # NAME NICENESS TARGET ...
  set -m
  nice -n "$2" make --no-print-directory "${@:3}" </dev/null &
  set +m
  running[$1]=$!
}

# Runs a part in the foreground; a signal interrupts the wait.
step() { # TARGET ...
  local status=0 began=$SECONDS
  start step 0 "$@"
  wait "${running[step]}" || status=$?
  unset "running[step]"
  echo "check: $* took $((SECONDS - began)) s, $SECONDS s in all" >&2
  return "$status"
}

start_background() { # NICENESS TARGET ARGUMENT ...
  start "$2" "$@" >"$logs/$2.log" 2>&1
}

# Waits for a background part and prints its log without progress lines.
finish() { # TARGET
  [ -n "${running[$1]:-}" ] || return 0
  echo "check: waiting for $1 ($logs/$1.log)" >&2
  wait "${running[$1]}" || failed+=("$1")
  unset "running[$1]"
  echo "check: $1 ended, $SECONDS s in all" >&2
  tr '\r' '\n' <"$logs/$1.log" \
    | sed -E 's/^(soak: [0-9]+ of [0-9]+ s, memory [0-9]+ and [0-9]+ kB *|polypath: round .*| +Blocking waiting .*)//; /^$/d'
}

# One selection of packages for all parts, so that their dependencies are compiled once.
export WITH="-p polypath-lab --lib --bins --example soak"

# Optimising the targets takes longer than they run here.
fuzzing=CARGO_PROFILE_RELEASE_OPT_LEVEL=1

# Installed before any part runs in the background: only one apt-get can run at a time.
scripts/setup.sh c++:g++ nft:nftables python3:python3 || exit 1
scripts/setup.sh tshark:tshark valgrind:valgrind ristsender:rist-tools
step fmt protocol structure STRUCTURE=--check || exit 1
start_background 5 build
step clippy doc wasm licences dependencies || exit 1
finish build
[ ${#failed[@]} -eq 0 ] || { echo "check: the build failed" >&2; exit 1; }
step golden || exit 1
if [ "$(id -u)" -ne 0 ] || [ ! -e /dev/net/tun ]; then
  echo "soak: skipped: needs root and /dev/net/tun"
else
  start_background 0 soak MINUTES="$1"
fi
start_background 19 reproduce
start_background 19 advisories
start_background 19 instructions
start_background 19 fuzz-build $fuzzing
start_background 19 models MODELS=--reduced
for target in test deploy-check deb; do
  step "$target" || failed+=("$target")
done
finish fuzz-build
# CONTRIBUTING.md states this duration.
start_background 0 fuzz FUZZ=20 $fuzzing
for target in fuzz models instructions advisories reproduce soak; do
  finish "$target"
done
[ ${#failed[@]} -eq 0 ] || { echo "check: failed: ${failed[*]}" >&2; exit 1; }
