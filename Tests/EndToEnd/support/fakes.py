# Upstreams whose exact bytes a test decides, each on threads of its own until it is closed.

import contextlib
import socket
import struct
import threading

import wire


class FakeProvider:
    """A server for HTTP/1.1 that replies once on each connection. `respond` maps the request's head to raw bytes."""

    def __init__(self, respond):
        self.respond = respond
        self.asked = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def provider(self, dialect, name="fake"):
        return {"name": name, "dialect": dialect, "url": f"http://{self.address}/query"}

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(3)
                try:
                    head = b""
                    while b"\r\n\r\n" not in head and (chunk := connection.recv(65536)):
                        head += chunk
                    self.asked += 1
                    connection.sendall(self.respond(head))
                except OSError:
                    continue

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


class FakeNameserver:
    """A nameserver with UDP and TCP on one port. `respond(query, is_stream)` returns the replies in order; a reply that
    is a pair of bytes and True leaves from another port than the requested one. Port 0 means a port that is free on
    both."""

    def __init__(self, respond, address=("127.0.0.1", 0)):
        self.respond = respond
        # (query, client's address, is_stream)
        self.queries = []
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.datagrams = socket.socket(family, socket.SOCK_DGRAM)
        self.stranger = socket.socket(family, socket.SOCK_DGRAM)
        while True:
            self.listener = socket.create_server(address, family=family)
            host, port = self.listener.getsockname()[:2]
            self.server = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            try:
                self.datagrams.bind(self.listener.getsockname())
                break
            except OSError:
                self.listener.close()
                if address[1]:
                    raise
        self.threads = [threading.Thread(target=run, daemon=True) for run in (self._datagrams, self._streams)]
        for thread in self.threads:
            thread.start()

    def _datagrams(self):
        while True:
            query, client = self.datagrams.recvfrom(65535)
            if not query:
                return
            self.queries.append((query, client, False))
            for reply in self.respond(query, False):
                packet, from_elsewhere = reply if isinstance(reply, tuple) else (reply, False)
                with contextlib.suppress(OSError):  # The way back may be gone.
                    (self.stranger if from_elsewhere else self.datagrams).sendto(packet, client)

    def _streams(self):
        while True:
            try:
                connection, client = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(3)
                try:
                    length = struct.unpack("!H", connection.recv(2, socket.MSG_WAITALL))[0]
                    query = connection.recv(length, socket.MSG_WAITALL)
                    self.queries.append((query, client, True))
                    for reply in self.respond(query, True):
                        connection.sendall(struct.pack("!H", len(reply)) + reply)
                    connection.recv(1)
                except (OSError, struct.error):
                    continue

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        # An empty datagram ends the other thread.
        self.stranger.sendto(b"", self.datagrams.getsockname())
        for thread in self.threads:
            thread.join()
        self.datagrams.close()
        self.stranger.close()


def reply(query, records=(), id=None, flags=0x8180, question=None):
    """A reply to the question of `query`. The records are (owner, type number, TTL, data)."""
    asked = wire.Message(query)
    body = b"".join(
        wire.name(owner) + struct.pack("!HHIH", type, 1, ttl, len(data)) + data for owner, type, ttl, data in records)
    id = asked.id if id is None else id
    question = asked.question if question is None else question
    return wire.header(id, flags, an=len(records)) + question + body


def question(query):
    """The name without its final dot, and the type's number."""
    body = wire.Message(query).question
    labels, at = [], 0
    while length := body[at]:
        labels.append(body[at + 1:at + 1 + length].decode())
        at += 1 + length
    return ".".join(labels), struct.unpack("!H", body[-4:-2])[0]
