# Names that only this network has (httpdnsctl network names): found by comparison with the system resolver, listed with
# evidence, and sent to it by rules that are written on request.

import json
import re
import socket
import time

from cases import Case
from dig import dig
from fakes import FakeNameserver, question, reply
from paths import eventually
from programs import ctl

SUFFIX = "corp.lab.example"
HERE = {f"git.{SUFFIX}": "10.1.2.1", f"wiki.{SUFFIX}": "10.1.2.2", f"ci.{SUFFIX}": "10.1.2.3"}
# The provider has the name, with public addresses.
OTHERWISE = {"www.lab.example": "192.168.9.9"}
ABSENT = "absent.lab.example"


class SplitHorizon(Case):
    expected_seconds = 25

    def setUp(self):
        self.said = {**HERE, **OTHERWISE}
        self.invents = False
        self.system = FakeNameserver(self.respond)
        self.addCleanup(self.system.close)
        self.provider = self.lab()

    def respond(self, query, is_stream):
        owner, type = question(query)
        address = self.said.get(owner) or (self.invents and "203.0.113.66")
        if type == 1 and address:
            return [reply(query, [(owner, 1, 60, socket.inet_aton(address))])]
        return [reply(query, flags=0x8180 if owner in self.said else 0x8183)]

    def server(self, compare):
        return self.daemon([self.provider.provider("json")], system="resolv.conf", sections=f"""[system-resolver]
servers = ["{self.system.server}"]
compare = "{compare}"
[cache]
max-ttl = "1s"
negative-max-ttl = "1s"
""")

    def asked_here(self):
        """The names that the system resolver was asked, without the daemon's checks for loops."""
        names = {question(query)[0] for query, _, _ in self.system.queries}
        return {name for name in names if not name.endswith("httpdnsd-loop.example")}

    def asked_elsewhere(self):
        """The provider's requests, without those for the name that no rule gets: it may be refreshed at any time."""
        return sum(count for name, count in self.provider.requests()["names"].items() if name != ABSENT)

    def ask(self, server, *names):
        """Asks each name five times, each time after the end of the last answer's life."""
        for _ in range(5):
            for name in names:
                dig(server, name, "A")
            time.sleep(1.1)

    def found(self, server):
        return json.loads(ctl(server, "network", "names", "--json").stdout)

    def test_names_are_found_with_evidence_and_rules_send_them_to_the_system_resolver(self):
        server = self.server("all")
        self.ask(server, *HERE, *OTHERWISE, ABSENT)
        wanted = {name: "only-here" for name in HERE} | {name: "private-here" for name in OTHERWISE}

        def kinds():
            dig(server, *OTHERWISE, "A")
            return {name["name"]: name["kind"] for name in self.found(server)["names"]}

        eventually(lambda: kinds() == wanted, within=10, every=0.5)
        found = self.found(server)
        self.assertEqual(
            [{"name": SUFFIX, "count": 3, "routed": False, "search_domain": False}], found["suffixes"])
        self.assertEqual([], found["invented"])
        by_name = {name["name"]: name for name in found["names"]}
        for name, address in HERE.items():
            here, elsewhere = by_name[name]["here"][0], by_name[name]["providers"][0]
            self.assertEqual(
                ("system", "A", [{"address": address, "verdict": "unprobed"}]),
                (here["source"], here["type"], here["addresses"]))
            self.assertEqual(
                ("json", "no such name", []), (elsewhere["source"], elsewhere["answer"], elsewhere["addresses"]))
            self.assertEqual(SUFFIX, by_name[name]["suffix"])
        # The invented name is the only other one that the network got to know, and no provider got to know more.
        invented = self.asked_here() - {*HERE, *OTHERWISE, ABSENT}
        self.assertEqual(1, len(invented), invented)
        self.assertRegex(invented.pop(), r"^www\.[a-z]{14}\.com$")
        self.assertLessEqual(set(self.provider.requests()["names"]), {*HERE, *OTHERWISE, ABSENT})

        text = ctl(server, "network", "names").stdout
        self.assertIn(
            f"{SUFFIX}: suffix of 3 names; httpdnsctl rule add {SUFFIX} resolver=system\n"
            f"ci.{SUFFIX}: only-here; in {SUFFIX}\n  system A 10.1.2.3, ", text)
        self.assertRegex(text, r"\n  json A no such name, [0-9]+s ago\n")
        self.assertRegex(text, r"\n; 4 names and 1 suffix( on network [0-9a-f]{8})?\n$")

        # Until a rule is written, the providers decide.
        self.assertEqual("NXDOMAIN", dig(server, f"git.{SUFFIX}", "A").status)
        text = ctl(server, "network", "names", "--write").stdout
        self.assertIn(f"added {SUFFIX}: resolver=system, at most until", text)
        self.assertIn("added www.lab.example: resolver=system, at most until", text)
        added = [line.partition(":")[0] for line in ctl(server, "rule", "ls").stdout.splitlines()]
        self.assertEqual({SUFFIX, "www.lab.example"}, set(added))
        before = self.asked_elsewhere()
        self.said[f"new.{SUFFIX}"] = "10.1.2.4"
        for name, address in self.said.items():
            self.assertEqual({address}, dig(server, name, "A").data, name)
        self.assertEqual(before, self.asked_elsewhere())
        found = self.found(server)
        self.assertTrue(all(suffix["routed"] for suffix in found["suffixes"]), found)
        self.assertIn("a rule has it", ctl(server, "network", "names").stdout)
        self.assertNotIn("added", ctl(server, "network", "names", "--write").stdout)

    def test_only_denied_names_are_compared_by_default_and_none_by_never(self):
        for compare, wanted in (("denied", {f"git.{SUFFIX}"}), ("never", set())):
            with self.subTest(compare):
                del self.system.queries[:]
                server = self.server(compare)
                dig(server, f"wiki.{SUFFIX}", "A")
                self.ask(server, f"git.{SUFFIX}", "www.lab.example")
                if wanted:
                    eventually(lambda: [name["name"] for name in self.found(server)["names"]] == [*wanted])
                invented = {name for name in self.asked_here() if re.fullmatch(r"www\.[a-z]{14}\.com", name)}
                self.assertEqual(len(wanted), len(invented))
                self.assertEqual(wanted, self.asked_here() - invented)
                self.assertEqual([name for name in wanted], [name["name"] for name in self.found(server)["names"]])

    def test_addresses_that_the_resolver_invents_are_no_names_of_the_network(self):
        self.invents = True
        server = self.server("denied")
        self.ask(server, ABSENT, f"git.{SUFFIX}")
        eventually(lambda: self.found(server)["invented"] == ["203.0.113.66"])
        self.assertEqual([f"git.{SUFFIX}"], [name["name"] for name in self.found(server)["names"]])
        self.assertIn(ABSENT, self.asked_here())
        self.assertIn(
            "The system resolver answers for names that do not exist, with 203.0.113.66. ",
            ctl(server, "network", "names").stdout)
