#!/usr/bin/env bash
# Runs all tests and closes with one line that counts them, since every crate's runner counts only its own.
set -uo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT

cargo test --workspace "$@" 2>&1 | tee "$log" | grep -vE '^(running 0 tests|)$'
status=${PIPESTATUS[0]}

grep -E '^(skipped|SKIP)' "$log" | sort -u || true
awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, ignored }' "$log"
exit "$status"
