#!/usr/bin/env bash
# Prints the target files of the links in Markdown files, one on each line, without fragments and
# URLs.
# usage: links.sh FILE ...
set -euo pipefail
sed -n 's/](\([^)]*\))/\n&\n/gp' "$@" |
  sed -n 's/^](\([^)#]*\).*)$/\1/p' | sed -E '/^$/d; /^[a-z]+:/d'
