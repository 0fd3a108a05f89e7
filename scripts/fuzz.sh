#!/usr/bin/env bash
# Fuzzes everything that reads what others wrote: SECONDS for each target, two at once, from the corpora of fuzz/corpus.
# usage: fuzz.sh DIRECTORY SECONDS [build | keep | TARGET INPUT]
#   build          only builds
#   keep           afterwards puts the smallest inputs that reach anything into fuzz/corpus
#   TARGET INPUT   runs one input, to see a failure again
# Exit code 2 where there is no such target, 1 where one fails; its input is kept, and the command that repeats it printed.
set -euo pipefail
cd "$(dirname "$0")/.."

directory=$1 seconds=$2 mode=${3:-}
targets=(wire handshake offload node-file relay-file scenario trace recording)

refuse() {
  echo "fuzz: $1" >&2
  exit 2
}
case $mode in
  '' | build | keep) ;;
  *)
    [[ " ${targets[*]} " == *" $mode "* ]] \
      || refuse "there is no target \`$mode\`: make fuzz TARGET=NAME INPUT=FILE, with one of: ${targets[*]}"
    [ -f "${4:-}" ] || refuse "'${4:-}' is no file; INPUT names what the target reads"
    ;;
esac
# The most that a corpus holds, in bytes: the inputs are kept as lines of base64.
most=49152
flags='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
  -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing'

# With a target, build scripts and macros are not instrumented.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="$(echo $flags)" cargo build --quiet --release --locked --manifest-path fuzz/Cargo.toml \
  --target "$host" --target-dir "$directory"
programs=$directory/$host/release

[ "$mode" != build ] || exit 0
if [ -n "$mode" ] && [ "$mode" != keep ]; then
  exec "$programs/$mode" "$4"
fi

seed() { # FOLDER FILE ...
  local file
  for file in "${@:2}"; do
    cp "$file" "$1/${file//\//-}"
  done
}

unpack() { # TARGET FOLDER
  mkdir -p "$2"
  local number=0 line
  while read -r line; do
    number=$((number + 1))
    base64 -d <<<"$line" >"$2/kept-$number"
  done <"fuzz/corpus/$1.txt"
  case $1 in
    scenario) seed "$2" scenarios/*.toml ;;
    node-file | relay-file) seed "$2" docs/*/*.toml ;;
  esac
}

pack() { # TARGET FOLDER
  local all=0 size file
  while read -r size file; do
    all=$((all + size))
    [ "$all" -le "$most" ] || break
    base64 -w 0 "$file" && echo
  done < <(find "$2" -type f -size +0 -printf '%s %p\n' | sort -n) | sort >"fuzz/corpus/$1.txt"
}

tell_failure() { # TARGET
  local run=$directory/runs/$1 log=$directory/runs/$1.log input
  # Without such a line the end of the log tells most.
  grep -m 6 -E 'panicked|ERROR|^[^#]*assertion' -A 3 "$log" || tail -n 20 "$log"
  for input in "$run"/failed/*; do
    if [ -e "$input" ]; then
      echo "$1: failed; again: make fuzz TARGET=$1 INPUT=$input"
    else
      echo "$1: failed, and kept no input; its log is $log"
    fi
  done
}

run() { # TARGET
  local run=$directory/runs/$1 log=$directory/runs/$1.log
  rm -rf "$run"
  mkdir -p "$run/found" "$run/failed"
  unpack "$1" "$run/kept"
  local status=0
  # Memory and time of one input are bounded too: a file of a few kB must be refused before it takes more.
  "$programs/$1" "$run/found" "$run/kept" -max_total_time="$seconds" -max_len=8192 -len_control=50 \
    -timeout=10 -rss_limit_mb=1024 -artifact_prefix="$run/failed/" -print_final_stats=1 >"$log" 2>&1 || status=$?
  local runs covered
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  # One that ends with a kept input has not told it.
  covered=$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
  printf '%-10s %9s inputs in %s s, %s edges, %s kept\n' "$1" "${runs:-?}" "$seconds" "${covered:-?}" \
    "$(find "$run/kept" -type f | wc -l)"
  # A target that ran nothing has shown nothing.
  if [ "$status" -ne 0 ] || [ "${runs:-0}" -eq 0 ]; then
    tell_failure "$1"
    return 1
  fi
  if [ "$mode" = keep ]; then
    mkdir -p "$run/merged"
    "$programs/$1" -merge=1 -max_len=8192 "$run/merged" "$run/kept" "$run/found" >>"$log" 2>&1
    pack "$1" "$run/merged"
  fi
}

mkdir -p fuzz/corpus
echo "fuzz: ${#targets[@]} targets, $seconds s each, two at once"
running=() failed=0
for target in "${targets[@]}"; do
  touch "fuzz/corpus/$target.txt"
  if [ ${#running[@]} -eq 2 ]; then
    wait "${running[0]}" || failed=1
    running=("${running[1]}")
  fi
  run "$target" &
  running+=($!)
done
for job in "${running[@]}"; do
  wait "$job" || failed=1
done
exit "$failed"
