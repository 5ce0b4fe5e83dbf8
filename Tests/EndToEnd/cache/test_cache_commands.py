# Cache commands of operators over the control socket, and the users that may change the cache.

import json
import os
import socket
import time
import unittest

from cases import LAB_WWW, Case
from dig import dig
from lab import Lab
from paths import DAEMON, PATIENCE, eventually
from programs import Daemon, ctl
from wire import Datagrams


class CacheCommands(Case):
    def setUp(self):
        self.provider = self.lab()
        self.server = self.daemon([self.provider.provider("json")])

    def ask(self, *names, type="A"):
        for name in names:
            dig(self.server, name, type)

    def ctl(self, *arguments, code=0):
        done = ctl(self.server, *arguments)
        self.assertEqual((code, ""), (done.returncode, done.stderr), done.stdout)
        return done.stdout

    def test_a_list_of_everything_and_of_a_part(self):
        self.assertEqual("; 0 entries\n", self.ctl("cache", "ls"))
        self.ask("www.lab.example", "shop.lab.example", "nothing.lab.example")
        self.ask("www.lab.example", type="AAAA")
        lines = self.ctl("cache", "ls").splitlines()
        self.assertEqual("; 4 entries", lines[-1])
        self.assertIn("nothing.lab.example A fresh", "\n".join(lines))
        self.assertEqual("; name type state ttl source rcode", lines[0])
        for line in lines[1:-1]:
            self.assertRegex(line, r"^[\w.]+ (A|AAAA) fresh \d+ json (NOERROR|NXDOMAIN)$")
        part = self.ctl("cache", "ls", "WWW.lab.example.").splitlines()
        self.assertEqual(
            {"www.lab.example A", "www.lab.example AAAA"}, {" ".join(line.split()[:2]) for line in part[1:-1]})
        self.assertEqual("; 0 entries\n", self.ctl("cache", "ls", "w.lab.example"))

    def test_everything_about_a_name(self):
        self.ask("shop.lab.example", "shop.lab.example", "other.lab.example")
        text = self.ctl("cache", "get", "shop.lab.example")
        self.assertRegex(text, r"^shop\.lab\.example A fresh \d+ json NOERROR\n")
        self.assertRegex(text, r"\n  age \d+ s of 30 s, hits 1, network [0-9a-f]{8}\n")
        self.assertRegex(text, r"\n  shop\.lab\.example\. \d+ IN CNAME cdn\.lab\.example\.\n")
        self.assertRegex(text, r"\n  node7\.edge\.cdn\.lab\.example\. \d+ IN A 192\.0\.2\.70\n")
        self.assertEqual(
            "error: no entry for shop.lab.example MX\n", self.ctl("cache", "get", "shop.lab.example", "MX", code=1))
        entry, = json.loads(self.ctl("--json", "cache", "get", "shop.lab.example", "A"))["entries"]
        self.assertEqual(("shop.lab.example", "A", "fresh", "provider", "NOERROR", 30), tuple(
            entry[key] for key in ("name", "type", "state", "provenance", "rcode", "lifetime_s")))
        self.assertEqual(["CNAME", "CNAME", "CNAME", "A"], [record["type"] for record in entry["records"]])

    def test_an_entry_that_has_expired_is_shown_as_such(self):
        self.provider.record("brief.lab.example", "A", "192.0.2.99", ttl=1)
        self.ask("brief.lab.example")
        eventually(lambda: " A expired " in self.ctl("cache", "ls", "brief.lab.example"), what="the entry expires")

    def test_a_dump_is_greppable(self):
        self.ask("www.lab.example", "nothing.lab.example")
        lines = self.ctl("cache", "dump").splitlines()
        self.assertEqual("; 2 entries", lines.pop())
        self.assertEqual(LAB_WWW, {line.split()[4] for line in lines if " IN A " in line})
        for line in lines:
            self.assertRegex(line, r"; (www|nothing)\.lab\.example A fresh \d+ json (NOERROR|NXDOMAIN)$")
        asked = self.server.ask_control('{"command":"cache","verb":"dump"}')
        self.assertEqual(1, asked.count("\n"))
        self.assertEqual(2, len(json.loads(asked)["entries"]))

    def test_a_flushed_name_is_asked_for_again_and_no_other(self):
        names = ("www.lab.example", "shop.lab.example", "cdn.lab.example", "edge.cdn.lab.example")
        for arguments, gone, count in (
                (["www.lab.example"], {"www.lab.example"}, 1),
                (["--type", "AAAA", "www.lab.example"], set(), 0),
                (["--tree", "cdn.lab.example"], {"cdn.lab.example", "edge.cdn.lab.example"}, 2),
                (["--all"], set(names), 4)):
            with self.subTest(arguments):
                self.ask(*names)
                before = {name: self.provider.asked(name) for name in names}
                self.assertEqual(
                    f"removed {count} {'entry' if count == 1 else 'entries'}\n", self.ctl("flush", *arguments))
                self.ask(*names)
                self.assertEqual(gone, {name for name in names if self.provider.asked(name) > before[name]})
        self.assertEqual({"removed": 4}, json.loads(self.server.ask_control('{"command":"flush","all":true}')))

    def test_a_name_that_was_prefetched_waits_for_nobody(self):
        self.assertEqual("fetching 2 names\n", self.ctl("prefetch", "www.lab.example", "shop.lab.example"))
        eventually(lambda: "; 4 entries" in self.ctl("cache", "ls"), what="both families of both names are there")
        before = self.provider.requests()["total"]
        self.assertEqual(LAB_WWW, dig(self.server, "www.lab.example", "A").data)
        self.assertEqual(before, self.provider.requests()["total"])

    def test_mistakes_are_refused(self):
        for arguments in (
                ["cache"], ["cache", "rm"], ["cache", "get"], ["flush"], ["flush", "--all", "x"], ["flush", "a..b"],
                ["flush", "--type", "XX", "a"], ["prefetch"], ["prefetch"] + 101 * ["a"]):
            self.assertTrue(self.ctl(*arguments, code=1).startswith("error: "), arguments)


@unittest.skipUnless(os.geteuid() == 0, "acting as another user needs root")
class Rights(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.share(Daemon([cls.share(Lab()).up().provider("json")])).up()

    def test_everyone_reads_and_few_change(self):
        dig(self.server, "www.lab.example", "A")
        own = DAEMON
        for line in ("flush --all", "flush www.lab.example", "prefetch www.lab.example"):
            self.assertEqual(
                f"error: {line.split()[0]} is for root, user {own.pw_uid} and group {own.pw_gid}; "
                "you are user 65534, group 65534\n",
                self.server.ask_control_as(65534, 65534, line))
        self.assertIn("error", json.loads(self.server.ask_control_as(65534, 65534, '{"command":"flush","all":true}')))
        self.assertIn("www.lab.example A fresh", self.server.ask_control_as(65534, 65534, "cache ls"))
        self.assertIn("httpdnsd", self.server.ask_control_as(65534, 65534, "status"))
        self.assertEqual("removed 1 entry\n", self.server.ask_control_as(65534, own.pw_gid, "flush --all"))
        self.assertEqual("removed 0 entries\n", self.server.ask_control_as(0, 65534, "flush --all"))


class LargeCache(Case):
    """A cache that exceeds the socket's buffer: most of a reply is made while its client reads."""
    COUNT = 6000

    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()
        cls.server = cls.share(Daemon([cls.provider.provider("json")])).up()
        with Datagrams(cls.server.address) as client:
            for number in range(cls.COUNT):
                client.ask(f"n{number}.any.lab.example")

    def asking(self, line):
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.settimeout(PATIENCE)
        client.connect(str(self.server.control))
        client.sendall(line.encode() + b"\n")
        return client

    @staticmethod
    def rest(client):
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
        return answer.decode()

    def assertComplete(self, lines):
        self.assertEqual(f"; {len(lines) - 1} entries", lines[-1])
        self.assertLessEqual({f"n{number}.any.lab.example." for number in range(self.COUNT)},
                             {line.split()[0] for line in lines[:-1]})


class LargeAnswers(LargeCache):
    def test_a_long_listing_is_complete(self):
        self.assertComplete(ctl(self.server, "cache", "dump").stdout.splitlines())
        entries = json.loads(ctl(self.server, "cache", "ls", "--json").stdout)["entries"]
        self.assertGreaterEqual(len(entries), self.COUNT)

    def test_clients_that_do_not_read_delay_nobody(self):
        clients = [self.asking("cache dump") for _ in range(10)]
        # The limit is less than the 5 s after which the daemon disconnects a client that reads nothing.
        end = time.monotonic() + 2
        with Datagrams(self.server.address) as questions:
            for number in range(200):
                began = time.monotonic()
                if began > end:
                    break
                questions.ask(f"new{number}.any.lab.example")
                self.assertLess(time.monotonic() - began, 1)
        self.assertGreater(number, 10)
        for client in clients:
            self.assertComplete(self.rest(client).splitlines())


class SlowReaders(LargeCache):
    expected_seconds = 14

    def test_a_client_that_reads_slowly_gets_everything(self):
        client = self.asking("cache dump")
        answer = b""
        began = time.monotonic()
        # The time is longer than the daemon waits for a client that reads nothing.
        while time.monotonic() - began < 6.5:
            answer += client.recv(8192)
            time.sleep(0.25)
        self.assertComplete((answer.decode() + self.rest(client)).splitlines())

    def test_the_cache_may_go_while_a_client_reads(self):
        client = self.asking("cache dump")
        self.assertTrue(client.recv(100))
        self.assertRegex(ctl(self.server, "flush", "--tree", "any.lab.example").stdout, "^removed [0-9]{4} entries$")
        lines = self.rest(client).splitlines()
        self.assertRegex(lines[-1], "^; [0-9]+ entries$")
        self.assertLess(len(lines), self.COUNT)

    def test_a_client_that_takes_nothing_is_cut(self):
        client = self.asking("cache dump")
        time.sleep(6)
        self.assertNotIn("entries", self.rest(client))
