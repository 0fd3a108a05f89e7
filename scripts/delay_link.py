#!/usr/bin/env python3
"""Links two network namespaces with a delay, as netem does, which many kernels lack.

usage: delay_link.py NAME MILLISECONDS NAMESPACE NAMESPACE
Each namespace gets a TUN device NAME. A packet that is sent on one is received on the other after
the delay. The devices disappear with this process.
"""

import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
LONGEST_PACKET = 65536


def open_device(name, namespace):
    """Creates a TUN device and moves it to the namespace; its descriptor stays here."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    subprocess.run(["ip", "link", "set", name, "netns", namespace], check=True)
    return device


def receive(device, queue, delay):
    """Queues all packets that wait, with the times at which they leave."""
    try:
        while packet := os.read(device, LONGEST_PACKET):
            queue.append((time.monotonic() + delay, packet))
    except OSError:  # there are no more, or the device is down
        pass


def send_due(device, queue):
    while queue and queue[0][0] <= time.monotonic():
        try:
            os.write(device, queue.popleft()[1])
        except OSError:  # the device is down: the packet is lost
            pass


def main():
    name, delay = sys.argv[1], float(sys.argv[2]) / 1000
    one, other = (open_device(name, namespace) for namespace in sys.argv[3:5])
    queues = {one: deque(), other: deque()}  # of the packets that leave by each device
    opposite = {one: other, other: one}
    while True:
        due = min((queue[0][0] for queue in queues.values() if queue), default=None)
        wait = None if due is None else max(0, due - time.monotonic())
        for device in select.select([one, other], [], [], wait)[0]:
            receive(device, queues[opposite[device]], delay)
        for device, queue in queues.items():
            send_due(device, queue)


main()
