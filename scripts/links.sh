#!/usr/bin/env bash
# Prints where the links of Markdown files lead, one a line: to other files only, without the place in these.
# usage: links.sh FILE ...
set -euo pipefail
grep -oh '](\([^)]*\))' "$@" | sed 's/^](//; s/)$//; s/#.*//' | grep -vE '^$|^[a-z]+:' || true
