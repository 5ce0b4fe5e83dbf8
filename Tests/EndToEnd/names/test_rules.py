# Rules for names: their effects, their order, and new ones by a reload.

from cases import LAB_WWW, SYSTEM_WWW, Case, rule
from dig import dig
from paths import eventually
from programs import ctl


class Rules(Case):
    expected_seconds = 4

    def setUp(self):
        self.provider = self.lab()

    def server(self, *rules, sections=""):
        return self.daemon([self.provider.provider("json")], sections=sections + "\n" + "\n".join(rules))

    def record(self, name, ttl):
        self.provider.record(name, "A", "192.0.2.99", ttl=ttl)

    def ttl(self, server, name, *arguments):
        return int(dig(server, *arguments, name, "A").answer[0][1])

    def change(self, server, *rules, sections=""):
        server.sections = sections + "\n" + "\n".join(rules)
        server.config.write_text(server.settings())
        self.assertIn("settings", server.reload())

    def test_the_longest_match_that_says_something_counts(self):
        server = self.server(
            rule("lab.example", max_ttl='"100s"', min_ttl='"50s"'), rule("b.lab.example", max_ttl='"70s"'),
            rule("c.b.lab.example", min_ttl='"60s"'), rule(".", max_ttl='"200s"'))
        for name, given, wanted in (
                ("a.lab.example", 1000, 100), ("a.lab.example.", 1000, 100), ("low.a.lab.example", 5, 50),
                ("b.lab.example", 1000, 70), ("x.y.b.lab.example", 5, 50), ("c.b.lab.example", 5, 60),
                ("C.B.lab.example", 1000, 60), ("d.c.b.lab.example", 1000, 70), ("notb.lab.example", 1000, 100)):
            if name == "C.B.lab.example":
                # The name is cached since the line before.
                self.assertLessEqual(self.ttl(server, name), wanted)
                continue
            with self.subTest(name):
                self.record(name, given)
                self.assertIn(self.ttl(server, name), (wanted - 1, wanted))

    def test_blocked_answers_are_counted_and_logged_by_rule_and_list_and_apart_from_local_ones(self):
        server = self.server()
        block_list = server.directory / "ads.list"
        block_list.write_text("listed.example\nfull:exact.example\n")
        block_list.chmod(0o644)
        self.change(
            server, rule("ads.example", answer='"nxdomain"'), rule("none.example", answer='"nodata"'),
            rule("no.example", answer='"refused"'), rule("zero.example", answer='["0.0.0.0", "::"]'),
            rule("cut.example", answer='["192.0.2.9"]', extended_error='"filtered"'),
            rule("alias.example", cname='"x.ads.example"'), rule("own.example", answer='["192.0.2.9"]'),
            f'[[rule]]\nmatch-file = ["{block_list}"]\nanswer = "nxdomain"',
            sections="[log]\nqueries = true")
        names = {"a.ads.example": 2, "ads.example": 1, "none.example": 1, "no.example": 1, "zero.example": 1,
                 "cut.example": 1, "alias.example": 1, "own.example": 1, "localhost": 1, "a.listed.example": 1,
                 "exact.example": 2}
        for name, times in names.items():
            for _ in range(times):
                dig(server, name, "A")
        stats = server.stats()
        self.assertEqual(
            {"ads.example": 4, "none.example": 1, "no.example": 1, "zero.example": 1, "cut.example": 1},
            stats["blocked"]["rules"])
        self.assertEqual({str(block_list): 3}, stats["blocked"]["lists"])
        self.assertEqual((11, 2, 0), tuple(stats["responses"][key] for key in ("blocked", "local", "refused")))
        self.assertSums(stats)
        metrics = ctl(server, "stats", "--prometheus").stdout
        self.assertIn('httpdnsd_blocked_responses_total{rule="ads.example"} 4\n', metrics)
        self.assertIn(f'httpdnsd_blocked_responses_total{{list="{block_list}"}} 3\n', metrics)
        self.assertIn('httpdnsd_responses_total{source="blocked"} 11\n', metrics)
        server.wait_for("a.listed.example A")
        self.assertRegex(server.log, r"answered +a\.ads\.example A +blocked, rule ads\.example, NXDOMAIN, EDE 15, ")
        self.assertRegex(server.log, r"answered +no\.example A +blocked, rule no\.example, REFUSED, EDE 15, ")
        self.assertRegex(server.log, r"answered +a\.listed\.example A +blocked, list \S*ads\.list, NXDOMAIN, ")
        self.assertRegex(server.log, r"answered +localhost A +local, NOERROR, ")

    def test_a_limit_of_a_rule_takes_the_place_of_that_of_the_settings(self):
        server = self.server(
            rule("long.lab.example", max_ttl='"5000s"'), rule("brief.lab.example", min_ttl='"0s"'),
            sections='[cache]\nmin-ttl = "20s"\nmax-ttl = "1000s"')
        for name, given, wanted in (
                ("x.lab.example", 5, 20), ("y.lab.example", 9000, 1000), ("long.lab.example", 9000, 5000),
                ("brief.lab.example", 5, 5), ("a.brief.lab.example", 9000, 1000)):
            with self.subTest(name):
                self.record(name, given)
                self.assertIn(self.ttl(server, name, "+tcp"), (wanted - 1, wanted))

    def test_an_exclusion_beats_an_inclusion_of_the_same_length(self):
        names = ["one.lab.example", "two.lab.example", "in.two.lab.example"]
        for name in names:
            self.record(name, 1)
        server = self.server(
            rule("one.lab.example", "two.lab.example", stale="true"), rule("two.lab.example", stale="false"),
            rule("one.lab.example", prefetch="false"), rule("in.two.lab.example", stale="true"),
            rule("lab.example", prefetch="false", stale="false"))
        for name in names:
            dig(server, name, "A")
        eventually(lambda: all(f"{name} A expired" in ctl(server, "cache", "ls").stdout for name in names))
        self.provider.kill()
        replies = [dig(server, name, "A") for name in names]
        self.assertEqual(["NOERROR", "SERVFAIL", "NOERROR"], [each.status for each in replies])
        self.assertEqual([3, 3], [each.extended_error for each in replies[::2]])
        self.assertEqual(0, server.stats()["prefetch"]["started"])

    def test_a_reload_brings_new_rules_and_timers(self):
        still = "[prefetch]\nenabled = false\n"
        self.record("old.lab.example", 1)
        server = self.server(sections=still + '[stale]\nmax-age = "0s"')
        dig(server, "old.lab.example", "A")
        eventually(lambda: " A expired " in ctl(server, "cache", "ls", "old.lab.example").stdout)
        self.provider.kill()

        def answer():
            reply = dig(server, "old.lab.example", "A")
            return reply.status, [record[1] for record in reply.answer], reply.extended_error
        self.assertEqual("SERVFAIL", answer()[0])
        self.change(server, sections=still + '[stale]\nanswer-ttl = "9s"')
        self.assertEqual(("NOERROR", ["9"], 3), answer())
        self.change(server, rule("old.lab.example", stale="false"), sections=still)
        self.assertEqual("SERVFAIL", answer()[0])
        self.change(
            server, rule("old.lab.example", stale="false", fallback_addresses='["198.51.100.9"]'), sections=still)
        self.assertEqual(("NOERROR", ["30"], 4), answer())
        self.change(server, sections=still)
        self.assertEqual(("NOERROR", ["30"], 3), answer())
        # A bad rule changes nothing.
        server.config.write_text(server.settings() + rule("old.lab.example", stale='"maybe"'))
        self.assertIn("old ones stay in force", server.reload())
        self.assertEqual(("NOERROR", ["30"], 3), answer())
        self.assertSums(server.stats())


class Order(Case):
    """The first upstream by rule, and a reload that changes it."""

    def test_a_reload_with_another_order_removes_the_former_answers(self):
        provider, system = self.lab(), self.nsd()

        def sections(order, *rules):
            return "\n".join([
                "[system-resolver]", f'servers = ["{system.server}"]', f'order = "{order}"',
                "[probe]", "enabled = false", *rules])

        server = self.daemon([provider.provider("json")], system="resolv.conf", sections=sections("system-first"))
        for order, rules, expected in (
                ("system-first", (), SYSTEM_WWW), ("providers-first", (), LAB_WWW),
                ("providers-first", (rule("www.lab.example", order='"system-first"'),), SYSTEM_WWW),
                ("providers-first", (rule("www.lab.example", stale="true"),), LAB_WWW),
                ("system-first", (), SYSTEM_WWW),
                # The same order in other words removes no cached answer.
                ("providers-first", (rule("lab.example", order='"system-first"'),), SYSTEM_WWW)):
            with self.subTest(order=order, rules=rules):
                server.sections = sections(order, *rules)
                server.config.write_text(server.settings())
                self.assertIn("settings", server.reload())
                answer = dig(server, "www.lab.example", "A").answer
                self.assertEqual(expected, {record[4] for record in answer})
