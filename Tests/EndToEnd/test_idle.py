# What the daemon costs when nobody asks.

import time
from pathlib import Path

from cases import Case
from digging import dig
from places import eventually
from wire import Stream

MAX_ANONYMOUS_KIB = 8 * 1024
WATCHED_SECONDS = 5
# Questions of the test itself, or the kernel's own business with a thread.
TOLERANCE = 2
# TCP clients and connections to providers are closed after this.
LONGEST_IDLE_SECONDS = 10


def status(path, key):
    line = next(line for line in Path(path).read_text().splitlines() if line.startswith(f"{key}:"))
    return int(line.split()[1])


class Idle(Case):
    expected_seconds = 25

    def wakeups(self, server):
        tasks = Path(f"/proc/{server.process.pid}/task").iterdir()
        return sum(status(task / "status", "voluntary_ctxt_switches") for task in tasks)

    def assertQuiet(self, server):
        """The one place where a test has to let time pass: nothing may happen meanwhile."""
        before = self.wakeups(server)
        until = time.monotonic() + WATCHED_SECONDS
        while (rest := until - time.monotonic()) > 0:
            time.sleep(rest)
        self.assertLessEqual(self.wakeups(server) - before, TOLERANCE)

    def test_memory_and_wakeups(self):
        provider = self.lab()
        server = self.daemon([provider.provider("json"), provider.provider("doh")])
        # The loop probe to a closed port has failed by then.
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
        eventually(lambda: sum(each["connections"]["open"] for each in server.stats()["providers"]) == 0,
                   within=LONGEST_IDLE_SECONDS + 5, every=0.5, what="connections to providers are closed")
        self.assertQuiet(server)
        self.assertLess(status(f"/proc/{server.process.pid}/status", "RssAnon"), MAX_ANONYMOUS_KIB)
