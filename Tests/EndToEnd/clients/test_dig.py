# The output of dig for every kind of answer in the lab's zone, over UDP and TCP, for each dialect.

import re
import subprocess
import time

from cases import LAB_WWW, Case
from dig import dig
from lab import KINDS, Lab
from paths import eventually
from programs import Daemon


class Answers(Case):
    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()
        kinds = [cls.provider.provider("json"), cls.provider.provider("doh")]
        cls.server = cls.share(Daemon(kinds)).up()

    def test_addresses_of_both_families(self):
        reply = dig(self.server, "www.lab.example", "A")
        self.assertEqual(("NOERROR", LAB_WWW), (reply.status, reply.data))
        self.assertEqual({"qr", "rd", "ra"}, reply.flags)
        reply = dig(self.server, "www.lab.example", "AAAA")
        self.assertEqual({"2001:db8::10", "2001:db8::11"}, reply.data)

    def test_over_tcp(self):
        reply = dig(self.server, "+tcp", "www.lab.example", "A")
        self.assertEqual(LAB_WWW, reply.data)
        self.assertIn("(TCP)", reply.text)

    def test_a_large_set_is_truncated_at_whole_records_and_complete_over_tcp(self):
        whole = {f"198.51.100.{number}" for number in range(1, 101)}
        for attempt in ("fetched", "from the cache"):
            with self.subTest(attempt):
                cut = dig(self.server, "+bufsize=512", "+ignore", "big.lab.example", "A")
                self.assertIn("tc", cut.flags)
                self.assertTrue(cut.has_opt)
                self.assertLessEqual(cut.size, 512)
                self.assertGreater(len(cut.data), 20)
                self.assertLess(cut.data, whole)
        self.assertEqual(whole, dig(self.server, "+bufsize=512", "big.lab.example", "A").data)

    def test_a_datagram_is_never_larger_than_1232_bytes(self):
        cut = dig(self.server, "+bufsize=4096", "+ignore", "big.lab.example", "A")
        self.assertIn("tc", cut.flags)
        self.assertLessEqual(cut.size, 1232)
        self.assertGreater(cut.size, 1200)

    def test_a_client_without_edns_gets_512_bytes_at_most(self):
        cut = dig(self.server, "+noedns", "+ignore", "big.lab.example", "A")
        self.assertIn("tc", cut.flags)
        self.assertLessEqual(cut.size, 512)
        self.assertFalse(cut.has_opt)

    def test_a_name_that_does_not_exist(self):
        for source in ("fetched", "from the cache"):
            with self.subTest(source):
                reply = dig(self.server, "no-such-name.lab.example", "A")
                self.assertEqual(("NXDOMAIN", []), (reply.status, reply.answer))
                self.assertEqual(["lab.example.", "SOA"], [reply.section("AUTHORITY")[0][i] for i in (0, 3)])

    def test_a_name_without_the_type(self):
        for name, type in (("v4only", "AAAA"), ("v6only", "A"), ("empty", "A")):
            reply = dig(self.server, f"{name}.lab.example", type)
            self.assertEqual(("NOERROR", []), (reply.status, reply.answer))
            self.assertEqual("SOA", reply.section("AUTHORITY")[0][3])

    def test_other_types(self):
        self.assertEqual({"10 mail.lab.example.", "20 backup.mail.lab.example."},
                         dig(self.server, "lab.example", "MX").data)
        self.assertEqual({'"one string" "and another \\"quoted\\" one"'},
                         dig(self.server, "text.lab.example", "TXT").data)
        self.assertEqual({"0 5 443 www.lab.example."}, dig(self.server, "_https._tcp.www.lab.example", "SRV").data)
        self.assertEqual({"www.lab.example."}, dig(self.server, "-x", "192.88.99.10").data)

    def test_a_chain_of_aliases_in_order(self):
        reply = dig(self.server, "shop.lab.example", "A")
        self.assertEqual(["CNAME", "CNAME", "CNAME", "A"], reply.types)
        for link, following in zip(reply.answer, reply.answer[1:]):
            self.assertEqual(link[4], following[0])

    def test_the_letters_of_the_question_come_back(self):
        for name in ("WwW.lAb.ExAmPlE", "wWw.LaB.eXaMpLe"):
            reply = dig(self.server, name, "A")
            self.assertIn(f";{name}.", reply.text)
            self.assertEqual(LAB_WWW, reply.data)

    def test_edns_is_answered_exactly_when_it_is_asked(self):
        for name in ("www.lab.example", "edns.any.lab.example", "no-such-name.lab.example", "localhost"):
            with self.subTest(name):
                self.assertTrue(dig(self.server, name, "A").has_opt)
                self.assertFalse(dig(self.server, "+noedns", name, "A").has_opt)

    def test_unknown_options_are_ignored(self):
        reply = dig(self.server, "+ednsopt=65001:c0ffee", "www.lab.example", "A")
        self.assertEqual(("NOERROR", LAB_WWW), (reply.status, reply.data))
        self.assertNotIn("65001", reply.text)

    def test_another_edns_version_is_judged_before_the_cache(self):
        self.assertEqual("NOERROR", dig(self.server, "www.lab.example", "A").status)
        reply = dig(self.server, "+edns=1", "+noednsnegotiation", "www.lab.example", "A")
        self.assertEqual(("BADVERS", []), (reply.status, reply.answer))

    def test_any_is_not_expanded(self):
        reply = dig(self.server, "+notcp", "www.lab.example", "ANY")
        self.assertEqual(("NOERROR", ["HINFO"]), (reply.status, reply.types))

    def test_version_and_other_classes(self):
        self.assertIn("httpdnsd", dig(self.server, "version.bind", "CH", "TXT").text)
        self.assertEqual("REFUSED", dig(self.server, "www.lab.example", "CH", "TXT").status)
        self.assertEqual("REFUSED", dig(self.server, "www.lab.example", "HS", "A").status)

    def test_special_names_never_reach_a_provider(self):
        self.assertEqual({"127.0.0.1"}, dig(self.server, "localhost", "A").data)
        self.assertEqual({"::1"}, dig(self.server, "www.localhost", "AAAA").data)
        self.assertEqual({"localhost."}, dig(self.server, "-x", "127.0.0.1").data)
        for name in ("secret.onion", "nothing.invalid"):
            self.assertEqual("NXDOMAIN", dig(self.server, name, "A").status)
        # The names belong to the system resolver, which does not answer here.
        for name in ("printer.local", "single", "1.1.168.192.in-addr.arpa", "10.2.0.192.in-addr.arpa"):
            self.assertEqual("SERVFAIL", dig(self.server, name, "A").status)
        asked = set(self.provider.requests()["names"])
        self.assertFalse({name for name in asked if not name.endswith(("lab.example", "99.88.192.in-addr.arpa"))})

    def test_ttls_count_down(self):
        first = int(dig(self.server, "ttl.any.lab.example", "A").answer[0][1])
        self.assertEqual(300, first)
        later = eventually(
            lambda: min(first, int(dig(self.server, "ttl.any.lab.example", "A").answer[0][1])) != first,
            within=4, what="the TTL is less than 300")
        self.assertTrue(later)
        self.assertEqual(1, self.provider.asked("ttl.any.lab.example"))

    def test_ttl_zero_is_not_kept(self):
        for count in (1, 2):
            self.assertEqual("0", dig(self.server, "zero.lab.example", "A").answer[0][1])
            self.assertEqual(count, self.provider.asked("zero.lab.example"))

    def test_an_entry_that_has_expired_is_fetched_again(self):
        self.provider.record("soon.any.lab.example", "A", "192.0.2.201", ttl=1)
        self.assertEqual({"192.0.2.201"}, dig(self.server, "soon.any.lab.example", "A").data)
        self.provider.record("soon.any.lab.example", "A", "192.0.2.202", ttl=1)
        eventually(lambda: dig(self.server, "soon.any.lab.example", "A").data == {"192.0.2.202"})

    def test_several_questions_on_one_connection(self):
        names = [f"keep{number}.any.lab.example" for number in range(8)]
        command = ["dig", f"@{self.server.host}", "-p", str(self.server.port), "+tcp", "+keepopen", "+time=6"]
        done = subprocess.run([*command, *names], capture_output=True, text=True, timeout=30)
        self.assertEqual(8, done.stdout.count("status: NOERROR"), done.stdout)
        self.assertEqual(8, len(re.findall(r"192\.0\.2\.99", done.stdout)))

    def test_the_answer_is_there_long_before_a_client_gives_up(self):
        began = time.monotonic()
        dig(self.server, "quick.any.lab.example", "A")
        self.assertLess(time.monotonic() - began, 2)


class Dialects(Case):
    """Each dialect alone, as the only provider."""

    @classmethod
    def setUpClass(cls):
        cls.provider = cls.share(Lab()).up()

    def test_each_dialect_answers_by_itself(self):
        for kind in KINDS:
            with self.subTest(kind):
                server = self.daemon([self.provider.provider(kind)])
                self.assertEqual(LAB_WWW, dig(server, "www.lab.example", "A").data)
                self.assertEqual("NOERROR", dig(server, "v6only.lab.example", "A").status)
                self.assertEqual([], dig(server, "v6only.lab.example", "A").answer)
                self.assertEqual({"192.0.2.70"}, {
                    data for *_, type, data in dig(server, "shop.lab.example", "A").answer if type == "A"})
                self.assertEqual(3, self.provider.requests()["providers"][kind])
                self.assertSums(server.stats())

    def test_what_a_dialect_can_say_about_missing_names(self):
        for kind in KINDS:
            with self.subTest(kind):
                server = self.daemon([self.provider.provider(kind, f"{kind}-missing")])
                status = dig(server, "no-such-name.lab.example", "A").status
                # If either reply is empty, only the weaker statement is possible.
                self.assertEqual("NXDOMAIN" if KINDS[kind].says_missing else "NOERROR", status)

    def test_other_types_go_to_the_provider_that_can_carry_them(self):
        server = self.daemon([self.provider.provider("dnspod", "plain"), self.provider.provider("doh", "whole")])
        self.assertEqual(2, len(dig(server, "lab.example", "MX").data))
        self.assertEqual(["2001:db8::6"], [record[4] for record in dig(server, "v6only.lab.example", "AAAA").answer])
        questions = self.provider.requests()["questions"]
        self.assertEqual(1, questions["whole lab.example MX"])
        self.assertEqual(1, questions["whole v6only.lab.example AAAA"])
        self.assertFalse([question for question in questions if question.startswith("plain ")])

    def test_doh_carries_every_type_by_get_and_post(self):
        for kind in ("doh", "doh-post"):
            with self.subTest(kind):
                server = self.daemon([self.provider.provider(kind, f"{kind}-types")])
                self.assertEqual(2, len(dig(server, "lab.example", "MX").data))
                self.assertEqual(100, len(dig(server, "+tcp", "big.lab.example", "A").data))
