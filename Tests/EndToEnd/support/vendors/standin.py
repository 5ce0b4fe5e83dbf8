# The HTTP server under every stand-in. It keeps the requests and the reasons of refusals, and has the faults that all
# vendors share. A subclass has one vendor's rules.

import ipaddress
import ssl
import threading
import time
import urllib.parse
from collections import namedtuple
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http.client import responses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from paths import free_port

# The vendor's addresses of a name. A name without an entry does not exist.
Entry = namedtuple("Entry", "ipv4 ipv6 ttl", defaults=((), (), 60))


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b""
    type: str = "text/plain"
    headers: dict = field(default_factory=dict)
    # The delay of the reply in seconds, in addition to the stand-in's own.
    delay: float = 0


class Refused(Exception):
    """The vendor refuses a request with `reply`. The test reads the reason."""

    def __init__(self, reply, reason):
        super().__init__(reason)
        self.reply = reply
        self.reason = reason


class BadParameters(Exception):
    """A parameter is missing, unknown or given twice."""


@dataclass
class Request:
    # The dialled address, and the client's.
    node: str
    peer: str
    method: str
    target: str
    headers: dict
    body: bytes
    # The server name of the handshake; None over HTTP, or if the client named none.
    server_name: str = None
    # The names and families (4, 6) that the stand-in understood.
    names: tuple = ()
    families: tuple = ()
    # The parameters of custom resolution.
    custom: dict = field(default_factory=dict)

    @property
    def path(self):
        return self.target.split("?", 1)[0]

    def parameters(self, required=(), optional=()):
        """The query part as a dictionary."""
        query = self.target.partition("?")[2]
        try:
            pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict")
        except ValueError as error:
            raise BadParameters(f"the query cannot be parsed: {error}") from None
        values = dict(pairs)
        if len(values) != len(pairs):
            raise BadParameters("a parameter is given twice")
        if missing := set(required) - set(values):
            raise BadParameters(f"missing: {', '.join(sorted(missing))}")
        if unknown := {key for key in values if key not in required and not any(_fits(key, form) for form in optional)}:
            raise BadParameters(f"unknown: {', '.join(sorted(unknown))}")
        return values


def _fits(key, form):
    """Whether the text has this form. A form with a star at its end stands for every key with that prefix."""
    return key.startswith(form[:-1]) if form.endswith("*") else key == form


def is_name(text):
    labels = text.split(".")
    return len(text) <= 253 and text.isascii() and all(
        0 < len(label) <= 63 and label.replace("-", "a").replace("_", "a").isalnum() for label in labels)


def is_address(text):
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


class StandIn:
    """One vendor's service at the same port of each of its nodes, until it is closed. `answer` has its rules."""

    # The vendor's own host, or an address: the only one on the certificate. None if the vendor has no TLS.
    host = None
    throttled_reply = Reply(429, headers={"Retry-After": "3"})
    # The end of the path of requests for the list of nodes; None if the vendor has none, or lists them in answers.
    list_path = None

    def __init__(self, names, nodes=("127.0.0.1",), certificate=None):
        """Starts the service. `certificate` is a pair of PEM files; without it the stand-in speaks HTTP."""
        self.name = type(self).__name__
        self.names = names
        self.nodes = nodes
        # The lead of the vendor's clock over this machine's, in seconds.
        self.clock_offset = 0
        # Whether replies have the Date header, from which a client can learn the vendor's clock.
        self.is_dated = True
        self.is_throttled = False
        # The seconds until a reply is sent.
        self.delay = 0
        # The domains that were added in the account's console; other names are refused. None: every name is served.
        self.registered = None
        # The client's address that the vendor sees, made from the peer's.
        self.seen_as = lambda peer: peer
        # The addresses for requests with exactly these parameters of custom resolution, a frozen set of pairs.
        self.custom_names = {}
        # The reply of a node to every request, by its address.
        self.broken_nodes = {}
        # The service nodes that the vendor lists, and a reply instead of that list.
        self.listed = list(nodes)
        self.broken_list = None
        # The seconds until that list is sent.
        self.list_delay = 0
        # Names that a handshake may have. An address is not named in a handshake (RFC 6066 section 3).
        self.hosts = {None if is_address(self.host) else self.host}
        self.requests = []
        self.refusals = []
        self._lock = threading.Lock()
        context = self._context(certificate) if certificate else None
        self.port, self._servers = self._listen(context)
        self._threads = [threading.Thread(target=server.serve_forever, args=(0.05,)) for server in self._servers]
        for thread in self._threads:
            thread.start()

    def answer(self, request):
        """The reply to a request; raises Refused."""
        raise NotImplementedError

    # MARK: helpers for rules

    @property
    def now(self):
        return time.time() + self.clock_offset

    def entry(self, name):
        """The addresses of a name; None if it does not exist."""
        names = self.custom_names.get(frozenset(self._request.custom.items()), self.names)
        return names.get(name.lower().rstrip("."))

    def is_registered(self, name):
        return self.registered is None or any(
            name == domain or name.endswith("." + domain) for domain in self.registered)

    def asks_for_list(self, request):
        return self.list_path is not None and request.path.endswith(self.list_path)

    # MARK: results for tests

    @property
    def reasons(self):
        return [reason for reason, _ in self.refusals]

    def asked(self, name):
        """The requests that contained the name."""
        return [request for request in self.requests if name in request.names]

    @property
    def log(self):
        lines = [f"{request.node} {request.method} {request.target}" for request in self.requests]
        return "\n".join(lines + [f"refused: {reason}: {target}" for reason, target in self.refusals])

    def close(self):
        for server in self._servers:
            server.shutdown()
            server.server_close()
        for thread in self._threads:
            thread.join()

    # MARK: the server

    def respond(self, request):
        with self._lock:
            self.requests.append(request)
            self._request = request
            try:
                if request.node in self.broken_nodes:
                    return self.broken_nodes[request.node]
                if self.broken_list and self.asks_for_list(request):
                    return self.broken_list
                if self.is_throttled:
                    raise Refused(self.throttled_reply, "throttled")
                reply = self.answer(request)
                return replace(reply, delay=self.list_delay) if self.asks_for_list(request) else reply
            except Refused as refused:
                self.refusals.append((refused.reason, request.target))
                return refused.reply

    def _listen(self, context):
        while True:
            port, servers = free_port(), []
            try:
                for node in self.nodes:
                    servers.append(_Server((node, port), self, context))
                return port, servers
            except OSError:
                for server in servers:
                    server.server_close()

    def _context(self, certificate):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        context.set_alpn_protocols(["http/1.1"])
        def check(connection, server_name, _):
            connection.server_name = server_name
            if server_name not in self.hosts:
                self.refusals.append((f"server name {server_name}", ""))
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            return None
        context.sni_callback = check
        return context


class SignedStandIn(StandIn):
    """A service for an account that signs its requests with a secret."""

    def __init__(self, *arguments, account, secret, **options):
        super().__init__(*arguments, **options)
        self.account = account
        self.secret = secret


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    # A full queue drops connections, and on a busy machine it fills.
    request_queue_size = 1024

    def __init__(self, address, stand_in, context):
        self.stand_in = stand_in
        self.context = context
        super().__init__(address, _Handler)

    def handle_error(self, request, client_address):
        """A client that ends its connection is not an error of the server."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60

    def setup(self):
        if self.server.context:
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, *_):
        pass

    def __getattr__(self, name):
        """Passes every method to the vendor's rules."""
        if name.startswith("do_"):
            return self._respond
        raise AttributeError(name)

    def _respond(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {key.lower(): value for key, value in self.headers.items()}
        request = Request(
            node=self.server.server_address[0], peer=self.server.stand_in.seen_as(self.client_address[0]),
            method=self.command, target=self.path,
            headers=headers, body=body, server_name=getattr(self.request, "server_name", None))
        stand_in = self.server.stand_in
        reply = stand_in.respond(request)
        time.sleep(stand_in.delay + reply.delay)
        fields = {"Content-Type": reply.type, "Content-Length": len(reply.body), **reply.headers}
        if stand_in.is_dated:
            fields["Date"] = formatdate(stand_in.now, usegmt=True)
        head = [f"HTTP/1.1 {reply.status} {responses.get(reply.status, 'Status')}"]
        head += [f"{key}: {value}" for key, value in fields.items()]
        # The reply is one packet, because a second small one would wait for the client's acknowledgement.
        self.wfile.write("\r\n".join(head).encode() + b"\r\n\r\n" + reply.body)
