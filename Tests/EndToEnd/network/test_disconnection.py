# A host without a network for a while: it sleeps, its cable is out, or it has no address yet. Also events that resemble
# a change of network.

import os
import signal
import time

import paths
from paths import eventually
from roaming import PREFIXES, RECOVERY, Roaming
from wire import NOERROR, SERVFAIL, opt

SHORT = [f"s{number}.lab.example" for number in range(20)]
LONG = "n50.lab.example"
# The bound in seconds for an answer that needs no upstream.
AT_ONCE = 0.25
STALE = 3


def short_address(name):
    return f"{PREFIXES['a']}.{201 + int(name[1:].split('.')[0])}"


class Disconnected(Roaming):
    """A daemon with ordinary settings but without refreshes, because names are meant to expire."""

    def begin(self, **options):
        super().begin(sections="[prefetch]\nenabled = false\n", **options)
        self.client = self.host.client()
        self.addCleanup(self.client.socket.close)

    def ask(self, name):
        """The reply, and the seconds it took."""
        began = time.monotonic()
        reply = self.client.ask(name, edns=opt())
        return reply, time.monotonic() - began

    def expire(self):
        """Lets the short names expire; the long one stays fresh."""
        for name in SHORT:
            self.assertEqual({short_address(name)}, self.ask(name)[0].addresses)
        self.ask(LONG)
        time.sleep(2.1)

    def requests(self):
        stats = self.server.stats()
        return stats["providers"][0]["requests"] + stats["system"]["requests"]

    def processor_seconds(self):
        fields = open(f"/proc/{self.server.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Asleep(Disconnected):
    expected_seconds = 18

    def test_after_a_sleep_answers_are_fresh_and_their_age_is_right(self):
        """A stopped process stands for a suspend. Meanwhile the routers forget its connections."""
        seconds = 60 if paths.is_full else 12
        self.expire()
        before = self.ask(LONG)[0].answers[0][3]
        self.server.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        self.a.forget_connections(self.host)
        for name in SHORT:
            self.providers["a"].lab.record(name, "A", "198.51.100.250", ttl=2)
        time.sleep(seconds)
        self.server.signal(signal.SIGCONT)
        for name in SHORT:
            reply, took = self.ask(name)
            self.assertEqual((NOERROR, {"198.51.100.250"}, None), (reply.rcode, reply.addresses, reply.extended_error))
            self.assertLess(took, RECOVERY, name)
        reply, _ = self.ask(LONG)
        aged = before - reply.answers[0][3]
        if aged > 0:
            self.assertGreaterEqual(aged, int(time.monotonic() - stopped) - 1)
        # The name was fetched again, so it has its whole TTL.
        self.assertTrue(aged > 0 or reply.answers[0][3] >= 58, (before, reply.answers))
        self.assertSums(self.server.stats())


class NoWayOut(Disconnected):
    expected_seconds = 30

    def test_without_addresses(self):
        def restore():
            return self.host.join(self.a)
        self.out(self.host.leave, restore)

    def test_without_a_carrier(self):
        def restore():
            self.a.carrier("up")
            return time.monotonic()
        def leave():
            self.a.carrier("down")
            # The kernel reports a lost carrier late: one event a second for all links of the machine.
            eventually(lambda: "state UP" not in self.host.run("ip", "link", "show", self.a.link).stdout)
        self.out(leave, restore)

    def out(self, leave, restore):
        self.expire()
        before = self.network()
        leave()
        # The pause is long enough for a new start when the carrier returns.
        time.sleep(1.2)
        asked, spent = self.requests(), self.processor_seconds()
        for name in SHORT:
            reply, took = self.ask(name)
            self.assertEqual(({short_address(name)}, STALE), (reply.addresses, reply.extended_error))
            self.assertEqual(30, reply.answers[0][3])
            self.assertLess(took, AT_ONCE, name)
        self.assertEqual({"198.51.100.51"}, self.ask(LONG)[0].addresses)
        for number in range(20):
            reply, took = self.ask(f"new{number}.any.lab.example")
            self.assertEqual((SERVFAIL, True), (reply.rcode, reply.extended_error in (22, 23)))
            self.assertLess(took, AT_ONCE)
        self.ask_for(2)
        # No upstream can be reached, so hardly any request is tried.
        self.assertLessEqual(self.requests(), asked + 5)
        self.assertLess(self.processor_seconds(), spent + 0.5)

        self.assertRecovers(restore())
        eventually(lambda: self.network()["changes"] == before["changes"] + 1)
        after = self.network()
        self.assertEqual((before["id"], 1), (after["id"], after["causes"].get("restored")))
        self.assertSums(self.server.stats())

    def ask_for(self, seconds):
        """Asks for all expired names in turn, two hundred a second."""
        until, number = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            reply, took = self.ask(SHORT[number % len(SHORT)])
            self.assertEqual(STALE, reply.extended_error)
            number += 1
            time.sleep(max(0, 0.005 - took))

    def assertRecovers(self, has_route):
        """Checks that recently failed names and expired ones have right answers within a second of the route."""
        def is_fresh(name, address):
            reply, _ = self.ask(name)
            return reply.addresses == {address} and reply.extended_error is None
        eventually(lambda: is_fresh(SHORT[0], short_address(SHORT[0])))
        eventually(lambda: is_fresh("new0.any.lab.example", "198.51.100.200"))
        self.assertLess(time.monotonic() - has_route, RECOVERY)


class BeforeTheNetwork(Disconnected):
    expected_seconds = 5

    def begin(self):
        super().begin(joins=False)

    def test_the_first_network_is_used_as_soon_as_it_is_there(self):
        for number in range(5):
            reply, took = self.ask(f"s{number}.lab.example")
            self.assertEqual(SERVFAIL, reply.rcode)
            self.assertLess(took, AT_ONCE)
        joined = self.host.join(self.a)
        for name in SHORT:
            eventually(lambda: self.ask(name)[0].addresses == {short_address(name)})
        self.assertLess(time.monotonic() - joined, RECOVERY)
        self.assertRegex(self.server.log, "system resolver: 10.1.0.1:53")


class Noise(Disconnected):
    expected_seconds = 8
    PAIRS = 200
    # The bound in processor seconds for an idle daemon: some twenty messages of the kernel for each pair may cost as
    # much as a few misses.
    BOUND = 0.003 * PAIRS

    def test_containers_come_and_go_and_nothing_changes(self):
        self.ask("first.any.lab.example")
        before, opened = self.network(), self.connections()
        time.sleep(1)
        spent = self.processor_seconds()
        self.host.ip("link add docker0 type bridge", "address add 172.17.0.1/16 dev docker0", "link set docker0 up")
        began = time.monotonic()
        for first in range(0, self.PAIRS, 20):
            pairs = range(first, first + 20)
            self.host.ip(*(line for pair in pairs for line in (
                f"link add c{pair} type veth peer name p{pair}", f"link set c{pair} master docker0 up",
                f"address add 172.18.{pair}.1/24 dev p{pair}", f"link set p{pair} up")))
            self.host.ip(*(f"link delete c{pair}" for pair in pairs))
        self.host.ip("link delete docker0")
        # A change would be complete by then.
        time.sleep(1.5)
        spent = self.processor_seconds() - spent
        print(f"{self.PAIRS} veth pairs in {time.monotonic() - began - 1.5:.1f} s: {spent:.2f} s of the processor")
        self.assertEqual(before, self.network())
        self.assertLess(spent, self.BOUND)
        self.ask("second.any.lab.example")
        self.assertEqual(opened, self.connections())

    def connections(self):
        connections = self.server.stats()["providers"][0]["connections"]
        return connections["opened"], connections["retried"]
