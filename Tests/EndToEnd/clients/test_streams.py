# DNS over TCP by RFC 7766 and 9210: many questions on a connection, answers in any order, and an end for clients that
# are idle, slow or too many.

import socket
import struct
import time

from cases import LAB_WWW, Case
from lab import Lab
from paths import eventually
from programs import Daemon
from wire import FORMERR, Datagrams, Stream, opt, query

# The limits of StreamConnection and StreamServer.
IDLE, TRANSFER, IN_ALL = 10, 5, 512


class StreamCase(Case):
    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()
        cls.server = cls.share(Daemon([cls.provider.provider("json"), cls.provider.provider("doh")])).up()


class Answers(StreamCase):
    def test_a_fast_answer_overtakes_a_slow_one(self):
        self.provider.fault("delay", name="slow.any.lab.example", value=1500)
        with Stream(self.server.address) as client:
            client.send(query("slow.any.lab.example", id=1), query("fast.any.lab.example", id=2))
            self.assertEqual([2, 1], [client.receive().id, client.receive().id])

    def test_many_questions_in_one_segment(self):
        names = [f"many{number}.any.lab.example" for number in range(200)]
        with Stream(self.server.address) as client:
            client.send(*(query(name, id=number) for number, name in enumerate(names)))
            replies = [client.receive() for _ in names]
        self.assertEqual(set(range(200)), {reply.id for reply in replies})
        self.assertEqual({("192.0.2.99",)}, {tuple(reply.addresses) for reply in replies})

    def test_a_question_that_comes_byte_by_byte(self):
        packet = query("www.lab.example", id=9)
        with Stream(self.server.address) as client:
            client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in struct.pack("!H", len(packet)) + packet:
                client.socket.sendall(bytes([byte]))
            self.assertEqual(LAB_WWW, client.receive().addresses)

    def test_a_client_that_has_ended_its_side_still_gets_its_answers(self):
        self.provider.fault("delay", name="half.any.lab.example", value=300)
        with Stream(self.server.address) as client:
            client.send(query("half.any.lab.example"), query("www.lab.example", id=2))
            client.socket.shutdown(socket.SHUT_WR)
            self.assertEqual({2, 0x1234}, {client.receive().id, client.receive().id})
            client.seconds_until_closed(within=5)

    def test_garbage_on_a_connection(self):
        with Stream(self.server.address) as client:
            client.send(b"", b"\0", query("www.lab.example", flags=0x8100), b"\xff" * 12)
            client.send(query("www.lab.example", id=3) + b"\0" * 60000)
            self.assertEqual(FORMERR, client.receive().rcode)
            self.assertEqual(4, client.ask("www.lab.example", id=4).id)
        self.assertSums(self.server.stats())

    def test_edns_over_tcp(self):
        with Stream(self.server.address) as client:
            reply = client.ask("big.lab.example", edns=opt(payload=512))
            self.assertEqual((100, False), (len(reply.addresses), reply.is_truncated))
            self.assertIsNotNone(reply.opt)
            self.assertIsNone(client.ask("big.lab.example").opt)


    def test_a_client_that_asks_is_told_how_long_its_connection_is_kept(self):
        keepalive = opt(options=b"\0\x0b\0\0")
        told = struct.pack("!HHH", 11, 2, 10 * IDLE)
        with Stream(self.server.address) as client:
            for name in ("kept.any.lab.example", "kept.any.lab.example", "localhost"):
                self.assertEqual(told, client.ask(name, edns=keepalive).opt[3])
            self.assertEqual(b"", client.ask("www.lab.example", edns=opt()).opt[3])
            self.assertIsNone(client.ask("www.lab.example").opt)


class IdleClients(StreamCase):
    expected_seconds = IDLE

    def test_an_idle_connection_is_closed(self):
        with Stream(self.server.address) as client:
            client.ask("www.lab.example")
            self.assertGreater(client.seconds_until_closed(within=IDLE + 2), IDLE - 1)


class SlowWriters(StreamCase):
    expected_seconds = 2 * TRANSFER

    def test_half_a_question_is_not_waited_for(self):
        with Stream(self.server.address) as client:
            client.socket.sendall(b"\0\x20abc")
            self.assertGreater(client.seconds_until_closed(within=TRANSFER + 2), TRANSFER - 1)

    def test_dripping_does_not_help(self):
        with Stream(self.server.address) as client:
            began = time.monotonic()
            client.socket.settimeout(0.4)
            client.socket.sendall(b"\x01\0")
            while time.monotonic() < began + TRANSFER + 2:
                try:
                    client.socket.sendall(b"x")
                    if client.socket.recv(1) == b"":
                        return
                except TimeoutError:
                    continue
                except ConnectionError:
                    return
            self.fail("still connected")


class SlowReaders(StreamCase):
    expected_seconds = TRANSFER + 2

    def test_a_client_that_does_not_read_is_cut(self):
        with Stream(self.server.address) as warm:
            warm.ask("big.lab.example")
        with socket.socket() as client:
            # The client's buffers are small, so that the daemon's fill up soon.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(0.2)
            client.connect(self.server.address)
            packet = query("big.lab.example")
            block = (struct.pack("!H", len(packet)) + packet) * 200
            deadline = time.monotonic() + TRANSFER + 5
            while time.monotonic() < deadline:
                try:
                    client.send(block)
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
            else:
                self.fail("still connected")
        rss = self.server.stats()["process"]["rss_bytes"]
        self.assertLess(rss, 64 << 20)
        eventually(lambda: self.server.stats()["inflight"] == 0)
        self.assertSums(self.server.stats())


    def test_a_client_that_reads_a_little_now_and_then_is_cut(self):
        with Stream(self.server.address) as warm:
            warm.ask("big.lab.example")
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(0.2)
            client.connect(self.server.address)
            packet = query("big.lab.example")
            block = (struct.pack("!H", len(packet)) + packet) * 200
            began, sending = time.monotonic(), True
            while time.monotonic() < began + 6 * TRANSFER:
                try:
                    if sending:
                        client.send(block)
                    else:
                        # The rate is far below the least one, but the daemon can always write a little.
                        time.sleep(0.5)
                        if not client.recv(1200):
                            break
                except TimeoutError:
                    sending = False
                except ConnectionError:
                    break
            else:
                self.fail("still connected")
        eventually(lambda: self.server.stats()["tcp"]["open"] == 0)
        self.assertSums(self.server.stats())


class TooManyConnections(StreamCase):
    def test_clients_that_are_gone_hold_no_places(self):
        # There are more connections than places, each with a question that takes a while.
        with Stream(self.server.address) as warm:
            warm.ask("www.lab.example")
        self.provider.fault("delay", name="gone.any.lab.example", value=4000)
        for _ in range(IN_ALL + 100):
            with Stream(self.server.address) as client:
                client.send(query("gone.any.lab.example"))
        with Stream(self.server.address) as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        self.assertEqual(0, self.server.stats()["tcp"]["refused"])

    def test_all_places_are_taken_by_clients_that_wait(self):
        with Stream(self.server.address) as asking:
            self.provider.fault("delay", name="slow.any.lab.example", value=1500)
            asking.send(query("slow.any.lab.example"))
            connections = [Stream(self.server.address) for _ in range(IN_ALL)]
            try:
                self.assertEqual({"192.0.2.99"}, asking.receive().addresses)
            finally:
                for client in connections:
                    client.socket.close()

    def test_a_new_client_takes_the_place_of_the_one_that_is_idle_for_the_longest_time(self):
        connections = []
        for number in range(IN_ALL):
            connections.append(Stream(self.server.address, source=f"127.0.4.{number // 128 + 1}"))
        try:
            for client in connections:
                client.send(query("www.lab.example"))
            for client in connections:
                self.assertEqual(LAB_WWW, client.receive().addresses)
            # The oldest two are not idle any more.
            for client in connections[:2]:
                client.ask("www.lab.example")
            time.sleep(0.1)
            evicted = self.server.stats()["tcp"]["evicted"]
            with Stream(self.server.address, source="127.0.4.99") as late:
                self.assertEqual(LAB_WWW, late.ask("www.lab.example").addresses)
                connections[2].seconds_until_closed(within=5)
                for client in (*connections[:2], connections[3]):
                    self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
            self.assertEqual(evicted + 1, self.server.stats()["tcp"]["evicted"])
            # The limits do not apply to datagrams.
            with Datagrams(self.server.address) as client:
                self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        finally:
            for client in connections:
                client.socket.close()
        eventually(lambda: self.server.stats()["process"]["open_fds"] < 128, what="they are closed here, too")
