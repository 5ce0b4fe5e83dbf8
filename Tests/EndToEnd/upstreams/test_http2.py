# HTTP/2 servers that break the protocol, end connections at the wrong moment, allow nothing, or send without end: each
# question is answered once and soon, and the provider is used again as soon as it behaves.

import itertools
import os
import signal
import struct
import tempfile
import time
from pathlib import Path

from cases import Case
from certificates import Authority
from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, OK, PING, SETTINGS, TYPE, WINDOW,
                   HTTP2Provider, body_of, content_length, frame, goaway, literal, reply, reset, settings)
from paths import eventually
from wire import NOERROR, SERVFAIL, Datagrams, ask_all

# The resolver gives up after 4.5 s.
LONGEST_WAIT = 5.5
ADDRESS = "192.0.2.7"


def sends(*make, then=None):
    """A fault that sends these frames, each made from the stream's number and the query."""
    def fault(connection, stream, query):
        connection.send(*(part(stream, query) if callable(part) else part for part in make))
        if then:
            then(connection)
    return fault


def head(*fields, flags=END_HEADERS):
    return lambda stream, _: frame(HEADERS, flags, stream, b"".join(fields))


def data(payload, flags=0):
    return lambda stream, _: frame(DATA, flags, stream, payload)


def half(stream, query):
    return frame(HEADERS, END_HEADERS, stream, OK + TYPE) + frame(DATA, 0, stream, body_of(query)[:-3])


def rest(stream, query):
    return frame(DATA, END_STREAM, stream, body_of(query)[-3:])


def end(connection):
    connection.end()


def end_with_reset(connection):
    connection.end(with_reset=True)


def stay(connection):
    connection.stay()


def flood(*make, seconds=1.0):
    """A fault that sends the frames repeatedly, many in one write."""
    def fault(connection, stream, query):
        parts = b"".join(part(stream, query) if callable(part) else part for part in make)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            connection.send(parts * max(1, 16000 // len(parts)))
        connection.end()
    return fault


# Faults before any part of a reply, on a connection that has carried others.
BEFORE = {
    **{f"RST_STREAM {code}": sends(lambda stream, _, code=code: reset(stream, code)) for code in range(13)},
    "GOAWAY": sends(goaway(0)),
    "GOAWAY in two steps": sends(goaway(0x7FFFFFFF), goaway(0)),
    "GOAWAY with ENHANCE_YOUR_CALM, and the end": sends(goaway(0, 11), then=end),
    "the end": sends(then=end),
    "a TCP reset": sends(then=end_with_reset),
    "DATA without HEADERS": sends(data(b"early", END_STREAM)),
    "DATA on an idle stream": sends(lambda stream, _: frame(DATA, END_STREAM, stream + 20, b"idle")),
    "SETTINGS of a wrong length": sends(frame(SETTINGS, payload=b"a")),
    "a PING of a wrong length": sends(frame(PING, payload=b"a")),
    "a header block that HPACK does not have": sends(head(b"\xff\x7f")),
    "HTTP/1.1": sends(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
}

# Unusual replies that are valid.
WHOLE = {
    "interim replies": sends(*[head(literal(b":status", b"103"))] * 3, reply),
    "trailers": sends(half, lambda stream, query: frame(DATA, 0, stream, body_of(query)[-3:]),
                      head(literal(b"after", b"all"), flags=END_HEADERS | END_STREAM)),
    "frames of unknown kinds": sends(frame(0xBE, 0xFF, 0, bytes(100)), lambda stream, _: frame(0xEF, 7, stream), reply),
    "a header block in pieces": sends(
        head(OK, flags=0), *[lambda stream, _: frame(CONTINUATION, 0, stream)] * 2,
        lambda stream, _: frame(CONTINUATION, END_HEADERS, stream, TYPE),
        lambda stream, query: frame(DATA, END_STREAM, stream, body_of(query))),
    "empty DATA": sends(head(OK, TYPE), *[data(b"")] * 20,
                        lambda stream, query: frame(DATA, END_STREAM, stream, body_of(query))),
    "padding": sends(head(OK, TYPE), lambda stream, query: frame(
        DATA, 8 | END_STREAM, stream, b"\xff" + body_of(query) + bytes(255))),
    "GOAWAY in the reply": sends(half, lambda stream, _: goaway(stream), rest),
    "a reset after the reply": sends(reply, lambda stream, _: reset(stream, 0)),
    "DATA after the end": sends(reply, data(b"more", END_STREAM)),
    "PING and SETTINGS": sends(frame(PING, payload=bytes(8)), settings(max_streams=50), reply),
}

# Faults after a part of a reply.
CUT = {
    "no status": sends(head(TYPE)),
    "a field name in upper case": sends(head(OK, literal(b"Up", b"a"))),
    "a header block within another": sends(head(OK, flags=0), frame(PING, payload=bytes(8))),
    "the end": sends(half, then=end),
    "a TCP reset": sends(half, then=end_with_reset),
    "a reset without an error": sends(half, lambda stream, _: reset(stream, 0)),
    "a wrong content-length": sends(head(OK, TYPE, content_length(3)), lambda stream, query: frame(
        DATA, END_STREAM, stream, body_of(query))),
    "too large a body": sends(head(OK, TYPE), *[data(bytes(16000))] * 5, data(b"", END_STREAM)),
    "too large a header block": sends(
        head(OK, flags=0), *[lambda stream, _: frame(CONTINUATION, 0, stream, b"\xa1" * 16000)] * 5,
        lambda stream, _: frame(CONTINUATION, END_HEADERS, stream)),
    "an endless header block": flood(
        head(OK, flags=0), *[lambda stream, _: frame(CONTINUATION, 0, stream, b"\xa1" * 1000)] * 15),
}

FLOODS = {
    "PING": flood(frame(PING, payload=bytes(8))),
    "SETTINGS": flood(settings(initial_window=65535)),
    "RST_STREAM": flood(lambda stream, _: reset(stream, 8)),
    "empty DATA": flood(data(b"")),
    "WINDOW_UPDATE": flood(frame(WINDOW, payload=struct.pack("!I", 1))),
    "interim replies": flood(head(literal(b":status", b"103"))),
    "unknown frames": flood(frame(0xEF)),
}

SILENT = {
    "GOAWAY for later streams": sends(lambda stream, _: goaway(stream), then=stay),
    "nothing": sends(then=stay),
    "half a reply": sends(half, then=stay),
    "nothing, and reads nothing": sends(then=lambda connection: time.sleep(8)),
    "the end of sending": sends(then=lambda connection: (connection.socket.unwrap(), connection.stay())),
}


class HTTP2(Case):
    expected_seconds = 15

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="e2e-http2-")
        os.chmod(folder.name, 0o755)
        cls.addClassCleanup(folder.cleanup)
        cls.authority = Authority(Path(folder.name))
        cls.files = cls.authority.certificate("far.example")

    def serve(self, **options):
        provider = HTTP2Provider(self.files, **options)
        self.addCleanup(provider.close)
        return provider

    def setUp(self):
        self.numbers = itertools.count()

    def begin(self, **options):
        self.provider = self.serve(**options)
        self.server = self.daemon([{
            "name": "far", "dialect": "doh", "method": "POST", "url": f"https://far.example:{self.provider.port}/dns-query",
            "addresses": ["127.0.0.1"], "ca-file": str(self.authority.ca_file)}])
        self.client = Datagrams(self.server.address)
        self.addCleanup(self.client.socket.close)

    def ask(self):
        """The code of the reply for a new name."""
        began = time.monotonic()
        number = next(self.numbers)
        message = self.client.ask(f"n{number}.example", id=number)
        self.assertEqual(number, message.id)
        self.assertLess(time.monotonic() - began, LONGEST_WAIT)
        self.assertEqual({ADDRESS} if message.rcode == NOERROR else set(), message.addresses)
        return message.rcode

    def recovers(self):
        self.provider.recover()
        eventually(lambda: self.ask() == NOERROR, within=15, what="the provider's return")

    def meets(self, faults, *codes, times=1):
        """Checks that a question that meets each fault gets one of these codes, and the provider is used again."""
        self.begin()
        self.recovers()
        for name, fault in faults.items():
            with self.subTest(name):
                self.provider.begin(fault, times)
                self.assertIn(self.ask(), codes)
                self.recovers()
        self.assertSums(self.server.stats())

    def descriptors(self):
        return len(list(Path(f"/proc/{self.server.process.pid}/fd").iterdir()))

    def test_before_a_reply(self):
        self.meets(BEFORE, NOERROR)

    def test_before_a_reply_each_time(self):
        faults = dict(list(BEFORE.items())[::3])
        self.meets(faults, SERVFAIL, times=1 << 30)
        self.assertIn("far", self.server.log)

    def test_whole_replies(self):
        self.meets(WHOLE, NOERROR)

    def test_cut_replies(self):
        self.meets(CUT, NOERROR, SERVFAIL)

    def test_silence(self):
        self.meets(SILENT, NOERROR, SERVFAIL)

    def test_floods_cost_no_memory(self):
        self.begin()
        self.recovers()
        before = self.server.own_bytes()
        for name, fault in FLOODS.items():
            with self.subTest(name):
                self.provider.begin(fault, 1)
                self.ask()
                self.recovers()
        self.assertLess(self.server.own_bytes() - before, 8 << 20)

    def test_a_reply_without_end_ends_its_own_stream_only(self):
        """Twenty names are in flight on one connection, whose server respects its windows or does not. Its data waits
        for the busy daemon."""
        for size in (48_000, 128_000, 640_000):
            with self.subTest(size):
                self.begin()
                held = []

                def hold(connection, stream, query):
                    held.append((stream, query))
                    if len(held) < 20:
                        return
                    large = held[0][0]
                    self.server.process.send_signal(signal.SIGSTOP)
                    try:
                        connection.send(
                            head(OK, TYPE)(large, b""), *[data(bytes(16_000))(large, b"")] * (size // 16_000))
                    finally:
                        self.server.process.send_signal(signal.SIGCONT)
                    time.sleep(0.3)
                    connection.send(*[reply(*each) for each in held[1:]])
                self.provider.begin(hold, 20)
                replies = ask_all(self.server, [(f"l{size}x{number}.example", "A") for number in range(20)])
                # The endless reply ends as a failure, or its question gets the answer to a second request.
                self.assertIn(sum(each.rcode == NOERROR for each in replies.values()), (19, 20))
                # On separate connections, no request would be repeated.
                self.assertEqual(1, self.provider.accepted)
                self.recovers()

    def test_streams(self):
        for limit in (3, 1, 0):
            with self.subTest(limit):
                self.begin()
                self.provider.settings = settings(max_streams=limit)
                self.assertEqual(NOERROR, self.ask())
                replies = ask_all(self.server, [(f"s{number}.example", "A") for number in range(20)])
                self.assertEqual(20, len(replies))
                if limit:
                    self.assertEqual({NOERROR}, {reply.rcode for reply in replies.values()})
                self.recovers()

    def test_a_window_that_stays_closed(self):
        self.begin()
        self.provider.settings = settings(initial_window=0)
        # The first request on each connection precedes the settings.
        self.assertEqual(NOERROR, self.ask())
        self.assertIn(self.ask(), (NOERROR, SERVFAIL))
        self.recovers()

    def test_handshakes(self):
        for name, fault in {"the end": lambda raw: True, "silence": lambda raw: time.sleep(6) or True}.items():
            with self.subTest(name):
                self.begin()
                self.provider.before_handshake = fault
                self.assertEqual(SERVFAIL, self.ask())
                self.recovers()

    def test_other_protocols(self):
        for protocols in (("http/1.1",), ()):
            with self.subTest(protocols):
                self.begin(protocols=protocols)
                self.assertEqual([NOERROR] * 3, [self.ask() for _ in range(3)])

    def test_http1_is_required(self):
        self.begin()
        self.recovers()
        self.provider.context.set_alpn_protocols(["http/1.1"])
        self.provider.begin(sends(lambda stream, _: reset(stream, 13)), 1)
        self.assertEqual([NOERROR] * 3, [self.ask() for _ in range(3)])

    def test_tiny_records(self):
        self.begin()
        self.provider.has_tiny_records = True
        self.assertEqual([NOERROR] * 3, [self.ask() for _ in range(3)])

    def test_a_server_that_dies_with_a_hundred_requests(self):
        self.begin()
        self.recovers()
        waiting = itertools.count()

        def hold(connection, stream, query):
            if next(waiting) == 99:
                self.provider.recover()
                self.provider.drop_all()
        self.provider.begin(hold)
        replies = ask_all(self.server, [(f"d{number}.example", "A") for number in range(100)])
        self.assertEqual([NOERROR] * 100, [reply.rcode for reply in replies.values()])
        self.assertSums(self.server.stats())

    def test_a_connection_for_each_reply(self):
        self.begin()
        self.recovers()
        self.provider.begin(sends(reply, then=end))
        for _ in range(50):
            self.ask()
        memory, descriptors, accepted = self.server.own_bytes(), self.descriptors(), self.provider.accepted
        for _ in range(300):
            self.assertEqual(NOERROR, self.ask())
        self.assertGreaterEqual(self.provider.accepted - accepted, 300)
        self.assertLess(self.server.own_bytes() - memory, 2 << 20)
        self.assertLessEqual(self.descriptors(), descriptors + 1)
