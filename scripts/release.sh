#!/usr/bin/env bash
# Runs cargo with flags by which a release build contains no path of this machine, so that every
# folder, user and CARGO_HOME yields the same bytes. All release builds of the Makefile use it, and
# share their dependencies.
# usage: release.sh COMMAND ARGUMENT ...
# The paths are known only here: a .cargo/config.toml cannot derive them, it would apply to tests
# and their caches too, and cargo's own `trim-paths` is not stable.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd -P)
cd "$top"
target=$(cargo metadata --no-deps --format-version 1 | jq -r .target_directory)
home=$(realpath -sm "${CARGO_HOME:-$HOME/.cargo}")
commit=$(rustc -vV | sed -n 's/^commit-hash: //p')

# The last prefix that matches applies: the target directory and CARGO_HOME may be in the workspace.
# The sources of the standard library exist only with rustup's component rust-src.
prefixes=(
  "$top=/polypath"
  "$target=/polypath/target"
  "$home=/cargo"
  "$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$commit"
)
for prefix in "${prefixes[@]}"; do
  rust+="${rust:+$'\x1f'}--remap-path-prefix=$prefix"
  c+=" $(printf %q "-ffile-prefix-map=$prefix")"
done
# Flags of the caller stay, and make another program.
caller=${CARGO_ENCODED_RUSTFLAGS:-$(echo ${RUSTFLAGS-} | tr ' ' '\037')}
export CARGO_ENCODED_RUSTFLAGS=$rust${caller:+$'\x1f'$caller}
# The assembly and C of ring. With this variable, the cc crate reads CFLAGS as a shell does.
export CC_SHELL_ESCAPED_FLAGS=1 CFLAGS="${CFLAGS:-}$c"
exec cargo "$@"
