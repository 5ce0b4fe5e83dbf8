# Clients that ask at a rate or all at once, each from an address of its own, within the process of the test.

import selectors
import socket
import time

import wire


class Asker:
    """A client with an address of its own that asks for names at a rate, or all at once; it may run in a namespace."""

    def __init__(self, what, source, name, count, rate=None, namespace=None):
        self.what, self.source, self.name, self.count, self.rate = what, source, name, count, rate
        self.namespace = namespace
        self.sent, self.results = {}, {}

    def begin(self, server):
        connect = lambda: wire.Datagrams(server.address, source=self.source)
        self.client = self.namespace.within(connect) if self.namespace else connect()
        self.client.socket.setblocking(False)
        self.client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)

    def proceed(self, elapsed):
        due = self.count if self.rate is None else min(self.count, int(elapsed * self.rate) + 1)
        # The daemon's socket buffer has to hold all packets of one burst.
        for number in range(len(self.sent), min(due, len(self.sent) + 50)):
            self.sent[number] = time.monotonic()
            self.client.send(wire.query(self.name(number), id=number))

    def receive(self):
        while True:
            try:
                message = self.client.receive()
            except BlockingIOError:
                return
            self.results.setdefault(message.id, (time.monotonic() - self.sent[message.id], message))

    @property
    def is_done(self):
        return len(self.results) == self.count


def ask(server, askers, patience=6.0):
    """Runs the clients in parallel until all replies have come, or until `patience` after the last question."""
    for asker in askers:
        asker.begin(server)
    began, ended = time.monotonic(), None
    with selectors.DefaultSelector() as selector:
        for asker in askers:
            selector.register(asker.client.socket, selectors.EVENT_READ, asker)
        while not all(asker.is_done for asker in askers):
            elapsed = time.monotonic() - began
            for asker in askers:
                asker.proceed(elapsed)
            if ended is None and all(len(asker.sent) == asker.count for asker in askers):
                ended = time.monotonic()
            if ended is not None and time.monotonic() - ended > patience:
                break
            for key, _ in selector.select(0.002):
                key.data.receive()
    for asker in askers:
        asker.client.socket.close()
