# Several questions in one request: few requests for many names, each name with its own answer and its own failures, and
# a key that is never disclosed.

import re
import time

import paths
from cases import LAB_WWW, Case
from dig import dig
from fakes import FakeProvider
from paths import eventually
from programs import Daemon, ctl
from test_process import httpdnsd
from wire import NOERROR, SERVFAIL, ask_all

MOST = 8
TOKEN = "s3cret-t0ken"
# The only token that the lab accepts.
LAB_TOKEN = "567890"


class HangingProvider(FakeProvider):
    """A provider that keeps a connection open if `respond` has no reply for its request."""

    def _serve(self):
        kept = []
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                break
            connection.settimeout(3)
            head = b""
            try:
                while b"\r\n\r\n" not in head and (chunk := connection.recv(65536)):
                    head += chunk
                reply = self.respond(head)
                if reply is None:
                    kept.append(connection)
                    continue
                connection.sendall(reply)
            except (OSError, AttributeError):
                pass
            connection.close()
        for connection in kept:
            connection.close()


class Paid(Case):
    """The base of tests with a lab that plays Tencent's paid service."""

    def setUp(self):
        self.provider = self.lab()

    def keyed(self, provider, content=TOKEN + "\n"):
        """The settings of a provider, with a key file beside the lab's log."""
        path = self.provider.directory / "key"
        path.write_text(content)
        paths.entrust(path).chmod(0o600)
        return {**provider, "account": "1234", "key-file": str(path), "service-nodes": False}

    def paid(self, name="paid"):
        return self.keyed({**self.provider.provider("dnspod", name), "dialect": "dnspod-https"}, LAB_TOKEN)

    def stats(self, server, name="paid"):
        stats = server.stats()
        self.assertSums(stats)
        return next(entry for entry in stats["providers"] if entry["name"] == name)


class Batches(Paid):
    expected_seconds = 8

    def test_many_names_make_few_requests(self):
        server = self.daemon([self.paid()])
        questions = [(f"n{number}.any.lab.example", "A") for number in range(50)]
        replies = ask_all(server, questions)
        self.assertEqual(50, len(replies))
        for number, reply in replies.items():
            self.assertEqual((NOERROR, {"192.0.2.99"}), (reply.rcode, reply.addresses), questions[number])
        stats = self.stats(server)
        self.assertEqual((50, "up", {}), (stats["names"], stats["state"], stats["failures"]))
        self.assertLessEqual(stats["requests"], 25)
        self.assertGreaterEqual(stats["requests"], 50 / MOST)
        seen = self.provider.requests()
        self.assertEqual({"paid": stats["requests"]}, seen["providers"])
        self.assertEqual({f"paid {name} A": 1 for name, _ in questions}, seen["questions"])

    def test_families_are_asked_apart_and_a_lone_name_waits_for_nobody(self):
        server = self.daemon([self.paid()])
        names = ["www.lab.example", "v4only.lab.example", "v6only.lab.example"]
        replies = ask_all(server, [(name, type) for name in names for type in ("A", "AAAA")])
        expected = [LAB_WWW, {"2001:db8::10", "2001:db8::11"}, {"192.0.2.4"}, set(), set(), {"2001:db8::6"}]
        self.assertEqual(expected, [replies[number].addresses for number in range(6)])
        began = time.monotonic()
        # A short TTL would cause a refresh, with one name more, before the statistics are read.
        self.assertEqual({"192.0.2.99"}, dig(server, "n1.any.lab.example", "A").data)
        self.assertLess(time.monotonic() - began, paths.slack())
        self.assertEqual(7, self.stats(server)["names"])

    def test_a_failed_request_fails_each_of_its_names(self):
        self.provider.fault("status", value=500, name="n3.any.lab.example")
        server = self.daemon([self.paid(), self.provider.provider("json")])
        replies = ask_all(server, [(f"n{number}.any.lab.example", "A") for number in range(8)])
        for number in (0, 1, 2, 4, 5, 6, 7):
            self.assertEqual({"192.0.2.99"}, replies[number].addresses)
        stats = self.stats(server)
        # The request is repeated once, because an HTTP error may be transient.
        self.assertEqual({"status": 2}, stats["failures"])

    def left_out(self):
        """Asks for eight names of which the provider leaves out n3: the requests, the replies and the statistics. None
        if a busy machine gave n3 a request of its own: that one fails as a whole, and is repeated."""
        seen = []

        def respond(head):
            names = re.search(rb"[?&]dn=([^& ]*)", head).group(1).decode().split(",")
            seen.append(names)
            lines = [f"{name.upper()}.:192.0.2.{name[1]},60|203.0.113.7" for name in names if name[1] != "3"]
            body = "\r\n".join([*reversed(lines), "n3.other.example.:192.0.2.66,60|203.0.113.7"]).encode()
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        fake = FakeProvider(respond)
        self.addCleanup(fake.close)
        server = self.daemon([self.keyed(fake.provider("dnspod-https", "paid"))])
        replies = ask_all(server, [(f"n{number}.lab.example", "A") for number in range(8)])
        first = next(names for names in seen if "n3.lab.example" in names)
        return (seen, replies, self.stats(server)) if len(first) > 1 else None

    def test_one_name_that_is_left_out_does_not_hurt_the_others(self):
        seen, replies, stats = eventually(self.left_out)
        for number in (0, 1, 2, 4, 5, 6, 7):
            self.assertEqual({f"192.0.2.{number}"}, replies[number].addresses)
        self.assertEqual((SERVFAIL, set()), (replies[3].rcode, replies[3].addresses))
        self.assertEqual(1, sum("n3.lab.example" in names for names in seen), seen)
        self.assertEqual(({"garbage": 1}, 8), (stats["failures"], stats["names"]))
        # A name that is left out does not count against the provider.
        self.assertEqual("up", stats["state"])

    def test_a_provider_that_left_one_name_out_is_still_asked_first(self):
        seen = []

        def respond(head):
            names = re.search(rb"[?&]dn=([^& ]*)", head).group(1).decode().split(",")
            seen.append(names)
            body = "\n".join(f"{name}.:192.0.2.1,60" for name in names if not name.startswith("bad")).encode()
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        fake = FakeProvider(respond)
        self.addCleanup(fake.close)
        self.provider.fault("delay", value=300, provider="slow")
        server = self.daemon(
            [self.keyed(fake.provider("dnspod-https", "paid")), self.provider.provider("json", "slow")])
        for number in range(10):
            bad = f"bad{number}.any.lab.example"
            names = [f"n{number}-{copy}.lab.example" for copy in range(7)]
            # The bad name is last, so that no later answer clears the failure.
            replies = ask_all(server, [(name, "A") for name in [*names, bad]])
            self.assertEqual({"192.0.2.99"}, replies[7].addresses)
            # A bad name alone in its request would count against the provider.
            if bad in seen[-1] and [bad] != seen[-1]:
                break
            time.sleep(1.1)
        after = f"after{number}.any.lab.example"
        self.assertEqual({"192.0.2.1"}, dig(server, after, "A").data)
        self.assertIn([after], seen)

    def test_what_is_overtaken_leaves_no_request_behind(self):
        self.provider.fault("hang", provider="paid")
        # The second provider has another address; otherwise both would share their connections.
        server = self.daemon([self.paid(), self.lab().provider("json")])
        replies = ask_all(server, [(f"n{number}.any.lab.example", "A") for number in range(16)])
        self.assertEqual(16, len(replies))
        self.assertEqual({frozenset({"192.0.2.99"})}, {frozenset(reply.addresses) for reply in replies.values()})
        eventually(lambda: self.stats(server)["connections"]["open"] == 0, what="the hanging requests are cancelled")
        stats = self.stats(server)
        self.assertEqual(({}, 16), (stats["failures"], stats["names"]))
        self.assertLess(stats["requests"], 16)

    def test_a_hung_name_does_not_take_the_names_of_its_request_with_it(self):
        hung = "www.hung.example"
        # The hung name is in the middle, so it shares a request with a neighbour unless both gaps exceed a millisecond.
        names = ["www.good0.example", "www.good1.example", hung, "www.good2.example", "www.good3.example"]
        heads = [[], []]

        def respond(seen):
            def answer(head):
                asked = re.search(rb"[?&]dn=([^& ]*)", head).group(1).decode().split(",")
                seen.append(asked)
                if hung in asked:
                    return None
                body = "\n".join(f"{name}.:192.0.2.1,60" for name in asked).encode()
                return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            return answer
        fakes = [HangingProvider(respond(seen)) for seen in heads]
        for fake in fakes:
            self.addCleanup(fake.close)
        server = self.daemon([self.keyed(fake.provider("dnspod-https", f"paid{n}")) for n, fake in enumerate(fakes)])
        began = time.monotonic()
        replies = ask_all(server, [(name, "A") for name in names])
        self.assertEqual([{"192.0.2.1"}] * 4, [replies[number].addresses for number in (0, 1, 3, 4)])
        self.assertLess(time.monotonic() - began, 6)
        self.assertEqual(SERVFAIL, replies[2].rcode)
        # One provider got the hung name with others, all of them if they came within a millisecond; the other provider
        # got each name alone.
        alone, together = sorted(heads, key=lambda seen: max(len(asked) for asked in seen))
        self.assertEqual({1}, {len(asked) for asked in alone}, heads)
        self.assertTrue(any(hung in asked and len(asked) > 1 for asked in together), heads)
        self.assertNotIn("down", [self.stats(server, f"paid{n}")["state"] for n in range(2)])

    def test_a_time_out_is_one_failure_of_each_request(self):
        self.provider.fault("hang", provider="paid")
        server = self.daemon([self.paid()])
        replies = ask_all(server, [(f"n{number}.any.lab.example", "A") for number in range(8)])
        self.assertEqual({SERVFAIL}, {reply.rcode for reply in replies.values()})
        eventually(lambda: self.stats(server)["failures"], what="the time-out is counted")
        stats = self.stats(server)
        # The last name to time out is asked once more, until its client's time is over.
        self.assertEqual({"timeout": stats["requests"] - 1}, stats["failures"])
        self.assertEqual(9, stats["names"])

    def test_nobody_is_woken_when_nothing_gathers(self):
        server = self.daemon([self.paid()])

        def ticks():
            fields = open(f"/proc/{server.process.pid}/stat").read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])
        dig(server, "www.lab.example", "A")
        before = ticks()
        time.sleep(1)
        self.assertLessEqual(ticks() - before, 5)


class Keys(Paid):
    """The key file: read at start and on SIGHUP, and shown to the provider alone."""

    def test_the_key_is_shown_to_the_provider_alone(self):
        heads = []

        def respond(head):
            heads.append(head)
            return b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
        fake = FakeProvider(respond)
        self.addCleanup(fake.close)
        provider = self.keyed(fake.provider("dnspod-https", "paid"))
        server = self.daemon([provider], sections='[log]\nlevel = "debug"')
        dig(server, "www.lab.example", "A")
        self.assertRegex(
            heads[0], rb"^GET /query\?dn=www\.lab\.example&clientip=1&ttl=1&query=1&id=1234&token=s3cret-t0ken HTTP/1.1")
        said = [server.log, server.ask_control("stats"), server.ask_control("stats --json"), server.ask_control("status"),
                ctl(server, "stats").stdout, httpdnsd("--print-effective", "--config", server.config).stdout]
        self.assertIn("HTTP status 500", said[0])
        self.assertIn(provider["key-file"], said[-1])
        for text in said:
            self.assertTrue(text)
            self.assertNotIn(TOKEN, text)

    def test_a_start_without_a_key_is_refused(self):
        provider = self.paid()
        for content, mode, finding in ((TOKEN, 0o644, "other users can read it"),
                                       ("\n", 0o600, "is empty"), ("a b", 0o600, "more than one word"),
                                       (None, None, "can't be read")):
            with self.subTest(finding):
                path = self.provider.directory / "key"
                if content:
                    path.write_text(content)
                    path.chmod(mode)
                else:
                    path.unlink()
                server = self.own(Daemon([provider]))
                server.expected_exit = 1
                server.run()
                self.assertEqual(1, server.process.wait(20))
                self.assertRegex(
                    server.log, rf"httpdnsd: {server.config}: provider paid: key-file {path}: .*{finding}.*; .+\n$")
                self.assertNotIn(TOKEN, server.log)
                checked = httpdnsd("--check", "--config", server.config)
                self.assertEqual((1, server.log), (checked.returncode, checked.stderr))

    def test_a_new_key_is_taken_on_reload_and_a_bad_one_is_refused(self):
        heads = []

        def respond(head):
            heads.append(head)
            return b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n192.0.2.99,300"
        fake = FakeProvider(respond)
        self.addCleanup(fake.close)
        provider = self.keyed(fake.provider("dnspod-https", "paid"))
        server = self.daemon([provider])
        path = self.provider.directory / "key"
        for number, (content, token) in enumerate(((None, TOKEN), ("two\n", "two"), ("bad key", "two"), ("3", "3"))):
            if content:
                path.write_text(content)
                said = server.reload()
                self.assertEqual(content == "bad key", "old ones stay in force" in said, said)
            self.assertEqual({"192.0.2.99"}, dig(server, f"n{number}.lab.example", "A").data)
            self.assertIn(f"&token={token} ".encode(), heads[-1])
        self.assertEqual("up", self.stats(server)["state"])
