# Clients that want the daemon to stop serving others: by asking without reading, without end, or by taking all that can
# be taken. Those who behave must not notice.

import re
import socket
import struct

from cases import Case
from fakes import FakeNameserver, reply
from places import eventually
from wire import NOERROR, Stream, query

# StreamConnection.maxUnsentBytes and one answer more.
UNSENT_PER_CLIENT = 320 * 1024
# Asked for addresses only, and not there.
NOBODY = {"name": "nobody", "dialect": "dnspod", "url": "http://127.0.0.1:1/d"}


def frame(packet):
    return struct.pack("!H", len(packet)) + packet


def rss_anon(server):
    status = open(f"/proc/{server.process.pid}/status").read()
    return int(re.search(r"RssAnon:\s+(\d+)", status).group(1)) * 1024


class LargeAnswers(Case):
    """57 KB of TXT in the cache."""

    def setUp(self):
        records = [("huge.example", 16, 600, b"\xff" + b"%05d" % number + b"x" * 250) for number in range(210)]
        nameserver = FakeNameserver(
            lambda asked, is_stream: [reply(asked, records) if is_stream else reply(asked, flags=0x8380)])
        self.addCleanup(nameserver.close)
        self.server = self.daemon([NOBODY], system=[nameserver.server])
        with Stream(self.server.address) as client:
            self.assertEqual(210, len(client.ask("huge.example", "TXT").answers))

    def asker(self, count):
        client = Stream(self.server.address)
        self.addCleanup(client.socket.close)
        client.socket.sendall(frame(query("huge.example", "TXT")) * count)
        return client

    def settled(self):
        """Waits until no more questions are taken."""
        seen = []

        def unchanged():
            seen.append(self.server.stats()["queries"]["tcp"])
            return len(seen) > 10 and len(set(seen[-10:])) == 1
        eventually(unchanged, every=0.03)

    def test_a_client_that_reads_late_has_every_answer(self):
        """Questions that were read from the socket while its answers were held up are not forgotten."""
        client = self.asker(400)
        self.settled()
        for _ in range(400):
            self.assertEqual(NOERROR, client.receive().rcode)

    def test_many_that_never_read_cost_what_the_bound_allows(self):
        before = rss_anon(self.server)
        for _ in range(60):
            self.asker(200)
        self.settled()
        self.assertLess(rss_anon(self.server) - before, 60 * UNSENT_PER_CLIENT + (8 << 20))
        self.assertSums(self.server.stats())
