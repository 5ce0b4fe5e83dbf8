# Alibaba Cloud EMAS HTTPDNS: the first interface with MD5 signatures, the second with HMAC and AES, and the list of
# service nodes. From: Alibaba documents 2975988, 435283, 52680, 56810, 111585, and the official SDKs.

import base64
import hashlib
import hmac
import json
import os
import re

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vendors.standin import BadParameters, Refused, Reply, SignedStandIn, is_address, is_name

MOST_NAMES = 5
LONGEST_SIGNATURE = 86400
# The TTL of an empty answer, in seconds.
NEGATIVE_TTL = 300
FAMILIES = {"4": (4,), "6": (6,), "4,6": (4, 6)}
REGIONS = ("cn", "hk", "sg", "de", "us", "global")
# Parameters for statistics, which are never signed.
TELEMETRY = ["sid", "net", "sdk", "platform", "sdk_version"]

STATUSES = {
    "MissingArgument": 400, "InvalidHost": 400, "TooManyHosts": 400, "LimitExceeded": 400, "SdnsNotSupported": 400,
    "UnsignedInterfaceDisabled": 403, "SignatureExpired": 403, "InvalidSignature": 403, "InvalidDuration": 403,
    "InvalidAccount": 403, "AccountNotExists": 403, "ServiceLevelDeny": 403, "MethodNotAllowed": 405,
    "InternalError": 500,
}


def as_json(value, status=200):
    return Reply(status, json.dumps(value, separators=(",", ":")).encode(), "application/json")


def error(code):
    return as_json({"code": code}, STATUSES[code])


def check(isTrue, code, reason=None):
    if not isTrue:
        raise Refused(error(code), reason or code)


class _Service(SignedStandIn):
    host = "resolvers.httpdns.aliyuncs.com"
    list_path = "/ss"

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        # Whether requests without signature are refused.
        self.is_signed_only = True
        # An account error: InvalidAccount or AccountNotExists. None if the account is served.
        self.account_error = None

    def answer(self, request):
        check(request.method == "GET", "MethodNotAllowed")
        if self.account_error:
            check(False, self.account_error)
        if request.path == f"/{self.account}{self.list_path}":
            return self._list(request)
        return self.resolve(request)

    def resolve(self, request):
        raise NotImplementedError

    def _list(self, request):
        given = self.read(request, [], ["region", "n", "t", "s", *TELEMETRY])
        check(given.get("region", "cn") in REGIONS, "MissingArgument", f"region {given.get('region')}")
        return as_json({"service_ip": self.listed, "service_ipv6": []})

    def read(self, request, required, optional):
        try:
            return request.parameters(required, optional)
        except BadParameters as problem:
            # The service has no code for unknown parameters.
            raise Refused(error("MissingArgument"), str(problem)) from None

    @staticmethod
    def custom(given):
        """Checks the limits of the official clients. The service has no code for parameters beyond the limits."""
        custom = {key: value for key, value in given.items() if key.startswith("sdns-")}
        check(len(custom) <= 10 and sum(map(len, [*custom, *custom.values()])) <= 1000, "MissingArgument", "sdns size")
        for key, value in custom.items():
            check(re.fullmatch("sdns-[A-Za-z0-9_-]+", key), "MissingArgument", f"parameter {key}")
            check(re.fullmatch("[A-Za-z0-9_=-]+", value), "MissingArgument", f"value of {key}")
        if "tags" in given:
            tags = given["tags"].split(",")
            check(len(tags) <= 5 and len(given["tags"]) <= 64, "MissingArgument", "tags")
            check(all(re.fullmatch("[A-Za-z0-9-]+", tag) for tag in tags), "MissingArgument", f"tags {given['tags']}")
            custom["tags"] = given["tags"]
        return custom

    def addresses(self, name, family):
        entry = self.entry(name) if self.is_registered(name) else None
        return (entry.ipv4 if family == 4 else entry.ipv6) if entry else ()

    def ttl(self, name):
        return self.entry(name).ttl

    @staticmethod
    def families(text):
        check(text in FAMILIES, "MissingArgument", f"families {text}")
        return FAMILIES[text]


class First(_Service):
    """The paths /d, /sign_d, /resolve and /sign_resolve below the account."""

    def resolve(self, request):
        account, _, call = request.path[1:].partition("/")
        check(account == self.account, "AccountNotExists", f"account {account}")
        if call not in ("d", "sign_d", "resolve", "sign_resolve"):
            raise Refused(Reply(404), f"path {request.path}")
        is_signed, is_batch = call.startswith("sign_"), call.endswith("resolve")
        check(is_signed or not self.is_signed_only, "UnsignedInterfaceDisabled")
        required = ["host", "t", "s"] if is_signed else ["host"]
        given = self.read(request, required, ["query", "ip", "sdns-*", *TELEMETRY])
        request.custom = self.custom(given)
        names = tuple(given["host"].split(","))
        check(len(names) == 1 or is_batch, "TooManyHosts")
        check(len(names) <= MOST_NAMES, "LimitExceeded")
        check(all(map(is_name, names)), "InvalidHost", f"names {given['host']}")
        if is_signed:
            self._check_signature(given)
        client = given.get("ip", request.peer)
        check(is_address(client), "MissingArgument", f"ip {client}")
        request.names, request.families = names, self.families(given.get("query", "4"))
        if is_batch:
            return as_json({"dns": [
                self._element(name, family, client) for name in names for family in request.families]})
        return as_json(self._single(names[0], request.families, client))

    def _check_signature(self, given):
        check(given["t"].isdigit() and len(given["t"]) == 10, "MissingArgument", f"time {given['t']}")
        check(int(given["t"]) > self.now, "SignatureExpired")
        check(int(given["t"]) <= self.now + LONGEST_SIGNATURE, "InvalidDuration")
        text = f"{given['host']}-{self.secret}-{given['t']}"
        check(given["s"] == hashlib.md5(text.encode()).hexdigest(), "InvalidSignature")

    def _single(self, name, families, client):
        found = {("ips" if family == 4 else "ipsv6"): list(self.addresses(name, family)) for family in families}
        if not any(found.values()):
            return {"host": name, "ips": [], "ttl": NEGATIVE_TTL}
        return {"host": name, **found, "ttl": self.ttl(name), "origin_ttl": 2 * self.ttl(name), "client_ip": client}

    def _element(self, name, family, client):
        found = self.addresses(name, family)
        element = {"host": name, "client_ip": client, "ips": list(found), "type": 1 if family == 4 else 28}
        if not found:
            return {**element, "ttl": NEGATIVE_TTL}
        return {**element, "ttl": self.ttl(name), "origin_ttl": 2 * self.ttl(name)}


class Second(_Service):
    """The path /v2/d. `secret` and `cipher_key` are hexadecimal, as the console prints them."""

    def __init__(self, *arguments, cipher_key=None, **options):
        super().__init__(*arguments, **options)
        self.cipher_key = bytes.fromhex(cipher_key) if cipher_key else None

    def resolve(self, request):
        if request.path != "/v2/d":
            raise Refused(Reply(404), f"path {request.path}")
        query = ["dn", "q", "cip", "tags", "sdns-*"]
        given = self.read(request, ["id", "m"], [*query, "enc", "exp", "v", "s", *TELEMETRY])
        check(given["id"] == self.account, "AccountNotExists", f"account {given['id']}")
        check(given["m"] in ("0", "1", "2"), "MissingArgument", f"mode {given['m']}")
        mode = int(given["m"])
        self._check_signature(given)
        if mode:
            in_clear = [key for key in given if key in query or key.startswith("sdns-")]
            check(not in_clear, "MissingArgument", f"in clear: {in_clear}")
            given = self._decrypted(given.get("enc", ""), mode)
        check("dn" in given, "MissingArgument", "missing: dn")
        request.custom = self.custom(given)
        names = tuple(given["dn"].split(","))
        check(len(names) <= MOST_NAMES, "TooManyHosts", f"{len(names)} names")
        check(all(map(is_name, names)), "InvalidHost", f"names {given['dn']}")
        client = given.get("cip", request.peer)
        check(is_address(client), "MissingArgument", f"cip {client}")
        request.names, request.families = names, self.families(given.get("q", "4"))
        answers = [
            {"dn": name, **{f"v{family}": self._family(name, family) for family in request.families}} for name in names]
        data = {"cip": client, "answers": answers}
        return as_json({"code": "success", "mode": mode, "data": self._encrypted(data, mode) if mode else data})

    def _check_signature(self, given):
        if "s" not in given:
            check(not self.is_signed_only, "UnsignedInterfaceDisabled")
            return
        check(given.get("exp", "").isdigit(), "MissingArgument", "missing: exp")
        check(int(given["exp"]) > self.now, "SignatureExpired")
        signed = {key: value for key, value in given.items() if key not in ("s", *TELEMETRY) and value}
        text = "&".join(f"{key}={signed[key]}" for key in sorted(signed))
        expected = hmac.new(bytes.fromhex(self.secret), text.encode(), hashlib.sha256).hexdigest()
        check(given["s"] == expected, "InvalidSignature")

    def _decrypted(self, digits, mode):
        check(self.cipher_key, "InvalidAccount", "the account has no AES key")
        try:
            data = bytes.fromhex(digits)
            if mode == 2:
                text = AESGCM(self.cipher_key).decrypt(data[:12], data[12:], None)
            else:
                cipher = Cipher(algorithms.AES(self.cipher_key), modes.CBC(data[:16])).decryptor()
                unpadder = padding.PKCS7(128).unpadder()
                padded = cipher.update(data[16:]) + cipher.finalize()
                text = unpadder.update(padded) + unpadder.finalize()
            given = json.loads(text)
        except (ValueError, InvalidTag):
            # The code of this refusal is not documented.
            raise Refused(error("MissingArgument"), "cannot be decrypted") from None
        check(all(isinstance(value, str) for value in given.values()), "MissingArgument", "a value is not a string")
        return given

    def _encrypted(self, data, mode):
        text = json.dumps(data, separators=(",", ":")).encode()
        if mode == 2:
            iv = os.urandom(12)
            return base64.b64encode(iv + AESGCM(self.cipher_key).encrypt(iv, text, None)).decode()
        iv = os.urandom(16)
        padder, cipher = padding.PKCS7(128).padder(), Cipher(algorithms.AES(self.cipher_key), modes.CBC(iv)).encryptor()
        padded = padder.update(text) + padder.finalize()
        return base64.b64encode(iv + cipher.update(padded) + cipher.finalize()).decode()

    def _family(self, name, family):
        if found := self.addresses(name, family):
            return {"ips": list(found), "ttl": self.ttl(name)}
        if not self.is_registered(name):
            return {"ips": [], "ttl": NEGATIVE_TTL}
        code = "RRNotExist" if self.entry(name) else "DomainNotExist"
        return {"ips": [], "ttl": NEGATIVE_TTL, "no_ip_code": code}
