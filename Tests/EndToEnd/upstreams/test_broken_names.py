# Names whose own servers fail: the providers report it, and still answer every other name.

import base64
import http.server
import json
import struct
import threading
import time
import urllib.parse

import wire
from cases import Case
from dig import dig
from fakes import FakeNameserver, reply
from programs import ctl
from wire import NOERROR, SERVFAIL, ask_all

GOOD, PLAIN = bytes([192, 0, 2, 7]), bytes([192, 0, 2, 222])
# The provider's behaviour for a name of each site. The texts have characters that no terminal should get.
CODES = {"servfail.example": 2, "refused.example": 5, "toolong.example": 6, "bogus.example": 2, "blocked.example": 5}
ERRORS = {"bogus.example": (6, "no key\x1b[2J for DS"), "blocked.example": (15, "x" * 400)}
STATUSES = {"servfail.example": 500, "refused.example": 403}
ROUNDS, NAMES = 5, 20


class Vendor:
    """A provider on threads of its own, each reply 40 ms late; `dialect` is "doh", "json" or "dnspod"."""

    def __init__(self, dialect, name):
        self.dialect, self.name = dialect, name
        # The names that this provider alone answers.
        self.known = set()
        vendor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                time.sleep(0.04)
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                status, body = getattr(vendor, "_" + vendor.dialect)(query)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # The daemon closes overtaken requests.
        self.server.handle_error = lambda *_: None
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def settings(self):
        return {"name": self.name, "dialect": self.dialect, "url": f"http://127.0.0.1:{self.server.server_port}/d"}

    def _code(self, name):
        return 0 if name in self.known else CODES.get(name, 0)

    def _doh(self, query):
        text = query["dns"][0]
        message = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        name = wire.read_name(message, 12)[0]
        code = self._code(name)
        option = b""
        if code and name in ERRORS:
            number, text = ERRORS[name]
            option = struct.pack("!HHH", 15, 2 + len(text), number) + text.encode()
        made = reply(message, [] if code else [(name, 1, 300, GOOD)], flags=0x8180 | code)
        made = made[:10] + b"\0\1" + made[12:] + wire.opt(options=option)
        return 200, made

    def _json(self, query):
        name, code = query["name"][0].rstrip("."), self._code(query["name"][0].rstrip("."))
        body = {"Status": code, "Question": [{"name": name + ".", "type": 1}]}
        if not code:
            body["Answer"] = [{"name": name + ".", "type": 1, "TTL": 300, "data": "192.0.2.7"}]
        elif name in ERRORS:
            body["extended_dns_errors"] = [{"info_code": ERRORS[name][0], "extra_text": ERRORS[name][1]}]
        return 200, json.dumps(body).encode()

    def _dnspod(self, query):
        status = STATUSES.get(query["dn"][0], 200)
        return status, b"192.0.2.7,300" if status == 200 else b""

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class BrokenNames(Case):
    """The base of the tests, with three providers and a system resolver that answers everything wrongly."""

    dialects = ()

    def setUp(self):
        self.vendors = [Vendor(dialect, f"v{number}") for number, dialect in enumerate(self.dialects)]
        self.system = FakeNameserver(lambda query, _: [reply(query, [(wire.read_name(query, 12)[0], 1, 300, PLAIN)])])
        for fake in (*self.vendors, self.system):
            self.addCleanup(fake.close)
        self.server = self.daemon(
            [vendor.settings for vendor in self.vendors], system=[self.system.server],
            sections="[probe]\nenabled = false\n[prefetch]\nenabled = false")

    def good_names_stay(self, broken):
        # A provider that has served the account replies with HTTP 403 for one name.
        for number in range(3):
            dig(self.server, f"first.warm{number}.example", "A")
        for name in broken:
            self.assertEqual("SERVFAIL", dig(self.server, name, "A").status)
        time.sleep(2)
        wrong = []
        for turn in range(ROUNDS):
            names = [(f"www.good{turn}-{number}.example", "A") for number in range(NAMES)]
            replies = ask_all(self.server, names)
            wrong += [name for number, (name, _) in enumerate(names)
                      if number not in replies or (replies[number].rcode, replies[number].addresses)
                      != (NOERROR, {"192.0.2.7"})]
        self.assertEqual([], wrong, f"{len(wrong)} of {ROUNDS * NAMES} good names")
        stats = self.server.stats()
        self.assertEqual([], [provider["name"] for provider in stats["providers"] if provider["state"] == "down"])
        self.assertEqual(0, sum(stats["system"]["stood_in"].values()))


class OverDoH(BrokenNames):
    expected_seconds = 10
    dialects = ("doh", "doh", "doh")

    def test_good_names_stay_with_the_providers(self):
        self.good_names_stay(["servfail.example", "refused.example"])

    def test_the_providers_reason_is_passed_on(self):
        for name, status, code in (("bogus.example", "SERVFAIL", 6), ("blocked.example", "NXDOMAIN", 15)):
            # The second failure is remembered, and the block is cached.
            for turn in range(2):
                found = dig(self.server, name, "A")
                self.assertEqual((status, code), (found.status, found.extended_error), turn)
                self.assertNotIn("\x1b", found.text)
        self.assertIn("no key[2J for DS", dig(self.server, "bogus.example", "A").text)
        self.assertRegex(dig(self.server, "blocked.example", "A").text, r"\(blocked by the provider: x{103}\)")
        for turn in range(2):
            self.assertEqual("YXDOMAIN", dig(self.server, "toolong.example", "A").status, turn)
        # The daemon's own check for loops does not count.
        self.assertEqual([], [query for query, *_ in self.system.queries if b"httpdnsd-loop" not in query])

    def test_an_answer_of_another_provider_goes_before(self):
        self.vendors[2].known.add("bogus.example")
        self.assertEqual({"192.0.2.7"}, dig(self.server, "bogus.example", "A").data)


class OverJSON(BrokenNames):
    expected_seconds = 8
    dialects = ("json", "json", "json")

    def test_good_names_stay_with_the_providers(self):
        self.good_names_stay(["servfail.example", "refused.example"])
        found = dig(self.server, "bogus.example", "A")
        self.assertEqual(("SERVFAIL", 6), (found.status, found.extended_error))


class OverPlainHTTPDNS(BrokenNames):
    """A dialect that can only reply with HTTP 403 or HTTP 500 for such a name."""

    expected_seconds = 8
    dialects = ("dnspod", "dnspod", "dnspod")

    def test_good_names_stay_with_the_providers(self):
        self.good_names_stay(["refused.example"])

    def test_a_server_error_of_one_name_is_that_names(self):
        dig(self.server, "servfail.example", "A")
        names = [(f"www.good{number}.example", "A") for number in range(NAMES)]
        replies = ask_all(self.server, names)
        self.assertEqual({"192.0.2.7"}, set().union(*(reply.addresses for reply in replies.values())))
        self.assertEqual(NAMES, len(replies))


class Mixed(BrokenNames):
    expected_seconds = 8
    dialects = ("doh", "json", "dnspod")

    def test_good_names_stay_with_the_providers(self):
        self.good_names_stay(["servfail.example", "refused.example"])


class StandIn(BrokenNames):
    expected_seconds = 8
    dialects = ("doh",)

    def test_it_says_that_it_stood_in(self):
        self.vendors[0].close()
        found = dig(self.server, "www.good.example", "A")
        self.assertEqual({"192.0.2.222"}, found.data)
        self.assertIn("system resolver stood in: providers unreachable", found.text)
        self.assertIn("system resolver stood in", dig(self.server, "www.good.example", "A").text, "from the cache")
        stats = self.server.stats()
        self.assertEqual(1, stats["system"]["stood_in"]["unreachable"])
        self.assertRegex(ctl(self.server, "explain", "www.good.example").stdout, "stand-in +the system resolver answered")
