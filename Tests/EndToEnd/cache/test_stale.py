# Expired answers: the daemon serves them only while no upstream gives a fresh one, marks them, and never exceeds their
# limit.

from cases import Case
from dig import dig
from fakes import FakeProvider
from paths import eventually
from programs import NSD, Daemon, ctl
from wire import NOERROR, Datagrams, query

OLD, NEW = "192.0.2.201", "192.0.2.202"
# Settings without refreshes, so that a name expires in time, and clients cause all upstream requests.
STILL = "[prefetch]\nenabled = false\n"


class Expired(Case):
    """A provider with a short-lived name, and no system resolver."""

    def setUp(self):
        self.provider = self.lab()
        self.provider.record("old.lab.example", "A", OLD, ttl=1)

    def server(self, stale="", sections=STILL, cache="", **options):
        stale = f'[stale]\nanswer-ttl = "7s"\n{stale}\n'
        return self.daemon(
            [self.provider.provider("json")], sections=f"[cache]\n{cache}\n{stale}{sections}", **options)

    def learn(self, server, *names):
        """Asks for the names, and waits until they have expired."""
        for name in names:
            dig(server, name, "A")
        for name in names:
            eventually(lambda: f"{name} A expired" in ctl(server, "cache", "ls", name).stdout, what=f"{name} expires")

    def assertStale(self, reply, data=OLD):
        self.assertEqual(("NOERROR", [["7", "A", data]]), (reply.status, [
            [record[1], *record[3:]] for record in reply.answer]), reply.text)
        self.assertRegex(reply.text, r"(?m)^; EDE: 3 \(Stale Answer\)")

    def assertFresh(self, reply, data=NEW):
        self.assertEqual(("NOERROR", {data}, None), (reply.status, reply.data, reply.extended_error), reply.text)

    def assertFailed(self, reply):
        self.assertEqual(("SERVFAIL", []), (reply.status, reply.answer), reply.text)
        self.assertIn(reply.extended_error, (13, 22, 23))

    def assertCauses(self, server, **causes):
        stats = server.stats()
        wanted = {"failure": 0, "recheck": 0, "timeout": 0, **causes}
        self.assertEqual(wanted, {cause: stats["stale"][cause] for cause in wanted})
        self.assertEqual(sum(wanted.values()), stats["responses"]["stale"])
        self.assertSums(stats)


class Failing(Expired):
    expected_seconds = 10

    def test_at_once_when_all_have_failed(self):
        server = self.server()
        self.learn(server, "old.lab.example")
        self.provider.kill()
        reply = dig(server, "old.lab.example", "A")
        self.assertStale(reply)
        # The bound is far below the wait for silent upstreams.
        self.assertLess(reply.seconds, 0.9)
        self.assertCauses(server, failure=1)
        without = dig(server, "+noedns", "old.lab.example", "A")
        self.assertEqual(("NOERROR", {OLD}, False), (without.status, without.data, without.has_opt))
        self.assertStale(dig(server, "+tcp", "OLD.lab.example", "A"))
        self.assertCauses(server, failure=1, recheck=2)

    def test_a_query_without_recursion_gets_what_the_cache_has(self):
        server = self.server()
        asked = lambda: (self.provider.requests()["total"], server.stats()["system"]["requests"])
        unknown = dig(server, "+norecurse", "old.lab.example", "A")
        self.assertEqual(("REFUSED", 20), (unknown.status, unknown.extended_error), unknown.text)
        self.assertEqual("NOERROR", dig(server, "+norecurse", "localhost", "A").status)
        self.assertEqual((0, 0), asked())
        self.learn(server, "old.lab.example")
        known = asked()
        for transport in ("+notcp", "+tcp"):
            self.assertStale(dig(server, "+norecurse", transport, "old.lab.example", "A"))
        self.assertEqual(known, asked())
        self.assertEqual(1, server.stats()["responses"]["refused"])
        self.assertFresh(dig(server, "old.lab.example", "A"), OLD)
        self.assertSums(server.stats())

    def test_a_name_in_use_too(self):
        server = self.server(sections="")
        with Datagrams(server.address) as client:
            for _ in range(20):
                client.ask("old.lab.example")
            self.provider.kill()
            replies = []
            eventually(lambda: replies.append(client.ask("old.lab.example")) or replies[-1].answers[0][3] == 7)
            # The answer is fresh until its end, although its refresh has failed.
            self.assertEqual({1}, {reply.answers[0][3] for reply in replies[:-1]} | {1})
        self.assertEqual({(NOERROR, OLD)}, {(reply.rcode, *reply.addresses) for reply in replies})
        self.assertStale(dig(server, "old.lab.example", "A"))
        stats = server.stats()
        self.assertGreaterEqual(stats["prefetch"]["failed"], 1)
        self.assertEqual(0, stats["responses"]["failure"])
        self.assertSums(stats)

    def test_whatever_the_failure_is(self):
        kinds = [("status", 500), ("status", 429), ("garbage", None), ("reset", None), ("empty", None), ("short", None),
                 ("huge", None)]
        names = {f"n{number}.lab.example": kind for number, kind in enumerate(kinds)}
        for name in names:
            self.provider.record(name, "A", OLD, ttl=1)
        server = self.server()
        self.learn(server, *names)
        for number, (name, (kind, value)) in enumerate(names.items()):
            with self.subTest(kind=kind, value=value):
                self.provider.fault(kind, name=name, value=value)
                self.assertStale(dig(server, name, "A"))
                self.assertCauses(server, failure=number + 1)

    def test_a_provider_that_says_it_failed(self):
        record = b'{"name":"old.lab.example.","type":1,"TTL":1,"data":"%b"}' % OLD.encode()
        says = [(0, record)]

        def respond(_):
            body = b'{"Status":%d,"Question":[{"name":"old.lab.example.","type":1}],"Answer":[%b]}' % says[0]
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)
        fake = FakeProvider(respond)
        self.addCleanup(fake.close)
        server = self.daemon([fake.provider("json")], sections=f'[stale]\nanswer-ttl = "7s"\n{STILL}')
        self.learn(server, "old.lab.example")
        says[0] = (2, b"")
        self.assertStale(dig(server, "old.lab.example", "A"))
        self.assertCauses(server, failure=1)


class Silent(Expired):
    expected_seconds = 6

    def test_after_the_client_timeout(self):
        server = self.server('client-timeout = "400ms"')
        self.learn(server, "old.lab.example")
        self.provider.fault("hang")
        reply = dig(server, "old.lab.example", "A")
        self.assertStale(reply)
        self.assertTrue(0.39 <= reply.seconds <= 1.5, reply.seconds)
        # The upstreams have had their time.
        reply = dig(server, "old.lab.example", "A")
        self.assertStale(reply)
        self.assertLess(reply.seconds, 0.3)
        self.assertCauses(server, timeout=2)
        self.assertEqual(2, self.provider.asked("old.lab.example"))

    def test_an_answer_that_comes_late_is_for_the_next_one(self):
        server = self.server('client-timeout = "300ms"')
        self.learn(server, "old.lab.example")
        self.provider.record("old.lab.example", "A", NEW, ttl=60)
        self.provider.fault("delay", value=1000)
        self.assertStale(dig(server, "old.lab.example", "A"))
        eventually(lambda: "A fresh" in ctl(server, "cache", "ls", "old.lab.example").stdout)
        self.assertFresh(dig(server, "old.lab.example", "A"))
        self.assertEqual(2, self.provider.asked("old.lab.example"))
        self.assertCauses(server, timeout=1)

    def test_an_answer_in_time_is_fresh(self):
        server = self.server('client-timeout = "1500ms"')
        self.learn(server, "old.lab.example")
        self.provider.record("old.lab.example", "A", NEW, ttl=60)
        self.provider.fault("delay", value=500)
        self.assertFresh(dig(server, "old.lab.example", "A"))
        self.assertCauses(server)


class Unverified(Expired):
    """An unverified answer of the system resolver does not replace a provider's answer."""
    expected_seconds = 10

    def test_the_system_resolver_does_not_replace_an_expired_answer(self):
        nsd = self.nsd(zone=NSD.ZONE + f"\nold.lab A {NEW}\nnew.lab A {NEW}")
        for stale in ("", 'client-timeout = "500ms"'):
            for trouble, new in ((lambda: self.provider.fault("hang"), {"192.0.2.202"}),
                                 (lambda: self.provider.fault("status", value=500), set())):
                with self.subTest(stale):
                    self.provider.reset()
                    self.provider.record("old.lab.example", "A", OLD, ttl=1)
                    server = self.server(stale, system=[nsd.server])
                    self.learn(server, "old.lab.example")
                    trouble()
                    self.assertStale(dig(server, "old.lab.example", "A"))
                    # One HTTP error does not show that the provider fails for every name.
                    self.assertEqual(new, dig(server, "new.lab.example", "A").data)


class Limits(Expired):
    expected_seconds = 8

    def test_not_beyond_its_greatest_age(self):
        server = self.server('max-age = "2s"\nrecheck = "1s"')
        self.learn(server, "old.lab.example")
        self.provider.kill()
        self.assertStale(dig(server, "old.lab.example", "A"))
        eventually(lambda: dig(server, "old.lab.example", "A").status == "SERVFAIL", within=4, every=0.2)
        self.assertFailed(dig(server, "old.lab.example", "A"))

    def test_never_when_the_settings_say_so(self):
        server = self.server('max-age = "0s"')
        self.learn(server, "old.lab.example")
        self.provider.kill()
        self.assertFailed(dig(server, "old.lab.example", "A"))
        self.assertCauses(server)

    def test_never_a_no_unless_a_rule_allows_it(self):
        server = self.server(
            sections=STILL + '[[rule]]\nmatch = ["kept.lab.example"]\nstale-negative = true',
            cache='negative-max-ttl = "1s"')
        self.provider.record("nodata.kept.lab.example", "AAAA", "2001:db8::1", ttl=60)
        names = ["nothing.lab.example", "v6only.lab.example", "nothing.kept.lab.example", "nodata.kept.lab.example"]
        self.learn(server, *names)
        self.provider.kill()
        replies = [dig(server, name, "A") for name in names]
        for reply in replies[:2]:
            self.assertFailed(reply)
        self.assertEqual(("NXDOMAIN", 19, []), (replies[2].status, replies[2].extended_error, replies[2].answer))
        self.assertRegex(replies[2].text, r"(?m)^; EDE: 19 \(Stale NXDOMAIN Answer\)")
        self.assertEqual(("NOERROR", 3, []), (replies[3].status, replies[3].extended_error, replies[3].answer))
        self.assertCauses(server, failure=2)

    def test_never_where_a_rule_forbids_it(self):
        self.provider.record("sub.old.lab.example", "A", OLD, ttl=1)
        self.provider.record("other.lab.example", "A", OLD, ttl=1)
        server = self.server(sections=STILL + '[[rule]]\nmatch = ["old.lab.example"]\nstale = false')
        names = ["old.lab.example", "sub.old.lab.example", "other.lab.example"]
        self.learn(server, *names)
        self.provider.kill()
        for name in names[:2]:
            self.assertFailed(dig(server, name, "A"))
        self.assertStale(dig(server, "other.lab.example", "A"))
        self.assertCauses(server, failure=1)


class Choices(Expired):
    """Cases from other resolvers' tests of expired answers: settings that change, chains, and neighbours."""
    expected_seconds = 12

    def change(self, server, stale):
        server.sections = f'[stale]\nanswer-ttl = "7s"\n{stale}\n{STILL}'
        server.config.write_text(server.settings())
        self.assertIn("settings reloaded", server.reload())

    def test_a_reload_ends_it_and_brings_it_back(self):
        server = self.server()
        self.learn(server, "old.lab.example")
        self.provider.kill()
        self.assertStale(dig(server, "old.lab.example", "A"))
        self.change(server, 'max-age = "0s"')
        self.assertFailed(dig(server, "old.lab.example", "A"))
        self.change(server, 'max-age = "1h"')
        self.assertStale(dig(server, "old.lab.example", "A"))

    def test_at_once_with_a_client_timeout_of_zero_and_refreshed_beside(self):
        server = self.server('client-timeout = "0s"')
        self.learn(server, "old.lab.example")
        self.provider.record("old.lab.example", "A", NEW, ttl=60)
        self.provider.fault("delay", value=300)
        reply = dig(server, "old.lab.example", "A")
        self.assertStale(reply)
        self.assertLess(reply.seconds, 0.25)
        eventually(lambda: dig(server, "old.lab.example", "A").data == {NEW})
        self.assertEqual(2, self.provider.asked("old.lab.example"))

    def test_a_chain_is_replaced_as_a_whole(self):
        self.provider.record("alias.lab.example", "CNAME", "old.lab.example.", ttl=1)
        server = self.server('recheck = "1s"')
        self.learn(server, "alias.lab.example")
        self.provider.fault("status", value=500)
        reply = dig(server, "alias.lab.example", "A")
        self.assertEqual([["7", "CNAME", "old.lab.example."], ["7", "A", OLD]],
                         [[record[1], *record[3:]] for record in reply.answer], reply.text)
        # No client has asked for the end of the chain.
        self.assertFailed(dig(server, "old.lab.example", "A"))
        self.provider.record("alias.lab.example", "CNAME", "")
        self.provider.record("alias.lab.example", "A", NEW)
        self.provider.fault("none")
        eventually(lambda: dig(server, "alias.lab.example", "A").types == ["A"], within=4, every=0.2)
        self.assertFresh(dig(server, "alias.lab.example", "A"))

    def test_neither_what_is_fresh_nor_what_was_flushed_nor_what_is_local(self):
        self.provider.record("long.lab.example", "A", NEW, ttl=600)
        self.provider.record("other.lab.example", "A", OLD, ttl=1)
        server = self.server(sections=STILL + '[[rule]]\nmatch = ["mine.lab.example"]\nanswer = ["192.0.2.7"]')
        self.learn(server, "old.lab.example", "other.lab.example")
        self.assertFresh(dig(server, "long.lab.example", "A"))
        self.provider.kill()
        self.assertFresh(dig(server, "long.lab.example", "A"))
        self.assertFresh(dig(server, "mine.lab.example", "A"), "192.0.2.7")
        self.assertEqual(0, ctl(server, "flush", "old.lab.example").returncode)
        self.assertFailed(dig(server, "old.lab.example", "A"))
        self.assertStale(dig(server, "other.lab.example", "A"))
        self.assertCauses(server, failure=1)

    def test_beside_names_that_hang(self):
        """A name with an expired answer waits no longer because a thousand others have none."""
        server = self.server('client-timeout = "400ms"')
        self.learn(server, "old.lab.example")
        self.provider.fault("hang")
        with Datagrams(server.address) as clients:
            for number in range(1000):
                clients.send(query(f"n{number}.lab.example"))
            reply = dig(server, "old.lab.example", "A")
        self.assertStale(reply)
        self.assertLess(reply.seconds, 1.5)


class Recovery(Expired):
    expected_seconds = 8

    def setUp(self):
        super().setUp()
        # A restarted lab has only its zone.
        self.zone = self.provider.directory / "zone"
        self.zone.write_text(f"""
$ORIGIN lab.example.
@     60 SOA ns1 hostmaster 1 7200 900 1209600 30
old   60 A   {NEW}
*.any 60 A   192.0.2.99
""")
        self.provider.zone = self.zone

    def fails(self, server):
        dig(server, "old.lab.example", "A")
        self.provider.kill()
        self.learn(server, "old.lab.example")
        self.assertStale(dig(server, "old.lab.example", "A"))
        self.provider.up()

    def test_it_is_noticed_at_the_next_check(self):
        server = self.server('recheck = "1s"')
        self.fails(server)
        eventually(lambda: dig(server, "old.lab.example", "A").data == {NEW}, within=3, every=0.1)

    def test_it_is_noticed_by_any_name(self):
        server = self.server()
        self.fails(server)
        self.assertStale(dig(server, "old.lab.example", "A"))
        self.assertEqual({"192.0.2.99"}, dig(server, "another.any.lab.example", "A").data)
        self.assertFresh(dig(server, "old.lab.example", "A"))

    def test_what_is_in_use_is_fresh_without_being_asked(self):
        server = self.server('recheck = "1s"', sections="")
        with Datagrams(server.address) as client:
            for _ in range(20):
                client.ask("old.lab.example")
        self.fails(server)
        eventually(lambda: "A fresh" in ctl(server, "cache", "ls", "old.lab.example").stdout, within=5)
        self.assertFresh(dig(server, "old.lab.example", "A"))


class Restart(Expired):
    expected_seconds = 5

    def test_the_store_has_them_when_nothing_else_is_there(self):
        server = self.own(Daemon([self.provider.provider("json")], sections='[stale]\nanswer-ttl = "7s"'))
        server.store = server.directory / "cache.db"
        server.up()
        self.provider.record("gone.lab.example", "A", OLD, ttl=1)
        self.learn(server, "old.lab.example", "gone.lab.example")
        server.stop()
        self.provider.kill()
        server.up()
        eventually(lambda: server.stats()["store"]["loaded"] >= 2)
        self.assertStale(dig(server, "old.lab.example", "A"))
        self.assertStale(dig(server, "+tcp", "gone.lab.example", "A"))
        self.assertSums(server.stats())


class Fallback(Expired):
    expected_seconds = 5
    RULE = '[[rule]]\nmatch = ["lab.example"]\nfallback-addresses = ["198.51.100.7", "198.51.100.8"]'
    ADDRESSES = {"198.51.100.7", "198.51.100.8"}

    def test_the_last_resort(self):
        server = self.server(sections=STILL + self.RULE)
        self.learn(server, "old.lab.example")
        self.provider.kill()
        for number, arguments in enumerate((["A"], ["+tcp", "A"], ["A"])):
            reply = dig(server, "unknown.lab.example", *arguments)
            self.assertEqual(("NOERROR", self.ADDRESSES), (reply.status, reply.data), reply.text)
            self.assertEqual({"30"}, {record[1] for record in reply.answer})
            self.assertEqual(number + 1, server.stats()["responses"]["fallback"])
        other = dig(server, "unknown.lab.example", "AAAA")
        self.assertEqual(("NOERROR", []), (other.status, other.answer), other.text)
        # An expired answer is still better, and addresses answer no other question.
        self.assertStale(dig(server, "old.lab.example", "A"))
        self.assertEqual("SERVFAIL", dig(server, "unknown.lab.example", "TXT").status)
        self.assertEqual("SERVFAIL", dig(server, "unknown.elsewhere.example", "A").status)
        stats = server.stats()
        self.assertEqual((4, 1, 2), tuple(stats["responses"][kind] for kind in ("fallback", "stale", "failure")))
        self.assertSums(stats)
        self.assertNotIn("198.51.100.7", ctl(server, "cache", "dump").stdout)

    def test_it_gives_way_as_soon_as_an_upstream_answers(self):
        server = self.server(sections=STILL + self.RULE)
        self.provider.kill()
        self.assertEqual(self.ADDRESSES, dig(server, "www.lab.example", "A").data)
        self.provider.up()
        dig(server, "another.any.lab.example", "A")
        self.assertEqual({"192.0.2.10", "192.0.2.11"}, dig(server, "www.lab.example", "A").data)
