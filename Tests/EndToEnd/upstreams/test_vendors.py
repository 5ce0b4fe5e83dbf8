# Each vendor's service by its documents, played by stand-ins that share no code with the daemon: the clients' replies,
# the daemon's reports about the provider, and the requests that the stand-in received.

import json
import os
import re
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import paths
from cases import Case
from certificates import Authority
from dig import dig
from paths import eventually
from programs import ctl
from vendors.alibaba import First, Second
from vendors.alibaba import error as alibaba_error
from vendors.baidu import Baidu
from vendors.doh import DoH
from vendors.resolvers import AliDNS, Cloudflare, Google
from vendors.standin import Entry, Reply
from vendors.tencent import AES, DES, Encrypted, Free, Token
from vendors.ucloud import UCloud
from vendors.volcengine import Volcengine
from wire import NOERROR, ask_all

HMAC_KEY, AES_KEY = "a0b1c2d3e4f5061728394a5b6c7d8e9f", "000102030405060708090a0b0c0d0e0f"
HOURS = 2 * 3600

V4, V6 = {"192.0.2.10", "192.0.2.11"}, {"2001:db8::10"}
BATCH = [f"n{number}.shop.example" for number in range(40)]
NAMES = {
    "www.shop.example": Entry(("192.0.2.10", "192.0.2.11"), ("2001:db8::10",)),
    "four.shop.example": Entry(("192.0.2.4",)),
    "six.shop.example": Entry((), ("2001:db8::6",)),
    "twice.shop.example": Entry(
        ("192.0.2.20", "192.0.2.21", "192.0.2.20"), ("2001:db8::20", "2001:db8::20", "2001:db8::21")),
    **{name: Entry(("192.0.2.99",), ("2001:db8::99",)) for name in BATCH},
}
# The names, with those of `providers test`.
EVERY_NAME = {**NAMES, **{name: Entry(("192.0.2.98",)) for name in (
    "www.example.com", "example.com", "example.net", "example.org", "www.iana.org", "iana.org", "www.icann.org",
    "icann.org")}}
# The second provider has other addresses for the same names, and names that the first one does not know.
HEALTHY = {"203.0.113.1"}
FOREIGN = [f"www.elsewhere{number}.example" for number in range(8)]
HEALTHY_NAMES = {name: Entry(tuple(HEALTHY), ("2001:db8:ffff::1",)) for name in [
    *NAMES, *FOREIGN, "missing.shop.example"]}


@dataclass(frozen=True)
class Account:
    """A vendor's service and an account there, with the settings that an operator writes."""

    make: object
    dialect: str
    path: str
    keys: dict = field(default_factory=dict)
    secrets: dict = field(default_factory=dict)
    # The host of the URL for a vendor without TLS.
    host: str = None
    # A wrong secret with the key of its file; None if there is none.
    wrong: tuple = None
    is_secure: bool = True
    # The number of names in a request.
    batch: int = 1
    has_aaaa: bool = True
    says_missing: bool = False
    is_dated: bool = False
    # Whether the service serves only names that were added in the console, and its replies identify refused ones.
    has_console: bool = False
    # Whether one request asks for both families.
    asks_both: bool = True
    # Whether the vendor lists its service nodes.
    has_nodes: bool = False


def _tencent(cipher, kind, key, **more):
    return Account(
        partial(Encrypted, account="1234", cipher=cipher(key)), kind, "d", {"account": "1234"}, {"key-file": key},
        host="119.29.29.98", wrong=("key-file", "another-key-0123"[:len(key)].ljust(len(key), "x")), is_secure=False,
        batch=8, has_console=True, has_nodes=True, **more)


def _alibaba(cipher=None):
    keys = {"account": "100000", **({"cipher": cipher} if cipher else {})}
    secrets = {"key-file": HMAC_KEY, **({"cipher-key-file": AES_KEY} if cipher != "none" else {})}
    return Account(
        partial(Second, account="100000", secret=HMAC_KEY, cipher_key=AES_KEY), "alicloud-v2", "", keys, secrets,
        wrong=("key-file", HMAC_KEY[::-1]), batch=5, says_missing=True, is_dated=True, has_console=True, has_nodes=True)


_BAIDU = Account(
    partial(Baidu, account="100", secret="1234567890"), "baidu", "v4/resolve", {"account": "100"},
    {"key-file": "1234567890"}, wrong=("key-file", "0987654321"), batch=10, is_dated=True, has_console=True,
    has_nodes=True)
_VOLCENGINE = Account(
    partial(Volcengine, account="1023", secret="QlgAuFMwNUwN"), "volcengine", "resolve", {"account": "1023"},
    {"key-file": "QlgAuFMwNUwN"}, wrong=("key-file", "NwUNQlgAuFMw"), is_dated=True, has_console=True, has_nodes=True)


def _plain(account, host):
    return Account(**{**vars(account), "is_secure": False, "host": host})


ACCOUNTS = {
    "dnspod": Account(Free, "dnspod", "d", host="119.29.29.29", is_secure=False, has_aaaa=False),
    "dnspod-des": _tencent(DES, "dnspod-des", "dnspodpass"),
    "dnspod-aes": _tencent(AES, "dnspod-aes", "0123456789abcdef"),
    "dnspod-https": Account(
        partial(Token, token="567890"), "dnspod-https", "d", {"account": "1234"}, {"key-file": "567890"},
        wrong=("key-file", "98765"), batch=8, has_console=True, has_nodes=True),
    "alicloud": Account(
        partial(First, account="100000", secret="IAmASecret"), "alicloud", "", {"account": "100000"},
        {"key-file": "IAmASecret"}, wrong=("key-file", "IAmNoSecret"), batch=5, is_dated=True, has_console=True,
        has_nodes=True),
    "alicloud-v2": _alibaba("none"),
    "alicloud-v2-cbc": _alibaba("cbc"),
    "alicloud-v2-gcm": _alibaba(),
    "volcengine": _VOLCENGINE,
    "volcengine-http": _plain(_VOLCENGINE, "httpdns.volcengineapi.com"),
    "baidu": _BAIDU,
    "baidu-http": _plain(_BAIDU, "180.76.76.200"),
    "ucloud": Account(
        partial(UCloud, account="100000", secret="AuthSecret"), "ucloud", "", {"account": "100000"},
        {"key-file": "AuthSecret"}, host="httpdns.ucloud.cn", wrong=("key-file", "NoSecret"), is_secure=False,
        has_aaaa=False, is_dated=True, has_console=True, has_nodes=True),
    "alidns": Account(AliDNS, "json", "resolve", says_missing=True, asks_both=False),
    "alidns-account": Account(
        partial(AliDNS, account=("9999", "testAK", "testSecret")), "json", "resolve",
        {"account": "9999", "access-key": "testAK"}, {"key-file": "testSecret"}, wrong=("key-file", "noSecret"),
        says_missing=True, is_dated=True, asks_both=False),
    "google": Account(Google, "json", "resolve", says_missing=True, asks_both=False),
    "cloudflare": Account(Cloudflare, "json", "dns-query", says_missing=True, asks_both=False),
    "doh": Account(DoH, "doh", "dns-query", {"method": "GET"}, says_missing=True, asks_both=False),
    "doh-post": Account(DoH, "doh", "dns-query", {"method": "POST"}, says_missing=True, asks_both=False),
}


class Vendors(Case):
    """The base of the tests: it starts stand-ins, and daemons with their settings."""

    expected_seconds = 12

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="e2e-vendors-")
        cls.addClassCleanup(folder.cleanup)
        cls.directory = Path(folder.name)
        os.chmod(cls.directory, 0o755)
        cls.authority = Authority(cls.directory / "authority")
        os.chmod(cls.directory / "authority", 0o755)
        cls.certificates = {}

    def certificate(self, name):
        """A certificate for this name only; one file serves all tests of the class."""
        if name not in self.certificates:
            self.certificates[name] = self.authority.certificate(name)
        return self.certificates[name]

    def stand_in(self, kind, certificate_for=None, **options):
        account = ACCOUNTS[kind]
        if account.is_secure:
            host = getattr(account.make, "func", account.make).host
            options["certificate"] = self.certificate(certificate_for or host)
        return self.own(account.make(options.pop("names", NAMES), **options))

    def settings(self, kind, stand_in, wrong=None, **more):
        """An operator's settings for this vendor, without the list of nodes."""
        account = ACCOUNTS[kind]
        scheme, host = ("https", stand_in.host) if account.is_secure else ("http", account.host)
        keys = {"name": kind, "dialect": account.dialect, "url": f"{scheme}://{host}:{stand_in.port}/{account.path}",
                "addresses": list(stand_in.nodes), **account.keys}
        if account.has_nodes:
            keys["service-nodes"] = False
        if account.is_secure:
            keys["ca-file"] = str(self.authority.ca_file)
        for key, secret in account.secrets.items():
            keys[key] = str(self.secret(f"{kind}.{key}", secret))
        if wrong:
            keys[wrong[0]] = str(self.secret(f"{kind}.wrong", wrong[1]))
        return {**keys, **more}

    def secret(self, name, content):
        path = self.directory / name
        path.unlink(missing_ok=True)
        path.touch(0o600)
        path.write_text(content + "\n")
        return paths.entrust(path)

    def healthy(self):
        """A second provider that knows every name, and is so slow that the other one is asked first."""
        healthy = self.stand_in("doh", names=HEALTHY_NAMES)
        healthy.delay = 0.1
        return healthy

    def second(self, healthy):
        return self.settings("doh", healthy, name="healthy")

    def daemon_of(self, *providers, sections="", **options):
        return self.daemon(list(providers), sections=f"[probe]\nenabled = false\n{sections}", **options)

    def each(self, check, wanted=lambda account: True):
        """Checks every vendor of which `wanted` is true, with programs of its own."""
        passed = []
        for kind, account in ACCOUNTS.items():
            if not wanted(account):
                continue
            with self.subTest(kind):
                self.programs = ()
                try:
                    check(kind, account)
                    passed.append(kind)
                finally:
                    self.doCleanups()
        print(f"vendors: {check.__name__.replace('_', ' ')}: {' '.join(passed)}", flush=True)

    def state(self, server, kind):
        return next(entry["state"] for entry in server.stats()["providers"] if entry["name"] == kind)

    def gets(self, expected, server, name, type="A", status="NOERROR"):
        reply = dig(server, name, type)
        self.assertEqual((status, sorted(expected)), (reply.status, sorted(record[4] for record in reply.answer)), name)
        return reply

    def requests(self, stand_in):
        """The requests except those for lists of service nodes."""
        return [request for request in stand_in.requests if not stand_in.asks_for_list(request)]


class Documents(Vendors):
    """The stand-ins against the exchanges that the documents print."""

    def exchange(self, stand_in, target, now=None, **headers):
        """Sends a request at this time of the vendor's clock; returns status and body."""
        stand_in = self.own(stand_in)
        if now is not None:
            stand_in.clock_offset = now - time.time()
        request = urllib.request.Request(f"http://127.0.0.1:{stand_in.port}{target}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=paths.PATIENCE) as reply:
                return reply.status, reply.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def test_tencent(self):
        names = {"www.qq.com": Entry(("192.0.2.10", "192.0.2.11"), (), 120),
                 "www.dnspod.cn": Entry(("192.0.2.10", "192.0.2.11"), ("2001:db8::10",), 120)}
        self.assertEqual((200, "192.0.2.10;192.0.2.11,120"), self.exchange(
            Free(names), "/d?dn=www.qq.com&ttl=1&ip=203.0.113.7"))
        self.assertEqual((200, ""), self.exchange(Free(names), "/d?dn=missing.qq.com&ttl=1"))
        both = "www.dnspod.cn.:192.0.2.10;192.0.2.11,120-2001:db8::10,120|127.0.0.1"
        self.assertEqual((200, both), self.exchange(
            Token(names, token="567890"),
            "/d?dn=www.dnspod.cn&clientip=1&ttl=1&query=1&id=1234&type=addrs&token=567890"))
        aes, des = AES("0123456789abcdef"), DES("dnspodpass")
        status, digits = self.exchange(
            Encrypted(names, account="1234", cipher=aes),
            "/d?dn=101112131415161718191a1b1c1d1e1fe3e56e582ad59947168b302b07b75b9c&clientip=1&ttl=1&query=1&id=1234"
            "&type=addrs&alg=aes")
        self.assertEqual((200, both), (status, aes.decrypt(digits)))
        status, digits = self.exchange(
            Encrypted(names, account="1234", cipher=des),
            "/d?dn=87ae992c1321f299da3c0210a9900ae7&clientip=1&ttl=1&query=1&id=1234&alg=des")
        self.assertEqual((200, "www.dnspod.cn.:192.0.2.10;192.0.2.11,120|127.0.0.1"), (status, des.decrypt(digits)))
        self.assertEqual("09443eb85b754b4d", des.encrypt(""))
        self.assertEqual("6553b1dde084cb06", des.encrypt("0"))

    def test_alibaba(self):
        names = {"www.aliyun.com": Entry(("192.0.2.10",), (), 57)}
        target = "/100000/sign_d?host=www.aliyun.com&query=4&t=1755525850&s=e08d0e437db0573140c82b80ebc38496"
        first = partial(First, names, account="100000", secret="IAmASecret")
        status, body = self.exchange(first(), target, now=1755525250)
        self.assertEqual((200, ["192.0.2.10"], 57), (status, json.loads(body)["ips"], json.loads(body)["ttl"]))
        self.assertEqual((403, '{"code":"SignatureExpired"}'), self.exchange(first(), target, now=1755525850))
        second = partial(Second, names, account="100000", secret=HMAC_KEY, cipher_key=AES_KEY)
        signed = "&exp=1755525850&v=1.0&s="
        for query in (
                f"m=0&dn=www.aliyun.com&q=4%2C6{signed}"
                "5218d2696100e40508a7e63b67efd134db396c0c298ea92473ec00b08a128096",
                "m=1&enc=101112131415161718191a1b1c1d1e1fcc2292d675ae8f1f0961a45358ccc07c"
                f"e539890b51e4583faef6ead2505affa253603ae192758e45c28c29daab9b644a{signed}"
                "2211189918076bb7ff68482c1d2f3cf26061b5482480b45ca7d8279c9b929b59",
                "m=2&enc=202122232425262728292a2bbbd776caa4ca5b7ecc3fa1b51da6ed0ba69f16f1"
                f"eb7406c61641fd35936fdb793533396057573455a1be952f66c9412628{signed}"
                "16fc6c6714eca36487bba0bd2cf902f1c268f9060e6912944c7f68bd52a3144b"):
            status, body = self.exchange(second(), f"/v2/d?id=100000&{query}&sid=AbCdEf012345", now=1755525250)
            self.assertEqual((200, "success", int(query[2])), (status, *map(json.loads(body).get, ("code", "mode"))))

    def test_volcengine_baidu_and_ucloud(self):
        status, body = self.exchange(
            Volcengine({"www.a.com": Entry(("192.0.2.10",), (), 52)}, account="1023", secret="QlgAuFMwNUwN"),
            "/resolve?domain=www.a.com&ip=1.2.3.4&type=1&account_id=1023&timestamp=1566808387000"
            "&sign=85c31b4998f9fd3d6eadc43804178869", now=1566808000)
        expected = {"cip": "1.2.3.4", "host": "www.a.com", "ips": ["192.0.2.10"], "ttl": 52}
        self.assertEqual((200, expected), (status, json.loads(body)))
        status, body = self.exchange(
            Baidu({"www.baidu.com": Entry(("192.0.2.10",))}, account="100", secret="1234567890"),
            "/v4/resolve?account_id=100&dn=www.baidu.com&t=1513602734&sign=9d4eac35c33b8fa1610476ff1532643d",
            now=1513602700)
        self.assertEqual(
            (200, ["192.0.2.10"]), (status, json.loads(body)["data"]["www.baidu.com"]["ipv4"]["ip"]))
        status, body = self.exchange(
            UCloud({"api.ucloud.cn": Entry(("192.0.2.10",), (), 600)}, account="100000", secret="AuthSecret"),
            "/100000/resolve?host=api.ucloud.cn&timestamp=1655193600&app_id=com.demo", now=1655193600,
            Authorization="9c52d62c87f9a72df68e4df96291d514")
        self.assertEqual((200, ["192.0.2.10"]), (status, json.loads(body)["ip_list"]))

    def test_resolvers(self):
        names = {"www.taobao.com": Entry(("192.0.2.10",)), "www.example.com": Entry(("192.0.2.10",))}
        target = "/resolve?name=www.taobao.com&type=1&uid=9999&ak=testAK&ts=1614927253&key=" \
            "ea3c33e569c7805491369b9874400a4d6cd001931f31838f3653c5b107a0d2b8"
        status, body = self.exchange(AliDNS(names, account=("9999", "testAK", "testSecret")), target, now=1614927260)
        self.assertEqual((200, "192.0.2.10"), (status, json.loads(body)["Answer"][0]["data"]))
        self.assertEqual(400, self.exchange(Cloudflare(names), "/dns-query?name=www.example.com")[0])
        status, _ = self.exchange(DoH(names), "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAHAAB")
        self.assertEqual(200, status)


class Names(Vendors):
    def test_names_and_families(self):
        self.each(self.names_and_families)

    def names_and_families(self, kind, account):
        stand_in = self.stand_in(kind)
        server = self.daemon_of(self.settings(kind, stand_in))
        self.gets(V4, server, "www.shop.example")
        self.gets({"192.0.2.4"}, server, "four.shop.example")
        if account.has_aaaa:
            self.gets(V6, server, "www.shop.example", "AAAA")
            # The name has no address of this family.
            self.gets((), server, "four.shop.example", "AAAA")
            self.gets((), server, "six.shop.example", "A")
            self.gets({"2001:db8::6"}, server, "six.shop.example", "AAAA")
        self.assertEqual([], stand_in.reasons)
        self.assertEqual({}, server.failures(kind))
        self.assertEqual("up", self.state(server, kind))

    def test_an_unknown_name(self):
        self.each(self.unknown_name)

    def unknown_name(self, kind, account):
        stand_in = self.stand_in(kind)
        server = self.daemon_of(self.settings(kind, stand_in))
        self.gets((), server, "missing.shop.example", status="NXDOMAIN" if account.says_missing else "NOERROR")
        self.assertEqual([], stand_in.reasons)
        self.assertEqual({}, server.failures(kind))

    def test_an_unknown_name_beside_a_provider_that_knows_it(self):
        self.each(self.unknown_name_beside_another)

    def unknown_name_beside_another(self, kind, account):
        """An answer that does not distinguish a missing name from one of another account is not final."""
        stand_in, healthy = self.stand_in(kind), self.healthy()
        server = self.daemon_of(self.settings(kind, stand_in), self.second(healthy))
        if account.says_missing:
            self.gets((), server, "missing.shop.example", status="NXDOMAIN")
        else:
            self.gets(HEALTHY, server, "missing.shop.example")
        self.gets(V4, server, "www.shop.example")


class Lists(Vendors):
    def test_an_address_that_is_listed_twice_is_answered_once(self):
        self.each(self.address_listed_twice)

    def address_listed_twice(self, kind, account):
        stand_in = self.stand_in(kind)
        server = self.daemon_of(self.settings(kind, stand_in))
        self.gets({"192.0.2.20", "192.0.2.21"}, server, "twice.shop.example")
        if account.has_aaaa:
            self.gets({"2001:db8::20", "2001:db8::21"}, server, "twice.shop.example", "AAAA")

    def test_several_names_share_requests(self):
        self.each(self.several_names)

    def several_names(self, kind, account):
        stand_in = self.stand_in(kind)
        server = self.daemon_of(self.settings(kind, stand_in))
        replies = ask_all(server, [(name, "A") for name in BATCH])
        self.assertEqual({number: (NOERROR, {"192.0.2.99"}) for number in range(len(BATCH))},
                         {number: (reply.rcode, reply.addresses) for number, reply in replies.items()})
        self.assertEqual([], stand_in.reasons)
        most = max(len(request.names) for request in stand_in.requests)
        self.assertTrue(most == 1 if account.batch == 1 else 1 < most <= account.batch, most)


class Clocks(Vendors):
    def test_a_clock_that_is_two_hours_slow(self):
        self.each(self.clock_slow, lambda account: account.is_dated)

    def clock_slow(self, kind, account):
        """Every signature is expired on arrival, until the daemon has learned the vendor's clock."""
        stand_in, healthy = self.stand_in(kind), self.healthy()
        stand_in.clock_offset = HOURS
        server = self.daemon_of(self.settings(kind, stand_in), self.second(healthy))
        self.gets(V4, server, "www.shop.example")
        self.gets({"192.0.2.99"}, server, BATCH[0])
        self.assertLessEqual(len(stand_in.refusals), 1)
        self.assertEqual({}, server.failures(kind))
        # The clock is corrected.
        stand_in.clock_offset = 0
        for name in BATCH[1:4]:
            self.gets({"192.0.2.99"}, server, name)
        self.assertLessEqual(len(stand_in.refusals), 2)

    def test_a_clock_that_is_put_back_by_two_hours(self):
        self.each(self.clock_put_back, lambda account: account.is_dated)

    def clock_put_back(self, kind, account):
        """The daemon has learned that the clocks agree, and then all signatures expire at once."""
        stand_in, healthy = self.stand_in(kind), self.healthy()
        server = self.daemon_of(self.settings(kind, stand_in), self.second(healthy))
        self.gets(V4, server, "www.shop.example")
        stand_in.clock_offset = HOURS
        for name in BATCH[:4]:
            self.gets({"192.0.2.99"}, server, name)
        self.assertLessEqual(len(stand_in.refusals), 1)
        self.assertEqual("up", self.state(server, kind))

    def test_baidus_body_teaches_the_clock(self):
        stand_in, healthy = self.stand_in("baidu"), self.healthy()
        stand_in.clock_offset, stand_in.is_dated = HOURS, False
        server = self.daemon_of(self.settings("baidu", stand_in), self.second(healthy))
        self.gets(V4, server, "www.shop.example")
        self.gets({"192.0.2.99"}, server, BATCH[0])
        self.assertEqual(["signature expired"], stand_in.reasons)


class Refusals(Vendors):
    expected_seconds = 40

    def test_a_wrong_key(self):
        self.each(self.wrong_key, lambda account: account.wrong)

    def wrong_key(self, kind, account):
        """The other provider answers, the account is asked for few names, and the daemon logs the cause. Volcengine's
        reply is the same as for a name of another account: from the third name on it concerns the account."""
        stand_in, healthy = self.stand_in(kind), self.healthy()
        server = self.daemon_of(self.settings(kind, stand_in, account.wrong), self.second(healthy))
        for name in BATCH[:12]:
            self.gets(HEALTHY, server, name)
        self.assertEqual(len(self.requests(stand_in)), len(stand_in.refusals))
        if account.dialect == "volcengine":
            server.wait_for(f"provider {kind} .*the name is not in the account, or the account or key is wrong")
            self.assertEqual({"status": len(stand_in.refusals)}, server.failures(kind))
            self.assertEqual("down", self.state(server, kind))
            self.assertIn("down", ctl(server, "providers").stdout)
            self.assertIn(kind, ctl(server, "doctor").stdout)
        self.assertLessEqual(len(stand_in.refusals), 5)
        self.assertNotEqual("up", self.state(server, kind))

    def test_a_wrong_clock_without_dated_replies(self):
        """Volcengine's refusals have no reason, so no name counts as one of another account."""
        stand_in, healthy = self.stand_in("volcengine"), self.healthy()
        stand_in.clock_offset, stand_in.is_dated = HOURS, False
        server = self.daemon_of(
            self.settings("volcengine", stand_in, names=["shop.example"]), self.second(healthy))
        for name in BATCH[:6]:
            self.gets(HEALTHY, server, name)
        self.assertNotIn("no provider serves", ctl(server, "explain", BATCH[0]).stdout)
        self.assertNotIn("does not serve", ctl(server, "explain", BATCH[0]).stdout)
        self.assertEqual("down", self.state(server, "volcengine"))

    def test_a_name_that_the_account_does_not_have(self):
        self.each(self.foreign_name, lambda account: account.has_console)

    def foreign_name(self, kind, account):
        """A foreign name gets the other provider's answer, and the account keeps its state for its own names: before
        and after, and although most names are foreign."""
        stand_in, healthy = self.stand_in(kind), self.healthy()
        stand_in.registered = {"shop.example"}
        server = self.daemon_of(self.settings(kind, stand_in), self.second(healthy))
        # Volcengine's reply to more names would concern the account, which has answered none yet.
        for name in FOREIGN[:3]:
            self.gets(HEALTHY, server, name)
        self.gets({"192.0.2.99"}, server, BATCH[0])
        for name in FOREIGN[3:]:
            self.gets(HEALTHY, server, name)
        for name in BATCH[1:4]:
            self.gets({"192.0.2.99"}, server, name)
        self.assertEqual("up", self.state(server, kind))

    def test_a_foreign_name_without_another_provider(self):
        self.each(self.foreign_name_alone, lambda account: account.has_console)

    def foreign_name_alone(self, kind, account):
        """The system resolver may know the name."""
        stand_in, system = self.stand_in(kind), self.nsd()
        stand_in.registered = {"shop.example"}
        server = self.daemon_of(self.settings(kind, stand_in), system=[system.server])
        self.gets({"203.0.113.77"}, server, "only.system.example")
        self.gets(V4, server, "www.shop.example")


    # An operator's template for a vendor without a dialect.
    TEMPLATES = {
        "volcengine": {
            "query": "domain={name}&ip={client-ip}&account_id={account}&timestamp={expiry-ms}&sign={signature}",
            "digest": "md5", "sort": True, "join": "_", "v4": "ips", "v6": "ips", "ttl": "ttl", "success": "host={name}",
            "signed": ["{secret}", "{expiry-ms}", "{account}", "{name}", "{client-ip}", "{type}"], "name-status": [403]},
        "ucloud": {
            "query": "host={name}&timestamp={now}", "headers": ["Authorization: {signature}"], "lifetime": "60s",
            "digest": "md5", "signed": ["{name}", "{now}", "{secret}"], "join": "-", "v4": "ip_list", "ttl": "ttl",
            "success": "host={name}", "name-status": [403]},
    }

    def test_foreign_names_of_a_template(self):
        """Status 403 concerns the name."""
        for kind, template in self.TEMPLATES.items():
            with self.subTest(kind):
                self.programs = ()
                stand_in, healthy = self.stand_in(kind), self.healthy()
                stand_in.registered = {"shop.example"}
                settings = self.settings(kind, stand_in, dialect="template", template=template)
                del settings["service-nodes"]
                if kind == "ucloud":
                    settings["url"] += "100000/resolve"
                server = self.daemon_of(settings, self.second(healthy))
                for name in FOREIGN[:3]:
                    self.gets(HEALTHY, server, name)
                for name in BATCH[:1]:
                    self.gets({"192.0.2.99"}, server, name)
                for name in FOREIGN[3:]:
                    self.gets(HEALTHY, server, name)
                for name in BATCH[1:3]:
                    self.gets({"192.0.2.99"}, server, name)
                self.assertEqual("up", self.state(server, kind))
                self.doCleanups()

    def test_foreign_names_of_a_doh_account(self):
        """Volcengine's address for DoH refuses foreign names with status 403, too."""
        stand_in, healthy = self.stand_in("doh"), self.healthy()
        stand_in.registered = {"shop.example"}
        server = self.daemon_of(self.settings("doh", stand_in), self.second(healthy))
        self.gets(V4, server, "www.shop.example")
        for name, own in zip(FOREIGN, BATCH):
            self.gets(HEALTHY, server, name)
            self.gets({"192.0.2.99"}, server, own)
        self.assertEqual("up", self.state(server, "doh"))
        self.assertEqual({"doh"}, {provider["name"] for provider in server.stats()["providers"]} - {"healthy"})


class ClientAddresses(Vendors):
    """The form of the client's address over HTTP, on which Tencent's documents and SDKs disagree."""

    def forms_of(self, server, kind, understood):
        """The report of `providers test` on each form; `understood` is the service's."""
        said = ctl(server, "providers", "test", kind)
        self.assertEqual(0, said.returncode, said.stdout + said.stderr)
        for form in ("in clear", "encrypted"):
            # A step is a line and its indented lines.
            step = re.search(f"^client address {form}: .*\n(  .*\n)*", said.stdout, re.MULTILINE).group()
            self.assertEqual(understood == form, "  understood: the reply is for 198.51.100.0" in step, said.stdout)

    def test_both_forms(self):
        for kind in ("dnspod-des", "dnspod-aes"):
            for form, word in (("clear", "in clear"), ("encrypted", "encrypted")):
                with self.subTest(f"{kind} {form}"):
                    self.programs = ()
                    stand_in = self.stand_in(kind, names=EVERY_NAME)
                    stand_in.ip_form = form
                    settings = {"client-subnet": "198.51.100.0/24", "client-subnet-form": form, "idle": "1s"}
                    server = self.daemon_of(self.settings(kind, stand_in, **settings))
                    self.gets(V4, server, "www.shop.example")
                    self.assertEqual(["198.51.100.0"], stand_in.clients)
                    self.assertEqual([], stand_in.reasons)
                    self.forms_of(server, kind, word)
                    self.doCleanups()


class ProviderTests(Vendors):
    """The command `providers test`."""

    expected_seconds = 80

    def passes(self, server, kind):
        said = ctl(server, "providers", "test", kind)
        self.assertEqual(0, said.returncode, said.stdout + said.stderr)

    def test_the_clock_that_a_test_learns_dates_no_clients_request(self):
        stand_in = self.stand_in("ucloud", names=EVERY_NAME)
        stand_in.clock_offset = HOURS
        server = self.daemon_of(self.settings("ucloud", stand_in, idle="1s"))
        self.passes(server, "ucloud")
        self.assertEqual(1, len(stand_in.refusals), "the test repeats one request")
        self.gets(V4, server, "www.shop.example")
        self.assertEqual(2, len(stand_in.refusals), "so does the first lookup")

    def test_a_slow_provider_is_tested_with_its_own_timeout(self):
        stand_in = self.stand_in("ucloud", names=EVERY_NAME)
        server = self.daemon_of(self.settings("ucloud", stand_in, idle="1s", timeout="10s"))
        stand_in.delay = 5.5
        self.passes(server, "ucloud")


class Throttling(Vendors):
    expected_seconds = 70

    def test_throttled(self):
        self.each(self.throttled)

    def throttled(self, kind, account):
        stand_in, healthy = self.stand_in(kind), self.healthy()
        server = self.daemon_of(self.settings(kind, stand_in), self.second(healthy))
        stand_in.is_throttled = True
        self.gets(HEALTHY, server, BATCH[0])
        self.assertEqual("throttled", self.state(server, kind))
        for name in BATCH[1:4]:
            self.gets(HEALTHY, server, name)
        self.assertLessEqual(len(self.requests(stand_in)), 2)
        stand_in.is_throttled = False
        asked = len(self.requests(stand_in))
        names = iter(BATCH[4:])

        def is_asked_again():
            dig(server, next(names))
            return len(self.requests(stand_in)) > asked

        eventually(is_asked_again, every=0.5, what="it is asked again")
        eventually(lambda: self.state(server, kind) != "throttled", what="its answer ends the throttling")


class Portals(Vendors):
    def test_families_without_addresses_are_no_captive_portal(self):
        """A portal's page over HTTP would also be a wrong body."""
        for family in ({"msg": "no record", "ttl": 60}, {}, {"ttl": 60}, None, [], {"ip": None}):
            with self.subTest(family=family):
                self.programs = ()
                try:
                    self.empty_family(family)
                finally:
                    self.doCleanups()

    def empty_family(self, family):
        zone = "$ORIGIN example.\n$TTL 600\n@ SOA ns hostmaster 1 7200 900 1209600 30\n@ NS ns\n" \
            "four.shop A 203.0.113.4\nsix.shop AAAA 2001:db8:ffff::6\n"
        stand_in, system = self.stand_in("baidu-http"), self.nsd(zone=zone)
        stand_in.empty_family = family
        server = self.daemon_of(self.settings("baidu-http", stand_in), system=[system.server])
        self.gets(V4, server, "www.shop.example")
        for _ in range(5):
            for name, type in (("four.shop.example", "AAAA"), ("six.shop.example", "A")):
                self.gets((), server, name, type)
        for name in BATCH[:5]:
            self.gets({"192.0.2.99"}, server, name)
        self.assertNotIn("portal", server.log)
        self.assertEqual({}, server.failures("baidu-http"))
        self.assertLessEqual(len(stand_in.requests), 8)


class Certificates(Vendors):
    def test_a_certificate_for_another_name(self):
        self.each(self.foreign_certificate, lambda account: account.is_secure)

    def foreign_certificate(self, kind, account):
        """No request is sent over such a connection."""
        stand_in = self.stand_in(kind, certificate_for="other.example")
        healthy = self.healthy()
        server = self.daemon_of(self.settings(kind, stand_in), self.second(healthy))
        self.gets(HEALTHY, server, "www.shop.example")
        self.assertEqual([], stand_in.requests)
        self.assertEqual(["tls"], list(server.failures(kind)))

    def test_baidus_name_is_checked_whatever_address_is_dialled(self):
        """All other tests have the vendor's name in the URL; Baidu's documents have an address."""
        for name, expected in ((Baidu.host, V4), (Baidu.address, HEALTHY)):
            stand_in, healthy = self.stand_in("baidu", certificate_for=name), self.healthy()
            settings = self.settings("baidu", stand_in)
            settings["url"] = f"https://{Baidu.address}:{stand_in.port}/v4/resolve"
            server = self.daemon_of(settings, self.second(healthy))
            self.gets(expected, server, "www.shop.example")
            self.assertEqual([], stand_in.reasons)
        page = (paths.ROOT / "etc" / "man" / "httpdnsd-providers.7").read_text()
        self.assertNotIn(f"https://{Baidu.address}", page)
        self.assertIn(f"https://{Baidu.host}/v4/resolve", page)


class Nodes(Vendors):
    """A provider with two addresses, one of which answers with errors."""

    expected_seconds = 30
    GOOD, BAD = "127.0.0.2", "127.0.0.1"
    ERRORS = {
        "500": Reply(500), "503": Reply(503, b"busy"),
        "200 with HTML": Reply(200, b"<html>maintenance</html>", "text/html"),
    }

    def sibling_answers(self, kind, error):
        stand_in, healthy = self.stand_in(kind, nodes=(self.BAD, self.GOOD)), self.healthy()
        stand_in.broken_nodes[self.BAD] = error
        server = self.daemon_of(self.settings(kind, stand_in), self.second(healthy))
        for name in BATCH[:12]:
            self.gets({"192.0.2.99"}, server, name)
        asked = [request.node for request in self.requests(stand_in)]
        self.assertLessEqual(asked.count(self.BAD), 4, asked)
        self.assertEqual("up", self.state(server, kind))
        # The daemon measures the other provider in the background, and hedges on a busy machine.
        self.assertLessEqual(len(healthy.requests), 4)

    def test_the_sibling_answers_the_same_question(self):
        for what, error in self.ERRORS.items():
            def node_answers(kind, account):
                self.sibling_answers(kind, error)
            node_answers.__name__ = f"node answers {what}"
            self.each(node_answers)

    def test_alibabas_errors_of_a_node(self):
        for code in ("InternalError", "ServiceLevelDeny"):
            for kind in ("alicloud", "alicloud-v2", "alicloud-v2-gcm"):
                with self.subTest(f"{kind} {code}"):
                    try:
                        self.sibling_answers(kind, alibaba_error(code))
                    finally:
                        self.doCleanups()


class Outages(Vendors):
    """Every address of a paid account answers with an error, and another provider knows its names."""

    expected_seconds = 60
    NODES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")

    def outage(self, reply=Reply(503), **more):
        stand_in, healthy = self.stand_in("baidu", nodes=self.NODES), self.healthy()
        stand_in.broken_nodes = dict.fromkeys(self.NODES, reply)
        server = self.daemon_of(self.settings("baidu", stand_in, **more), self.second(healthy))
        for name in BATCH:
            self.gets(HEALTHY, server, name)
        return server, stand_in

    def working(self, server):
        provider = next(entry for entry in server.stats()["providers"] if entry["name"] == "baidu")
        return [address["state"] for address in provider["addresses"]]

    def test_an_account_with_one_domain_is_left_alone(self):
        replies = {"503": Reply(503), "HTML": Reply(200, b"<html>maintenance</html>", "text/html")}
        for what, reply in replies.items():
            with self.subTest(what):
                server, stand_in = self.outage(reply, names=["shop.example"])
                # The limit is three names at three addresses each, then one address for each question, then trials.
                self.assertLessEqual(len(stand_in.requests), 18)
                self.assertEqual("down", self.state(server, "baidu"))
                self.assertEqual(["down"] * 3, self.working(server))
                stand_in.broken_nodes = {}
                names = iter(f"later{number}.shop.example" for number in range(1000))
                stand_in.names = {f"later{number}.shop.example": NAMES[BATCH[0]] for number in range(1000)}
                eventually(lambda: dig(server, next(names)).data == {"192.0.2.99"}, within=20, every=0.2,
                           what="it is asked again")
                self.doCleanups()

    def test_an_account_without_names_is_not_measured_with_every_question(self):
        began = time.monotonic()
        _, stand_in = self.outage()
        measurements = (time.monotonic() - began) // 10 + 1
        self.assertLessEqual(len(stand_in.requests), 3 * measurements)

    def test_one_name_that_fails_everywhere_does_not_stop_the_account(self):
        stand_in, healthy = self.stand_in("baidu", nodes=self.NODES), self.healthy()
        answer = stand_in.answer
        stand_in.answer = lambda request: Reply(500) if "n0.shop.example" in request.target else answer(request)
        server = self.daemon_of(self.settings("baidu", stand_in, names=["shop.example"]), self.second(healthy))
        for name in BATCH[1:9]:
            ctl(server, "flush", BATCH[0])
            self.gets(HEALTHY, server, BATCH[0])
            self.gets({"192.0.2.99"}, server, name)
        self.assertEqual("up", self.state(server, "baidu"))


class ServiceNodes(Vendors):
    """The vendor lists another node than the one of the settings."""

    expected_seconds = 60
    OWN, LISTED = "127.0.0.1", "127.0.0.2"
    HUGE = [f"203.{number // 250}.113.{number % 250 + 1}" for number in range(4000)]
    BAD_LISTS = {
        "HTML": Reply(200, b"<html>maintenance</html>", "text/html"), "500": Reply(500), "404": Reply(404),
        "empty": Reply(200), "a huge list": Reply(200, ('{"ip":["' + '","'.join(HUGE) + '"]}').encode()),
        "a body without end": Reply(200, b"[" * 100_000),
    }

    def with_list(self, kind, **more):
        """A stand-in with two nodes, and a daemon that knows the first one."""
        account = ACCOUNTS[kind]
        options = {"nodes": (self.OWN, self.LISTED)}
        if kind == "dnspod-https":
            # Each of Tencent's nodes has a certificate for its own address.
            options["certificate"] = self.authority.certificate(Token.host, self.LISTED, file="tencent-nodes")
            stand_in = self.own(account.make(NAMES, **options))
        else:
            stand_in = self.stand_in(kind, **options)
        stand_in.listed = [self.LISTED]
        settings = {"addresses": [self.OWN], "service-nodes": True, **more}
        return stand_in, self.settings(kind, stand_in, **settings)

    def nodes_asked(self, server, stand_in, names):
        """The nodes that got the questions for these names."""
        before = len(stand_in.requests)
        for name in names:
            self.gets({"192.0.2.99"}, server, name)
        return {request.node for request in self.requests(stand_in) if request in stand_in.requests[before:]}

    def addresses(self, server, kind):
        provider = next(entry for entry in server.stats()["providers"] if entry["name"] == kind)
        return [address["name"].partition(":")[0] for address in provider["addresses"]]

    def test_listed_nodes_are_asked(self):
        self.each(self.listed_node, lambda account: account.has_nodes)

    def listed_node(self, kind, account):
        """The address of the settings is the fallback. A restart without the list uses the stored one."""
        stand_in, settings = self.with_list(kind)
        folder = paths.entrust(Path(tempfile.mkdtemp(dir=self.directory)))
        server = self.daemon_of(settings, store=folder / "cache.db")
        # Baidu's list comes with the first answer.
        self.gets(V4, server, "www.shop.example")
        eventually(lambda: self.addresses(server, kind) == [self.LISTED, self.OWN], what="the list is used")
        self.assertEqual({self.LISTED}, self.nodes_asked(server, stand_in, BATCH[:8]))
        self.assertEqual([], stand_in.reasons)
        self.assertEqual({}, server.failures(kind))
        server.stop()
        stand_in.broken_list = Reply(500)
        server.up()
        # The store is read while the daemon serves.
        eventually(lambda: self.addresses(server, kind) == [self.LISTED, self.OWN], what="the kept list is used")

    def test_bad_lists(self):
        self.each(self.bad_list, lambda account: account.has_nodes)

    def bad_list(self, kind, account):
        """A bad list changes nothing, and the address of the settings answers at once."""
        if kind == "baidu":
            # Baidu's list is part of answers, so a bad reply would be a bad answer.
            bad = {"no list": {}, "an empty one": {"ipv4": []}, "text": "x", "addresses of no kind": {"ipv4": [7, "x"]}}
            replies = {what: Reply(body=json.dumps({
                "msg": "ok", "serverip": part, "timestamp": int(time.time()), "data": {
                    name: {"ipv4": {"ip": ["192.0.2.99"], "ttl": 60, "msg": "ok"},
                           "ipv6": {"msg": "no record", "ttl": 60}} for name in BATCH}}).encode())
                for what, part in bad.items()}
        elif kind == "baidu-http":
            return
        else:
            replies = {**self.BAD_LISTS, "none in time": Reply(200, delay=6)}
        for what, reply in replies.items():
            with self.subTest(what):
                stand_in, settings = self.with_list(kind)
                stand_in.broken_list = reply
                server = self.daemon_of(settings)
                if stand_in.list_path:
                    eventually(lambda: any(map(stand_in.asks_for_list, stand_in.requests)), what="the list is asked for")
                self.assertEqual({self.OWN}, self.nodes_asked(server, stand_in, BATCH[:4]))
                self.assertEqual([self.OWN], self.addresses(server, kind))
                self.assertEqual("up", self.state(server, kind))
                self.doCleanups()

    def test_a_listed_node_without_a_server(self):
        self.each(self.dead_node, lambda account: account.has_nodes)

    def dead_node(self, kind, account):
        stand_in, settings = self.with_list(kind)
        stand_in.listed = ["127.0.0.9", "127.0.0.9"]
        server = self.daemon_of(settings)
        self.gets(V4, server, "www.shop.example")
        eventually(lambda: self.addresses(server, kind) == ["127.0.0.9", self.OWN], what="the list is used")
        for name in BATCH[:8]:
            self.gets({"192.0.2.99"}, server, name)
        self.assertEqual("up", self.state(server, kind))

    def test_a_list_that_comes_under_load(self):
        for kind in ("dnspod-https", "ucloud", "alicloud-v2"):
            with self.subTest(kind):
                stand_in, settings = self.with_list(kind)
                stand_in.list_delay = 1
                names = [f"m{number}.shop.example" for number in range(2000)]
                stand_in.names = {**NAMES, **{name: Entry(("192.0.2.99",)) for name in names}}
                server = self.daemon_of(settings)
                for start in range(0, len(names), 50):
                    replies = ask_all(server, [(name, "A") for name in names[start:start + 50]])
                    self.assertEqual([(NOERROR, {"192.0.2.99"})] * 50, [
                        (reply.rcode, reply.addresses) for reply in replies.values()])
                    time.sleep(0.05)
                nodes = [request.node for request in self.requests(stand_in)]
                self.assertEqual({self.OWN, self.LISTED}, set(nodes))
                self.assertEqual({self.LISTED}, set(nodes[-20:]))
                self.assertEqual({}, server.failures(kind))
                self.doCleanups()

    def test_a_clock_that_is_two_hours_slow(self):
        """The request for the list is repeated with the vendor's time."""
        for kind in ("volcengine", "ucloud"):
            with self.subTest(kind):
                stand_in, settings = self.with_list(kind)
                stand_in.clock_offset = HOURS
                server = self.daemon_of(settings)
                eventually(lambda: self.addresses(server, kind) == [self.LISTED, self.OWN], what="the list is used")
                self.assertEqual(1, len(stand_in.refusals))
                self.doCleanups()

    @staticmethod
    def let_clock_jump(stand_in):
        """Gives each reply another time."""
        now = property(lambda self: time.time() + 600 * len(self.requests))
        stand_in.__class__ = type("Jumping", (type(stand_in),), {"now": now})

    def test_a_list_that_fails_while_the_vendors_clock_jumps(self):
        """A failure for another reason than the time is not repeated at once."""
        for kind in ("volcengine", "ucloud"):
            with self.subTest(kind):
                stand_in, settings = self.with_list(kind)
                stand_in.broken_list = Reply(500)
                self.let_clock_jump(stand_in)
                self.daemon_of(settings)
                eventually(lambda: stand_in.requests, what="the list is asked for")
                time.sleep(1)
                self.assertEqual(1, len(stand_in.requests))
                self.doCleanups()

    def test_a_list_that_is_always_refused_for_its_time(self):
        stand_in, settings = self.with_list("volcengine")
        stand_in.broken_list = Reply(403)
        self.let_clock_jump(stand_in)
        self.daemon_of(settings)
        eventually(lambda: len(stand_in.requests) == 2, what="the request is repeated with the vendor's time")
        time.sleep(1)
        self.assertEqual(2, len(stand_in.requests))

    def test_lists_of_names(self):
        """Volcengine lists host names, and the nameservers know their addresses."""
        zone = "$ORIGIN example.\n$TTL 600\n@ SOA ns hostmaster 1 7200 900 1209600 30\n@ NS ns\n" \
            f"node A {self.LISTED}\n"
        system = self.nsd(zone=zone)
        certificate = self.authority.certificate(Volcengine.host, "node.example", file="volcengine-nodes")
        stand_in = self.own(ACCOUNTS["volcengine"].make(
            NAMES, nodes=(self.OWN, self.LISTED), certificate=certificate))
        stand_in.hosts = {Volcengine.host, "node.example"}
        stand_in.listed = ["node.example"]
        server = self.daemon_of(self.settings(
            "volcengine", stand_in, **{"addresses": [self.OWN], "service-nodes": True}), system=[system.server])
        eventually(lambda: self.addresses(server, "volcengine") == [self.LISTED, self.OWN], what="the name is resolved")
        self.assertEqual({self.LISTED}, self.nodes_asked(server, stand_in, BATCH[:8]))
        self.assertEqual({"node.example"}, {
            request.server_name for request in stand_in.requests if request.node == self.LISTED})

