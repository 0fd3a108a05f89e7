#!/usr/bin/env bash
# The reduced reproduction of the papers and of the own claims: $1 is the program, $2 the folder for
# the book. Fails if a claim that a figure answers has no verdict, or differs without a reason, or if
# the README has other numbers of claims.
set -euo pipefail
program=$1 out=$2
summary=$("$program" reproduce --quick --fresh --out "$out" | tail -n 3)
printf '%s\n' "$summary"
open=$(jq -r '.[] | select(.figure != null)
  | select(.verdict == "not run" or (.verdict == "differs" and .reason == "the reason is not known"))
  | "\(.claim): \(.verdict), \(.reason)"' "$out/claims.json")
if [ -n "$open" ]; then
  printf 'reproduce: claims without an answer:\n%s\n' "$open" >&2
  exit 1
fi
verdicts=$(sed -n 's/^claims: \([0-9]*\), of which \([0-9]*\) hold, \([0-9]*\) differ.*/\1 \2 \3/p' <<<"$summary")
if [ -z "$verdicts" ]; then
  echo "reproduce: the output has no line \`claims: N, of which N hold, N differ\`" >&2
  exit 1
fi
read -r claims hold differ <<<"$verdicts"
stated="Of the $claims checkable claims [^.]*\*\*$hold hold and $differ differ\*\*"
if ! grep -q "$stated" <<<"$(tr '\n' ' ' <README.md)"; then
  echo "reproduce: README.md has other numbers of claims than $claims, of which $hold hold and $differ differ" >&2
  exit 1
fi
