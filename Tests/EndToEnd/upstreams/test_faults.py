# All faults of a provider: each is counted as its kind, and clients do not notice.

from cases import LAB_WWW, SYSTEM_WWW, Case, closed_provider
from dig import dig
from lab import Lab
from paths import eventually
from programs import NSD

# The lab's fault, its value, and the failure that it is counted as.
QUICK = [
    ("reset", None, "reset"), ("garbage", None, "garbage"), ("empty", None, "garbage"), ("short", None, "reset"),
    ("long", None, "garbage"), ("huge", None, "garbage"), ("status", 500, "status"), ("status", 404, "status"),
    ("status", 302, "redirected"), ("status", 429, "throttled"),
]
# The faults that only a time-out ends.
SLOW = ["hang", "drip", "delay"]


class Faults(Case):
    expected_seconds = 16

    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()
        cls.system = cls.share(NSD()).up()

    def setUp(self):
        self.provider.reset()

    def test_the_next_provider_answers_and_the_failure_is_counted(self):
        for kind in ("json", "doh", "doh-post"):
            for fault, value, failure in QUICK:
                with self.subTest(f"{kind} {fault} {value or ''}"):
                    self.provider.reset()
                    self.provider.fault(fault, provider="bad", value=value)
                    server = self.daemon([self.provider.provider(kind, "bad"), self.provider.provider(kind, "good")])
                    reply = dig(server, "www.lab.example", "A")
                    self.assertEqual(("NOERROR", LAB_WWW), (reply.status, reply.data))
                    self.assertLess(reply.seconds, 1)
                    self.assertEqual({failure: 1}, server.failures("bad"))
                    self.assertEqual({}, server.failures("good"))
                    self.assertEqual({"bad": 1, "good": 1}, self.provider.requests()["providers"])
                    # One failure may be due to the name.
                    state = "throttled" if failure == "throttled" else "unmeasured"
                    self.assertEqual([state, "up"], [each["state"] for each in server.stats()["providers"]])
                    server.close()

    def test_the_plain_dialect_too(self):
        for fault, value, failure in QUICK:
            # In this dialect an empty body means no records, and a truncated end looks the same.
            if fault in ("empty", "long"):
                continue
            with self.subTest(f"{fault} {value or ''}"):
                self.provider.reset()
                self.provider.fault(fault, provider="bad", value=value)
                server = self.daemon([self.provider.provider("dnspod", "bad"), self.provider.provider("json", "good")])
                self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
                self.assertEqual({failure: 1}, server.failures("bad"))

    def test_an_empty_plain_answer_is_not_believed_while_another_knows_better(self):
        self.provider.fault("empty", provider="bad")
        server = self.daemon([self.provider.provider("dnspod", "bad"), self.provider.provider("json", "good")])
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)

    def test_a_slow_provider_is_hedged(self):
        for fault in SLOW:
            with self.subTest(fault):
                self.provider.reset()
                self.provider.fault(fault, provider="slow", value=10_000)
                server = self.daemon([self.provider.provider("doh", "slow"), self.provider.provider("doh", "good")])
                reply = dig(server, "www.lab.example", "A")
                self.assertEqual(LAB_WWW, reply.data)
                self.assertLess(reply.seconds, 1.5)
                # The working provider is asked first now.
                self.assertLess(dig(server, "next.any.lab.example", "A").seconds, 0.3)

    def test_silence_is_counted_as_a_timeout(self):
        self.provider.fault("hang", provider="hang")
        self.provider.fault("drip", provider="drip")
        self.provider.fault("delay", provider="late", value=10_000)
        servers = {name: self.daemon([self.provider.provider("doh", name)], system=[self.system.server])
                   for name in ("hang", "drip", "late")}
        for server in servers.values():
            self.assertEqual(SYSTEM_WWW, dig(server, "www.lab.example", "A").data)
        for name, server in servers.items():
            eventually(lambda: server.failures(name) == {"timeout": 1}, within=6, what=f"{name} has timed out")

    def test_a_provider_has_a_timeout_of_its_own(self):
        self.provider.fault("hang", provider="bad")
        providers = [self.provider.provider("json", "bad", timeout="250ms"), self.provider.provider("json", "good")]
        server = self.daemon(providers)
        reply = dig(server, "www.lab.example", "A")
        self.assertEqual(("NOERROR", LAB_WWW), (reply.status, reply.data))
        # Without the provider's own time-out, the second provider would be asked after 400 ms.
        self.assertLess(reply.seconds, 0.38)
        self.assertEqual({"timeout": 1}, server.failures("bad"))

    def test_an_answer_after_the_clients_time_is_for_the_next_query(self):
        self.provider.fault("delay", value=6000)
        server = self.daemon([self.provider.provider("json", timeout="10s")])
        late = dig(server, "www.lab.example", "A")
        self.assertEqual(("SERVFAIL", 23), (late.status, late.extended_error), late.text)
        eventually(lambda: server.stats()["cache"]["entries"], what="the late answer is in the cache")
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual(1, self.provider.requests()["total"])

    def test_a_closed_port_is_counted_as_refused(self):
        server = self.daemon([closed_provider(), self.provider.provider("json")])
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual({"refused": 1}, server.failures("closed"))

    def test_redirects_are_not_followed(self):
        self.provider.fault("status", provider="moved", value=302)
        server = self.daemon([self.provider.provider("json", "moved")], system=[self.system.server])
        self.assertEqual(SYSTEM_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual({"moved": 1}, self.provider.requests()["providers"])

    def test_a_provider_recovers(self):
        self.provider.fault("status", provider="bad", value=500)
        server = self.daemon([self.provider.provider("json", "bad")])
        self.assertEqual("SERVFAIL", dig(server, "www.lab.example", "A").status)
        self.provider.reset()
        eventually(lambda: dig(server, "www.lab.example", "A").data == LAB_WWW)
        self.assertEqual("up", server.stats()["providers"][0]["state"])
