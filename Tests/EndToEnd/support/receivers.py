# A receiver of notifications, written from httpdnsd.toml(5): it checks signature and time of each POST as the manual
# says, and can be slow, silent, wrong or misleading.

import hashlib
import hmac
import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The allowed difference of the clocks in seconds.
TOLERANCE = 300


class Receiver:
    """A receiver. `posts` has the accepted bodies, `requests` the targets of all requests, `refusals` the reasons for
    the others."""

    def __init__(self, key=None, certificate=None):
        """Starts the receiver. `certificate` is a pair of PEM files; without it the receiver speaks HTTP."""
        self.key = key
        self.posts, self.requests, self.refusals = [], [], []
        # The behaviour is "accept", a status, "hang", "garbage", "flood", or the URL to redirect to.
        self.behaviour = "accept"
        self._batches = set()
        self._closing = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                receiver._take(self)

            def do_GET(self):
                receiver.requests.append(self.path)
                self.send_error(405)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._server.handle_error = lambda *_: None
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def log(self):
        return f"requests: {self.requests}\nrefusals: {self.refusals}\nposts: {self.posts}"

    @property
    def name(self):
        return f"receiver:{self.port}"

    @property
    def events(self):
        return [event for post in self.posts for event in post["events"]]

    def of_kind(self, kind):
        return [event for event in self.events if event["event"] == kind]

    def close(self):
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _take(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.requests.append(handler.path)
        behaviour = self.behaviour
        if behaviour == "hang":
            self._closing.wait(60)
            handler.close_connection = True
        elif behaviour == "garbage":
            handler.wfile.write(b"\x00\xff" * 2000)
            handler.close_connection = True
        elif behaviour == "flood":
            handler.send_response(200)
            handler.end_headers()
            try:
                while not self._closing.is_set():
                    handler.wfile.write(b"x" * 65536)
            except OSError:
                handler.close_connection = True
        elif behaviour == "accept":
            self._reply(handler, 204 if self._is_genuine(handler.headers, body) else 403)
        elif isinstance(behaviour, str):
            self._reply(handler, 307, Location=behaviour)
        else:
            self._reply(handler, behaviour)

    def _reply(self, handler, status, **headers):
        handler.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()

    def _is_genuine(self, headers, body):
        if self.key is not None:
            expected = hmac.new(self.key.encode(), body, hashlib.sha256).hexdigest()
            if not hmac.compare_digest(expected, headers.get("Httpdnsd-Signature", "")):
                self.refusals.append("signature")
                return False
        post = json.loads(body)
        if abs(time.time() - post["sent_at"]) > TOLERANCE:
            self.refusals.append("time")
            return False
        # A known batch is a repetition after a lost reply, or a replay.
        if post["batch"] not in self._batches:
            self._batches.add(post["batch"])
            self.posts.append(post)
        return True
