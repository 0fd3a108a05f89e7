#!/usr/bin/env bash
# Fails if a dependency has a licence that is not compatible with Apache-2.0 OR MIT.
set -euo pipefail

allowed='MIT Apache-2.0 Apache-2.0WITHLLVM-exception BSD-1-Clause BSD-2-Clause BSD-3-Clause ISC Zlib
Unicode-3.0 NCSA CC0-1.0 0BSD Unlicense BSL-1.0 MIT-0 CDLA-Permissive-2.0'

# A choice (OR) needs one allowed alternative; a conjunction (AND) needs all of its parts.
# `fuzz` and `models` are workspaces of their own.
metadata() {
  local manifest
  for manifest in Cargo.toml fuzz/Cargo.toml models/Cargo.toml; do
    # `set -e` does not hold in a command substitution.
    cargo metadata --format-version 1 --locked --manifest-path "$manifest" || return 1
  done
}
refused=$(metadata | jq -r --arg allowed "$allowed" '
  ($allowed | gsub("\\s+"; " ") | split(" ")) as $ok
  | def fits: gsub("[() ]"; "") as $name | any($ok[]; . == $name);
  .packages[]
  | . as $p
  | (.license // "none") | gsub(" WITH "; "WITH") | gsub("/"; " OR ")
  | if all(split(" AND ")[]; any(split(" OR ")[]; fits)) then empty
    else "\($p.name) \($p.version): \($p.license // "no licence")" end')

if [ -n "$refused" ]; then
  printf 'licences: not allowed:\n%s\n' "$refused"
  exit 1
fi
echo "licences: all dependencies are compatible with Apache-2.0 OR MIT"
