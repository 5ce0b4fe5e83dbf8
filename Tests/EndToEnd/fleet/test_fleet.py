# Several daemons share the answers of one provider by a real Redis: each name is asked for once, also if a daemon dies,
# and only answers of members are used.

import re
import signal
import socket
import subprocess
import threading
import time
import unittest

import paths
import wire
from dig import dig
from fleets import KEY, FleetCase, Member, Redis, prefix
from paths import eventually, free_port
from programs import ctl


class Fleet(FleetCase):
    expected_seconds = 35

    def test_one_asks_and_the_others_have_the_answer(self):
        members = [self.member() for _ in range(3)]
        for member in members:
            self.assertEqual(["192.0.2.50"], self.address(member, "a.lab.example"))
        self.assertEqual(1, self.provider.asked("a.lab.example"))
        self.assertEqual([1, 0, 0], [member.figures["leases"] for member in members])
        self.assertEqual([0, 1, 1], [member.figures["answers"] for member in members])
        said = ctl(members[1], "explain", "a.lab.example").stdout
        self.assertRegex(said, rf"\nfleet    put \d s ago by {re.escape(socket.gethostname())}\n")
        self.assertNotIn("\nfleet ", ctl(members[0], "explain", "a.lab.example").stdout)
        # Redis has no readable names, and its own clock ends the entry.
        [entry] = self.redis.entries()
        self.assertNotIn("lab", " ".join(self.redis.keys()))
        value = self.redis.command("get", entry)
        for secret in (b"lab", b"example", b"json", socket.gethostname().encode(), bytes([192, 0, 2, 50])):
            self.assertNotIn(secret, value)
        self.assertLessEqual(int(self.redis.command("pttl", entry)), 60_000)
        # The TTL is the remaining one.
        time.sleep(1.1)
        late = self.member()
        self.assertLess(int(dig(late, "a.lab.example", "A").answer[0][1]), 60)

    def test_a_stampede_is_one_request(self):
        members = [self.member() for _ in range(4)]
        self.provider.fault("delay", provider="json", value=200)
        answers = []
        threads = [
            threading.Thread(target=lambda member=member: answers.append(self.address(member, "b.lab.example")))
            for member in members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([["192.0.2.50"]] * 4, answers)
        self.assertEqual(1, self.provider.asked("b.lab.example"))
        self.assertEqual(3, sum(member.figures["awaited"] for member in members))

    def test_the_clocks_of_machines_do_not_count(self):
        """Redis is a day behind the members, or ahead of them."""
        for offset in (-86_400, 86_400):
            with self.subTest(offset):
                library = self.redis.directory / f"clock{offset}.so"
                subprocess.run(
                    ["gcc", "-shared", "-fPIC", f"-DOFFSET={offset}", "-o", library,
                     paths.SUPPORT / "other-clock.c"], check=True)
                redis = self.own(Redis()).up(prefix=("env", f"LD_PRELOAD={library}"))
                told = int(redis.command("time").split()[0])
                self.assertTrue(80_000 < abs(told - time.time()) < 90_000)
                one, other = self.member(redis.server), self.member(redis.server)
                name = f"clock{told}.lab.example"
                self.provider.record(name, "A", "192.0.2.50", ttl=60)
                self.address(one, name)
                time.sleep(2.1)
                ttl = int(dig(other, name, "A").answer[0][1])
                self.assertTrue(56 <= ttl <= 58, ttl)
                self.assertEqual((1, {}), (self.provider.asked(name), other.figures["refused"]))

    def test_the_owner_of_a_lease_dies(self):
        owner, other = self.member(), self.member()
        owner.expected_exit = -signal.SIGKILL
        self.provider.fault("delay", provider="json", value=2000)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(owner.address)
            client.send(wire.query("c.lab.example"))
            eventually(lambda: self.provider.asked("c.lab.example") == 1)
        self.assertEqual(1, owner.figures["leases"])
        owner.kill()
        self.provider.fault("none", provider="json")
        began = time.monotonic()
        self.assertEqual(["192.0.2.50"], self.address(other, "c.lab.example"))
        self.assertLess(time.monotonic() - began, 1.6)
        self.assertEqual(2, self.provider.asked("c.lab.example"))

    def test_values_that_no_member_made_are_refused(self):
        one, other = self.member(), self.member()
        self.address(one, "d.lab.example")
        entry = self.redis.entries()[0]
        value = self.redis.command("get", entry)
        # The value belongs to another entry.
        self.provider.record("e.lab.example", "A", "192.0.2.52", ttl=60)
        self.address(one, "e.lab.example")
        foreign = next(key for key in self.redis.entries() if key != entry)
        self.redis.put(foreign, value)
        self.assertEqual(["192.0.2.52"], self.address(other, "e.lab.example"))
        # The value was changed.
        self.redis.put(entry, value[:40] + bytes([value[40] ^ 1]) + value[41:])
        self.assertEqual(["192.0.2.50"], self.address(other, "d.lab.example"))
        self.assertEqual({"unauthenticated": 2}, other.figures["refused"])

    def test_what_another_program_puts_at_the_keys_of_a_name_concerns_that_name_only(self):
        one = self.member()
        self.address(one, "a.lab.example")
        [entry] = self.redis.entries()
        for asked in (2, 3):
            for name in (entry, entry + ":l", entry + ":w", entry + ":d"):
                self.redis.command("del", name)
                self.redis.command("rpush", name, "x")
            other = self.member()
            self.assertEqual(["192.0.2.50"], self.address(other, "a.lab.example"))
            self.assertEqual((1, 0), (other.figures["in_use"], other.figures["trips"]))
            self.assertEqual(asked, self.provider.asked("a.lab.example"))
            # The keys are used by the fleet again.
            third = self.member()
            self.assertEqual(["192.0.2.50"], self.address(third, "a.lab.example"))
            self.assertEqual(1, third.figures["answers"])
        # A lease without an end does not count.
        self.redis.command("del", entry)
        self.redis.command("set", entry + ":l", "x")
        last = self.member()
        self.assertEqual(["192.0.2.50"], self.address(last, "a.lab.example"))
        self.assertEqual((1, 0), (last.figures["leases"], last.figures["awaited"]))

    def test_a_value_that_is_put_again_after_its_time_is_refused(self):
        one, other = self.member(), self.member()
        self.provider.record("brief.lab.example", "A", "192.0.2.60", ttl=2)
        self.address(one, "brief.lab.example")
        entry = self.redis.entries()[0]
        value = self.redis.command("get", entry)
        time.sleep(2.1)
        self.provider.record("brief.lab.example", "A", "192.0.2.61", ttl=60)
        self.redis.put(entry, value)
        self.assertEqual(["192.0.2.61"], self.address(other, "brief.lab.example"))
        self.assertEqual({"outdated": 1}, other.figures["refused"])

    def test_after_a_flush_the_provider_is_asked_although_redis_has_an_answer(self):
        one, other = self.member(), self.member()
        for member in (one, other):
            self.address(member, "a.lab.example")
        self.changed()
        ctl(one, "flush", "a.lab.example")
        self.assertEqual(["192.0.2.70"], self.address(one, "a.lab.example"))
        self.assertEqual(["192.0.2.50"], self.address(other, "a.lab.example"))
        # The new answer is shared by the fleet.
        self.assertEqual(["192.0.2.70"], self.address(self.member(), "a.lab.example"))
        self.assertEqual(2, self.provider.asked("a.lab.example"))

    def test_a_flush_of_the_fleet_is_for_all_of_them(self):
        members = [self.member() for _ in range(3)]
        for command in ("a.lab.example", "--tree lab.example", "--all"):
            with self.subTest(command):
                self.provider.record("a.lab.example", "A", "192.0.2.50", ttl=600)
                ctl(members[0], "flush", "--fleet", "--all")
                time.sleep(0.2)
                for member in members:
                    self.assertEqual(["192.0.2.50"], self.address(member, "a.lab.example"))
                self.changed()
                before = self.provider.asked("a.lab.example")
                self.assertEqual(0, ctl(members[1], "flush", "--fleet", *command.split()).returncode)
                time.sleep(0.1)
                for member in members:
                    self.assertEqual(["192.0.2.70"], self.address(member, "a.lab.example"))
                self.assertEqual(before + 1, self.provider.asked("a.lab.example"))

    def test_one_that_was_away_has_a_flush_before_its_first_answer(self):
        one, away = self.member(), self.member(start=False)
        away.store = away.directory / "cache.db"
        away.up()
        self.address(away, "a.lab.example")
        time.sleep(0.1)
        away.stop()
        self.changed()
        ctl(one, "flush", "--fleet", "a.lab.example")
        away.up()
        self.assertEqual(["192.0.2.70"], self.address(away, "a.lab.example"))
        # The flush is carried out once, so answers that were learned since survive the next start.
        away.stop()
        self.provider.record("a.lab.example", "A", "192.0.2.71", ttl=600)
        self.redis.command("flushall")
        away.up()
        eventually(lambda: "cache      1 entries" in ctl(away, "status").stdout, what="the store is loaded")
        self.assertEqual(["192.0.2.70"], self.address(away, "a.lab.example"))

    def test_a_flush_of_the_fleet_needs_a_key_and_redis(self):
        one = self.member()
        self.address(one, "a.lab.example")
        for order in (b"", b"x" * 60, bytes([1]) + bytes(60)):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(self.redis.path))
                words = [b"XADD", prefix().encode() + b"f", b"*", b"order", order]
                client.sendall(b"*5\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
                client.recv(100)
        self.redis.command("publish", prefix() + "f", "")
        eventually(lambda: one.figures["refused"] == {"malformed": 2, "unknown-key": 1})
        self.assertIn("cache      1 entries", ctl(one, "status").stdout)
        # The operator that orders a flush learns whether Redis has it.
        self.redis.command("config", "set", "maxmemory", "1")
        refused = ctl(one, "flush", "--fleet", "--all")
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("Redis has refused the order: ", refused.stdout + refused.stderr)
        self.redis.command("config", "set", "maxmemory", "0")
        self.redis.signal(signal.SIGSTOP)
        begin = time.monotonic()
        refused = ctl(one, "flush", "--fleet", "--all")
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("Redis was lost before it replied", refused.stdout + refused.stderr)
        self.assertLess(time.monotonic() - begin, 5)
        self.redis.signal(signal.SIGCONT)
        self.redis.kill()
        eventually(lambda: not one.is_sharing)
        refused = ctl(one, "flush", "--fleet", "--all")
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("Redis is not used: ", refused.stdout + refused.stderr)
        alone = self.daemon([self.provider.provider("json")])
        refused = ctl(alone, "flush", "--fleet", "--all")
        self.assertIn("there is no fleet", refused.stdout + refused.stderr)

    def test_members_with_another_key_or_site_share_nothing(self):
        members = [self.member(), self.member(keys=["f" * 32]), self.member(site="there")]
        for member in members:
            self.address(member, "a.lab.example")
        self.assertEqual(3, self.provider.asked("a.lab.example"))
        self.assertEqual(3, len(self.redis.entries()))
        self.assertEqual([{}] * 3, [member.figures["refused"] for member in members])

    def test_two_fleets_with_one_redis_do_not_mix(self):
        other = "f" * 32
        ours, theirs = [self.member() for _ in range(2)], [self.member(keys=[other]) for _ in range(2)]
        for member in (*ours, *theirs):
            self.address(member, "a.lab.example")
        for key in self.redis.keys():
            self.assertTrue(key.startswith((prefix(), prefix(other))), key)
        self.assertEqual(2, self.provider.asked("a.lab.example"))
        # Each fleet counts its own members, and learns nothing of the other one.
        eventually(lambda: [member.figures["members"] for member in (*ours, *theirs)] == [2] * 4, within=12)
        self.assertEqual(0, ctl(ours[0], "flush", "--fleet", "--all").returncode)
        time.sleep(0.2)
        for member in (*ours, *theirs):
            self.address(member, "a.lab.example")
        self.assertEqual(3, self.provider.asked("a.lab.example"))
        self.assertEqual([{}] * 4, [member.figures["refused"] for member in (*ours, *theirs)])
        for number in range(1001):
            self.redis.command("xadd", prefix(other) + "f", "MAXLEN", "1000", "*", "order", f"{number}")
        late = self.member(start=False)
        late.store = late.directory / "cache.db"
        late.up()
        eventually(lambda: late.is_sharing)
        self.assertEqual({}, late.figures["refused"])

    def test_members_whose_providers_differ_share_nothing(self):
        """Members share answers only if their providers' settings lead to the same answers by the same path."""
        plain = self.provider.provider("json")
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            proxy = f"http://127.0.0.1:{closed.getsockname()[1]}"
        self.address(self.member(), "a.lab.example")
        for keys, entries in (
                ({"name": "renamed", "timeout": "2s"}, 0), ({"host": "other.example"}, 1),
                ({"client-subnet": "192.0.2.0/24"}, 1), ({"proxy": proxy}, 0)):
            with self.subTest(keys=keys):
                before, known = self.provider.asked("a.lab.example"), len(self.redis.entries())
                member = self.own(Member([{**plain, **keys}], self.redis.server)).up()
                eventually(lambda: member.is_sharing)
                reply = dig(member, "a.lab.example", "A")
                if "proxy" in keys:
                    # The proxy does not work, and the member gets no shared answer.
                    self.assertEqual("SERVFAIL", reply.status)
                else:
                    self.assertEqual("NOERROR", reply.status)
                    is_shared = "name" in keys
                    self.assertEqual(before + (0 if is_shared else 1), self.provider.asked("a.lab.example"))
                self.assertEqual(known + entries, len(self.redis.entries()))
                member.stop()

    def test_an_answer_in_flight_during_a_flush_is_dropped(self):
        members = [self.member() for _ in range(3)]
        self.provider.fault("delay", provider="json", value=1500)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(members[0].address)
            client.settimeout(paths.PATIENCE)
            client.send(wire.query("a.lab.example"))
            eventually(lambda: self.provider.asked("a.lab.example") == 1)
            self.provider.fault("none", provider="json")
            self.changed()
            self.assertEqual(0, ctl(members[1], "flush", "--fleet", "a.lab.example").returncode)
            client.recv(4096)
        time.sleep(1.6)
        for member in members:
            self.assertEqual(["192.0.2.70"], self.address(member, "a.lab.example"))
        # A member asks alone if Redis takes more than 5 ms.
        self.assertIn(self.provider.asked("a.lab.example"), (2, 3))

    def test_while_keys_are_changed_both_are_understood(self):
        old = self.member()
        self.address(old, "a.lab.example")
        new = self.member(keys=["n" * 40, KEY])
        self.assertEqual(["192.0.2.50"], self.address(new, "a.lab.example"))
        self.assertEqual(1, self.provider.asked("a.lab.example"))

    def test_a_wrong_password_is_told_and_costs_nothing(self):
        guarded = self.own(Redis("--requirepass", "right")).up()
        member = self.member(redis=guarded.server, password="wrong", start=False).up()
        member.wait_for("Redis at unix:.*: WRONGPASS")
        self.assertEqual(["192.0.2.50"], self.address(member, "a.lab.example"))
        self.assertEqual(0, member.figures["timeouts"])
        self.assertRegex(ctl(member, "status").stdout, "fleet +site here \\| unix:.* not used: WRONGPASS")
        self.assertIn("no answers are shared with the fleet: Redis at unix:", ctl(member, "doctor").stdout)
        member.secret("password", "right")
        member.reload()
        eventually(lambda: member.is_sharing)
        self.assertRegex(ctl(member, "status").stdout, "fleet +site here \\| unix:.* used")

    def test_the_rights_of_the_manual_are_enough_and_no_others_are_given(self):
        page = (paths.ROOT / "etc/man/httpdnsd.8").read_text()
        rights = re.search("^ACL SETUSER httpdnsd (.*)$", page, re.MULTILINE).group(1).replace("PASSWORD", "secret")
        self.assertEqual(b"OK", self.redis.command("acl", "setuser", "httpdnsd", *rights.split()))
        members = [self.member(password="secret", more='user = "httpdnsd"') for _ in range(2)]
        self.provider.fault("delay", provider="json", value=150)
        threads = [threading.Thread(target=self.address, args=(member, "a.lab.example")) for member in members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(1, self.provider.asked("a.lab.example"))
        self.provider.fault("status", provider="json", value=500)
        self.provider.record("f.lab.example", "A", "192.0.2.54", ttl=60)
        dig(members[0], "f.lab.example", "A")
        self.assertEqual([0, 0], [member.figures["invalid"] for member in members])
        self.assertEqual(0, ctl(members[0], "flush", "--fleet", "--all").returncode)
        eventually(lambda: "cache      0 entries" in ctl(members[1], "status").stdout)
        denied = ("keys *", "flushall", "config get *", "get other", "subscribe other", "script flush", "acl list")
        for command in denied:
            said = self.redis.command("--user", "httpdnsd", "--pass", "secret", "--no-auth-warning", *command.split())
            self.assertIn(b"NOPERM", said, command)

    def test_garbage_and_half_replies_end_the_connection_only(self):
        for content in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$-7\r\n", b"+OK\r\n*3\r\n:1\r\n", b"*2000000\r\n", b"\0" * 5000):
            with self.subTest(content[:20]), socket.socket(socket.AF_UNIX) as listener:
                path = self.redis.directory / "liar.sock"
                path.unlink(missing_ok=True)
                listener.bind(str(path))
                path.chmod(0o777)
                listener.listen(16)
                ending = threading.Event()

                def serve():
                    while not ending.is_set():
                        try:
                            client, _ = listener.accept()
                        except OSError:
                            return
                        with client:
                            try:
                                client.recv(4096)
                                client.sendall(content)
                            except OSError:
                                pass
                thread = threading.Thread(target=serve)
                thread.start()
                try:
                    member = self.member(redis=f"unix:{path}", start=False).up()
                    member.wait_for("no answers are shared with the fleet")
                    self.assertEqual(["192.0.2.50"], self.address(member, "a.lab.example"))
                    self.assertEqual(0, member.figures["in_use"])
                finally:
                    ending.set()
                    listener.shutdown(socket.SHUT_RDWR)
                    thread.join()
                    member.stop()

    def test_the_second_server_is_used_without_the_first(self):
        member = self.member(redis=[f"redis://127.0.0.1:{free_port()}", self.redis.server], start=False).up()
        eventually(lambda: member.is_sharing, within=5)

    def test_refreshes_are_shared(self):
        self.provider.record("brief.lab.example", "A", "192.0.2.53", ttl=4)
        keep = '[prefetch]\nkeep = ["brief.lab.example"]'
        members = [self.member(sections=keep) for _ in range(3)]
        time.sleep(10)
        asked = self.provider.asked("brief.lab.example")
        print(f"    {asked} requests of three members for two types in 10 s, TTL 4 s")
        # The limit is for A and AAAA. Alone, each member would ask for each of them more than three times.
        self.assertLessEqual(asked, 12)
        for member in members:
            self.assertEqual(["192.0.2.53"], self.address(member, "brief.lab.example"))
            self.assertGreater(member.figures["answers"] + member.figures["awaited"], 0)


if __name__ == "__main__":
    unittest.main()
