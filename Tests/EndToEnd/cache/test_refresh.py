# Names in use are refreshed before they expire, so that no client waits; names without queries are left alone.

import time

from cases import LAB_WWW, Case
from dig import dig
from paths import eventually
from programs import ctl
from wire import NOERROR, Datagrams, Stream

ADDRESSES = {"A": "192.0.2.99", "AAAA": "2001:db8::99"}
# The number of successive refreshes without a query.
MAX_UNREAD = 10
# The number of late refreshes that a short stall of the machine may cause among hundreds of questions.
STALLS = 1


class InUse(Case):
    def setUp(self):
        self.provider = self.lab()

    def record(self, name, ttl):
        for type, address in ADDRESSES.items():
            self.provider.record(name, type, address, ttl=ttl)

    def ask(self, clients, seconds):
        """Asks repeatedly, for each pair of a client and a name, for both families; returns the number of questions."""
        count, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            for client, name in clients:
                for type, address in ADDRESSES.items():
                    reply = client.ask(name, type)
                    self.assertEqual((NOERROR, {address}), (reply.rcode, reply.addresses), name)
                    self.assertGreater(reply.answers[0][3], 0)
                    count += 1
            time.sleep(0.02)
        return count

    def asked(self, name, type="A"):
        return self.provider.requests()["questions"].get(f"json {name} {type}", 0)

    def assertAddsUp(self, prefetch):
        self.assertEqual(prefetch["started"], prefetch["succeeded"] + prefetch["failed"], prefetch)

    def quiet(self, server, name, seconds):
        """Waits until the name had no upstream request for `seconds`."""
        last = [self.asked(name), time.monotonic()]

        def is_quiet():
            now = self.asked(name)
            if now != last[0]:
                last[:] = [now, time.monotonic()]
            return time.monotonic() - last[1] > seconds
        eventually(is_quiet, what=f"{name} is left alone", every=0.1)
        return last[0]


class Kept(InUse):
    expected_seconds = 8

    def test_a_kept_name_is_fresh_without_a_query(self):
        """A kept name gets more refreshes than a name without queries, although no other name is refreshed."""
        self.record("kept.lab.example", 1)
        server = self.daemon(
            [self.provider.provider("json")], sections='[prefetch]\nenabled = false\nkeep = ["kept.lab.example"]\n')
        eventually(lambda: self.asked("kept.lab.example") > 4, what="it is refreshed")
        with Datagrams(server.address) as client:
            self.assertEqual({ADDRESSES["A"]}, client.ask("kept.lab.example").addresses)
        self.assertEqual(1, server.stats()["responses"]["cache"])
        self.assertRegex(ctl(server, "explain", "kept.lab.example").stdout, r"refresh  in \ds, as \[prefetch\] keep has it;")
        server.sections = server.sections.replace('["kept.lab.example"]', "[]")
        server.config.write_text(server.settings())
        server.reload()
        self.quiet(server, "kept.lab.example", 3)


class KeptLong(InUse):
    NAMES = ("kept.lab.example", "other.lab.example")
    expected_seconds = 8

    def questions(self):
        return [self.asked(name, type) for name in self.NAMES for type in ADDRESSES]

    def test_neither_reloads_nor_a_restart_ask_for_a_fresh_kept_name(self):
        for name in self.NAMES:
            self.record(name, 600)
        names = ", ".join(f'"{name}"' for name in self.NAMES)
        server = self.daemon(
            [self.provider.provider("json")], sections=f"[prefetch]\nenabled = false\nkeep = [{names}]\n",
            store=self.provider.directory / "cache.db")
        eventually(lambda: self.questions() == [1, 1, 1, 1], what="each is resolved once")
        for _ in range(3):
            server.reload()
        eventually(lambda: server.stats()["store"]["written"] >= 4, what="the answers are in the store")
        self.assertEqual(0, server.stop())
        server.up()
        server.wait_for("4 answers loaded from ")
        time.sleep(1)
        self.assertEqual([1, 1, 1, 1], self.questions())
        self.assertRegex(ctl(server, "explain", self.NAMES[0]).stdout, "refresh  in .*, as \\[prefetch\\] keep has it;")
        # A query with RD=0 is answered and counts as no use.
        self.assertEqual({ADDRESSES["A"]}, dig(server, "+norecurse", self.NAMES[0], "A").data)
        self.assertEqual(0, server.stats()["prefetch"]["used"])


class NobodyWaits(InUse):
    expected_seconds = 8
    TTL = 2
    SECONDS = 6.5

    def test_not_even_for_a_slow_provider(self):
        for name in ("one.lab.example", "two.lab.example"):
            self.record(name, self.TTL)
        self.provider.fault("delay", value=300)
        server = self.daemon([self.provider.provider("json")])
        with Datagrams(server.address) as datagrams, Stream(server.address) as stream:
            count = self.ask([(datagrams, "one.lab.example"), (stream, "two.lab.example")], self.SECONDS)
        stats = server.stats()
        # Only the first question of each name and type waits.
        waited = stats["responses"]["provider"]
        self.assertLessEqual(waited, 4 + STALLS)
        self.assertEqual(count - waited, stats["responses"]["cache"])
        self.assertSums(stats)
        prefetch = stats["prefetch"]
        self.assertEqual(0, prefetch["failed"])
        self.assertGreaterEqual(prefetch["used"], 4 * (self.SECONDS // self.TTL - 1))
        for name in ("one.lab.example", "two.lab.example"):
            for type in ADDRESSES:
                # Refreshes at twice the rate of expiry would be too frequent.
                self.assertLessEqual(self.asked(name, type), 2 * self.SECONDS / self.TTL)
        eventually(lambda: (now := server.stats()["prefetch"])["started"] == now["succeeded"] + now["failed"])


class NobodyAsks(InUse):
    expected_seconds = 15

    def test_what_is_not_asked_any_more_is_left_alone(self):
        self.record("once.lab.example", 1)
        server = self.daemon([self.provider.provider("json")])
        with Datagrams(server.address) as client:
            self.ask([(client, "once.lab.example")], 1.5)
        before = self.asked("once.lab.example")
        self.assertGreaterEqual(before, 2)
        after = self.quiet(server, "once.lab.example", 3)
        self.assertLessEqual(after - before, MAX_UNREAD + 1)
        prefetch = server.stats()["prefetch"]
        self.assertAddsUp(prefetch)
        self.assertLess(prefetch["used"], prefetch["succeeded"])


class Unwanted(InUse):
    expected_seconds = 5

    def test_settings_and_rules_turn_it_off(self):
        names = ["off.lab.example", "below.off.lab.example", "on.lab.example"]
        for name in names:
            self.record(name, 1)
        server = self.daemon(
            [self.provider.provider("json")], sections='[[rule]]\nmatch = ["off.lab.example"]\nprefetch = false')
        with Datagrams(server.address) as client:
            for name in names:
                client.ask(name)
            eventually(lambda: client.ask("on.lab.example") and self.asked("on.lab.example") >= 3, every=0.1)
        # The client's own question is the only one.
        self.assertEqual([1, 1], [self.asked(name) for name in names[:2]])

        server.config.write_text(server.settings() + "\n[prefetch]\nenabled = false\n")
        server.reload()
        with Datagrams(server.address) as client:
            client.ask("on.lab.example")
            # The refresh was in flight before.
            eventually(lambda: (now := server.stats()["prefetch"])["started"] == now["succeeded"] + now["failed"])
            before, started = server.stats()["responses"]["provider"], server.stats()["prefetch"]["started"]
            eventually(lambda: client.ask("on.lab.example")
                       and server.stats()["responses"]["provider"] >= before + 2, every=0.1)
        self.assertEqual(started, server.stats()["prefetch"]["started"])


class Wanted(InUse):
    def test_names_of_the_settings_are_there_before_the_first_question(self):
        for enabled in ("true", "false"):
            with self.subTest(enabled=enabled):
                server = self.daemon(
                    [self.provider.provider("json")],
                    sections=f'[prefetch]\nenabled = {enabled}\nnames = ["www.lab.example", "shop.lab.example"]')
                eventually(lambda: server.stats()["cache"]["entries"] == 4)
                before = self.provider.requests()["total"]
                self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
                self.assertEqual({"2001:db8::10", "2001:db8::11"}, dig(server, "www.lab.example", "AAAA").data)
                self.assertIn("192.0.2.70", dig(server, "+tcp", "shop.lab.example", "A").data)
                stats = server.stats()
                self.assertEqual((before, 3), (self.provider.requests()["total"], stats["responses"]["cache"]))
                self.assertEqual((4, 4), (stats["prefetch"]["started"], stats["prefetch"]["succeeded"]))

    def test_a_provider_that_comes_later_is_asked_for_them_as_well(self):
        self.provider.fault("status", value=503)
        server = self.daemon(
            [self.provider.provider("json")], sections='[prefetch]\nnames = ["www.lab.example"]')
        eventually(lambda: server.stats()["prefetch"]["failed"] >= 2)
        self.provider.reset()
        # The next attempt is due after 5 s.
        eventually(lambda: server.stats()["cache"]["entries"] == 2, within=9)

    def test_a_name_by_command_although_nobody_may_refresh(self):
        server = self.daemon([self.provider.provider("json")], sections="[prefetch]\nenabled = false")
        self.assertEqual("fetching 1 name\n", ctl(server, "prefetch", "www.lab.example").stdout)
        eventually(lambda: server.stats()["cache"]["entries"] == 2)
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.assertEqual(1, server.stats()["responses"]["cache"])
