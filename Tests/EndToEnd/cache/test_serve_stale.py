# Expired answers: ideas of BIND's system test "serve_stale" in tests of our own. They cover every type, negative
# answers, aliases, refreshes after an answer, bounds, and changes at run time; test_stale.py covers the other ideas.

import time

from cases import LAB_WWW, rule
from dig import dig
from paths import eventually
from programs import Daemon, ctl
from test_stale import NEW, OLD, STILL, Expired
from wire import NOERROR, Stream, opt, query

NEGATIVE = rule("lab.example", stale_negative="true")
AT_ONCE = 'client-timeout = "0s"'
# StreamConnection.maxInFlight, and the bound on clients that wait for one lookup.
IN_FLIGHT, WAITING = 64, 2048


class ServeStale(Expired):
    """RFC 8767, sections 4 to 6, and RFC 8914, sections 4.4 and 4.20; the ideas are those of BIND's system test
    "serve_stale". The provider's answers have every type, and negative ones their SOA record."""

    def server(self, stale="", sections=STILL, cache="", **provider):
        return self.daemon([self.provider.provider("doh", **provider)], sections=self.sections(stale, sections, cache))

    def sections(self, stale="", sections=STILL, cache=""):
        return f'[cache]\n{cache}\n[stale]\nanswer-ttl = "7s"\n{stale}\n{sections}'

    def change(self, server, stale):
        server.sections = self.sections(stale)
        self.reload(server)

    def reload(self, server):
        server.config.write_text(server.settings())
        self.assertIn("settings reloaded", server.reload())

    def learn(self, server, *questions):
        """Asks the questions, each a name or a pair of name and type, and waits until the answers have expired."""
        questions = [(each, "A") if isinstance(each, str) else each for each in questions]
        for name, type in questions:
            dig(server, name, type)
        for name, type in questions:
            line = f"{name} {type} expired"
            eventually(lambda: line in ctl(server, "cache", "ls", name).stdout, what=line)

    def assertAllStale(self, replies):
        self.assertEqual({(NOERROR, 3, 7, OLD)}, {
            (each.rcode, each.extended_error, each.answers[0][3], *each.addresses) for each in replies})

    def records(self, reply, section="ANSWER"):
        """The records as TTL, type and data."""
        return [[record[1], *record[3:]] for record in reply.section(section)]


class Kinds(ServeStale):
    expected_seconds = 8

    def test_each_type_has_its_own_expired_answer(self):
        given = {"A": OLD, "AAAA": "2001:db8::1", "MX": "10 mail.lab.example.", "TXT": '"a text"'}
        for type, data in given.items():
            self.provider.record("kinds.lab.example", type, data, ttl=1)
        server = self.server()
        self.learn(server, *(("kinds.lab.example", type) for type in given))
        self.assertEqual({'"one string" "and another \\"quoted\\" one"'}, dig(server, "text.lab.example", "TXT").data)
        self.provider.kill()
        for type, data in given.items():
            with self.subTest(type):
                reply = dig(server, "kinds.lab.example", type)
                self.assertEqual(("NOERROR", 3, [["7", type, data]]),
                                 (reply.status, reply.extended_error, self.records(reply)), reply.text)
        # A type without an entry fails, and a fresh answer has no mark.
        self.assertFailed(dig(server, "kinds.lab.example", "SRV"))
        fresh = dig(server, "text.lab.example", "TXT")
        self.assertEqual(("NOERROR", None), (fresh.status, fresh.extended_error))
        self.assertGreater(int(fresh.answer[0][1]), 200)

    def test_the_soa_of_an_expired_negative_answer_has_the_same_ttl(self):
        server = self.server(sections=STILL + NEGATIVE, cache='negative-max-ttl = "1s"')
        names = {"nothing.lab.example": ("NXDOMAIN", 19), "v6only.lab.example": ("NOERROR", 3)}
        self.learn(server, *names)
        self.provider.kill()
        for name, wanted in names.items():
            with self.subTest(name):
                reply = dig(server, name, "A")
                self.assertEqual(wanted, (reply.status, reply.extended_error), reply.text)
                self.assertEqual([["7", "SOA"]], [each[:2] for each in self.records(reply, "AUTHORITY")], reply.text)

    def test_a_dump_tells_expired_answers_from_fresh_ones(self):
        server = self.server()
        self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
        self.learn(server, "old.lab.example")
        lines = ctl(server, "cache", "dump").stdout.splitlines()
        for name, count, state in (("old", 1, r"expired -?\d+"), ("www", 2, r"fresh \d+")):
            found = [line for line in lines if line.startswith(f"{name}.lab.example.")]
            self.assertEqual(count, len(found), lines)
            for line in found:
                self.assertRegex(line, rf"; {name}\.lab\.example A {state} doh NOERROR$")


class Chains(ServeStale):
    """An answer with aliases is one entry of the cache, which expires with its shortest TTL."""
    expected_seconds = 10

    def chain(self, *ttls):
        """Adds aliases with these TTLs; the last TTL is that of the address. Returns the names."""
        names = [f"{'-'.join(map(str, ttls))}-{number}.lab.example" for number in range(len(ttls))]
        for name, target, ttl in zip(names, names[1:], ttls):
            self.provider.record(name, "CNAME", target + ".", ttl=ttl)
        self.provider.record(names[-1], "A", OLD, ttl=ttls[-1])
        return names

    def test_it_expires_with_its_shortest_ttl_and_is_refreshed_as_a_whole(self):
        chains = [self.chain(*ttls) for ttls in ((1, 300), (1, 300, 300), (300, 1, 1), (300, 300, 1))]
        server = self.server()
        self.learn(server, *(chain[0] for chain in chains))
        for chain in chains:
            # The target has an entry of its own.
            dig(server, chain[-1], "A")
        self.provider.fault("status", value=500)
        for chain in chains:
            with self.subTest(chain):
                asked = [self.provider.asked(name) for name in chain]
                reply = dig(server, chain[0], "A")
                aliases = [["7", "CNAME", name + "."] for name in chain[1:]]
                self.assertEqual((3, [*aliases, ["7", "A", OLD]]),
                                 (reply.extended_error, self.records(reply)), reply.text)
                now = [self.provider.asked(name) for name in chain]
                self.assertGreater(now[0], asked[0])
                self.assertEqual(asked[1:], now[1:])
        self.assertFresh(dig(server, chains[0][-1], "A"), OLD)

    def test_an_alias_of_no_name_is_a_negative_answer(self):
        self.provider.record("lost.lab.example", "CNAME", "nowhere.lab.example.", ttl=1)
        self.provider.record("lost.kept.lab.example", "CNAME", "nowhere.lab.example.", ttl=1)
        server = self.server(sections=STILL + rule("kept.lab.example", stale_negative="true"))
        reply = dig(server, "lost.lab.example", "A")
        self.assertEqual(("NXDOMAIN", ["CNAME"]), (reply.status, reply.types), reply.text)
        self.learn(server, "lost.lab.example", "lost.kept.lab.example")
        self.provider.kill()
        self.assertFailed(dig(server, "lost.lab.example", "A"))
        reply = dig(server, "lost.kept.lab.example", "A")
        self.assertEqual(("NXDOMAIN", 19, [["7", "CNAME", "nowhere.lab.example."]]),
                         (reply.status, reply.extended_error, self.records(reply)), reply.text)

    def test_an_alias_becomes_an_address_and_an_address_an_alias(self):
        self.provider.record("alias.lab.example", "CNAME", "old.lab.example.", ttl=1)
        self.provider.record("plain.lab.example", "A", OLD, ttl=1)
        self.provider.record("target.lab.example", "A", NEW, ttl=60)
        server = self.server(AT_ONCE)
        self.learn(server, "alias.lab.example", "plain.lab.example")
        self.provider.record("alias.lab.example", "CNAME", "")
        self.provider.record("alias.lab.example", "A", NEW)
        self.provider.record("plain.lab.example", "A", "")
        self.provider.record("plain.lab.example", "CNAME", "target.lab.example.")
        for name, before, after in (
                ("alias.lab.example", ["CNAME", "A"], ["A"]), ("plain.lab.example", ["A"], ["CNAME", "A"])):
            with self.subTest(name):
                reply = dig(server, name, "A")
                self.assertEqual((before, 3), (reply.types, reply.extended_error), reply.text)
                reply = eventually(lambda: (reply := dig(server, name, "A")).types == after and reply)
                self.assertIsNone(reply.extended_error)
                self.assertIn(NEW, reply.data)
                self.assertGreater(min(int(record[1]) for record in reply.answer), 7)

    def test_the_mark_of_an_expired_target_ends_with_the_outage(self):
        """Aliases by rules: the extended error and the TTL of an expired target pass to no other answer."""
        self.provider.record("long.lab.example", "A", NEW, ttl=600)
        server = self.server('recheck = "1s"', STILL + rule("mine.lab.example", cname='"old.lab.example"')
                             + rule("other.lab.example", cname='"long.lab.example"'))
        self.learn(server, "old.lab.example")
        dig(server, "long.lab.example", "A")
        self.provider.fault("status", name="old.lab.example", value=500)
        reply = dig(server, "mine.lab.example", "A")
        self.assertEqual((3, OLD), (reply.extended_error, self.records(reply)[-1][2]), reply.text)
        self.assertIsNone(dig(server, "other.lab.example", "A").extended_error)
        self.provider.record("old.lab.example", "A", NEW, ttl=60)
        self.provider.fault("none", name="old.lab.example")
        reply = eventually(lambda: NEW in (reply := dig(server, "mine.lab.example", "A")).data and reply, every=0.2)
        self.assertEqual(("NOERROR", None), (reply.status, reply.extended_error), reply.text)
        self.assertGreater(int(reply.answer[-1][1]), 7)
        self.assertFresh(dig(server, "old.lab.example", "A"))


class AtOnce(ServeStale):
    """Expired answers are served before a refresh (client-timeout 0)."""
    expected_seconds = 8

    def test_a_fresh_negative_answer_is_not_refreshed(self):
        server = self.server(AT_ONCE, STILL + NEGATIVE)
        names = {"nothing.lab.example": "NXDOMAIN", "v6only.lab.example": "NOERROR"}
        for _ in range(4):
            for name, status in names.items():
                reply = dig(server, name, "A")
                self.assertEqual((status, [], None), (reply.status, reply.answer, reply.extended_error), reply.text)
        # The daemon counts a request when it sends it.
        self.assertEqual(2, server.stats()["providers"][0]["requests"])
        self.assertEqual(6, server.stats()["responses"]["cache"])
        self.assertCauses(server)

    def test_an_expired_negative_answer_gives_way_to_an_address(self):
        server = self.server(AT_ONCE, STILL + NEGATIVE, cache='negative-max-ttl = "1s"')
        names = {"nothing.lab.example": ("NXDOMAIN", 19), "v6only.lab.example": ("NOERROR", 3)}
        self.learn(server, *names)
        for name, wanted in names.items():
            self.provider.record(name, "A", NEW, ttl=60)
            reply = dig(server, name, "A")
            self.assertEqual((*wanted, []), (reply.status, reply.extended_error, reply.answer), reply.text)
            eventually(lambda: f"{name} A fresh" in ctl(server, "cache", "ls", name).stdout)
            self.assertFresh(dig(server, name, "A"))

    def test_a_refresh_that_failed_is_repeated_after_recheck(self):
        server = self.server(AT_ONCE + '\nrecheck = "1h"')
        self.learn(server, "old.lab.example")
        self.provider.fault("status", name="old.lab.example", value=500)
        self.assertStale(dig(server, "old.lab.example", "A"))
        eventually(lambda: "every upstream failed" in ctl(server, "explain", "old.lab.example").stdout)
        self.provider.record("old.lab.example", "A", NEW, ttl=60)
        self.provider.fault("none", name="old.lab.example")
        asked = self.provider.asked("old.lab.example")
        for _ in range(3):
            self.assertStale(dig(server, "old.lab.example", "A"))
        self.assertCauses(server, timeout=1, recheck=3)
        self.assertEqual(asked, self.provider.asked("old.lab.example"))
        self.change(server, AT_ONCE + '\nrecheck = "1s"')
        self.assertStale(dig(server, "old.lab.example", "A"))
        eventually(lambda: dig(server, "old.lab.example", "A").data == {NEW}, every=0.1)
        self.assertFresh(dig(server, "old.lab.example", "A"))
        self.assertEqual(asked + 1, self.provider.asked("old.lab.example"))

    def test_many_clients_of_one_expired_name_cost_one_request(self):
        server = self.server(AT_ONCE)
        self.learn(server, "old.lab.example")
        self.provider.fault("hang")
        with Stream(server.address) as client:
            for _ in range(10):
                client.send(*(query("old.lab.example", id=id, edns=opt()) for id in range(IN_FLIGHT)))
                self.assertAllStale([client.receive() for _ in range(IN_FLIGHT)])
        self.assertEqual(2, server.stats()["providers"][0]["requests"])


class Bounds(ServeStale):
    expected_seconds = 12

    def test_a_client_without_room_to_wait_gets_the_expired_answer_at_once(self):
        server = self.server('client-timeout = "4s"', timeout="15s")
        self.learn(server, "old.lab.example")
        self.provider.fault("hang")
        clients = [Stream(server.address, timeout=20) for _ in range(WAITING // IN_FLIGHT + 4)]
        for client in clients:
            self.addCleanup(client.socket.close)
            client.send(*(query("old.lab.example", id=id, edns=opt()) for id in range(IN_FLIGHT)))
        self.assertAllStale([client.receive() for client in clients for _ in range(IN_FLIGHT)])
        self.assertCauses(server, failure=4 * IN_FLIGHT, timeout=WAITING)

    def test_a_quota_is_no_failure_of_the_name(self):
        server = self.server('recheck = "1h"', quota="1/month")
        self.learn(server, "old.lab.example")
        self.provider.record("old.lab.example", "A", NEW, ttl=60)
        for _ in range(2):
            self.assertStale(dig(server, "old.lab.example", "A"))
        self.assertEqual(1, self.provider.asked("old.lab.example"))
        server.providers[0]["quota"] = "1000/month"
        self.reload(server)
        self.assertFresh(dig(server, "old.lab.example", "A"))


class Settings(ServeStale):
    expected_seconds = 12

    def test_the_defaults(self):
        server = self.daemon([self.provider.provider("doh")], sections=STILL)
        self.learn(server, "old.lab.example")
        self.provider.fault("hang")
        reply = dig(server, "old.lab.example", "A")
        self.assertEqual((3, [["30", "A", OLD]]), (reply.extended_error, self.records(reply)), reply.text)
        self.assertGreaterEqual(reply.seconds, 1.79)
        self.assertCauses(server, timeout=1)

    def test_a_rule_at_run_time_ends_it_and_its_removal_brings_it_back(self):
        for type, data in (("A", OLD), ("TXT", '"a text"')):
            self.provider.record("kinds.lab.example", type, data, ttl=1)
        self.provider.record("long.lab.example", "A", NEW, ttl=600)
        server = self.server(sections=STILL + NEGATIVE, cache='negative-max-ttl = "1s"')
        questions = [("kinds.lab.example", "A"), ("kinds.lab.example", "TXT"), ("nothing.lab.example", "A"),
                     ("v6only.lab.example", "A")]
        self.learn(server, *questions)
        dig(server, "long.lab.example", "A")
        self.provider.kill()

        def answers():
            return [(reply.status, reply.extended_error) for reply in (dig(server, *each) for each in questions)]
        served = [("NOERROR", 3), ("NOERROR", 3), ("NXDOMAIN", 19), ("NOERROR", 3)]
        self.assertEqual(served, answers())
        self.assertEqual(0, ctl(server, "rule", "add", "lab.example", "stale=false").returncode)
        for question in questions:
            self.assertFailed(dig(server, *question))
        self.assertFresh(dig(server, "long.lab.example", "A"))
        self.assertEqual(0, ctl(server, "rule", "rm", "lab.example").returncode)
        self.assertEqual(served, answers())
        self.assertSums(server.stats())

    def test_a_flush_of_everything_leaves_the_settings(self):
        server = self.server()
        self.learn(server, "old.lab.example")
        self.assertEqual(0, ctl(server, "flush", "--all").returncode)
        self.learn(server, "old.lab.example")
        self.provider.kill()
        self.assertStale(dig(server, "old.lab.example", "A"))

    def test_a_restart_brings_back_no_answer_that_is_too_old(self):
        server = self.own(Daemon([self.provider.provider("doh")], sections='[stale]\nmax-age = "2s"\n' + STILL))
        server.store = server.directory / "cache.db"
        server.up()
        self.provider.record("long.lab.example", "A", NEW, ttl=600)
        dig(server, "long.lab.example", "A")
        dig(server, "old.lab.example", "A")
        server.stop()
        self.provider.kill()
        # The end of TTL and max-age in wall time, as in the store.
        until = time.time() + 1 + 2
        eventually(lambda: time.time() > until, what="the expired answer is too old", every=0.1)
        since = len(server.log)
        server.up()
        server.wait_for("^httpdnsd: 1 answers? loaded from", since=since)
        self.assertFailed(dig(server, "old.lab.example", "A"))
        self.assertFresh(dig(server, "long.lab.example", "A"))
