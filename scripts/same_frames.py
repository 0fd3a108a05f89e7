#!/usr/bin/env python3
"""Decodes a video that was sent and what was received of it, and compares every frame.

usage: same_frames.py NAME SENT RECEIVED [--least N] [--differ]
The received frames must be those that were sent, in a row: none missing, none other. A receiver
may start late and end early, and its last frame may be cut, but it needs N frames (200).
  --differ  the opposite: exit code 1 if all frames are the same
"""

import argparse
import subprocess
import sys


def checksums(video):
    """The checksum of each decoded frame. `passthrough` keeps frames with equal timestamps."""
    decoded = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "quiet", "-i", video, "-map", "0:v:0",
         "-fps_mode", "passthrough", "-f", "framemd5", "-"], capture_output=True, text=True)
    return [line.split()[-1] for line in decoded.stdout.splitlines() if not line.startswith("#")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("sent")
    parser.add_argument("received")
    parser.add_argument("--least", type=int, default=200)
    parser.add_argument("--differ", action="store_true")
    options = parser.parse_args()

    sent, received = checksums(options.sent), checksums(options.received)
    if sent[-1:] != received[-1:]:
        del received[-1:]
    known = set(sent)
    start = next((sent.index(frame) for frame in received[:1] if frame in known), 0)
    # A recording of what was sent may end before the reception.
    common = min(len(received), len(sent) - start)
    same = sum(a == b for a, b in zip(sent[start:], received))
    intact = common >= options.least and same == common
    damaged = sum(frame not in known for frame in received)
    print(f"recipe: {options.name}: {same} of {common} frames in a row as sent"
          + ("" if intact else f"; {damaged} damaged, {len(known - set(received))} not received"))
    sys.exit(intact == options.differ)


main()
