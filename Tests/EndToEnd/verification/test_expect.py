# Answers that contradict a rule's expectation: no client gets them, no cache keeps them, from any upstream, and
# operators see them.

import fcntl
import json
import socket
import tempfile
import time
from pathlib import Path

from cases import Case, closed_provider
from dig import dig
from fakes import FakeNameserver, question, reply
from paths import eventually
from programs import Daemon, ctl

NAME, OTHER = "mqtt.site.example", "www.site.example"
GENUINE, FORGED = "192.0.2.7", "203.0.113.66"
RULE = f'[[rule]]\nmatch = ["{NAME}"]\nexpect = {{cname = true, max-ttl = "1h", within = ["192.0.2.0/24"]}}\n'
HEAD = "$ORIGIN site.example.\n$TTL 2\n@ SOA ns hostmaster 1 7200 900 1209600 30\n@ NS ns\n"
HONEST = HEAD + f"mqtt CNAME edge\nedge A {GENUINE}\nwww A {GENUINE}\n"
FORGING = HEAD + f"mqtt A {FORGED}\nwww A {FORGED}\n"


class Expect(Case):
    expected_seconds = 20

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="e2e-expect-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def provider(self, name, zone, kind="json"):
        file = self.folder / f"{name}.zone"
        file.write_text(zone)
        lab = self.lab(zone=file)
        return lab, lab.provider(kind, name)

    def forging_system(self, ttl=600):
        """A nameserver with the same answer for every name."""
        def respond(query, is_stream):
            owner, type = question(query)
            return [reply(query, [(owner, 1, ttl, socket.inet_aton(FORGED))] if type == 1 else [])]
        nameserver = FakeNameserver(respond)
        self.addCleanup(nameserver.close)
        return nameserver.server

    def evidence(self, server):
        return json.loads(ctl(server, "--json", "evidence").stdout)["evidence"]

    def reload(self, server, sections):
        server.sections = sections
        server.config.write_text(server.settings())
        server.reload()

    def provider_stats(self, server, name):
        return next(each for each in server.stats()["providers"] if each["name"] == name)

    def test_a_forging_provider_leads_no_client_astray_and_keeps_its_other_names(self):
        honest, honest_settings = self.provider("honest", HONEST)
        liar, liar_settings = self.provider("liar", FORGING)
        honest.fault("delay", value=60)
        server = self.daemon([liar_settings, honest_settings], system=[self.forging_system()], sections=RULE)
        end = time.monotonic() + 6
        while time.monotonic() < end:
            self.assertEqual({"edge.site.example.", GENUINE}, dig(server, NAME, "A").data)
            time.sleep(0.05)
        self.assertGreaterEqual(liar.asked(NAME), 1)
        report = self.evidence(server)[0]
        self.assertEqual(("liar", FORGED, "contradicts-expect", 0), tuple(
            report["mismatched"][key] for key in ("source", "address", "verdict", "port")))
        self.assertIn(f"{FORGED} against expect of the rule for {NAME}", report["mismatched"]["detail"])
        self.assertNotIn("verified", report)
        self.assertIn("contradicts-expect", ctl(server, "evidence").stdout)
        # Many contradicting answers cause one report.
        self.assertEqual(1, sum(each["mismatched"]["source"] == "liar" for each in self.evidence(server)))
        liar_stats = self.provider_stats(server, "liar")
        self.assertGreaterEqual(liar_stats["contradictions"], 1)
        self.assertEqual((1, "up", 0), tuple(liar_stats[key] for key in ("trust", "state", "divergences")))
        self.assertEqual(0, self.provider_stats(server, "honest")["contradictions"])
        explained = ctl(server, "explain", NAME, "A").stdout
        self.assertIn("refused as forged: ", explained)
        self.assertIn("expect = {cname = true, max-ttl = 3600s, within = [192.0.2.0/24]}", explained)
        server.wait_for(f"liar returned a forged answer for {NAME}: ")
        # The rule does not cover this name.
        self.assertEqual({FORGED}, dig(server, OTHER, "A").data)

    def test_if_every_upstream_forges_clients_get_an_expired_answer_or_an_error_with_the_reason(self):
        lab, settings = self.provider("vendor", HONEST)
        server = self.daemon([settings], system=[self.forging_system()], sections=RULE)
        self.assertEqual({"edge.site.example.", GENUINE}, dig(server, NAME, "A").data)
        lab.record(NAME, "A", FORGED, ttl=60)
        lab.record(f"x.{NAME}", "A", FORGED, ttl=60)

        def is_expired():
            found = dig(server, NAME, "A")
            self.assertLessEqual(found.data, {"edge.site.example.", GENUINE})
            return found.extended_error == 3
        eventually(is_expired, what="an expired answer in place of forged ones")
        for _ in range(2):
            failed = dig(server, f"x.{NAME}", "A")
            self.assertEqual(("SERVFAIL", 0), (failed.status, failed.extended_error))
            self.assertRegex(failed.text, rf"EDE: 0 .*against expect of the rule for {NAME}")
        self.assertGreaterEqual(server.stats()["system"]["contradictions"], 1)

    def test_the_system_resolver_alone(self):
        server = self.daemon([closed_provider()], system=[self.forging_system()], sections=RULE)
        failed = dig(server, NAME, "A")
        self.assertEqual(("SERVFAIL", 0), (failed.status, failed.extended_error))
        self.assertEqual({FORGED}, dig(server, OTHER, "A").data)

    def test_a_reload_and_a_restart_with_other_expectations_drop_what_was_accepted_before(self):
        vendor, settings = self.provider("vendor", HEAD.replace("$TTL 2", "$TTL 600") + f"mqtt A {FORGED}\nwww A {FORGED}\n")
        server = self.own(Daemon([settings]))
        server.store = server.directory / "cache.db"
        server.up()
        for name in (NAME, OTHER):
            self.assertEqual({FORGED}, dig(server, name, "A").data)
        eventually(lambda: server.stats()["store"]["written"] >= 2, what="both answers in the store")
        self.reload(server, RULE)
        self.assertEqual("SERVFAIL", dig(server, NAME, "A").status)
        self.reload(server, "")
        self.assertEqual({FORGED}, dig(server, NAME, "A").data)
        eventually(lambda: server.stats()["store"]["written"] >= 3, what="the answer in the store again")
        server.stop()
        asked = vendor.asked(OTHER)
        server.sections = RULE
        server.up()
        eventually(lambda: server.stats()["store"]["loaded"] >= 2, what="the answers of the store")
        self.assertEqual("SERVFAIL", dig(server, NAME, "A").status)
        self.assertEqual({FORGED}, dig(server, OTHER, "A").data)
        self.assertEqual(asked, vendor.asked(OTHER), "the other name's answer was restored")

    def test_a_reload_before_the_store_is_read_hides_no_expectation_that_is_new_since_the_store_was_written(self):
        _, settings = self.provider("vendor", FORGING.replace("$TTL 2", "$TTL 600"))
        server = self.own(Daemon([settings]))
        server.store = server.directory / "cache.db"
        server.up()
        self.assertEqual({FORGED}, dig(server, NAME, "A").data)
        eventually(lambda: server.stats()["store"]["written"] >= 1, what="the answer in the store")
        server.stop()
        server.sections = RULE
        with open(f"{server.store}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            server.up()
            eventually(lambda: server.stats()["store"]["failures"] >= 1, what="the store in use elsewhere")
            self.reload(server, RULE + '[[rule]]\nmatch = ["unrelated.example"]\nexpect = {max-ttl = "1h"}\n')
        self.assertEqual({FORGED}, dig(server, OTHER, "A").data)
        eventually(lambda: server.stats()["store"]["loaded"] >= 1, what="the answer of the store")
        self.assertEqual("SERVFAIL", dig(server, NAME, "A").status)

    def test_a_restart_with_another_name_in_a_list_drops_what_was_accepted_before(self):
        _, settings = self.provider("vendor", FORGING.replace("$TTL 2", "$TTL 600"))
        server = self.own(Daemon([settings]))
        server.store, names = server.directory / "cache.db", server.directory / "names"
        names.write_text("unrelated.example\n")
        names.chmod(0o644)
        server.sections = RULE.replace(f'match = ["{NAME}"]', f'match-file = ["{names}"]')
        server.up()
        self.assertEqual({FORGED}, dig(server, NAME, "A").data)
        eventually(lambda: server.stats()["store"]["written"] >= 1, what="the answer in the store")
        server.stop()
        names.write_text(f"{NAME}\n")
        server.up()
        eventually(lambda: server.stats()["store"]["loaded"] >= 1, what="the answer of the store")
        self.assertEqual("SERVFAIL", dig(server, NAME, "A").status)
