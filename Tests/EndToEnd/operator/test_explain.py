# Explanations of answers, by httpdnsctl and by plain dig, in every situation of a name; and operators' own queries and
# lookups.

import json
import os
import re
import socket
import tempfile
import threading
from pathlib import Path


from cases import Case
from dig import dig
from fakes import FakeNameserver
from paths import eventually
from programs import Daemon, Dnsmasq, ctl
from test_rules import rule
from web_sites import Sites

STILL = "[prefetch]\nenabled = false\n"
SHARED_RULES = rule("corp.example", resolver='"system"') + rule("backup.lab.example", fallback_addresses='["203.0.113.99"]')


def masked(text):
    """The text without changing numbers and without columns."""
    text = re.sub(r"\b\d\d:\d\d:\d\d\.\d+Z", "T", text)
    text = re.sub(r"\b(\d+[dhms])+\b|\b\d+ (ms|hits?|times)\b|\bTTL \d+\b", "N", text)
    return re.sub(r" +", " ", re.sub(r"\bnetwork +[0-9a-f]{8}\b", "network X", text)).strip()


def key(server):
    return json.loads(ctl(server, "status", "--json").stdout)["explanation_key"]


class Explaining(Case):
    def said(self, server, name, type="A"):
        """The lines of `explain`, each with its label; dig must return the same."""
        def both():
            done = ctl(server, "explain", name, type)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            word, lines = "", []
            for line in done.stdout.splitlines()[1:]:
                word = line[:9].strip() or word
                lines.append(masked(f"{word} {line[9:]}"))
            prefix = "" if type == "A" else f"_{type}."
            answer = dig(server, "+short", f"{prefix}{name}.{key(server)}.why.httpdnsd.", "TXT").text
            dug = [masked(re.sub(r"\\(\d{3}|.)", r"\1", line.strip().strip('"'))) for line in answer.splitlines() if line]
            return lines, dug
        # A pair that changed between the two requests is requested again.
        lines, dug = eventually(lambda: (lambda pair: pair if pair[0] == pair[1] else None)(both()), 5,
                                f"ctl and dig agree about {name}: {both()}")
        self.assertEqual(f"{name} {type}", ctl(server, "explain", name, type).stdout.splitlines()[0])
        return lines

    def assertSaid(self, wanted, server, name, type="A"):
        lines = self.said(server, name, type)
        for line in wanted:
            self.assertRegex("\n".join(lines), f"(?m)^{line}$")


class Situations(Explaining):
    expected_seconds = 12

    @classmethod
    def setUpClass(cls):
        from lab import Lab
        from programs import NSD
        cls.provider = cls.share(Lab()).up()
        cls.system = cls.share(NSD()).up()

    def server(self, sections="", **options):
        return self.daemon([self.provider.provider("json")], system=[self.system.server],
                           sections=sections + SHARED_RULES, **options)

    def test_an_answer_that_is_fresh_or_was_never_asked_for(self):
        server = self.server()
        self.assertSaid(
            ["route providers; no rule matches", "entry none", "next asks json",
             "next asks the system resolver too after N",
             "next SERVFAIL after N without an answer"], server, "www.lab.example")
        dig(server, "www.lab.example", "A")
        self.assertSaid(
            ["entry fresh, N old, N left of N, N not counted yet", "entry by json, original N",
             "entry 192.0.2.1[01] 192.0.2.1[01]", "answered json, N ago, in N, N: kept",
             r"address 192.0.2.10:443 unprobed: .*", "refresh in N if it is in use then; .*",
             "next answered from the cache", "lately T answered A: provider, NOERROR, [0-9,]+ us, udp"],
            server, "www.lab.example")
        # Another type is another question, and the explanation did not cause a lookup for it.
        self.assertSaid(["entry none"], server, "www.lab.example", "AAAA")
        self.assertEqual(1, server.stats()["cache"]["entries"])

    def test_an_answer_that_is_due(self):
        self.provider.record("due.lab.example", "A", "192.0.2.7", ttl=1000)
        server = self.server(sections='[cache]\nmax-ttl = "2s"\n')
        dig(server, "due.lab.example", "A")
        def due():
            said = ctl(server, "explain", "due.lab.example").stdout
            if "entry    due" in said:
                return said
            # A busy machine may miss the short time.
            if "entry    fresh" not in said:
                dig(server, "due.lab.example", "A")
        self.assertRegex(eventually(due, every=0.005), "original TTL 1000\n(.*\n)*next     answered from the cache, ")

    def test_an_expired_answer_and_its_cause(self):
        provider = self.lab()
        provider.record("old.lab.example", "A", "192.0.2.8", ttl=1)
        server = self.daemon([provider.provider("json")], sections=STILL)
        dig(server, "old.lab.example", "A")
        eventually(lambda: "entry    expired" in ctl(server, "explain", "old.lab.example").stdout)
        self.assertSaid(
            ["expired usable for N after expiry, if no answer arrives within N, with N",
             "next the expired answer after N without a new answer"], server, "old.lab.example")
        provider.kill()
        dig(server, "old.lab.example", "A")
        self.assertSaid(
            ["failed json, N ago: refused", "failed system, N ago: .*", "failure every upstream failed; .*",
             "next the expired answer at once with EDE 3, because every upstream failed recently", "refresh none: prefetch is off"],
            server, "old.lab.example")

    def test_names_that_do_not_go_to_providers(self):
        server = self.server()
        self.assertSaid(
            ["route the system resolver, by a rule", "rule corp.example: resolver = system",
             "next asks the system resolver"], server, "wiki.corp.example")
        self.assertSaid(
            ["route the system resolver; local name"], server, "printer")
        self.assertSaid(
            ["route answered by the daemon: .*", "next answered by the daemon: 127.0.0.1"], server, "localhost")
        self.assertSaid(
            ["route the system resolver; no provider supports type HINFO"], server, "lab.example", "HINFO")
        ctl(server, "httpdns", "off", "--for", "10m")
        self.assertSaid(
            ["route the system resolver; httpdns is off, for N more"], server, "www.lab.example")

    def test_answers_of_the_system_resolver_and_negative_ones(self):
        server = self.server()
        ctl(server, "httpdns", "off", "--for", "10m")
        dig(server, "lab.example", "MX")
        self.assertSaid(
            ["entry by system, original N", "entry 10 mail.lab.example.", "answered system, N ago, in N, N: kept"],
            server, "lab.example", "MX")
        ctl(server, "httpdns", "on")
        dig(server, "nowhere.lab.example", "A")
        self.assertSaid(
            ["entry NXDOMAIN", "answered json, N ago, in N, N: kept; no such name",
             'expired expired negative answers are not used'], server, "nowhere.lab.example")

    def test_private_addresses_that_were_taken_out(self):
        server = self.server()
        self.provider.record("mixed.lab.example", "A", "192.168.7.7,192.0.2.9")
        self.provider.record("rebind.lab.example", "A", "10.0.0.1")
        mixed = dig(server, "mixed.lab.example", "A")
        self.assertEqual(("NOERROR", {"192.0.2.9"}, 15), (mixed.status, mixed.data, mixed.extended_error))
        self.assertSaid(
            ["answered json, N ago, in N, N: kept; 192.168.7.7 removed \\(private\\)", "entry 192.0.2.9"],
            server, "mixed.lab.example")
        none = dig(server, "rebind.lab.example", "A")
        self.assertEqual(([], False), (none.answer, dig(server, "+noedns", "rebind.lab.example", "A").has_opt))
        self.assertSaid(
            ["answered json, N ago, in N, N: .*10.0.0.1 blocked by the provider"], server, "rebind.lab.example")

    def test_a_rule_gives_its_own_addresses(self):
        provider = self.lab()
        server = self.daemon([provider.provider("json")], sections=SHARED_RULES)
        provider.kill()
        reply = dig(server, "backup.lab.example", "A")
        self.assertEqual(({"203.0.113.99"}, 4), (reply.data, reply.extended_error))
        self.assertSaid(
            ["rule backup.lab.example: fallback-addresses = 203.0.113.99",
             "next the rule's fallback addresses at once"], server, "backup.lab.example")

    def test_a_quarantined_address(self):
        folder = tempfile.TemporaryDirectory(prefix="e2e-sites-")
        os.chmod(folder.name, 0o755)
        self.addCleanup(folder.cleanup)
        sites = Sites(Path(folder.name))
        self.addCleanup(sites.close)
        good, bad = sites.address(), sites.address()
        sites.web(good, files=sites.authority.certificate("two.lab.example"))
        sites.web(bad, files=sites.authority.certificate("evil.example", file="evil"))
        sites.up()
        self.provider.record("two.lab.example", "A", f"{good},{bad}")
        server = self.daemon([self.provider.provider("json")], sections=sites.settings())
        dig(server, "two.lab.example", "A")
        ctl(server, "verify", "two.lab.example")
        port = sites.port
        self.assertSaid(
            [f"entry {good}", f"address {good}:{port} verified, N ago, N: quickest",
             f"address {bad}:{port} name-mismatch, N ago, N: quarantined"], server, "two.lab.example")


class Why(Explaining):
    expected_seconds = 4

    def setUp(self):
        self.provider = self.lab()
        self.nameserver = FakeNameserver(lambda query, is_stream: [])
        self.addCleanup(self.nameserver.close)

    def server(self, **options):
        return self.daemon([self.provider.provider("json")], system=[self.nameserver.server], **options)

    def test_nothing_under_the_zone_leaves_the_machine_or_is_kept(self):
        server = self.server()
        questions = [
            ("why.httpdnsd.", "TXT", 1), ("why.httpdnsd.", "SOA", 0), ("www.lab.example.why.httpdnsd.", "A", 0),
            ("www.lab.example.why.httpdnsd.", "AAAA", 0), ("www.lab.example.why.httpdnsd.", "HTTPS", 0),
            ("a" * 63 + "." + "b" * 63 + "." + "c" * 63 + "." + "d" * 23 + f".{key(server)}.WHY.httpdnsd.", "TXT", None),
            (f"_nothing.{key(server)}.why.httpdnsd.", "TXT", None)]
        for name, type, count in questions:
            for transport in ("+notcp", "+tcp"):
                with self.subTest((name[:20], type, transport)):
                    reply = dig(server, transport, name, type)
                    self.assertEqual("NOERROR", reply.status, reply.text)
                    self.assertTrue(all(record[1] == "0" for record in reply.answer))
                    self.assertEqual(count if count is not None else len(reply.answer), len(reply.answer))
                    self.assertTrue(count == 0 or reply.answer)
        ctl(server, "prefetch", "x.why.httpdnsd")
        ctl(server, "query", "x.why.httpdnsd", "TXT", "--no-cache")
        stats = server.stats()
        self.assertEqual((0, 0, []), (stats["cache"]["entries"], self.provider.requests()["total"],
                                      [query for query, _, _ in self.nameserver.queries if b"\x03why" in query.lower()]))
        self.assertEqual(2 * len(questions), stats["responses"]["local"])
        self.assertSums(stats)

    def test_what_does_not_fit_a_datagram_comes_over_tcp(self):
        self.provider.record("many.lab.example", "A", ",".join(f"192.0.2.{number + 1}" for number in range(40)))
        server = self.server()
        dig(server, "+tcp", "many.lab.example", "A")
        cut = dig(server, "+ignore", "+bufsize=512", f"many.lab.example.{key(server)}.why.httpdnsd.", "TXT")
        self.assertIn("tc", cut.flags)
        self.assertLessEqual(cut.size, 512)
        whole = dig(server, f"many.lab.example.{key(server)}.why.httpdnsd.", "TXT")
        self.assertNotIn("tc", whole.flags)
        self.assertIn("answered from the cache", whole.text)

    def test_a_forwarder_on_this_machine_gets_no_explanation_without_the_key(self):
        server = self.server()
        dig(server, "www.lab.example", "A")
        forwarder = self.own(Dnsmasq(server.address)).up()
        for asked in (forwarder, server):
            for transport in ("+notcp", "+tcp"):
                for name in ("www.lab.example", f"www.lab.example.{'0' * 16}", f"_aaaa.www.lab.example.{'f' * 16}"):
                    reply = dig(asked, transport, f"{name}.why.httpdnsd.", "TXT")
                    self.assertEqual(("REFUSED", []), (reply.status, reply.answer), reply.text)
            self.assertIn("KEY", dig(asked, "why.httpdnsd.", "TXT").text)
        whole = dig(forwarder, f"www.lab.example.{key(server)}.why.httpdnsd.", "TXT")
        self.assertIn("answered from the cache", whole.text)
        self.assertSums(server.stats())

    def test_others_than_this_machine_are_refused(self):
        host = next((each for each in own_addresses() if not each.startswith("127.")), None)
        if host is None:
            self.skipTest("this machine has no address but loopback")
        server = self.daemon([self.provider.provider("json")], host=host, server='allow = ["0.0.0.0/0"]')
        for transport in ("+notcp", "+tcp"):
            for type in ("TXT", "A"):
                reply = dig(server, transport, "www.lab.example.why.httpdnsd.", type)
                self.assertEqual(("REFUSED", 18, []), (reply.status, reply.extended_error, reply.answer), reply.text)
        self.assertSums(server.stats())


def own_addresses():
    """The addresses of the interface with the default route, if there is one. No packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return [probe.getsockname()[0]]
        except OSError:
            return []


class Queries(Explaining):
    expected_seconds = 4

    def setUp(self):
        self.provider = self.lab()

    def report(self, server, *arguments, code=0):
        done = ctl(server, "--json", "query", *arguments)
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[0])

    def test_it_is_what_a_client_gets_and_counts_as_none(self):
        server = self.daemon([self.provider.provider("json")])
        first, second = (self.report(server, "www.lab.example") for _ in range(2))
        self.assertEqual(("json", "cache"), (first["source"], second["source"]))
        self.assertEqual({"192.0.2.10", "192.0.2.11"}, {record["data"] for record in second["records"]})
        self.assertEqual(dig(server, "www.lab.example", "A").data, {record["data"] for record in second["records"]})
        self.assertEqual("local", self.report(server, "localhost")["source"])
        self.assertEqual("NXDOMAIN", self.report(server, "nowhere.lab.example")["rcode"])
        before = self.provider.requests()["total"]
        self.assertEqual("json", self.report(server, "www.lab.example", "--no-cache")["source"])
        self.assertEqual(before + 1, self.provider.requests()["total"])
        stats = server.stats()
        self.assertEqual(1, stats["queries"]["total"])
        self.assertSums(stats)

    def test_one_provider_is_asked_and_its_answer_not_kept(self):
        server = self.daemon([self.provider.provider("json"), self.provider.provider("dnspod")])
        for name in ("json", "dnspod"):
            self.assertEqual(name, self.report(server, "www.lab.example", "--provider", name)["source"])
        self.assertEqual(0, server.stats()["cache"]["entries"])
        unknown = ctl(server, "query", "www.lab.example", "--provider", "nobody")
        self.assertEqual((1, True), (unknown.returncode, "allowed: json, dnspod" in unknown.stdout + unknown.stderr))
        unsupported = ctl(server, "query", "www.lab.example", "MX", "--provider", "dnspod")
        self.assertEqual((1, True), (unsupported.returncode, "does not support" in unsupported.stdout + unsupported.stderr))

    def test_a_failure_is_a_failure(self):
        server = self.daemon([self.provider.provider("json")])
        self.provider.kill()
        self.assertEqual(23, self.report(server, "www.lab.example", code=1)["ede"]["code"])
        self.assertEqual(13, self.report(server, "www.lab.example", code=1)["ede"]["code"])
        self.assertEqual(13, dig(server, "www.lab.example", "A").extended_error)
        self.assertEqual(1, ctl(server, "query", "www.lab.example", "--provider", "json").returncode)

    def test_lookups_under_way_are_shown(self):
        server = self.daemon([self.provider.provider("json")])
        self.provider.fault("hang")
        asking = threading.Thread(target=dig, args=(server, "slow.lab.example", "A"))
        asking.start()
        self.addCleanup(asking.join)
        found = eventually(lambda: [
            each for each in json.loads(ctl(server, "--json", "inflight").stdout)["lookups"] if each["fetches"]])
        self.assertEqual(("slow.lab.example", "A", 1, False, "json"), (
            found[0]["name"], found[0]["type"], found[0]["waiters"], found[0]["refresh"],
            found[0]["fetches"][0]["upstream"]))
        self.assertRegex(
            ctl(server, "inflight").stdout, r"slow.lab.example A \d+ ms, for a client, 1 waiter, asks json \d+ ms")
        self.assertRegex(ctl(server, "explain", "slow.lab.example").stdout, "next     joins the lookup of")
