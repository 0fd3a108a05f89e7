#!/usr/bin/env bash
# Runs all tests and closes with one line that counts them, since every crate's runner counts only its own.
# A test that cannot run here says `skipped: REASON` on standard error; it counts as passed for its runner,
# and is counted here as what it is.
set -uo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The examples have no tests, and the linter has seen them.
run() {
  cargo test --workspace --no-fail-fast --lib --bins --tests "$@" && cargo test --workspace --doc "$@"
}
run "$@" 2>&1 | tee "$log" | grep -vE '^(running [0-9]+ tests?|)$'
status=${PIPESTATUS[0]}

awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 }
     /skipped: / { reasons++ }
     END { printf "%d passed, %d failed, %d skipped\n", passed - reasons, failed, skipped + reasons }' "$log"
exit "$status"
