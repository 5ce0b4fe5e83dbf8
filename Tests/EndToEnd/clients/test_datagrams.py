# Packets that no library would send, and strict checks of the replies, over UDP.

import struct

import wire
from cases import LAB_WWW, Case
from lab import Lab
from programs import Daemon
from wire import BADVERS, FORMERR, NOERROR, NOTIMP, REFUSED, Datagrams, header, opt, query, question

LONGEST = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])

# A title, the packet's bytes, and the code of the reply.
HOSTILE = [
    ("no question", header(qd=0), FORMERR),
    ("no question but an OPT record", header(qd=0, ar=1) + opt(), FORMERR),
    ("two questions", header(qd=2) + question("a.example") * 2, FORMERR),
    ("two questions and an OPT record", header(qd=2, ar=1) + question("a.example") * 2 + opt(), FORMERR),
    ("a question that is announced only", header(), FORMERR),
    ("a name without end", header() + b"\x03www", FORMERR),
    ("a question without a class", header() + wire.name("www.example") + b"\0\1", FORMERR),
    ("trailing garbage", query("www.lab.example") + b"\xff", FORMERR),
    ("trailing garbage behind OPT", query("www.lab.example", edns=opt()) + b"\0", FORMERR),
    ("a compressed question", header() + b"\xc0\x0c\0\1\0\1", FORMERR),
    ("a label of 64 bytes", header() + b"\x40" + b"a" * 64 + b"\0\0\1\0\1", FORMERR),
    ("a name of 256 bytes", header() + question(LONGEST + "d"), FORMERR),
    ("two OPT records", header(ar=2) + question("www.lab.example") + opt() * 2, FORMERR),
    ("an OPT record with an owner", header(ar=1) + question("www.lab.example") + b"\1a" + opt(), FORMERR),
    ("an option longer than its record", query("a.lab.example", edns=opt(options=b"\0\x0a\0\x09a")), FORMERR),
    ("an answer in the query", header(an=1) + question("a.example") + b"\0\0\1\0\1\0\0\0\0\0\0", FORMERR),
    ("a type that only OPT has", header() + wire.name("a.example") + struct.pack("!HH", 41, 1), FORMERR),
    ("opcode STATUS", query("www.lab.example", flags=0x1100), NOTIMP),
    ("opcode UPDATE with OPT", query("www.lab.example", flags=0x2900, edns=opt()), NOTIMP),
    ("a zone transfer", query("lab.example", "AXFR"), REFUSED),
    ("EDNS version 1", query("www.lab.example", edns=opt(version=1)), BADVERS),
    ("EDNS version 255 with data of its own", query("www.lab.example", edns=opt(version=255, options=b"\1")), BADVERS),
]


class Packets(Case):
    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()
        cls.server = cls.share(Daemon([cls.provider.provider("json")])).up()

    def ask(self, packet, address=None):
        with Datagrams(address or self.server.address) as client:
            client.send(packet)
            return client.receive()

    def test_hostile_packets_get_the_code_that_the_rfcs_say(self):
        for title, packet, code in HOSTILE:
            with self.subTest(title):
                reply = self.ask(packet)
                self.assertEqual(code, reply.rcode)
                self.assertEqual(0x1234, reply.id)
                self.assertTrue(reply.flags & 0x8000)
                self.assertEqual([], reply.answers)
                has_opt = b"\0\0\x29" in packet
                if "OPT records" not in title and "owner" not in title and "only OPT" not in title:
                    self.assertEqual(has_opt, reply.opt is not None, "OPT exactly when in the query")
        self.assertSums(self.server.stats())

    def test_packets_that_must_not_be_answered(self):
        silent = [b"", b"\x12", header()[:11], query("www.lab.example", flags=0x8100), header(flags=0x8000)]
        before = self.server.stats()["dropped"]
        with Datagrams(self.server.address) as client:
            for packet in silent:
                client.send(packet)
            # The same socket handles packets in order, so a reply to one of them would come first.
            self.assertEqual(77, client.ask("www.lab.example", id=77).id)
        after = self.server.stats()["dropped"]
        self.assertEqual((3, 2), tuple(after[reason] - before[reason] for reason in ("short", "reply")))
        self.assertSums(self.server.stats())

    def test_every_truncation_of_a_query_is_survived(self):
        whole = query("www.lab.example", edns=opt(options=b"\0\x0a\0\x08cookie!!"))
        with Datagrams(self.server.address) as client:
            for length in range(12, len(whole)):
                client.send(whole[:length])
                self.assertEqual(FORMERR, client.receive().rcode, f"cut at {length}")
            client.send(whole)
            self.assertEqual(NOERROR, client.receive().rcode)

    def test_the_longest_name(self):
        # No upstream knows the name: the lab has only its zone, and the system resolver does not answer.
        reply = self.ask(query(LONGEST))
        self.assertEqual((wire.SERVFAIL, question(LONGEST)), (reply.rcode, reply.question))

    def test_flags(self):
        for flags in (0x0000, 0x0100, 0x0110, 0x0120, 0x0140, 0x0170):
            with self.subTest(hex(flags)):
                reply = self.ask(query("www.lab.example", flags=flags))
                # The flags have QR and RA set, RD and CD copied, and AA, AD and Z clear.
                self.assertEqual(0x8080 | flags & 0x0110, reply.flags)

    def test_the_dnssec_flag_is_clear(self):
        # RFC 3225 section 3: a set DO would say that this server understands DNSSEC. No reply has signatures.
        for do in (True, False):
            for name in ("www.lab.example", "www.lab.example", "nothing.lab.example", "localhost"):
                reply = self.ask(query(name, edns=opt(do=do)))
                self.assertEqual((0, 0), (reply.opt[2], reply.flags & 0x0020))

    def test_a_reply_that_an_opcode_is_not_implemented_has_no_flags_of_queries(self):
        # As in BIND 9.18, the reply has RD, RA and CD clear.
        for opcode in (1, 2, 3, 5, 6, 15):
            reply = self.ask(query("www.lab.example", flags=opcode << 11 | 0x0130))
            self.assertEqual((NOTIMP, 0x8004 | opcode << 11), (reply.rcode, reply.flags))

    def test_the_time_of_a_connection_is_not_told_over_udp(self):
        reply = self.ask(query("www.lab.example", edns=opt(options=b"\0\x0b\0\0")))
        self.assertEqual(b"", reply.opt[3])

    def test_the_question_comes_back_byte_for_byte(self):
        for owner in ("wWw.LAB.examPLE", "NEW.aNy.lab.EXAMPLE"):
            for _ in ("fetched", "from the cache"):
                self.assertEqual(question(owner), self.ask(query(owner)).question)

    def test_bytes_that_no_host_name_has_are_a_question_like_any_other(self):
        strange = b"\x04a\0.\xff" + wire.name("any.lab.example") + b"\0\1\0\1"
        reply = self.ask(header() + strange)
        self.assertEqual(strange, reply.question)

    def test_the_largest_datagrams(self):
        reply = self.ask(query("www.lab.example", edns=opt(payload=65535)))
        self.assertEqual(LAB_WWW, reply.addresses)
        padded = query("www.lab.example", edns=opt(options=struct.pack("!HH", 12, 4500) + b"\0" * 4500))
        with Datagrams(self.server.address) as client:
            for packet in (query("www.lab.example") + b"\0" * 4000, query("www.lab.example") + b"\0" * 60000, padded):
                client.send(packet)
                reply = client.receive()
                self.assertEqual((FORMERR, question("www.lab.example")), (reply.rcode, reply.question))
            self.assertEqual(5, client.ask("www.lab.example", id=5).id)
        self.assertSums(self.server.stats())

    def test_an_offer_below_512_bytes_counts_as_512(self):
        reply = self.ask(query("big.lab.example", edns=opt(payload=0)))
        self.assertTrue(reply.is_truncated)
        self.assertGreater(len(reply.packet), 400)
        self.assertLessEqual(len(reply.packet), 512)
        self.assertIsNotNone(reply.opt)


class Addresses(Case):
    """The daemon's listen addresses and its allowed clients."""

    def setUp(self):
        self.provider = self.lab()

    def test_replies_leave_from_the_address_that_was_asked(self):
        allow = 'allow = ["127.0.0.0/8", "192.0.2.0/24"]'
        server = self.own(Daemon([self.provider.provider("json")], host="127.0.0.1", server=allow))
        server.listen = [f"0.0.0.0:{server.port}"]
        server.up()
        for host in ("127.0.0.5", "127.1.2.3"):
            with Datagrams((host, server.port)) as client:
                name = f"host{host}.any.lab.example".replace("127.", "x").replace(".0", "")
                for _ in ("fetched", "from the cache"):
                    # A connected socket takes replies from this address only.
                    self.assertEqual({"192.0.2.99"}, client.ask(name).addresses)
        with wire.Stream(("127.0.0.6", server.port)) as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)

    def test_ipv6(self):
        server = self.daemon([self.provider.provider("json")], host="::1")
        with Datagrams(server.address) as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        with wire.Stream(server.address) as client:
            self.assertEqual({"2001:db8::10", "2001:db8::11"}, client.ask("www.lab.example", "AAAA").addresses)

    def test_ipv6_on_all_addresses(self):
        allow = 'allow = ["::1/128", "2001:db8::/32"]'
        server = self.own(Daemon([self.provider.provider("json")], host="::1", server=allow))
        server.listen = [f"[::]:{server.port}"]
        server.up()
        with Datagrams(server.address) as client:
            for _ in ("fetched", "from the cache"):
                self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)

    def test_strangers_are_refused(self):
        server = self.own(Daemon([self.provider.provider("json")], server='allow = ["127.0.0.1/32"]')).up()
        with Datagrams(server.address, source="127.0.0.9") as stranger:
            reply = stranger.ask("www.lab.example", edns=opt())
            self.assertEqual((REFUSED, 18), (reply.rcode, reply.extended_error))
        with wire.Stream(server.address, source="127.0.0.9") as stranger:
            stranger.seconds_until_closed(within=5)
        with Datagrams(server.address) as client:
            self.assertEqual(LAB_WWW, client.ask("www.lab.example").addresses)
        self.assertEqual({"json": 1}, self.provider.requests()["providers"])
        self.assertSums(server.stats())
