#!/usr/bin/env bash
# The main job: a media file crosses two bad paths four ways, between unmodified programs on the kernel's
# TCP. usage: demo.sh POLYPATH SCENARIO OUT [CLIP]
set -euo pipefail

polypath=$1 scenario=$2 out=$3 clip=${4:-}
mkdir -p "$out"

if [ -z "$clip" ]; then
  clip="$out/clip.ts"
  if [ ! -s "$clip" ]; then
    # Four seconds of ffmpeg's test source, 100 kB of MPEG transport stream: the file size of the paper.
    ffmpeg -hide_banner -loglevel error -nostdin -y -f lavfi -i testsrc2=size=320x240:rate=25 -t 8 \
      -c:v mpeg2video -b:v 120k -f mpegts -fs 99000 "$clip"
  fi
elif [ ! -r "$clip" ]; then
  echo "demo: cannot read the clip $clip" >&2
  exit 2
fi

"$polypath" lab "$scenario" --out "$out" --clip "$clip"

# What the demo promises; all else is reported as it is.
jq -e '
  def fail(what): "demo: FAILED: " + what + "\n" | halt_error(1);
  (.schemes | map({(.name): .}) | add) as $s
  | if any(.schemes[]; .intact | not) then fail("a received file differs from the sent one")
    elif .valid | not then fail("the emulator was later than the bound: the run is invalid on this machine")
    elif ($s["ppd-tcp2"].difference_to_tcp_s | .mean + .ci95) >= 0 then fail("PPD-TCP2 was not faster than TCP")
    else empty end' "$out/report.json" || [ $? -eq 4 ]
echo "demo: PPD-TCP2 was faster than TCP, all files arrived intact, the run is valid"
