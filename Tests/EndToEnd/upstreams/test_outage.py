# Providers and nameservers that fail and recover, and addresses that are dead.

import socket

from askers import Asker, ask
from cases import LAB_WWW, SYSTEM_WWW, Case, closed_provider
from dig import dig
from lab import Lab
from paths import eventually, free_port
from programs import NSD, Unbound
from wire import NOERROR

# The time-out of a stub resolver by resolv.conf(5).
CLIENT_PATIENCE = 5


class Outage(Case):
    expected_seconds = 15

    def setUp(self):
        self.provider = self.lab()
        self.system = self.nsd()

    def dig(self, server, name, *arguments):
        reply = dig(server, *arguments, name, "A")
        self.assertIsNotNone(reply.status, reply.text)
        # The time is dig's own: starting dig may take long on a busy machine.
        self.assertLess(reply.seconds, CLIENT_PATIENCE)
        return reply

    def recovers(self, server, expected):
        """Waits for the expected address, with a new name each time, so that no cache answers."""
        numbers = iter(range(10_000))
        eventually(lambda: dig(server, f"again{next(numbers)}.any.lab.example", "A").data == expected, within=40,
                   every=0.2)

    def test_one_after_the_other_goes_and_both_come_back(self):
        server = self.daemon([self.provider.provider("doh")], system=[self.system.server])
        self.assertEqual({"192.0.2.99"}, self.dig(server, "a.any.lab.example").data)
        self.provider.kill()
        self.assertEqual(SYSTEM_WWW, self.dig(server, "www.lab.example").data)
        self.assertEqual(SYSTEM_WWW, self.dig(server, "www.lab.example", "+tcp").data)
        # The earlier answer is still cached.
        self.assertEqual({"192.0.2.99"}, self.dig(server, "a.any.lab.example").data)
        self.system.kill()
        reply = self.dig(server, "b.any.lab.example")
        self.assertEqual("SERVFAIL", reply.status)
        self.assertIn(reply.extended_error, (22, 23))
        self.assertFalse(self.dig(server, "c.any.lab.example", "+noedns").has_opt)
        self.system.up()
        self.recovers(server, {"203.0.113.99"})
        self.provider.up()
        self.recovers(server, {"192.0.2.99"})
        self.assertRegex(server.log, "provider doh is down: (connection refused|reset)(.|\n)*provider doh is up")
        begin = r"every provider fails \((connection refused|reset) 1\): the system resolver answers"
        self.assertRegex(server.log, begin + r"(.|\n)*a provider works again after \d+ s without any")
        self.assertSums(server.stats())

    def test_silence_is_answered_in_time_too(self):
        server = self.daemon([self.provider.provider("json"), self.provider.provider("doh")],
                             system=[self.system.server])
        self.provider.fault("hang")
        reply = self.dig(server, "www.lab.example")
        self.assertEqual(SYSTEM_WWW, reply.data)
        self.assertLess(reply.seconds, 2.5)
        self.provider.reset()
        self.recovers(server, {"192.0.2.99"})

    def test_silence_where_all_names_are_of_one_domain(self):
        """The network is silent for some seconds, while a machine asks for 25 new names a second of one domain."""
        for dialects in (["json"], ["json", "doh"]):
            with self.subTest(dialects):
                server = self.daemon([self.provider.provider(dialect) for dialect in dialects],
                                     system=[self.system.server])
                self.assertEqual(LAB_WWW, self.dig(server, "www.lab.example").data)
                self.provider.fault("hang")
                client = Asker("client", "127.0.0.1", lambda number: f"{dialects[-1]}{number}.any.lab.example", 250, 25)
                ask(server, [client], patience=CLIENT_PATIENCE)
                self.assertEqual({(NOERROR, "203.0.113.99")},
                                 {(reply.rcode, *reply.addresses) for _, reply in client.results.values()})
                self.assertEqual(250, len(client.results))
                # After the outage is known, no new name waits for it.
                self.assertLess(server.stats()["system"]["requests"], 300)
                self.assertLess(self.dig(server, f"{dialects[-1]}last.any.lab.example").seconds, 0.3)
                self.provider.fault("none")
                self.recovers(server, {"192.0.2.99"})

    def test_silence_everywhere_is_a_failure_in_time(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            self.silence(f"127.0.0.1:{silent.getsockname()[1]}")

    def silence(self, nameserver):
        server = self.daemon([self.provider.provider("json")], system=[nameserver])
        self.provider.fault("hang")
        reply = self.dig(server, "www.lab.example")
        self.assertEqual(("SERVFAIL", True), (reply.status, reply.extended_error in (22, 23)))
        self.provider.reset()
        self.recovers(server, {"192.0.2.99"})
        self.assertSums(server.stats())


class DeadAddresses(Case):
    expected_seconds = 4

    def test_the_second_address_of_a_provider_is_dialled_when_the_first_refuses(self):
        provider = self.lab(host="127.0.0.3")
        server = self.daemon([provider.provider("json", addresses=["127.0.0.2", "127.0.0.3"])])
        # Only the provider's other address is left.
        eventually(lambda: dig(server, "www.lab.example", "A").data == LAB_WWW)
        self.assertEqual({"refused": 1}, server.failures("json"))
        self.assertEqual({"192.0.2.99"}, dig(server, "next.any.lab.example", "A").data)
        self.assertEqual({"refused": 1}, server.failures("json"))

    def test_an_address_that_dies_is_left(self):
        port = free_port()
        first, second = self.own(Lab()), self.own(Lab())
        first.http, second.http = f"127.0.0.4:{port}", f"127.0.0.5:{port}"
        first.up()
        second.up()
        server = self.daemon([first.provider("doh", addresses=["127.0.0.4", "127.0.0.5"])])
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual((1, 0), (first.requests()["total"], second.requests()["total"]))
        first.kill()
        numbers = iter(range(1000))
        eventually(lambda: dig(server, f"n{next(numbers)}.any.lab.example", "A").data == {"192.0.2.99"})
        self.assertGreaterEqual(second.requests()["total"], 1)


class SystemResolvers(Case):
    expected_seconds = 4

    def test_a_list_of_servers_is_tried_in_order(self):
        nsd = self.nsd()
        # DNSPod's plain text has addresses only, so other types go to the system resolver.
        server = self.daemon([self.lab().provider("dnspod")], system=[f"127.0.0.1:{free_port()}", nsd.server])
        self.assertEqual({'"from nsd"'}, dig(server, "text.lab.example", "TXT").data)

    def test_unbound_as_system_resolver(self):
        unbound = self.own(Unbound()).up()
        provider = self.lab()
        server = self.daemon([provider.provider("dnspod")], system=[unbound.server])
        self.assertEqual({'"from unbound"'}, dig(server, "text.lab.example", "TXT").data)
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual("NXDOMAIN", dig(server, "nothing.lab.example", "TXT").status)
        provider.kill()
        # A new start has an empty cache.
        server.stop()
        server.up()
        self.assertEqual({"203.0.113.20"}, dig(server, "+tcp", "WWW.lab.example", "A").data)

    def test_large_answers_are_fetched_over_tcp(self):
        records = "\n".join(f"large.lab A 198.51.100.{number}" for number in range(1, 201))
        nsd = self.nsd(zone=NSD.ZONE + records)
        server = self.daemon([closed_provider()], system=[nsd.server])
        self.assertEqual(200, len(dig(server, "+tcp", "large.lab.example", "A").data))
