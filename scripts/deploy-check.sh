#!/usr/bin/env bash
# Runs every command of docs/deploy.md, word for word, in namespaces that the kernel removes when
# this script ends.
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
# The lines of all ```sh blocks.
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/deploy.md >"$work/commands"
if ! grep -q 'polypath status' "$work/commands"; then
  echo "deploy-check: docs/deploy.md has no commands between \`\`\`sh and \`\`\`, or none that runs \`polypath status\`"
  exit 1
fi

# The names of namespaces and the processes are private to the script: the kernel removes them with
# the last process.
ln -s "$program" "$work/polypath"
status=0
PATH=$work:$PATH TMPDIR=$work timeout --foreground -k 5 180 \
  unshare --mount --net --pid --fork --kill-child --mount-proc sh -c '
    mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && exec bash -euxo pipefail "$1"
  ' sh "$work/commands" >"$work/log" 2>&1 || status=$?
if [ "$status" -eq 0 ]; then
  echo "deploy-check: all $(grep -c . "$work/commands") lines of commands in docs/deploy.md succeeded"
else
  tail -n 40 "$work/log"
  # The exit codes of `timeout` when the time has run out.
  case $status in
    124 | 137) echo "deploy-check: the command above, or those before it, took longer than 180 s" ;;
    *) echo "deploy-check: the command above failed" ;;
  esac
  exit 1
fi
