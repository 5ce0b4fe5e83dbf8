# DNS messages as bytes, written by hand so that tests can also send messages that no library would. Replies are parsed
# leniently here; the tests judge them.

import selectors
import socket
import struct
import time
from dataclasses import dataclass, field

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "OPT": 41, "AXFR": 252,
         "ANY": 255}
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED, BADVERS = 0, 1, 2, 3, 4, 5, 16


def name(text):
    labels = [label.encode() for label in text.rstrip(".").split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def opt(payload=1232, version=0, do=False, options=b""):
    return b"\0" + struct.pack("!HHBBHH", 41, payload, 0, version, 0x8000 if do else 0, len(options)) + options


def question(owner, type="A", qclass=1):
    return name(owner) + struct.pack("!HH", TYPES[type], qclass)


def header(id=0x1234, flags=0x0100, qd=1, an=0, ns=0, ar=0):
    return struct.pack("!6H", id, flags, qd, an, ns, ar)


def query(owner, type="A", id=0x1234, edns=None, flags=0x0100):
    """A query. `edns` is the result of `opt`, or None."""
    return header(id, flags, ar=1 if edns else 0) + question(owner, type) + (edns or b"")


@dataclass
class Message:
    packet: bytes
    id: int = 0
    flags: int = 0
    question: bytes = b""
    # The (owner, type, class, ttl, data) of the answer and authority sections.
    answers: list = field(default_factory=list)
    authority: list = field(default_factory=list)
    # The OPT record as (payload, version, flags, data), or None.
    opt: tuple = None
    rcode: int = 0

    def __init__(self, packet):
        self.packet = packet
        self.id, self.flags, qd, an, ns, ar = struct.unpack_from("!6H", packet)
        at = 12
        for _ in range(qd):
            _, at = read_name(packet, at)
            at += 4
        self.question = packet[12:at]
        sections = []
        for count in (an, ns, ar):
            records = []
            for _ in range(count):
                record, at = _read_record(packet, at)
                records.append(record)
            sections.append(records)
        if at != len(packet):
            raise AssertionError(f"{len(packet) - at} bytes behind the message")
        self.answers, self.authority, additional = sections
        options = [record for record in additional if record[1] == 41]
        if len(options) > 1:
            raise AssertionError("more than one OPT record")
        self.opt = None
        self.rcode = self.flags & 15
        if options:
            _, _, payload, ttl, data = options[0]
            self.opt = (payload, ttl >> 16 & 0xFF, ttl & 0xFFFF, data)
            self.rcode |= ttl >> 24 << 4

    @property
    def is_truncated(self):
        return bool(self.flags & 0x0200)

    @property
    def addresses(self):
        families = {1: socket.AF_INET, 28: socket.AF_INET6}
        return {socket.inet_ntop(families[type], data) for _, type, _, _, data in self.answers if type in families}

    @property
    def extended_error(self):
        """The code of an extended error (RFC 8914), or None."""
        data = self.opt[3] if self.opt else b""
        while len(data) >= 4:
            code, length = struct.unpack_from("!HH", data)
            if code == 15:
                return struct.unpack_from("!H", data, 4)[0]
            data = data[4 + length:]
        return None


def read_name(packet, at):
    labels, end = [], None
    for _ in range(128):
        length = packet[at]
        if length >= 0xC0:
            end = end or at + 2
            at = (length & 0x3F) << 8 | packet[at + 1]
            continue
        at += 1
        if length == 0:
            return ".".join(labels), end or at
        labels.append(packet[at:at + length].decode("latin-1"))
        at += length
    raise AssertionError("a name without end")


def _read_record(packet, at):
    owner, at = read_name(packet, at)
    type, rclass, ttl, length = struct.unpack_from("!HHIH", packet, at)
    data = packet[at + 10:at + 10 + length]
    if len(data) != length:
        raise AssertionError("a record is cut")
    return (owner, type, rclass, ttl, data), at + 10 + length


class Datagrams:
    """A UDP client of one server."""

    def __init__(self, address, source=None, timeout=6.0):
        self.socket = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(timeout)
        if source:
            self.socket.bind((source, 0))
        # The connected socket receives packets of this address only.
        self.socket.connect(address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, packet):
        self.socket.send(packet)

    def receive(self):
        return Message(self.socket.recv(65535))

    def ask(self, *arguments, **keywords):
        self.send(query(*arguments, **keywords))
        return self.receive()


def ask_all(server, questions, seconds=6.0):
    """Asks all questions, each a name and a type, at once from one client; returns the replies by number."""
    with Datagrams(server.address) as client, selectors.DefaultSelector() as selector:
        # All replies may arrive while this process does not run.
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        selector.register(client.socket, selectors.EVENT_READ)
        for number, (name, type) in enumerate(questions):
            client.send(query(name, type, id=number))
        replies, deadline = {}, time.monotonic() + seconds
        while len(replies) < len(questions) and time.monotonic() < deadline:
            for _ in selector.select(0.1):
                reply = client.receive()
                replies[reply.id] = reply
        return replies


class Stream:
    """A TCP client of one server."""

    def __init__(self, address, source=None, timeout=6.0, receive_buffer=None):
        self.socket = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        # The window is agreed on when the connection is made.
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source:
            self.socket.bind((source, 0))
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise
        self.unread = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *packets):
        self.socket.sendall(b"".join(struct.pack("!H", len(packet)) + packet for packet in packets))

    def _take(self, count):
        while len(self.unread) < count:
            chunk = self.socket.recv(65536)
            if not chunk:
                raise EOFError
            self.unread += chunk
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def receive(self):
        return Message(self._take(struct.unpack("!H", self._take(2))[0]))

    def ask(self, *arguments, **keywords):
        self.send(query(*arguments, **keywords))
        return self.receive()

    def seconds_until_closed(self, within):
        """Reads until the server ends the connection; fails after `within` seconds."""
        started = time.monotonic()
        while True:
            self.socket.settimeout(max(0.01, started + within - time.monotonic()))
            try:
                if not self.socket.recv(65536):
                    return time.monotonic() - started
            except ConnectionError:
                return time.monotonic() - started
            except TimeoutError:
                raise AssertionError(f"the server keeps the connection for more than {within} s") from None
