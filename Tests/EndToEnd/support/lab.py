# The stand-in provider: started on free ports, with its faults and counters over its control endpoint.

import json
import re
import urllib.parse
import urllib.request
from dataclasses import dataclass, field

import paths
from programs import Program

# The lab lists no service nodes, and the nodes of its Alibaba are addresses without servers.
_ALICLOUD = {"account": "100000", "service-nodes": False}
_TENCENT = {"account": "1234", "service-nodes": False}
_UCLOUD = {"account": "100000", "service-nodes": False}
_HMAC_KEY, _AES_KEY = "a0b1c2d3e4f5061728394a5b6c7d8e9f", "000102030405060708090a0b0c0d0e0f"


@dataclass(frozen=True)
class Kind:
    """The settings of a provider for the lab's accounts."""

    dialect: str
    path: str
    keys: dict = field(default_factory=dict)
    # The secrets by the settings key that names their file.
    secrets: dict = field(default_factory=dict)
    # The number of names in one request.
    batch: int = 1
    # The host name for TLS; None if the vendor has HTTP only.
    vendor: str = None
    # Whether AAAA can be asked, whether a reply states that a name does not exist, whether it repeats the name, and
    # whether requests expire.
    has_aaaa: bool = True
    says_missing: bool = False
    repeats_name: bool = True
    is_dated: bool = False


KINDS = {
    "json": Kind("json", "resolve", vendor="dns.alidns.com", says_missing=True),
    "json-account": Kind(
        "json", "resolve", {"account": "9999", "access-key": "testAK"}, {"key-file": "testSecret"},
        vendor="dns.alidns.com", says_missing=True, is_dated=True),
    "doh": Kind("doh", "dns-query", vendor="dns.google", says_missing=True),
    "doh-post": Kind("doh", "dns-query", {"method": "POST"}, vendor="dns.google", says_missing=True),
    "dnspod": Kind("dnspod", "d", has_aaaa=False, repeats_name=False),
    "dnspod-des": Kind("dnspod-des", "d", _TENCENT, {"key-file": "dnspodpass"}, batch=8),
    "dnspod-aes": Kind(
        "dnspod-aes", "d", {**_TENCENT, "expiring": True}, {"key-file": "0123456789abcdef"}, batch=8,
        is_dated=True),
    "dnspod-https": Kind(
        "dnspod-https", "d", _TENCENT, {"key-file": "567890"}, batch=8, vendor="119.29.29.99"),
    "alicloud": Kind(
        "alicloud", "", _ALICLOUD, {"key-file": "IAmASecret"}, batch=5, vendor="resolvers.httpdns.aliyuncs.com",
        is_dated=True),
    "alicloud-v2": Kind(
        "alicloud-v2", "", {**_ALICLOUD, "cipher": "none"}, {"key-file": _HMAC_KEY}, batch=5,
        vendor="resolvers.httpdns.aliyuncs.com", says_missing=True, is_dated=True),
    "alicloud-v2-gcm": Kind(
        "alicloud-v2", "", _ALICLOUD, {"key-file": _HMAC_KEY, "cipher-key-file": _AES_KEY}, batch=5,
        vendor="resolvers.httpdns.aliyuncs.com", says_missing=True, is_dated=True),
    "volcengine": Kind(
        "volcengine", "resolve", {"account": "1023"}, {"key-file": "QlgAuFMwNUwN"}, vendor="httpdns.volcengineapi.com",
        is_dated=True),
    "baidu": Kind(
        "baidu", "v4/resolve", {"account": "100"}, {"key-file": "1234567890"}, batch=10, vendor="httpdns.baidubce.com",
        is_dated=True),
    "ucloud": Kind(
        "ucloud", "", _UCLOUD, {"key-file": "AuthSecret"}, has_aaaa=False, is_dated=True),
    # The template describes Volcengine without its own dialect.
    "template": Kind(
        "template", "resolve", {"account": "1023", "template": {
            "query": "domain={name}&ip={client-ip}&type={type}&account_id={account}&timestamp={expiry-ms}"
                     "&sign={signature}",
            "digest": "md5", "signed": ["{secret}", "{expiry-ms}", "{account}", "{name}", "{client-ip}", "{type}"],
            "sort": True, "join": "_", "v4": "ips", "v6": "ips", "ttl": "ttl", "success": "host={name}"}},
        {"key-file": "QlgAuFMwNUwN"}, vendor="httpdns.volcengineapi.com", is_dated=True),
}


class Lab(Program):
    def __init__(self, zone=paths.ZONE, host="127.0.0.1", prefix=()):
        super().__init__("httpdns-lab")
        self.zone = zone
        self.prefix = prefix
        self.http = f"{host}:0"
        self.control = "127.0.0.1:0"

    def up(self):
        """Starts the lab, after a kill at the same addresses as before."""
        since = len(self.log)
        self.start(
            paths.binaries / "httpdns-lab", "--zone", self.zone, "--http", self.http, "--control", self.control,
            prefix=self.prefix)
        self.wait_for("^ready$", since=since)
        said = self.log[since:]
        self.http = re.search("^http (.*)$", said, re.MULTILINE).group(1)
        self.control = re.search("^control (.*)$", said, re.MULTILINE).group(1)
        return self

    def provider(self, kind, name=None, **more):
        """The settings of a provider that the lab plays; faults and counters know it by its name."""
        name = name or kind
        return self._settings(kind, name, f"http://{self.http}/p/{name}/{KINDS[kind].path}", more)

    def secure_provider(self, kind, port, name=None, **more):
        """The same provider with its vendor's host, behind TLS at this port, where a web server leads to the lab."""
        vendor, name = KINDS[kind].vendor, name or kind
        url = f"https://{vendor}:{port}/{KINDS[kind].path}"
        return self._settings(kind, name, url, {"addresses": ["127.0.0.1"], **more})

    def _settings(self, kind, name, url, more):
        keys = {**KINDS[kind].keys}
        for key, secret in KINDS[kind].secrets.items():
            keys[key] = str(self.secret(f"{name}.{key}", secret))
        return {"name": name, "dialect": KINDS[kind].dialect, "url": url, **keys, **more}

    def secret(self, name, content, mode=0o600):
        """A file beside the lab's log."""
        path = self.directory / name
        path.unlink(missing_ok=True)
        path.touch(mode)
        path.write_text(content + "\n")
        path.chmod(mode)
        return paths.entrust(path)

    def _call(self, path, method, parameters):
        given = {key.replace("_", "-"): value for key, value in parameters.items() if value is not None}
        url = f"http://{self.control}{path}?{urllib.parse.urlencode(given)}"
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=paths.PATIENCE) as reply:
            return json.load(reply)

    def fault(self, kind, provider=None, name=None, value=None, retry_after=None):
        self._call("/fault", "POST", {
            "kind": kind, "provider": provider, "name": name, "value": value, "retry_after": retry_after})

    def record(self, name, type, data, ttl=60):
        self._call("/record", "POST", {"name": name, "type": type, "data": data, "ttl": ttl})

    def reset(self):
        self._call("/reset", "POST", {})

    def requests(self):
        """Counters: total, and by providers, names, and questions ("PROVIDER NAME TYPE"); and the last requests."""
        return self._call("/requests", "GET", {})

    def seen(self, provider):
        """The number of the last hundred requests that were for this provider, refused ones included."""
        return sum(request["target"].startswith(f"/p/{provider}/") for request in self.requests()["recent"])

    def asked(self, name):
        return self.requests()["names"].get(name, 0)
