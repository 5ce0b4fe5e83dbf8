# During a change of the network, no answer of the former network is given as fresh, and no question fails that would
# have an answer a moment later.

import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import paths
from paths import eventually
from roaming import Roaming, address_of, known_by, zone_of
from traffic import Traffic
from tunnel import Tunnel

# The daemon's reaction time to a message of the kernel, on a busy machine.
REACTION = 0.02
# The message groups of rtnetlink(7): links, IPv4 addresses, IPv4 routes.
GROUPS = 0x1 | 0x10 | 0x40
DELLINK, DELADDR, NEWROUTE, DELROUTE = 17, 21, 24, 25


def changes_way_out(messages):
    """Whether one of these messages shows a change of the way out: a default route, or half of it, comes or goes, or an
    address or interface goes, whose routes the kernel drops without a message."""
    at = 0
    while at + 16 <= len(messages):
        length, kind = struct.unpack_from("=IH", messages, at)
        # The fields of struct rtmsg: family, length of the destination.
        if kind in (DELLINK, DELADDR) or kind in (NEWROUTE, DELROUTE) and messages[at + 17] <= 1:
            return True
        at += (length + 3) & ~3
    return False


class Kernel:
    """The times of the kernel's messages about the way out in the host's namespace, by time.monotonic()."""

    def __init__(self, host):
        self.told = []
        self.socket = host.within(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
        self.socket.bind((0, GROUPS))
        self.socket.settimeout(0.1)
        self.is_open = True
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self):
        while self.is_open:
            try:
                messages = self.socket.recv(65536)
            except TimeoutError:
                continue
            if changes_way_out(messages):
                self.told.append(time.monotonic())

    def first(self, since):
        return next(at for at in self.told if at >= since)

    def close(self):
        self.is_open = False
        self.thread.join()
        self.socket.close()


class Changes(Roaming):
    """Five kinds of change between "a" and "b", with programs that ask all the time."""

    expected_seconds = 50

    def test_no_answer_of_the_former_network_is_fresh(self):
        kernel = self.networks.own(Kernel(self.host))
        vpn = Tunnel(self.networks)
        vpn.serve(self.networks, known_by("b"))
        vpn.internet.provider(zone_of("b"))
        traffic = self.traffic()
        kinds = [
            ("to another network", lambda: self.host.switch(self.b), "b"),
            ("back", lambda: self.host.switch(self.a), "a"),
            ("a tunnel comes", vpn.up, "b"),
            ("a tunnel goes", vpn.down, "a"),
            ("a second default route", self.second_route, "b"),
            ("that route goes", self.first_route, "a"),
        ]
        rounds = 6 if paths.is_full else 5
        changes = []
        for _ in range(rounds):
            for kind, change, letter in kinds:
                former = "ab"[letter == "a"]
                if change == self.second_route:
                    # The first route has a metric that leaves room for a better one.
                    self.host.ip(f"route add default via {self.a.lan_v4} metric 600",
                                 f"route del default via {self.a.lan_v4} metric 0")
                    time.sleep(1.3)
                begun = time.monotonic()
                change()
                time.sleep(1.3)
                changes.append((kind, kernel.first(begun), former))
        questions = traffic.finish()
        wrong = []
        for kind, told, former in changes:
            late = [each for each in questions if told + REACTION <= each.sent < told + 1.2]
            self.assertGreater(len(late), 50, kind)
            wrong += [(kind, round(each.sent - told, 3), each) for each in late
                      if each.address == address_of(each.name, former) and each.ttl > 30]
        print(f"{len(changes)} changes, {len(wrong)} answers of the former network as fresh")
        self.assertGreaterEqual(len(changes), 30)
        self.assertEqual([], wrong[:5], f"{len(wrong)} answers")

    def second_route(self):
        """Adds a route with a lower metric, as when a cable is plugged in beside a WLAN."""
        self.host.ip(f"address add {self.b.host_v4}/24 dev {self.b.link}",
                     f"route add default via {self.b.lan_v4} metric 100")
        self.host.write_resolv_conf(self.b.resolv_conf)

    def first_route(self):
        self.host.ip(f"address flush dev {self.b.link} scope global")
        self.host.write_resolv_conf(self.a.resolv_conf)
        time.sleep(0.3)
        self.host.ip(f"route add default via {self.a.lan_v4}", f"route del default via {self.a.lan_v4} metric 600")


class Loss(Roaming):
    """The way out ends, and the kernel sends other messages just before or meanwhile."""

    expected_seconds = 30

    def setUp(self):
        super().setUp()
        # The only way out can be removed by one command.
        self.host.ip("-6 route del default")
        time.sleep(1.3)
        self.client = self.host.client(timeout=5)
        self.addCleanup(self.client.__exit__)

    def lose(self, *before):
        """Runs these commands of ip and removes the way out in the same process."""
        self.host.ip(*before, "route del default")

    def find(self):
        self.host.ip(f"route add default via {self.a.lan_v4}")
        time.sleep(1.3)

    def test_an_answer_is_not_fresh_after_the_loss(self):
        def ttl(name):
            return self.client.ask(name).answers[0][3]

        rounds, wrong = 10, []
        for number in range(rounds):
            name = f"q{number}.any.lab.example"
            eventually(lambda: ttl(name) > 30)
            # Each of these messages makes the daemon read the kernel's tables, and delays the next reading.
            news = [f"address add 198.18.{number}.{each}/32 dev lo" for each in range(1, 2 + number * 4)]
            self.lose(*news)
            time.sleep(0.2)
            wrong += [(number, found)] if (found := ttl(name)) > 30 else []
            self.find()
        self.assertEqual([], wrong, f"{len(wrong)} of {rounds} answers of the former network as fresh")

    def test_unrelated_news_does_not_cut_queries_to_a_nameserver_on_the_link(self):
        respond = self.a.resolver.respond

        def slowly(query, is_stream):
            time.sleep(0.5)
            return respond(query, is_stream)

        self.lose()
        time.sleep(1.3)
        self.a.resolver.respond = slowly
        name = "slow.any.lab.example"
        with ThreadPoolExecutor(1) as asking:
            answer = asking.submit(self.client.ask, name)
            for number in range(8):
                time.sleep(0.05)
                # The interface is not in use yet, as when a container starts.
                self.host.ip(f"link add name br{number} type bridge")
            self.assertEqual(0, answer.result().rcode)
        asked = [query for query, _, _ in self.a.resolver.queries if b"\x04slow\x03any" in query.lower()]
        self.assertEqual(1, len(asked))


class Return(Roaming):
    expected_seconds = 22

    def test_a_question_while_the_route_returns_is_answered(self):
        client = self.host.client(timeout=5)
        self.addCleanup(client.__exit__)
        results = []
        for number in range(8):
            self.host.leave()
            # There is no nameserver without a lease, as with a DHCP client.
            self.host.write_resolv_conf("")
            time.sleep(1.5)
            name = f"q{number}.any.lab.example"
            # The failure without a network is remembered.
            before = client.ask(name)
            # The address comes, and a moment later the route.
            self.host.ip(f"address add {self.a.host_v4}/24 dev {self.a.link}")
            with ThreadPoolExecutor(1) as asking:
                during = asking.submit(client.ask, name)
                time.sleep(0.05)
                self.host.ip(f"route add default via {self.a.lan_v4}")
                self.host.write_resolv_conf(self.a.resolv_conf)
            self.host.network = self.a
            results.append((before.rcode, during.result().rcode))
            time.sleep(1.0)
        self.assertEqual([(2, 0)] * 8, results)
