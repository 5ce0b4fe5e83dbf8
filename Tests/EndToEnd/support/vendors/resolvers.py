# Public resolvers with JSON: Google, Cloudflare, and AliDNS with and without an account.
# From: developers.google.com/speed/public-dns/docs/doh/json, Cloudflare's "Using JSON", Alibaba document 209314, and
# aliyun/alibaba-pdns-sdk-c for the key of an account.

import hashlib
import ipaddress
import json

from vendors.standin import BadParameters, Refused, Reply, StandIn, is_name

TYPES = {"A": 1, "AAAA": 28}
NEGATIVE_TTL = 180
# The tolerance of AliDNS for the time of a request, in seconds. It is not documented.
TOLERANCE = 300


class _Resolver(StandIn):
    """The common form of a question and a reply."""

    def question(self, request, given, bad):
        name = given["name"].rstrip(".")
        if not is_name(name):
            raise Refused(bad, f"not a name: {name}")
        text = given.get("type", "1")
        type = int(text) if text.isdigit() else TYPES.get(text.upper(), 0)
        if not 1 <= type <= 65535:
            raise Refused(bad, f"type {text}")
        request.names = (name,)
        request.families = {1: (4,), 28: (6,)}.get(type, ())
        return name, type

    def parameters(self, request, optional, bad):
        if request.method != "GET":
            raise Refused(Reply(405), f"method {request.method}")
        if request.path != self.path:
            raise Refused(Reply(404), f"path {request.path}")
        try:
            given = request.parameters(["name"], ["type", "cd", "do", *optional])
        except BadParameters as error:
            raise Refused(bad, str(error)) from None
        if "edns_client_subnet" in given:
            try:
                ipaddress.ip_network(given["edns_client_subnet"], strict=False)
            except ValueError:
                raise Refused(bad, f"subnet {given['edns_client_subnet']}") from None
        return given

    def records(self, name, type):
        entry = self.entry(name)
        found = {1: entry.ipv4, 28: entry.ipv6}.get(type, ()) if entry else ()
        return [{"name": f"{name}.", "type": type, "TTL": entry.ttl, "data": address} for address in found]

    def message(self, name, type):
        records = self.records(name, type)
        body = {"Status": 0 if self.entry(name) else 3, "TC": False, "RD": True, "RA": True, "AD": False, "CD": False,
                "Question": [{"name": f"{name}.", "type": type}]}
        if records:
            return {**body, "Answer": records}
        zone = ".".join(name.split(".")[-2:])
        soa = f"ns1.{zone}. admin.{zone}. 1 7200 900 1209600 {NEGATIVE_TTL}"
        return {**body, "Authority": [{"name": f"{zone}.", "type": 6, "TTL": 900, "data": soa}]}


class Google(_Resolver):
    host = "dns.google"
    path = "/resolve"

    def answer(self, request):
        bad = Reply(400, b"<html>Bad Request</html>", "text/html")
        given = self.parameters(request, ["ct", "edns_client_subnet", "random_padding"], bad)
        name, type = self.question(request, given, bad)
        body = {**self.message(name, type), "Comment": "Response from 192.0.2.53."}
        return Reply(body=json.dumps(body).encode(), type="application/json; charset=UTF-8")


class Cloudflare(_Resolver):
    host = "cloudflare-dns.com"
    path = "/dns-query"

    def answer(self, request):
        def bad(text):
            return Reply(400, json.dumps({"error": text}).encode(), "application/json")
        given = self.parameters(request, ["ct"], bad("Invalid query"))
        wanted = given.get("ct") or request.headers.get("accept", "")
        if "application/dns-json" not in wanted:
            raise Refused(bad("Invalid accept header"), f"accept {wanted}")
        name, type = self.question(request, given, bad("Invalid query"))
        body = {**self.message(name, type), "Comment": ["EDE(3): Stale Answer"]}
        return Reply(body=json.dumps(body).encode(), type="application/dns-json")


class AliDNS(_Resolver):
    """AliDNS. `account` is (uid, AccessKey id, AccessKey secret), or None if requests need none."""

    host = "dns.alidns.com"
    path = "/resolve"

    def __init__(self, *arguments, account=None, **options):
        super().__init__(*arguments, **options)
        self.account = account

    def answer(self, request):
        bad = Reply(400)
        given = self.parameters(
            request, ["edns_client_subnet", "short", "uid", "ak", "ts", "key", "did", "pf", "sv"], bad)
        if self.account:
            self._check_key(given)
        name, type = self.question(request, given, bad)
        if given.get("short") == "1":
            body = [record["data"] for record in self.records(name, type)]
        else:
            message = self.message(name, type)
            # Servers of this kind were seen to send one object instead of an array.
            body = {**message, "Question": message["Question"][0]}
        return Reply(body=json.dumps(body).encode(), type="application/json")

    def _check_key(self, given):
        uid, access_key, secret = self.account
        if missing := {"uid", "ak", "ts", "key"} - set(given):
            raise Refused(Reply(401), f"missing: {', '.join(sorted(missing))}")
        if (given["uid"], given["ak"]) != (uid, access_key):
            raise Refused(Reply(401), "account")
        if not given["ts"].isdigit() or abs(int(given["ts"]) - self.now) > TOLERANCE:
            raise Refused(Reply(401), "timestamp")
        text = uid + secret + given["ts"] + given["name"] + access_key
        if given["key"] != hashlib.sha256(text.encode()).hexdigest():
            raise Refused(Reply(401), "key")
