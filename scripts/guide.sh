#!/usr/bin/env bash
# Runs every command of a guide in docs/, word for word, in namespaces that the kernel removes when
# this script ends.
# usage: guide.sh NAME POLYPATH GUIDE SECONDS [RESULTS]
#   NAME begins the lines that are printed; SECONDS limits the duration; lines of the commands'
#   output that begin with RESULTS are printed as they come.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1 program=$(realpath "$2") guide=$3 seconds=$4 results=${5:-}
if [ "$(id -u)" -ne 0 ] || [ ! -e /dev/net/tun ]; then
  echo "$name: skipped: needs root and /dev/net/tun"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The lines of all ```sh blocks.
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$guide" >"$work/commands"
if ! grep -q 'polypath ' "$work/commands"; then
  echo "$name: $guide has no commands between \`\`\`sh and \`\`\`, or none that runs \`polypath\`"
  exit 1
fi

# The names of namespaces and the processes are private to the script: the kernel removes them with
# the last process.
ln -s "$program" "$work/polypath"
: >"$work/log"
if [ -n "$results" ]; then
  tail -n +1 -f --pid=$$ "$work/log" 2>/dev/null | grep --line-buffered "^$results" &
fi
status=0
PATH=$work:$PATH TMPDIR=$work timeout --foreground -k 5 "$seconds" \
  unshare --mount --net --pid --fork --kill-child --mount-proc sh -c '
    mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && exec bash -euxo pipefail "$1"
  ' sh "$work/commands" >"$work/log" 2>&1 || status=$?
# `tail` polls the log once a second.
[ -z "$results" ] || { sleep 1.5; kill "$(jobs -p)"; }
if [ "$status" -eq 0 ]; then
  echo "$name: all $(grep -c . "$work/commands") lines of commands in $guide succeeded"
else
  tail -n 40 "$work/log"
  # The exit codes of `timeout` when the time has run out.
  case $status in
    124 | 137) echo "$name: the command above, or those before it, took longer than $seconds s" ;;
    *) echo "$name: the command above failed" ;;
  esac
  exit 1
fi
