# An operator's commands for providers in use: off, on, and tests.

import contextlib
import fcntl
import threading

from cases import Case
from dig import dig
from paths import eventually
from programs import ctl

NSD_ANY, LAB_ANY = {"203.0.113.99"}, {"192.0.2.99"}


class Switch(Case):
    expected_seconds = 6

    def setUp(self):
        self.provider = self.lab()

    def server(self, **options):
        return self.daemon([self.provider.provider("json")], system=[self.nsd().server], **options)

    def test_what_is_in_flight_when_httpdns_is_switched_off_is_not_kept(self):
        server = self.server()
        self.provider.fault("delay", value=600)
        with self.asked(server, "n0.any.lab.example") as replies:
            self.assertEqual(0, ctl(server, "httpdns", "off").returncode)
        self.assertEqual([LAB_ANY], replies)
        self.assertEqual(NSD_ANY, dig(server, "n0.any.lab.example", "A").data)

    def test_what_is_in_flight_when_a_rule_comes_is_not_kept(self):
        server = self.server()
        self.provider.fault("delay", value=600)
        with self.asked(server, "n0.any.lab.example") as replies:
            server.sections += '[[rule]]\nmatch = ["any.lab.example"]\nresolver = "system"\n'
            server.config.write_text(server.settings())
            self.assertIn("settings reloaded", server.reload())
        self.assertEqual([LAB_ANY], replies)
        self.assertEqual(NSD_ANY, dig(server, "n0.any.lab.example", "A").data)

    def test_a_restart_while_it_is_off_keeps_the_switch_and_the_answers(self):
        server = self.server(store=self.provider.directory / "cache.db")
        self.assertEqual(0, ctl(server, "httpdns", "off").returncode)
        self.assertEqual(NSD_ANY, dig(server, "n0.any.lab.example", "A").data)
        self.assertEqual(0, server.stop())
        server.up()
        eventually(lambda: server.stats()["cache"]["entries"], what="the answer is back")
        self.assertIn("off for all names", ctl(server, "status").stdout)
        self.assertEqual(NSD_ANY, dig(server, "n0.any.lab.example", "A").data)
        self.assertEqual(0, server.stats()["system"]["requests"])
        self.assertEqual(0, self.provider.requests()["total"])

    def test_one_name_without_a_rule_is_switched_off(self):
        server = self.server()
        self.assertEqual(0, ctl(server, "httpdns", "off", "n0.any.lab.example").returncode)
        self.assertEqual(NSD_ANY, dig(server, "sub.n0.any.lab.example", "A").data)
        self.assertEqual(LAB_ANY, dig(server, "n1.any.lab.example", "A").data)
        self.assertEqual(0, ctl(server, "httpdns", "on", "n0.any.lab.example").returncode)
        self.assertEqual(LAB_ANY, dig(server, "sub.n0.any.lab.example", "A").data)

    def test_a_switch_before_the_store_is_read_ends_none_of_the_stored_ones(self):
        server = self.server(store=self.provider.directory / "cache.db")
        self.assertEqual(0, ctl(server, "httpdns", "off", "n0.any.lab.example").returncode)
        self.assertEqual(0, server.stop())
        with open(f"{server.store}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            server.up()
            eventually(lambda: server.stats()["store"]["failures"] >= 1, what="the store in use elsewhere")
            self.assertEqual(LAB_ANY, dig(server, "n0.any.lab.example", "A").data)
            self.assertEqual(0, ctl(server, "httpdns", "off", "n1.any.lab.example").returncode)
        self.assertEqual(LAB_ANY, dig(server, "n2.any.lab.example", "A").data)
        for _ in range(2):
            eventually(lambda: "n0.any.lab.example" in ctl(server, "status").stdout, what="the stored switch")
            for name in ("n0", "n1"):
                self.assertEqual(NSD_ANY, dig(server, f"{name}.any.lab.example", "A").data)
            self.assertEqual(0, server.stop())
            server.up()

    @contextlib.contextmanager
    def asked(self, server, name):
        """Checks that a client's query reaches the provider and its reply comes at the end."""
        replies = []
        thread = threading.Thread(target=lambda: replies.append(dig(server, name, "A").data))
        thread.start()
        eventually(lambda: self.provider.asked(name))
        yield replies
        thread.join()


class Nodes(Case):
    expected_seconds = 15

    def test_a_list_of_dead_nodes_does_not_take_the_provider_away(self):
        provider = self.lab()
        # The lab's list has addresses without servers.
        server = self.daemon([provider.provider("alicloud", **{"service-nodes": True})])
        eventually(lambda: "192.0.2.53" in ctl(server, "providers").stdout, what="the list is there")

        def answers():
            self.number += 1
            return dig(server, f"n{self.number}.any.lab.example", "A").data == LAB_ANY
        self.number = 0
        eventually(answers, within=30, every=0.5)
        for number in range(20):
            reply = dig(server, f"m{number}.any.lab.example", "A")
            self.assertEqual(LAB_ANY, reply.data)


class Tests(Case):
    def test_a_clock_that_is_hours_off_fails_no_test(self):
        provider = self.lab()
        server = self.daemon([provider.provider("volcengine", idle="1s")])
        provider.fault("clock", provider="volcengine", value=7200)
        done = ctl(server, "providers", "test", "volcengine")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        provider.fault("status", provider="volcengine", value=403)
        done = ctl(server, "providers", "test", "volcengine")
        self.assertEqual(1, done.returncode)
        self.assertIn("HTTP status 403: the name is not in the account, or the account or key is wrong", done.stdout)
