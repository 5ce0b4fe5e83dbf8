# Forged addresses: the answers of clients, the daemon's records, and its treatment of the source afterwards. Also names
# without any good address.

import itertools
import json
import os
import socket
import struct
import tempfile
import time
import unittest
from pathlib import Path

import wire
from cases import Case
from dig import dig
from fakes import FakeNameserver, question, reply
from paths import eventually
from programs import ctl
from receivers import Receiver
from web_sites import Sites, keeps_silent, says
from wire import NOERROR, Datagrams

BANK, OTHERS = "bank.lab.example", "any.lab.example"
# Names of registrable domains of their own: three forged ones discredit a provider.
MORE_BANKS = ["www.bank-two.example", "www.bank-three.example"]
SPARE_BANKS = [f"www.bank-{number}.example" for number in ("four", "five", "six", "seven")]
# Names of registrable domains of their own: a true domain counts once.
SHOPS = [f"www.shop{number}.example" for number in range(60)]
HTTPS = 65
NOBODY = 65534


class Played(Case):
    """Two providers with the same answers, until one of them lies: the honest one is slow, so the other is first
    choice."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="e2e-hijack-")
        os.chmod(folder.name, 0o755)
        cls.addClassCleanup(folder.cleanup)
        cls.sites = Sites(Path(folder.name))
        cls.addClassCleanup(cls.sites.close)
        cls.genuine, cls.second, cls.others, cls.forged, cls.stranger = (cls.sites.address() for _ in range(5))
        # No server listens at these addresses.
        cls.dead, cls.gone = cls.sites.address(), cls.sites.address()
        files = cls.sites.authority.certificate(BANK)
        for address in (cls.genuine, cls.second):
            cls.sites.web(address, files=files)
            more = cls.sites.authority.certificate(*MORE_BANKS, *SPARE_BANKS)
            for name in MORE_BANKS + SPARE_BANKS:
                cls.sites.web(address, name=name, files=more)
        others = cls.sites.authority.certificate(f"*.{OTHERS}", *SHOPS, file="others")
        cls.sites.web(cls.others, files=others)
        # The certificate is trusted and valid, but for another name.
        cls.sites.web(cls.forged, files=cls.sites.authority.certificate("evil.example"))
        cls.sites.web(cls.stranger, files=cls.sites.stranger.certificate(BANK))
        cls.sites.up()

        # The zone is above all the names here.
        cls.zone = Path(folder.name) / "example.zone"
        cls.zone.write_text("$ORIGIN example.\n$TTL 600\n@ SOA ns hostmaster 1 7200 900 1209600 30\n@ NS ns\n")

    def setUp(self):
        self.honest, self.liar = self.lab(zone=self.zone), self.lab(zone=self.zone)
        self.honest.fault("delay", value=60)
        for lab in (self.honest, self.liar):
            self.say(lab, f"*.{OTHERS}", self.others, ttl=300)

    def say(self, lab, name, *addresses, ttl):
        lab.record(name, "A", ",".join(addresses), ttl=ttl)

    def discredit(self, server):
        """Lets the liar forge two more domains; it is first choice although its credibility is already lower. On a busy
        machine a probe may time out, and is repeated after a minute: then a spare domain takes its domain's place."""
        self.honest.fault("delay", value=300)
        for name in MORE_BANKS + SPARE_BANKS:
            self.say(self.liar, name, self.forged, ttl=2)
            self.say(self.honest, name, self.genuine, ttl=2)

        began = time.monotonic()

        def are_shown():
            if len({each["name"] for each in self.evidence(server)}) > 2:
                return True
            spares = int(time.monotonic() - began) // 5
            for name in MORE_BANKS + SPARE_BANKS[:spares]:
                dig(server, name, "A")
        eventually(are_shown, within=30, every=0.1, what="three domains are shown to be forged")
        # Three domains suffice; a spare one only replaces one whose probe timed out.
        self.assertLess(self.trust(server)["liar"], 0.5, self.evidence(server))
        self.honest.fault("delay", value=60)

    def server(self, **options):
        providers = [self.liar.provider("json", "liar"), self.honest.provider("json", "honest")]
        return self.daemon(options.pop("providers", providers), sections=self.sites.settings(), **options)

    def verdicts(self, server):
        return server.stats()["probe"]["verdicts"]

    def trust(self, server):
        providers = json.loads(ctl(server, "--json", "providers").stdout)["providers"]
        return {each["name"]: each["trust"] for each in providers}

    def evidence(self, server):
        return json.loads(ctl(server, "--json", "evidence").stdout)["evidence"]

    def ask(self, server, name, seconds, until=lambda: False):
        """Asks repeatedly for the name: for each answer, whether an address was known to be mismatched and another one
        verified at the time of the question, and the addresses."""
        seen, end = [], time.monotonic() + seconds
        with Datagrams(server.address) as client:
            while time.monotonic() < end and not until():
                verdicts = self.verdicts(server)
                is_mismatched = any(verdicts.get(word) for word in ("name-mismatch", "untrusted"))
                is_known = is_mismatched and bool(verdicts.get("verified"))
                answer = client.ask(name)
                self.assertEqual(NOERROR, answer.rcode)
                self.assertTrue(answer.addresses)
                seen.append((is_known, frozenset(answer.addresses)))
                time.sleep(0.02)
        return seen

    def before(self, seen):
        """All answers before both verdicts."""
        return {addresses for is_known, addresses in seen if not is_known}

    def after(self, seen):
        """All answers from then on."""
        return {addresses for is_known, addresses in seen if is_known}


class Hijack(Played):
    expected_seconds = 60

    def test_a_forged_address_is_gone_with_its_verdict_and_so_is_the_trust_in_who_gave_it(self):
        self.say(self.liar, BANK, self.forged, ttl=2)
        self.say(self.honest, BANK, self.genuine, self.second, ttl=2)
        server = self.server(store=self.liar.directory / "cache.db")
        # The answer expires some fifteen times, each time with a refresh.
        seen = self.ask(server, BANK, seconds=30)
        self.assertGreater(len(seen), 300)
        self.assertIn({self.forged}, self.before(seen), "nobody was led astray, so that nothing is shown")
        self.assertEqual({frozenset({self.genuine, self.second})}, self.after(seen))
        self.assertLess(sum(not is_known for is_known, _ in seen), 150, "answers until the first verdict")

        self.assertGreaterEqual(server.stats()["probe"]["divergences"], 1)
        self.assertEvidence(self.evidence(server))
        # One site discredits no provider, however often it is forged.
        self.assertGreaterEqual(self.trust(server)["liar"], 0.5)
        self.discredit(server)
        trust = self.trust(server)
        self.assertLess(trust["liar"], 0.5)
        self.assertEqual(1, trust["honest"])
        # New questions go mostly to the honest provider, although it is slower.
        self.assertGreater(self.asked_of("honest", server), self.asked_of("liar", server))

        self.assertEqual(0, server.stop())
        server.up()
        self.assertEvidence(eventually(lambda: self.evidence(server), what="the evidence is back"))

    def asked_of(self, provider, server):
        """The number of the provider's requests for twenty new names."""
        before = self.names(server, provider)
        for number in range(20):
            self.number = getattr(self, "number", 0) + 1
            self.assertEqual({self.others}, dig(server, f"n{self.number}.{OTHERS}", "A").data)
        return self.names(server, provider) - before

    def names(self, server, provider):
        return next(each["names"] for each in server.stats()["providers"] if each["name"] == provider)

    def assertEvidence(self, evidence):
        self.assertGreaterEqual(len(evidence), 1)
        first = evidence[0]
        mismatched, verified = first["mismatched"], first["verified"]
        self.assertEqual((BANK, "A"), (first["name"], first["type"]))
        self.assertEqual(("liar", [self.forged], self.forged, "name-mismatch"), (
            mismatched["source"], mismatched["addresses"], mismatched["address"], mismatched["verdict"]))
        self.assertEqual(["evil.example"], mismatched["certificate"]["names"])
        self.assertEqual(("honest", "verified"), (verified["source"], verified["verdict"]))
        self.assertEqual({self.genuine, self.second}, set(verified["addresses"]))
        self.assertEqual([BANK], verified["certificate"]["names"])
        self.assertLess(abs(first["seconds"] - time.time()), 120)

    def test_a_receiver_gets_the_evidence_as_it_is_shown(self):
        receiver = self.own(Receiver())
        self.say(self.liar, BANK, self.forged, ttl=2)
        self.say(self.honest, BANK, self.genuine, self.second, ttl=2)
        server = self.daemon(
            [self.liar.provider("json", "liar"), self.honest.provider("json", "honest")],
            sections=f"""{self.sites.settings()}\n[[notify]]\nurl = "http://127.0.0.1:{receiver.port}"\n""")
        self.ask(server, BANK, 20, until=lambda: len(self.evidence(server)) > 0)
        events = eventually(lambda: receiver.of_kind("evidence"), what="the evidence")
        evidence = [event["evidence"] for event in events]
        self.assertEvidence(evidence)
        self.assertEqual(self.evidence(server)[:len(evidence)], evidence)

    def test_who_is_honest_again_is_trusted_again(self):
        self.say(self.liar, BANK, self.forged, ttl=2)
        self.say(self.honest, BANK, self.genuine, ttl=2)
        server = self.server()
        self.ask(server, BANK, 20, until=lambda: len(self.evidence(server)) > 0)
        self.discredit(server)
        for name in (BANK, *MORE_BANKS, *SPARE_BANKS):
            self.say(self.liar, name, self.genuine, ttl=2)
        for lab in (self.liar, self.honest):
            for name in SHOPS:
                self.say(lab, name, self.others, ttl=2)
        names = itertools.cycle(SHOPS)

        def is_believed_again():
            for name in (next(names), BANK):
                for _ in range(3):
                    dig(server, name, "A")
            return self.trust(server)["liar"] > 0.5
        eventually(is_believed_again, within=90, every=0.1, what="the liar is believed again")
        # The liar is still not first choice, but a good second one.
        self.honest.fault("status", value=500)
        self.assertGreaterEqual(self.asked_of("liar", server), 20)

    def test_with_a_system_resolver_the_forger_alone_is_blamed_in_each_place(self):
        """The settings are the defaults. The forger answers first, as it is the quickest."""
        system = FakeNameserver(
            lambda query, _: [reply(query, [(question(query)[0], 1, 600, socket.inet_aton(self.genuine))])])
        self.addCleanup(system.close)
        honest = [self.honest, self.lab(zone=self.zone), self.lab(zone=self.zone)]
        for lab in honest:
            # The liar is first choice although its credibility is already lower.
            lab.fault("delay", value=300)
            self.say(lab, f"*.{OTHERS}", self.others, ttl=300)
        for bank in (BANK, *MORE_BANKS, *SPARE_BANKS):
            self.say(self.liar, bank, self.forged, ttl=600)
            for lab in honest:
                self.say(lab, bank, self.genuine, ttl=600)
        for count, place in ((1, 0), (2, 0), (2, 1), (4, 0), (4, 1), (4, 2), (4, 3)):
            with self.subTest(providers=count, place=place):
                providers = [lab.provider("json", f"honest{i}") for i, lab in enumerate(honest[:count - 1])]
                providers.insert(place, self.liar.provider("json", "liar"))
                self.assertLiarIsBlamed(self.server(providers=providers, system=[system.server]), count)

    def assertLiarIsBlamed(self, server, count):
        if count > 1:
            eventually(lambda: self.asked_of("liar", server) >= 19, what="the liar is the first choice")
        misled = [bank for bank in (BANK, *MORE_BANKS, *SPARE_BANKS) if self.is_misled(server, bank)]
        self.assertGreaterEqual(len(misled), 3, "the liar was asked too seldom")
        evidence = self.evidence(server)
        self.assertEqual(set(misled), {each["name"] for each in evidence})
        self.assertEqual({"liar"}, {each["mismatched"]["source"] for each in evidence})
        if count == 1:
            self.assertEqual({"system"}, {each["verified"]["source"] for each in evidence})
        trust = self.trust(server)
        self.assertLess(trust.pop("liar"), 0.5)
        self.assertLessEqual(set(trust.values()), {1})
        server.stop()

    def is_misled(self, server, bank):
        """Asks for the name; if the first answer is forged, until the answer is the verified address, which must come
        soon after the first verdict and stay."""
        verdicts = self.verdicts(server).get("name-mismatch", 0)
        with Datagrams(server.address) as client:
            if client.ask(bank).addresses != {self.forged}:
                return False

            def is_judged():
                client.ask(bank)
                return self.verdicts(server).get("name-mismatch", 0) > verdicts
            eventually(is_judged, within=10, every=0.02, what="a verdict")
            eventually(
                lambda: client.ask(bank).addresses == {self.genuine}, within=2, every=0.02,
                what="the verified address")
            for _ in range(20):
                self.assertEqual({self.genuine}, client.ask(bank).addresses)
                time.sleep(0.02)
        return True

    def test_an_untrusted_certificate_is_no_better(self):
        self.say(self.liar, BANK, self.stranger, ttl=2)
        self.say(self.honest, BANK, self.genuine, ttl=2)
        server = self.server()
        seen = self.ask(server, BANK, seconds=10)
        self.assertIn({self.stranger}, self.before(seen))
        self.assertEqual({frozenset({self.genuine})}, self.after(seen))
        self.assertEqual("untrusted", self.evidence(server)[0]["mismatched"]["verdict"])

    def test_one_forged_address_among_good_ones_is_taken_out(self):
        for lab in (self.liar, self.honest):
            self.say(lab, BANK, self.genuine, self.forged, self.second, ttl=2)
        server = self.server()
        seen = self.ask(server, BANK, seconds=8)
        self.assertIn({self.genuine, self.forged, self.second}, self.before(seen))
        self.assertEqual({frozenset({self.genuine, self.second})}, self.after(seen))
        self.assertEqual(1, server.stats()["probe"]["quarantined"])
        # Both sources returned the same addresses: neither forged one that the other did not.
        self.assertEqual([], self.evidence(server))
        self.assertEqual({"liar": 1, "honest": 1}, self.trust(server))

    def test_the_system_resolver_lies(self):
        zone = f"""
            $ORIGIN example.
            $TTL 600
            @             SOA   ns hostmaster 1 7200 900 1209600 30
            @             NS    ns
            ns            A     192.0.2.54
            bank.lab      A     {self.forged}
        """
        system = self.nsd(zone=zone)
        # The delay lets the system resolver's answer be used first, and is below the time-out.
        self.honest.fault("delay", value=1800)
        self.say(self.honest, BANK, self.genuine, ttl=2)
        server = self.server(providers=[self.honest.provider("json", "honest")], system=[system.server])
        seen = self.ask(server, BANK, seconds=20)
        self.assertIn({self.forged}, self.before(seen), "the system resolver was not believed, nothing is shown")
        self.assertEqual({frozenset({self.genuine})}, self.after(seen))
        evidence = self.evidence(server)
        self.assertEqual(("system", "honest"), (evidence[0]["mismatched"]["source"], evidence[0]["verified"]["source"]))


class OwnCertificate(Played):
    """The name's server has a certificate of its own, as a NAS does: no address of the name is ever verified, and this
    must not make the daemon prefer another source to the providers."""
    expected_seconds = 30

    def test_a_lie_of_the_system_resolver_is_never_served(self):
        self_signed = self.sites.authority.self_signed(BANK)
        nas, lie = self.sites.address(), self.sites.address()
        self.sites.s_server(nas, self_signed, "-www")
        self.assertNeverServed(nas, lie)

    def test_nor_where_nothing_speaks_tls(self):
        nas, lie = self.sites.address(), self.sites.address()
        self.sites.handmade(nas, says(b"SSH-2.0-OpenSSH_9.2\r\n"))
        self.assertNeverServed(nas, lie)

    def assertNeverServed(self, nas, lie):
        """The forged address has port 443 closed."""
        zone = f"""
            $ORIGIN example.
            $TTL 600
            @             SOA   ns hostmaster 1 7200 900 1209600 30
            @             NS    ns
            ns            A     192.0.2.54
            bank.lab      A     {lie}
        """
        system = self.nsd(zone=zone)
        for lab in (self.liar, self.honest):
            self.say(lab, BANK, nas, ttl=2)
        server = self.server(system=[system.server])
        seen = self.ask(server, BANK, seconds=12)
        self.assertEqual({frozenset({nas})}, {addresses for _, addresses in seen})
        self.assertGreater(len(seen), 100)
        self.assertGreater(self.verdicts(server).get("untrusted", 0) + self.verdicts(server).get("not-tls", 0), 0)
        self.assertEqual([], self.evidence(server))
        self.assertEqual({"liar": 1, "honest": 1}, self.trust(server))


class NoGoodAddress(Played):
    expected_seconds = 20

    def settled(self, server, name, **wanted):
        """Asks until there are so many verdicts, and then for a while; returns all sets of addresses that came
        since."""
        def are_known():
            self.assertEqual("NOERROR", dig(server, name, "A").status)
            verdicts = self.verdicts(server)
            return all(verdicts.get(word.replace("_", "-"), 0) >= count for word, count in wanted.items())
        eventually(are_known, what=f"{wanted} at {name}")
        return {addresses for _, addresses in self.ask(server, name, seconds=5)}

    def test_a_name_whose_addresses_are_all_dead_still_resolves(self):
        for lab in (self.liar, self.honest):
            self.say(lab, BANK, self.dead, self.gone, ttl=2)
        self.assertEqual({frozenset({self.dead, self.gone})}, self.settled(self.server(), BANK, refused=2))

    def test_a_name_whose_addresses_are_all_mismatched_still_resolves(self):
        for lab in (self.liar, self.honest):
            self.say(lab, BANK, self.forged, self.stranger, ttl=2)
        wanted = {frozenset({self.forged, self.stranger})}
        self.assertEqual(wanted, self.settled(self.server(), BANK, name_mismatch=1, untrusted=1))

    def test_a_name_that_speaks_no_tls_is_left_alone(self):
        silent = self.sites.address()
        self.sites.handmade(silent, keeps_silent)
        for lab in (self.liar, self.honest):
            self.say(lab, BANK, silent, self.dead, ttl=2)
        server = self.server()
        self.assertEqual({frozenset({silent, self.dead})}, self.settled(server, BANK, refused=1, tls_timeout=1))
        self.assertEqual(2, server.stats()["probe"]["done"])

    def test_dead_addresses_are_left_out_while_others_live(self):
        for lab in (self.liar, self.honest):
            self.say(lab, BANK, self.dead, self.genuine, ttl=2)
        seen = self.settled(self.server(), BANK, refused=1, verified=1)
        self.assertEqual({frozenset({self.genuine})}, seen)

    def test_when_all_are_dead_the_others_are_asked_at_once(self):
        # The answer's own TTL would take five minutes.
        self.say(self.liar, BANK, self.dead, self.gone, ttl=300)
        self.say(self.honest, BANK, self.genuine, ttl=300)
        server = self.server()
        self.assertEqual({self.dead, self.gone}, dig(server, BANK, "A").data)
        eventually(lambda: dig(server, BANK, "A").data == {self.genuine}, within=8, what="the live one")


class Reports(Played):
    expected_seconds = 12

    @unittest.skipUnless(os.geteuid() == 0, "acting as another user needs root")
    def test_a_report_is_believed_when_the_probe_agrees(self):
        address = self.sites.address()
        passing = self.sites.s_server(address, self.sites.authority.certificate(BANK, file="passing"), "-www")
        for lab in (self.liar, self.honest):
            self.say(lab, BANK, self.genuine, address, ttl=300)
        server = self.server()
        both = {self.genuine, address}
        self.assertEqual(both, dig(server, BANK, "A").data)
        said = server.ask_control_as(NOBODY, NOBODY, f"report {BANK} {address}")
        self.assertIn("disagrees", said)
        self.assertEqual(both, dig(server, BANK, "A").data)
        passing.stop()
        # A recent verdict is not probed again.
        eventually(lambda: "probe agrees" in server.ask_control_as(NOBODY, NOBODY, f"report {BANK} {address}"),
                   every=1.1, what="the probe agrees")
        self.assertEqual({self.genuine}, dig(server, BANK, "A").data)
        # No source has returned that address.
        self.assertIn("error: ", server.ask_control_as(NOBODY, NOBODY, f"report {BANK} {self.forged}"))
        reports = server.stats()["probe"]["reports"]
        self.assertGreaterEqual(reports["accepted"], 2)

    @unittest.skipUnless(os.geteuid() == 0, "acting as another user needs root")
    def test_reports_are_rationed_by_who_makes_them(self):
        self.say(self.liar, BANK, self.genuine, ttl=300)
        server = self.server()
        dig(server, BANK, "A")
        said = [server.ask_control_as(NOBODY, NOBODY, f"report {BANK} {self.genuine}") for _ in range(30)]
        refused = sum("error: " in each for each in said)
        self.assertGreaterEqual(refused, 5)
        self.assertLess(refused, 30)
        self.assertGreaterEqual(server.stats()["probe"]["reports"]["refused"], refused)
        self.assertNotIn("error: ", server.ask_control_as(NOBODY - 1, NOBODY, f"report {BANK} {self.genuine}"))

    def test_whois_leads_back_from_an_address_to_its_names(self):
        self.say(self.liar, BANK, self.genuine, self.others, ttl=300)
        server = self.server()
        dig(server, BANK, "A")
        dig(server, f"one.{OTHERS}", "A")
        self.assertEqual([f"{BANK} A"], self.names_of(server, self.genuine))
        self.assertEqual({f"{BANK} A", f"one.{OTHERS} A"}, set(self.names_of(server, self.others)))
        nobody = ctl(server, "whois", self.forged)
        self.assertEqual(1, nobody.returncode)
        self.assertIn(self.forged, nobody.stdout)

    @staticmethod
    def names_of(server, address):
        entries = json.loads(ctl(server, "--json", "whois", address).stdout)["names"]
        return [f"{each['name']} {each['type']}" for each in entries]


def service_binding(*addresses):
    """The data `1 . alpn=h2 ipv4hint=...` (RFC 9460 section 2.2), followed by an unknown key."""
    hints = b"".join(socket.inet_aton(address) for address in addresses)
    parameters = ((1, b"\x02h2"), (4, hints), (65280, b"kept"))
    return struct.pack("!HB", 1, 0) + b"".join(
        struct.pack("!HH", key, len(value)) + value for key, value in parameters)


class Hints(Played):
    expected_seconds = 6

    def test_https_records_lead_nowhere_else_than_addresses_do(self):
        record = service_binding(self.genuine, self.forged)

        def respond(query, _):
            if b"httpdnsd-loop" in query or wire.Message(query).question[-4:-2] != struct.pack("!H", HTTPS):
                return []
            return [reply(query, [(BANK, HTTPS, 300, record)])]
        fake = FakeNameserver(respond)
        self.addCleanup(fake.close)
        self.say(self.honest, BANK, self.genuine, self.forged, ttl=300)
        # The provider's dialect carries addresses alone, so the system resolver is asked for HTTPS.
        server = self.daemon(
            [self.honest.provider("alicloud", "honest")], system=[fake.server], sections=self.sites.settings())
        # The addresses have no verdict yet.
        self.assertHints(server, None)
        self.assertEqual({self.genuine, self.forged}, dig(server, BANK, "A").data)
        eventually(lambda: dig(server, BANK, "A").data == {self.genuine}, what="the forged one is gone")
        self.assertHints(server, self.genuine)

    def assertHints(self, server, wanted):
        text, = dig(server, BANK, "TYPE65").data
        self.assertIn('alpn="h2"', text)
        self.assertIn("key65280", text)
        self.assertEqual(wanted and f"ipv4hint={wanted}", next(
            (word for word in text.split() if word.startswith("ipv4hint")), None))


class Without(Played):
    def test_without_probes_everything_is_handed_out(self):
        self.say(self.liar, BANK, self.forged, self.dead, self.genuine, ttl=2)
        self.say(self.honest, BANK, self.genuine, ttl=2)
        server = self.server(providers=[self.liar.provider("json", "liar")])
        for disabled in (self.sites.settings().replace("[probe]", "[probe]\nenabled = false"),
                         self.sites.settings().replace("probe = true", "probe = false")):
            server.sections = disabled
            server.config.write_text(server.settings())
            self.assertIn("settings reloaded", server.reload())
            answers = {addresses for _, addresses in self.ask(server, BANK, seconds=3)}
            self.assertEqual({frozenset({self.forged, self.dead, self.genuine})}, answers)
            self.assertEqual(0, server.stats()["probe"]["done"])
            done = ctl(server, "verify", BANK)
            self.assertEqual(1, done.returncode)
            self.assertIn("probe", done.stdout)
