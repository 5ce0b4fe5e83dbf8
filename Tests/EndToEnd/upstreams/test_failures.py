# Questions that no upstream can answer: they cost the upstreams little, however often clients repeat them, and are
# answered soon when the upstreams are back.

import time

from cases import Case
from dig import dig
from fakes import FakeNameserver, reply
from paths import eventually
from wire import NOERROR, SERVFAIL, Datagrams

BROKEN = "broken.any.lab.example"


class Remembered(Case):
    expected_seconds = 12

    def setUp(self):
        self.provider = self.lab()
        self.system = FakeNameserver(lambda query, _: [reply(query, flags=0x8182)])
        self.addCleanup(self.system.close)
        self.server = self.daemon([self.provider.provider("json")], system=[self.system.server])

    def system_asked(self, name):
        wanted = bytes([len(name.split(".")[0])]) + name.split(".")[0].encode()
        return sum(wanted in query.lower() for query, _, _ in self.system.queries)

    def ask(self, seconds, between=lambda: None):
        """Asks repeatedly for the broken name; returns the number of questions."""
        count, until = 0, time.monotonic() + seconds
        with Datagrams(self.server.address) as client:
            while time.monotonic() < until or count < 100:
                message = client.ask(BROKEN)
                self.assertEqual(SERVFAIL, message.rcode)
                count += 1
                between()
                time.sleep(0.03)
        return count

    def test_a_hundred_questions_cost_one_round(self):
        self.provider.fault("status", value=500)
        self.assertGreaterEqual(self.ask(4), 100)
        # An HTTP status may be transient, so the provider is asked twice. The system resolver does not replace it for
        # one name.
        self.assertEqual((2, 0), (self.provider.asked(BROKEN), self.system_asked(BROKEN)))
        stats = self.server.stats()
        self.assertEqual(stats["queries"]["total"], stats["responses"]["failure"])
        self.assertSums(stats)
        self.provider.reset()
        # The first pause is 5 s, of which 4 are over.
        with Datagrams(self.server.address) as client:
            eventually(lambda: client.ask(BROKEN).rcode == NOERROR, within=2)

    def test_a_name_that_is_broken_alone_costs_little_too(self):
        self.provider.fault("status", value=500, name=BROKEN)
        numbers = iter(range(10_000))

        def something_else():
            self.assertEqual({"192.0.2.99"}, client.ask(f"n{next(numbers)}.any.lab.example").addresses)
        with Datagrams(self.server.address) as client:
            self.assertGreaterEqual(self.ask(4, something_else), 50)
        # The limit is two rounds, because the provider has answered another question since.
        self.assertLessEqual(self.provider.asked(BROKEN), 4)
        self.assertEqual(self.system_asked(BROKEN), 0)

    def test_the_recovery_is_noticed_by_any_name(self):
        self.provider.fault("reset")
        names = ["www.lab.example", "shop.lab.example"]
        for name in names:
            self.assertEqual("SERVFAIL", dig(self.server, name, "A").status)
        self.provider.reset()
        self.assertEqual("SERVFAIL", dig(self.server, names[0], "A").status)
        self.assertEqual("NOERROR", dig(self.server, "other.any.lab.example", "A").status)
        for name in names:
            self.assertEqual("NOERROR", dig(self.server, name, "A").status)
