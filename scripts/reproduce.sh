#!/usr/bin/env bash
# The reduced reproduction of the papers and of the own claims: $1 is the program, $2 the folder for
# the book. Fails if a claim that a figure answers has no verdict, or differs without a reason.
set -euo pipefail
program=$1 out=$2
"$program" reproduce --quick --fresh --out "$out" | tail -n 3
open=$(jq -r '.[] | select(.figure != null)
  | select(.verdict == "not run" or (.verdict == "differs" and .reason == "the reason is not known"))
  | "\(.claim): \(.verdict), \(.reason)"' "$out/claims.json")
if [ -n "$open" ]; then
  printf 'reproduce: claims without an answer:\n%s\n' "$open" >&2
  exit 1
fi
