# The queries to the system resolver's servers, and the accepted replies.

import re
import struct

import wire
from cases import Case, closed_provider
from dig import dig
from fakes import FakeNameserver, reply

A, TXT = 1, 16
FORGED = "forged.example"


def text(value):
    return bytes([len(value)]) + value.encode()


class Nameservers(Case):
    expected_seconds = 5

    def serve(self, respond):
        """A daemon whose system resolver is a fake; its provider knows addresses only, so TXT questions go there."""
        def without_probes(query, is_stream):
            # The loop check gets no answer here.
            return [] if b"httpdnsd-loop" in query else respond(query, is_stream)
        self.fake = FakeNameserver(without_probes)
        self.addCleanup(self.fake.close)
        return self.daemon([closed_provider("dnspod")], system=[self.fake.server])

    def queries(self):
        return [each for each in self.fake.queries if b"httpdnsd-loop" not in each[0]]

    @staticmethod
    def right(query, ttl=60):
        return reply(query, [("right.example", TXT, ttl, text("right"))])

    def test_wrong_replies_do_not_end_the_wait(self):
        def respond(query, _):
            forged = [(FORGED, TXT, 60, text("forged"))]
            other = wire.question("other.example", "TXT")
            blind = reply(query, [("right.example", TXT, 60, text("forged"))])
            return [
                b"", b"\0", query, b"\xff" * 40, reply(query, id=(wire.Message(query).id + 1) & 0xFFFF),
                reply(query, forged, question=other), (blind, True), self.right(query)]
        server = self.serve(respond)
        self.assertEqual({'"right"'}, dig(server, "right.example", "TXT").data)
        self.assertEqual(1, len(self.queries()))

    def test_many_forged_replies_lead_to_tcp(self):
        def respond(query, is_stream):
            id = wire.Message(query).id
            wrong = [reply(query, id=(id + number) & 0xFFFF) for number in range(1, 40)]
            return [self.right(query)] if is_stream else wrong
        server = self.serve(respond)
        self.assertEqual({'"right"'}, dig(server, "right.example", "TXT").data)
        self.assertEqual([False, True], [is_stream for *_, is_stream in self.queries()])

    def test_the_right_reply_among_forged_ones_is_taken_where_there_is_no_tcp(self):
        def respond(query, is_stream):
            id = wire.Message(query).id
            wrong = [reply(query, id=(id + number) & 0xFFFF) for number in range(1, 200)]
            return [] if is_stream else [*wrong, self.right(query)]
        server = self.serve(respond)
        self.assertEqual({'"right"'}, dig(server, "right.example", "TXT").data)
        self.assertGreater(server.stats()["system"]["foreign_replies"], 100)

    def test_a_truncated_reply_is_asked_again_over_tcp_and_checked_there_too(self):
        def respond(query, is_stream):
            cut = reply(query, flags=0x8380)
            id = wire.Message(query).id
            return [reply(query, id=id ^ 1), self.right(query)] if is_stream else [cut]
        server = self.serve(respond)
        self.assertEqual({'"right"'}, dig(server, "right.example", "TXT").data)
        self.assertEqual([False, True], [is_stream for *_, is_stream in self.queries()])

    def test_ports_and_ids_cannot_be_guessed(self):
        server = self.serve(lambda query, _: [reply(query)])
        for number in range(40):
            dig(server, f"n{number}.example", "TXT")
        ports, ids = ({port for _, (_, port), _ in self.queries()}, {query[:2] for query, *_ in self.queries()})
        self.assertEqual(40, len(self.queries()))
        self.assertGreater(len(ports), 35)
        self.assertGreater(len(ids), 38)
        steps = {struct.unpack("!H", after[0][:2])[0] - struct.unpack("!H", before[0][:2])[0]
                 for before, after in zip(self.queries(), self.queries()[1:])}
        self.assertGreater(len(steps), 35)

    def test_what_is_sent(self):
        server = self.serve(lambda query, _: [self.right(query)])
        # CD requests another answer, so it is passed on.
        for count, (option, flags) in enumerate((("+nocdflag", 0x0100), ("+cdflag", 0x0110)), 1):
            dig(server, "RiGhT.example", "TXT", option)
            self.assertEqual(count, len(self.queries()))
            message = wire.Message(self.queries()[-1][0])
            self.assertEqual(flags, message.flags)
            self.assertEqual(1232, message.opt[0])
            self.assertEqual(b"", message.opt[3])

    def test_a_ttl_with_its_top_bit_set_is_capped(self):
        # The rule is in RFC 8767 section 4. The cap is cache.max-ttl.
        server = self.serve(lambda query, _: [self.right(query, ttl=0x80000001)])
        for _ in range(2):
            self.assertIn(int(dig(server, "right.example", "TXT").answer[0][1]), range(86_390, 86_401))
            self.assertEqual(1, len(self.queries()))

    def test_records_of_other_names_are_not_kept(self):
        def respond(query, _):
            return [reply(query, [("right.example", TXT, 60, text("right")), (FORGED, A, 60, b"\xc0\0\2\1")])]
        server = self.serve(respond)
        self.assertEqual({'"right"'}, dig(server, "right.example", "TXT").data)
        answer = dig(server, "+noall", "+answer", "right.example", "TXT").text
        self.assertFalse(re.search(FORGED, answer))

    def test_failures_and_referrals_are_no_answers(self):
        for title, flags in (("SERVFAIL", 0x8182), ("REFUSED", 0x8185), ("NOTIMP", 0x8184)):
            with self.subTest(title):
                server = self.serve(lambda query, _: [reply(query, flags=flags)])
                answer = dig(server, "right.example", "TXT")
                self.assertEqual(("SERVFAIL", True), (answer.status, answer.extended_error in (0, 22)))
