# Names in use that one provider or all deny: the answers of clients, the record of the daemon, and the requests.
# KNOWN_GOOD_NAMES and KNOWN_GOOD_SECONDS make the run larger: 200 names for 600 s take twelve minutes.

import json
import os
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from cases import Case
from dig import dig
from paths import eventually
from programs import ctl
from web_sites import Sites

NAMES = [f"www.shop{number}.example" for number in range(int(os.environ.get("KNOWN_GOOD_NAMES", 20)))]
SECONDS = int(os.environ.get("KNOWN_GOOD_SECONDS", 10))  # Of one provider's denials.
LONGEST = 20  # Seconds of `last-known-good`.


class Hijacker:
    """On the path to a provider over plain HTTP; once it lies, it denies every name."""

    def __init__(self, host):
        self.lies, hijacker = False, self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if hijacker.lies:
                    query = parse_qs(urlsplit(self.path).query)
                    kind = {"1": 1, "A": 1, "28": 28, "AAAA": 28}[query["type"][0]]
                    body = json.dumps({"Status": 3, "Question": [{"name": query["name"][0], "type": kind}]}).encode()
                else:
                    with urllib.request.urlopen(f"http://{host}{self.path}") as answer:
                        body = answer.read()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class KnownGood(Case):
    expected_seconds = 110

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="e2e-known-good-")
        os.chmod(folder.name, 0o755)
        cls.addClassCleanup(folder.cleanup)
        cls.sites = Sites(Path(folder.name))
        cls.addClassCleanup(cls.sites.close)
        files = cls.sites.authority.certificate(*NAMES, file="shops")
        cls.addresses = {name: cls.sites.address() for name in NAMES}
        for address in cls.addresses.values():
            cls.sites.web(address, files=files)
        cls.sites.up()
        cls.zone = Path(folder.name) / "example.zone"
        cls.zone.write_text("$ORIGIN example.\n$TTL 600\n@ SOA ns hostmaster 1 7200 900 1209600 5\n@ NS ns\n")

    def setUp(self):
        self.one, self.other = self.lab(zone=self.zone), self.lab(zone=self.zone)
        # The one that will deny the names is first choice.
        self.other.fault("delay", value=60)
        for lab in (self.one, self.other):
            self.publish(lab)
        self.hijacker = Hijacker(self.one.http)
        self.addCleanup(self.hijacker.close)
        first = self.one.provider("json", "one")
        first["url"] = first["url"].replace(str(self.one.http), self.hijacker.host)
        providers = [first, self.other.provider("json", "other")]
        # Without refreshes every question that the cache cannot answer is a client's.
        settings = f'[prefetch]\nenabled = false\n[stale]\nlast-known-good = "{LONGEST}s"\n'
        self.server = self.daemon(providers, sections=settings + self.sites.settings())
        eventually(self.are_verified, within=30 + len(NAMES), every=0.2, what="all names are verified")

    def publish(self, lab):
        for name, address in self.addresses.items():
            lab.record(name, "A", address, ttl=2)

    def delete(self, lab):
        for name in NAMES:
            lab.record(name, "A", "")

    def are_verified(self):
        for name in NAMES:
            dig(self.server, name, "A")
        return self.server.stats()["probe"]["verdicts"].get("verified", 0) >= len(NAMES)

    def are_gone(self):
        return not any(dig(self.server, name, "A").answer for name in NAMES)

    def steps(self):
        return self.server.stats()["last_known_good"]

    def ask(self, seconds):
        """Asks for all names again and again: the replies."""
        replies, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            replies += [(name, dig(self.server, name, "A")) for name in NAMES]
        return replies

    def denied(self, replies):
        return [(name, reply.status) for name, reply in replies if reply.data != {self.addresses[name]}]

    def test_a_zone_that_vanishes_at_one_provider_is_still_there_and_one_that_vanishes_at_both_is_not(self):
        self.delete(self.one)
        replies = self.ask(seconds=SECONDS)
        self.assertGreaterEqual(len(replies), 2 * len(NAMES))
        self.assertEqual([], self.denied(replies), f"of {len(replies)}")
        steps = self.steps()
        self.assertGreaterEqual(steps["begun"], len(NAMES))
        self.assertEqual(0, steps["believed"])

        self.delete(self.other)
        began = time.monotonic()
        eventually(self.are_gone, within=60, every=0.2, what="the deletion is followed")
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual(len(NAMES), self.steps()["believed"])

        # The names come back with the end of the negative answers.
        self.publish(self.one)
        self.publish(self.other)
        eventually(lambda: not self.denied(self.ask(seconds=0.1)), within=30, every=0.2, what="the names are back")

    def test_a_hijacker_on_the_path_to_one_provider_is_not_believed(self):
        self.hijacker.lies = True
        replies = self.ask(seconds=SECONDS)
        self.assertEqual([], self.denied(replies), f"of {len(replies)}")
        steps = self.steps()
        self.assertGreaterEqual(steps["begun"], len(NAMES))
        self.assertEqual(0, steps["believed"])

    def test_the_only_provider_that_replies_is_not_believed_before_the_time_is_up(self):
        self.other.kill()
        self.delete(self.one)
        began = time.monotonic()
        replies = self.ask(seconds=LONGEST / 2)
        self.assertEqual([], self.denied(replies))
        first = next(reply for _, reply in replies if reply.extended_error is not None)
        self.assertEqual(3, first.extended_error, first.text)
        self.assertIn("last known good answer", first.text)
        explained = ctl(self.server, "explain", NAMES[0], "A").stdout
        self.assertRegex(explained, r"doubt +one denied the last known good answer .* \(no-data\); it is given")
        self.assertGreaterEqual(self.steps()["given"], len(NAMES))
        self.assertEqual(len(NAMES), self.server.log.count("says no-data, and no other provider has replied"))

        eventually(self.are_gone, within=2 * LONGEST + 40, every=0.5, what="the denial is believed")
        self.assertGreater(time.monotonic() - began, LONGEST - 2)
        self.assertEqual(len(NAMES), self.server.log.count("last-known-good has passed"))
