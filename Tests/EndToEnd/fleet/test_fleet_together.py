# The shared state of a fleet: a provider's budget and quota, the demand for a name, and forged addresses.

import json
import socket
import time
import unittest
import urllib.parse

import paths
import wire
from cases import Case
from dig import dig
from fakes import FakeNameserver, FakeProvider, question, reply
from fleets import KEY, Member, Redis
from paths import eventually
from programs import ctl
from test_hijack import BANK, Played


class Counting(FakeProvider):
    """A provider that answers each question with one address after `delay` seconds, and records the times."""

    def __init__(self, delay=0):
        self.times, self.delay = [], delay
        super().__init__(self._answer)

    def _answer(self, head):
        self.times.append(time.monotonic())
        time.sleep(self.delay)
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(head.split(b" ")[1].decode()).query)
        name, type = asked["name"][0], {"A": 1, "AAAA": 28}.get(asked["type"][0], 0)
        answer = [{"name": name, "type": 1, "TTL": 300, "data": "192.0.2.50"}] if type == 1 else []
        body = json.dumps({
            "Status": 0, "TC": False, "RD": True, "RA": True, "AD": False, "CD": False,
            "Question": [{"name": name, "type": type}], "Answer": answer}).encode()
        return (b"HTTP/1.1 200 OK\r\nContent-Type: application/dns-json\r\nConnection: close\r\nContent-Length: "
                b"%d\r\n\r\n" % len(body) + body)

    def most(self, begin, end):
        """The largest number of requests in any second that begins between these times."""
        times = sorted(each for each in self.times if begin <= each < end + 1)
        return max((sum(first <= each < first + 1 for each in times) for first in times if first <= end), default=0)


class Together(Case):
    expected_seconds = 48

    def setUp(self):
        self.redis = self.own(Redis()).up()
        self.provider = Counting()
        self.addCleanup(self.provider.close)
        self.system = FakeNameserver(
            lambda query, _: [reply(query, [(question(query)[0], 1, 300, bytes([192, 0, 2, 99]))])])
        self.addCleanup(self.system.close)

    def members(self, count, more="", fleet_keys=(KEY,), others=(), **keys):
        provider = {**self.provider.provider("json"), **keys}
        members = []
        for _ in range(count):
            member = self.own(Member(
                [provider, *others], self.redis.server, system=[self.system.server],
                sections="[prefetch]\nenabled = false", more=more, keys=fleet_keys)).up()
            eventually(lambda: member.is_sharing, what="Redis is used")
            members.append(member)
        return members

    def press(self, members, rate, seconds, prefix):
        """Asks for new names at this rate, in turn at the members; returns the number of replies by response code."""
        clients = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in members]
        for client, member in zip(clients, members):
            client.connect(member.address)
            client.setblocking(False)
        codes, begin = {}, time.monotonic()
        for number in range(int(rate * seconds)):
            while time.monotonic() < begin + number / rate:
                time.sleep(0.0005)
            clients[number % len(clients)].send(wire.query(f"{prefix}{number}.many.example", id=number))
            self._take(clients, codes)
        end = time.monotonic() + 3
        while sum(codes.values()) < int(rate * seconds) and time.monotonic() < end:
            self._take(clients, codes)
            time.sleep(0.01)
        for client in clients:
            client.close()
        return codes

    @staticmethod
    def _take(clients, codes):
        for client in clients:
            try:
                while data := client.recv(4096):
                    codes[data[3] & 15] = codes.get(data[3] & 15, 0) + 1
            except OSError:
                pass

    def test_a_budget_holds_for_all_members_and_without_redis_as_well(self):
        members = self.members(4, budget="50/s", **{"when-used-up": "system"})
        # The members learn the size of the fleet.
        time.sleep(10.5)
        begin = time.monotonic()
        codes = self.press(members, 150, 5, "together")
        together = self.provider.most(begin, begin + 4)
        self.assertEqual({0: 750}, codes)
        asked = len(self.provider.times)
        self.redis.kill()
        died = time.monotonic()
        codes = self.press(members, 150, 3, "alone")
        print(f"    at most {together} a second together, {self.provider.most(died, died + 2)} after Redis died")
        self.assertEqual({0: 450}, codes)
        # A busy machine sends some of the requests up to 100 ms late, so some seconds have more.
        self.assertLessEqual(together, 52 if paths.is_full else 56)
        self.assertGreaterEqual(asked, 4 * 50)
        self.assertLessEqual(self.provider.most(died, died + 2), 60)
        # A member that was refused a turn asks for none until the next one is free.
        self.assertGreater(sum(member.figures["deferred"] for member in members), 100)

    def test_a_shared_budget_is_used_although_another_provider_may_answer_first(self):
        """The account's whole budget is used: no other provider gets a request that waits for its turn."""
        other = Counting(delay=0.03)
        self.addCleanup(other.close)
        members = self.members(3, budget="10/s", others=[other.provider("json", "other")])
        # The members learn the size of the fleet.
        time.sleep(10.5)
        for rate in (14, 30):
            with self.subTest(rate=rate):
                self.provider.times.clear()
                other.times.clear()
                begin = time.monotonic()
                codes = self.press(members, rate, 6, f"hedged{rate}x")
                asked, most = len(self.provider.times), self.provider.most(begin, begin + 5)
                print(f"    {rate}/s: {asked} of 60 by the account, at most {most} a second, {len(other.times)} other")
                self.assertEqual({0: rate * 6}, codes)
                self.assertGreaterEqual(asked, 40)
                self.assertLessEqual(most, 12)

    def test_a_quota_is_counted_for_all_members(self):
        members = self.members(2, quota="10/day")
        for number in range(10):
            dig(members[0], f"billed{number}.example", "A")
        members[0].wait_for("is over its quota")
        # The other member learns of it although it has asked nothing.
        members[1].wait_for("is over its quota", within=25)
        asked = len(self.provider.times)
        more = dig(members[1], "more.example", "A")
        self.assertEqual(("SERVFAIL", []), (more.status, more.answer), "a used-up quota is no reason for plain DNS")
        self.assertEqual(asked, len(self.provider.times))
        # Both show the sum, and their own questions.
        for member, own in zip(members, (10, 0)):
            shown = json.loads(ctl(member, "providers", "--json").stdout)["providers"][0]["billed"]
            self.assertEqual((10, 1.0, own), (shown["fleet"], shown["quota_share"], sum(shown["day"].values())))
            self.assertIn("quota 10/day, 100.0 % used by the fleet (10)", ctl(member, "providers").stdout)
        # A sum that no member has made does not count.
        [sums] = self.redis.of_kind("q")
        sealed = self.redis.command("get", sums)
        self.redis.command("set", sums, "nan")
        eventually(lambda: self.redis.command("get", sums) not in (b"nan", sealed), within=12)
        self.assertEqual(10, self.billed(members[1]))

    def billed(self, member):
        return json.loads(ctl(member, "providers", "--json").stdout)["providers"][0]["billed"].get("fleet")

    def test_a_wrong_sum_ends_no_provider(self):
        members = self.members(2, quota="20/day")
        for number in range(4):
            dig(members[0], f"billed{number}.example", "A")
        eventually(lambda: [self.billed(member) for member in members] == [4, 4], within=25)
        [sums] = self.redis.of_kind("q")
        self.redis.command("set", sums, "999999999")
        eventually(lambda: self.redis.command("get", sums) != b"999999999", within=12)
        for number, member in enumerate(members):
            self.assertEqual(["192.0.2.50"], [each[4] for each in dig(member, f"on{number}.example", "A").answer])
        eventually(lambda: [self.billed(member) for member in members] == [6, 6], within=25)

    def test_a_sum_is_counted_anew(self):
        """A third member has counted questions that the others have not."""
        members = self.members(3, quota="10/day")
        for number in range(8):
            dig(members[2], f"third{number}.example", "A")
        members[2].wait_for("has used 80 %")
        eventually(lambda: self.billed(members[0]) == 8, within=25)
        members[2].stop()
        for number in range(3):
            dig(members[0], f"first{number}.example", "A")
        members[0].wait_for("is over its quota")
        members[1].wait_for("is over its quota", within=25)
        self.assertEqual("reset 1 provider\n", ctl(members[1], "providers", "reset", "fake").stdout)
        eventually(lambda: [self.billed(member) for member in members[:2]] == [2, 2], within=25)
        for number, member in enumerate(members[:2]):
            self.assertEqual(["192.0.2.50"], [each[4] for each in dig(member, f"on{number}.example", "A").answer])

    def test_while_keys_are_changed_budget_and_quota_are_one(self):
        other = "f" * 32
        for one, both in (((KEY,), (KEY, other)), ((KEY, other), (other, KEY)), ((other, KEY), (other,))):
            with self.subTest(one=one, both=both):
                members = [
                    member for keys in (one, both)
                    for member in self.members(1, fleet_keys=keys, budget="30/s", quota="1000/day")]
                time.sleep(0.5)
                self.provider.times.clear()
                begin = time.monotonic()
                self.press(members, 100, 3, f"keys{len(one)}{len(both)}{one[0][0]}")
                self.assertLessEqual(self.provider.most(begin, begin + 2), 32 if paths.is_full else 36)
                self.assertGreaterEqual(len(self.provider.times), 2 * 30)
                eventually(lambda: len({self.billed(member) for member in members}) == 1
                           and self.billed(members[0]) >= len(self.provider.times), within=25)
                for member in members:
                    member.stop()
                self.redis.command("flushall")

    def test_a_wrong_time_of_a_pace_stops_no_request(self):
        [member] = self.members(1, budget="50/s")
        dig(member, "first.example", "A")
        [pace] = self.redis.of_kind("b")
        for number, time_ in enumerate(("nan", "inf", "1e300", "x", "-5")):
            self.redis.command("set", pace, time_)
            asked = len(self.provider.times)
            dig(member, f"next{number}.example", "A")
            self.assertEqual(asked + 1, len(self.provider.times), time_)
        self.assertEqual(0, member.figures["deferred"])


class Evidence(Played):
    expected_seconds = 5

    def test_an_address_that_one_finds_forged_is_probed_by_the_others(self):
        redis = self.own(Redis()).up()
        for lab, address in ((self.liar, self.forged), (self.honest, self.genuine)):
            self.say(lab, BANK, address, ttl=300)
        providers = [self.liar.provider("json", "liar"), self.honest.provider("json", "honest")]
        finder, other, deaf = (
            self.own(Member(providers, redis.server, sections=self.sites.settings(), more=more)).up()
            for more in ("", "", 'share = ["answers", "leases"]'))
        for member in (finder, other, deaf):
            eventually(lambda: member.is_sharing)
        # A name that is asked for once is not probed.
        self.assertEqual([self.forged], [each[4] for each in dig(other, BANK, "A").answer])
        self.assertEqual([self.forged], [each[4] for each in dig(deaf, BANK, "A").answer])
        self.assertEqual(0, other.stats()["probe"]["done"])
        eventually(lambda: dig(finder, BANK, "A") and self.evidence(finder), within=20, what="evidence of the finder")
        eventually(lambda: self.verdicts(other).get("name-mismatch"), what="the other one probes")
        eventually(lambda: [self.genuine] == [each[4] for each in dig(other, BANK, "A").answer], what="its own verdict")
        self.assertEqual(0, deaf.stats()["probe"]["done"])


if __name__ == "__main__":
    unittest.main()
