# The host moves from one network to another and back while its programs ask.

import time

import paths
from paths import eventually
from roaming import FIRST, NAMES, RECOVERY, Roaming, known_by, zone_of
from traffic import percentile
from tunnel import Tunnel


class Switch(Roaming):
    """A move from one interface to another."""

    expected_seconds = 12

    def test_to_a_new_network_and_back_to_a_known_one(self):
        traffic = self.traffic()
        before = self.network()
        to_b = self.host.switch(self.b)
        time.sleep(2 * FIRST)
        self.assertNotEqual(before["id"], self.network()["id"])
        # The delay is too long for an answer in time, so a reply comes from the cache.
        self.providers["a"].lab.fault("delay", value=int(2 * RECOVERY * 1000))
        to_a = self.host.switch(self.a)
        time.sleep(2 * FIRST)
        questions = traffic.finish()
        self.assertServed(questions)
        at_b = [each for each in questions if each.sent < to_a - 0.2]
        self.assertFollowed(at_b, to_b, "b")
        back = [each for each in questions if each.sent >= to_a]
        self.assertFollowed(back, to_a, "a")
        after = self.network()
        self.assertEqual((before["id"], before["changes"] + 2), (after["id"], after["changes"]))
        self.assertSums(self.server.stats())


class WirelessSwitch(Switch):
    """A move on one interface: only addresses and the gateway distinguish the networks."""

    is_wireless = True


class Switches(Roaming):
    expected_seconds = 15

    def test_many_switches_leave_nothing_behind(self):
        switches = 50 if paths.is_full else 6
        traffic = self.traffic()
        settled, recoveries, reported = None, [], []
        for number in range(switches):
            letter = "ba"[number % 2]
            before = self.network()["changes"]
            moved = self.host.switch(self.networks[letter])
            time.sleep(1.2)
            recoveries.append(self.recovery(traffic.asked(moved), moved, letter))
            eventually(lambda: self.network()["changes"] > before)
            reported.append(self.network()["last_recovery_ms"] / 1000)
            # Both networks are known after the first moves.
            settled = self.taken() if number == 3 else settled
        self.assertServed(traffic.finish())
        print(f"recovery: clients p50 {percentile(recoveries, 0.5):.3f} s, p95 {percentile(recoveries, 0.95):.3f} s; "
              f"reported p95 {percentile(reported, 0.95):.3f} s; {settled} -> {self.taken()}")
        self.assertLess(percentile(recoveries, 0.95), RECOVERY)
        self.assertLess(percentile(reported, 0.95), RECOVERY)
        self.assertGreater(min(reported), 0)
        for what, more in {"open_fds": 4, "entries": len(NAMES) // 10, "own_bytes": 4 << 20}.items():
            self.assertLessEqual(self.taken()[what], settled[what] + more, what)

    def taken(self):
        stats = self.server.stats()
        return {"entries": stats["cache"]["entries"], "own_bytes": self.server.own_bytes(), **stats["process"]}


class Virtual(Roaming):
    """A VPN, which is a network of its own."""

    expected_seconds = 12

    def test_a_vpn_comes_and_goes(self):
        vpn = Tunnel(self.networks)
        vpn.serve(self.networks, known_by("b"))
        vpn.internet.provider(zone_of("b"))
        traffic = self.traffic()
        before = self.network()
        up = vpn.up()
        time.sleep(FIRST + 0.5)
        self.assertNotEqual(before["id"], self.network()["id"])
        down = vpn.down()
        time.sleep(FIRST + 0.5)
        questions = traffic.finish()
        self.assertServed(questions)
        self.assertFollowed([each for each in questions if each.sent < down - 0.2], up, "b")
        self.assertFollowed(questions, down, "a")
        after = self.network()
        self.assertEqual((before["id"], before["changes"] + 2), (after["id"], after["changes"]))
        self.assertEqual(2, after["causes"].get("vpn"))
