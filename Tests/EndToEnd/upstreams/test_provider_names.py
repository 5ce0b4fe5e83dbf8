# A provider without an address in the settings: the system resolver or other providers resolve its host name, and the
# certificate protects it. The host has a network only when it joins one.

import math
import tempfile
import time
from pathlib import Path

import paths
from cases import Case
from networks import PROVIDER, SECOND_PROVIDER, Networks
from paths import eventually
from programs import Dnsmasq, ctl
from roaming import FIRST, SOA, Roaming, zone_of

HOST = "dns.google"
THIRD = "20.20.20.30"
SYSTEM = {"192.0.2.1"}


def zone(address, *more):
    """A zone in which every name has this address."""
    return "\n".join(["$ORIGIN lab.example.", "$TTL 60", SOA, f"* A {address}", *more]) + "\n"


def nameless(provider, name="byname", **more):
    """The provider's settings without addresses."""
    settings = {**provider.settings(**more), "name": name}
    del settings["addresses"]
    return settings


class Names(Case):
    """A provider, and the answers of the router's resolver for its name."""

    expected_seconds = 8
    ADDRESSES = (PROVIDER, SECOND_PROVIDER)

    def setUp(self):
        self.networks = Networks(routers="a", families="4")
        self.addCleanup(self.networks.remove)
        self.programs = self.networks.programs
        self.a, self.host = self.networks["a"], self.networks.host
        self.provider = self.a.internet.provider(zone("198.51.100.1"), addresses=self.ADDRESSES)
        # Blocking resolvers answer with the unspecified address.
        self.known = {(HOST, "A"): PROVIDER, (HOST, "AAAA"): "::"}
        self.a.serve(self.networks, addresses=self.known)
        self.number = 0

    def daemon(self, *others, **options):
        options.setdefault("sections", "[probe]\nenabled = false\n")
        return self.networks.daemon([nameless(self.provider), *others], **options)

    def truth(self):
        """The settings of a provider with an address that knows the other's name."""
        self.a.internet.answer_for(THIRD)
        known = zone("198.51.100.2", SOA.replace("@", f"{HOST}."), f"{HOST}. A {PROVIDER}")
        return self.a.internet.provider(known, addresses=(THIRD,), kind="json", name="truth").settings()

    def named(self, server, name="byname"):
        return next(entry for entry in server.stats()["providers"] if entry["name"] == name)

    def addresses(self, server):
        return [address["name"].partition(":")[0] for address in self.named(server)["addresses"]]

    def ask(self):
        """The addresses of a new name."""
        self.number += 1
        done = self.host.run("dig", "+short", "+tries=1", "+time=6", "@127.0.0.1", f"n{self.number}.lab.example", "A")
        return set(done.stdout.split())


class Arrival(Names):
    def test_a_start_without_a_network(self):
        server = self.daemon().up()
        self.assertEqual("unresolved", self.named(server)["state"])
        self.assertIn("byname unresolved", ctl(server, "status").stdout)
        self.assertIn("unresolved", ctl(server, "providers").stdout)
        server.wait_for(f"^httpdnsd: provider byname waits for an address: .* have one for {HOST}$")
        test = ctl(server, "providers", "test", "byname")
        self.assertEqual(1, test.returncode)
        self.assertIn(f"no address of {HOST} is known", test.stdout + test.stderr)
        self.host.join(self.a)
        server.wait_for(f"^httpdnsd: provider byname is used: {HOST} is {PROVIDER}$", within=3)
        self.assertEqual({"198.51.100.1"}, self.ask())
        self.assertEqual(("up", {}), (self.named(server)["state"], self.named(server)["failures"]))
        self.assertEqual(1, server.log.count("waits for an address"))
        # One client has asked; the daemon has not asked itself.
        self.assertEqual(1, server.stats()["queries"]["total"])

    def test_doctor_names_it(self):
        server = self.daemon().up()
        found = self.examined(server)
        self.assertIn(f"byname waits for an address of its host name", found)
        self.host.join(self.a)
        eventually(lambda: self.named(server)["state"] != "unresolved", what="it is resolved")
        self.assertNotIn("waits for an address", self.examined(server))

    def test_a_provider_with_a_quota_is_not_asked_for_the_name(self):
        """Each question to this provider is billed."""
        self.a.resolver.respond = lambda *_: []
        server = self.daemon({**self.truth(), "quota": "100/day"}).up()
        self.host.join(self.a)
        eventually(lambda: self.named(server, "truth")["state"] != "unreachable", what="there is a network")
        # The time suffices for the nameserver's silence, and for the other provider's answer.
        time.sleep(8)
        self.assertEqual("unresolved", self.named(server)["state"])

    def examined(self, server):
        done = self.host.run(
            paths.binaries / "httpdnsctl", "--socket", server.control, "doctor", "--config", server.config, timeout=60)
        return done.stdout + done.stderr

    def test_the_addresses_are_kept(self):
        folder = paths.entrust(Path(tempfile.mkdtemp(prefix="e2e-names-")))
        folder.chmod(0o755)
        server = self.daemon(store=folder / "cache.db").up()
        self.host.join(self.a)
        eventually(lambda: self.addresses(server) == [PROVIDER], what="the name is resolved")
        server.stop()
        self.a.resolver.respond = lambda *_: []
        server.up()
        eventually(lambda: self.addresses(server) == [PROVIDER], what="the kept address is used")
        self.assertEqual({"198.51.100.1"}, self.ask())


class Forgery(Names):
    """The second address belongs to a lying server, whose certificate is valid for another name."""

    expected_seconds = 50
    ADDRESSES = (PROVIDER,)

    def setUp(self):
        super().setUp()
        self.a.internet.provider(zone("203.0.113.66"), addresses=(SECOND_PROVIDER,), kind="alicloud", name="liar")
        self.known[HOST, "A"] = SECOND_PROVIDER

    def test_a_forged_address_is_refused_and_the_other_provider_is_asked(self):
        server = self.daemon(self.truth()).up()
        self.host.join(self.a)
        eventually(lambda: self.addresses(server) == [SECOND_PROVIDER], what="the name is resolved")

        def is_refused():
            self.assertIn(self.ask(), ({"198.51.100.1"}, {"198.51.100.2"}))
            return self.named(server)["failures"].get("tls")
        eventually(is_refused, every=0.1, what="the certificate is refused")
        eventually(lambda: PROVIDER in self.addresses(server), what="the other provider is asked")

        def is_asked():
            self.assertIn(self.ask(), ({"198.51.100.1"}, {"198.51.100.2"}))
            return self.named(server)["results"]["success"]
        eventually(is_asked, every=0.1, what="the genuine address is used")
        states = {entry["name"].partition(":")[0]: entry["state"] for entry in self.named(server)["addresses"]}
        self.assertEqual("up", states[PROVIDER])

    def test_without_another_source_the_forged_address_gets_no_question(self):
        server = self.daemon().up()
        self.host.join(self.a)
        eventually(lambda: self.addresses(server) == [SECOND_PROVIDER], what="the name is resolved")
        for _ in range(3):
            self.assertEqual(SYSTEM, self.ask())
        self.assertEqual(["tls"], list(self.named(server)["failures"]))
        # The resolver has the true address now, and is asked again because no provider works.
        self.known[HOST, "A"] = PROVIDER
        eventually(lambda: self.addresses(server) == [PROVIDER], within=40, what="the name is asked for again")
        eventually(lambda: self.ask() == {"198.51.100.1"}, within=10, every=0.2, what="the provider is used")


class Change(Names):
    expected_seconds = 15

    def test_an_address_that_stops_working_is_replaced(self):
        server = self.daemon().up()
        self.host.join(self.a)
        eventually(lambda: self.ask() == {"198.51.100.1"}, every=0.2, what="the provider is used")
        self.known[HOST, "A"] = SECOND_PROVIDER
        self.a.cut(PROVIDER)

        def is_replaced():
            self.ask()
            return self.addresses(server) == [SECOND_PROVIDER]
        eventually(is_replaced, within=30, every=0.1, what="the new address is found")
        eventually(lambda: self.ask() == {"198.51.100.1"}, within=10, every=0.2, what="the provider answers")


class Loops(Names):
    """The daemon never resolves the name through itself."""

    def test_we_are_the_only_nameserver(self):
        self.a.resolv_conf = "nameserver 127.0.0.1\n"
        server = self.daemon(self.truth()).up()
        self.host.join(self.a)
        eventually(lambda: self.addresses(server) == [PROVIDER], what="the other provider is asked")
        self.assertEqual([], server.stats()["system"]["servers"])
        self.assertEqual(0, server.stats()["queries"]["total"])

    def test_the_nameserver_forwards_to_us(self):
        dnsmasq = self.networks.own(
            Dnsmasq(("127.0.0.1", 53), host="127.0.0.2", port=53, prefix=self.host.prefix)).up()
        self.a.resolv_conf = f"nameserver {dnsmasq.host}\n"
        server = self.daemon(self.truth()).up()
        self.host.join(self.a)
        eventually(lambda: self.addresses(server) == [PROVIDER], within=15, what="the other provider is asked")
        eventually(lambda: server.stats()["system"]["servers"] == [], what="the loop is seen")
        self.assertLess(server.stats()["queries"]["total"], 30)

    def test_neither_nameserver_nor_provider(self):
        self.a.resolv_conf = "nameserver 127.0.0.1\n"
        server = self.daemon().up()
        self.host.join(self.a)
        server.wait_for("waits for an address")
        self.assertEqual("unresolved", self.named(server)["state"])
        self.assertEqual(set(), self.ask())
        self.assertEqual(1, server.stats()["queries"]["total"])
        self.host.write_resolv_conf(f"nameserver {self.a.lan_v4}\n")
        eventually(lambda: self.addresses(server) == [PROVIDER], within=5, what="another nameserver appears")


class ChangeUnderLoad(Roaming):
    """Each network's resolver has another address for the provider's name."""

    expected_seconds = 20

    def begin(self):
        self.b.internet.provider(zone_of("b"), addresses=(SECOND_PROVIDER,), name="second")
        for router, address in ((self.a, PROVIDER), (self.b, SECOND_PROVIDER)):
            router.resolver.respond.addresses.update({(HOST, "A"): address, (HOST, "AAAA"): "::"})
        self.host.join(self.a)
        self.server = self.networks.daemon([nameless(self.providers["a"])]).up()

    def test_every_client_is_answered(self):
        traffic = self.traffic()
        moves = []
        for letter in "ba":
            moves.append((letter, self.host.switch(self.networks[letter])))
            time.sleep(2 * FIRST)
        questions = traffic.finish()
        self.assertServed(questions)
        for number, (letter, moved) in enumerate(moves):
            until = moves[number + 1][1] - 0.2 if number + 1 < len(moves) else math.inf
            self.assertFollowed([each for each in questions if each.sent < until], moved, letter)
        self.assertNotIn("tls", self.server.failures("byname"))
