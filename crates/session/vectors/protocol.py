"""A second implementation of docs/protocol.md, without budgets, timers and policies.

It shares no code with polypath: the primitives are those of `cryptography` (Debian:
python3-cryptography) and of Python, and Noise is written out below. Numbers in comments are
sections of docs/protocol.md.
"""

import functools
import hashlib
import hmac
import operator
import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

WINDOW = 2048
BEHIND = 1 << 18
INFO = struct.Struct(">IQIB")
FRAME = struct.Struct(">BB3s3s")


def trace(_):
    """Replaced by a user that prints the steps of handshakes."""


class Rejected(Exception):
    """A datagram was dropped; the argument is the reason (14)."""


# 2: primitives

def blake2s(data):
    return hashlib.blake2s(data).digest()


def mac(key, data):
    return hashlib.blake2s(data, key=key, digest_size=16).digest()


def hkdf(chaining_key, material, outputs):
    secret = hmac.digest(chaining_key, material, hashlib.blake2s)
    parts = [b""]
    for number in range(1, outputs + 1):
        parts.append(hmac.digest(secret, parts[-1] + bytes([number]), hashlib.blake2s))
    return parts[1:]


def public(private):
    key = X25519PrivateKey.from_private_bytes(private).public_key()
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def dh(private, peer):
    try:
        return X25519PrivateKey.from_private_bytes(private).exchange(
            X25519PublicKey.from_public_bytes(peer))
    except ValueError:
        raise Rejected("undecryptable") from None


def nonce(n):
    return bytes(4) + struct.pack("<Q", n)


def seal(key, n, ad, plaintext):
    return ChaCha20Poly1305(key).encrypt(nonce(n), plaintext, ad)


def open_sealed(key, n, ad, sealed):
    try:
        return ChaCha20Poly1305(key).decrypt(nonce(n), sealed, ad)
    except InvalidTag:
        raise Rejected("undecryptable") from None


def expand(truncated, lowest, bits):
    """8.1: the number from `lowest` on that ends with the bits `truncated`, or none."""
    number = lowest + (truncated - lowest) % (1 << bits)
    return number if number < 1 << 64 else None


class Noise:
    """4: the state of one handshake."""

    def __init__(self, responder_static):
        self.hash = self.chaining_key = blake2s(b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s")
        self.mix_hash(b"polypath session 4")
        self.mix_hash(responder_static)
        self.key = None

    def mix_hash(self, data):
        self.hash = blake2s(self.hash + data)

    def mix_key(self, material):
        self.chaining_key, self.key = hkdf(self.chaining_key, material, 2)

    def ephemeral(self, key):
        self.mix_hash(key)
        self.mix_key(key)

    def mix_psk(self, psk):
        self.chaining_key, temporary, self.key = hkdf(self.chaining_key, psk, 3)
        self.mix_hash(temporary)

    def encrypt(self, plaintext):
        sealed = seal(self.key, 0, self.hash, plaintext)
        self.mix_hash(sealed)
        return sealed

    def decrypt(self, sealed):
        plaintext = open_sealed(self.key, 0, self.hash, sealed)
        self.mix_hash(sealed)
        return plaintext

    def show(self, step):
        trace(f"{step}: h {self.hash.hex()} ck {self.chaining_key.hex()} k {self.key.hex()}")

    def split(self):
        return hkdf(self.chaining_key, b"", 2)

    def copy(self):
        other = object.__new__(Noise)
        other.__dict__.update(self.__dict__)
        return other


class Keys:
    """8: the keys of one handshake, with a counter and a window for each path."""

    def __init__(self, send, receive, remote_index):
        self.send, self.receive, self.remote_index = send, receive, remote_index
        self.seen = {}

    def seal(self, path, counter, plaintext):
        n = path << 56 | counter
        header = bytes([path % 32 << 3 | 3]) + struct.pack(">I", self.remote_index)
        return header + counter.to_bytes(8, "big")[5:] + seal(self.send, n, b"", plaintext)

    def open(self, path, datagram):
        if datagram[0] >> 3 != path % 32:
            raise Rejected("wrong-path")
        seen = self.seen.setdefault(path, set())
        lowest = max(0, max(seen, default=-1) + 1 - BEHIND)
        counter = expand(int.from_bytes(datagram[5:8], "big"), lowest, 24)
        if counter >= (1 << 56) - 1 or seen and counter + WINDOW <= max(seen):
            raise Rejected("behind-window")
        if counter in seen:
            raise Rejected("replayed")
        plaintext = open_sealed(self.receive, path << 56 | counter, b"", datagram[8:])
        seen.add(counter)
        return plaintext


class Node:
    """One side of a session. The draws of a handshake are arguments."""

    def __init__(self, private, peer, psk, paths):
        self.private, self.public, self.peer, self.psk = private, public(private), peer, psk
        self.paths, self.keys, self.pending = paths, {}, None
        self.accepted, self.answer, self.timestamp = None, None, 0

    def mac_to(self, receiver, covered):
        return mac(blake2s(b"polypath mac 4--" + receiver), covered)

    def initiate(self, ephemeral, timestamp, info, session_secret, cookie):
        """3.1, 4 and 5: the initiation, without and with the cookie MAC."""
        noise = Noise(self.peer)
        noise.ephemeral(public(ephemeral))
        noise.mix_key(dh(ephemeral, self.peer))
        noise.show("es")
        message = b"\1" + public(ephemeral) + noise.encrypt(self.public)
        noise.mix_key(dh(self.private, self.peer))
        noise.show("ss")
        message += noise.encrypt(timestamp + info)
        message += self.mac_to(self.peer, message)
        self.pending = noise, ephemeral, INFO.unpack(info)[0], message[122:138]
        message += mac(session_secret + bytes(16), message) if session_secret else bytes(16)
        with_cookie = message + (mac(cookie + bytes(16), message) if cookie else bytes(16))
        return message + bytes(16), with_cookie

    def check_handshake(self, message, length, copy_of):
        if len(message) != length:
            raise Rejected("truncated" if len(message) < length else "oversized")
        end = {170: 138, 102: 102}[length]
        if message[end - 16:end] != self.mac_to(self.public, message[:end - 16]):
            raise Rejected("bad-mac")
        at = {170: 1, 102: 5}[length]
        if message[at:at + 32] == copy_of:
            raise Rejected("handshake-copy")
        return message[at:at + 32]

    def read_initiation(self, message):
        """6: the steps that need no clock and no budget."""
        ephemeral = self.check_handshake(message, 170, self.accepted)
        noise = Noise(self.public)
        noise.ephemeral(ephemeral)
        noise.mix_key(dh(self.private, ephemeral))
        static = noise.decrypt(message[33:81])
        noise.mix_key(dh(self.private, static))
        payload = noise.decrypt(message[81:122])
        if static != self.peer:
            raise Rejected("wrong-key")
        if int.from_bytes(payload[:8], "big") <= self.timestamp:
            raise Rejected("stale-timestamp")
        self.accepted, self.timestamp = ephemeral, int.from_bytes(payload[:8], "big")
        return noise, payload

    def respond(self, message, ephemeral, info, secret):
        noise, payload = self.read_initiation(message)
        remote = INFO.unpack(payload[8:])[0]
        noise.ephemeral(public(ephemeral))
        noise.mix_key(dh(ephemeral, self.accepted))
        noise.show("ee")
        noise.mix_key(dh(ephemeral, self.peer))
        noise.show("se")
        noise.mix_psk(self.psk)
        noise.show("psk")
        answer = struct.pack(">BI", 2, remote) + public(ephemeral) + noise.encrypt(info + secret)
        receive, send = noise.split()
        trace(f"k1 {receive.hex()} k2 {send.hex()}")
        self.keys[INFO.unpack(info)[0]] = Keys(send, receive, remote)
        return answer + self.mac_to(self.peer, answer), payload

    def read_response(self, message):
        ephemeral = self.check_handshake(message, 102, self.answer)
        if self.pending is None or struct.unpack(">I", message[1:5])[0] != self.pending[2]:
            raise Rejected("unknown-index")
        noise, own, index = self.pending[0].copy(), *self.pending[1:3]
        noise.ephemeral(ephemeral)
        try:
            noise.mix_key(dh(own, ephemeral))
            noise.mix_key(dh(self.private, ephemeral))
            noise.mix_psk(self.psk)
            payload = noise.decrypt(message[37:86])
        except Rejected:
            raise Rejected("wrong-response") from None
        send, receive = noise.split()
        self.keys[index] = Keys(send, receive, INFO.unpack(payload[:17])[0])
        self.pending, self.answer = None, ephemeral
        return payload

    def read_cookie(self, message):
        """5.3: the cookie of a reply."""
        key = blake2s(b"polypath cookie " + self.peer)
        if len(message) != 33:
            raise Rejected("truncated" if len(message) < 33 else "oversized")
        if self.pending is None or message[17:] != mac(key, self.pending[3] + message[1:17]):
            raise Rejected("unexpected-cookie")
        return message[1:17]

    def receive(self, path, datagram):
        """14: the plaintext or payload of a datagram."""
        if path >= self.paths:
            raise Rejected("unknown-path")
        readers = {1: self.read_initiation, 2: self.read_response, 4: self.read_cookie}
        if not datagram or datagram[0] % 8 == 3 and len(datagram) < 24:
            raise Rejected("truncated")
        if datagram[0] % 8 == 3:
            index, = struct.unpack(">I", datagram[1:5])
            if index not in self.keys:
                raise Rejected("unknown-index")
            return self.keys[index].open(path, datagram)
        if datagram[0] not in readers:
            raise Rejected("unknown-type")
        return readers[datagram[0]](datagram)


# 10.4: the lengths of the messages of packet spacing, by their kinds.
SPACING = {b"\1": 73, b"\2": 9, b"\3": 9, b"\4": 9}


def decode_frame(data):
    """10: kind, epoch, sequence, sent and body; `ValueError` if it is none."""
    if len(data) < FRAME.size:
        raise ValueError("short")
    kind, *fields = FRAME.unpack(data[:FRAME.size])
    body = data[FRAME.size:]
    valid = {
        0: len(body) > 0,
        1: len(body) == 2,
        2: body[:1] in (b"\0", b"\1"),
        3: len(body) == 2 and body[0] == 0,
        6: len(body) > 0,
        7: len(body) > 0,
        8: len(body) > 0,
        9: len(body) > 3 and 0 <= len(body) - 4 - 10 * body[3] <= 512,
        10: len(body) == 2 and body[0] == 0,
        11: len(body) > 4 and is_fragment(*body[:4], len(body) - 4),
        12: SPACING.get(body[:1]) == len(body),
    }
    heartbeat = body in (b"\0\0", b"\0\1") or body[:2] == b"\0\2"
    if not valid.get(kind, kind in (4, 5) and heartbeat):
        raise ValueError("malformed")
    return kind, *fields, body


def is_fragment(index, needed, total, padding, size):
    """10.3: whether a fragment of `size` bytes has the least length for its packet."""
    packet = needed * size - padding
    return (2 <= needed <= total <= 64 and index < total and packet > 0
            and size == -(-packet // needed))


def times(a, b):
    """10.3: the product in GF(2^8)."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a, b = a << 1 ^ (0x11d if a & 0x80 else 0), b >> 1
    return product


def over(a, b):
    """10.3: the quotient in GF(2^8)."""
    return next(x for x in range(256) if times(x, b) == a)


def coded(packet, needed, total):
    """10.3: the originals of a packet and its recovery fragments."""
    size = -(-len(packet) // needed)
    padded = packet.ljust(needed * size, b"\0")
    originals = [padded[at:at + size] for at in range(0, len(padded), size)]
    recovery = []
    for row in range(needed, total):
        factors = [over(needed ^ column, row ^ column) for column in range(needed)]
        columns = zip(*originals)
        products = ([times(*pair) for pair in zip(factors, column)] for column in columns)
        recovery.append(bytes(functools.reduce(operator.xor, column) for column in products))
    return originals + recovery


def checksum(header):
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def fragments(packet, limit):
    """12: the fragments of RFC 791 of a packet without options."""
    payload, room = packet[20:], (limit - 20) // 8 * 8
    for at in range(0, len(payload), room):
        piece = payload[at:at + room]
        more = 0x2000 if at + room < len(payload) else 0
        header = bytearray(packet[:20])
        header[2:4] = struct.pack(">H", 20 + len(piece))
        header[6:8] = struct.pack(">H", more | at // 8)
        header[10:12] = bytes(2)
        header[10:12] = struct.pack(">H", checksum(header))
        yield bytes(header) + piece
