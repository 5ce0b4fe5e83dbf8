# The access list, rate limits and address proofs: clients in a local network, some of them hostile.

import os
import re
import subprocess
import time
import unittest

import paths
from cases import LAB_WWW, Case, closed_provider
from lan import SERVER, Lan
from paths import eventually, free_port
from programs import Daemon
from wire import FORMERR, NOERROR, Datagrams, Stream, opt, query

# Asks at a rate for some seconds without waiting for replies; prints the number of queries, whole replies and truncated
# ones.
FLOOD = """
import socket, sys, time
import wire
server, rate, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.connect((server, 53))
client.setblocking(False)
packet = wire.query("www.lab.example", edns=wire.opt())
began, sent, whole, cut = time.monotonic(), 0, 0, 0
while (elapsed := time.monotonic() - began) < seconds + 0.5:
    if elapsed < seconds:
        for _ in range(int(elapsed * rate) - sent):
            client.send(packet)
            sent += 1
    try:
        while True:
            reply = client.recv(65535)
            if reply[2] & 2:
                cut += 1
            else:
                whole += 1
    except BlockingIOError:
        time.sleep(0.001)
print(sent, whole, cut)
"""

# Sends the same query from each of many foreign addresses, as raw IP packets.
FORGE = """
import socket, struct, sys
import wire
server, count = sys.argv[1], int(sys.argv[2])
def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
body = wire.query("www.lab.example", edns=wire.opt())
for number in range(count):
    source = socket.inet_aton(f"192.168.77.{100 + number % 100}")
    udp = struct.pack("!4H", 4000 + number % 1000, 53, 8 + len(body), 0) + body
    start = struct.pack("!BBHHHBB", 0x45, 0, 20 + len(udp), number & 0xFFFF, 0, 64, 17)
    end = source + socket.inet_aton(server)
    raw.sendto(start + struct.pack("!H", checksum(start + b"\\0\\0" + end)) + end + udp, (server, 0))
print(count * len(body))
"""


@unittest.skipUnless(os.geteuid() == 0, "network namespaces need root")
class Neighbours(Case):
    """A client far over its rate, another one in its network, and forgers."""

    needs_release = True

    def setUp(self):
        self.lan = Lan()
        self.addCleanup(self.lan.remove)
        self.provider = self.lan.lab()

    def serve(self, **options):
        self.server = self.lan.daemon([self.provider.provider("json")], **options).up()
        self.programs = (self.server, self.provider)
        with self.lan.datagrams(1) as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)

    def stats(self):
        stats = self.server.stats()
        self.assertSums(stats)
        return stats

    def test_a_flood_of_one_client_takes_nothing_from_another(self):
        self.serve(server='client-rate = "200/s"\nprefix-rate = "1000/s"\n')
        flood = self.lan.python(0, FLOOD, SERVER, 2000, 3)
        with self.lan.datagrams(1) as client:
            asked = 0
            while flood.poll() is None:
                reply = client.ask("www.lab.example")
                self.assertEqual((NOERROR, False, LAB_WWW), (reply.rcode, reply.is_truncated, reply.addresses))
                asked += 1
                time.sleep(0.01)
        sent, whole, cut = map(int, flood.communicate()[0].split())
        self.assertGreater(asked, 100)
        # The bound is three seconds and the burst; the test's clock differs from the daemon's.
        self.assertTrue(600 <= whole <= 1000, (sent, whole, cut))
        self.assertTrue(1200 <= cut <= 3000, (sent, whole, cut))
        self.assertGreater(sent, 4000)
        stats = self.stats()
        self.assertEqual(cut, stats["responses"]["limited"])
        self.assertEqual(sent - whole - cut, stats["dropped"]["rate-limited"])
        # The client gets TCP replies all the time, and UDP replies as soon as it slows down.
        with self.lan.stream(0) as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)

    def test_a_flooding_client_is_told_to_use_tcp_and_does(self):
        self.serve(server='client-rate = "1/s"\n')
        first = self.lan.dig(0, "+nocookie", "+ignore", "www.lab.example")
        self.assertRegex(first, "status: NOERROR")
        cut = self.lan.dig(0, "+nocookie", "+ignore", "www.lab.example")
        self.assertRegex(cut, r"flags: qr [a-z ]*tc")
        whole = self.lan.dig(0, "+nocookie", "www.lab.example")
        self.assertIn("retrying in TCP mode", whole)
        self.assertIn("192.0.2.10", whole)
        self.stats()

    def test_over_its_rate_dig_gets_badcookie_and_is_answered_with_its_cookie(self):
        self.serve(server='client-rate = "1/s"\n')
        self.lan.dig(0, "+nocookie", "www.lab.example")
        # dig repeats a query by itself on BADCOOKIE, with the cookie of that reply.
        text = self.lan.dig(0, "+cookie", "www.lab.example")
        self.assertIn("BADCOOKIE, retrying", text)
        self.assertNotIn("TCP mode", text)
        self.assertIn("192.0.2.10", text)
        self.assertEqual(1, self.stats()["rcodes"]["BADCOOKIE"])

    def test_forged_queries_get_back_no_more_bytes_than_they_brought(self):
        self.serve(server='client-rate = "50/s"\nprefix-rate = "100/s"\n')
        # The addresses exist, so that replies leave and can be counted on the interface.
        self.lan.clients[0].ip(*(f"address add 192.168.77.{100 + number}/24 dev eth0" for number in range(100)))
        before, began = self.sent_bytes(), time.monotonic()
        forger = self.lan.python(1, FORGE, SERVER, 5000)
        bytes_in = int(forger.communicate()[0])
        took = time.monotonic() - began
        eventually(lambda: self.server.stats()["queries"]["total"] >= 5001, 10, "the forged queries are counted")
        stats = self.stats()
        answered = stats["responses"]["cache"]
        self.assertLessEqual(answered, 110 + 100 * took)
        self.assertGreater(stats["dropped"]["rate-limited"], 0)
        # A few replies are whole, as many as the limit allows; the others are as long as their queries, or missing.
        whole = 80 * (answered + 1)
        headers = 42 * (stats["responses"]["limited"] + answered + 1)
        self.assertLessEqual(self.sent_bytes() - before, bytes_in + whole + headers)
        self.assertLessEqual(stats["responses"]["limited"] * len(query("www.lab.example", edns=opt())), bytes_in)

    def sent_bytes(self):
        """The number of bytes sent towards the first client."""
        text = self.lan.server.run("cat", "/sys/class/net/c0/statistics/tx_bytes").stdout
        return int(text)

    def test_one_network_cannot_take_all_tcp_connections(self):
        self.serve()
        addresses = [f"192.168.77.{200 + number}" for number in range(3)]
        self.lan.clients[0].ip(*(f"address add {address}/24 dev eth0" for address in addresses))
        streams = []
        try:
            # The limits are 128 for each address and 256 for the whole network.
            for address in addresses:
                for _ in range(128):
                    streams.append(self.lan.stream(0, source=address))
            counts = eventually(lambda: self.connections(256, 128), 10, "256 connections are open, and 128 made room")
            self.assertTrue(counts)
            with self.lan.server.within(lambda: Stream(("127.0.0.1", 53))) as client:
                self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        finally:
            for stream in streams:
                stream.socket.close()

    def connections(self, open, evicted):
        tcp = self.server.stats()["tcp"]
        return tcp["open"] == open and tcp["evicted"] == evicted

    def test_loopback_has_no_limit(self):
        self.serve(server='client-rate = "1/s"\nprefix-rate = "1/s"\n')
        client = self.lan.server.within(lambda: Datagrams(("127.0.0.1", 53)))
        with client:
            for _ in range(300):
                self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        self.assertEqual(0, self.stats()["responses"]["limited"])

    def test_off_is_no_limit(self):
        self.serve(server='client-rate = "off"\nprefix-rate = "off"\n')
        with self.lan.datagrams(0) as client:
            for _ in range(1000):
                self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        self.assertEqual(0, self.stats()["responses"]["limited"])


@unittest.skipUnless(os.geteuid() == 0, "network namespaces need root")
class Cookies(Case):
    """DNS cookies in dig."""

    @classmethod
    def setUpClass(cls):
        cls.lan = Lan()
        cls.addClassCleanup(cls.lan.remove)
        cls.provider = cls.lan.lab()
        cls.server = cls.lan.daemon([cls.provider.provider("json")]).up()
        cls.programs = (cls.server, cls.provider)

    def cookie(self, text):
        """The cookie in hexadecimal digits, and dig's judgement of it."""
        found = re.search(r"; COOKIE: ([0-9a-f]+)(?: \((\w+)\))?", text.split("Got answer:")[-1])
        return found.groups() if found else None

    def dig(self, *arguments):
        return self.lan.dig(0, "+qr", "www.lab.example", *arguments)

    def test_the_first_answer_brings_a_cookie_and_the_second_one_keeps_it(self):
        for transport in ("+notcp", "+tcp"):
            first, verdict = self.cookie(self.dig(transport, "+cookie=0102030405060708"))
            self.assertEqual((48, "good", "0102030405060708010000"), (len(first), verdict, first[:22]))
            self.assertEqual((first, "good"), self.cookie(self.dig(transport, f"+cookie={first}")))

    def test_a_wrong_cookie_is_answered_with_a_right_one(self):
        text = self.dig("+cookie=0102030405060708" + "01000000" + "00" * 12)
        self.assertIn("192.0.2.10", text)
        given, verdict = self.cookie(text)
        self.assertEqual(("good", 48), (verdict, len(given)))

    def test_without_a_cookie_there_is_none(self):
        text = self.dig("+nocookie")
        self.assertIn("192.0.2.10", text)
        self.assertIsNone(self.cookie(text))

    def test_lengths_that_no_cookie_has_are_format_errors(self):
        with self.lan.stream(0) as client:
            for length in (0, 1, 7, 9, 15, 41):
                option = b"\0\x0a" + length.to_bytes(2, "big") + b"x" * length
                client.send(query("www.lab.example", edns=opt(options=option)))
                self.assertEqual(FORMERR, client.receive().rcode, length)

    def test_a_query_without_a_question_asks_for_a_cookie(self):
        with self.lan.stream(0) as client:
            client.send(b"\x12\x34\1\0\0\0\0\0\0\0\0\1" + opt(options=b"\0\x0a\0\x08" + b"12345678"))
            reply = client.receive()
        self.assertEqual((NOERROR, b"\0\x0a\0\x1812345678\1\0\0\0"), (reply.rcode, reply.opt[3][:16]))


class Starts(Case):
    """Listen addresses and the clients that they allow."""

    def check(self, server, *arguments):
        server.config.write_text(server.settings())
        command = [paths.binaries / "httpdnsd", "--config", server.config, *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=paths.PATIENCE)
        return done.returncode, done.stdout + done.stderr

    def refused(self, *arguments, listen=None, server="", word="192.168.9.9:5353"):
        daemon = self.own(Daemon([closed_provider()], listen=listen, server=server))
        # A start binds the addresses first, and this machine has only the wildcard address.
        for mode in (("--check",), ()) if word.startswith("0.0.0.0") else (("--check",),):
            code, text = self.check(daemon, *mode, *arguments)
            self.assertEqual(1, code, text)
            self.assertIn(word, text)
            self.assertIn('allow = ["127.0.0.0/8", "::1/128", "192.168.9.0/24"]' if word != "0.0.0.0:5353"
                          else 'allow = ["127.0.0.0/8", "::1/128", "192.168.1.0/24"]', text)

    def test_others_without_anybody_who_may_ask_is_an_error_with_the_line_to_add(self):
        self.refused(listen=["192.168.9.9:5353"])
        self.refused(listen=["0.0.0.0:5353"], word="0.0.0.0:5353")
        self.refused("--listen", "192.168.9.9:5353")
        self.refused(listen=["192.168.9.9:5353"], server='allow = ["127.0.0.1/32"]')

    def test_the_line_makes_it_start(self):
        daemon = self.own(Daemon([closed_provider()], listen=["192.168.9.9:5353"],
                                 server='allow = ["127.0.0.0/8", "::1/128", "192.168.9.0/24"]'))
        self.assertEqual(0, self.check(daemon, "--check")[0])

    def test_who_lets_everybody_ask_is_warned(self):
        daemon = self.own(Daemon([closed_provider()],
                                 listen=[f"0.0.0.0:{free_port('0.0.0.0')}"], server='allow = ["0.0.0.0/0"]'))
        daemon.up()
        daemon.wait_for("server.allow allows every client, so this is an open resolver")
