# Signed data (DNSSEC): clients with DO get all records and signatures, others get none, and validating programs work
# behind the daemon.

import random
import re
import subprocess
from pathlib import Path

import paths
from cases import Case, rule
from certificates import Authority
from dig import Dug, dig
from signing import CHILDREN, DNSDist, SignedZones, Validator, questions

PROOFS = {"SOA", "NSEC", "NSEC3", "DS"}
SIGNED_TYPES = {"RRSIG", "NSEC", "NSEC3"}


def dig_all(server, asked, *options):
    """The replies to all questions, each a name and a type, in order."""
    host, port = server
    lines = "".join(f"{name} {type}\n" for name, type in asked)
    done = subprocess.run(
        ["dig", f"@{host}", "-p", str(port), "+tries=1", "+time=6", "+nocookie", *options, "-f", "/dev/stdin"],
        input=lines, capture_output=True, text=True, timeout=120)
    replies = [Dug(text, 0.0) for text in done.stdout.split(";; Got answer:")[1:]]
    if len(replies) != len(asked):
        raise AssertionError(f"{len(replies)} replies to {len(asked)} questions:\n{done.stdout[-2000:]}{done.stderr}")
    return replies


def content(reply):
    """The data that a validator needs, without order and TTLs."""
    answer = {(owner.lower(), type, data) for owner, _, _, type, data in reply.answer}
    authority = {
        (owner.lower(), type, data) for owner, _, _, type, data in reply.section("AUTHORITY")
        if type in PROOFS or type == "RRSIG" and data.split()[0] in PROOFS}
    return reply.status, answer, authority


def signed_types(reply):
    records = reply.answer + reply.section("AUTHORITY")
    return {record[3] for record in records} & SIGNED_TYPES


class Signed(Case):
    """A daemon whose only provider is dnsdist before nsd."""

    expected_seconds = 20

    def setUp(self):
        self.zones = self.own(SignedZones()).up()
        self.authority = Authority(self.zones.directory / "ca")

    def doh(self, server):
        return self.own(DNSDist(server, self.authority.certificate("doh.example"))).up()

    def behind(self, doh, *others, sections="", **keys):
        keys = {key.replace("_", "-"): value for key, value in keys.items()}
        provider = doh.provider(paths.entrust(self.authority.ca_file), **keys)
        return self.daemon([provider, *others], sections=sections)

    def serve(self, **options):
        return self.behind(self.doh(self.zones.server), **options)

    @property
    def direct(self):
        return (self.zones.host, self.zones.port)

    def delv(self, server, name, type, *options):
        anchor = self.zones.directory / "anchors"
        tag, algorithm, digest, data = self.zones.anchor.split("DS", 1)[1].split(None, 3)
        data = data.split(";")[0].replace(" ", "").strip()
        anchor.write_text(f'trust-anchors {{ "example." static-ds {tag} {algorithm} {digest} "{data}"; }};\n')
        done = subprocess.run(
            ["delv", f"@{server[0]}", "-p", str(server[1]), "-a", str(anchor), "+root=example", *options, name, type],
            capture_output=True, text=True, timeout=30)
        return done.stdout + done.stderr

    def test_everything_is_as_asked_directly(self):
        server = self.serve()
        asked = list(questions())
        expected = dig_all(self.direct, asked, "+dnssec", "+tcp")
        # The first reply comes from the upstream, the second one from the cache.
        for _ in range(2):
            for question, direct, reply in zip(asked, expected, dig_all(server.address, asked, "+dnssec", "+tcp")):
                self.assertEqual(content(direct), content(reply), question)
                self.assertIn("flags: do;", reply.text, question)
                self.assertNotIn("ad", reply.flags, question)
        for question, reply in zip(asked, dig_all(server.address, asked, "+nodnssec", "+tcp")):
            if question[1] not in ("DS", "DNSKEY"):
                self.assertEqual(set(), signed_types(reply), question)
            self.assertNotIn("flags: do;", reply.text, question)
        self.assertSums(server.stats())

    def test_clients_with_and_without_do_in_any_order(self):
        server = self.serve()
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        names = [(f"{name}.{zone}.example.", type) for zone in ("nsec", "nsec3")
                 for name in ("www", "quick", "none", "any.wild", "there") for type in ("A", "AAAA", "TXT")]
        for turn in range(12):
            asked = [chance.choice(names) for _ in range(60)]
            for options in (["+dnssec"], ["+nodnssec"], ["+dnssec", "+cd"], ["+nodnssec", "+cd"], ["+noedns"]):
                if chance.random() < 0.5:
                    continue
                transport = chance.choice(["+tcp", "+notcp"])
                for question, reply in zip(asked, dig_all(server.address, asked, *options, transport)):
                    has = "RRSIG" in signed_types(reply)
                    self.assertEqual("+dnssec" in options, has, (seed, turn, question, options, reply.text))
                    self.assertEqual("+cd" in options, "cd" in reply.flags)
        self.assertSums(server.stats())

    def test_delv_validates_behind_the_daemon(self):
        server = self.serve()
        verdicts = {
            "fully validated": [("www.nsec.example", "A"), ("www.nsec3.example", "AAAA"), ("big.nsec.example", "TXT"),
                                ("there.nsec.example", "A"), ("any.wild.nsec3.example", "A"), ("nsec.example", "DNSKEY"),
                                ("www.below.nsec.example", "A")],
            "negative response, fully validated": [
                ("none.nsec.example", "A"), ("none.nsec3.example", "A"), ("mail.nsec.example", "A"),
                ("b.nsec3.example", "TXT")],
            "unsigned answer": [("www.insecure.example", "A"), ("plain.nsec.example", "A")],
            "resolution failed": [("www.bogus.example", "A"), ("bad.nsec.example", "A")],
        }
        for _ in range(2):
            for verdict, asked in verdicts.items():
                for name, type in asked:
                    direct, behind = self.delv(self.direct, name, type), self.delv(server.address, name, type)
                    self.assertIn(verdict, behind, (name, type))
                    self.assertEqual(verdict in direct, verdict in behind, (name, type, direct))

    def test_a_validating_unbound_behind_the_daemon_answers_as_one_beside_it(self):
        server = self.serve()
        asked = [question for question in questions() if not question[0].startswith("quick.")]
        beside = self.own(Validator(self.direct, self.zones.anchor)).up()
        behind = self.own(Validator(server.address, self.zones.anchor)).up()
        expected = dig_all((beside.host, beside.port), asked, "+dnssec", "+tcp")
        replies = dig_all((behind.host, behind.port), asked, "+dnssec", "+tcp")
        secure = bogus = 0
        for question, one, other in zip(asked, expected, replies):
            self.assertEqual((content(one), "ad" in one.flags), (content(other), "ad" in other.flags), question)
            secure += "ad" in other.flags
            bogus += other.status == "SERVFAIL"
        self.assertGreater(secure, len(asked) // 3)
        self.assertGreater(bogus, 5)

    def test_a_signed_answer_is_truncated_over_udp(self):
        server = self.serve()
        for size in ("512", "1232", "4096"):
            cut = dig(server, "big.nsec.example", "TXT", "+dnssec", f"+bufsize={size}", "+ignore")
            self.assertIn("tc", cut.flags)
            self.assertLessEqual(cut.size, min(int(size), 1232))
            whole = dig(server, "big.nsec.example", "TXT", "+dnssec", f"+bufsize={size}")
            self.assertNotIn("tc", whole.flags)
            self.assertEqual(12, whole.types.count("TXT"))
            self.assertEqual(1, whole.types.count("RRSIG"))

    def test_ad_comes_from_a_trusted_upstream_for_clients_that_read_it(self):
        validator = self.own(Validator(self.direct, self.zones.anchor)).up()
        doh = self.doh(validator.server)
        for trusts in (True, False):
            server = self.behind(doh, trust_ad=trusts)
            for _ in range(2):
                for name, is_secure in (("www.nsec.example", True), ("www.insecure.example", False)):
                    for options in (["+dnssec", "+noad"], ["+nodnssec", "+ad"], ["+nodnssec", "+noad"]):
                        reply = dig(server, name, "A", *options)
                        expected = trusts and is_secure and "+noad" not in options[1:] or (
                            trusts and is_secure and "+dnssec" in options)
                        self.assertEqual(expected, "ad" in reply.flags, (trusts, name, options))

    def test_cd_asks_for_what_the_upstream_would_withhold(self):
        validator = self.own(Validator(self.direct, self.zones.anchor)).up()
        server = self.behind(self.doh(validator.server))
        for _ in range(2):
            self.assertEqual("SERVFAIL", dig(server, "www.bogus.example", "A", "+dnssec").status)
            self.assertEqual("SERVFAIL", dig(server, "www.bogus.example", "A").status)
            unchecked = dig(server, "www.bogus.example", "A", "+dnssec", "+cd")
            self.assertIn("203.0.113.66", unchecked.data)
            self.assertIn("RRSIG", unchecked.types)
            self.assertEqual({"203.0.113.66", "203.0.113.11"}, dig(server, "www.bogus.example", "A", "+cd").data)

    def test_names_of_providers_without_dnssec_are_answered_without(self):
        lab = self.lab()
        server = self.daemon([lab.provider("json"), lab.provider("dnspod")])
        plain = dig(server, "www.lab.example", "A")
        asked = sum(lab.requests()["names"].values())
        for options in (["+dnssec"], ["+dnssec", "+cd"], ["+cd"]):
            reply = dig(server, "www.lab.example", "A", *options)
            self.assertEqual(plain.data, reply.data)
            self.assertNotIn("flags: do;", reply.text)
        # All clients share one entry.
        self.assertEqual(asked, sum(lab.requests()["names"].values()))

    def test_dnssec_goes_to_the_provider_that_carries_it_and_to_no_other(self):
        lab = self.lab()
        lab.record("www.nsec.example", "A", "192.0.2.66")
        server = self.behind(self.doh(self.zones.server), lab.provider("json"))
        for _ in range(20):
            self.assertEqual(3, len(dig(server, "www.nsec.example", "A", "+dnssec").data))
        self.assertNotIn("www.nsec.example", lab.requests()["names"])

    def test_a_nameserver_of_a_rule_carries_it(self):
        lab = self.lab()
        section = f'[[nameserver]]\nname = "zones"\nservers = ["{self.zones.server}"]\nnames = ["example"]\n'
        server = self.daemon([lab.provider("json")], sections=section)
        asked = [question for question in questions() if ".nsec" in question[0]]
        expected = dig_all(self.direct, asked, "+dnssec", "+tcp")
        for question, direct, reply in zip(asked, expected, dig_all(server.address, asked, "+dnssec", "+tcp")):
            self.assertEqual(content(direct), content(reply), question)

    def test_the_system_resolver_carries_it_for_types_that_no_provider_has(self):
        lab = self.lab()
        server = self.daemon([lab.provider("dnspod")], system=[self.zones.server])
        reply = dig(server, "nsec3.example", "DNSKEY", "+dnssec")
        self.assertEqual({"DNSKEY", "RRSIG"}, set(reply.types))

    def test_a_rule_comes_first_and_answers_without_signatures(self):
        server = self.serve(sections=rule("www.nsec.example", answer='["192.0.2.1"]')
                            + rule("text.nsec.example", answer='"nxdomain"')
                            + rule("alias.example", cname='"www.nsec3.example"'))
        self.assertEqual({"192.0.2.1"}, dig(server, "www.nsec.example", "A", "+dnssec").data)
        self.assertEqual("NXDOMAIN", dig(server, "text.nsec.example", "TXT", "+dnssec").status)
        alias = dig(server, "alias.example", "A", "+dnssec")
        self.assertEqual(["CNAME", "A", "A"], alias.types)

    def test_a_signed_answer_with_a_private_address_is_not_given(self):
        server = self.serve()
        for options in (["+dnssec"], ["+nodnssec"]):
            reply = dig(server, "private.nsec.example", "A", *options)
            self.assertEqual(("NXDOMAIN", set(), 15), (reply.status, reply.data, reply.extended_error))
        allowed = self.serve(sections=rule("private.nsec.example", allow_private="true"))
        self.assertEqual(["A", "RRSIG"], dig(allowed, "private.nsec.example", "A", "+dnssec").types)

    def test_signed_answers_are_served_stale_and_flushed(self):
        server = self.serve(sections='[cache]\nmax-ttl = "1s"\n')
        first = dig(server, "www.nsec.example", "A", "+dnssec")
        self.zones.kill()
        stale = paths.eventually(
            lambda: (lambda reply: reply if reply.extended_error == 3 else None)(
                dig(server, "www.nsec.example", "A", "+dnssec")), within=30)
        self.assertEqual(first.data, stale.data)
        self.assertEqual("SERVFAIL", dig(server, "www.nsec.example", "A").status)
        server.ask_control("flush www.nsec.example")
        self.assertEqual("SERVFAIL", dig(server, "www.nsec.example", "A", "+dnssec").status)
