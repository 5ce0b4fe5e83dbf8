# Every dialect alone: a provider of each, and for each a rule that leaves its names to it, so that no other upstream
# can help. The tests use HTTP from the lab, and HTTPS as the vendor has it. They cover wrong clocks, key files, and
# many names at once.

import os
import tempfile
from pathlib import Path

from cases import Case
from certificates import Authority
from dig import dig
from lab import KINDS, Lab
from programs import Daemon
from test_process import httpdnsd
from tls_server import SECURE_KINDS, Front
from wire import NOERROR, ask_all

V4, V6 = {"192.0.2.20", "192.0.2.21"}, {"2001:db8::20"}


def rules(kinds):
    """Each provider has a tree of names of its own."""
    return "".join(
        f'[[rule]]\nmatch = ["{kind}.lab.example", "{kind}.any.lab.example"]\nresolver = "{kind}"\n' for kind in kinds)


class Alone(Case):
    """The base of the tests for every dialect, however it is reached."""

    kinds = ()

    def answers(self, server, kind):
        name, can = f"www.{kind}.lab.example", KINDS[kind]
        self.assertEqual((V4, "NOERROR"), (dig(server, name, "A").data, dig(server, name, "A").status))
        sixes = dig(server, name, "AAAA")
        if can.has_aaaa:
            self.assertEqual(V6, sixes.data)
        self.assertEqual([], dig(server, f"four.{kind}.lab.example", "AAAA").answer)
        if can.has_aaaa:
            self.assertEqual("NOERROR", dig(server, f"four.{kind}.lab.example", "AAAA").status)
        missing = dig(server, f"missing.{kind}.lab.example", "A")
        self.assertEqual(([], "NXDOMAIN" if can.says_missing else "NOERROR"), (missing.answer, missing.status))
        names = [(f"n{number}.{kind}.any.lab.example", "A") for number in range(2 * can.batch)]
        replies = ask_all(server, names)
        self.assertEqual(
            {number: (NOERROR, {"192.0.2.99"}) for number in range(len(names))},
            {number: (reply.rcode, reply.addresses) for number, reply in replies.items()})
        self.assertEqual({}, server.failures(kind))

    @classmethod
    def add_records(cls):
        for kind in cls.kinds:
            cls.provider.record(f"www.{kind}.lab.example", "A", ",".join(sorted(V4)))
            cls.provider.record(f"www.{kind}.lab.example", "AAAA", ",".join(V6))
            cls.provider.record(f"four.{kind}.lab.example", "A", "192.0.2.4")


    def assertNobodyElseWasAsked(self):
        for question in self.provider.requests()["questions"]:
            kind, name, _ = question.split()
            self.assertRegex(name, rf"\.{kind}(\.any)?\.lab\.example$")


class OverHTTP(Alone):
    expected_seconds = 10
    kinds = list(KINDS)

    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()
        cls.add_records()
        providers = [cls.provider.provider(kind) for kind in cls.kinds]
        cls.server = cls.share(Daemon(providers, sections=rules(cls.kinds))).up()

    def test_each_dialect_alone(self):
        for kind in self.kinds:
            with self.subTest(kind):
                self.answers(self.server, kind)
        self.assertNobodyElseWasAsked()


class OverHTTPS(Alone):
    expected_seconds = 12
    kinds = SECURE_KINDS

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="e2e-vendors-")
        os.chmod(folder.name, 0o755)
        cls.addClassCleanup(folder.cleanup)
        cls.provider = cls.share(Lab()).up()
        cls.add_records()
        cls.front = cls.share(Front(cls.provider, Authority(Path(folder.name)))).up()
        providers = [cls.front.provider(kind) for kind in cls.kinds]
        cls.server = cls.share(Daemon(providers, sections=rules(cls.kinds))).up()

    def test_each_dialect_by_its_vendors_name(self):
        for kind in self.kinds:
            with self.subTest(kind):
                self.answers(self.server, kind)
        self.assertNobodyElseWasAsked()
        self.assertEqual({"HTTP/2.0"}, {request["protocol"] for request in self.front.requests()})
        self.assertEqual({"200"}, {request["status"] for request in self.front.requests()})


class Clocks(Case):
    expected_seconds = 8

    def test_a_clock_that_is_hours_off_costs_one_more_request_and_no_answer(self):
        provider = self.lab()
        for kind in (kind for kind in KINDS if KINDS[kind].is_dated):
            with self.subTest(kind):
                provider.fault("clock", provider=kind, value=7200)
                server = self.daemon([provider.provider(kind)])
                for number, requests in ((0, 2), (1, 3)):
                    name = f"n{number}.{kind}.any.lab.example"
                    self.assertEqual({"192.0.2.99"}, dig(server, name, "A").data)
                    self.assertEqual(requests, provider.seen(kind))
                self.assertEqual({}, server.failures(kind))

    def test_a_clock_that_is_hours_off_fails_nobody_of_many_who_ask_at_once(self):
        provider = self.lab()
        for kind in (kind for kind in KINDS if KINDS[kind].is_dated):
            with self.subTest(kind):
                provider.fault("clock", provider=kind, value=7200)
                server = self.daemon([provider.provider(kind)])
                replies = ask_all(server, [(f"n{number}.{kind}.any.lab.example", "A") for number in range(20)])
                self.assertEqual([{"192.0.2.99"}] * 20, [reply.addresses for reply in replies.values()])
                self.assertEqual({}, server.failures(kind))

    def test_a_clock_that_is_put_right_is_followed(self):
        provider = self.lab()
        server = self.daemon([provider.provider("baidu")])
        for number, seconds in enumerate((7200, -7200, 0)):
            provider.fault("clock", provider="baidu", value=seconds)
            self.assertEqual({"192.0.2.99"}, dig(server, f"n{number}.any.lab.example", "A").data)


class KeyFiles(Case):
    def test_files_that_others_can_read_are_refused_with_the_remedy(self):
        provider = self.lab()
        for kind, can in KINDS.items():
            for key in can.secrets:
                with self.subTest(f"{kind} {key}"):
                    settings = provider.provider(kind)
                    Path(settings[key]).chmod(0o644)
                    server = self.own(Daemon([settings]))
                    server.config.write_text(server.settings())
                    checked = httpdnsd("--check", "--config", server.config)
                    self.assertEqual(1, checked.returncode)
                    self.assertIn(f"provider {kind}: {key} {settings[key]}: other users can read it", checked.stderr)
                    self.assertIn(f"run: chmod 0600 {settings[key]}", checked.stderr)
                    self.assertNotIn(can.secrets[key], checked.stderr)


class Templates(Case):
    def test_what_a_template_names_must_be_there(self):
        provider = self.lab()
        for key, finding in (("account", "the template has {account}"), ("key-file", "the template signs with its")):
            with self.subTest(key):
                settings = provider.provider("template")
                del settings[key]
                server = self.own(Daemon([settings]))
                server.config.write_text(server.settings())
                checked = httpdnsd("--check", "--config", server.config)
                self.assertEqual(1, checked.returncode)
                self.assertIn(f"provider template: no {key}; {finding}", checked.stderr)


class ManyNames(Case):
    expected_seconds = 10

    def test_120_names_at_once_share_their_requests(self):
        provider = self.lab()
        for kind in (kind for kind in KINDS if KINDS[kind].batch > 1):
            with self.subTest(kind):
                server = self.daemon([provider.provider(kind)])
                names = [(f"n{number}.{kind}.any.lab.example", "A") for number in range(120)]
                replies = ask_all(server, names)
                self.assertEqual(120, len(replies))
                self.assertEqual({(NOERROR, "192.0.2.99")}, {
                    (reply.rcode, *reply.addresses) for reply in replies.values()})
                requests = provider.requests()["providers"][kind]
                print(f"{kind}: {requests} requests for 120 names, up to {KINDS[kind].batch} in each", flush=True)
                # The number is the limit of lookups of one domain. Some requests leave before they are full.
                self.assertLessEqual(requests, max(18, 120 // KINDS[kind].batch * 5 // 4))
                server.close()
