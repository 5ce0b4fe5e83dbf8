# The contents of providers' replies: only records that answer the question are accepted, whatever form HTTP has.

import base64
import gzip
import json
import re

import wire
from cases import Case
from dig import dig
from fakes import FakeProvider, reply
from lab import Lab

NAME = "target.any.lab.example"
RIGHT, WRONG, HONEST = bytes([198, 51, 100, 1]), bytes([198, 51, 100, 66]), {"192.0.2.99"}
# The body is made once, because the other provider overtakes a slow reply.
BOMB = gzip.compress(bytes(20 << 20), 1)
TYPE = "Content-Type: application/dns-message\r\n"


def http(body, head="", status="200 OK"):
    return f"HTTP/1.1 {status}\r\n{TYPE}{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def query_of(head):
    text = re.search(rb"dns=([\w-]*)", head).group(1)
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))


def record(data=RIGHT, owner=NAME, ttl=300):
    return (owner, 1, ttl, data)


def right(query):
    return reply(query, [record()])


def chunked(body):
    head = f"HTTP/1.1 200 OK\r\n{TYPE}Transfer-Encoding: chunked\r\n\r\n"
    return f"{head}{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"


# A title, and the raw reply as a function of the query.
BELIEVED = [
    ("a plain reply", lambda query: http(right(query))),
    ("compressed", lambda query: http(gzip.compress(right(query)), "Content-Encoding: gzip\r\n")),
    ("in chunks", lambda query: chunked(right(query))),
    ("up to the end of the connection", lambda query: f"HTTP/1.0 200 OK\r\n{TYPE}\r\n".encode() + right(query)),
    ("after an interim reply", lambda query: b"HTTP/1.1 103 Early Hints\r\n\r\n" + http(right(query))),
    ("with records that nothing leads to", lambda query: http(
        reply(query, [record(WRONG, "other.example"), record(), record(WRONG, "another.example")]))),
]

# A title, the raw reply, and the failure that it is counted as.
DISBELIEVED = [
    ("a query", lambda query: http(query), "garbage"),
    ("truncated", lambda query: http(reply(query, [record(WRONG)], flags=0x8380)), "garbage"),
    ("another ID", lambda query: http(reply(query, [record(WRONG)], id=7)), "garbage"),
    ("another name", lambda query: http(reply(query, [record(WRONG)], question=wire.question("a.b"))), "garbage"),
    ("another type", lambda query: http(reply(query, [record(WRONG)], question=wire.question(NAME, "TXT"))), "garbage"),
    ("only records of others", lambda query: http(reply(query, [record(WRONG, "other.example")])), "garbage"),
    ("cut", lambda query: http(right(query)[:-2]), "garbage"),
    ("SERVFAIL", lambda query: http(reply(query, flags=0x8182)), "server"),
    ("a web page", lambda _: http(b"<html>log in first</html>").replace(b"application/dns-message", b"text/html"),
     "garbage"),
    ("broken gzip", lambda query: http(b"\x1f\x8b" + b"x" * 50, "Content-Encoding: gzip\r\n"), "garbage"),
    ("a gzip bomb", lambda query: http(BOMB, "Content-Encoding: gzip\r\n"), "garbage"),
    ("65,537 bytes", lambda query: http(right(query) + bytes(65537 - len(right(query)))), "garbage"),
    ("a broken chunk", lambda query: chunked(right(query)).replace(b"\r\n\r\n", b"\r\n\r\nzz", 1), "garbage"),
    ("no HTTP", lambda query: b"SSH-2.0-OpenSSH_9.2\r\n", "garbage"),
    ("endless headers", lambda query: http(right(query), "X-Padding: 0123456789abcdef\r\n" * 60_000), "garbage"),
    ("a redirect", lambda query: http(b"", "Location: /elsewhere\r\n", "301 Moved"), "redirected"),
    ("nothing", lambda query: b"", "reset"),
    ("a cut head", lambda query: b"HTTP/1.1 200 OK\r\nContent-", "reset"),
]


class Replies(Case):
    expected_seconds = 6

    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()

    def serve(self, respond, dialect="doh"):
        fake = FakeProvider(respond)
        self.addCleanup(fake.close)
        return self.daemon([fake.provider(dialect), self.provider.provider("json", "honest")]), fake

    def test_answers_in_every_wrapping(self):
        for title, make in BELIEVED:
            with self.subTest(title):
                server, _ = self.serve(lambda head: make(query_of(head)))
                self.assertEqual({"198.51.100.1"}, dig(server, NAME, "A").data)
                self.assertEqual({}, server.failures("fake"))

    def test_what_is_no_answer_is_a_failure(self):
        for title, make, failure in DISBELIEVED:
            with self.subTest(title):
                server, fake = self.serve(lambda head: make(query_of(head)))
                self.assertEqual(HONEST, dig(server, NAME, "A").data)
                self.assertEqual({failure: 1}, server.failures("fake"))
                self.assertLess(server.stats()["process"]["rss_bytes"], 48 << 20)
                self.assertEqual(1, fake.asked)

    def test_time_spent_in_http_caches_is_taken_off(self):
        for head, ttl in (("Age: 100\r\n", "200"), ("Age: 400\r\n", "0"), ("Cache-Control: max-age=60\r\n", "60"),
                          ("Age: 20\r\nCache-Control: max-age=60\r\n", "40")):
            with self.subTest(head):
                server, _ = self.serve(lambda request: http(right(query_of(request)), head))
                self.assertEqual(ttl, dig(server, NAME, "A").answer[0][1])

    def test_json_is_followed_by_name(self):
        def answer(owner, type, data, ttl=300):
            return {"name": owner, "type": type, "TTL": ttl, "data": data}
        address, alias = answer("edge.example.", 1, "198.51.100.1"), answer(f"{NAME}.", 5, "edge.example.")
        for title, body, expected in (
                ("out of order", {"Status": 0, "Answer": [address, alias]}, {"edge.example.", "198.51.100.1"}),
                ("with strangers", {"Status": 0, "Answer": [answer("x.example.", 1, "198.51.100.66"), alias, address]},
                 {"edge.example.", "198.51.100.1"}),
                ("strangers only", {"Status": 0, "Answer": [answer("x.example.", 1, "198.51.100.66")]}, HONEST),
                ("a loop", {"Status": 0, "Answer": [answer(f"{NAME}.", 5, f"{NAME}.")]}, HONEST),
                ("truncated", {"Status": 0, "TC": True, "Answer": [answer(f"{NAME}.", 1, "198.51.100.66")]}, HONEST),
                ("another question", {"Status": 0, "Question": [{"name": "x.example.", "type": 1}]}, HONEST),
                ("no status", {"Answer": [address]}, HONEST), ("nothing", {}, HONEST), ("no object", [1], HONEST)):
            with self.subTest(title):
                raw = http(json.dumps(body).encode()).replace(b"dns-message", b"dns-json")
                server, _ = self.serve(lambda _: raw, "json")
                self.assertEqual(expected, dig(server, NAME, "A").data)
