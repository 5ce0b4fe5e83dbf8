# A provider for DNS over HTTPS that speaks HTTP/2 by hand, from RFC 9113 and RFC 7541, and misbehaves as a test wants.

import socket
import ssl
import struct
import threading

import wire

DATA, HEADERS, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM = ACK = 1
END_HEADERS = 4
MAX_STREAMS, INITIAL_WINDOW = 3, 4
REFUSED_STREAM = 7
ADDRESS = bytes((192, 0, 2, 7))
# HPACK's static table has ":status: 200", and a name (31) for a literal value.
OK = b"\x88"
TYPE = b"\x0f\x10\x17application/dns-message"


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes((kind, flags)) + struct.pack("!I", stream) + payload


def settings(**values):
    numbers = {"max_streams": MAX_STREAMS, "initial_window": INITIAL_WINDOW}
    return frame(SETTINGS, payload=b"".join(struct.pack("!HI", numbers[name], value) for name, value in values.items()))


def reset(stream, code):
    return frame(RESET, 0, stream, struct.pack("!I", code))


def goaway(last, code=0):
    return frame(GOAWAY, payload=struct.pack("!II", last, code))


def content_length(count):
    return b"\x0f\x0d" + bytes((len(str(count)),)) + str(count).encode()


def literal(name, value):
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


def body_of(query):
    """The body with an address for the name of the question, whatever its type."""
    record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, len(ADDRESS)) + ADDRESS
    return wire.header(0, 0x8180, an=1) + wire.Message(query).question + record


def reply(stream, query, fields=OK + TYPE):
    return frame(HEADERS, END_HEADERS, stream, fields) + frame(DATA, END_STREAM, stream, body_of(query))


class Gone(Exception):
    """The client, or this connection's part in the test, has ended."""


class Connection:
    """One connection of the provider, on a thread of its own."""

    def __init__(self, server, socket):
        self.server, self.socket = server, socket
        self.bodies = {}

    def run(self):
        server = self.server
        if server.before_handshake and server.before_handshake(self.socket):
            return
        self.socket = server.context.wrap_socket(self.socket, server_side=True)
        if self.socket.selected_alpn_protocol() != "h2":
            return self._serve_http1()
        self._take(24)
        self.send(server.settings)
        while True:
            head = self._take(9)
            count, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            self._received(kind, flags, int.from_bytes(head[5:], "big"), self._take(count))

    def send(self, *parts):
        for part in parts:
            step = 1 if self.server.has_tiny_records else len(part) or 1
            for at in range(0, len(part), step):
                self.socket.sendall(part[at:at + step])

    def end(self, with_reset=False):
        if with_reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Gone

    def stay(self):
        """Reads on without an answer."""
        while self.socket.recv(65536):
            pass
        raise Gone

    def _received(self, kind, flags, stream, payload):
        if kind == HEADERS:
            self.bodies[stream] = b""
        elif kind == DATA:
            self.bodies[stream] += payload
            if payload:
                self.send(frame(WINDOW, 0, 0, struct.pack("!I", len(payload))))
        elif kind == SETTINGS and not flags & ACK:
            self.send(frame(SETTINGS, ACK))
        elif kind == PING and not flags & ACK:
            self.send(frame(PING, ACK, 0, payload))
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            query = self.bodies.pop(stream)
            fault = self.server.take_fault()
            if fault:
                fault(self, stream, query)
            else:
                self.send(reply(stream, query))

    def _serve_http1(self):
        while True:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += self._take(1)
            fields = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:] if ": " in line)
            body = body_of(self._take(int(fields["content-length"])))
            self.send(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def _take(self, count):
        taken = b""
        while len(taken) < count:
            chunk = self.socket.recv(count - len(taken))
            if not chunk:
                raise Gone
            taken += chunk
        return taken


class HTTP2Provider:
    """A provider that answers every question with one address. `fault(connection, stream, query)` replaces the next
    replies, as many as `begin` says; without a number, all of them."""

    def __init__(self, files, protocols=("h2", "http/1.1")):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*files)
        if protocols:
            self.context.set_alpn_protocols(list(protocols))
        self.lock = threading.Lock()
        self.fault, self.faults_left = None, 0
        self.before_handshake = None
        self.settings, self.has_tiny_records = settings(), False
        self.accepted = 0
        self.connections = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def begin(self, fault, times=1 << 30):
        with self.lock:
            self.fault, self.faults_left = fault, times

    def recover(self):
        self.begin(None, 0)
        self.before_handshake, self.settings, self.has_tiny_records = None, settings(), False

    def take_fault(self):
        with self.lock:
            if not self.faults_left:
                return None
            self.faults_left -= 1
            return self.fault

    def drop_all(self):
        """Ends every connection, as a server that crashes."""
        with self.lock:
            for connection in self.connections:
                try:
                    # The call bypasses the TLS object, which another thread uses.
                    socket.socket.shutdown(connection.socket, socket.SHUT_RDWR)
                except OSError:
                    pass

    def _accept(self):
        while True:
            try:
                accepted, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            # Data that waits for an acknowledgement would be lost if the connection ends first.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(Connection(self, accepted),), daemon=True).start()

    def _serve(self, connection):
        connection.socket.settimeout(30)
        with self.lock:
            self.connections.add(connection)
        try:
            connection.run()
        except (OSError, Gone, KeyError, ValueError):
            pass
        finally:
            with self.lock:
                self.connections.remove(connection)
                connection.socket.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        self.drop_all()
