# The probe's result at real servers of every kind, and the expected verdict.

import hashlib
import json
import os
import ssl
import tempfile
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cases import Case
from certificates import Authority
from lab import Lab
from namespace import Namespace
from paths import eventually
from programs import Daemon, ctl
from web_sites import Handmade, Sites, drips, ends_after_hello, keeps_silent, resets, resets_after_hello, says

ZONE = "lab.example"
# The time-out is long enough for a handshake on a busy machine, and short enough for servers that never complete one.
TIMEOUT = "1500ms"
# The number is below the control socket's limit.
CLIENTS = 8

# MARK: ways to serve a site: each is given all sites, the site's name, and its address


def certified(*also, more="", **options):
    """A site by nginx, with a certificate for the name and others; these may contain {name}."""
    def serve(sites, name, address):
        names = [each.format(name=name) for each in also or ["{name}"]]
        files = sites.authority.certificate(*names, file=name, **options)
        sites.web(address, files=files, more=more)
    return serve


def beside_another(sites, name, address):
    """A site that shows the certificate of another name, unless SNI asks for this one."""
    sites.web(address, files=sites.authority.certificate("default.example", file=f"{name}.other"), is_default=True)
    sites.web(address, name, sites.authority.certificate(name))


def refused_beside_another(sites, name, address):
    """A site without a handshake for unknown names."""
    sites.web(address, is_default=True, files=sites.authority.certificate("default.example", file=f"{name}.other"),
              more="ssl_reject_handshake on;")
    sites.web(address, f"other.{name}", sites.authority.certificate(f"other.{name}"))


def self_signed(sites, name, address):
    sites.web(address, files=sites.authority.self_signed(name))


def by_a_stranger(sites, name, address):
    sites.web(address, files=sites.stranger.certificate(name))


def by_one_between(sites, name, address):
    certificate, key = sites.between.certificate(name)
    chain = certificate.with_suffix(".chain")
    chain.write_text(certificate.read_text() + sites.between.ca_file.read_text())
    sites.web(address, files=(chain, key))


def without_the_one_between(sites, name, address):
    sites.web(address, files=sites.between.certificate(name))


def misdirected(sites, name, address):
    """A site with the right certificate, and a reply that this server is not the name's."""
    sites.web(address, files=sites.authority.certificate(name), more="return 421;")


def openssl(*options):
    def serve(sites, name, address):
        sites.s_server(address, sites.authority.certificate(name), *options)
    return serve


def plain_http(sites, name, address):
    sites.web(address)


def handmade(behaviour):
    def serve(sites, name, address):
        sites.handmade(address, behaviour)
    return serve


def dripping(sites, name, address):
    sites.handmade(address, drips(sites.authority.certificate(name)))


def nobody(sites, name, address):
    pass


def full(sites, name, address):
    sites.full(address)


MANY = [f"n{number}.elsewhere.example" for number in range(400)]
# The label, the server, the verdict, and the verdict with a request if it differs.
SITES = [
    ("good", certified(), "verified"),
    ("good-tls12", certified(more="ssl_protocols TLSv1.2;"), "verified"),
    ("good-tls13", certified(more="ssl_protocols TLSv1.3;"), "verified"),
    ("good-v6", certified(), "verified"),
    # The server does not know HEAD, and waits for another method.
    ("good-openssl", openssl("-www"), "verified", "tls-timeout"),
    ("good-between", by_one_between, "verified"),
    ("good-400-names", certified(*MANY, "{name}"), "verified"),
    ("good-not-found", certified(more="return 404;"), "verified"),
    ("good-failing", certified(more="return 503;"), "verified"),
    ("good-only-with-sni", beside_another, "verified"),
    ("wild", certified("*.lab.example"), "verified"),
    ("xn--bcher-kva", certified(), "verified"),
    ("wrong-name", certified("evil.example"), "name-mismatch"),
    ("wild-too-deep.two", certified("*.lab.example"), "name-mismatch"),
    ("wild-above", certified("*.{name}"), "name-mismatch"),
    ("address-only", certified("127.0.0.1"), "name-mismatch"),
    ("subject-only", certified(is_named_apart=False), "name-mismatch"),
    ("misdirected", misdirected, "verified", "name-mismatch"),
    ("expired", certified(days=-1), "expired-certificate"),
    ("not-yet-valid", certified(begins=1), "expired-certificate"),
    ("self-signed", self_signed, "untrusted"),
    ("stranger", by_a_stranger, "untrusted"),
    ("missing-between", without_the_one_between, "untrusted"),
    ("tls10", openssl("-www", "-tls1", "-cipher", "ALL:@SECLEVEL=0"), "tls-alert"),
    ("unknown-name", refused_beside_another, "tls-alert"),
    ("plain-http", plain_http, "not-tls"),
    ("ssh", handmade(says(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n")), "not-tls"),
    ("noise", handmade(says(bytes(range(255, 0, -1)) * 8)), "not-tls"),
    ("reset-at-once", handmade(resets), "tls-reset"),
    ("reset-after-hello", handmade(resets_after_hello), "tls-reset"),
    ("end-after-hello", handmade(ends_after_hello), "tls-reset"),
    ("silent", handmade(keeps_silent), "tls-timeout"),
    ("drip", dripping, "tls-timeout"),
    ("closed", nobody, "refused"),
    ("full", full, "timeout"),
]


class Verdicts(Case):
    expected_seconds = 12

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="e2e-sites-")
        os.chmod(folder.name, 0o755)
        cls.addClassCleanup(folder.cleanup)
        cls.provider = cls.share(Lab()).up()
        cls.sites = Sites(Path(folder.name))
        cls.addClassCleanup(cls.sites.close)
        cls.addresses = {}
        for label, serve, *_ in SITES:
            name, address = f"{label}.{ZONE}", "::1" if label.endswith("-v6") else cls.sites.address()
            serve(cls.sites, name, address)
            cls.addresses[label] = address
            cls.provider.record(name, "AAAA" if ":" in address else "A", address)
        cls.sites.up()

    def verified(self, **options):
        """A daemon that has verified all sites, and its output for each: exit code and lines, by label."""
        server = self.daemon([self.provider.provider("json")], sections=self.sites.settings(TIMEOUT, **options))
        with ThreadPoolExecutor(CLIENTS) as clients:
            said = clients.map(lambda site: ctl(server, "--json", "verify", f"{site[0]}.{ZONE}"), SITES)
            return server, {
                site[0]: (done.returncode, [json.loads(line) for line in done.stdout.splitlines()])
                for site, done in zip(SITES, said)}

    def assertVerdicts(self, said, wanted):
        for label, verdict in wanted.items():
            with self.subTest(label):
                code, lines = said[label]
                steps = [line for line in lines if "address" in line]
                self.assertEqual(
                    [(self.addresses[label], self.sites.port, verdict)],
                    [(step["address"], step["port"], step.get("verdict")) for step in steps], lines)
                self.assertEqual(0 if verdict == "verified" else 1, code)

    def test_each_site_gets_the_verdict_beside_it(self):
        wanted = {label: verdict for label, _, verdict, *_ in SITES}
        server, said = self.verified()
        self.assertVerdicts(said, wanted)
        # The list of all verdicts and the counts agree.
        listed = json.loads(ctl(server, "--json", "verdicts").stdout)["verdicts"]
        self.assertEqual(
            {f"{label}.{ZONE}": verdict for label, verdict in wanted.items()},
            {each["name"]: each["verdict"] for each in listed})
        stats = server.stats()["probe"]
        self.assertEqual(len(SITES), stats["done"])
        self.assertEqual(Counter(wanted.values()), {word: n for word, n in stats["verdicts"].items() if n})
        self.assertEqual((0, 0), (stats["running"], stats["waiting"]))

    def test_a_request_that_is_for_somebody_else_condemns(self):
        self.assertVerdicts(self.verified(http=True)[1], {label: rest[-1] for label, _, *rest in SITES})

    def test_the_certificate_is_shown_right_or_wrong(self):
        server = self.daemon([self.provider.provider("json")], sections=self.sites.settings(TIMEOUT))
        authorities = {"stranger": self.sites.stranger, "missing-between": self.sites.between}
        for label in ("good", "good-400-names", "wild", "wrong-name", "expired", "stranger", "missing-between"):
            with self.subTest(label):
                authority = authorities.get(label, self.sites.authority)
                pem = (authority.directory / f"{label}.{ZONE}.pem").read_text()
                digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
                shown = ctl(server, "verify", f"{label}.{ZONE}").stdout
                self.assertIn(f"{self.addresses[label]}:{self.sites.port}", shown)
                self.assertIn(digest, shown)
                self.assertIn(authority.name, shown)
                owner = {"wild": "*.lab.example", "wrong-name": "evil.example", "good-400-names": MANY[0]}
                self.assertIn(owner.get(label, f"{label}.{ZONE}"), shown)


@unittest.skipUnless(os.geteuid() == 0, "a network namespace needs root")
class Restraint(Case):
    """A network with an address of every kind, each with a listener at port 443, and default settings: the daemon
    connects to the public Internet only."""
    expected_seconds = 8
    PUBLIC = ("9.9.9.9", "2620:fe::9")
    OTHERS = (
        "127.0.7.7", "10.1.2.3", "172.16.7.7", "192.168.7.7", "169.254.7.7", "100.64.7.7", "198.18.7.7", "192.0.2.7",
        "198.51.100.7", "203.0.113.7", "fd00::7", "2001:db8::7", "3fff::7", "64:ff9b::a01:203", "::ffff:10.1.2.3")
    # The address cannot be set on an interface; it stands for one of these.
    MAPPED = OTHERS[-1]
    # The first addresses have no route, the last one has a route that rejects.
    UNREACHABLE = ("9.9.7.7", "9.9.8.8", "2620:fe:7::7")

    def setUp(self):
        self.inside = Namespace()
        self.addCleanup(self.inside.remove)
        for address in (*self.PUBLIC, *self.OTHERS):
            if address != self.MAPPED:
                done = self.inside.run("ip", "address", "replace", address, "dev", "lo")
                self.assertEqual(0, done.returncode, done.stderr)
        self.inside.run("ip", "route", "add", "unreachable", "9.9.8.0/24")
        self.doors = {each: self.door(each) for each in (*self.PUBLIC, *self.OTHERS) if each != self.MAPPED}
        zone = ["$ORIGIN lab.example.", "$TTL 300", "@ SOA ns1 hostmaster 1 7200 900 1209600 30"]
        self.names = {}
        for number, address in enumerate((*self.PUBLIC, *self.OTHERS, *self.UNREACHABLE)):
            zone.append(f"n{number} {'AAAA' if ':' in address else 'A'} {address}")
            self.names[address] = f"n{number}.lab.example"
        folder = tempfile.TemporaryDirectory(prefix="e2e-restraint-")
        os.chmod(folder.name, 0o755)
        self.addCleanup(folder.cleanup)
        self.zone = Path(folder.name) / "zone"
        self.zone.write_text("\n".join(zone) + "\n")
        self.authority = Authority(Path(folder.name) / "trusted")
        self.provider = self.own(Lab(zone=self.zone, prefix=self.inside.prefix)).up()

    def door(self, address):
        made = self.inside.within(lambda: Handmade((address, 443), resets))
        self.addCleanup(made.close)
        return made

    def server(self, sections):
        server = self.own(Daemon([self.provider.provider("json")], prefix=self.inside.prefix, sections=(
            f'[probe]\nca-file = "{self.authority.ca_file}"\n{sections}')))
        server.listen = ["127.0.0.1:53"]
        server.up()
        for address, name in self.names.items():
            for _ in range(3):
                self.inside.run("dig", "+tries=1", "+time=6", "@127.0.0.1", name, "AAAA" if ":" in address else "A")
        return server

    def connected(self):
        return {address for address, door in self.doors.items() if door.accepted}

    def test_nobody_but_the_public_internet_is_connected_to(self):
        self.assertOnlyPublic(self.server(""))

    def test_not_even_where_answers_may_have_private_addresses(self):
        self.assertOnlyPublic(self.server('[[rule]]\nmatch = ["."]\nallow-private = true\n'))

    def assertOnlyPublic(self, server):
        eventually(lambda: set(self.PUBLIC) <= self.connected(), what="public addresses are probed")
        # An operator's request does not cause such a probe either.
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda name: ctl(server, "verify", name), self.names.values()))
        eventually(lambda: self.left(server) == 0, what="no probe is left")
        self.assertEqual(set(self.PUBLIC), self.connected())

    def left(self, server):
        stats = server.stats()["probe"]
        return stats["running"] + stats["waiting"]

    def test_a_network_that_is_not_there_is_unreachable(self):
        server = self.server("")
        for address in self.UNREACHABLE:
            with self.subTest(address):
                done = ctl(server, "--json", "verify", self.names[address])
                self.assertEqual("unreachable", json.loads(done.stdout.splitlines()[0])["verdict"], done.stdout)

    def test_a_rule_lets_the_others_be_probed(self):
        self.server('[[rule]]\nmatch = ["."]\nprobe = true\nallow-private = true\n')
        eventually(lambda: self.connected() == set(self.doors), what="all addresses are probed")
