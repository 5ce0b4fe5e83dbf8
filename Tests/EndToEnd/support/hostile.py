# Servers that accept a connection and then fail before a reply: in the TCP handshake, in TLS, or in the frames of
# HTTP/2.

import select
import socket
import ssl
import struct
import threading


class Switch:
    """A port that leads to `target` until it is switched: to `talk(connection)` for every connection, or to no
    listener. Switching ends the open connections."""

    def __init__(self, target):
        self.talk = _relay(target)
        self.open = set()
        self.waiting = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, args=(self.listener,), daemon=True).start()

    def turn(self, talk):
        self.talk = talk
        self._end_all()

    def shut(self):
        """Stops listening."""
        # The shutdown wakes the accepting thread.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._end_all()

    def fill(self):
        """Listens with a full backlog and accepts no connection: the kernel drops every further SYN."""
        self.shut()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(0)
        # The first connection fills the queue; the others wait.
        for _ in range(4):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", self.port))
            self.waiting.append(client)
            select.select([], [client], [], 0.1)

    def close(self):
        if self.listener.fileno() >= 0:
            self.shut()
        for one in self.waiting:
            one.close()

    def _serve(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.open.add(connection)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        connection.settimeout(10)
        try:
            self.talk(connection)
        except (OSError, EOFError):
            # The other side has closed the connection, as expected.
            pass
        finally:
            self.open.discard(connection)
            connection.close()

    def _end_all(self):
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                # The connection has ended by itself.
                pass


def _relay(target):
    def talk(connection):
        with socket.create_connection(target) as other:
            pairs = {connection: other, other: connection}
            while True:
                for ready in select.select(list(pairs), [], [])[0]:
                    piece = ready.recv(65536)
                    if not piece:
                        return
                    pairs[ready].sendall(piece)
    return talk


def alert(connection):
    """Sends a fatal alert instead of a handshake (RFC 8446 section 6.2: handshake_failure)."""
    connection.recv(65536)
    connection.sendall(bytes.fromhex("15030300020228"))
    connection.recv(1)


def presenting(files):
    """Serves TLS with this certificate and key; a client that accepts it gets no answer."""
    def talk(connection):
        with _context(files, "http/1.1").wrap_socket(connection.dup(), server_side=True) as secure:
            secure.recv(65536)
    return talk


def http2(files, answer):
    """Serves HTTP/2 up to the first request; `answer` maps its stream to frames, and the connection ends with the
    client's."""
    def talk(connection):
        with _context(files, "h2").wrap_socket(connection.dup(), server_side=True) as secure:
            _take(secure, 24)
            secure.sendall(frame(SETTINGS))
            while True:
                head = _take(secure, 9)
                _take(secure, int.from_bytes(head[:3], "big"))
                type, flags, stream = struct.unpack("!BBI", head[3:])
                if type == SETTINGS and not flags & ACK:
                    secure.sendall(frame(SETTINGS, ACK))
                elif type == HEADERS:
                    secure.sendall(answer(stream))
    return talk


DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY = 0, 1, 3, 4, 7
ACK, END_HEADERS = 1, 4
INTERNAL_ERROR = 2


def frame(type, flags=0, stream=0, payload=b""):
    """A frame by RFC 9113 section 4.1."""
    return len(payload).to_bytes(3, "big") + struct.pack("!BBI", type, flags, stream) + payload


def going_away(stream):
    """A GOAWAY frame that states that no request was or will be processed."""
    return frame(GOAWAY, payload=struct.pack("!II", 0, INTERNAL_ERROR))


def reset(stream):
    return frame(RST_STREAM, stream=stream, payload=struct.pack("!I", INTERNAL_ERROR))


def reset_in_body(stream):
    # The headers are ":status: 200" from the static table, and a literal content type (RFC 7541 sections 6.1 and
    # 6.2.2).
    type = b"application/json"
    headers = b"\x88" + b"\x0f\x10" + bytes([len(type)]) + type
    return frame(HEADERS, END_HEADERS, stream, headers) + frame(DATA, 0, stream, b"{") + reset(stream)


def _context(files, protocol):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    context.set_alpn_protocols([protocol])
    return context


def _take(connection, count):
    taken = b""
    while len(taken) < count:
        chunk = connection.recv(count - len(taken))
        if not chunk:
            raise EOFError
        taken += chunk
    return taken
