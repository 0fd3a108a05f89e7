#!/usr/bin/env bash
# Builds the program of a revision, for comparison with that of the work tree, and prints its path.
# The program is kept for the next call. Dependencies are shared between revisions.
# usage: build-revision.sh REVISION
#   REVISION may also be a built program, whose path is then printed.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: build-revision.sh REVISION" >&2; exit 2; }
[ ! -x "$1" ] || [ -d "$1" ] || exec realpath "$1"
cd "$(dirname "$0")/.."

commit=$(git rev-parse --quiet --verify --short "$1^{commit}") \
  || { echo "build-revision: $1 is neither a revision of this clone nor a program" >&2; exit 1; }
revisions=$PWD/out/revisions
program=$revisions/$commit/polypath
if [ ! -x "$program" ]; then
  tree=$revisions/$commit/tree
  mkdir -p "$tree"
  git archive "$commit" | tar -x -C "$tree"
  echo "build-revision: building the program of $commit" >&2
  (cd "$tree" && CARGO_TARGET_DIR=$revisions/target cargo build --release --quiet --bin polypath) >&2
  install "$revisions/target/release/polypath" "$program"
fi
echo "$program"
