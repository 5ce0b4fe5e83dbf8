# Signed zones, made and signed by ldns's tools, and the servers that pass them on: nsd, dnsdist's DoH listener, and a
# validating unbound.

import re
import socket
import subprocess

import paths
from paths import free_port
from programs import Nameserver, Program

_HEAD = """$ORIGIN {zone}
$TTL 600
@       SOA ns.example. hostmaster.example. 1 7200 900 1209600 300
@       NS  ns.example.
"""

# The records of every child zone. "big" exceeds a datagram, "a.b" is below a name without records.
_CHILD = """
@       A     203.0.113.1
www     A     203.0.113.10
www     A     203.0.113.11
www     AAAA  2001:db8:ffff::10
mail    MX    10 www
text    TXT   "from {zone}"
service HTTPS 1 . alpn=h2 ipv4hint=203.0.113.10
*.wild  A     203.0.113.99
*.wild  TXT   "any"
here    CNAME www
there   CNAME www.nsec3.example.
back    CNAME www.nsec.example.
plain   CNAME www.insecure.example.
lost    CNAME none.nsec3.example.
bad     CNAME www.bogus.example.
below   DNAME nsec3.example.
a.b     A     203.0.113.12
private A     10.0.0.1
quick   1 A   203.0.113.13
""" + "".join(f'big TXT "{number:02} {"x" * 200}"\n' for number in range(12))

# The child zones of example.: whether they are signed, and with NSEC3.
CHILDREN = {"nsec": (True, False), "nsec3": (True, True), "bogus": (True, False), "insecure": (False, False)}

# The name and type of each case: secure, insecure, bogus, denied, wildcard, alias into another zone, and keys.
NAMES = ["@", "www", "mail", "text", "service", "any.wild", "a.long.one.wild", "here", "there", "back", "plain",
         "lost", "bad", "x.below", "www.below", "b", "a.b", "quick", "big", "none", "none.www", "wild"]
TYPES = ["A", "AAAA", "TXT", "MX", "HTTPS", "SOA", "NS", "DNSKEY", "DS", "CAA"]


def questions():
    """Every name of every zone with every type."""
    for zone in [*CHILDREN, ""]:
        origin = f"{zone}.example." if zone else "example."
        names = NAMES if zone else ["@", "ns", "none"]
        for name in names:
            # A name of one label may be a host of the local network, but not with these types.
            for type in TYPES if origin != "example." or name != "@" else ["DNSKEY", "DS", "SOA", "NS"]:
                yield (origin if name == "@" else f"{name}.{origin}", type)


class SignedZones(Nameserver):
    """A process of nsd with example. and its children."""

    def __init__(self):
        super().__init__("nsd")
        delegations = ""
        zones = []
        for child, (is_signed, has_nsec3) in CHILDREN.items():
            zone = f"{child}.example."
            delegations += f"{zone} NS ns.example.\n"
            text = _HEAD.format(zone=zone) + _CHILD.format(zone=zone)
            # The daemon removes hints from unsigned answers.
            text = text if is_signed else re.sub(" ipv4hint=.*", "", text)
            if is_signed:
                delegations += self._sign(zone, text, has_nsec3)
            else:
                (self.directory / f"{zone}signed").write_text(text)
            zones.append(zone)
        self._forge(self.directory / "bogus.example.signed")
        text = _HEAD.format(zone="example.") + "ns A 203.0.113.53\n" + delegations
        # The key that a validator has to trust.
        self.anchor = self._sign("example.", text, has_nsec3=False)
        zones.append("example.")
        (self.directory / "nsd.conf").write_text(f"""
server:
    ip-address: {self.host}@{self.port}
    username: ""
    chroot: ""
    zonesdir: "{self.directory}"
    database: ""
    pidfile: "{self.directory}/pid"
    xfrdfile: "{self.directory}/xfrd"
    zonelistfile: "{self.directory}/zonelist"
    cookie-secret-file: ""
    xfrdir: "{self.directory}"
    server-count: 1
    reuseport: no
    rrl-ratelimit: 0
remote-control:
    control-enable: no
""" + "".join(f'zone:\n    name: "{zone}"\n    zonefile: "{zone}signed"\n' for zone in zones))

    def _run(self, *command):
        done = subprocess.run(
            list(map(str, command)), cwd=self.directory, capture_output=True, text=True, timeout=paths.PATIENCE)
        if done.returncode != 0:
            raise AssertionError(f"{command[0]}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def _sign(self, zone, text, has_nsec3):
        """Signs the zone; returns the DS record for its parent."""
        file = self.directory / f"{zone}zone"
        file.write_text(text)
        key = self._run("ldns-keygen", "-a", "ECDSAP256SHA256", "-k", zone)
        self._run("ldns-signzone", *(["-n", "-t", "0"] if has_nsec3 else []), "-o", zone, "-f", f"{zone}signed", file, key)
        return (self.directory / f"{key}.ds").read_text()

    @staticmethod
    def _forge(file):
        """Changes addresses under their signatures."""
        text = file.read_text()
        file.write_text(re.sub(r"203\.0\.113\.(10|99)\b", "203.0.113.66", text))

    def up(self):
        self.start("nsd", "-d", "-c", self.directory / "nsd.conf")
        return self.wait_until_it_answers()


class DNSDist(Program):
    """A DoH listener before a nameserver; with more `lines` of settings."""

    def __init__(self, server, certificate, lines=()):
        super().__init__("dnsdist")
        self.port = free_port()
        pem, key = certificate
        (self.directory / "dnsdist.conf").write_text("\n".join([
            'setACL("127.0.0.0/8")', 'setSecurityPollSuffix("")', f'setLocal("127.0.0.1:{free_port()}")',
            f'addDOHLocal("127.0.0.1:{self.port}", "{pem}", "{key}", "/dns-query")',
            f'newServer("{server}"):setUp()', *lines, ""]))

    def up(self):
        self.start("dnsdist", "--supervised", "--disable-syslog", "-C", self.directory / "dnsdist.conf")
        paths.eventually(self._listens, what="dnsdist listens")
        return self

    def _listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def provider(self, ca_file, name="signed", **keys):
        return {"name": name, "dialect": "doh", "url": f"https://doh.example:{self.port}/dns-query",
                "addresses": ["127.0.0.1"], "ca-file": str(ca_file), **keys}


class Validator(Nameserver):
    """A validating unbound with the anchor, which asks `server`, an address with port, for everything."""

    def __init__(self, server, anchor):
        super().__init__("validator")
        host, port = server
        (self.directory / "anchor").write_text(anchor)
        (self.directory / "unbound.conf").write_text(f"""
server:
    interface: {self.host}@{self.port}
    do-daemonize: no
    username: ""
    chroot: ""
    directory: "{self.directory}"
    pidfile: ""
    use-syslog: no
    verbosity: 1
    num-threads: 1
    do-not-query-localhost: no
    module-config: "validator iterator"
    trust-anchor-file: "{self.directory}/anchor"
forward-zone:
    name: "."
    forward-addr: {host}@{port}
remote-control:
    control-enable: no
""")

    def up(self):
        self.start("unbound", "-d", "-c", self.directory / "unbound.conf")
        return self.wait_until_it_answers()

    def answers(self):
        """The server is ready without an answer from its upstream, which need not know the root."""
        return "start of service" in self.log
