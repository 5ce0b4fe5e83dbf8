# A provider's block is final: in every form that its vendor's format can carry, alone and beside other providers and the
# system resolver, with `filters` and without it. The stand-ins are written from the vendors' documents.

import ipaddress
import json
import struct

import wire
from dig import dig
from fakes import FakeNameserver, question, reply
from programs import Daemon, ctl
from test_vendors import Vendors
from vendors.doh import MEDIA_TYPE, DoH
from vendors.resolvers import AliDNS, Cloudflare, Google
from vendors.standin import Entry, Reply

# The addresses of the other provider and of the system resolver, which no client may get.
OTHERS = {"203.0.113.7", "2001:db8:ffff::7", "203.0.113.8"}
# Blocks by address, which every format can carry.
BY_ADDRESS = {
    "zero": (("0.0.0.0",), ("::",)), "loopback": (("127.0.0.1",), ("::1",)), "loopbacks": (("127.0.0.53",), ("::1",)),
    "private": (("10.10.34.35", "192.168.1.1"), ("fd00::1",)), "both": (("0.0.0.0", "127.0.0.1"), ("::", "::1")),
    "link": (("169.254.1.1",), ("fe80::1",)), "shared": (("100.64.0.1",), ("fc00::1",)),
    "mapped": (("0.0.0.0",), ("::ffff:0.0.0.0",)),
}
NAMES = {f"{form}.ads.example": Entry(*found) for form, found in BY_ADDRESS.items()}
NXDOMAIN, REFUSED = wire.NXDOMAIN, wire.REFUSED
# Blocks by response code and extended error: (code, extended error or None, address or None). A bare REFUSED, and one with
# "Prohibited", may be about the client.
BY_CODE = {
    "nxdomain": (NXDOMAIN, None, None), "nodata": (0, None, None), "refused": (REFUSED, None, None),
    "nxdomain-blocked": (NXDOMAIN, 15, None), "nxdomain-censored": (NXDOMAIN, 16, None),
    "nxdomain-filtered": (NXDOMAIN, 17, None), "nxdomain-prohibited": (NXDOMAIN, 18, None),
    "nodata-filtered": (0, 17, None), "refused-blocked": (REFUSED, 15, None), "refused-filtered": (REFUSED, 17, None),
    "refused-prohibited": (REFUSED, 18, None), "servfail-blocked": (2, 15, None), "zero-filtered": (0, 17, "0.0.0.0"),
    "page": (0, None, "198.51.100.66"), "page-blocked": (0, 15, "198.51.100.66"),
}
ONLY_WITH_FILTERS = {"refused", "refused-prohibited"}
TEXT = "malware"


def _form(name):
    return BY_CODE.get(name.split(".")[0])


class BlockingJSON:
    """Adds the blocks by code to a public resolver with JSON."""

    def message(self, name, type):
        form = _form(name)
        if form is None:
            return super().message(name, type)
        code, error, address = form
        body = {"Status": code, "TC": False, "RD": True, "RA": True, "AD": False, "CD": False,
                "Question": [{"name": f"{name}.", "type": type}]}
        if address and type == 1:
            body["Answer"] = [{"name": f"{name}.", "type": 1, "TTL": 60, "data": address}]
        if error:
            body |= self.extended(error)
        return body


class BlockingGoogle(BlockingJSON, Google):
    @staticmethod
    def extended(error):
        return {"extended_dns_errors": [{"info_code": error, "extra_text": TEXT}]}


class BlockingAliDNS(BlockingJSON, AliDNS):
    @staticmethod
    def extended(error):
        return {"Comment": f"EDE({error}): {TEXT}"}


class BlockingCloudflare(BlockingJSON, Cloudflare):
    @staticmethod
    def extended(error):
        return {}

    def answer(self, request):
        found = super().answer(request)
        body = json.loads(found.body)
        form = _form(body["Question"][0]["name"]) if "Question" in body else None
        if form:
            body["Comment"] = [f"EDE({form[1]}): {TEXT}"] if form[1] else []
        return type(found)(body=json.dumps(body).encode(), type=found.type)


class BlockingDoH(DoH):
    def _reply(self, query, name, type):
        form = _form(name)
        if form is None:
            return self._aliased(query, name, type)
        code, error, address = form
        has_address = address is not None and type == 1
        record = self._record(name, 1, 60, bytes(map(int, address.split(".")))) if has_address else b""
        text = struct.pack("!H", error) + TEXT.encode() if error else b""
        options = struct.pack("!HH", 15, len(text)) + text if error else b""
        head = wire.header(query.id, 0x8180 | code, an=int(has_address), ar=1)
        return Reply(body=head + query.question + record + wire.opt(options=options), type=MEDIA_TYPE)

    def _aliased(self, query, name, type):
        """The reply, behind two aliases if the name begins with "alias-"; its letters' case is not the question's."""
        if not name.startswith("alias-"):
            return super()._reply(query, name, type)
        entry = self.entry(name.removeprefix("alias-"))
        found = {1: entry.ipv4, 28: entry.ipv6}.get(type, ())
        packed = [ipaddress.ip_address(address).packed for address in found]
        links = [(name.upper(), "one.cdn.example"), ("One.CDN.example", "two.cdn.example")]
        answers = b"".join(self._record(owner, 5, 60, wire.name(target)) for owner, target in links)
        answers += b"".join(self._record("TWO.cdn.example", type, 60, data) for data in packed)
        head = wire.header(query.id, 0x8180, an=len(links) + len(packed))
        return Reply(body=head + query.question + answers, type=MEDIA_TYPE)


class Answering(Daemon):
    """A daemon with this `blocked-answer`."""

    def __init__(self, answer, *arguments, **options):
        super().__init__(*arguments, **options)
        self.answer = answer

    def settings(self):
        return f'blocked-answer = "{self.answer}"\n{super().settings()}'


class Blocks(Vendors):
    expected_seconds = 60

    def system(self):
        """A system resolver that knows every name."""
        def respond(query, _):
            name, type = question(query)
            data = {1: bytes([203, 0, 113, 8])}.get(type)
            return [reply(query, [(name, 1, 60, data)] if data else [])]
        return self.own(FakeNameserver(respond)).server

    def other(self):
        """A provider without filters that knows every name, and is slower."""
        class Knowing(DoH):
            def entry(self, _):
                return Entry(("203.0.113.7",), ("2001:db8:ffff::7",))
        certificate = self.certificate(DoH.host)
        other = self.own(Knowing({}, certificate=certificate))
        other.delay = 0.15
        return self.settings("doh", other, name="other")

    def daemons(self, settings):
        """Daemons with the provider alone and beside others, with `filters` and without it."""
        for filters in (False, True):
            for others in ([], [self.other()]):
                mine = {**settings, **({"filters": True} if filters else {})}
                server = self.daemon_of(*others, mine) if filters else self.daemon_of(mine, *others)
                yield filters, bool(others), server

    def daemon_of(self, *providers, **options):
        return super().daemon_of(*providers, system=[self.system()], **options)

    def blocked(self, server, name, type, about):
        got = dig(server, name, type)
        self.assertEqual(("NXDOMAIN", []), (got.status, got.answer), f"{name} {type} {about}")

    def test_blocks_by_address(self):
        self.each(self.by_address)

    def by_address(self, kind, account):
        stand_in = self.stand_in(kind, names=NAMES)
        for filters, has_others, server in self.daemons(self.settings(kind, stand_in)):
            for name in NAMES:
                types = ["A", "AAAA"] if account.has_aaaa else ["A"]
                for type in types:
                    self.blocked(server, name, type, (filters, has_others))
            provider = next(entry for entry in server.stats()["providers"] if entry["name"] == kind)
            self.assertEqual((filters, True), (provider["filters"], provider["blocks"] >= len(NAMES)))

    def by_code(self, stand_in, settings):
        for filters, has_others, server in self.daemons(settings):
            for form, (_, error, address) in BY_CODE.items():
                if not filters and form in ONLY_WITH_FILTERS:
                    continue
                for type in ("A", "AAAA", "A"):
                    got = dig(server, f"{form}.ads.example", type)
                    self.assertFalse(got.data & OTHERS, (form, type, filters, has_others))
                if (error or filters and form == "refused") and not form.startswith("page"):
                    self.blocked(server, f"{form}.other.example", "A", (filters, has_others))

    def test_blocks_by_code_in_json(self):
        for kind, make in (("google", BlockingGoogle), ("cloudflare", BlockingCloudflare), ("alidns", BlockingAliDNS)):
            with self.subTest(kind):
                stand_in = self.own(make({}, certificate=self.certificate(make.host)))
                self.by_code(stand_in, self.settings(kind, stand_in))

    def test_blocks_by_code_over_https(self):
        for kind in ("doh", "doh-post"):
            with self.subTest(kind):
                stand_in = self.own(BlockingDoH({}, certificate=self.certificate(DoH.host)))
                self.by_code(stand_in, self.settings(kind, stand_in))

    def test_blocks_behind_aliases(self):
        stand_in = self.own(BlockingDoH(NAMES, certificate=self.certificate(DoH.host)))
        for filters, has_others, server in self.daemons(self.settings("doh", stand_in)):
            for name in NAMES:
                for type in ("A", "AAAA"):
                    self.blocked(server, f"alias-{name}", type, (filters, has_others))

    def test_the_answer_to_blocked_names(self):
        stand_in = self.own(BlockingDoH(NAMES, certificate=self.certificate(DoH.host)))
        for setting, status, addresses in (
                ("nxdomain", "NXDOMAIN", ([], [])), ("nodata", "NOERROR", ([], [])),
                ("0.0.0.0", "NOERROR", (["0.0.0.0"], ["::"]))):
            server = self.own(Answering(setting, [self.settings("doh", stand_in)])).up()
            for type, expected in zip(("A", "AAAA"), addresses):
                self.assertEqual(15, dig(server, "nxdomain-blocked.ads.example", type).extended_error)
                got = dig(server, "zero.ads.example", type)
                self.assertEqual((status, expected), (got.status, [record[4] for record in got.answer]))
            text = ctl(server, "explain", "zero.ads.example").stdout
            self.assertIn("blocked by the provider", text)

    def test_while_the_filter_cannot_be_reached_another_provider_stands_in(self):
        stand_in = self.stand_in("doh", names=NAMES)
        mine = self.settings("doh", stand_in, filters=True)
        stand_in.close()
        server = self.daemon_of(self.other(), mine)
        got = dig(server, "www.example", "A")
        self.assertEqual({"203.0.113.7"}, got.data)
        self.assertLessEqual(int(got.answer[0][1]), 30)
