#!/usr/bin/env bash
# Counts the instructions of the simulator's hot path and compares them with
# scripts/instructions.txt: exit status 1 if a count is more than 5 % above its bound. Counts do not
# depend on the load of a machine, and hardly on its kind; they depend on the compiler.
# usage: instructions.sh EXAMPLE [--renew]
#   EXAMPLE is the built `race` example of polypath-sim, --renew writes the counts of this machine.
set -euo pipefail

example=$1 renew=${2:-}
bounds=scripts/instructions.txt tolerance=5
scenario=scenarios/race.toml
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

if ! command -v valgrind >/dev/null && ! scripts/setup.sh valgrind:valgrind; then
  echo "instructions: skipped: valgrind is not installed and could not be"
  exit 0
fi

# "INSTRUCTIONS HOPS" of a run with $1 flows over the simulated time $2.
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$example" "$scenario" \
    "topology.pairs=$1" "flow.0.count=$1" "run.duration=$2" >"$here/out" 2>"$here/log" \
    || { cat "$here/log" >&2; return 1; }
  echo "$(sed -n 's/.*Collected : //p' "$here/log") $(sed -E 's/.* ([0-9]+) hops.*/\1/' "$here/out")"
}

# Prints "FLOWS WHAT COUNT" for the set-up and for a packet-hop after it.
costs() {
  local flows=$1 whole start
  whole=$(count "$flows" "$2")
  start=$(count "$flows" "1 ms")
  awk -v flows="$flows" '
    NR == 1 { all = $1; hops = $2 }
    NR == 2 { printf "%d hop %.1f\n%d flow %.0f\n", flows, (all - $1) / (hops - $2), flows, $1 / flows }
  ' <<<"$whole"$'\n'"$start"
}

{ costs 50 "5 s"; costs 500 "2 s"; } >"$here/counts"

if [ "$renew" = --renew ]; then
  { echo "# instructions a packet-hop net of set-up, and of set-up a flow; $(rustc --version)"
    echo "# flows what instructions (written by scripts/instructions.sh EXAMPLE --renew)"
    cat "$here/counts"; } >"$bounds"
fi

echo "instructions by callgrind, bounds of $(sed -n '1s/.*; //p' "$bounds"), here $(rustc --version)"
awk -v tolerance="$tolerance" '
  /^#/ { next }
  NR == FNR { bound[$1, $2] = $3; next }
  {
    before = bound[$1, $2]
    if (before == "") { printf "  no bound for %s flows, %s\n", $1, $2; bad = 1; next }
    change = 100 * ($3 / before - 1)
    verdict = "holds"
    if (change > tolerance) { verdict = "does not hold"; bad = 1 }
    if (change < -tolerance) verdict = "holds, and is due for renewal"
    what = $2 == "hop" ? "a packet-hop" : "of set-up a flow"
    printf "  %4d flows: %8s %-16s (%+.1f %% of %s, %s)\n", $1, $3, what, change, before, verdict
  }
  END { exit bad }
' "$bounds" "$here/counts" || {
  echo "instructions: more than $tolerance % above scripts/instructions.txt; find out why (valgrind --tool=callgrind," \
    "callgrind_annotate), or state the reason in a commit that renews the file (make instructions RENEW=--renew)"
  exit 1
}
