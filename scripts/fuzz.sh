#!/usr/bin/env bash
# Fuzzes every parser of untrusted input, and nodes, relays and servers: SECONDS for each target, two
# targets at once, from the corpora of fuzz/corpus.
# usage: fuzz.sh DIRECTORY SECONDS [build | keep | TARGET INPUT]
#   build          builds the targets and runs none
#   keep           then stores the smallest inputs with the same coverage in fuzz/corpus
#   TARGET INPUT   runs one input, to repeat a failure
# Exit code 2 if the target does not exist, 1 if a target fails; its input is kept, and the command
# that repeats it is printed.
set -euo pipefail
cd "$(dirname "$0")/.."

directory=$1 seconds=$2 mode=${3:-}
targets=(session relay http control wire stream offload node-file relay-file scenario trace recording)

refuse() {
  echo "fuzz: $1" >&2
  exit 2
}
case $mode in
  '' | build | keep) ;;
  *)
    [[ " ${targets[*]} " == *" $mode "* ]] \
      || refuse "there is no target \`$mode\`: make fuzz TARGET=NAME INPUT=FILE, with one of: ${targets[*]}"
    [ -f "${4:-}" ] || refuse "'${4:-}' is not a file; INPUT names the file that the target reads"
    ;;
esac
# The largest corpus in bytes of input; the inputs are stored as lines of base64.
max_bytes=49152
flags='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
  -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing'

# Naming a target keeps build scripts and macros from being instrumented.
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
    [ "$all" -le "$max_bytes" ] || break
    base64 -w 0 "$file" && echo
  done < <(find "$2" -type f -size +0 -printf '%s %p\n' | sort -n) | sort >"fuzz/corpus/$1.txt"
}

report_failure() { # TARGET
  local run=$directory/runs/$1 log=$directory/runs/$1.log input
  # Without such a line, the end of the log is the best evidence.
  grep -m 6 -E 'panicked|ERROR|^[^#]*assertion' -A 3 "$log" || tail -n 20 "$log"
  for input in "$run"/failed/*; do
    if [ -e "$input" ]; then
      echo "$1: failed; repeat with: make fuzz TARGET=$1 INPUT=$input"
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
  # The memory and time of one input are bounded: a file of a few kB must not need more.
  "$programs/$1" "$run/found" "$run/kept" -max_total_time="$seconds" -max_len=8192 -len_control=50 \
    -timeout=10 -rss_limit_mb=1024 -artifact_prefix="$run/failed/" -print_final_stats=1 >"$log" 2>&1 || status=$?
  local runs covered
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  # A target that stops at an input of its corpus does not print its coverage at the end.
  covered=$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
  printf '%-10s %9s inputs in %s s, %s edges, %s kept\n' "$1" "${runs:-?}" "$seconds" "${covered:-?}" \
    "$(find "$run/kept" -type f | wc -l)"
  # A target that ran no input has tested nothing.
  if [ "$status" -ne 0 ] || [ "${runs:-0}" -eq 0 ]; then
    report_failure "$1"
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
