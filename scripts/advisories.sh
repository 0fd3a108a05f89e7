#!/usr/bin/env bash
# Fails if a version in a Cargo.lock was yanked from crates.io, or if an advisory of the RustSec
# database applies to it. A part whose source cannot be reached is skipped, with the reason.
# usage: advisories.sh TARGET
#   TARGET is cargo's target directory: a missing cargo-audit is built there once, in some minutes,
#   but only where the database can be reached. ADVISORY_DB is the database's git URL.
set -euo pipefail
cd "$(dirname "$0")/.."

audit_version=0.22.2
database=${ADVISORY_DB:-https://github.com/RustSec/advisory-db.git}
tools=$1/tools
locks=(Cargo.lock fuzz/Cargo.lock models/Cargo.lock)
PATH=$PATH:$tools/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

skip() {
  echo "advisories: skipped: $*"
}

# Prints a manifest that depends on exactly the versions of a lock. cargo refuses yanked versions
# unless a lock has them, and this manifest has none.
manifest() { # LOCK
  printf '[package]\nname = "locked"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n'
  awk -F '"' '
    /^name = / { name = $2 }
    /^version = / { version = $2 }
    /^source = "registry/ {
      sub(/\+.*/, "", version)
      printf "d%d = { package = \"%s\", version = \"=%s\", default-features = false }\n", NR, name, version
    }' "$1"
}

# cargo reports one version at a time.
yanked() { # LOCK
  local found
  mkdir -p "$work/src"
  touch "$work/src/lib.rs"
  manifest "$1" >"$work/Cargo.toml"
  while rm -f "$work/Cargo.lock" &&
    ! (cd "$work" && CARGO_NET_RETRY=1 CARGO_HTTP_TIMEOUT=10 cargo generate-lockfile) >"$work/log" 2>&1; do
    found=$(sed -nE 's/.*requirement `(\S+) = "=(\S+)"`.*/\1 \2/p' "$work/log" | head -1)
    if [ -n "$found" ] && grep -qE 'version \S+ is yanked' "$work/log"; then
      echo "advisories: $1: $found was yanked from crates.io"
      failed=1
      grep -vF "package = \"${found% *}\", version = \"=${found#* }\"" "$work/Cargo.toml" >"$work/rest"
      mv "$work/rest" "$work/Cargo.toml"
    elif grep -qE 'download of |failed to (download|query|fetch)|spurious network' "$work/log"; then
      skip "crates.io cannot be reached: yanked versions are unknown"
      return
    else
      cat "$work/log"
      echo "advisories: $1: cargo does not accept its versions"
      failed=1
      return
    fi
  done
  echo "advisories: $1: $(grep -c '^d[0-9]' "$work/Cargo.toml") versions that are not yanked"
}

# Whether cargo-audit is there, from this machine or built here.
has_audit() {
  command -v cargo-audit >/dev/null && return
  echo "advisories: building cargo-audit $audit_version in $tools" >&2
  CARGO_TARGET_DIR=$tools/build cargo install --quiet --locked --root "$tools" --version "$audit_version" cargo-audit \
    && rm -rf "$tools/build"
}

# Without a prompt for a password, and not longer than SECONDS.
fetch() { # SECONDS GIT-ARGUMENT ...
  GIT_TERMINAL_PROMPT=0 timeout "$1" git "${@:2}" >/dev/null 2>&1
}

audit() {
  local lock
  if ! fetch 10 ls-remote --exit-code "$database" HEAD ||
    ! fetch 120 clone --depth 1 "$database" "$work/database"; then
    skip "the advisory database $database cannot be reached"
  elif ! has_audit; then
    skip "cargo-audit cannot be installed"
  else
    for lock in "${locks[@]}"; do
      # cargo-audit itself fetches only by https. It warns of unmaintained crates.
      if cargo-audit audit --quiet --no-fetch --no-yanked --deny unsound --db "$work/database" --file "$lock"; then
        echo "advisories: $lock: no vulnerability is known"
      else
        echo "advisories: $lock: an advisory applies, or cargo-audit failed"
        failed=1
      fi
    done
  fi
}

for lock in "${locks[@]}"; do
  yanked "$lock"
done
audit
exit "$failed"
