#!/usr/bin/env bash
# Runs under Miri, which finds undefined behaviour, the tests of code that is `unsafe` or cuts buffers
# by way of `unsafe` code of a library, and of the parsers. Tests that need the kernel or the
# assembly of `ring` cannot run there; CONTRIBUTING.md states what is therefore not checked.
# usage: miri.sh DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/.."

directory=$1
skip() {
  echo "miri: skipped: $1"
  exit 0
}

if ! cargo +nightly miri --version >/dev/null 2>&1; then
  command -v rustup >/dev/null || skip "it needs the nightly toolchain, and there is no rustup"
  echo "miri: installing it" >&2
  rustup toolchain list | grep -q '^nightly' \
    || rustup toolchain install nightly --profile minimal --no-self-update >/dev/null 2>&1 \
    || skip "the nightly toolchain cannot be installed"
  rustup component add miri rust-src --toolchain nightly >/dev/null 2>&1 \
    || skip "the nightly toolchain has no Miri, or it cannot be fetched"
fi

# proptest looks for a file of earlier failures.
export MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2

run() { # PACKAGE TEST ...
  cargo +nightly miri test --quiet --target-dir "$directory" -p "$1" --lib -- "${@:2}"
}
run polypath-core window:: wire:: packet:: combine::copies
run polypath-session arena:: datagram:: address:: mac::
run polypath-live buffer:: tun::offload udp::interface udp_ports::packet udp_ports::reassembly segmentation
