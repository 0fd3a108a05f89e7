#!/usr/bin/env bash
# Runs the cases of cases.csv in ns-2 (Debian's package ns2), SEEDS seeds each, and prints a row for
# each quantity: the number of seeds, the mean, and half of its 95 % interval (normal). Goodput is
# in Mbit/s, queues are in packets, the others are counts.
#   reference.sh [SEEDS [NAME-PREFIX]] >../reference/ns2.csv
set -euo pipefail
cd "$(dirname "$0")"
seeds=${1:-20} prefix=${2:-}

# What a script prints, in order: a quantity with its flows or links; `-` is not kept.
quantities() {
  case "$1 $2" in
    mix*\ red\ *) echo goodput:tcp - retransmissions:tcp - drops:bottleneck - - queue:bottleneck ;;
    mix*) echo goodput:tcp - retransmissions:tcp - drops:bottleneck - loss:udp ;;
    parking_lot*) echo goodput:long goodput:cross retransmissions: drops:core loss:udp ;;
    three_links*) echo goodput:stream goodput:cross retransmissions: - - drops:last ;;
    sessions*) echo goodput:tcp retransmissions:tcp drops:core loss:udp - ;;
  esac
}

run() {
  local script=$1 arguments=$2 seed=$3
  # A script that takes its arguments by place has a place for the seed.
  case $arguments in
    *SEED*) ns "$script.tcl" ${arguments/SEED/$seed} ;;
    *) ns "$script.tcl" $arguments seed "$seed" ;;
  esac
}

echo name,seeds,quantity,mean,ci95
tail -n +2 cases.csv | while IFS=, read -r name _ _ _ script arguments; do
  [[ $name == "$prefix"* ]] || continue
  for seed in $(seq "$seeds"); do run "$script" "$arguments" "$seed" </dev/null; done |
    awk -v names="$(quantities "$script" "$arguments")" -v row="$name" '
      { for (i = 1; i <= NF; i++) { sum[i] += $i; squares[i] += $i * $i } }
      END {
        for (i = 1; i <= split(names, name, " "); i++) {
          mean = sum[i] / NR
          variance = NR > 1 ? (squares[i] - NR * mean * mean) / (NR - 1) : 0
          if (name[i] == "-" || mean == 0) continue
          printf "%s,%d,%s,%.7g,%.3g\n", row, NR, name[i], mean, 1.96 * sqrt((variance > 0 ? variance : 0) / NR)
        }
      }'
done
