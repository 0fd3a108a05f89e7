#!/usr/bin/env bash
# Prints the time of the sources in seconds since 1970, the SOURCE_DATE_EPOCH of a release: that of
# the revision, and in an archive without git that of its files.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}"
