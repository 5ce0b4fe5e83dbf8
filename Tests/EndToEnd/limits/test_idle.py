# The costs of a daemon without queries.

import time
from pathlib import Path

from cases import Case
from dig import dig
from paths import eventually
from programs import Daemon
from wire import Datagrams, Stream

MAX_ANONYMOUS_KIB = 8 * 1024
WATCHED_SECONDS = 5
# The tolerance for the test's own questions and for the kernel's work on a thread.
TOLERANCE = 2
# The time-out of idle TCP clients and of idle connections to providers.
LONGEST_IDLE_SECONDS = 10


def status(path, key):
    line = next(line for line in Path(path).read_text().splitlines() if line.startswith(f"{key}:"))
    return int(line.split()[1])


class Watched(Case):
    def wakeups(self, server):
        tasks = Path(f"/proc/{server.process.pid}/task").iterdir()
        return sum(status(task / "status", "voluntary_ctxt_switches") for task in tasks)

    def assertQuiet(self, server):
        """Checks that nothing happens; only here must a test let time pass."""
        before = self.wakeups(server)
        until = time.monotonic() + WATCHED_SECONDS
        while (rest := until - time.monotonic()) > 0:
            time.sleep(rest)
        self.assertLessEqual(self.wakeups(server) - before, TOLERANCE)

    def without_connections(self, server, after=0):
        eventually(lambda: sum(each["connections"]["open"] for each in server.stats()["providers"]) == 0,
                   within=after + LONGEST_IDLE_SECONDS + 5, every=0.5, what="connections to providers are closed")


class Idle(Watched):
    expected_seconds = 25

    def test_memory_and_wakeups(self):
        provider = self.lab()
        server = self.daemon([provider.provider("json"), provider.provider("doh")])
        # The loop check to a closed port has failed by then.
        eventually(lambda: server.stats()["inflight"] == 0)
        self.assertLess(status(f"/proc/{server.process.pid}/status", "RssAnon"), MAX_ANONYMOUS_KIB)
        self.assertQuiet(server)

    def test_quiet_again_after_traffic(self):
        provider = self.lab()
        server = self.daemon([provider.provider("json"), provider.provider("doh")])
        for number in range(20):
            dig(server, f"idle{number}.any.lab.example", "A")
        with Stream(server.address) as client:
            client.ask("www.lab.example")
            client.seconds_until_closed(within=LONGEST_IDLE_SECONDS + 2)
        self.without_connections(server)
        self.assertQuiet(server)
        self.assertLess(status(f"/proc/{server.process.pid}/status", "RssAnon"), MAX_ANONYMOUS_KIB)


class OutOfUse(Watched):
    expected_seconds = 32

    def test_quiet_when_names_are_out_of_use(self):
        provider = self.lab()
        server = self.own(Daemon([provider.provider("json")]))
        server.store = server.directory / "cache.db"
        server.up()
        names = [f"brief{number}.lab.example" for number in range(20)]
        for name in names:
            provider.record(name, "A", "192.0.2.99", ttl=1)
        with Datagrams(server.address) as client:
            for _ in range(4):
                for name in names:
                    self.assertEqual({"192.0.2.99"}, client.ask(name).addresses)
        # The names are refreshed for a few seconds, and then no more.
        eventually(lambda: server.stats()["prefetch"]["succeeded"] >= len(names))
        # The ten unread refreshes come after a TTL of a second each.
        self.without_connections(server, after=10)
        self.assertQuiet(server)
        stats = server.stats()
        self.assertLessEqual(stats["prefetch"]["started"], 10 * len(names))
        self.assertEqual((0, 0), (stats["prefetch"]["failed"], stats["store"]["failures"]))
