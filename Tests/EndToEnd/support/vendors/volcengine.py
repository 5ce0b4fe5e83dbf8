# Volcengine HTTPDNS. From: documents 6758/113991, 6758/174756 (signature), 6758/174757 (replies), 6758/1110633 (list of
# hosts) and FAQ 6758/161916, which says what 403 means.

import hashlib
import json

from vendors.standin import BadParameters, Refused, Reply, SignedStandIn, is_address, is_name

# The body of a refusal is not documented.
FORBIDDEN = Reply(403)
NEGATIVE_TTL = 60


class Volcengine(SignedStandIn):
    host = "httpdns.volcengineapi.com"
    list_path = "/svc_meta"

    def answer(self, request):
        if request.method != "GET":
            raise Refused(Reply(405), f"method {request.method}")
        if self.asks_for_list(request):
            return self._list(request)
        if request.path != "/resolve":
            raise Refused(Reply(404), f"path {request.path}")
        try:
            given = request.parameters(["domain", "account_id", "timestamp", "sign"], ["type", "ip", "appid"])
        except BadParameters as error:
            raise Refused(FORBIDDEN, str(error)) from None
        request.custom = {key: value for key, value in [
            ("appid", given.get("appid")), ("Am-Tag", request.headers.get("am-tag"))] if value}
        self._check_proof(given, given["domain"], given.get("ip", ""), given.get("type", ""))
        self._check(given.get("type", "") in ("", "1", "28"), f"type {given.get('type')}")
        self._check(not given.get("ip") or is_address(given["ip"]), "ip")
        # The reply to several names is not documented.
        name = given["domain"]
        self._check(is_name(name), f"not one name: {name}")
        request.names = (name,)
        request.families = {"1": (4,), "28": (6,)}.get(given.get("type"), (4, 6))
        self._check(self.is_registered(name), "name not added in the console")
        return self._reply(name, request.families, given.get("ip") or request.peer)

    @staticmethod
    def _check(isTrue, reason):
        if not isTrue:
            raise Refused(FORBIDDEN, reason)

    def _check_proof(self, given, *values):
        self._check(given["account_id"] == self.account, "account")
        # The time is in milliseconds.
        self._check(given["timestamp"].isdigit() and len(given["timestamp"]) == 13, f"timestamp {given['timestamp']}")
        self._check(int(given["timestamp"]) > self.now * 1000, "signature expired")
        signed = "_".join(sorted([self.secret, given["timestamp"], given["account_id"], *values]))
        self._check(given["sign"] == hashlib.md5(signed.encode()).hexdigest(), "signature")

    def _list(self, request):
        """The signature of this request is not published; it is taken to follow the rule of the others."""
        try:
            given = request.parameters(["account_id", "sign", "svc_meta_ts", "timestamp"])
        except BadParameters as error:
            raise Refused(FORBIDDEN, str(error)) from None
        self._check_proof(given, given["svc_meta_ts"])
        body = {"svc_meta": {"main_domains": self.listed, "backup_domains": []}, "ts": int(self.now),
                "update_interval_min": 30}
        return Reply(body=json.dumps(body).encode(), type="application/json")

    def _reply(self, name, families, client):
        """Both families share one array."""
        entry = self.entry(name)
        found = [] if not entry else [
            *(entry.ipv6 if 6 in families else ()), *(entry.ipv4 if 4 in families else ())]
        body = {"cip": client, "host": name, "ips": found, "ttl": entry.ttl if found else NEGATIVE_TTL}
        return Reply(body=json.dumps(body).encode(), type="application/json")
