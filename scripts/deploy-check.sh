#!/usr/bin/env bash
# Runs every command of docs/deploy.md, word for word, in namespaces that end with this script, however it ends.
# usage: deploy-check.sh POLYPATH
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "$1")
if [ "$(id -u)" -ne 0 ] || [ ! -e /dev/net/tun ]; then
  echo "deploy-check: skipped: needs root and /dev/net/tun"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Between the fences of the shell's blocks; the closing line of the last says that all went well.
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/deploy.md >"$work/commands"
echo 'echo "deploy-check: every command of docs/deploy.md went well"' >>"$work/commands"

# Names of namespaces, and processes, are the script's own: the kernel takes all away with its last process.
PATH=$(dirname "$program"):$PATH TMPDIR=$work timeout -k 5 180 \
  unshare --mount --net --pid --fork --kill-child --mount-proc sh -c '
    mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && exec bash -euo pipefail "$1"
  ' sh "$work/commands"
