#!/usr/bin/env bash
# Builds the SRT program for live streams with connection bonding, which Debian's package lacks, from
# Debian's source package, and prints its path. The program is kept for the next call.
# usage: srt.sh
set -euo pipefail
cd "$(dirname "$0")/.."

version=1.5.1
build=$PWD/out/peers/srt-$version
program=$build/srt-test-live
if [ -x "$program" ]; then
  echo "$program"
  exit
fi

scripts/setup.sh c++:g++ cmake:cmake pkg-config:pkg-config
# A library, which `setup.sh` cannot look for as a command.
[ -e /usr/include/openssl/ssl.h ] || scripts/setup.sh openssl/ssl.h:libssl-dev

# Lists of its own, so that those of the system stay as they are.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/source"
echo "deb-src http://deb.debian.org/debian bookworm main" >"$work/sources.list"
apt=(apt-get -qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$work/lists" -o APT::Sandbox::User=root)
echo "srt: fetching the source of SRT $version" >&2
"${apt[@]}" update >&2
(cd "$work/source" && "${apt[@]}" source --download-only srt >&2)
archive=$(find "$work/source" -name "srt_${version}*.orig.tar.*" | head -1)
[ -n "$archive" ] || { echo "srt: Debian has no source of SRT $version any more: name the present one in $0" >&2; exit 1; }
tar -x -f "$archive" -C "$work/source" --strip-components=1

echo "srt: building it with bonding (2 min)" >&2
log=$work/build.log
{
  cmake -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DENABLE_BONDING=ON \
    -DENABLE_TESTING=ON -DENABLE_SHARED=OFF -DENABLE_STATIC=ON -DENABLE_UNITTESTS=OFF \
    && cmake --build "$work/build" --target srt-test-live --parallel "$(nproc)"
} >"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "srt: the build failed" >&2; exit 1; }
install -D "$work/build/srt-test-live" "$program"
echo "$program"
