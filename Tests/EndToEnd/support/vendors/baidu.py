# Baidu Cloud HTTPDNS, version 4. From: cloud.baidu.com/doc/HTTPDNS/s/Vjwvxm96x, cloud.baidu.com/theme/D/2450344-7, and
# the vendor's SDK for `type`, the text of an expired signature, and families without addresses.

import hashlib
import json

from vendors.standin import BadParameters, Refused, Reply, SignedStandIn, is_address, is_name

MOST_NAMES = 10
FAMILIES = {"dual_stack": (4, 6), "ipv4": (4,), "ipv6": (6,)}
NEGATIVE_TTL = 60


class Baidu(SignedStandIn):
    host = "httpdns.baidubce.com"
    # The address that the documents print; it is not on the certificate.
    address = "180.76.76.200"
    # A family without addresses has a message instead.
    empty_family = {"msg": "no record", "ttl": NEGATIVE_TTL}

    def answer(self, request):
        if request.method != "GET" or request.path != "/v4/resolve":
            raise Refused(Reply(404), f"{request.method} {request.path}")
        try:
            given = request.parameters(
                ["account_id", "t", "sign"], ["dn", "tag", "type", "ip", "detail", "alt_server_ip"])
        except BadParameters as error:
            self._refuse("InvalidParameter", str(error))
        self._check("dn" in given and "tag" not in given, "InvalidParameter", "neither or both of dn and tag")
        names = tuple(given["dn"].split(","))
        self._check(len(names) <= MOST_NAMES, "TooManyDomains", f"{len(names)} names")
        self._check(all(map(is_name, names)), "InvalidParameter", f"not names: {given['dn']}")
        self._check(given["account_id"] == self.account, "AccountNotExist", "account")
        self._check(given["t"].isdigit() and len(given["t"]) == 10, "InvalidParameter", f"time {given['t']}")
        self._check(int(given["t"]) > self.now, "SignatureExpired", "signature expired")
        text = f"{given['dn']}-{self.secret}-{given['t']}"
        self._check(given["sign"] == hashlib.md5(text.encode()).hexdigest(), "SignatureNotMatch", "signature")
        # A request without type is not documented; it counts as one for both families.
        kind = given.get("type", "dual_stack")
        self._check(kind in FAMILIES, "InvalidParameter", f"type {kind}")
        self._check(is_address(given.get("ip", "192.0.2.1")), "InvalidParameter", "ip")
        request.names, request.families = names, FAMILIES[kind]
        data = {name: self._answer(name, request.families) for name in names if self.is_registered(name)}
        body = {"msg": "ok", "data": data, "clientip": given.get("ip", request.peer)}
        if given.get("alt_server_ip") != "true":
            return self._reply(body)
        return self.broken_list or self._reply({**body, "serverip": {"ipv4": self.listed, "ipv6": []}})

    def _answer(self, name, families):
        entry = self.entry(name)
        return {f"ipv{family}": self._family((entry.ipv4 if family == 4 else entry.ipv6) if entry else (), entry)
                for family in families}

    def _family(self, addresses, entry):
        if addresses:
            return {"ip": list(addresses), "ttl": entry.ttl, "msg": "ok"}
        return self.empty_family

    def _check(self, isTrue, message, reason):
        if not isTrue:
            self._refuse(message, reason)

    def _refuse(self, message, reason):
        """Refuses a request. Only the text SignatureExpired is known; the status of errors is not documented."""
        raise Refused(self._error(message), reason)

    def _error(self, message, status=200):
        return self._reply({"msg": message}, status)

    def _reply(self, body, status=200):
        body = {**body, "timestamp": int(self.now)}
        return Reply(status, json.dumps(body).encode(), "text/plain; charset=utf-8")
