# The stand-in provider: started on ports of its own choice, its faults and counters over its control endpoint.

import json
import re
import urllib.parse
import urllib.request

import places
from programs import Program

# What a provider of each kind has in its settings: dialect, path, and more keys.
KINDS = {
    "json": ("json", "resolve", {}),
    "doh": ("doh", "dns-query", {}),
    "doh-post": ("doh", "dns-query", {"method": "POST"}),
    "dnspod": ("dnspod", "d", {}),
}


class Lab(Program):
    def __init__(self, zone=places.ZONE, host="127.0.0.1", prefix=()):
        super().__init__("httpdns-lab")
        self.zone = zone
        self.prefix = prefix
        self.http = f"{host}:0"
        self.control = "127.0.0.1:0"

    def up(self):
        """Starts it, after a kill at the same addresses as before."""
        since = len(self.log)
        self.start(
            places.binaries / "httpdns-lab", "--zone", self.zone, "--http", self.http, "--control", self.control,
            prefix=self.prefix)
        self.wait_for("^ready$", since=since)
        said = self.log[since:]
        self.http = re.search("^http (.*)$", said, re.MULTILINE).group(1)
        self.control = re.search("^control (.*)$", said, re.MULTILINE).group(1)
        return self

    def provider(self, kind, name=None, **more):
        """Settings of a provider that the lab plays; faults and counters know it by its name."""
        dialect, path, keys = KINDS[kind]
        name = name or kind
        return {"name": name, "dialect": dialect, "url": f"http://{self.http}/p/{name}/{path}", **keys, **more}

    def _call(self, path, method, parameters):
        given = {key.replace("_", "-"): value for key, value in parameters.items() if value is not None}
        url = f"http://{self.control}{path}?{urllib.parse.urlencode(given)}"
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=places.PATIENCE) as reply:
            return json.load(reply)

    def fault(self, kind, provider=None, name=None, value=None, retry_after=None):
        self._call("/fault", "POST", {
            "kind": kind, "provider": provider, "name": name, "value": value, "retry_after": retry_after})

    def record(self, name, type, data, ttl=60):
        self._call("/record", "POST", {"name": name, "type": type, "data": data, "ttl": ttl})

    def reset(self):
        self._call("/reset", "POST", {})

    def requests(self):
        """Counters: total, and by providers, names, and questions ("PROVIDER NAME TYPE")."""
        return self._call("/requests", "GET", {})

    def asked(self, name):
        return self.requests()["names"].get(name, 0)
