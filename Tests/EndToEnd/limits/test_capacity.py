# Many names at once, slow names and hung names: the providers' answers reach the clients, and clients with few
# questions do not notice those with many. Each story prints a row for each client: answered by a provider, by plain
# DNS, SERVFAIL and unanswered, and the median and the 99th percentile in milliseconds.

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

import paths
import wire
from askers import Asker, ask
from cases import Case
from certificates import Authority
from fakes import FakeNameserver, reply
from namespace import Namespace
from paths import free_port
from programs import Nameserver, Program
from slow_provider import name_of
from test_vendors import Vendors
from vendors.standin import Entry

PROVIDER, SYSTEM = {"192.0.2.7"}, "192.0.2.222"


class CapacityProvider(Program):
    def __init__(self, dialect, milliseconds=20, most=1000, files=None, streams=100, prefix=()):
        super().__init__("capacity_provider")
        self.dialect, self.files, self.prefix = dialect, files, prefix
        self.arguments = [dialect, milliseconds, most, *([*files[:2], streams] if files else [])]

    def up(self):
        self.start(
            sys.executable, paths.SUPPORT / "capacity_provider.py", *map(str, self.arguments),
            prefix=self.prefix)
        self.port = int(self.wait_for("^port (.*)$").group(1))
        self.control = int(self.wait_for("^control (.*)$").group(1)) if self.files else self.port
        return self

    def page(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.control}{path}", timeout=5) as page:
            return json.load(page)

    @property
    def counts(self):
        return self.page("/counts")

    def provider(self, name="slow"):
        path = {"doh": "/dns-query", "json": "/resolve", "dnspod": "/d"}[self.dialect]
        if self.files:
            return {"name": name, "dialect": "doh", "method": "POST",
                    "url": f"https://provider.example:{self.port}{path}",
                    "addresses": ["127.0.0.1"], "ca-file": str(self.files[2])}
        return {"name": name, "dialect": self.dialect, "url": f"http://127.0.0.1:{self.port}{path}"}


class DNSdist(Nameserver):
    """The peer that plays the stories over HTTP/2: it forwards each question to the same provider."""

    def __init__(self, provider):
        super().__init__("dnsdist")
        (self.directory / "conf").write_text(f"""
setLocal("{self.server}")
setSecurityPollSuffix("")
newServer({{address="127.0.0.1:{provider.port}", tls="openssl", subjectName="provider.example",
  dohPath="/dns-query", caStore="{provider.files[2]}"}})
""")

    @property
    def address(self):
        return self.host, self.port

    def up(self):
        self.start("dnsdist", "--supervised", "--disable-syslog", "-C", self.directory / "conf")
        self.wait_for("as 'up'")
        return self


def row(asker):
    messages = [message for _, message in asker.results.values()]
    seconds = sorted(seconds for seconds, message in asker.results.values() if message.rcode == wire.NOERROR)
    at = lambda part: round(1000 * seconds[min(len(seconds) - 1, int(len(seconds) * part))]) if seconds else None
    return {
        "asked": asker.count, "provider": sum(message.addresses == PROVIDER for message in messages),
        "plain": sum(message.addresses == {SYSTEM} for message in messages),
        "servfail": sum(message.rcode == wire.SERVFAIL for message in messages),
        "none": asker.count - len(messages), "p50": at(0.5), "p99": at(0.99)}


def run(server, askers, patience=6.0):
    """Runs the clients; returns a row for each."""
    ask(server, askers, patience)
    return [row(asker) for asker in askers]


def tell(story, askers, rows):
    for asker, row in zip(askers, rows):
        print(f"{story:44} {asker.what:12}", *(f"{name} {value}" for name, value in row.items()), file=sys.stderr)


class Capacity(Case):
    """The base of the tests, with a system resolver that answers everything."""

    def setUp(self):
        self.system = FakeNameserver(
            lambda query, _: [reply(query, [(name_of(query), 1, 60, socket.inet_aton(SYSTEM))])])
        self.addCleanup(self.system.close)
        self.serial = 0

    def files(self):
        directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # The daemon reads the directory as another user.
        directory.chmod(0o755)
        authority = Authority(directory / "authority")
        return [*authority.certificate("provider.example"), authority.ca_file]

    def http1(self, dialect="doh", milliseconds=20, most=1000):
        return self.own(CapacityProvider(dialect, milliseconds, most)).up()

    def http2(self, milliseconds=20, streams=100):
        return self.own(CapacityProvider("doh", milliseconds, files=self.files(), streams=streams)).up()

    def serve(self, *providers, **options):
        return self.serve_by([provider.provider(f"slow{number}") for number, provider in enumerate(providers)], **options)

    def serve_by(self, providers, sections="", source="127.0.0.1", namespace=None, **options):
        server = self.daemon(
            providers, system=[self.system.server], sections="[probe]\nenabled = false\n" + sections, **options)
        # The daemon passes the first moments of a network and makes its first measurements.
        first = Asker("first", source, self.names("n{}.first.example"), 20, rate=20, namespace=namespace)
        self.ask("", server, [first])
        return server

    def names(self, pattern):
        self.serial += 1
        serial = self.serial
        return lambda number: pattern.format(f"{serial}x{number}")

    def ask(self, story, server, askers, patience=6.0):
        rows = run(server, askers, patience)
        if story:
            tell(story, askers, rows)
        return rows

    def assertAllByProvider(self, row):
        self.assertEqual(row["asked"], row["provider"], row)


class Bursts(Capacity):
    """Many names of one domain, at once and at a high rate."""

    expected_seconds = 40

    def test_names_at_once_over_http1(self):
        cases = [("doh", 30, 20), ("dnspod", 100, 50), ("json", 200, 50), ("doh", 60, 200)]
        if paths.is_full:
            cases = [(dialect, count, milliseconds) for dialect in ("doh", "dnspod", "json")
                     for count in (30, 60, 100, 200, 1000) for milliseconds in (20, 50, 100, 200)
                     if count * milliseconds / 32 <= 4000]
        for dialect, count, milliseconds in cases:
            with self.subTest(dialect=dialect, count=count, milliseconds=milliseconds):
                server = self.serve(self.http1(dialect, milliseconds))
                story = f"(c) {count} at once, {dialect}, {milliseconds} ms"
                asker = Asker("client", "127.0.0.2", self.names("n{}.burst.example"), count)
                [row] = self.ask(story, server, [asker])
                self.assertAllByProvider(row)

    def test_names_a_second_over_http2(self):
        for rate in (160, 300, 600) if paths.is_full else (160,):
            provider = self.http2(300)
            server = self.serve(provider)
            asker = Asker("client", "127.0.0.2", self.names("n{}.corp.com"), 6 * rate if paths.is_full else 320, rate)
            [row] = self.ask(f"(a) {rate}/s, HTTP/2, 300 ms", server, [asker])
            self.assertAllByProvider(row)
            if paths.is_full:
                asker = Asker("dnsdist", "127.0.0.2", self.names("n{}.corp.com"), 6 * rate, rate)
                self.ask(f"(a) {rate}/s, HTTP/2, 300 ms", self.own(DNSdist(provider)).up(), [asker])

    def test_a_server_that_keeps_few_connections(self):
        for most, count, milliseconds in ((6, 100, 50), (2, 60, 20), (1, 60, 20)):
            with self.subTest(most=most):
                server = self.serve(self.http1("doh", milliseconds, most=most))
                asker = Asker("client", "127.0.0.2", self.names("n{}.burst.example"), count)
                story = f"(c) {count} at once, doh, {milliseconds} ms, {most} connections"
                [row] = self.ask(story, server, [asker])
                self.assertAllByProvider(row)


class EveryName:
    """Names of a stand-in, all with the provider's address."""

    def get(self, name):
        return Entry(tuple(PROVIDER))


class AccountBursts(Vendors, Capacity):
    """Many names at once over HTTP/1.1 at vendors' accounts that take several names in a request."""

    expected_seconds = 20

    def test_names_at_once_of_accounts(self):
        cases = [("dnspod-des", 100, 50), ("alicloud", 100, 50)]
        if paths.is_full:
            cases = [(kind, count, milliseconds) for kind in ("dnspod-des", "alicloud")
                     for count in (30, 60, 100, 200, 1000) for milliseconds in (20, 50, 100, 200)]
        for kind, count, milliseconds in cases:
            with self.subTest(kind=kind, count=count, milliseconds=milliseconds):
                stand = self.stand_in(kind, names=EveryName())
                stand.delay = milliseconds / 1000
                server = self.serve_by([self.settings(kind, stand)])
                asker = Asker("client", "127.0.0.2", self.names("n{}.burst.example"), count)
                [row] = self.ask(f"(c) {count} at once, {kind}, {milliseconds} ms", server, [asker])
                self.assertAllByProvider(row)


class Neighbours(Capacity):
    """Clients beside one with many questions, or with hung names."""

    expected_seconds = 55

    def beside(self, story, server, much, little):
        [alone] = self.ask(story, server, [little("B alone")])
        a, b = self.ask(story, server, [much, little("B beside")])
        self.assertAllByProvider(b)
        return alone, a, b

    def test_random_names_of_one_domain(self):
        seconds = 8 if paths.is_full else 4
        for name, provider in (("HTTP/2", self.http2(20)), ("HTTP/1.1", self.http1("json", 20))):
            with self.subTest(name):
                server = self.serve(provider)
                little = lambda what: Asker(
                    what, "127.0.0.3", self.names("b{}-150-500.corp.com"), 10 * seconds, rate=10)
                much = lambda what: Asker(
                    what, "127.0.0.2", self.names("a{}-150-500.corp.com"), 500 * seconds, rate=500)
                alone, _, b = self.beside(f"(b) A 500/s of corp.com, {name}", server, much("A"), little)
                if paths.is_full:
                    self.assertLessEqual(b["p99"], 1.5 * alone["p99"])
                if paths.is_full and provider.files:
                    peer = self.own(DNSdist(provider)).up()
                    self.ask(f"(b) A 500/s of corp.com, {name}", peer, [much("A, dnsdist"), little("B, dnsdist")])

    def test_neighbours_in_one_prefix(self):
        """The neighbours are in one IPv6 /64."""
        seconds = 8 if paths.is_full else 4
        namespace = Namespace()
        self.addCleanup(namespace.remove)
        address = lambda host: f"2001:db8:1::{host}"
        for host in ("a", "b"):
            subprocess.run(["ip", "-n", namespace.name, "addr", "add", f"{address(host)}/64", "dev", "lo", "nodad"],
                           check=True)
        provider = self.own(CapacityProvider("json", 20, prefix=namespace.prefix)).up()
        server = self.serve(
            provider, host="::1", prefix=namespace.prefix, source=address("b"), namespace=namespace,
            server=f'allow = ["{address("")}/64"]')
        little = lambda what: Asker(
            what, address("b"), self.names("b{}-150-500.corp.com"), 10 * seconds, rate=10, namespace=namespace)
        much = Asker("A", address("a"), self.names("a{}-150-500.corp.com"), 500 * seconds, 500, namespace)
        alone, _, b = self.beside("(b) the same in one /64, HTTP/1.1", server, much, little)
        if paths.is_full:
            self.assertLessEqual(b["p99"], 1.5 * alone["p99"])

    def test_names_that_hang_over_http1(self):
        seconds = 10 if paths.is_full else 5
        server = self.serve(self.http1("doh", 40))
        little = lambda what: Asker(what, "127.0.0.3", self.names("b{}.good.example"), 10 * seconds, rate=10)
        much = Asker("A", "127.0.0.2", self.names("n{}.hang.example"), 30 * seconds, rate=30)
        alone, _, b = self.beside("(e) A 30/s that hang, doh, 40 ms", server, much, little)
        if paths.is_full:
            self.assertLessEqual(b["p50"], 2 * alone["p50"])

    def test_siblings_of_names_that_hang(self):
        seconds = 10 if paths.is_full else 5
        server = self.serve(self.http1("doh", 40), self.http1("json", 40))
        much = Asker("hang.corp.com", "127.0.0.2", self.names("n{}.hang.corp.com"), 20 * seconds, rate=20)
        little = Asker("www.corp.com", "127.0.0.2", self.names("n{}.www.corp.com"), 20 * seconds, rate=20)
        _, good = self.ask("(g) 20/s below hang.corp.com", server, [much, little])
        self.assertAllByProvider(good)
        if paths.is_full:
            self.assertLessEqual(good["p99"], 300)

    def test_two_accounts_share_connections(self):
        stand = self.http1("json", 50)
        stands = [{**stand.provider(name), "names": None} for name in ("one", "two")]
        for provider in stands:
            provider.pop("names")
        rules = "".join(f'[[rule]]\nmatch = ["{domain}"]\nresolver = "{name}"\n' for domain, name in
                        (("a.example", "one"), ("b.example", "two")))
        server = self.serve_by(stands, sections=rules)
        a = Asker("A", "127.0.0.2", self.names("n{}.a.example"), 400, rate=None)
        b = Asker("B", "127.0.0.3", self.names("n{}.b.example"), 20, rate=20)
        for row in self.ask("(i) two accounts, json, 50 ms", server, [a, b]):
            self.assertAllByProvider(row)
        self.assertLessEqual(stand.counts["most"], 40)


class Forwarder(Capacity):
    expected_seconds = 20

    def test_one_forwarder_with_300_domains(self):
        seconds = 10 if paths.is_full else 4
        server = self.serve(self.http1("doh", 40), self.http1("json", 60))
        serial = iter(range(1 << 20))
        name = lambda number: f"n{next(serial)}.d{number % 300}.example"
        [row] = self.ask("(d) one client, 300 domains, 200/s", server, [
            Asker("forwarder", "127.0.0.2", name, 200 * seconds, rate=200)])
        self.assertAllByProvider(row)

    def test_a_nameserver_of_one_zone(self):
        zone = FakeNameserver(lambda query, _: [
            reply(query, [(name_of(query), 1, 60, socket.inet_aton("192.0.2.7"))])])
        self.addCleanup(zone.close)
        server = self.serve(self.http1("doh", 40), sections=f"""
[[nameserver]]
name = "corp"
servers = ["{zone.server}"]
[[rule]]
match = ["corp.example"]
resolver = "corp"
""")
        [row] = self.ask("(f) 500 at once by a nameserver", server, [
            Asker("client", "127.0.0.2", self.names("n{}.corp.example"), 500)])
        self.assertAllByProvider(row)


class Slow(Capacity):
    """Story (h): a provider becomes slow, and recovers."""

    expected_seconds = 60

    def test_a_provider_becomes_slow(self):
        scale = 1.0 if paths.is_full else 0.25
        stand = self.http1("doh", 12)
        server = self.serve(stand, sections='[cache]\nmax-ttl = "2s"\n')
        stages = [(0, 0.012), (5, 0.3), (22, 1.5), (42, 0.012)]
        stand.page("/usual?" + "&".join(f"{since * scale}={seconds}" for since, seconds in stages))
        count, total = 60, int(68 * scale)
        name = lambda number: f"n{number % count}.zone.corp.com"
        asker = Asker("client", "127.0.0.2", name, 30 * total, rate=30)
        [row] = self.ask("(h) 12 ms, 300 ms, 1.5 s, 12 ms", server, [asker])
        late = [message for number, (_, message) in asker.results.items() if number >= 30 * (total - 26 * scale + 2)]
        expired = sum(message.extended_error == 3 for message in late)
        print(f"(h) expired afterwards: {expired} of {len(late)}", file=sys.stderr)
        self.assertEqual(row["asked"], row["provider"], row)
        self.assertLessEqual(expired, len(late) // 20)
