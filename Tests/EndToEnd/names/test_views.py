# Views: clients of a network with rules, providers and a client subnet of their own.

import os
import unittest

from cases import Case
from lan import Lan
from networks import FarLab
from paths import eventually
from programs import NSD, ctl

VIEW = """
[[view]]
name = "guests"
clients = ["192.168.77.20/32"]
{keys}
"""
RULES = """
[[rule]]
match = ["blocked.lab.example"]
view = "guests"
answer = "nxdomain"
[[rule]]
match = ["alias.lab.example"]
view = "guests"
cname = "www.lab.example"
"""


@unittest.skipUnless(os.geteuid() == 0, "network namespaces need root")
class Views(Case):
    """The first client is in no view, the second one is a guest."""

    expected_seconds = 5
    ORDINARY, GUEST = 0, 1

    def setUp(self):
        self.lan = Lan()
        self.addCleanup(self.lan.remove)
        self.everyone, self.filtered = (self.lan.own(FarLab(self.lan.server)).up() for _ in range(2))
        for number, lab in enumerate((self.everyone, self.filtered), 1):
            for name in ("a", "blocked", "www", "alias"):
                lab.record(f"{name}.lab.example", "A", f"192.0.2.{number}", ttl=600)

    def serve(self, keys="", rules="", more=None, **options):
        own = self.filtered.provider("json", name="filtered", **{"views-only": True, **(more or {})})
        self.server = self.lan.daemon([self.everyone.provider("json"), own], **options)
        self.server.sections = VIEW.format(keys=keys) + rules
        self.server.up()

    def gets(self, *data, client, name):
        """Checks a client's addresses; None stands for this machine."""
        arguments = ("+short", name, "A")
        if client is None:
            text = self.lan.server.run("dig", "@127.0.0.1", "+tries=1", *arguments).stdout
        else:
            text = self.lan.dig(client, *arguments)
        self.assertEqual(list(data), text.split(), (client, name))

    def explained(self, name, *arguments):
        return ctl(self.server, "explain", name, *arguments).stdout

    def test_each_client_is_answered_by_its_own_provider_also_from_the_cache(self):
        self.serve('providers = ["filtered"]')
        for _ in range(2):
            self.gets("192.0.2.1", client=self.ORDINARY, name="a.lab.example")
            self.gets("192.0.2.2", client=self.GUEST, name="a.lab.example")
            self.gets("192.0.2.1", client=None, name="a.lab.example")
        self.assertEqual((1, 1), (self.everyone.asked("a.lab.example"), self.filtered.asked("a.lab.example")))
        self.assertIn("view guests: filtered only", self.explained("a.lab.example", "--client", "192.168.77.20"))
        for client in ([], ["--client", "192.168.77.10"]):
            self.assertNotIn("view", self.explained("a.lab.example", *client))
        # A flush removes the answers of all views.
        ctl(self.server, "flush", "a.lab.example")
        self.filtered.record("a.lab.example", "A", "192.0.2.3", ttl=600)
        self.gets("192.0.2.3", client=self.GUEST, name="a.lab.example")

    def test_rules_of_a_view_are_for_its_clients_alone(self):
        self.serve(rules=RULES)
        self.gets("192.0.2.1", client=self.ORDINARY, name="blocked.lab.example")
        self.gets(client=self.GUEST, name="blocked.lab.example")
        self.gets("192.0.2.1", client=None, name="blocked.lab.example")
        self.gets("www.lab.example.", "192.0.2.1", client=self.GUEST, name="alias.lab.example")
        self.gets("192.0.2.1", client=self.ORDINARY, name="alias.lab.example")
        text = self.explained("blocked.lab.example", "--client", "192.168.77.20")
        self.assertIn("view guests: answered by the daemon", text)
        self.assertRegex(text, r"line \d+ of .*httpdnsd.toml")
        self.assertIn("no rule matches", self.explained("blocked.lab.example"))

    def test_a_view_has_a_client_subnet_of_its_own(self):
        self.serve('client-subnet = "203.0.113.0/24"')
        for client in (self.ORDINARY, self.GUEST):
            self.gets("192.0.2.1", client=client, name="a.lab.example")
        targets = [request["target"] for request in self.everyone.requests()["recent"] if "a.lab" in request["target"]]
        told = ["203.0.113.0" in target for target in targets]
        self.assertEqual([False, True], told, targets)

    def test_a_change_of_the_views_leaves_no_answer_of_before(self):
        self.serve('providers = ["filtered"]')
        self.gets("192.0.2.2", client=self.GUEST, name="a.lab.example")
        self.server.sections = VIEW.format(keys="")
        self.server.config.write_text(self.server.settings())
        self.assertIn("reloaded", self.server.reload())
        self.gets("192.0.2.1", client=self.GUEST, name="a.lab.example")
        self.server.sections = ""
        self.server.config.write_text(self.server.settings())
        self.assertIn("reloaded", self.server.reload())
        self.gets("192.0.2.1", client=self.GUEST, name="a.lab.example")

    def test_a_change_of_the_views_leaves_the_answers_of_others(self):
        self.serve('providers = ["filtered"]')
        self.gets("192.0.2.1", client=self.ORDINARY, name="a.lab.example")
        self.server.sections = VIEW.format(keys="")
        self.server.config.write_text(self.server.settings())
        self.assertIn("reloaded", self.server.reload())
        self.gets("192.0.2.1", client=self.ORDINARY, name="a.lab.example")
        self.assertEqual(1, self.everyone.asked("a.lab.example"))

    def test_other_views_after_none_get_nothing_of_the_former_ones(self):
        self.serve('providers = ["filtered"]')
        self.gets("192.0.2.2", client=self.GUEST, name="a.lab.example")
        for sections in ("", VIEW.format(keys="").replace("guests", "others")):
            self.server.sections = sections
            self.server.config.write_text(self.server.settings())
            self.assertIn("reloaded", self.server.reload())
        self.gets("192.0.2.1", client=self.GUEST, name="a.lab.example")

    def test_several_views_change_in_one_reload(self):
        self.serve('providers = ["filtered"]')
        self.gets("192.0.2.1", client=self.ORDINARY, name="a.lab.example")
        self.gets("192.0.2.2", client=self.GUEST, name="a.lab.example")
        # The former view comes second and is unchanged.
        new = VIEW.replace("guests", "office").replace("77.20/", "77.10/").format(keys='providers = ["filtered"]')
        for sections, ordinary, asked in (
                (new + VIEW.format(keys='providers = ["filtered"]'), "192.0.2.2", 2),
                # The former view is removed, and the new one changes.
                (new.replace('providers = ["filtered"]', 'client-subnet = "203.0.113.0/24"'), "192.0.2.1", 2)):
            self.server.sections = sections
            self.server.config.write_text(self.server.settings())
            self.assertIn("reloaded", self.server.reload())
            self.gets(ordinary, client=self.ORDINARY, name="a.lab.example")
            self.gets("192.0.2.2" if "guests" in sections else "192.0.2.1", client=self.GUEST, name="a.lab.example")
            self.assertEqual(asked, self.filtered.asked("a.lab.example"))
        # The answer of all other clients is cached, and the view needs another one.
        self.assertEqual(2, self.everyone.asked("a.lab.example"))

    def test_a_new_client_subnet_of_a_view_asks_anew(self):
        for number, subnet in enumerate(("203.0.113.0/24", "198.51.100.0/24"), 1):
            if number == 1:
                self.serve(f'client-subnet = "{subnet}"')
            else:
                self.server.sections = VIEW.format(keys=f'client-subnet = "{subnet}"')
                self.server.config.write_text(self.server.settings())
                self.assertIn("reloaded", self.server.reload())
            self.gets("192.0.2.1", client=self.GUEST, name="a.lab.example")
            self.assertEqual(number, self.everyone.asked("a.lab.example"))

    def test_the_failure_of_a_views_provider_leaves_the_others_alone(self):
        system = self.lan.own(NSD(prefix=self.lan.server.prefix))
        self.lan.server.within(system.up)
        self.serve('providers = ["filtered"]', system=[system.server])
        self.filtered.fault("status", "filtered", value=500)
        self.gets("192.0.2.1", client=self.ORDINARY, name="a.lab.example")
        asked = self.everyone.asked("b.lab.example")
        self.assertIn("SERVFAIL", self.lan.dig(self.GUEST, "b.lab.example"))
        self.assertEqual(asked, self.everyone.asked("b.lab.example"), "no provider of others is asked for a guest")
        # The system resolver does not filter.
        self.assertIn("SERVFAIL", self.lan.dig(self.GUEST, "b.any.lab.example"))
        self.everyone.fault("reset", "json")
        self.gets("203.0.113.99", client=self.ORDINARY, name="b.any.lab.example")

    def test_the_store_has_no_answer_of_a_view(self):
        self.serve('providers = ["filtered"]')
        self.gets("192.0.2.2", client=self.GUEST, name="a.lab.example")
        self.server.stop()
        self.server.run()
        eventually(lambda: ctl(self.server, "status").returncode == 0, what="the daemon is back")
        self.gets("192.0.2.1", client=self.ORDINARY, name="a.lab.example")
        self.gets("192.0.2.2", client=self.GUEST, name="a.lab.example")
