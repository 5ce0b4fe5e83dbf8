# Order "system-first": the system resolver's answers are given at once, and certificates verify them. Also the order of
# addresses by connections alone (connect).

import json
import socket
import time

from cases import Case
from fakes import question, reply
from networks import PROVIDER, Networks
from paths import eventually
from programs import Nginx, ctl
from web_sites import Handmade, keeps_silent
from wire import NOERROR, NXDOMAIN

# Public addresses for probes. No server listens at CLOSED.
SITE, FORGED, SILENT, CLOSED = "20.30.0.1", "20.66.0.1", "20.40.0.1", "20.50.0.1"
NAMES = [f"n{number}.site.example" for number in range(6)]
BANKS = [f"bank{number}.site.example" for number in range(2)]
HANGING, GONE, GAME = "hanging.site.example", "gone.site.example", "game.site.example"
ZONE = f"""$ORIGIN site.example.
$TTL 4
@ SOA ns hostmaster 1 7200 900 1209600 30
* A {SITE}
"""
TTL = 4


class SystemFirst(Case):
    expected_seconds = 40

    def setUp(self):
        self.networks = Networks(routers="a", families="4")
        self.addCleanup(self.networks.remove)
        router = self.networks["a"]
        internet = self.internet = router.internet
        internet.answer_for(SITE, FORGED, SILENT, CLOSED)
        for address, name in ((SITE, "*.site.example"), (FORGED, "ads.other.example")):
            certificate, key = self.networks.authority.certificate(name, file=f"site-{address}")
            self.networks.own(Nginx(prefix=internet.prefix, servers=f"""
    server {{
        listen {address}:443 ssl;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        location / {{ return 204; }}
    }}""")).up()
        self.listen(SILENT, 443)
        self.provider = internet.provider(ZONE, (PROVIDER,))
        # The addresses by name; other names have the genuine address.
        self.said = {HANGING: [SILENT]}
        router.serve(self.networks, self.respond)
        self.networks.host.join(router)

    def listen(self, address, port):
        self.networks.own(self.internet.within(lambda: Handmade((address, port), keeps_silent)))

    def respond(self, query, is_stream):
        owner, type = question(query)
        if owner == GONE:
            return [reply(query, flags=0x8183)]
        addresses = self.said.get(owner, [SITE]) if type == 1 else []
        return [reply(query, [(owner, 1, TTL, socket.inet_aton(address)) for address in addresses])]

    def up(self, rules=""):
        sections = f"""[system-resolver]
order = "system-first"
[probe]
ca-file = "{self.networks.authority.ca_file}"
{rules}"""
        self.server = self.networks.daemon([self.provider.settings()], sections=sections).up()
        self.client = self.networks.host.client()
        self.addCleanup(self.client.socket.close)

    def ordered(self, name):
        """The IPv4 addresses of the answer, in order."""
        return [socket.inet_ntoa(data) for _, type, _, _, data in self.client.ask(name).answers if type == 1]

    def asked(self, name):
        return self.provider.lab.asked(name)

    def verdicts(self, name):
        found = json.loads(ctl(self.server, "--json", "verdicts", name).stdout)["verdicts"]
        return {each["address"]: each["verdict"] for each in found}

    def explained(self, name):
        return ctl(self.server, "explain", name, "A").stdout

    def test_an_honest_system_resolver_leaves_nothing_to_the_providers(self):
        self.up()
        for name in NAMES:
            self.assertEqual([SITE], list(self.client.ask(name).addresses))
        for name in NAMES:
            eventually(lambda: self.verdicts(name).get(SITE) == "verified", within=15, what=f"{name} is verified")
        # The time is three TTLs, with refreshes.
        end = time.monotonic() + 3 * TTL
        while time.monotonic() < end:
            for name in NAMES:
                self.assertEqual([SITE], list(self.client.ask(name).addresses))
            time.sleep(0.2)
        self.assertGreater(self.server.stats()["prefetch"]["succeeded"], 2, "no refreshes, so that nothing is shown")
        for _ in range(2):
            self.assertEqual(NXDOMAIN, self.client.ask(GONE).rcode)
        self.assertEqual({name: 0 for name in [*NAMES, GONE]}, {name: self.asked(name) for name in [*NAMES, GONE]})
        self.assertEqual(0, self.provider.lab.requests()["total"])
        self.assertIn("order    system-first: the system resolver's answer is verified; a provider is asked only if",
                      self.explained(NAMES[0]))

    def test_a_forged_name_has_its_own_address_from_the_first_verdict_on_and_other_names_stay(self):
        self.said.update({name: [FORGED] for name in BANKS})
        self.up()
        for name in [*BANKS, *NAMES, HANGING]:
            answer = self.client.ask(name)
            self.assertEqual((NOERROR, self.said.get(name, [SITE])), (answer.rcode, list(answer.addresses)))
        for name in BANKS:
            eventually(lambda: list(self.client.ask(name).addresses) == [SITE], within=15, what=f"{name} is genuine")
        for name in NAMES:
            eventually(lambda: self.verdicts(name).get(SITE) == "verified", within=15, what=f"{name} is verified")
        # No client gets a forged address any more, although answers expire.
        end = time.monotonic() + 3 * TTL
        while time.monotonic() < end:
            for name in BANKS:
                self.assertEqual([SITE], list(self.client.ask(name).addresses))
            for name in (*NAMES, HANGING):
                self.assertEqual(self.said.get(name, [SITE]), list(self.client.ask(name).addresses))
            time.sleep(0.2)
        self.assertEqual({name: 0 for name in NAMES}, {name: self.asked(name) for name in NAMES})
        for name in BANKS:
            self.assertGreater(self.asked(name), 0)
            self.assertRegex(
                self.explained(name), r"order    providers-first for \S+: the system resolver's answer was mismatched")
        evidence = json.loads(ctl(self.server, "--json", "evidence").stdout)["evidence"]
        self.assertEqual({"system"}, {each["mismatched"]["source"] for each in evidence})

    def test_connections_alone_put_reachable_addresses_first_and_unreachable_ones_last(self):
        self.said[GAME] = [CLOSED, FORGED, SILENT]
        self.listen(SILENT, 8080)
        self.up(rules='[[rule]]\nmatch = ["game.site.example"]\nconnect = 8080\n')
        self.assertEqual([CLOSED, FORGED, SILENT], self.ordered(GAME))
        eventually(lambda: self.ordered(GAME) == [SILENT, CLOSED, FORGED], within=15,
                   what="the reachable address is first")
        verified = ctl(self.server, "verify", GAME).stdout
        self.assertRegex(verified, rf"(?m)^{SILENT}:8080 +connected +connect \d+ ms$")
        self.assertRegex(verified, rf"(?m)^{CLOSED}:8080 +refused")
        explained = self.explained(GAME)
        self.assertRegex(explained, rf"{SILENT}:8080 connected, .*: quickest")
        self.assertIn("rule     game.site.example: connect = 8080", explained)
        self.assertEqual([], json.loads(ctl(self.server, "--json", "evidence").stdout)["evidence"])
        self.assertEqual(0, self.asked(GAME))
