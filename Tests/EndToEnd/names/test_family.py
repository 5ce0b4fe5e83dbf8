# A rule's address family: the output of dig, the upstream queries, and the effect of a reload and a restart.

from cases import Case
from dig import dig
from paths import eventually
from programs import Daemon, ctl

FILTERED = 17


def rule(match, family):
    return f'[[rule]]\nmatch = ["{match}"]\nfamily = "{family}"\n'


class Families(Case):
    expected_seconds = 4

    def setUp(self):
        self.provider = self.lab()
        for name in ("both", "x.four", "six.pref", "dual.pref", "dual.six"):
            self.provider.record(f"{name}.lab.example", "AAAA", "2001:db8::7")
        for name in ("both", "x.four", "dual.pref", "dual.six"):
            self.provider.record(f"{name}.lab.example", "A", "192.0.2.7")

    def server(self, *rules, **options):
        return self.daemon([self.provider.provider("json")], sections="\n".join(rules), **options)

    def change(self, server, *rules):
        server.sections = "\n".join(rules)
        server.config.write_text(server.settings())
        return server.reload()

    def assertWithout(self, reply):
        self.assertEqual(("NOERROR", [], FILTERED), (reply.status, reply.answer, reply.extended_error))
        self.assertEqual([["60", "IN", "SOA"]], [record[1:4] for record in reply.section("AUTHORITY")])

    def requests(self):
        return self.provider.requests()["total"]

    def aaaa(self, server, name, *arguments):
        return dig(server, *arguments, f"{name}.lab.example", "AAAA")

    def test_an_excluded_family_gets_no_data_and_no_upstream_is_asked(self):
        server = self.server(rule("four.lab.example", "ipv4"), rule("six.lab.example", "ipv6"))
        for arguments in ((), ("+tcp",), ("+norecurse",)):
            self.assertWithout(self.aaaa(server, "x.four", *arguments))
            self.assertWithout(dig(server, *arguments, "dual.six.lab.example", "A"))
        self.assertEqual(0, self.requests())
        self.assertEqual({"192.0.2.7"}, dig(server, "x.four.lab.example", "A").data)
        self.assertEqual({"2001:db8::7"}, self.aaaa(server, "dual.six").data)
        self.assertEqual({"2001:db8::7"}, self.aaaa(server, "both").data)
        # The answer has no address of the other family.
        self.assertWithout(self.aaaa(server, "x.four"))
        listed = ctl(server, "cache", "ls").stdout
        self.assertIn("x.four.lab.example A ", listed)
        self.assertNotIn("x.four.lab.example AAAA", listed)
        explained = ctl(server, "explain", "x.four.lab.example", "AAAA").stdout
        self.assertIn("family = ipv4, by a rule", explained)
        self.assertSums(server.stats())

    def test_a_preferred_family_counts_if_the_name_has_it(self):
        server = self.server(rule("pref.lab.example", "prefer-ipv4"))
        self.assertWithout(self.aaaa(server, "dual.pref"))
        asked = self.requests()
        self.assertWithout(self.aaaa(server, "dual.pref"))
        self.assertEqual({"192.0.2.7"}, dig(server, "dual.pref.lab.example", "A").data)
        self.assertEqual(asked, self.requests(), "the IPv4 answer was cached")
        self.assertEqual({"2001:db8::7"}, self.aaaa(server, "six.pref").data)
        asked = self.requests()
        self.assertEqual({"2001:db8::7"}, self.aaaa(server, "six.pref").data)
        self.assertEqual(asked, self.requests(), "the IPv6 answer was cached")
        # The rule holds also while the upstreams fail, because the IPv4 answer is known.
        self.provider.kill()
        self.assertWithout(self.aaaa(server, "dual.pref"))
        self.assertSums(server.stats())

    def test_a_reload_applies_to_what_is_cached(self):
        server = self.server()
        self.assertEqual({"2001:db8::7"}, self.aaaa(server, "both").data)
        self.assertIn("settings", self.change(server, rule(".", "ipv4")))
        self.assertWithout(self.aaaa(server, "both"))
        self.assertIn("old ones stay in force", self.change(server, rule(".", "v6")))
        self.assertWithout(self.aaaa(server, "both"))
        self.assertIn("settings", self.change(server, rule(".", "ipv4"), rule("both.lab.example", "both")))
        self.assertEqual({"2001:db8::7"}, self.aaaa(server, "both").data)

    def test_a_restart_applies_to_what_is_stored(self):
        server = self.own(Daemon([self.provider.provider("json")]))
        server.store = server.directory / "cache.db"
        server.up()
        self.assertEqual({"2001:db8::7"}, self.aaaa(server, "both").data)
        self.assertEqual({"192.0.2.7"}, dig(server, "both.lab.example", "A").data)
        for family in ("prefer-ipv4", "ipv4"):
            server.stop()
            server.sections = rule(".", family)
            since = len(server.log)
            server.up()
            server.wait_for("answers? loaded from", since=since)
            eventually(lambda: "both.lab.example A " in ctl(server, "cache", "ls").stdout)
            self.assertNotIn("both.lab.example AAAA", ctl(server, "cache", "ls").stdout)
            self.assertWithout(self.aaaa(server, "both"))
