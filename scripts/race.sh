#!/usr/bin/env bash
# Races the simulator against ns-2 on scenarios/race.toml and its equal, validation/ns2/race.tcl, in turn, and prints
# medians. usage: race.sh EXAMPLE [ROUNDS]
#   EXAMPLE is the built `race` example of polypath-sim, which simulates without a report.
set -euo pipefail

ours=$1 rounds=${2:-5}
scenario=scenarios/race.toml ns2=validation/ns2/race.tcl
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

# "SECONDS KILOBYTES" of one run of a command, processor time and greatest resident size.
measure() {
  /usr/bin/time -f '%U %S %M' -o "$here/time" "$@" >"$here/out"
  awk '{ printf "%.3f %d\n", $1 + $2, $3 }' "$here/time"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# Measures a command into $here/NAME.
note() { local name=$1; shift; measure "$@" >>"$here/$name"; }

race() {
  local flows=$1 rounds=$2
  rm -f "$here"/{ours,ours-setup,ns2,ns2-setup}
  for _ in $(seq "$rounds"); do
    local sets=("topology.pairs=$flows" "flow.0.count=$flows")
    note ours "$ours" "$scenario" "${sets[@]}"; cp "$here/out" "$here/ours-said"
    note ours-setup "$ours" "$scenario" "${sets[@]}" "run.duration=1 ms"
    note ns2 ns "$ns2" "$flows" 100; cp "$here/out" "$here/ns2-said"
    note ns2-setup ns "$ns2" "$flows" 0.001
  done
  local hops; hops=$(sed -E 's/.* ([0-9]+) hops.*/\1/' "$here/ours-said")
  for who in ours ours-setup ns2 ns2-setup; do
    eval "local ${who//-/_}_s=$(cut -d' ' -f1 "$here/$who" | median) ${who//-/_}_kb=$(cut -d' ' -f2 "$here/$who" | median)"
  done
  echo
  echo "$flows flows, 100 s of simulated time, median of $rounds runs in turn, processor seconds"
  printf '  %-9s %8s %8s %8s %9s   %s\n' "" total set-up net memory result
  printf '  %-9s %7.3fs %7.3fs %7.3fs %6.0f MB   %s\n' polypath "$ours_s" "$ours_setup_s" \
    "$(echo "$ours_s - $ours_setup_s" | bc -l)" "$(echo "$ours_kb / 1000" | bc -l)" "$(cat "$here/ours-said")"
  printf '  %-9s %7.3fs %7.3fs %7.3fs %6.0f MB   %s\n' ns-2 "$ns2_s" "$ns2_setup_s" \
    "$(echo "$ns2_s - $ns2_setup_s" | bc -l)" "$(echo "$ns2_kb / 1000" | bc -l)" "$(cat "$here/ns2-said")"
  printf '  polypath is %.1f times as fast, %.1f times net of set-up; %.1f M packet-hops/s net, %.0f ns each\n' \
    "$(echo "$ns2_s / $ours_s" | bc -l)" \
    "$(echo "($ns2_s - $ns2_setup_s) / ($ours_s - $ours_setup_s)" | bc -l)" \
    "$(echo "$hops / ($ours_s - $ours_setup_s) / 1000000" | bc -l)" \
    "$(echo "($ours_s - $ours_setup_s) / $hops * 1000000000" | bc -l)"
}

race 50 "$rounds"
race 500 "$(( (rounds + 1) / 2 ))"

rm -f "$here"/{large,large-setup}
for _ in $(seq "$rounds"); do
  sets=("topology.pairs=5000" "flow.0.count=5000")
  note large "$ours" "$scenario" "${sets[@]}"; cp "$here/out" "$here/large-said"
  note large-setup "$ours" "$scenario" "${sets[@]}" "run.duration=1 ms"
done
hops=$(sed -E 's/.* ([0-9]+) hops.*/\1/' "$here/large-said")
total=$(cut -d' ' -f1 "$here/large" | median) setup=$(cut -d' ' -f1 "$here/large-setup" | median)
echo
printf '5000 flows: polypath %.3f s, net %.3f s, %.0f MB, %.0f ns a packet-hop\n' "$total" \
  "$(echo "$total - $setup" | bc -l)" "$(echo "$(cut -d' ' -f2 "$here/large" | median) / 1000" | bc -l)" \
  "$(echo "($total - $setup) / $hops * 1000000000" | bc -l)"
