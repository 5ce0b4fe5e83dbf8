# A paid account together with public providers: the names that reach it, the names that it does not serve, and the
# costs of its requests. The account is a stand-in that shares no code with the daemon.

import json

from cases import SYSTEM_WWW
from dig import dig
from paths import eventually
from programs import ctl
from test_vendors import BATCH, HEALTHY, V4, V6, Vendors
from vendors.standin import Entry

OWN = ["shop.example", "=api.elsewhere.example"]
# Names that are siblings, children and parents of the account's names.
FOREIGN = ["elsewhere.example", "www.api.elsewhere.example", "shop.example.net", "notshop.example"]


class Account(Vendors):
    def setUp(self):
        self.paid = self.stand_in("volcengine")
        self.free = self.stand_in("doh", names={
            name: Entry(tuple(HEALTHY), ("2001:db8:ffff::1",), 1) for name in [
                *FOREIGN, *BATCH, "www.shop.example", "api.elsewhere.example", "late.shop.example"]})

    def server(self, **more):
        options = {key: more.pop(key) for key in ("system", "store", "sections") if key in more}
        return self.daemon_of(self.settings("volcengine", self.paid, **more), self.second(self.free), **options)

    def billed(self, server, period="day"):
        report = json.loads(ctl(server, "--json", "providers").stdout)
        return next(entry["billed"] for entry in report["providers"] if entry["name"] == "volcengine")[period]

    def asked(self, stand_in):
        return {name for request in self.requests(stand_in) for name in request.names}


class Names(Account):
    def test_the_account_is_asked_first_for_its_names_and_never_for_others(self):
        server = self.server(names=OWN)
        self.gets(V4, server, "www.shop.example")
        self.gets(V6, server, "www.shop.example", "AAAA")
        for name in FOREIGN:
            self.gets(HEALTHY, server, name)
        # The public provider fails, and the account still answers its names.
        self.free.broken_nodes = {node: self.free.throttled_reply for node in self.free.nodes}
        for name in FOREIGN:
            dig(server, name, "A")
        self.gets({"192.0.2.4"}, server, "four.shop.example")
        self.free.broken_nodes = {}
        # The account fails for its own names, so the other provider answers.
        self.paid.is_throttled = True
        self.gets(HEALTHY, server, "late.shop.example")
        outside = {name for name in self.asked(self.paid) if not name.endswith("shop.example")}
        self.assertEqual(set(), outside)
        self.assertNotIn("notshop.example", self.asked(self.paid))

    def test_explain_names_the_match_and_a_rule_precedes_it(self):
        server = self.server(
            names=OWN, sections='[[rule]]\nmatch = ["static.shop.example"]\nresolver = "healthy"\n')
        self.assertIn(
            "volcengine before other providers; the name belongs to the account (names: shop.example)",
            ctl(server, "explain", "www.shop.example").stdout)
        self.assertIn("(names: =api.elsewhere.example)", ctl(server, "explain", "api.elsewhere.example").stdout)
        self.assertIn("healthy only, by a rule", ctl(server, "explain", "a.static.shop.example").stdout)

    def test_an_exclusive_name_reaches_no_other_provider(self):
        server = self.server(names=OWN, exclusive=True)
        self.gets(V4, server, "www.shop.example")
        self.paid.is_throttled = True
        dig(server, "late.shop.example", "A")
        self.assertEqual(set(), self.asked(self.free))
        self.assertIn("volcengine only", ctl(server, "explain", "late.shop.example").stdout)

    def test_a_type_that_the_account_does_not_carry_reaches_nothing_if_the_system_resolver_must_not_stand_in(self):
        server = self.server(
            names=["lab.example"], exclusive=True, system=[self.nsd().server],
            sections='[[rule]]\nmatch = ["text.lab.example"]\nstands-in = "never"\n')
        # The system resolver has records of both types.
        self.assertEqual(1, len(dig(server, "lab.example", "MX").answer))
        reply = dig(server, "text.lab.example", "TXT")
        self.assertEqual(("SERVFAIL", 22, []), (reply.status, reply.extended_error, reply.answer))
        self.assertIn("volcengine only; no provider supports type TXT, and stands-in = never",
                      ctl(server, "explain", "text.lab.example", "TXT").stdout)

    def test_a_file_with_names_is_read_again_on_reload(self):
        names = self.directory / "account.names"
        names.write_text("# ours\nshop.example # and below\n")
        names.chmod(0o644)
        server = self.server(**{"names-file": str(names)})
        self.gets(V4, server, "www.shop.example")
        self.gets(HEALTHY, server, "api.elsewhere.example")
        requests = len(self.requests(self.paid))
        names.write_text("shop.example\n*.b.example\n")
        self.assertIn(f'{names}:2:1: found "*.b.example"', server.reload())
        names.write_text("canary-of-a-key==\nroot:$6$canary-of-a-hash.x:1\n" + "!canary\n" * 100_000)
        answer = server.reload()
        self.assertIn(f"{names}:2:1: found a value that is not shown", answer)
        self.assertIn(f"{names}:11:1: more wrong lines", answer)
        self.assertNotIn("canary", answer + server.log)
        names.write_text("shop.example\n=api.elsewhere.example\n")
        self.paid.names = {**self.paid.names, "api.elsewhere.example": Entry(("192.0.2.77",), ())}
        self.assertIn("reloaded", server.reload())
        self.gets({"192.0.2.77"}, server, "api.elsewhere.example")
        # The unchanged name is still cached.
        self.gets(V4, server, "www.shop.example")
        self.assertEqual(requests + 1, len(self.requests(self.paid)))


class Unserved(Account):
    def test_a_name_that_the_account_does_not_serve_is_the_system_resolvers_and_costs_nothing_more(self):
        self.paid.registered = ["shop.example"]
        server = self.daemon_of(self.settings("volcengine", self.paid), system=[self.nsd().server])
        self.gets(V4, server, "www.shop.example")
        self.gets(SYSTEM_WWW, server, "www.lab.example")
        refused = len(self.paid.asked("www.lab.example"))
        self.assertGreater(refused, 0)
        ttl = int(dig(server, "www.lab.example", "A").answer[0][1])
        self.assertGreater(ttl, 500, "the system resolver's own TTL")
        for type in ("AAAA", "A", "AAAA"):
            dig(server, "www.lab.example", type)
        self.assertEqual(refused, len(self.paid.asked("www.lab.example")))
        explained = ctl(server, "explain", "www.lab.example").stdout
        self.assertIn("no provider serves the name; asked again in", explained)
        self.assertIn("does not serve the name", explained.replace("no provider serves the name", ""))
        # The operator registers the name.
        self.paid.registered.append("lab.example")
        self.paid.names = {**self.paid.names, "www.lab.example": Entry(("192.0.2.88",), ())}
        ctl(server, "flush", "www.lab.example")
        self.gets({"192.0.2.88"}, server, "www.lab.example")


class Cost(Account):
    def test_billed_questions_are_counted_by_cause_and_bounded_by_the_quota(self):
        store = self.directory / "billing"
        store.mkdir(mode=0o777, exist_ok=True)
        store.chmod(0o777)
        server = self.server(names=OWN, quota="5/month", store=f"{store}/cache.db")
        for name in BATCH[:4]:
            self.gets({"192.0.2.99"}, server, name)
        server.wait_for("provider volcengine has used 80 % of its quota: 4 questions are billed of the quota "
                        "5/month")
        self.assertEqual(4, self.billed(server)["client"])
        server.stop()
        server.up()
        eventually(lambda: self.billed(server, "month")["client"] == 4)
        self.gets({"192.0.2.99"}, server, BATCH[4])
        server.wait_for("provider volcengine is over its quota")
        # The account is only a last resort now.
        for name in BATCH[5:9]:
            self.gets(HEALTHY, server, name)
        self.assertEqual(5, sum(self.billed(server).values()))
        self.assertEqual("over-quota", self.state(server, "volcengine"))
        self.assertIn("billed today 5 (client 5); this month 5 (client 5)", ctl(server, "providers").stdout)
        self.assertIn("quota 5/month, 100.0 % used", ctl(server, "providers").stdout)
        self.assertIn("is over its quota", ctl(server, "status").stdout)
        self.assertIn("is over its quota", ctl(server, "doctor").stdout)
        metrics = server.ask_control("stats --prometheus")
        self.assertIn(
            'httpdnsd_provider_billed_questions{provider="volcengine",period="month",cause="client"} 5', metrics)
        self.assertEqual(5, len(self.requests(self.paid)))
        # The operator raises the quota.
        server.providers[0]["quota"] = "1000/month"
        server.config.write_text(server.settings())
        self.assertIn("reloaded", server.reload())
        self.gets({"192.0.2.99"}, server, BATCH[9])

    def test_an_exclusive_name_in_use_costs_nothing_more_once_the_quota_is_used_up(self):
        name = BATCH[0]
        self.paid.names = {**self.paid.names, name: Entry(("192.0.2.99",), (), 1)}
        server = self.server(names=OWN, exclusive=True, quota="1/month", system=[self.nsd().server],
                             sections="[prefetch]\nenabled = false\n")
        self.gets({"192.0.2.99"}, server, name)
        server.wait_for("provider volcengine is over its quota")
        eventually(lambda: dig(server, name, "A").extended_error == 3, what="the expired answer is given")
        for _ in range(3):
            self.gets({"192.0.2.99"}, server, name)
        self.assertEqual(1, len(self.requests(self.paid)))

    def test_a_question_that_did_not_reach_the_vendor_is_not_billed(self):
        server = self.server(names=OWN, addresses=["127.0.0.9"])
        for name in BATCH[:3]:
            self.gets(HEALTHY, server, name)
        self.assertEqual(["refused"], list(server.failures("volcengine")))
        self.assertEqual(0, sum(self.billed(server).values()))

    def test_a_billed_account_is_no_hedge_unless_it_is_set(self):
        # The public provider is free, and slow for a few names; the account has them at once.
        for hedge in (False, True):
            with self.subTest(hedge=hedge):
                self.free.delay, self.paid.delay = 0, 0.3
                server = self.server(**({"hedge": True} if hedge else {}), system=[])
                for name in FOREIGN:
                    dig(server, name, "A")
                self.free.delay = 1.2
                before = self.billed(server)["hedge"]
                dig(server, BATCH[20 + hedge], "A")
                asked = eventually(lambda: self.paid.asked(BATCH[20 + hedge]), 2) if hedge else []
                self.assertEqual((before, hedge), (0, bool(asked)))
                self.assertEqual(int(hedge), self.billed(server)["hedge"])
                server.stop()
