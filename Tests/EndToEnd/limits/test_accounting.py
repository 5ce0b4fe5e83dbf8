# The accounting identity holds at every moment, whatever providers and clients do: clients that vanish, connections cut
# in the middle of replies, and every fault of the lab at once.

import random
import socket
import struct
import threading
import time

import scraping
from cases import Case
from paths import eventually
from wire import Datagrams, Stream, opt, query

# The least duration and the least number of samples, also on a busy machine.
SECONDS, SAMPLES, CLIENTS = 8, 50, 6
FAULTS = [
    ("none", None), ("delay", 50), ("delay", 700), ("hang", None), ("reset", None), ("garbage", None), ("empty", None),
    ("drip", None), ("short", None), ("long", None), ("huge", None), ("status", 500), ("status", 429), ("status", 302),
]
SLOW = ("delay", "hang", "drip")
NAMES_PER_FAULT = 12


class Accounting(Case):
    expected_seconds = SECONDS + 8

    def setUp(self):
        self.provider, self.system = self.lab(), self.nsd()
        self.names = ["www.lab.example", "nothing.lab.example", "localhost", "big.lab.example", "single"]
        for number, (fault, value) in enumerate(FAULTS):
            for copy in range(NAMES_PER_FAULT):
                # A domain has 128 lookups: slow names must not take those of the others.
                domain = f"{fault}.example" if fault in SLOW else "any.lab.example"
                name = f"{fault}{number}-{copy}.{domain}"
                self.names.append(name)
                # Some faults affect every provider, some only one.
                if fault != "none":
                    self.provider.fault(fault, name=name, value=value, provider=(None, "json", "doh")[copy % 3])
        kinds = [self.provider.provider(kind) for kind in ("json", "doh", "dnspod")]
        # Few TTLs survive, so that there are always questions to fetch.
        self.server = self.daemon(kinds, system=[self.system.server], pages="127.0.0.1:0", sections='[cache]\nmax-ttl = "1s"')

    def packet(self, chance):
        if chance.random() < 0.05:
            return chance.randbytes(chance.randrange(40))
        name, type = chance.choice(self.names), chance.choice(("A", "A", "AAAA", "MX", "ANY"))
        return query(name, type, id=chance.randrange(65536), edns=chance.choice((None, opt(), opt(version=1))))

    def vanishing_datagrams(self, chance):
        with Datagrams(self.server.address) as client:
            for _ in range(chance.randrange(1, 30)):
                client.send(self.packet(chance))

    def patient_datagrams(self, chance):
        with Datagrams(self.server.address, timeout=0.5) as client:
            for _ in range(20):
                client.send(self.packet(chance))
            for _ in range(5):
                client.receive()

    def vanishing_stream(self, chance):
        with Stream(self.server.address, timeout=2) as client:
            client.send(*(self.packet(chance) for _ in range(chance.randrange(1, 100))))
            if chance.random() < 0.5:
                client.receive()
            if chance.random() < 0.5:
                # The client resets the connection instead of closing it.
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def half_a_question(self, chance):
        with Stream(self.server.address, timeout=2) as client:
            client.send(self.packet(chance))
            client.socket.sendall(struct.pack("!H", 100) + b"half")

    def load(self, seed, stop):
        chance = random.Random(seed)
        clients = [self.vanishing_datagrams, self.patient_datagrams, self.vanishing_stream, self.half_a_question]
        while not stop.is_set():
            try:
                chance.choice(clients)(chance)
            except (OSError, EOFError):
                continue

    def provoke(self):
        """Causes every failure once, because under load no request may reach a provider with an open breaker."""
        with Datagrams(self.server.address, timeout=5) as client:
            client.ask("www.lab.example")
        for kind, prefix in (("reset", "reset"), ("garbage", "garbage"), ("status", "status11"), ("throttled", "status12")):
            for name in self.names:
                if name.startswith(prefix) and kind not in self.failures():
                    with Datagrams(self.server.address, timeout=5) as client:
                        client.ask(name)
            self.assertIn(kind, self.failures())

    def failures(self):
        return {kind for entry in self.server.stats()["providers"] for kind in entry["failures"]}

    def test_the_sum_is_right_at_every_moment(self):
        self.provoke()
        stop = threading.Event()
        clients = [threading.Thread(target=self.load, args=(seed, stop)) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            until, samples, page = time.monotonic() + SECONDS, 0, self.server.page
            while time.monotonic() < until or samples < SAMPLES:
                self.assertSums(self.server.stats())
                metrics = scraping.get(page, "/metrics").text
                self.assertTrue(scraping.is_balanced(scraping.values(metrics)), metrics)
                samples += 1
        finally:
            stop.set()
            for client in clients:
                client.join()
        eventually(lambda: self.server.stats()["inflight"] == 0, what="nothing is in flight")
        stats = self.server.stats()
        self.assertSums(stats)
        self.assertGreater(stats["queries"]["total"], 1000)
        for source in ("cache", "provider", "system", "local", "refused"):
            self.assertGreater(stats["responses"][source], 0, source)
        self.assertGreater(stats["dropped"]["gone"], 0)
        self.assertEqual(0, sum(entry["connections"]["open"] < 0 for entry in stats["providers"]))
        self.assertEqual(sum(stats["rcodes"].values()), sum(stats["responses"].values()))


class SharedServer(Case):
    def test_connections_that_two_providers_share_count_once(self):
        lab = self.lab()
        server = self.daemon([lab.provider("json"), lab.provider("doh")])
        with Datagrams(server.address) as client:
            for number in range(20):
                client.send(query(f"shared{number}.any.lab.example", "A"))
                client.receive()
        self.assertGreater(lab.requests()["total"], 0)
        first, second = (entry["connections"]["opened"] for entry in server.stats()["providers"])
        self.assertGreater(first, 0)
        self.assertEqual(0, second)
