#!/usr/bin/env python3
"""Sends media-like datagrams over two nodes for each policy, and counts losses and reordering.

Two network namespaces are joined by two links that lose packets at random and independently of
each other. Nothing outside the namespaces is touched. Needs root, `ip`, `nft` and `polypath` in the
PATH; run it from the top directory of the repository.

    docs/choose-a-policy/media-loss.py [--loss 0.02 0.02] [--seconds 60] [POLICY ...]

Exit codes: 0 measured; 1 a command or a node failed; 2 the command line is wrong.
"""
import argparse
import ctypes
import difflib
import json
import math
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

NODES = {"a": "loss-a", "b": "loss-b"}
LINKS = ("p1", "p2")
POLICIES = ("single-path", "duplicate-acks", "duplicate-all", "probe-and-switch", "in-time")
RECEIVER = ("10.77.0.2", 5004)
SIZE, INTERVAL = 1200, 0.005  # 1.92 Mbit/s
TOP = pathlib.Path(__file__).resolve().parents[2]


class NodeError(Exception):
    """A node ended before it was stopped; the message is what it printed."""


def share(text):
    """A share of datagrams, from 0 to less than 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share: write 0.02 for 2 %")
    return value


def duration(text):
    """A time in seconds in which at least one datagram is sent, and at most a day."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not INTERVAL <= value <= 86400:
        raise argparse.ArgumentTypeError(f"{text} is not a time: write seconds, such as 60")
    return value


def check_policies(parser, policies):
    """Ends with a message if there is no policy of one of these names."""
    schema = json.loads(run("polypath schema node"))
    tables = schema["$defs"]["PolicyConfig"]["oneOf"]
    known = [table["properties"]["kind"]["const"] for table in tables]
    for policy in policies:
        if policy not in known:
            near = difflib.get_close_matches(policy, known, 1)
            remedy = f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}"
            parser.error(f"argument POLICY: there is no policy {policy}; {remedy}")


def run(command):
    return subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout


def create_network(losses):
    for namespace in NODES.values():
        run(f"ip netns add {namespace}")
    for number, link in enumerate(LINKS, 1):
        run(f"ip link add {link} netns loss-a type veth peer name {link} netns loss-b")
        for host, namespace in enumerate(NODES.values(), 1):
            run(f"ip -n {namespace} address add 10.1.{number}.{host}/24 dev {link}")
            run(f"ip -n {namespace} link set {link} up")
    drops = "".join(
        f"iifname {link} udp dport 7001 numgen random mod 1000000 < {round(loss * 1e6)} drop; "
        for link, loss in zip(LINKS, losses)
    )
    rules = f"table inet loss {{ chain input {{ type filter hook input priority 0; {drops}}}; }}"
    for namespace in NODES.values():
        command = ["ip", "netns", "exec", namespace, "nft", "-f", "-"]
        subprocess.run(command, input=rules, text=True, check=True)


def delete_network():
    for namespace in NODES.values():
        subprocess.run(["ip", "netns", "delete", namespace], stderr=subprocess.DEVNULL)


def start_nodes(folder, policy):
    keys = {node: run(f"polypath key {folder}/{policy}-{node}.key").strip() for node in NODES}
    for node in NODES:
        text = (TOP / f"docs/two-nodes/{node}.toml").read_text()
        text = text.replace('"duplicate-all"', f'"{policy}"', 1)
        text = text.replace(f'"{node}.', f'"{policy}-{node}.')
        for peer in NODES:
            text = text.replace(f"@{peer}@", keys[peer])
        file = folder / f"{policy}-{node}.toml"
        file.write_text(text)
    return {node: start_node(folder, policy, node) for node in NODES}


def start_node(folder, policy, node):
    command = f"ip netns exec {NODES[node]} polypath node {folder}/{policy}-{node}.toml"
    with open(folder / f"{policy}-{node}.log", "w") as log:
        return subprocess.Popen(command.split(), stderr=log)


def check_nodes(folder, policy, nodes):
    """Raises what a node printed that has ended."""
    for node, process in nodes.items():
        if process.poll() is not None:
            log = (folder / f"{policy}-{node}.log").read_text().strip()
            ended = f"node {node} ended with {policy}, exit code {process.returncode}"
            raise NodeError(f"{ended}:\n{log}")


def enter(namespace):
    """Moves this thread into the namespace of an open file."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0):
        raise OSError(ctypes.get_errno(), "cannot enter a network namespace")


def socket_in(namespace):
    """A UDP socket in a namespace: a socket stays in the namespace in which it was opened."""
    with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{namespace}") as other:
        enter(other)
        try:
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        finally:
            enter(home)


def receive(receiver, numbers):
    receiver.settimeout(1.0)
    try:
        while True:
            numbers.append(int.from_bytes(receiver.recv(2048)[:4], "big"))
    except TimeoutError:
        pass


def transmit(sender, count):
    start = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, start + number * INTERVAL - time.monotonic()))
        sender.sendto(number.to_bytes(4, "big").ljust(SIZE, b"\0"), RECEIVER)


def bytes_sent(folder, policy):
    """The bytes of datagrams that both nodes have sent."""
    files = [f"{folder}/{policy}-{node}.sock" for node in NODES]
    paths = [json.loads(run(f"polypath status {file} --format json"))["paths"] for file in files]
    return sum(path["sent"]["bytes"] for node in paths for path in node)


def wilson(lost, count):
    """The 95 % score interval of a share (Wilson 1927)."""
    z = 1.96
    centre = (lost + z * z / 2) / (count + z * z)
    half = z / (count + z * z) * math.sqrt(lost * (count - lost) / count + z * z / 4)
    return max(0.0, centre - half), centre + half


def measure(folder, policy, count):
    nodes = start_nodes(folder, policy)
    try:
        time.sleep(4)  # both paths are live: the hold of a returning path is 1 s
        check_nodes(folder, policy, nodes)
        receiver, sender = socket_in("loss-b"), socket_in("loss-a")
        receiver.bind(RECEIVER)
        before, numbers = bytes_sent(folder, policy), []
        thread = threading.Thread(target=receive, args=(receiver, numbers))
        thread.start()
        transmit(sender, count)
        thread.join()
        check_nodes(folder, policy, nodes)
        sent = bytes_sent(folder, policy) - before
    finally:
        for node in nodes.values():
            node.terminate()
            node.wait()
    low, high = wilson(count - len(numbers), count)
    newest, late = -1, 0
    for number in numbers:
        late += number < newest
        newest = max(newest, number)
    ratio = sent / (count * SIZE)
    lost = f"{100 * (count - len(numbers)) / count:.2f} ({100 * low:.2f} to {100 * high:.2f})"
    print(f"{policy:18}{lost:>22}{late:>14}{ratio:>14.2f}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    losses = "the share of datagrams that each of the two links loses"
    parser.add_argument("--loss", type=share, nargs=2, default=[0.02, 0.02], help=losses)
    parser.add_argument("--seconds", type=duration, default=60)
    parser.add_argument("policies", nargs="*", metavar="POLICY")
    options = parser.parse_args()
    missing = [program for program in ("polypath", "ip", "nft") if not shutil.which(program)]
    if missing:
        parser.error(f"there is no {missing[0]} in the PATH; install it, or add its folder to PATH")
    check_policies(parser, options.policies)
    return options


def measure_all(options):
    policies = options.policies or POLICIES
    count = round(options.seconds / INTERVAL)
    print(f"{count} datagrams of {SIZE} B a policy, one each {1000 * INTERVAL:g} ms;")
    shares = " and ".join(f"{100 * loss:g} %" for loss in options.loss)
    print(f"the links lose {shares} of the nodes' datagrams; in brackets the 95 % interval\n")
    print(f"{'policy':18}{'lost, %':>22}{'out of order':>14}{'wire/payload':>14}")
    try:
        create_network(options.loss)
        with tempfile.TemporaryDirectory() as folder:
            for policy in policies:
                measure(pathlib.Path(folder), policy, count)
    finally:
        delete_network()


def main():
    options = parse_arguments()
    if os.geteuid() != 0:
        sys.exit("media-loss: needs root, to create network namespaces")
    try:
        measure_all(options)
    except subprocess.CalledProcessError as error:
        command = " ".join(error.cmd)
        printed = (error.stderr or "").strip()
        sys.exit(f"media-loss: {command}: exit code {error.returncode}\n{printed}")
    except NodeError as error:
        sys.exit(f"media-loss: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
