#!/usr/bin/env bash
# Races the simulator against ns-2 on scenarios/race.toml and its equivalent
# validation/ns2/race.tcl, alternating, and prints medians.
# usage: race.sh EXAMPLE [ROUNDS]
#   EXAMPLE is the built `race` example of polypath-sim, which simulates without a report.
set -euo pipefail

ours=$1 rounds=${2:-5}
scenario=scenarios/race.toml ns2=validation/ns2/race.tcl
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

# "SECONDS KILOBYTES" of one run of a command, processor time and peak resident size.
measure() {
  /usr/bin/time -f '%U %S %M' -o "$here/time" "$@" >"$here/out"
  awk '{ printf "%.3f %d\n", $1 + $2, $3 }' "$here/time"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# Appends the measurement of a command to $here/NAME.
record() { local name=$1; shift; measure "$@" >>"$here/$name"; }

# Measures our simulator with $1 flows, in full and for 1 ms of simulated time, into
# $here/{ours,ours-setup}.
record_ours() {
  local sets=("topology.pairs=$1" "flow.0.count=$1")
  record ours "$ours" "$scenario" "${sets[@]}"; cp "$here/out" "$here/ours-output"
  record ours-setup "$ours" "$scenario" "${sets[@]}" "run.duration=1 ms"
}

# Prints a row of medians of `ours` or `ns2`; sets total and net, in seconds.
row() {
  local name=$1 who=$2 setup
  total=$(cut -d' ' -f1 "$here/$who" | median) setup=$(cut -d' ' -f1 "$here/$who-setup" | median)
  net=$(echo "$total - $setup" | bc -l)
  printf '  %-9s %7.3fs %7.3fs %7.3fs %6.0f MB   %s\n' "$name" "$total" "$setup" "$net" \
    "$(echo "$(cut -d' ' -f2 "$here/$who" | median) / 1000" | bc -l)" "$(cat "$here/$who-output")"
}

# Prints the cost of a packet-hop; sets hop, in nanoseconds.
hop_cost() {
  local hops; hops=$(sed -E 's/.* ([0-9]+) hops.*/\1/' "$here/ours-output")
  hop=$(echo "$net / $hops * 1000000000" | bc -l)
  printf '%.1f M packet-hops/s net, %.1f ns each\n' "$(echo "1000 / $hop" | bc -l)" "$hop"
}

title() {
  echo
  echo "$1 flows, 100 s of simulated time, median of $2 alternating runs, processor seconds"
  printf '  %-9s %8s %8s %8s %9s   %s\n' "" total set-up net memory result
}

race() {
  local flows=$1 rounds=$2 total net
  rm -f "$here"/{ours,ours-setup,ns2,ns2-setup}
  for _ in $(seq "$rounds"); do
    record_ours "$flows"
    record ns2 ns "$ns2" "$flows" 100; cp "$here/out" "$here/ns2-output"
    record ns2-setup ns "$ns2" "$flows" 0.001
  done
  title "$flows" "$rounds"
  row ns-2 ns2
  local ns2_total=$total ns2_net=$net
  row polypath ours
  printf '  polypath is %.1f times as fast, %.1f times net of set-up; ' \
    "$(echo "$ns2_total / $total" | bc -l)" "$(echo "$ns2_net / $net" | bc -l)"
  hop_cost
}

race 50 "$rounds"
small=$hop
race 500 "$(( (rounds + 1) / 2 ))"

# Without ns-2, whose set-up takes some 30 times as long with ten times the flows.
rm -f "$here"/{ours,ours-setup}
for _ in $(seq "$rounds"); do record_ours 5000; done
title 5000 "$rounds"
row polypath ours
printf '  '
hop_cost
printf '  a packet-hop costs %.1f times what it does at 50 flows\n' "$(echo "$hop / $small" | bc -l)"
