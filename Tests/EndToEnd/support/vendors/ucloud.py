# UCloud HTTPDNS. From: UCloudDoc-Team/httpdns, sdk/api.md.

import hashlib
import json

from vendors.standin import BadParameters, Refused, Reply, SignedStandIn, is_name

# The validity of a timestamp in seconds.
LIFETIME = 60


def error(status, code, message):
    body = {"status": status, "code": code, "message": message}
    return Reply(status, json.dumps(body).encode(), "application/json")


UNAUTHORISED = error(401, "UNAUTHORIZED", "request is unauthorized")


class UCloud(SignedStandIn):
    list_path = "/service"

    def answer(self, request):
        if request.method != "GET":
            raise Refused(error(405, "METHOD_NOT_ALLOWED", "method"), f"method {request.method}")
        account, _, call = request.path[1:].partition("/")
        if call not in ("resolve", "service"):
            raise Refused(error(404, "NOT_FOUND", "path"), f"path {request.path}")
        try:
            given = request.parameters(
                ["timestamp", "host"] if call == "resolve" else ["timestamp"],
                ["app_id"] if call == "resolve" else ["app_id", "ip"])
        except BadParameters as problem:
            raise Refused(error(400, "BAD_REQUEST", "parameters"), str(problem)) from None
        self._check(account == self.account, "account")
        self._check(given["timestamp"].isdigit() and abs(int(given["timestamp"]) - self.now) <= LIFETIME, "timestamp")
        self._check(request.headers.get("authorization") == self._signature(given), "signature")
        request.custom = {key: given[key] for key in ["app_id"] if key in given}
        if call == "service":
            nodes = [f"http://{node}:{self.port}" for node in self.listed]
            return self._reply({"auth_id": account, "client_ip": request.peer, "best_service_node": nodes[0],
                                "service_node_list": nodes})
        return self._resolve(request, given["host"])

    @staticmethod
    def _check(isTrue, reason):
        if not isTrue:
            raise Refused(UNAUTHORISED, reason)

    def _signature(self, given):
        """The signature: the values in the order of their names, and the secret."""
        text = "-".join([*(given[key] for key in sorted(given)), self.secret])
        return hashlib.md5(text.encode()).hexdigest()

    def _resolve(self, request, name):
        if not is_name(name):
            raise Refused(error(400, "BAD_REQUEST", "host"), f"not one name: {name}")
        request.names, request.families = (name,), (4,)
        if not self.is_registered(name):
            raise Refused(error(403, "HOST_FORBIDDEN", "host is forbidden"), "host is forbidden")
        entry = self.entry(name)
        if not entry or not entry.ipv4:
            return error(404, "FAIL_TO_RESOLVE", "record cannot be found")
        return self._reply(
            {"host": name, "client_ip": request.peer, "ip_list": list(entry.ipv4), "ttl": entry.ttl})

    @staticmethod
    def _reply(body):
        return Reply(body=json.dumps(body).encode(), type="application/json")
