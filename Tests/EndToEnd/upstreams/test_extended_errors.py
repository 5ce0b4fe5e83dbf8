# Extended errors of upstreams (RFC 8914) that come with an answer: clients get them with every reply from the cache.

import base64
import http.server
import json
import re
import shutil
import struct
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

import paths
import wire
from cases import Case, closed_provider
from dig import dig
from fakes import FakeNameserver, question, reply
from programs import ctl

ADDRESS = bytes([192, 0, 2, 7])
# Code and text of the error by the first label; a text with characters that no terminal should get.
ERRORS = {"blocked": [(15, "malware\x1b[2J")], "gone": [(9, "parents")], "empty": [(6, "")],
          "several": [(3, "old"), (9, "no key")], "long": [(15, "x" * 400)]}
CODES = {"gone": 3}
DIALECTS = ("doh", "json", "nameserver")


def kind(name):
    return name.split(".")[0]


def message(query, ttl):
    """A nameserver's reply: an address for every name except those that have none."""
    name, type = question(query)
    errors = b"".join(struct.pack("!HHH", 15, 2 + len(text), code) + text.encode()
                      for code, text in ERRORS.get(kind(name), []))
    records = [] if type != 1 or kind(name) in ("gone", "empty") else [(name, 1, ttl, ADDRESS)]
    made = reply(query, records, flags=0x8180 | CODES.get(kind(name), 0))
    return made[:10] + b"\0\1" + made[12:] + wire.opt(options=errors)


class Vendor:
    """A provider of the dialects "doh" and "json" on a thread of its own, with one TTL for all answers."""

    def __init__(self, ttl):
        self.ttl = ttl
        self.status = 200
        vendor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                body = vendor.doh(query["dns"][0]) if "dns" in query else vendor.json(query)
                self.send_response(vendor.status)
                self.send_header("Content-Type", "application/" + ("dns-message" if "dns" in query else "dns-json"))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def provider(self, dialect):
        terms = {"method": "GET"} if dialect == "doh" else {}
        return {"name": "vendor", "dialect": dialect, "url": f"http://127.0.0.1:{self.server.server_port}/d", **terms}

    def doh(self, text):
        return message(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), self.ttl)

    def json(self, query):
        name = query["name"][0].rstrip(".")
        body = {"Status": CODES.get(kind(name), 0), "Question": [{"name": name + ".", "type": 1}]}
        if kind(name) not in ("gone", "empty"):
            body["Answer"] = [{"name": name + ".", "type": 1, "TTL": self.ttl, "data": "192.0.2.7"}]
        errors = ERRORS.get(kind(name), [])
        if kind(name) == "blocked":
            body["Comment"] = [f"EDE({code}): {text}" for code, text in errors]
        elif errors:
            body["extended_dns_errors"] = [{"info_code": code, "extra_text": text} for code, text in errors]
        return json.dumps(body).encode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class ExtendedErrors(Case):
    expected_seconds = 12

    def begin(self, dialect, ttl=300, **options):
        sections = options.pop("sections", "") + "\n[probe]\nenabled = false\n[prefetch]\nenabled = false\n"
        if dialect == "nameserver":
            self.upstream = FakeNameserver(
                lambda query, _: [] if b"httpdnsd-loop" in query else [message(query, ttl)])
            providers = [closed_provider("dnspod")]
            sections = (f'[[nameserver]]\nname = "ours"\nservers = ["{self.upstream.server}"]\n'
                        '[[rule]]\nmatch = ["example"]\nresolver = "ours"\n' + sections)
        else:
            self.upstream = Vendor(ttl)
            providers = [self.upstream.provider(dialect)]
        self.addCleanup(self.upstream.close)
        self.server = self.daemon(providers, sections=sections, **options)

    def errors(self, name, *options):
        """The extended errors of a reply, as code and text."""
        found = dig(self.server, name, "A", *options)
        self.assertNotIn("\x1b", found.text)
        return [(int(code), text or "")
                for code, text in re.findall(r"^; EDE: (\d+)(?: \([^()]*\))?(?:: \((.*)\))?$", found.text, re.M)]

    def test_each_reply_has_them_from_the_upstream_and_from_the_cache(self):
        for dialect in DIALECTS:
            self.begin(dialect)
            for name, wanted in (("blocked.example", [(15, "malware[2J")]), ("gone.example", [(9, "parents")]),
                                 ("empty.example", [(6, "")]), ("several.example", [(9, "no key")]),
                                 ("long.example", [(15, "x" * 128)]), ("plain.example", [])):
                for options in ((), (), ("+tcp",), ("+dnssec", "+cd"), ("+bufsize=512",)):
                    with self.subTest(dialect, name=name, options=options):
                        self.assertEqual(wanted, self.errors(name, *options))
                self.assertFalse(dig(self.server, name, "A", "+noedns").has_opt)
            self.assertEqual("NXDOMAIN", dig(self.server, "gone.example", "A").status)
            self.assertIn("malware[2J", ctl(self.server, "query", "blocked.example", "A", "--json").stdout)

    def test_a_restart_keeps_them(self):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.begin("doh", store=paths.entrust(folder) / "cache.db")
        names = ("blocked.example", "gone.example", "plain.example")
        before = [self.errors(name) for name in names]
        self.upstream.close()
        self.server.stop()
        self.server.up()
        self.assertEqual(before, [self.errors(name) for name in names])
        self.assertEqual([[(15, "malware[2J")], [(9, "parents")], []], before)

    def test_an_expired_answer_has_them_behind_its_own(self):
        self.begin("json", ttl=1)
        self.errors("blocked.example")
        self.upstream.status = 500
        time.sleep(1.1)
        found = self.errors("blocked.example")
        self.assertEqual([3, 15], [code for code, _ in found])
        self.assertEqual("malware[2J", found[1][1])
        self.assertEqual([3, 15], [code for code, _ in self.errors("blocked.example", "+norecurse")])
