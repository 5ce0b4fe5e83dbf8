# Clients that try to stop the daemon from serving others: they ask without reading, ask without end, or take every
# resource. Other clients must not notice.

import os
import socket
import struct
import threading
import time

from cases import Case
from fakes import FakeNameserver, reply
from paths import eventually
from programs import Daemon
from wire import NOERROR, Datagrams, Stream, query

# StreamConnection.maxUnsentBytes and one more answer.
UNSENT_PER_CLIENT = 320 * 1024
# A provider that takes only address questions, at a port without a listener.
NOBODY = {"name": "nobody", "dialect": "dnspod", "url": "http://127.0.0.1:1/d"}


def frame(packet):
    return struct.pack("!H", len(packet)) + packet


def cpu_seconds(server):
    fields = open(f"/proc/{server.process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class LargeAnswers(Case):
    """A daemon with 57 KB of TXT in the cache."""

    def setUp(self):
        self.records = [("huge.example", 16, 600, b"\xff" + b"%05d" % number + b"x" * 250) for number in range(210)]
        nameserver = FakeNameserver(
            lambda asked, is_stream: [reply(asked, self.records) if is_stream else reply(asked, flags=0x8380)])
        self.addCleanup(nameserver.close)
        self.server = self.daemon([NOBODY], system=[nameserver.server])
        with Stream(self.server.address) as client:
            self.assertEqual(210, len(client.ask("huge.example", "TXT").answers))

    def asker(self, count, name="huge.example"):
        # The client's buffer is small, so that the daemon has to wait.
        client = Stream(self.server.address, receive_buffer=16384)
        self.addCleanup(client.socket.close)
        client.socket.sendall(frame(query(name, "TXT")) * count)
        return client

    def settled(self):
        """Waits until the daemon reads no more questions."""
        seen = []

        def unchanged():
            seen.append(self.server.stats()["queries"]["tcp"])
            return len(seen) > 10 and len(set(seen[-10:])) == 1
        eventually(unchanged, every=0.03)

    def test_a_client_that_reads_late_has_every_answer(self):
        """The daemon keeps questions that it has read while their answers were held up."""
        client = self.asker(400)
        self.settled()
        for _ in range(400):
            self.assertEqual(NOERROR, client.receive().rcode)

    def test_a_client_that_waits_for_many_large_answers_is_no_slow_reader(self):
        """The answers come at once, from one fetch, and exceed the kernel's buffer."""
        self.records[:] = [("fresh.example", *record[1:]) for record in self.records]
        client = self.asker(60, "fresh.example")
        self.settled()
        for _ in range(60):
            self.assertEqual(NOERROR, client.receive().rcode)

    def test_many_that_never_read_cost_what_the_bound_allows(self):
        before = self.server.own_bytes()
        for _ in range(60):
            self.asker(200)
        self.settled()
        self.assertLess(self.server.own_bytes() - before, 60 * UNSENT_PER_CLIENT + (8 << 20))
        self.assertSums(self.server.stats())


class AskingWithoutEnd(Case):
    expected_seconds = 6

    def test_names_of_our_own_over_tcp(self):
        """The fetching thread answers these names; other clients get their turn there."""
        provider = self.lab()
        server = self.daemon([provider.provider("json")])
        stop = threading.Event()

        def ask():
            with socket.create_connection(server.address) as client:
                block = frame(query("localhost")) * 400
                reader = threading.Thread(target=read, args=(client,))
                reader.start()
                while not stop.is_set():
                    client.sendall(block)
                client.shutdown(socket.SHUT_WR)
                reader.join()

        def read(client):
            while client.recv(1 << 18):
                continue
        askers = [threading.Thread(target=ask) for _ in range(2)]
        for asker in askers:
            asker.start()
        try:
            eventually(lambda: server.stats()["responses"]["local"] > 1000)
            with Datagrams(server.address) as client:
                for number in range(5):
                    began = time.monotonic()
                    self.assertEqual({"192.0.2.99"}, client.ask(f"n{number}.any.lab.example").addresses)
                    self.assertLess(time.monotonic() - began, 2)
        finally:
            stop.set()
            for asker in askers:
                asker.join()
        self.assertSums(server.stats())


class NoDescriptors(Case):
    def test_a_control_client_that_cannot_be_accepted_does_not_keep_us_busy(self):
        provider = self.lab()
        server = self.daemon([provider.provider("json")], prefix=("prlimit", "--nofile=40:40"))
        with Datagrams(server.address) as client:
            client.ask("www.lab.example")
        clients = [Stream(server.address) for _ in range(40)]
        for client in clients:
            self.addCleanup(client.socket.close)
        descriptors = f"/proc/{server.process.pid}/fd"
        eventually(lambda: len(os.listdir(descriptors)) == 40)
        with socket.socket(socket.AF_UNIX) as operator:
            operator.settimeout(10)
            operator.connect(str(server.control))
            operator.sendall(b"stats --json\n")
            before = cpu_seconds(server)
            # The test measures an idle daemon, so time has to pass.
            time.sleep(1)
            self.assertLess(cpu_seconds(server) - before, 0.1)
            for client in clients:
                client.socket.close()
            self.assertIn(b'"schema":1', operator.recv(65536))

    def test_a_start_with_too_few_says_so(self):
        """A start with few descriptors either succeeds or ends with an exit code and a reason."""
        for count in range(5, 30):
            server = Daemon([NOBODY], prefix=("prlimit", f"--nofile={count}:{count}"))
            server.expected_exit = 1
            server.run()
            try:
                eventually(lambda: server.process.poll() is not None or "ready" in server.log)
                if server.is_running:
                    server.expected_exit = 0
                    return
                self.assertEqual(1, server.process.returncode, f"{count} descriptors: {server.log}")
                self.assertIn("EMFILE", server.log)
            finally:
                server.close()
        self.fail("30 descriptors are not enough")
