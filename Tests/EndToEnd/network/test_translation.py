# Networks with one family only: IPv6 alone with a translator (NAT64), and IPv4 alone.

import socket
import struct
import threading

from cases import Case
from dig import Dug
from fakes import reply
from networks import PROVIDER, Networks
from paths import eventually
from programs import ctl
from translator import ANNOUNCED, Translator
from wire import Message, name

# A site with an IPv4 address only; it greets one connection after the other.
SITE, PORT, GREETING = "20.20.20.30", 8080, b"here is the site"
TRANSLATED = "64:ff9b::1414:141e"
ZONE = f"""$ORIGIN lab.example.
$TTL 60
@ SOA ns1 hostmaster 1 7200 900 1209600 40
old A {SITE}
alias CNAME old
both A {SITE}
both AAAA 2a20::30
mail MX 10 old
"""
FILTERED = 17


class SingleFamily(Case):
    """A host in one network, with a provider that has an IPv4 address, and a system resolver that knows nothing."""

    def begin(self, families, knows=(), **options):
        """Starts the host. `knows`: records of the system resolver, as (owner, type number, TTL, data)."""
        self.networks = Networks(routers="a", families=families)
        self.addCleanup(self.networks.remove)
        self.programs = self.networks.programs
        self.router, self.host = self.networks["a"], self.networks.host
        self.router.internet.answer_for(SITE)
        self.provider = self.router.internet.provider(ZONE, addresses=[PROVIDER])

        def respond(query, is_stream):
            asked = Message(query).question.lower()
            found = [record for record in knows if asked == name(record[0]) + struct.pack("!HH", record[1], 1)]
            return [reply(query, found) if found else reply(query, flags=0x8182)]
        self.router.serve(self.networks, respond)
        self.host.join(self.router)
        self.server = self.networks.daemon([self.provider.settings()], **options)

    def dig(self, *arguments):
        return Dug(self.host.run("dig", "@127.0.0.1", "+tries=1", "+time=6", *arguments).stdout, 0)

    def provider_line(self):
        return self.server.stats()["providers"][0]


class Translated(SingleFamily):
    """A network with IPv6 alone, and a translator that the system resolver announces."""

    expected_seconds = 12

    def begin(self, **options):
        super().begin("6", [("ipv4only.arpa", 28, 600, socket.inet_pton(socket.AF_INET6, ANNOUNCED))], **options)
        self.translator = self.networks.own(Translator(self.router, [443, PORT]))
        self.site = self.router.internet.within(lambda: socket.create_server((SITE, PORT)))
        self.addCleanup(self.site.close)
        threading.Thread(target=self._greet, daemon=True).start()
        self.server.up()
        eventually(lambda: self.dig("A", "old.lab.example").data == {SITE}, every=0.3)

    def _greet(self):
        while True:
            try:
                connection, _ = self.site.accept()
            except OSError:
                return
            with connection:
                connection.sendall(GREETING)

    def test_names_with_ipv4_alone_are_reached_by_ipv6(self):
        self.begin(server='dns64 = "auto"')
        reply = self.dig("AAAA", "old.lab.example")
        self.assertEqual(({TRANSLATED}, ["AAAA"]), (reply.data, reply.types))
        # The zone's negative answer has a TTL of 40 seconds.
        self.assertLessEqual(int(reply.answer[0][1]), 40)
        address = reply.data.pop()
        with self.host.within(lambda: socket.create_connection((address, PORT), timeout=5)) as connection:
            self.assertEqual(GREETING, connection.recv(100))
        self.assertIn(SITE, self.translator.reached)
        alias = self.dig("AAAA", "alias.lab.example")
        self.assertEqual((["CNAME", "AAAA"], {"old.lab.example.", TRANSLATED}), (alias.types, alias.data))
        self.assertEqual({"2a20::30"}, self.dig("AAAA", "both.lab.example").data)
        mail = self.dig("AAAA", "mail.lab.example")
        self.assertEqual(("NOERROR", []), (mail.status, mail.answer))
        self.assertEqual("NXDOMAIN", self.dig("AAAA", "gone.lab.example").status)
        # A synthesised answer counts as a cache hit, too.
        hits = self.server.stats()["responses"]["cache"]
        self.assertEqual({TRANSLATED}, self.dig("AAAA", "old.lab.example").data)
        self.assertEqual(hits + 1, self.server.stats()["responses"]["cache"])
        self.assertSums(self.server.stats())

    def test_a_synthesised_address_is_served_stale(self):
        """The idea comes from BIND's system test "serve_stale"."""
        self.begin(server='dns64 = "auto"', sections="[prefetch]\nenabled = false\n")
        self.provider.lab.record("brief.lab.example", "A", SITE, ttl=1)
        self.assertEqual({TRANSLATED}, self.dig("AAAA", "brief.lab.example").data)
        eventually(lambda: "AAAA expired" in ctl(self.server, "cache", "ls", "brief.lab.example").stdout)
        self.provider.lab.record("brief.lab.example", "A", "20.20.20.31")
        self.provider.lab.fault("status", value=500)
        stale = self.dig("AAAA", "brief.lab.example")
        self.assertEqual(({TRANSLATED}, "30", 3), (stale.data, stale.answer[0][1], stale.extended_error), stale.text)
        self.provider.lab.fault("none")
        # An answer for another name ends the pause after the failure.
        self.assertEqual({"2a20::30"}, self.dig("AAAA", "both.lab.example").data)
        fresh = self.dig("AAAA", "brief.lab.example")
        self.assertEqual({"64:ff9b::1414:141f"}, fresh.data, fresh.text)
        self.assertNotEqual(3, fresh.extended_error)

    def test_a_provider_with_an_ipv4_address_is_reached_and_shown_by_it(self):
        self.begin()
        self.assertIn(PROVIDER, self.translator.reached)
        line = self.provider_line()
        self.assertEqual([PROVIDER], [each["name"] for each in line["addresses"]])
        self.assertGreaterEqual(line["connections"]["open"], 1)
        reply = self.dig("AAAA", "old.lab.example")
        self.assertEqual(("NOERROR", set()), (reply.status, reply.data), "nothing is made up without dns64")


class WithoutIPv6(SingleFamily):
    """A network with IPv4 alone."""

    expected_seconds = 6

    def test_aaaa_is_filtered_where_the_settings_want_it(self):
        self.begin("4", server='filter-aaaa = "no-route"')
        self.server.up()
        eventually(lambda: self.dig("A", "both.lab.example").data == {SITE}, every=0.3)
        filtered = self.dig("AAAA", "both.lab.example")
        self.assertEqual(("NOERROR", set(), FILTERED), (filtered.status, filtered.data, filtered.extended_error))
        self.host.ip("-6 address add 2a10:1::2/64 dev eth0 nodad", "-6 route add default via 2a10:1::1")
        eventually(lambda: self.dig("AAAA", "both.lab.example").data == {"2a20::30"}, every=0.3)

    def test_aaaa_is_given_otherwise(self):
        self.begin("4")
        self.server.up()
        eventually(lambda: self.dig("AAAA", "both.lab.example").data == {"2a20::30"}, every=0.3)
