# DNS over HTTPS as of RFC 8484, with GET and POST.

import base64
import binascii
import ipaddress
import re
import struct

import wire
from vendors.standin import BadParameters, Refused, Reply, StandIn

MEDIA_TYPE = "application/dns-message"
NEGATIVE_TTL = 180
A, SOA, AAAA = 1, 6, 28


class DoH(StandIn):
    host = "dns.google"
    path = "/dns-query"

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        # The only accepted method, or None for both.
        self.method = None
        # The seconds for which a cache on the way held the reply.
        self.age = None

    def answer(self, request):
        if request.path != self.path:
            raise Refused(Reply(404), f"path {request.path}")
        if self.method not in (None, request.method) or request.method not in ("GET", "POST"):
            raise Refused(Reply(405), f"method {request.method}")
        query = self._posted(request) if request.method == "POST" else self._got(request)
        try:
            message = wire.Message(query)
            name, end = wire.read_name(query, 12)
            type, klass = struct.unpack_from("!HH", query, end)
        except (AssertionError, IndexError, struct.error):
            raise Refused(Reply(400), "not a DNS message") from None
        if message.flags & 0xF800 or klass != 1 or len(message.question) != end + 4 - 12:
            raise Refused(Reply(400), "not a query for one question")
        request.names = (name.lower(),)
        request.families = {A: (4,), AAAA: (6,)}.get(type, ())
        # Paid services with an account in the path, such as Volcengine's, refuse names of others.
        if not self.is_registered(name.lower()):
            raise Refused(Reply(403), "the name was not added in the console")
        return self._reply(message, name, type)

    @staticmethod
    def _got(request):
        try:
            text = request.parameters(["dns"])["dns"]
            # The parameter has no padding (section 6).
            if not re.fullmatch("[A-Za-z0-9_-]+", text):
                raise Refused(Reply(400), f"not base64url: {text}")
            return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except (BadParameters, binascii.Error) as error:
            raise Refused(Reply(400), str(error)) from None

    @staticmethod
    def _posted(request):
        if "?" in request.target:
            raise Refused(Reply(400), "POST with a query part")
        if request.headers.get("content-type") != MEDIA_TYPE:
            raise Refused(Reply(415), f"media type {request.headers.get('content-type')}")
        return request.body

    def _reply(self, query, name, type):
        entry = self.entry(name)
        found = {A: entry.ipv4, AAAA: entry.ipv6}.get(type, ()) if entry else ()
        packed = [ipaddress.ip_address(address).packed for address in found]
        answers = b"".join(self._record(name, type, entry.ttl, data) for data in packed)
        zone = ".".join(name.split(".")[-2:])
        soa = wire.name(f"ns1.{zone}") + wire.name(f"admin.{zone}") + struct.pack(
            "!5I", 1, 7200, 900, 1209600, NEGATIVE_TTL)
        authority = b"" if found else self._record(zone, SOA, 900, soa)
        has_opt = query.opt is not None
        # The flags are response, recursion desired and available; the ID is the query's (section 4.1).
        flags = 0x8180 | (0 if entry else wire.NXDOMAIN)
        head = wire.header(query.id, flags, an=len(found), ns=0 if found else 1, ar=1 if has_opt else 0)
        body = head + query.question + answers + authority + (wire.opt() if has_opt else b"")
        headers = {"Cache-Control": f"max-age={entry.ttl if found else NEGATIVE_TTL}"}
        if self.age is not None:
            headers["Age"] = self.age
        return Reply(body=body, type=MEDIA_TYPE, headers=headers)

    @staticmethod
    def _record(owner, type, ttl, data):
        return wire.name(owner) + struct.pack("!HHIH", type, 1, ttl, len(data)) + data
