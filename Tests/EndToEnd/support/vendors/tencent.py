# Tencent Cloud HTTPDNS (DNSPod): the free service, the paid one over HTTP with DES or AES, and over HTTPS with a token.
# From: Tencent documents 379/95497, 379/61200, 379/95499, and the official SDKs for what these leave open.

import os

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from vendors.standin import BadParameters, Refused, Reply, StandIn, is_address, is_name

try:
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
except ImportError:
    TripleDES = algorithms.TripleDES

MOST_NAMES = 8
# The lifetime of an expiring name list, and the tolerated difference of clocks, in seconds. The latter is not
# documented.
LIFETIME, TOLERANCE = 600, 60

# The reply to a request that the service cannot read is not documented. 401 is known from the SDKs.
MALFORMED, UNAUTHORISED = Reply(400), Reply(401)


class DES:
    """The cipher DES in ECB mode with PKCS#7 padding. The key is the first 8 bytes of the console's."""

    name = "des"

    def __init__(self, key):
        # Three equal keys make the single cipher.
        self._cipher = Cipher(TripleDES(key.encode()[:8].ljust(8, b"\0") * 3), modes.ECB())

    def encrypt(self, text):
        padder, cipher = padding.PKCS7(64).padder(), self._cipher.encryptor()
        padded = padder.update(text.encode()) + padder.finalize()
        return (cipher.update(padded) + cipher.finalize()).hex()

    def decrypt(self, digits):
        cipher, unpadder = self._cipher.decryptor(), padding.PKCS7(64).unpadder()
        padded = cipher.update(bytes.fromhex(digits)) + cipher.finalize()
        return (unpadder.update(padded) + unpadder.finalize()).decode()


class AES:
    """The cipher AES in CBC mode with PKCS#7 padding, a key of 128 bits, and the IV before the ciphertext."""

    name = "aes"

    def __init__(self, key):
        self._key = algorithms.AES(key.encode().ljust(16, b"0"))

    def encrypt(self, text):
        iv = os.urandom(16)
        padder, cipher = padding.PKCS7(128).padder(), Cipher(self._key, modes.CBC(iv)).encryptor()
        padded = padder.update(text.encode()) + padder.finalize()
        return (iv + cipher.update(padded) + cipher.finalize()).hex()

    def decrypt(self, digits):
        data = bytes.fromhex(digits)
        cipher, unpadder = Cipher(self._key, modes.CBC(data[:16])).decryptor(), padding.PKCS7(128).unpadder()
        padded = cipher.update(data[16:]) + cipher.finalize()
        return (unpadder.update(padded) + unpadder.finalize()).decode()


class _Service(StandIn):
    """The common part of the free and the paid services."""

    path = "/d"

    def read(self, request, required, optional):
        if request.method not in ("GET", "POST"):
            raise Refused(Reply(501), f"method {request.method}")
        if request.path != self.path:
            raise Refused(Reply(404), f"path {request.path}")
        return self.parameters(request, required, optional)

    @staticmethod
    def parameters(request, required, optional):
        try:
            return request.parameters(required, optional)
        except BadParameters as error:
            raise Refused(MALFORMED, str(error)) from None

    @staticmethod
    def check(isTrue, reason, reply=MALFORMED):
        if not isTrue:
            raise Refused(reply, reason)


class Free(_Service):
    """The service at 119.29.29.29: one name, IPv4, in clear."""

    def answer(self, request):
        given = self.read(request, ["dn"], ["ttl", "ip"])
        name = given["dn"].rstrip(".")
        self.check(is_name(name), f"not one name: {given['dn']}")
        self.check(given.get("ttl", "1") == "1", "ttl is not 1")
        self.check(is_address(given.get("ip", "192.0.2.1")), "ip is no address")
        request.names, request.families = (name,), (4,)
        entry = self.entry(name)
        if not entry or not entry.ipv4:
            return Reply()
        body = ";".join(entry.ipv4) + (f",{entry.ttl}" if "ttl" in given else "")
        return Reply(body=body.encode())


class _Paid(_Service):
    """The parameters and replies of both paid services."""

    list_path = "/conf"

    # The form of "no record" for a single name without prefix: "", or "0".
    empty = ""
    # The documents have the client's address once, at the end; the SDKs expect it on each line.
    has_client_on_each_line = True

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        # Whether requests must have the time of their expiry with their names, as the newest SDK sends them.
        self.wants_expiry = False

    def conf(self):
        """The list of service addresses, valid for an hour (document 379/116336)."""
        return f"log:0|domain:0|ip:{';'.join(self.listed)}|ttl:60"

    def names_of(self, text):
        """The names of `dn`, which may end in the time at which the request expires."""
        text, _, expiry = text.partition(";")
        self.check(expiry or not self.wants_expiry, "no expiry", UNAUTHORISED)
        if expiry:
            self.check(expiry.isdigit(), f"expiry {expiry}")
            self.check(self.now < int(expiry), "expired", UNAUTHORISED)
            self.check(int(expiry) <= self.now + LIFETIME + TOLERANCE, "expires too late", UNAUTHORISED)
        names = tuple(text.split(","))
        self.check(len(names) <= MOST_NAMES, f"{len(names)} names")
        self.check(all(map(is_name, names)), f"not names: {text}")
        return names

    def lines(self, request, given, names, client):
        self.check(all(given.get(key, "1") == "1" for key in ("ttl", "clientip", "query")), "a switch is not 1")
        kind = given.get("type", "a").lower()
        self.check(kind in ("a", "aaaa", "addrs"), f"type {kind}")
        self.check(1000 <= int(given.get("timeout", 5000)) <= 5000, "timeout")
        request.names = names
        request.families = {"a": (4,), "aaaa": (6,), "addrs": (4, 6)}[kind]
        has_prefix = "query" in given or len(names) > 1
        lines = []
        for name in names:
            parts = [self._part(name, family, "ttl" in given) for family in request.families]
            line = "-".join(parts)
            if not has_prefix and set(parts) == {"0"}:
                return self.empty
            lines.append(f"{name}.:{line}" if has_prefix else line)
        if "clientip" in given:
            last = len(lines) - 1
            lines = [f"{line}|{client}" if self.has_client_on_each_line or number == last else line
                     for number, line in enumerate(lines)]
        return "\n".join(lines)

    def _part(self, name, family, has_ttl):
        entry = self.entry(name) if self.is_registered(name) else None
        addresses = (entry.ipv4 if family == 4 else entry.ipv6) if entry else ()
        return ";".join(addresses) + (f",{entry.ttl}" if has_ttl else "") if addresses else "0"


class Encrypted(_Paid):
    """The service at 119.29.29.98: names and replies are ciphertext. `cipher` is DES or AES with the account's key."""

    # The form of `ip`: "clear" as in the SDKs, or "encrypted" as in the documents.
    ip_form = "clear"
    # Whether an empty reply is the ciphertext of an empty text; otherwise it has no body.
    is_empty_encrypted = False

    def __init__(self, *arguments, account, cipher, **options):
        super().__init__(*arguments, **options)
        self.account = account
        self.cipher = cipher
        # The addresses that clients sent, without repetitions.
        self.clients = []

    def answer(self, request):
        if self.asks_for_list(request):
            self._check_account(self.parameters(request, ["id", "alg"], []))
            return Reply(body=self.cipher.encrypt(self.conf()).encode())
        given = self.read(request, ["dn", "id"], ["alg", "ip", "ttl", "clientip", "query", "type", "timeout", "sdk"])
        self._check_account(given)
        client = request.peer
        if given.get("ip"):
            client = self._decrypted(given["ip"]) if self.ip_form == "encrypted" else given["ip"]
            self.check(is_address(client), f"ip {given['ip']} is no address")
            if client not in self.clients:
                self.clients.append(client)
        text = self.lines(request, given, self.names_of(self._decrypted(given["dn"])), client)
        return Reply(body=self.cipher.encrypt(text).encode() if text or self.is_empty_encrypted else b"")

    def _check_account(self, given):
        self.check(given["id"] == self.account, f"account {given['id']}", UNAUTHORISED)
        self.check(given.get("alg", "des") == self.cipher.name, f"cipher {given.get('alg')}", UNAUTHORISED)

    def _decrypted(self, digits):
        try:
            return self.cipher.decrypt(digits)
        except ValueError:
            raise Refused(UNAUTHORISED, "cannot be decrypted") from None


class Token(_Paid):
    """The service at 119.29.29.99: HTTPS, and a token instead of encryption."""

    host = "119.29.29.99"

    def __init__(self, *arguments, token, **options):
        super().__init__(*arguments, **options)
        self.token = token

    def answer(self, request):
        if self.asks_for_list(request):
            given = self.parameters(request, ["token"], [])
            self.check(given["token"] == self.token, "token", UNAUTHORISED)
            return Reply(body=self.conf().encode())
        given = self.read(
            request, ["dn", "token"], ["id", "ip", "ttl", "clientip", "query", "type", "timeout", "sdk"])
        self.check(given["token"] == self.token, "token", UNAUTHORISED)
        client = given.get("ip") or request.peer
        self.check(is_address(client), f"ip {client} is no address")
        text = self.lines(request, given, self.names_of(given["dn"]), client)
        return Reply(body=text.encode())
