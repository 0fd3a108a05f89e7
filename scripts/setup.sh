#!/usr/bin/env bash
# Installs the packages that polypath needs and this machine lacks. Fast if nothing is missing.
# usage: setup.sh [COMMAND:PACKAGE ...]
#   Each argument is a further command and the Debian package that has it; instead of a command, the
#   path of any file of the package.
set -euo pipefail

report() { printf 'setup: %s\n' "$*" >&2; }

# command -> Debian package
needed=(
  "cc:gcc" "ip:iproute2" "ss:iproute2" "ping:iputils-ping" "curl:curl" "jq:jq"
  "ffmpeg:ffmpeg" "lighttpd:lighttpd" "$@"
)

has() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ] || [[ $1 == /* && -e $1 ]]; }

missing=()
for entry in "${needed[@]}"; do
  has "${entry%%:*}" || missing+=("${entry#*:}")
done

install_packages() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! has sudo; then
      report "missing: $* - not root and no sudo here: ask an administrator to run: apt-get install $*"
      return 1
    fi
    as_root=(sudo)
  fi
  if ! has apt-get; then
    report "missing: $* - no apt-get here: install them with your system's package manager"
    return 1
  fi
  report "installing $*"
  "${as_root[@]}" apt-get update -qq
  # RUNLEVEL=1 keeps Debian from starting the web server that it installs; polypath starts its own
  # in a namespace.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if [ ${#missing[@]} -gt 0 ]; then
  mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
  install_packages "${missing[@]}"
fi

if ! has cargo; then
  report "missing: a Rust toolchain (1.95 or newer): see https://rustup.rs"
  exit 1
fi

if has rustup && ! rustup target list --installed | grep -q '^wasm32-unknown-unknown$'; then
  report "adding the wasm32-unknown-unknown target"
  rustup target add wasm32-unknown-unknown >/dev/null 2>&1 \
    || report "could not add it: only 'make wasm' will fail"
fi
