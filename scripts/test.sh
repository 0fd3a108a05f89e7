#!/usr/bin/env bash
# Runs all tests and ends with one line of totals, since each crate's runner counts only its own. A
# test that cannot run on this machine prints `skipped: REASON` on standard error. Its runner counts
# it as passed; the totals count it as skipped.
set -uo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Cargo builds no library for programs that load it while they run.
cargo build --quiet -p polypath-wrap || exit 1

# Without examples: they have no tests, and clippy has compiled them.
run() {
  cargo test --workspace --no-fail-fast --lib --bins --tests "$@" && cargo test --workspace --doc "$@"
}
run "$@" 2>&1 | tee "$log" | grep --line-buffered -vE '^(running [0-9]+ tests?|)$'
status=${PIPESTATUS[0]}

awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 }
     /skipped: / { reasons++ }
     END { printf "%d passed, %d failed, %d skipped\n", passed - reasons, failed, skipped + reasons }' "$log"
exit "$status"
