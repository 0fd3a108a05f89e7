#!/usr/bin/env python3
"""Verifies the vectors of protocol.json with the second implementation in protocol.py.

usage: check.py [--verbose] [FILE]
  --verbose  prints the hash, chaining key and keys after each step of each handshake

Exit codes: 0 all values agree; 1 one does not; 2 the file cannot be read, or has another structure.
"""

import argparse
import json
import struct
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import protocol
from protocol import FRAME, INFO, Node, Rejected, blake2s, decode_frame, mac

checks = 0


def equal(found, expected, what):
    global checks
    checks += 1
    if found != expected:
        raise SystemExit(f"check: {what}: {found!r} instead of {expected!r}")


def unhex(value):
    """The vectors with bytes for hexadecimal strings, and names as they are."""
    words = {"name", "renews", "initiator", "responder", "sender", "receiver", "reason", "source",
             "noise", "prologue"}
    if isinstance(value, dict):
        return {k: v if k in words else unhex(v) for k, v in value.items()}
    if isinstance(value, list):
        return [unhex(item) for item in value]
    return bytes.fromhex(value) if isinstance(value, str) else value


def check_rejected(nodes, rejected):
    for vector in rejected:
        try:
            nodes[vector["receiver"]].receive(vector["path"], vector["datagram"])
            reason = None
        except Rejected as error:
            reason, = error.args
        equal(reason, vector["reason"], vector["name"])


def check_transport(nodes, vectors):
    for vector in vectors:
        receiver, = (node for name, node in nodes.items() if name != vector["sender"])
        path, datagram, plaintext = vector["path"], vector["datagram"], vector["plaintext"]
        equal(receiver.receive(path, datagram), plaintext, vector["name"])
        index, = struct.unpack(">I", datagram[1:5])
        keys, = (k for k in nodes[vector["sender"]].keys.values() if k.remote_index == index)
        equal(keys.seal(path, vector["counter"], plaintext), datagram, vector["name"])


def info_bytes(info):
    instance = int.from_bytes(info["instance"], "big")
    return INFO.pack(info["index"], instance, info["features"], info["paths"])


def check_cookie(nodes, session):
    """The source, the cookie of the responder, and its acceptance by the initiator."""
    cookie, initiator = session["cookie_reply"], nodes[session["initiator"]]
    host, port = cookie["source"].split(":")
    source = bytes(10) + b"\xff\xff" + bytes(map(int, host.split("."))) + struct.pack(">H", int(port))
    equal(cookie["source_bytes"], source, "source")
    value = mac(cookie["secret"], source)
    key = blake2s(b"polypath cookie " + nodes[session["responder"]].public)
    reply = b"\4" + value + mac(key, cookie["initiation"][122:138] + value)
    equal(reply, cookie["datagram"], "cookie reply")
    check_rejected(nodes, cookie["rejected"])
    equal(initiator.receive(0, reply), session["initiation"]["cookie"], "cookie")


def check_session(session, nodes):
    protocol.trace(f"session {session['name']}")
    initiator, responder = nodes[session["initiator"]], nodes[session["responder"]]
    initiation, response = session["initiation"], session["response"]
    own = info_bytes(initiation["info"])
    plain, complete = initiator.initiate(
        initiation["ephemeral_private"], initiation["timestamp"], own,
        initiation["session_secret"], initiation["cookie"])
    equal(complete, initiation["datagram"], "initiation")
    if session["cookie_reply"]:
        equal(plain, session["cookie_reply"]["initiation"], "initiation without a cookie")
        check_cookie(nodes, session)
    check_rejected(nodes, initiation["rejected"])
    answer, payload = responder.respond(
        initiation["datagram"], response["ephemeral_private"], info_bytes(response["info"]),
        response["secret"])
    equal(payload, initiation["timestamp"] + own, "payload of the initiation")
    equal(answer, response["datagram"], "response")
    check_rejected(nodes, response["rejected"])
    payload = initiator.receive(0, answer)
    equal(payload, info_bytes(response["info"]) + response["secret"], "payload of the response")
    check_transport(nodes, session["transport"])
    check_rejected(nodes, session["rejected"])
    check_transport(nodes, session["accepted_after"])
    return nodes


def new_nodes(session, keys):
    names = session["initiator"], session["responder"]
    paths = session["initiation"]["info"]["paths"]
    return {own: Node(keys[own]["private"], keys[peer]["public"], session["psk"], paths)
            for own, peer in (names, names[::-1])}


def check_relayed(relayed, keys):
    """13: the relay opens what `a` sealed and seals the same bytes for `b`."""
    first, second = (check_session(s, new_nodes(s, keys)) for s in relayed["sessions"])
    for nodes, name in ((first, "to_relay"), (second, "from_relay")):
        equal(relayed[name]["plaintext"], relayed["inner"], name)
        check_transport(nodes, [relayed[name]])


def check_truncated(vectors):
    for vector in vectors:
        truncated, lowest = (int.from_bytes(vector[key], "big") for key in ("truncated", "lowest"))
        number = protocol.expand(truncated, lowest, vector["bits"])
        wanted = vector["number"] and int.from_bytes(vector["number"], "big")
        equal(number, wanted, f"{truncated} from {lowest}")


def check_frames(vectors):
    for frame in vectors["frames"]:
        fields = frame["kind"], frame["epoch"], frame["sequence"], frame["sent"]
        equal(decode_frame(frame["bytes"]), (*fields, frame["body"]), frame["name"])
        equal(FRAME.pack(*fields) + frame["body"], frame["bytes"], frame["name"])
    for frame in vectors["rejected_frames"]:
        try:
            decode_frame(frame["bytes"])
        except ValueError:
            continue
        raise SystemExit(f"check: {frame['name']}: decoded")


def refuse(message):
    """Ends with the exit code for a file that has no vectors."""
    print(f"check: {message}", file=sys.stderr)
    raise SystemExit(2)


def read(file):
    """The vectors of a file."""
    try:
        return unhex(json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        refuse(f"cannot read {file}: {error.strerror}; name a file like protocol.json")
    except json.JSONDecodeError as error:
        refuse(f"{file}:{error.lineno}:{error.colno}: not JSON: {error.msg}")
    except UnicodeDecodeError:
        refuse(f"{file}: not UTF-8 text")
    except RecursionError:
        refuse(f"{file}: nested too deeply")
    except ValueError as error:
        refuse(f"{file}: a value is not hexadecimal: {error}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=__doc__.splitlines()[-1])
    parser.add_argument("--verbose", action="store_true")
    kept = Path(__file__).with_name("protocol.json")
    parser.add_argument("file", nargs="?", type=Path, default=kept)
    options = parser.parse_args()
    if options.verbose:
        protocol.trace = print
    vectors = read(options.file)
    try:
        check(vectors)
    except Rejected as error:
        reason, = error.args
        raise SystemExit(f"check: {options.file}: a datagram that is valid was rejected: {reason}")
    except KeyError as error:
        refuse(f"{options.file}: the key or name {error} is missing")
    except (AttributeError, IndexError, TypeError, ValueError, struct.error) as error:
        refuse(f"{options.file}: a value has another type or length than in protocol.json: {error}")
    print(f"check: {checks} values of {options.file.name} agree")


def check(vectors):
    """Compares all values with those of the second implementation."""
    keys, nodes = vectors["keys"], {}
    for name, pair in keys.items():
        equal(protocol.public(pair["private"]), pair["public"], f"public key of {name}")
    for session in vectors["sessions"]:
        earlier = nodes.get(session["renews"]) or new_nodes(session, keys)
        nodes[session["name"]] = check_session(session, earlier)
    check_relayed(vectors["relayed"], keys)
    check_truncated(vectors["truncated"])
    check_frames(vectors)
    whole = vectors["fragments"]
    found = list(protocol.fragments(whole["packet"], whole["limit"]))
    equal(found, whole["fragments"], "fragments")
    for coded in vectors["coded"]:
        fragments = coded["fragments"]
        found = protocol.coded(coded["packet"], coded["needed"], len(fragments))
        equal(found, fragments, "coded fragments")


if __name__ == "__main__":
    main()
