# Web servers that a probe may meet: good ones, bad ones and broken ones, each at an address of its own and all at one
# port, since a probe's port is a setting. They are real programs where possible, and a few lines of Python elsewhere.

import socket
import ssl
import struct
import threading

import paths
from certificates import Authority
from paths import free_port
from programs import Nginx, Program


class Handmade:
    """A TCP server: `serve(connection)` on a thread of its own for each connection, which is closed afterwards."""

    def __init__(self, address, serve):
        self.serve = serve
        self.accepted = 0
        self._open = set()
        self._lock = threading.Lock()
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.listener = socket.create_server(address, family=family, backlog=512)
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self._lock:
                self.accepted += 1
                self._open.add(connection)
            threading.Thread(target=self._served, args=(connection,), daemon=True).start()

    def _served(self, connection):
        try:
            with connection:
                # No test waits for longer than this.
                connection.settimeout(paths.PATIENCE)
                self.serve(connection)
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(connection)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        with self._lock:
            for connection in self._open:
                connection.shutdown(socket.SHUT_RDWR)


# MARK: what a handmade server does

def resets(connection):
    """Closes with an RST instead of a FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def resets_after_hello(connection):
    connection.recv(65536)
    resets(connection)


def ends_after_hello(connection):
    connection.recv(65536)


def keeps_silent(connection):
    """Reads without a reply until the client closes the connection."""
    while connection.recv(65536):
        pass


def says(text):
    """Sends its own text first, as servers of other protocols do."""
    def serve(connection):
        connection.sendall(text)
        keeps_silent(connection)
    return serve


def drips(files, seconds=1.0):
    """Sends the right handshake, a byte at a time."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)

    def serve(connection):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        incoming.write(connection.recv(65536))
        try:
            context.wrap_bio(incoming, outgoing, server_side=True).do_handshake()
        except ssl.SSLWantReadError:
            pass  # For the client's part, which it never gets.
        connection.settimeout(seconds)
        for byte in outgoing.read():
            connection.sendall(bytes([byte]))
            try:
                if not connection.recv(65536):
                    return
            except TimeoutError:
                continue
    return serve


class Full:
    """A server whose queue is full: the kernel drops each new connection, as a network that loses all packets does."""

    def __init__(self, address):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(address)
        self.listener.listen(0)
        # The kernel's queue holds one connection more than the given number.
        self.waiting = socket.create_connection(address, timeout=paths.PATIENCE)

    def close(self):
        self.waiting.close()
        self.listener.close()


class SServer(Program):
    """A process of `openssl s_server`, which serves one client at a time."""

    def __init__(self, address, files, *options):
        super().__init__("s_server")
        certificate, key = files
        self.command = [
            "openssl", "s_server", "-accept", "%s:%d" % address, "-cert", certificate, "-key", key, *options]

    def up(self):
        self.start(*self.command)
        self.wait_for("^ACCEPT")
        return self


class Sites:
    """All sites of a test: loopback addresses and certificates for them, and the nginx that most of them share. Every
    address is in a /24 of its own, because probes are limited by prefix."""

    def __init__(self, directory):
        # nginx drops its privileges.
        directory.chmod(0o755)
        self.authority = Authority(directory / "trusted")
        self.between = Authority(directory / "between", "Test CA between", issuer=self.authority)
        self.stranger = Authority(directory / "stranger", "Test CA of nobody")
        # The port is free at every address.
        self.port = free_port("0.0.0.0")
        self.blocks = []
        self.closing = []
        self._count = 0

    def address(self):
        """Returns an unused loopback address."""
        self._count += 1
        return f"127.{1 + self._count // 250}.{1 + self._count % 250}.1"

    def runs(self, program):
        self.closing.append(program)
        return program

    def up(self):
        """Starts the servers that `web` has described."""
        if self.blocks:
            self.runs(Nginx("\n".join(self.blocks))).up()
        return self

    def close(self):
        for program in reversed(self.closing):
            program.close()

    def settings(self, timeout="2s", http=False):
        """The settings for probes at the port of the sites, although these have loopback addresses."""
        return f"""
[probe]
ports = [{self.port}]
timeout = "{timeout}"
ca-file = "{self.authority.ca_file}"
http = {str(http).lower()}
[[rule]]
match = ["."]
probe = true
allow-private = true
"""

    # MARK: ways to serve

    def web(self, address, name="_", files=None, is_default=False, more=""):
        """Serves a site by nginx, over TLS if there are files; one that `is_default` answers for unknown names."""
        host = f"[{address}]" if ":" in address else address
        options = " ssl" * bool(files) + " default_server" * is_default
        lines = [f"listen {host}:{self.port}{options};", f'server_name "{name}";', more]
        if files:
            lines += [f"ssl_certificate {files[0]};", f"ssl_certificate_key {files[1]};"]
        self.blocks.append("server {\n" + "\n".join(lines) + "\nlocation / { return 204; }\n}")

    def handmade(self, address, serve):
        return self.runs(Handmade((address, self.port), serve))

    def full(self, address):
        return self.runs(Full((address, self.port)))

    def s_server(self, address, files, *options):
        return self.runs(SServer((address, self.port), files, *options)).up()
