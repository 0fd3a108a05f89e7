#!/usr/bin/env bash
# Prints where the links of Markdown files lead, one a line: to other files only, without the place in these.
# usage: links.sh FILE ...
set -euo pipefail
sed -n 's/](\([^)]*\))/\n&\n/gp' "$@" |
  sed -n 's/^](\([^)#]*\).*)$/\1/p' | sed -E '/^$/d; /^[a-z]+:/d'
