# Answers by rules: the output of dig for each form, no query upstream, and the effect of a reload.

import json

from cases import LAB_WWW, SYSTEM_WWW, Case, rule
from dig import dig
from paths import eventually
from programs import Daemon, ctl

BLOCKED, CENSORED, FILTERED = 15, 16, 17


class Answering(Case):
    expected_seconds = 4

    def setUp(self):
        self.provider = self.lab()

    def server(self, *rules, sections="", **options):
        return self.daemon(
            [self.provider.provider("doh")], sections="\n".join([sections, *rules]), **options)

    def change(self, server, *rules):
        server.sections = "\n".join(rules)
        server.config.write_text(server.settings())
        return server.reload()

    def requests(self):
        return self.provider.requests()["total"]

    def assertBlocked(self, reply, status, error=BLOCKED):
        self.assertEqual((status, [], error), (reply.status, reply.answer, reply.extended_error))
        if status != "REFUSED":
            self.assertEqual([["60", "IN", "SOA"]], [record[1:4] for record in reply.section("AUTHORITY")])


class Answers(Answering):
    def test_a_blocked_name_has_no_answer_of_any_type(self):
        server = self.server(
            rule("gone.lab.example", answer='"nxdomain"'),
            rule("empty.lab.example", answer='"nodata"', extended_error='"censored"'),
            rule("refused.lab.example", answer='"refused"', extended_error='"filtered"'),
            rule("open.gone.lab.example", resolver='"httpdns"'))
        self.provider.record("x.open.gone.lab.example", "A", "192.0.2.7")
        for arguments in ((), ("+tcp",), ("+norecurse",)):
            for type in ("A", "AAAA", "TXT", "HTTPS", "MX"):
                with self.subTest(type, arguments=arguments):
                    self.assertBlocked(dig(server, *arguments, "x.GONE.lab.example", type), "NXDOMAIN")
                    self.assertBlocked(dig(server, *arguments, "empty.lab.example", type), "NOERROR", CENSORED)
                    self.assertBlocked(dig(server, *arguments, "refused.lab.example", type), "REFUSED", FILTERED)
        self.assertEqual(0, self.requests())
        self.assertEqual({"192.0.2.7"}, dig(server, "x.open.gone.lab.example", "A").data)
        self.assertBlocked(dig(server, "notopen.gone.lab.example", "A"), "NXDOMAIN")
        explained = ctl(server, "explain", "a.gone.lab.example").stdout
        self.assertIn("answered by the daemon: the rule for gone.lab.example", explained)
        self.assertIn("answer = nxdomain", explained)
        line = server.config.read_text().splitlines().index('match = ["gone.lab.example"]')
        self.assertIn(f"gone.lab.example: line {line} of {server.config}\n", explained)
        self.assertIn("REFUSED with EDE 17", ctl(server, "explain", "refused.lab.example").stdout)
        self.assertSums(server.stats())

    def test_records_of_a_rule_are_all_that_the_names_have(self):
        text = 'say "hi"; ' + "x" * 300
        escaped = text.replace('"', '\\"')
        server = self.server(
            rule("nas.lab.example", answer='["192.0.2.1", "2001:db8::1", "192.0.2.2"]', txt=f'["{escaped}", "v=1"]'),
            rule("four.lab.example", answer='["192.0.2.4"]', extended_error='"blocked"'),
            rule("_sip._udp.lab.example", srv='["0 5 5060 sip.lab.example", "10 0 5061 ."]'),
            # A rule may also cover names of the local network.
            rule("printer", "printer.home.arpa", answer='["10.0.0.9"]'))
        for name in ("nas.lab.example", "a.b.nas.lab.example"):
            self.assertEqual({"192.0.2.1", "192.0.2.2"}, dig(server, name, "A").data)
            reply = dig(server, name, "AAAA")
            self.assertEqual(({"2001:db8::1"}, None), (reply.data, reply.extended_error))
            self.assertEqual("60", reply.answer[0][1])
        strings = [escaped[:257], escaped[257:]]
        self.assertEqual(
            {'"v=1"', f'"{strings[0]}" "{strings[1]}"'}, dig(server, "nas.lab.example", "TXT", "+tcp").data)
        self.assertEqual([], dig(server, "nas.lab.example", "HTTPS").answer)
        self.assertBlocked(dig(server, "four.lab.example", "AAAA"), "NOERROR")
        self.assertEqual(BLOCKED, dig(server, "four.lab.example", "A").extended_error)
        self.assertEqual(
            {"0 5 5060 sip.lab.example.", "10 0 5061 ."}, dig(server, "_sip._udp.lab.example", "SRV").data)
        self.assertEqual([], dig(server, "_sip._udp.lab.example", "A").answer)
        for name in ("printer", "x.printer.home.arpa"):
            self.assertEqual({"10.0.0.9"}, dig(server, name, "A").data)
        self.assertEqual(0, self.requests())
        self.assertIn("192.0.2.1", ctl(server, "query", "nas.lab.example").stdout)
        self.assertSums(server.stats())

    def test_a_reload_applies_to_what_is_cached(self):
        server = self.server()
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertIn("settings reloaded", self.change(server, rule("lab.example", answer='"nxdomain"')))
        self.assertBlocked(dig(server, "www.lab.example", "A"), "NXDOMAIN")
        for wrong in ({"answer": '"nxdomian"'}, {"answer": '"nodata"', "resolver": '"system"'}, {"srv": '["0 5 x"]'}):
            self.assertIn("old ones stay in force", self.change(server, rule("lab.example", **wrong)))
        self.assertBlocked(dig(server, "www.lab.example", "A"), "NXDOMAIN")
        self.assertIn("settings reloaded", self.change(server))
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)

    def test_a_restart_applies_to_what_is_stored(self):
        server = self.own(Daemon([self.provider.provider("doh")]))
        server.store = server.directory / "cache.db"
        server.up()
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        server.stop()
        server.sections = rule("www.lab.example", answer='["192.0.2.200"]')
        since = len(server.log)
        server.up()
        server.wait_for("loaded from", since=since)
        eventually(lambda: "www.lab.example" not in ctl(server, "cache", "ls").stdout)
        self.assertEqual({"192.0.2.200"}, dig(server, "www.lab.example", "A").data)


class Aliases(Answering):
    ALIAS = rule("search.lab.example", cname='"www.lab.example"')

    def assertChain(self, reply, links, data):
        self.assertEqual("NOERROR", reply.status)
        chain = [[f"{owner}.", "CNAME", f"{target}."] for owner, target in links]
        self.assertEqual(chain, [[record[0], *record[3:]] for record in reply.answer[:len(links)]])
        self.assertEqual(data, {record[4] for record in reply.answer[len(links):]})

    def test_the_target_is_resolved_and_its_cache_entry_shared(self):
        server = self.server(
            self.ALIAS, rule("first.lab.example", cname='"search.lab.example"'),
            rule("fixed.lab.example", answer='["192.0.2.99"]'), rule("nas.lab.example", cname='"fixed.lab.example"'),
            rule("none.lab.example", cname='"missing.lab.example"'))
        link = [("search.lab.example", "www.lab.example")]
        reply = dig(server, "search.lab.example", "A", "+norecurse")
        self.assertEqual(("REFUSED", 20, 0), (reply.status, reply.extended_error, self.requests()))
        self.assertChain(dig(server, "search.lab.example", "A"), link, LAB_WWW)
        asked = self.requests()
        self.assertChain(dig(server, "search.lab.example", "A", "+norecurse"), link, LAB_WWW)
        self.assertChain(dig(server, "search.lab.example", "A", "+tcp"), link, LAB_WWW)
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertChain(
            dig(server, "first.lab.example", "A"), [("first.lab.example", "search.lab.example"), *link], LAB_WWW)
        self.assertEqual(asked, self.requests(), "one entry for all names")
        self.assertNotIn("search.lab.example", ctl(server, "cache", "ls").stdout)
        self.assertChain(dig(server, "a.search.lab.example", "CNAME"), [("a.search.lab.example", "www.lab.example")], set())
        self.assertChain(dig(server, "nas.lab.example", "A"), [("nas.lab.example", "fixed.lab.example")], {"192.0.2.99"})
        reply = dig(server, "none.lab.example", "A")
        self.assertEqual(("NXDOMAIN", ["CNAME"]), (reply.status, reply.types))
        self.assertIn("www.lab.example", ctl(server, "query", "search.lab.example").stdout)
        explained = ctl(server, "explain", "search.lab.example").stdout
        self.assertIn("cname = www.lab.example", explained)
        self.assertIn("next     answered by the daemon: an alias, with the answer of www.lab.example;", explained)
        self.assertSums(server.stats())

    def test_an_expired_target_is_served_stale_and_a_failed_one_is_an_error(self):
        self.provider.record("brief.lab.example", "A", "192.0.2.50", ttl=1)
        server = self.server(
            rule("alias.lab.example", cname='"brief.lab.example"'), rule("bad.lab.example", cname='"new.lab.example"'),
            sections="[prefetch]\nenabled = false\n")
        links = [("alias.lab.example", "brief.lab.example")]
        self.assertChain(dig(server, "alias.lab.example", "A"), links, {"192.0.2.50"})
        eventually(lambda: "brief.lab.example A expired" in ctl(server, "cache", "ls").stdout)
        self.provider.kill()
        reply = dig(server, "alias.lab.example", "A")
        self.assertChain(reply, links, {"192.0.2.50"})
        self.assertEqual(3, reply.extended_error)
        reply = dig(server, "bad.lab.example", "A")
        self.assertEqual(("SERVFAIL", []), (reply.status, reply.answer))
        self.assertSums(server.stats())

    def test_a_loop_is_refused(self):
        server = self.server(self.ALIAS)
        for rules in (
                [rule("lab.example", cname='"www.lab.example"')],
                [rule("a.example", cname='"b.example"'), rule("b.example", cname='"x.a.example"')]):
            self.assertIn("cname", self.change(server, *rules))
        self.assertIn("settings reloaded", self.change(
            server, rule("lab.example", cname='"www.lab.example"'), rule("www.lab.example", resolver='"httpdns"')))
        self.assertChain(dig(server, "x.lab.example", "A"), [("x.lab.example", "www.lab.example")], LAB_WWW)


class RulesAtRunTime(Answering):
    def stored(self, *rules):
        server = self.own(Daemon([self.provider.provider("doh")]))
        server.store = server.directory / "cache.db"
        server.sections = "\n".join(rules)
        return server.up()

    def restart(self, server):
        server.stop()
        since = len(server.log)
        server.up()
        server.wait_for("loaded from", since=since)

    def rule(self, server, *arguments):
        done = ctl(server, "rule", *arguments)
        return done.stdout

    def test_a_rule_is_in_force_at_once_and_after_a_restart_until_it_is_removed(self):
        server = self.stored(rule("lab.example", resolver='"httpdns"'))
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual("added lab.example: answer=nxdomain\n", self.rule(server, "add", "lab.example", "answer=nxdomain"))
        self.assertBlocked(dig(server, "www.lab.example", "A"), "NXDOMAIN")
        self.rule(server, "add", "alias.example", "cname=www.other.example")
        self.rule(server, "add", "nas.example", 'txt=["a, b"]', "answer=192.0.2.1,2001:db8::1", "--for", "1h")
        self.restart(server)
        eventually(lambda: "nas.example" in self.rule(server, "ls"))
        self.assertBlocked(dig(server, "www.lab.example", "A"), "NXDOMAIN")
        self.assertEqual({'"a, b"'}, dig(server, "nas.example", "TXT").data)
        self.assertEqual({"2001:db8::1"}, dig(server, "nas.example", "AAAA").data)
        listed = self.rule(server, "ls").splitlines()
        self.assertEqual(["alias.example: cname=www.other.example", "lab.example: answer=nxdomain"], listed[:2])
        self.assertRegex(listed[2], r'^nas.example: "txt=\[.*\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ \((1h|59m\d*s?)\)$')
        rules = json.loads(self.rule(server, "ls", "--json"))["rules"]
        self.assertEqual(['txt=["a, b"]', "answer=192.0.2.1,2001:db8::1"], rules[2]["settings"])
        explained = ctl(server, "explain", "www.lab.example").stdout
        self.assertIn("the rule for lab.example", explained)
        self.assertIn("lab.example: added at run time\n", explained)
        self.assertIn(f"of {server.config}", explained)
        self.assertIn("added at run time, until 2", ctl(server, "explain", "nas.example").stdout)
        # A reload keeps the added rules.
        self.assertIn("settings reloaded", server.reload())
        self.assertBlocked(dig(server, "www.lab.example", "A"), "NXDOMAIN")
        self.assertEqual("removed the rule for lab.example\n", self.rule(server, "rm", "lab.example"))
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.restart(server)
        eventually(lambda: "nas.example" in self.rule(server, "ls"))
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)

    def test_a_rule_ends_in_time_and_what_was_learned_under_it_goes(self):
        system = self.nsd()
        server = self.daemon([self.provider.provider("doh")], system=[system.server])
        self.assertIn("(3s)", self.rule(server, "add", "www.lab.example", "resolver=system", "--for", "3s"))
        self.assertEqual(SYSTEM_WWW, dig(server, "www.lab.example", "A").data)
        server.wait_for("the rule added for www.lab.example has ended")
        self.assertEqual("no rule was added\n", self.rule(server, "ls"))
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)

    def test_what_is_wrong_is_refused_with_its_place_and_remedy(self):
        server = self.server()
        for arguments, expected in (
                (("add", "a.example", "answer=nxdomian"), 'rule.answer: found "nxdomian"'),
                (("add", "a.example", "answr=nxdomain"), 'did you mean "answer"?'),
                (("add", "a.example", "resolver=nowhere"), 'allowed: "httpdns", "system", "link", "doh"'),
                (("add", "a.example", "cname=x.a.example"), "leads back"),
                (("add", "a.example", "answer=nodata", "stale=true"), "rule.answer: found with stale"),
                (("add", "a.example"), "KEY=VALUE"), (("rm", "a.example"), "no rule was added for a.example")):
            with self.subTest(arguments):
                done = ctl(server, "rule", *arguments)
                self.assertEqual(1, done.returncode)
                self.assertIn(expected, done.stdout)
        self.assertEqual("no rule was added\n", self.rule(server, "ls"))
