# A member of a fleet while Redis hangs, refuses, is slow, or loses its connection: the first questions wait a little,
# and then the member works alone.

import re
import signal
import socket
import statistics
import threading
import time
import unittest

import paths
import wire
from fleets import FleetCase, Redis
from paths import eventually, free_port
from programs import ctl


class Slow:
    """A TCP port that leads to a UNIX socket. Data from the socket waits for `seconds`."""

    def __init__(self, path, seconds):
        self.path, self.seconds = path, seconds
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.log = ""

    def up(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self.path))
            for one, other, is_reply in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._carry, args=(one, other, is_reply), daemon=True).start()

    def _pass(self, data, other, is_reply):
        """Returns false for the end of the connection."""
        if is_reply:
            time.sleep(self.seconds)
        other.sendall(data)
        return True

    def _carry(self, one, other, is_reply):
        try:
            while (data := one.recv(65536)) and self._pass(data, other, is_reply):
                pass
        except OSError:
            pass
        for each in (one, other):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


class Cut(Slow):
    """Ends each connection in the middle of a reply, after `after` bytes from the socket; None: never."""

    def __init__(self, path):
        super().__init__(path, 0)
        self.after, self.cuts, self.carried = None, 0, 0

    def _pass(self, data, other, is_reply):
        if is_reply and self.after is not None:
            self.carried += len(data)
            if self.carried > self.after:
                self.cuts, self.carried = self.cuts + 1, 0
                other.sendall(data[:len(data) // 2])
                return False
        return super()._pass(data, other, is_reply)


class Faults(FleetCase):
    expected_seconds = 30

    def member(self, redis=None, **options):
        return super().member(redis, read_timeout=None, **options)

    def ask_new(self, daemon, count, prefix):
        """The milliseconds for each of `count` new names, on one socket."""
        for number in range(count):
            self.provider.record(f"{prefix}{number}.lab.example", "A", "192.0.2.51", ttl=60)
        took = []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(paths.PATIENCE)
            client.connect(daemon.address)
            for number in range(count):
                began = time.perf_counter()
                client.send(wire.query(f"{prefix}{number}.lab.example", id=number))
                self.assertEqual(0, client.recv(4096)[3] & 15)
                took.append((time.perf_counter() - began) * 1000)
        return took

    def test_without_redis_each_works_alone_and_soon_together_again(self):
        member = self.member()
        usual = statistics.median(self.ask_new(member, 20, "usual"))
        self.redis.kill()
        alone = self.ask_new(member, 20, "killed")
        self.assertEqual(0, member.figures["in_use"])
        self.assertLess(statistics.median(alone), usual + 5)
        member.wait_for("no answers are shared with the fleet, and names are resolved alone: Redis at unix:")
        self.redis.up()
        began = time.monotonic()
        eventually(lambda: member.is_sharing, what="Redis is used again")
        print(f"    in use again after {time.monotonic() - began:.2f} s")
        self.assertLess(time.monotonic() - began, 2)
        member.wait_for("answers are shared with the fleet by Redis at unix:")
        before = member.figures["leases"]
        self.ask_new(member, 3, "again")
        eventually(lambda: member.figures["leases"] == before + 3)

    def test_a_redis_that_stands_still_costs_three_questions_five_milliseconds(self):
        member = self.member()
        usual = self.ask_new(member, 20, "usual")
        self.redis.signal(signal.SIGSTOP)
        self.addCleanup(self.redis.signal, signal.SIGCONT)
        before = member.figures["timeouts"]
        took = self.ask_new(member, 40, "stopped")
        self.assertLessEqual(member.figures["timeouts"] - before, 3)
        self.assertEqual(0, member.figures["in_use"])
        print(f"    usual {statistics.median(usual):.2f} ms, first three {[round(each, 2) for each in took[:3]]}, "
              f"then {statistics.median(took[3:]):.2f} ms")
        self.assertLess(statistics.median(took[:3]), statistics.median(usual) + 12)
        self.assertLess(statistics.median(took[3:]), statistics.median(usual) + 2)
        self.redis.signal(signal.SIGCONT)
        began = time.monotonic()
        eventually(lambda: member.is_sharing, what="Redis is used again")
        self.assertLess(time.monotonic() - began, 2)

    def test_a_redis_that_refuses_costs_three_questions_a_little(self):
        member = self.member()
        usual = statistics.median(self.ask_new(member, 20, "usual"))
        for label, begin, end in (
                ("full", "config set maxmemory 1", "config set maxmemory 0"),
                ("replica", f"replicaof 127.0.0.1 {free_port()}", "replicaof no one"),
                ("paused", "client pause 4000", None)):
            with self.subTest(label):
                since = len(member.log)
                self.redis.command(*begin.split())
                took = self.ask_new(member, 30, label)
                print(f"    {label}: usual {usual:.2f} ms, first three {[round(each, 2) for each in took[:3]]}, then "
                      f"{statistics.median(took[3:]):.2f} ms")
                self.assertLess(max(took[:3]), usual + 20)
                self.assertLess(statistics.median(took[3:]), usual + 2)
                time.sleep(2.5)
                self.assertFalse(member.is_sharing)
                self.assertEqual(1, member.log[since:].count("no answers are shared with the fleet"))
                self.assertNotIn("answers are shared with the fleet by", member.log[since:])
                if end:
                    self.redis.command(*end.split())
                eventually(lambda: member.is_sharing, within=8)
        # The members use another server meanwhile.
        other = self.own(Redis()).up()
        both = self.member(redis=[self.redis.server, other.server])
        self.redis.command(*f"replicaof 127.0.0.1 {free_port()}".split())
        self.ask_new(both, 5, "other")
        eventually(lambda: both.is_sharing and f"| {other.server} used" in ctl(both, "status").stdout, within=5)

    def test_a_redis_behind_a_slow_path_is_not_used(self):
        slow = self.own(Slow(self.redis.path, 0.05)).up()
        member = self.member(redis=f"redis://127.0.0.1:{slow.port}", start=False).up()
        member.wait_for("Redis at redis://127.0.0.1:.*: it takes longer than fleet.read-timeout")
        took = self.ask_new(member, 40, "slow")
        print(f"    slowest of 40 {max(took):.2f} ms, timeouts {member.figures['timeouts']}")
        self.assertEqual(0, member.figures["timeouts"])
        # The server becomes slow while it is used.
        slow.seconds = 0
        eventually(lambda: member.is_sharing, within=5)
        slow.seconds = 0.05
        self.ask_new(member, 40, "slower")
        time.sleep(2.5)
        self.ask_new(member, 40, "slowest")
        self.assertLessEqual(member.figures["timeouts"], 3)
        self.assertFalse(member.is_sharing)
        # The next server may be quicker.
        both = self.member(redis=[f"redis://127.0.0.1:{slow.port}", self.redis.server])
        self.assertIn(f"| {self.redis.server} used", ctl(both, "status").stdout)

    def under_load(self, member, seconds, prefix, rate=100):
        """Asks for new names at this rate; returns each name's number, milliseconds and response code, by the time of
        the question."""
        count = int(rate * seconds)
        for number in range(count):
            self.provider.record(f"{prefix}{number}.lab.example", "A", "192.0.2.51", ttl=60)
        took, waiting = [], {}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(member.address)
            client.setblocking(False)
            begin = time.monotonic()
            number = 0
            while number < count or waiting and time.monotonic() < begin + seconds + 5:
                if number < count and time.monotonic() >= begin + number / rate:
                    client.send(wire.query(f"{prefix}{number}.lab.example", id=number))
                    waiting[number] = time.monotonic()
                    number += 1
                try:
                    while packet := client.recv(4096):
                        at = waiting.pop(int.from_bytes(packet[:2], "big"))
                        took.append((at, (time.monotonic() - at) * 1000, packet[3] & 15))
                except BlockingIOError:
                    time.sleep(0.0005)
        self.assertEqual({}, waiting)
        return sorted(took)

    def judge(self, label, usual, took):
        usual = statistics.median(each for _, each, _ in usual)
        self.assertEqual({0}, {code for _, _, code in took}, label)
        slow = sorted(each for _, each, _ in took)
        print(f"    {label}: usual {usual:.2f} ms; of {len(took)} the median {statistics.median(slow):.2f} ms, the "
              f"slowest four {[round(each, 1) for each in slow[-4:]]}")
        self.assertLess(statistics.median(slow), usual + 2, label)

    def test_faults_of_redis_under_load_cost_three_questions(self):
        member = self.member()
        usual = self.under_load(member, 2, "usual")
        seconds = 60 if paths.is_full else 6
        self.redis.signal(signal.SIGSTOP)
        self.addCleanup(self.redis.signal, signal.SIGCONT)
        before = member.figures["timeouts"]
        took = self.under_load(member, seconds, "stopped")
        self.judge(f"stopped for {seconds} s", usual, took)
        self.assertLessEqual(member.figures["timeouts"] - before, 3)
        self.redis.signal(signal.SIGCONT)
        began = time.monotonic()
        eventually(lambda: member.is_sharing, what="Redis is used again", every=0.01)
        print(f"    in use again after {time.monotonic() - began:.2f} s")
        self.assertLess(time.monotonic() - began, 1.2)

    def test_a_connection_that_is_cut_in_the_middle_of_a_reply_costs_no_answer(self):
        cut = self.own(Cut(self.redis.path)).up()
        member = self.member(redis=f"redis://127.0.0.1:{cut.port}")
        usual = self.under_load(member, 2, "usual")
        cut.after = 2000
        took = self.under_load(member, 4, "cut")
        self.assertGreater(cut.cuts, 2)
        self.judge(f"cut {cut.cuts} times", usual, took)
        cut.after = None
        eventually(lambda: member.is_sharing, within=5)


class Servers(FleetCase):
    expected_seconds = 35

    def test_all_return_to_the_first_server_and_miss_no_flush(self):
        first = self.own(Redis())
        member = self.member(redis=[first.server, self.redis.server])
        self.address(member, "a.lab.example")
        first.up()
        self.changed()
        # This member has seen the first server only.
        other = self.member(redis=first.server)
        self.assertEqual(0, ctl(other, "flush", "--fleet", "a.lab.example").returncode)
        eventually(lambda: f"| {first.server} used" in ctl(member, "status").stdout, within=15, what="it returns")
        eventually(lambda: "cache      0 entries" in ctl(member, "status").stdout, what="the flush is read")
        self.assertEqual(["192.0.2.70"], self.address(member, "a.lab.example"))
        self.assertEqual(0, member.figures["trips"])
        member.wait_for(f"answers are shared with the fleet by Redis at {re.escape(first.server)}")
        # A member does not return to a server that refuses writes.
        first.command("replicaof", "127.0.0.1", free_port())
        for number in range(4):
            self.address(member, f"new{number}.lab.example")
        eventually(lambda: f"| {self.redis.server} used" in ctl(member, "status").stdout, within=15)
        since = len(member.log)
        # The member tries it after 20 s, because it has returned to it once.
        time.sleep(22)
        self.assertIn(f"| {self.redis.server} used", ctl(member, "status").stdout)
        self.assertEqual("", member.log[since:])


if __name__ == "__main__":
    unittest.main()
