#!/usr/bin/env bash
# The main job: a media file crosses two bad paths by four schemes, between unmodified programs over
# the kernel's TCP.
# usage: demo.sh POLYPATH SCENARIO OUT [CLIP [ROUNDS]]
set -euo pipefail

polypath=$1 scenario=$2 out=$3 clip=${4:-} rounds=${5:-}
mkdir -p "$out"

if [ -z "$clip" ]; then
  clip="$out/clip.ts"
  if [ ! -s "$clip" ]; then
    # ffmpeg's test source, a little over 100 kB of MPEG transport stream: the paper's file size.
    ffmpeg -hide_banner -loglevel error -nostdin -y -f lavfi -i testsrc2=size=320x240:rate=25 -t 10 \
      -c:v mpeg2video -b:v 120k -f mpegts -fs 110000 "$clip"
  fi
elif [ ! -r "$clip" ]; then
  echo "demo: cannot read the clip $clip" >&2
  exit 2
fi

"$polypath" lab "$scenario" --out "$out" --clip "$clip" ${rounds:+--set "transfer.count=$rounds"}

# The results that the demo promises; other results do not make it fail.
verdict=$(jq -r '
  (.schemes | map({(.name): .}) | add) as $s
  | ($s["ppd-tcp2"].difference_to_tcp_s // {}) as $d
  | if any(.schemes[]; (.intact | not) or .timed_out > 0) then
      "a transfer timed out, or a received file differs from the sent one"
    elif .valid | not then "the emulator was later than the bound: the run is invalid"
    elif ($d.mean == null) or ($d.ci95 == null) then
      "nothing to compare: the scenario needs tcp and ppd-tcp2, and two transfers or more"
    elif $d.mean + $d.ci95 >= 0 then "PPD-TCP2 was not faster than TCP"
    else "ok" end' "$out/report.json")

if [ "$verdict" != ok ]; then
  echo "demo: FAILED: $verdict" >&2
  exit 1
fi
echo "demo: PPD-TCP2 was faster than TCP (95 % confidence), all files arrived intact, the run is valid"
