#!/usr/bin/env bash
# Installs what polypath needs and this machine lacks. Does nothing, fast, where nothing is missing.
# usage: setup.sh [COMMAND:PACKAGE ...], what is needed besides
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }

# command -> Debian package
needed=(
  "cc:gcc" "ip:iproute2" "ss:iproute2" "ping:iputils-ping" "curl:curl" "jq:jq"
  "ffmpeg:ffmpeg" "lighttpd:lighttpd" "$@"
)

has() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; }

missing=()
for entry in "${needed[@]}"; do
  has "${entry%%:*}" || missing+=("${entry#*:}")
done

install_packages() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! has sudo; then
      say "missing: $* - not root and no sudo here: ask an administrator to run: apt-get install $*"
      return 1
    fi
    as_root=(sudo)
  fi
  if ! has apt-get; then
    say "missing: $* - no apt-get here: install them by your system's own means"
    return 1
  fi
  say "installing $*"
  "${as_root[@]}" apt-get update -qq
  # Debian starts a web server that it installs; polypath runs its own, in a namespace of its own.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if [ ${#missing[@]} -gt 0 ]; then
  mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
  install_packages "${missing[@]}"
fi

if ! has cargo; then
  say "missing: a Rust toolchain (1.95 or newer): see https://rustup.rs"
  exit 1
fi

if has rustup && ! rustup target list --installed | grep -q '^wasm32-unknown-unknown$'; then
  say "adding the wasm32-unknown-unknown target"
  rustup target add wasm32-unknown-unknown >/dev/null 2>&1 \
    || say "could not add it: 'make wasm' will fail here, everything else works"
fi
